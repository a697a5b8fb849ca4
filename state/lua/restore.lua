-- restore: put what a backup has of one key into it, after what was put there before.
-- KEYS  1 key
-- ARGV  1 type: string | list | hash | zset   2 ms left, 0: it stays   3.. the value; the members; field, value, ...; score, member, ...
local kind, ttl = ARGV[1], ARGV[2]
for i = 3, #ARGV do
  if kind == 'string' then redis.call('SET', KEYS[1], ARGV[i])
  elseif kind == 'list' then redis.call('RPUSH', KEYS[1], ARGV[i])
  elseif i % 2 == 1 and kind == 'hash' then redis.call('HSET', KEYS[1], ARGV[i], ARGV[i + 1])
  elseif i % 2 == 1 then redis.call('ZADD', KEYS[1], ARGV[i], ARGV[i + 1]) end
end
if ttl ~= '0' then redis.call('PEXPIRE', KEYS[1], ttl) end
return '1'
