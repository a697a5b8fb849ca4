-- swap: replace one field of a hash, if it still has the value that somebody read.
-- KEYS  1 hash
-- ARGV  1 field  2 the value that was read  3 the new one; empty: the field goes
-- Reply 1, or 0 where it has another value
if redis.call('HGET', KEYS[1], ARGV[1]) ~= ARGV[2] then return '0' end
if ARGV[3] == '' then redis.call('HDEL', KEYS[1], ARGV[1]) else redis.call('HSET', KEYS[1], ARGV[1], ARGV[3]) end
return '1'
