-- renew: prolong a lease that is still held, and say where the log stands.
-- KEYS  1 head  2 due
-- ARGV  1 chat  2 owner  3 token  4 lease ms
-- Reply seq and tip, or nothing when the lease is lost
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local h = redis.call('HMGET', KEYS[1], 'owner', 'token', 'until', 'seq', 'tip')
if h[1] ~= ARGV[2] or h[2] ~= ARGV[3] or now >= tonumber(h[3] or 0) then return {} end
local till = string.format('%.0f', now + tonumber(ARGV[4]))
redis.call('HSET', KEYS[1], 'until', till)
redis.call('ZADD', KEYS[2], till, ARGV[1])
return {h[4] or '0', h[5] or ''}
