-- mark: say how far a place was taken. Never back, but the place's time is now in any case: something was said there.
-- KEYS  1 at: Hash, place -> mark   2 when: ZSET, place -> when it was last marked
-- ARGV  1 place  2 mark: digits, without leading zeros  3 ms for which a silent place is kept  4 how many of those are dropped at most
-- Reply 1
--
-- A mark is longer than what a Lua number holds exactly (2^53): of two, the longer text is the larger number, and of two as long as
-- each other the one that sorts after the other.
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local function int(x) return string.format('%.0f', x) end
for _, place in ipairs(redis.call('ZRANGEBYSCORE', KEYS[2], '-inf', int(now - tonumber(ARGV[3])), 'LIMIT', '0', ARGV[4])) do
  redis.call('HDEL', KEYS[1], place)
  redis.call('ZREM', KEYS[2], place)
end
local was, at = redis.call('HGET', KEYS[1], ARGV[1]), ARGV[2]
if not was or #at > #was or #at == #was and at > was then redis.call('HSET', KEYS[1], ARGV[1], at) end
redis.call('ZADD', KEYS[2], int(now), ARGV[1])
for i = 1, 2 do redis.call('PEXPIRE', KEYS[i], ARGV[3]) end
return '1'
