-- spend: one call of a budget that all replicas share, or when to ask again. The limit is a hard sliding window: at most so many
-- spendings stand in it. The platform counts when a call arrives, so our window is longer than its own by a margin for the network.
--
-- KEYS  1 spent: ZSET of the spendings in the window   2 live: Hash, message -> growth   3 came: ZSET, message -> when it was first heard of
--       4 pool: Hash: cool (nobody spends before), spare and sparing (slots kept free after a 429, until), len and ends (learned)
-- ARGV  1 limit (0: only say that the message ended)  2 window ms  3 lane: 0 progress | 1 final | 2 decision  4 message, or nothing
--       5 rate, characters a second  6 ends: 0 | 1  7 nonce of this spending  8 how many calls a decision may go up to, at least the limit
--       9 evenly: 1, where the platform bears short bursts: slots come back one after another, a limit's part of the window apart
--       10 progress without a message: made (the call was made already, on a replica's share) | look (it is only asked what is free)
-- Reply ms to wait; 0: spent; with 10: what is free, after a blank
--
-- Urgent lanes. A decision takes any free slot, a final any that no decision waits for, each lane in the order of asking. Who
-- waits says so by asking; who does not come back in time is forgotten. Where the platform bears bursts, a decision goes beyond the limit:
-- a person who waits for a question, or before one, is worth a 429 that all replicas then keep to.
--
-- Progress leaves one slot for the final of each live message (at most half of the limit, else many live messages would never show
-- progress), none for decisions, which have another way or go beyond the limit, and is paced. Mean lag is least when message i is edited every I = 1 / (k * sqrt(rate i)):
-- the slots go where r * I / 2 falls most for one more, whatever the answers' lengths. k is the largest pace that never runs dry:
-- for every moment h until the window has turned over,
--
--   k * (sum of sqrt(rate j) * min(R j, h)  +  new messages until h, as long and fast as these)
--       <= free slots + slots that return until h + finals due until h (a final shows text, too) - slots that new messages need until h
--
-- R, what an answer still has before it, is not known: R(age) = max(L - age, 0) + 0.35 * age, with L a moving mean of past answers'
-- lengths (25 s to begin with), at least 25 s and at most 40: after a history of short answers the first usual ones would have nothing left
-- half way, and after one of long answers they would be late for nothing. The first term alone spends all on what is expected and has
-- nothing for an answer that is longer; the second alone (an answer that is old will last) is too sparing at the beginning. See
-- TestPaceTable for what was compared.
-- New messages come as they came in this window, not counting the ones that came with its first: eight at once are a burst, not a
-- rate, but one every second is, and then progress must leave them their slots before they come.
-- Nobody reads faster than 5/4 of the limit's own pace in one message, so nothing is edited more often than that.

local function int(x) return string.format('%.0f', x) end

local limit, window, lane = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local most = math.max(tonumber(ARGV[8]), limit)
local message, rate, ends = ARGV[4], math.max(tonumber(ARGV[5]), 10), ARGV[6] == '1'
local apart = ARGV[9] == '1' and window / limit or nil
local LIFE, LATE, QUIET = 30000, 2000, 5000 -- ms: a message lives on; a waiting one may be late; not heard of, so it grew no more
local SOON, OFTEN = 1000, 2000              -- ms: progress and urgent lanes look again at least so often, for things change

local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)

-- 1. The window, and who is live.
local kind = lane > 0 and 'u' or 'p'
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', int(now - window))
if redis.call('ZSCORE', KEYS[1], kind .. ARGV[7]) then return '0' end -- the reply was lost, the call was not
-- 2. A final that finds a long queue is not put into it, and asks again when the window has all but turned over, one sooner than another: who
-- waits asks every other second, and each asking looks at all of them. A thousand would leave Redis no time for anything else.
if lane == 1 and limit > 0 and message ~= '' and redis.call('HEXISTS', KEYS[2], message) == 0 and redis.call('HLEN', KEYS[2]) >= 4 * limit then
  return int(window / 2 * (1 + string.byte(ARGV[7]) % 32 / 32))
end
local spent = redis.call('ZRANGE', KEYS[1], 0, -1, 'WITHSCORES')
local n = #spent / 2
local pool = redis.call('HMGET', KEYS[4], 'cool', 'spare', 'sparing', 'len', 'ends')
local len = tonumber(pool[4] or 25000)

