-- append: one atomic step of a chat's log. Everything is checked before the first write: a script does not roll back.
--
-- KEYS  1 head  2 log  3 snapshot  4 due  5 asks  6 head of the settings, or this head where that lies in another slot
--       7.. one op key per event, or none for what is written under a lease
-- ARGV  1 class: none | fact | choice | work     2 known seq     3 known tip     4 what the head is signed with, where known is the head, or nothing
--       5 op ttl ms   6 keep ms (0: for ever)   7 lease ms   8 lease owner   9 lease token   10 claiming owner
--       11 release: 0 | 1   12 wake ms (0: never)   13 snapshot: none | known | after   14 snapshot bytes
--       15 nonce of this call, ~ before it on a repeat of the same call   16 sure: 0 | 1   17 chat   18 watch channel   19 prefix of wake channels
--       20 seq and tip of the settings that this was judged by, or nothing  21 number of events, then for each: op, link, bytes, number of ids, ids
-- Reply status, seq, tip, stamp, own, missing, token:barren:owed, released, holder, nonce, entries, seq and tip of the settings
--       own is how many of the last entries are this write's and left out of entries, because the caller has them.

local class, kseq, ktip, sealed = ARGV[1], tonumber(ARGV[2]), ARGV[3], ARGV[4]
local opttl, keep, lease = ARGV[5], tonumber(ARGV[6]), tonumber(ARGV[7])
local lowner, ltoken, claim = ARGV[8], tonumber(ARGV[9]), ARGV[10]
local release, wake = ARGV[11] == '1', tonumber(ARGV[12])
local chat, watch, wakes = ARGV[17], ARGV[18], ARGV[19]
local judged, n = ARGV[20], tonumber(ARGV[21])

local function int(x) return string.format('%.0f', x) end
local function op_of(e) return string.match(e or '', '^%d+ %d+ (%S+) ') end

local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local h = redis.call('HMGET', KEYS[1], 'seq', 'tip', 'stamp', 'owner', 'token', 'until', 'barren', 'owed', 'kept')
local seq, tip, stamp = tonumber(h[1] or 0), h[2] or '', tonumber(h[3] or 0)
local owner, token, ends = h[4] or '', tonumber(h[5] or 0), tonumber(h[6] or 0)
local barren = tonumber(h[7] or 0) -- leases in a row that ended without being given back and without work
local owed = h[8] or '0' -- 1: what is held was given back before until a time that had not come
local r = redis.call('HMGET', KEYS[6], 'seq', 'tip')
local rules = (r[1] or '0') .. ' ' .. (r[2] or '')
local held = owner ~= '' and now < ends
local ours = owner ~= '' and owner == lowner and token == ltoken
local given = owner == '' and ltoken > 0 and token == ltoken -- given back already

-- Where is known? 'head', 'past' of this history, or in 'other' history.
local where = 'other'
if kseq == seq then
  if ktip == tip then where = 'head' end
elseif kseq == 0 then
  if ktip == '' then where = 'past' end
elseif kseq < seq then
  local e = redis.call('LINDEX', KEYS[2], int(kseq - 1))
  if op_of(e) == ktip then where = 'past' end
end

local missing = 0
local function tail(last, total)
  local most = 512
  if kseq == 0 then most = 64 end
  if where == 'other' or total - kseq > most then
    missing = 1
    return {}
  end
  if last <= kseq then return {} end
  return redis.call('LRANGE', KEYS[2], int(kseq), int(last - 1))
end

local function holder()
  if held and owner ~= claim and not ours then return owner end
  return ''
end

local function answer(status, own, entries, mine, released, nonce)
  local t = '0'
  if mine then t = int(token) .. ':' .. int(barren) .. ':' .. owed end
  return {status, int(seq), tip, int(stamp), int(own), missing, t, released, holder(), nonce, entries, rules}
end

-- 1. Taken already? Then the same answer, and nothing is written to the log. A log's first entry needs no op key, and what is written under
-- a lease needs none: only its writer repeats it, work and choices on the head that they were made for, facts soon after it. Most of what a
-- turn writes is of that kind.
local first = op_of(redis.call('LINDEX', KEYS[2], '0'))
if n > 0 then
  local seen = string.match(ARGV[15], '^~.*') or '' -- a repeat of this very call finds what it wrote itself
  local nonce = first == ARGV[22] and seen
  if KEYS[7] then
    nonce = nonce or redis.call('GET', KEYS[7])
  elseif where == 'past' then
    local last = kseq
    if class == 'fact' then last = kseq + 511 end
    for _, e in ipairs(redis.call('LRANGE', KEYS[2], int(kseq), int(last))) do
      if op_of(e) == ARGV[22] then nonce = seen end
    end
  end
  if nonce then
    -- WAIT and WAITAOF count from the last write of the connection they come on. Without one they confirm nothing.
    if ARGV[16] == '1' then redis.call('HSET', KEYS[1], 'stamp', int(stamp)) end
    local released = 0
    if release and given then released = 1 end
    local entries = tail(seq, seq)
    return answer('repeat', 0, entries, claim ~= '' and held and owner == claim, released, nonce)
  end
