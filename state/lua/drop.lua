-- drop: give a name back. What stays is the token.
-- KEYS  1 hold
-- ARGV  1 owner  2 operation
-- Reply 1: it was given back; 0: it was not the owner's, or this is a repeat, which must not end what the owner took since
local h = redis.call('HMGET', KEYS[1], 'owner', 'dropped')
if h[1] ~= ARGV[1] or h[2] == ARGV[2] then return '0' end
redis.call('HDEL', KEYS[1], 'owner', 'until')
redis.call('HSET', KEYS[1], 'dropped', ARGV[2])
return '1'
