-- anew: since when the store has been this server.
-- KEYS  1 server: Hash: id, since
-- ARGV  1 the server's own name of this run of it
-- Reply ms: when somebody first met it. What was written before was written to another server, or before a restart.
local h = redis.call('HMGET', KEYS[1], 'id', 'since')
if h[1] == ARGV[1] and h[2] then return h[2] end
local time = redis.call('TIME')
local now = string.format('%.0f', tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000))
redis.call('HSET', KEYS[1], 'id', ARGV[1], 'since', now)
return now