end

-- 2. May it be written?
if class == 'choice' or class == 'work' then
  if where == 'other' then return answer('rewound', 0, {}, false, 0, '') end
  if class == 'work' and not (held and ours) then return answer('fenced', 0, {}, false, 0, '') end
  if where == 'past' then
    local entries = tail(seq, seq)
    return answer('stale', 0, entries, false, 0, '')
  end
  if judged ~= '' and judged ~= rules then return answer('rules', 0, {}, false, 0, '') end
end
if n == 0 and release and not ours and not given then return answer('fenced', 0, {}, false, 0, '') end
local skip, skipped, at = {}, 0, 22
for i = 1, #KEYS - 6 do
  if i > 1 and (first == ARGV[at] or redis.call('EXISTS', KEYS[6 + i]) == 1) then
    skip[i] = true
    skipped = skipped + 1
  end
  at = at + 4 + tonumber(ARGV[at + 3])
end
local was = tonumber(redis.call('ZSCORE', KEYS[4], chat) or nil)
local before = seq

-- 3. The log.
if stamp < now then stamp = now end
at = 22
for i = 1, n do
  local op, link, bytes, ids = ARGV[at], ARGV[at + 1], ARGV[at + 2], tonumber(ARGV[at + 3])
  if not skip[i] then
    seq = seq + 1
    tip = op
    redis.call('RPUSH', KEYS[2], int(seq) .. ' ' .. int(stamp) .. ' ' .. op .. ' ' .. link .. '\n' .. bytes)
    if KEYS[6 + i] and seq > 1 then redis.call('SET', KEYS[6 + i], ARGV[15], 'PX', opttl) end
    for j = 1, ids do redis.call('HSET', KEYS[5], ARGV[at + 3 + j], chat) end
  end
  at = at + 4 + ids
end
if seq > before then redis.call('HSET', KEYS[1], 'seq', int(seq), 'tip', tip, 'stamp', int(stamp)) end
if sealed ~= '' and where == 'head' then redis.call('HSET', KEYS[1], 'sealed', sealed) end
if seq > before and class == 'work' and barren > 0 then
  barren = 0
  redis.call('HDEL', KEYS[1], 'barren')
end

-- 4. The snapshot: only forward, and only a fold of this history.
local snapAt = ARGV[13]
if (snapAt == 'known' and where ~= 'other') or (snapAt == 'after' and where == 'head' and skipped == 0) then
  local old = string.match(redis.call('GETRANGE', KEYS[3], 0, 20), '^%d+')
  local new = string.match(ARGV[14], '^%d+')
  if tonumber(old or 0) < tonumber(new) then redis.call('SET', KEYS[3], ARGV[14]) end
end

-- 5. The lease and the due time.
local due, mine, released = was, false, 0
local touched = seq > before or (n == 0 and not release and snapAt == 'none')
if claim ~= '' and (not held or owner == claim) then
  if not held then
    token = math.max(token + 1, now) -- also above what was handed out before everything was lost
    if owner ~= '' then
      barren = barren + 1
      redis.call('HSET', KEYS[1], 'barren', int(barren))
    elseif was then
      owed = '1'
      redis.call('HSET', KEYS[1], 'owed', owed)
    end
  end
  owner, ends, held, mine = claim, now + lease, true, true
  due = ends
  redis.call('HSET', KEYS[1], 'owner', owner, 'token', int(token), 'until', int(ends))
elseif touched then
  if not held then
    if not due or due > now then due = now end
  elseif not ours then
    redis.call('PUBLISH', wakes .. owner, chat)
  end
end
if release then
  if ours and where == 'head' then
    redis.call('HDEL', KEYS[1], 'owner', 'until', 'barren', 'owed')
    owner, held, released, due = '', false, 1, nil
    if wake > 0 then due = wake end
  elseif given then
    released = 1
  end
end
if due ~= was then
  if due then redis.call('ZADD', KEYS[4], int(due), chat) else redis.call('ZREM', KEYS[4], chat) end
end

-- 6. Only a chat that nobody has to look at again, and on which there is no hold, may fade, and then all of it at once.
if not due then
  if keep > 0 and not h[9] then for i = 1, 3 do redis.call('PEXPIRE', KEYS[i], int(keep)) end end
elseif not was then
  for i = 1, 3 do redis.call('PERSIST', KEYS[i]) end
end

if seq > before then redis.call('PUBLISH', watch, int(seq)) end

if skipped > 0 then
  local entries = tail(seq, seq)
  return answer('ok', 0, entries, mine, released, '')
end
local entries = tail(before, seq)
return answer('ok', seq - before, entries, mine, released, '')
