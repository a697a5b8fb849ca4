package fakepush

import (
	"crypto/ecdh"
	"encoding/base64"
	"strings"
	"testing"
	"time"
)

func bytesOf(t *testing.T, s string) []byte {
	t.Helper()
	b, err := base64.RawURLEncoding.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// The message of RFC 8291, 5 and Appendix A, is read; changed by a bit it is not.
func TestReadsTheExampleOfTheStandard(t *testing.T) {
	body := bytesOf(t, "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN")
	private, err := ecdh.P256().NewPrivateKey(bytesOf(t, "q1dXpw3UpT5VOmu_cf_v6ih07Aems3njxI-JWgLcM94"))
	if err != nil {
		t.Fatal(err)
	}
	auth := bytesOf(t, "BTBZMqHH6r4Tts7J_aSIgg")
	if got, err := open(body, private, auth); err != nil || string(got) != "When I grow up, I want to be a watermelon" {
		t.Errorf("%q, %v", got, err)
	}
	body[len(body)-1] ^= 1
	if got, err := open(body, private, auth); err == nil {
		t.Errorf("it reads %q", got)
	}
}

// The token of RFC 8292, 2.4, is of who it says, for its service and its time alone.
func TestKnowsTheSenderOfTheStandard(t *testing.T) {
	const header = "vapid t=eyJ0eXAiOiJKV1QiLCJhbGciOiJFUzI1NiJ9.eyJhdWQiOiJodHRwczovL3B1c2guZXhhbXBsZS5uZXQiLCJleHAiOjE0NTM1MjM3NjgsInN1YiI6Im1haWx0bzpwdXNoQGV4YW1wbGUuY29tIn0.i3CYb7t4xfxCDquptFOepC9GAu_HLGkMlMuCGSK2rpiUfnK9ojFwDXb1JrErtmysazNjjvW2L9OkSSHzvoD1oA, k=BA1Hxzyi1RUM1b5wjxsn7nGxAszw2u61m164i3MrAIxHF6YK5h4SDYic-dRuU_RCPCfA5aq9ojSwk5Y2EmClBPs"
	at := time.Unix(1453523768, 0).Add(-time.Hour)
	if subject, key, err := sender(header, "https://push.example.net", at); err != nil || subject != "mailto:push@example.com" || len(key) != 65 {
		t.Errorf("%q, %d bytes, %v", subject, len(key), err)
	}
	for why, no := range map[string]func() error{
		"another service": func() error { _, _, err := sender(header, "https://push.example.org", at); return err },
		"over":            func() error { _, _, err := sender(header, "https://push.example.net", at.Add(2*time.Hour)); return err },
		"for too long": func() error {
			_, _, err := sender(header, "https://push.example.net", at.Add(-48*time.Hour))
			return err
		},
		"another signature": func() error {
			_, _, err := sender(strings.Replace(header, ".i3C", ".i3D", 1), "https://push.example.net", at)
			return err
		},
	} {
		if no() == nil {
			t.Errorf("%s: it is taken", why)
		}
	}
}
