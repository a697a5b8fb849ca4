package session

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"net/http"
	"slices"
	"strings"

	"github.com/nodhq/nod/adapters/web/stretch"
	"github.com/nodhq/nod/core/chat"
)

// adminName is what administrators who are known by a key are called.
const adminName = "admin"

// AdminUser is the identity behind an admin key, on every replica, for the policy's admins. Only spaces give the zero User: nobody.
func AdminUser(key string) chat.User {
	sum := fingerprint("nod web admin", strings.TrimSpace(key))
	if sum == "" {
		return chat.User{}
	}
	return chat.User{Platform: Platform, Key: "admin-" + sum}
}

// fingerprint names a configured key where it must not help to guess it: in logs, and in the store. It is slow on purpose.
func fingerprint(salt, key string) string {
	sum, err := stretch.Key(salt, key)
	if key == "" || err != nil { // the second only where FIPS 140 binds, and a key is too short for it
		return ""
	}
	return hex.EncodeToString(sum[:12])
}

// Key is a configured key that opens sessions. It is no bearer of anything else.
type Key struct {
	// Name, if not empty, is the person whose key it is: each session that it opens is theirs, as web::NAME.
	Name string
	Key  string
}

// keyring holds the configured keys as hashes, so that comparing takes the same time for every guess.
type keyring []configuredKey

type configuredKey struct {
	sum    [sha256.Size]byte
	opener string // what sessions remember of it
	admin  bool
	user   chat.User // of an admin
	name   string    // of the person whose key it is
}

func newKeyring(admins []string, opens []Key) (ring keyring) {
	for _, key := range admins {
		if key = strings.TrimSpace(key); key != "" {
			user := AdminUser(key)
			ring = append(ring, configuredKey{sum: sha256.Sum256([]byte(key)), admin: true, user: user, opener: user.Key})
		}
	}
	for _, k := range opens {
		if key := strings.TrimSpace(k.Key); key != "" {
			ring = append(ring, configuredKey{sum: sha256.Sum256([]byte(key)), name: k.Name, opener: fingerprint("nod web session", key+"\x00"+k.Name)})
		}
	}
	return ring
}

// find compares a key with every one there is, whatever matches. The zero one is none.
func (ring keyring) find(key string) (found configuredKey) {
	sum := sha256.Sum256([]byte(key))
	for _, k := range ring {
		if subtle.ConstantTimeCompare(k.sum[:], sum[:]) == 1 {
			found = k
		}
	}
	return found
}

// HasKeys reports whether there is a configured key.
func (s *Sessions) HasKeys() bool { return len(s.keys) > 0 }

// NeedsKey reports whether opening a session takes a configured key, or somebody for whom a provider vouches.
func (s *Sessions) NeedsKey() bool {
	return !s.Loopback || len(s.Doors) > 0 || slices.ContainsFunc(s.keys, func(k configuredKey) bool { return !k.admin })
}

var tooManyGuesses = Refused{http.StatusTooManyRequests, "too_many_wrong_keys",
	"Too many wrong keys were tried, so none is looked at now. Wait a minute, then try again."}

// configured finds a configured key. Once too many wrong ones were tried none is looked at for a while, right ones included: else trying
// would still tell which one is right. Sessions, whose keys nobody can guess, are not held up by that.
func (s *Sessions) configured(key string) (k configuredKey, err error) {
	switch {
	case key == "" || len(key) > maxKey:
		return k, nil
	case s.wrongKeys.Tokens() < 1:
		return k, tooManyGuesses
	}
	if k = s.keys.find(key); k.opener == "" {
		s.wrongKeys.Allow()
	}
	return k, nil
}

// opener finds the configured key that opens a session, or none where none is needed.
func (s *Sessions) opener(key string) (configuredKey, error) {
	if strings.HasPrefix(key, keyStart) && !s.NeedsKey() { // somebody's session; it may open another
		return configuredKey{}, nil
	}
	by, err := s.configured(key)
	switch {
	case err != nil, by.opener != "", !s.NeedsKey():
		return by, err
	case key == "":
		return by, Refused{http.StatusUnauthorized, "unauthorized", "Opening a session here needs one of the configured keys (web.session_keys)."}
	}
	return by, Refused{http.StatusForbidden, "forbidden", "This key does not open sessions here."}
}
