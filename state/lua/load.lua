-- load: the snapshot and everything after what it was folded from, in one look.
-- KEYS  1 head  2 log  3 snapshot
-- Reply seq, snapshot bytes, entries
local seq = redis.call('HGET', KEYS[1], 'seq') or '0'
local snap = redis.call('GET', KEYS[3]) or ''
local from = string.match(snap, '^%d+ (%d+) ') or '0'
return {seq, snap, redis.call('LRANGE', KEYS[2], from, -1)}
