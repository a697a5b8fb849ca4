-- take: remove fields of one hash.
-- KEYS  1 hash
-- ARGV  field, ...
for i = 1, #ARGV do redis.call('HDEL', KEYS[1], ARGV[i]) end
return '1'
