-- put: set fields of one hash.
-- KEYS  1 hash
-- ARGV  field, value, ...
for i = 1, #ARGV, 2 do redis.call('HSET', KEYS[1], ARGV[i], ARGV[i + 1]) end
return '1'
