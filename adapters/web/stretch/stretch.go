// Package stretch makes keys of secrets that people chose. Whoever has what came of one could try others on it; each try takes them as long as
// it takes here, some 15 ms.
package stretch

import (
	"crypto/pbkdf2"
	"crypto/sha256"
	"sync"
)

// made are the keys of the secrets that are configured here: several rooms ask for the same, and pay once.
var made sync.Map

// Key is the key of a configured secret for one purpose, and the same on every replica. What people type at the door does not belong here:
// each secret is kept as long as the process lives. It fails for secrets shorter than FIPS 140 permits, where a process is bound to that.
func Key(purpose, secret string) ([32]byte, error) {
	once, _ := made.LoadOrStore([2]string{purpose, secret}, sync.OnceValues(func() (key [32]byte, err error) {
		sum, err := pbkdf2.Key(sha256.New, secret, []byte(purpose), 100_000, len(key))
		copy(key[:], sum)
		return key, err
	}))
	return once.(func() ([32]byte, error))()
}
