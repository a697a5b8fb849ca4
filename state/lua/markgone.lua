-- markgone: a place is no more.
-- KEYS  1 at: Hash, place -> mark   2 when: ZSET, place -> when it was last marked
-- ARGV  1 place
-- Reply 1
redis.call('HDEL', KEYS[1], ARGV[1])
redis.call('ZREM', KEYS[2], ARGV[1])
return '1'
