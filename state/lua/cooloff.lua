-- cooloff: the platform said no. Nobody spends from the pool for a while, and then it keeps a slot free for some minutes, one more
-- for each time that this happens again: somebody else spends from the same limit, or the network is slower than our margin.
-- KEYS  1 pool
-- ARGV  1 ms  2 ms after that in which slots are kept free
-- Reply 1
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local function int(x) return string.format('%.0f', x) end
local h = redis.call('HMGET', KEYS[1], 'cool', 'spare', 'sparing')
local cool, spare, sparing = tonumber(h[1] or 0), tonumber(h[2] or 0), tonumber(h[3] or 0)
if now >= sparing then spare = 0 end
if now >= cool then spare = math.min(spare + 1, 5) end -- else this call was on its way when the other was refused: the same news
cool = math.max(cool, now + tonumber(ARGV[1]))
redis.call('HSET', KEYS[1], 'cool', int(cool), 'spare', int(spare), 'sparing', int(cool + tonumber(ARGV[2])))
redis.call('PEXPIRE', KEYS[1], int(math.max(86400000, cool - now + tonumber(ARGV[2]))))
return '1'
