-- erase: delete all of a chat, as it was read. (PEXPIRE with 0 deletes, and needs no right that nod did not have.)
-- KEYS  1 head  2 log  3 snapshot  4 blobs  5 list of blobs  6 due
-- ARGV  1 chat   2 seq, where it was read
-- Reply gone | kept: there is a hold on it | busy: somebody drives it | moved: it is longer than what was read
local h = redis.call('HMGET', KEYS[1], 'seq', 'kept', 'owner', 'until')
if h[2] then return 'kept' end
if h[1] and h[1] ~= ARGV[2] then return 'moved' end
local time = redis.call('TIME')
if h[3] and tonumber(h[4] or 0) > tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000) then return 'busy' end
for i = 1, 5 do redis.call('PEXPIRE', KEYS[i], 0) end
redis.call('ZREM', KEYS[6], ARGV[1])
return 'gone'
