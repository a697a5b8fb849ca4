package stretch_test

import (
	"encoding/hex"
	"testing"

	"github.com/nodhq/nod/adapters/web/stretch"
)

// What people sign in with, and what they began, goes on working after an update: a key stays what it was. The sum is that of
// hashlib.pbkdf2_hmac("sha256", b"a long secret", b"purpose", 100000).
func TestKeyStaysTheSame(t *testing.T) {
	const want = "3607ba6d7675ba21e2ecfb45e4a78257a4018524cbc58dec2b0c0ced227f4140"
	for range 2 {
		key, err := stretch.Key("purpose", "a long secret")
		if got := hex.EncodeToString(key[:]); err != nil || got != want {
			t.Errorf("%s, %v", got, err)
		}
	}
	if a, _ := stretch.Key("another purpose", "a long secret"); hex.EncodeToString(a[:]) == want {
		t.Error("two purposes have one key")
	}
}
