-- limit: what one person asks of the model, on all replicas: one more turn begins if they are within what they may, or tokens were used.
-- KEYS  1 turns: ZSET of those of the last hour, turn -> when it began   2 tokens: Hash: used, and ends, of the day that began with the first
-- ARGV  1 turn  2 how many may begin in an hour  3 how many tokens may be used in a day; 0: any number  4 tokens that were used; 0: a turn begins
-- Reply nothing: it is counted, a turn once however often it is asked; or 'turns' or 'tokens', whichever are used up, and until when, in ms
local HOUR, DAY = 3600000, 86400000
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local function int(x) return string.format('%.0f', x) end
local turns, tokens, more = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])

local day = redis.call('HMGET', KEYS[2], 'used', 'ends')
local used, ends = tonumber(day[1] or 0), tonumber(day[2] or 0)
if now >= ends then used, ends = 0, now + DAY end
if more > 0 then
  redis.call('HSET', KEYS[2], 'used', int(used + more), 'ends', int(ends))
  redis.call('PEXPIRE', KEYS[2], int(ends - now))
  return ''
end

redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', int(now - HOUR))
if redis.call('ZSCORE', KEYS[1], ARGV[1]) then return '' end -- it began: a replica that takes it over asks again
if tokens > 0 and used >= tokens then return 'tokens ' .. int(ends) end
if turns > 0 then
  local n = redis.call('ZCARD', KEYS[1])
  if n >= turns then
    local leaves = redis.call('ZRANGE', KEYS[1], int(n - turns), int(n - turns), 'WITHSCORES')
    return 'turns ' .. int(tonumber(leaves[2]) + HOUR)
  end
  redis.call('ZADD', KEYS[1], int(now), ARGV[1])
  redis.call('PEXPIRE', KEYS[1], int(HOUR))
end
return ''
