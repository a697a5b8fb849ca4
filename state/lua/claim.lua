-- claim: take one chat that is due and free.
-- KEYS  1 head  2 due
-- ARGV  1 chat  2 owner  3 lease ms  4 again: 1 when an earlier reply was lost
-- Reply token:barren, or 0 when it is not due or not free. barren counts the leases in a row that ended without being given back
--       and without work in the log.
local chat, owner, lease = ARGV[1], ARGV[2], tonumber(ARGV[3])
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local h = redis.call('HMGET', KEYS[1], 'owner', 'token', 'until', 'barren')
local token, ends = tonumber(h[2] or 0), tonumber(h[3] or 0)
local barren = tonumber(h[4] or 0)
local held = h[1] and now < ends
local function given() return string.format('%.0f:%.0f', token, barren) end
if held and h[1] == owner and ARGV[4] == '1' then return given() end
local due = redis.call('ZSCORE', KEYS[2], chat)
if held or not due or tonumber(due) > now then return '0' end
token = math.max(token + 1, now) -- also above what was handed out before everything was lost
if h[1] then
  barren = barren + 1
  redis.call('HSET', KEYS[1], 'barren', string.format('%.0f', barren))
end
local till = string.format('%.0f', now + lease)
redis.call('HSET', KEYS[1], 'owner', owner, 'token', string.format('%.0f', token), 'until', till)
redis.call('ZADD', KEYS[2], till, chat)
return given()