local live, me = {}, nil -- live: the others
local flat = redis.call('HGETALL', KEYS[2])
for i = 1, #flat, 2 do
  local born, last, back, grows, till, want, since = string.match(flat[i + 1], '(%S+) (%S+) (%S+) (%S+) (%S+) (%S+) (%S+)')
  local m = {name = flat[i], born = born + 0, last = last + 0, back = back + 0, rate = grows + 0, till = till + 0, want = want + 0, since = since + 0}
  if flat[i] == message then
    me = m
  elseif now > m.till then
    redis.call('HDEL', KEYS[2], flat[i])
  else
    live[#live + 1] = m
  end
end
local heard = me and now <= me.till
if message ~= '' then
  if not heard then
    me = {born = now, last = now, back = now, want = 0, since = now}
    if limit > 0 then
      redis.call('ZADD', KEYS[3], int(now), message)
      redis.call('PEXPIRE', KEYS[3], int(window))
    end
  elseif now > me.back + QUIET then
    me.born = now -- it grows anew; what it shows is as old as it is
  end
  me.rate = rate
  if me.want ~= lane then me.want, me.since = lane, now end
end
redis.call('ZREMRANGEBYSCORE', KEYS[3], '-inf', int(now - window))

local function keep(back)
  if message == '' then return end
  me.back, me.till = back, back + LIFE
  local f = {}
  for i, x in ipairs({me.born, me.last, me.back, me.rate, me.till, me.want, me.since}) do f[i] = int(x) end
  redis.call('HSET', KEYS[2], message, table.concat(f, ' '))
  redis.call('PEXPIRE', KEYS[2], int(window + 2 * LIFE))
end

local function over()
  redis.call('HDEL', KEYS[2], message)
  if not heard then return end -- its one call teaches nothing of how long answers are
  local count = tonumber(pool[5] or 0) + 1
  len = len + math.max(0.1, 1 / (count + 1)) * (now - me.born - len)
  redis.call('HSET', KEYS[4], 'len', int(len), 'ends', int(count))
  redis.call('PEXPIRE', KEYS[4], 86400000)
end

local function refuse(wait, most)
  wait = math.ceil(math.max(20, math.min(wait, most)))
  keep(now + wait)
  return int(wait)
end

local function take()
  local at = now -- a spending stands in the window from then on
  if apart then at = math.max(now, n > 0 and spent[2 * n] + window or 0) + apart - window end
  redis.call('ZADD', KEYS[1], int(at), kind .. ARGV[7])
  redis.call('PEXPIRE', KEYS[1], int(window))
  if message ~= '' then
    me.last, me.want = now, 0
    if ends then over() else keep(now + 3000) end
  end
  return '0'
end

if limit == 0 then
  if message ~= '' then over() end
  return '0'
end
local how = ARGV[10]
if how == 'made' then
  take()
  n = n + 1
end
local cool = tonumber(pool[1] or 0)
if now < cool then return refuse(cool - now, cool - now) end
if now < tonumber(pool[3] or 0) then limit, most = math.max(1, limit - tonumber(pool[2])), math.max(1, most - tonumber(pool[2])) end
if lane < 2 then most = limit end

-- The k-th slot to come free does so when the spending before it has left the window; one that is free already is kept for somebody
-- who is about to ask again.
local function returns(k)
  local i = math.min(n - most + k, n)
  if i < 1 then return 100 end
  return tonumber(spent[2 * i]) + window - now
end

-- 3. Urgent: who is before us?
local ahead, waiting = 0, 0
for _, m in ipairs(live) do
  if m.want > 0 and now <= m.back + LATE then
    waiting = waiting + 1
    if m.want > lane or (m.want == lane and message ~= '' and m.since < me.since) then ahead = ahead + 1 end
  end
end
if lane > 0 then
  if most - n > ahead then return take() end
  return refuse(returns(ahead + 1), message == '' and window or OFTEN)
end

-- 4. Progress: what is reserved?
local finals = #live - waiting
if message ~= '' then finals = finals + 1 end
local reserve = 0
if finals > 0 then reserve = math.min(finals, math.floor(limit / 2)) end
local free = limit - n - waiting - reserve
if message == '' then
  if how ~= '' then return '0 ' .. int(math.max(free, 0)) end
  if free > 0 then return take() end
  return refuse(returns(waiting + reserve + 1), window)
end

-- 5. Progress: the pace. Seconds from here on.
local grow, weight, usual = {}, 0, math.min(math.max(len, 25000), 40000) / 1000
local function growing(m)
  local age = (now - m.born) / 1000
  local g = {w = math.sqrt(m.rate), r = math.max(usual - age, 0) + 0.35 * age}
  grow[#grow + 1], weight = g, weight + g.w
end
growing(me)
table.sort(live, function(a, b) return a.name < b.name end) -- a sum differs with its order, and a journal is replayed to the same state
for _, m in ipairs(live) do
  if now <= m.back + LATE then growing(m) end
end

local urgent = 0
for i = 1, #spent, 2 do
  if string.sub(spent[i], 1, 1) == 'u' then urgent = urgent + 1 end
end
local first = redis.call('ZRANGE', KEYS[3], 0, 0, 'WITHSCORES')
local came = redis.call('ZCARD', KEYS[3])
local coming, need = 0, 0 -- messages, and slots for their urgent calls, a second
if came > 0 then
  local since = tonumber(first[2])
  coming = redis.call('ZCOUNT', KEYS[3], int(since + 2001), '+inf') * 1000 / (now - since + 5000)
  need = math.min(coming * math.min(math.max(urgent / came, 1), 3), 0.9 * (limit - waiting - reserve) * 1000 / window)
end

local pace = math.huge
local function check(h, back)
  local demand, slots = coming * h * len / 1000 * weight / #grow, free + back - need * h
  for _, g in ipairs(grow) do
    demand = demand + g.w * math.min(g.r, h)
    if g.r <= h then slots = slots + 1 end
  end
  if demand > 0 then pace = math.min(pace, math.max(slots, 0) / demand) end
end
for i = 1, n do -- what was demanded until a slot returns has to come from those before it
  local h = (tonumber(spent[2 * i]) + window - now) / 1000
  if h > 0 then check(h, i - 1) end
end
check(window / 1000, n)

local every = math.max(1000 / (pace * math.sqrt(rate)), 0.8 * window / limit)
local wait = me.last + every - now
if free < 1 then wait = math.max(wait, returns(waiting + reserve + 1)) end
if wait >= 1 then return refuse(wait, SOON) end
return take()
