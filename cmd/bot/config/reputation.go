package config

import (
	"crypto/ed25519"
	"encoding/base64"
	"fmt"
)

// check wants both fields or none: a list whose signature nobody can check says nothing.
func (c Reputation) check(r *report) {
	switch {
	case c.File != "" && c.PublicKey == "":
		r.add("reputation.file", "the list needs reputation.public_key: without a key nobody can tell whose it is")
	case c.File == "" && c.PublicKey != "":
		r.add("reputation.public_key", "there is no list: set reputation.file, or leave both out")
	case c.PublicKey != "":
		if _, err := c.Key(); err != nil {
			r.add("reputation.public_key", "%v", err)
		}
	}
}

// Key reads PublicKey. Its error does not quote it: somebody may have put the private one there.
func (c Reputation) Key() (ed25519.PublicKey, error) {
	b, err := base64.StdEncoding.DecodeString(c.PublicKey)
	if err != nil || len(b) != ed25519.PublicKeySize {
		return nil, fmt.Errorf("want the Ed25519 public key: %d bytes in base64, which are 44 characters", ed25519.PublicKeySize)
	}
	return b, nil
}
