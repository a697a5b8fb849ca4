-- hold: take a name that is free, or prolong it for who has it.
-- KEYS  1 hold
-- ARGV  1 owner  2 ms  3 operation  4 home: which process an embedded store lives in, 0 on a server  5 ms for which the token is kept
--       after the hold
-- Reply owner ('': nobody), token, ms left
--
-- A new holder's token is above the last one, and at least the time: should the key be gone (it faded, or a failover lost it), it
-- still grows.
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local function int(x) return string.format('%.0f', x) end
local h = redis.call('HMGET', KEYS[1], 'owner', 'token', 'until', 'op', 'home')
local owner, token, ends = h[1], tonumber(h[2] or 0), tonumber(h[3] or 0)
if now >= ends or h[5] ~= ARGV[4] then owner = false end -- who held it in a process that is gone holds nothing
local function answer()
  if not owner then return {'', '0', '0'} end
  return {owner, int(token), int(ends - now)}
end
if h[4] == ARGV[3] then return answer() end -- the reply was lost, the call was not
if owner and owner ~= ARGV[1] then return answer() end
if not owner then token = math.max(token + 1, now) end
owner, ends = ARGV[1], now + tonumber(ARGV[2])
redis.call('HSET', KEYS[1], 'owner', owner, 'token', int(token), 'until', int(ends), 'op', ARGV[3], 'home', ARGV[4])
redis.call('PEXPIRE', KEYS[1], int(tonumber(ARGV[2]) + tonumber(ARGV[5])))
return answer()
