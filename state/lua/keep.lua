-- keep: keep a chat's newest blobs, up to so many bytes together.
-- KEYS  1 hash of blobs   2 list of their digests, the oldest first   3 head: kept, where there is a hold on the chat
-- ARGV  1 digest   2 bytes   3 the most bytes of all together   4 how long, ms
local kept = redis.call('HEXISTS', KEYS[3], 'kept') == 1
if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then
  redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
  redis.call('RPUSH', KEYS[2], ARGV[1])
  local size = redis.call('HINCRBY', KEYS[1], 'size', string.len(ARGV[2]))
  while not kept and size > tonumber(ARGV[3]) do
    local old = redis.call('LPOP', KEYS[2])
    if not old or old == ARGV[1] then break end
    size = redis.call('HINCRBY', KEYS[1], 'size', -string.len(redis.call('HGET', KEYS[1], old)))
    redis.call('HDEL', KEYS[1], old)
  end
end
if not kept then for i = 1, 2 do redis.call('PEXPIRE', KEYS[i], ARGV[4]) end end
return '1'
