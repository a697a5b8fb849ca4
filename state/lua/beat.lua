-- beat: a replica says that it lives. A start when no other one does is a cold start, and opens a new epoch.
-- KEYS  1 replicas  2 epoch
-- ARGV  1 replica  2 ms until the heartbeat lapses (0: leaving)  3 starting: 0 | 1
-- Reply epoch, number of replicas that live
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', string.format('%.0f', now))
redis.call('ZREM', KEYS[1], ARGV[1])
if ARGV[3] == '1' and (redis.call('ZCARD', KEYS[1]) == 0 or redis.call('EXISTS', KEYS[2]) == 0) then
  redis.call('INCR', KEYS[2])
end
if ARGV[2] ~= '0' then
  redis.call('ZADD', KEYS[1], string.format('%.0f', now + tonumber(ARGV[2])), ARGV[1])
end
return {redis.call('GET', KEYS[2]) or '0', redis.call('ZCARD', KEYS[1])}
