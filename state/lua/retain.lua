-- retain: keep a chat from fading, or let it fade again.
-- KEYS  1 head  2 log  3 snapshot  4 blobs  5 list of blobs  6 due
-- ARGV  1 kept: 0 | 1   2 chat   3 keep ms (0: for ever)   4 for how long blobs are kept, ms
if redis.call('EXISTS', KEYS[1]) == 0 then return '0' end
if ARGV[1] == '1' then
  redis.call('HSET', KEYS[1], 'kept', '1')
  for i = 1, 5 do redis.call('PERSIST', KEYS[i]) end
elseif redis.call('HDEL', KEYS[1], 'kept') == 1 then
  for i = 4, 5 do redis.call('PEXPIRE', KEYS[i], ARGV[4]) end
  if ARGV[3] ~= '0' and not redis.call('ZSCORE', KEYS[6], ARGV[2]) then
    for i = 1, 3 do redis.call('PEXPIRE', KEYS[i], ARGV[3]) end
  end
end
return '1'
