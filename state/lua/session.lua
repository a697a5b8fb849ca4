-- session: keep one session: a new one while there are not too many, or what changed of one that is still there.
-- KEYS  1 sessions: Hash, hash of a key -> session
-- ARGV  1 hash of the key  2 session  3 how many there may be; 0 begins none
-- Reply 1: kept, or begun before, which is left as it is now; 0: it is not there any more, or there are too many
if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then
  if redis.call('HLEN', KEYS[1]) >= tonumber(ARGV[3]) then return '0' end
elseif ARGV[3] ~= '0' then return '1' end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
return '1'
