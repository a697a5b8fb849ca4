package fakepush

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/ecdh"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"time"
)

// sender reads who signed a message, and whom one may turn to: RFC 8292.
func sender(header, audience string, now time.Time) (subject string, key []byte, err error) {
	scheme, rest, _ := strings.Cut(header, " ")
	if !strings.EqualFold(scheme, "vapid") {
		return "", nil, fmt.Errorf("the scheme is %q", scheme)
	}
	given := map[string]string{}
	for part := range strings.SplitSeq(rest, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(part), "=")
		given[name] = value
	}
	if key, err = base64.RawURLEncoding.DecodeString(given["k"]); err != nil {
		return "", nil, fmt.Errorf("k: %w", err)
	}
	at, err := ecdsa.ParseUncompressedPublicKey(elliptic.P256(), key)
	if err != nil {
		return "", nil, fmt.Errorf("k: %w", err)
	}
	parts := strings.Split(given["t"], ".")
	if len(parts) != 3 {
		return "", nil, errors.New("t is no JWT")
	}
	var raw [3][]byte
	for i, p := range parts {
		if raw[i], err = base64.RawURLEncoding.DecodeString(p); err != nil {
			return "", nil, fmt.Errorf("t: %w", err)
		}
	}
	var head struct{ Typ, Alg string }
	var claims struct {
		Aud string
		Exp int64
		Sub string
	}
	if err := errors.Join(json.Unmarshal(raw[0], &head), json.Unmarshal(raw[1], &claims)); err != nil {
		return "", nil, fmt.Errorf("t: %w", err)
	}
	sum := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
	switch ends := time.Unix(claims.Exp, 0); {
	case head.Alg != "ES256":
		return "", nil, fmt.Errorf("it is signed by %q", head.Alg)
	case len(raw[2]) != 64 || !ecdsa.Verify(at, sum[:], new(big.Int).SetBytes(raw[2][:32]), new(big.Int).SetBytes(raw[2][32:])):
		return "", nil, errors.New("the signature is not of k")
	case claims.Aud != audience:
		return "", nil, fmt.Errorf("it is for %q", claims.Aud)
	case !ends.After(now), ends.After(now.Add(24 * time.Hour)):
		return "", nil, fmt.Errorf("it counts until %v", ends)
	// What Apple's service asks of it: an address of a person, or of a page.
	case !strings.HasPrefix(claims.Sub, "https://") && (!strings.HasPrefix(claims.Sub, "mailto:") || strings.Count(claims.Sub, ":") != 1 || !strings.Contains(claims.Sub, "@")),
		strings.Contains(claims.Sub, "localhost"):
		return "", nil, fmt.Errorf("one would turn to %q", claims.Sub)
	}
	return claims.Sub, key, nil
}

// open reads a message as a browser does: RFC 8291, 3, of one record by RFC 8188.
func open(body []byte, private *ecdh.PrivateKey, auth []byte) ([]byte, error) {
	const saltLen, headLen = 16, 16 + 4 + 1
	if len(body) < headLen || len(body) < headLen+int(body[headLen-1]) {
		return nil, errors.New("there is no header")
	}
	salt, size, id := body[:saltLen], binary.BigEndian.Uint32(body[saltLen:]), body[headLen:headLen+int(body[headLen-1])]
	sealed := body[headLen+len(id):]
	if size < 18 || uint64(len(sealed)) > uint64(size) {
		return nil, fmt.Errorf("%d bytes are more than one record of %d", len(sealed), size)
	}
	there, err := ecdh.P256().NewPublicKey(id)
	if err != nil {
		return nil, err
	}
	shared, err := private.ECDH(there)
	if err != nil {
		return nil, err
	}
	derive := func(secret, salt []byte, info string, n int) []byte {
		if err != nil {
			return nil
		}
		var out []byte
		out, err = hkdf.Key(sha256.New, secret, salt, info, n)
		return out
	}
	ikm := derive(shared, auth, "WebPush: info\x00"+string(private.PublicKey().Bytes())+string(id), 32)
	key := derive(ikm, salt, "Content-Encoding: aes128gcm\x00", 16)
	nonce := derive(ikm, salt, "Content-Encoding: nonce\x00", 12)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(key)
	if err != nil {
		return nil, err
	}
	gcm, err := cipher.NewGCM(block)
	if err != nil {
		return nil, err
	}
	padded, err := gcm.Open(nil, nonce, sealed, nil)
	if err != nil {
		return nil, err
	}
	plain := []byte(strings.TrimRight(string(padded), "\x00"))
	if len(plain) == 0 || plain[len(plain)-1] != 2 { // the last record's delimiter
		return nil, errors.New("it is not the last record")
	}
	return plain[:len(plain)-1], nil
}
