package state

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"hash/fnv"
	"net/url"
	"strings"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/chat"
)

// buckets is how many slots the chats spread over. It is part of the stored form: changing it loses every chat.
const buckets = 64

// Every key and channel of this package is named in this file, and nowhere else.
const prefix = "nod:"

const (
	runEpoch    = prefix + "{run}:epoch"    // String: counts the cold starts
	runServer   = prefix + "{run}:server"   // Hash: id (of the server, as long as it runs), since (ms); restored (ms), where a backup was; nod, key: the version that began to write last, and what tells its audit key from others
	runProbe    = prefix + "{run}:probe"    // Hash: at: what a look at whether writes are taken writes
	runReplicas = prefix + "{run}:replicas" // ZSET: replica → when its heartbeat lapses, in ms of Redis time
)

// chatKeys are the keys of one chat. All of them are in one slot.
type chatKeys struct {
	tag  string
	head string // Hash: seq, tip, stamp; owner, token, until of the lease
	log  string // List: one stored entry per event
	snap string // String: the latest snapshot
	due  string // ZSET of the bucket: chat → when somebody must look at it, in ms of Redis time
	asks string // Hash of the bucket: ask or call → chat
}

func keysOf(id chat.ID) chatKeys { return keysNamed(id.String()) }

// keysNamed is keysOf for the stored form of an ID.
func keysNamed(name string) chatKeys {
	h := fnv.New32a()
	_, _ = h.Write([]byte(name))
	b := int(h.Sum32() % buckets)
	k := chatKeys{tag: tag(b), due: dueKey(b), asks: asksKey(b)}
	k.head = prefix + k.tag + ":head:" + name
	k.log = prefix + k.tag + ":log:" + name
	k.snap = prefix + k.tag + ":snap:" + name
	return k
}

// op is the key that remembers that an operation of this chat was taken. Hashed, because there are many and op IDs are long.
func (k chatKeys) op(op agent.OpID) string {
	h := sha256.Sum256([]byte(k.head + "\x00" + string(op)))
	return prefix + k.tag + ":op:" + base64.RawURLEncoding.EncodeToString(h[:16])
}

func tag(bucket int) string     { return fmt.Sprintf("{b%02d}", bucket) }
func dueKey(bucket int) string  { return prefix + tag(bucket) + ":due" }
func asksKey(bucket int) string { return prefix + tag(bucket) + ":asks" }

// chatOfHead gives back the chat's name when key is a head key.
func chatOfHead(key string) (name string, ok bool) {
	_, name, ok = strings.Cut(key, ":head:")
	return name, ok && keysNamed(name).head == key
}

// blobKeys are the keys of the blobs that are kept beside a chat's log. Both are in its slot.
type blobKeys struct {
	data  string // Hash: digest → bytes; "size": of all together
	order string // List: digests, the oldest first
}

func blobsOf(id chat.ID) blobKeys {
	k := keysOf(id)
	name := prefix + k.tag + ":blobs:" + id.String()
	return blobKeys{name, prefix + k.tag + ":bloborder:" + id.String()}
}

// sessions is a Hash: hash of a session's key → session; and endedOld, once all that older versions opened were ended.
const (
	sessions = prefix + "sessions"
	endedOld = "ended-old"
)

// oldSessionKey is a Hash: user, name. Older versions kept each session under a key of its own, and for ever.
func oldSessionKey(keyHash string) string { return prefix + "session:" + keyHash }

// pushes is a Hash: hash of a session's key → the device that its browser is notified on. pushKeys is a Hash of one field: the key that signs for all.
const (
	pushes   = prefix + "pushes"
	pushKeys = prefix + "pushkey"
)

const installs = prefix + "installs" // Hash: workspace → what was installed there, sealed

func shelfKey(userKey string) string { return prefix + "shelf:" + userKey } // Hash: t:<chat> title, a:<chat> ms; person

func onceKey(name string) string { return prefix + "once:" + name } // String: who used the name, as long as it counts as used

// budgetKeys are the keys of one pool of an outbound budget. All of them are in one slot.
type budgetKeys struct {
	spent string // ZSET: spending → when, in ms of Redis time
	live  string // Hash: message → how it grows
	came  string // ZSET: message → when it was first heard of
	pool  string // Hash: cool-off, and what was learned
}

func poolKeys(pool string) budgetKeys {
	tag := prefix + "{pool:" + url.PathEscape(pool) + "}" // a brace in the name would end the tag
	return budgetKeys{tag + ":spent", tag + ":live", tag + ":came", tag + ":pool"}
}

// limitKeys are the keys of what one person asks of the model: turns (ZSET) and tokens (Hash). Both are in one slot, and fade within a day.
func limitKeys(who chat.User) []string {
	tag := prefix + "{limit:" + url.PathEscape(who.String()) + "}" // a brace in the name would end the tag
	return []string{tag + ":turns", tag + ":tokens"}
}

// holdKey is a Hash: owner and until while somebody has the name; token, op and dropped (the last operations), home.
func holdKey(name string) string { return prefix + "hold:" + name }

// markKeys are the keys of one surface's marks. Both are in one slot.
type markKeys struct {
	at   string // Hash: place → mark
	when string // ZSET: place → when it was last marked, in ms of Redis time
}

func marksOf(surface string) markKeys {
	tag := prefix + "{marks:" + url.PathEscape(surface) + "}" // a brace in the name would end the tag
	return markKeys{tag + ":at", tag + ":when"}
}

// Channels carry signals, never facts.
const wakePrefix = prefix + "wake:" // + owner: a chat that somebody wrote to while owner held it

func watchChannel(id chat.ID) string { return prefix + "watch:" + id.String() }
func liveChannel(id chat.ID) string  { return prefix + "live:" + id.String() }
