-- once: take a name that nobody has taken, until it is forgotten.
-- KEYS  1 name
-- ARGV  1 who takes it  2 for how long, in ms
-- Reply 1: taken, also where an earlier try of the same one took it; 0: another has
redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2])
if redis.call('GET', KEYS[1]) == ARGV[1] then return '1' end
return '0'
