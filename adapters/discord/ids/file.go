package ids

import "strings"

// HandleOf names a file by the message that it came with. ok is false where one of them is no ID.
func HandleOf(channel, message, attachment string) (handle string, ok bool) {
	return channel + "/" + message + "/" + attachment, IsSnowflake(channel) && IsSnowflake(message) && IsSnowflake(attachment)
}

// FileOf reads what [HandleOf] wrote.
func FileOf(handle string) (channel, message, attachment string, ok bool) {
	part := strings.Split(handle, "/")
	if len(part) != 3 {
		return "", "", "", false
	}
	_, ok = HandleOf(part[0], part[1], part[2])
	return part[0], part[1], part[2], ok
}
