-- forget: drop ids from the index once their chat has faded.
-- KEYS  1 asks  2 head of the chat
-- ARGV  ids
if redis.call('EXISTS', KEYS[2]) == 1 then return '0' end
for i = 1, #ARGV do redis.call('HDEL', KEYS[1], ARGV[i]) end
return '1'
