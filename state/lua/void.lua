-- void: end a chat's lease after the only process that could hold one is gone. The token jumps past everything
-- that process can have been given, and the chat is due now. One that was given back sleeps on: nothing of it is owed.
-- KEYS  1 head  2 due
-- ARGV  1 chat
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
if redis.call('HEXISTS', KEYS[1], 'owner') == 0 then return '0' end
redis.call('HINCRBY', KEYS[1], 'token', 1048576)
redis.call('HINCRBY', KEYS[1], 'barren', 1)
redis.call('HDEL', KEYS[1], 'owner', 'until')
if redis.call('ZSCORE', KEYS[2], ARGV[1]) then
  redis.call('ZADD', KEYS[2], string.format('%.0f', now), ARGV[1])
end
return '1'
