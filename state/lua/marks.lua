-- marks: the marks of places that were marked lately. It only reads.
-- KEYS  1 at: Hash, place -> mark   2 when: ZSET, place -> when it was last marked
-- ARGV  1 ms
-- Reply place, mark, ...
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local places = redis.call('ZRANGEBYSCORE', KEYS[2], string.format('(%.0f', now - tonumber(ARGV[1])), '+inf')
local out = {}
for i = 1, #places, 500 do -- unpack has its limit
  local some = {unpack(places, i, math.min(i + 499, #places))}
  for j, at in ipairs(redis.call('HMGET', KEYS[1], unpack(some))) do
    if at then
      out[#out + 1] = some[j]
      out[#out + 1] = at
    end
  end
end
return out
