-- void: end a chat's lease after the only process that could hold one is gone. The token jumps past everything
-- that process can have been given, and a chat that waits for anything is due now.
-- KEYS  1 head  2 due
-- ARGV  1 chat
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
redis.call('HINCRBY', KEYS[1], 'token', 1048576)
if redis.call('HEXISTS', KEYS[1], 'owner') == 1 then redis.call('HINCRBY', KEYS[1], 'barren', 1) end
redis.call('HDEL', KEYS[1], 'owner', 'until')
if redis.call('ZSCORE', KEYS[2], ARGV[1]) then
  redis.call('ZADD', KEYS[2], string.format('%.0f', now), ARGV[1])
end
return '1'
