package push

import (
	"context"
	"crypto/ecdh"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nodhq/nod/core/chat"
)

// A browser names the address that nod then sends to: only one that may be a push service's is kept, with keys that are some.
func TestTakesOnlySubscriptions(t *testing.T) {
	h := newHouse()
	s, _ := h.sender(t, &http.Client{})
	put := func(change func(*Subscription)) error {
		from := browsers(t)
		change(&from)
		return s.Put(t.Context(), "s-ana", ana, "", from)
	}
	for _, address := range []string{
		"", "nonsense", "http://push.example.net/x", "ftp://push.example.net/x", "https:///x", "https:push.example.net", "https://user@push.example.net/x", "https://push.example.net:8443/x",
		"https://push.example.net/x#f", "https://localhost/x", "https://LOCALHOST./x", "https://a.localhost/x", "https://redis/x", "https://metadata.google.internal/x", "https://printer.local/x",
		"https://127.0.0.1/x", "https://127.1/x", "https://2130706433/x", "https://0x7f.0x0.0x0.0x1/x", "https://10.0.0.1./x", "https://[::1]/x", "https://[fe80::1%25eth0]/x", "https://[fe80::1%25eth0.x]/x", "https://8.8.8.8/x",
		"https://push.example.net/" + strings.Repeat("x", maxEndpoint), "\x7f",
	} {
		if _, no := errors.AsType[Invalid](put(func(s *Subscription) { s.Endpoint = address })); !no {
			t.Errorf("%.60q is taken", address)
		}
	}
	other, err := ecdh.X25519().GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	for _, keys := range [][2]string{
		{"", ""}, {"!", "!"}, {"!", ""}, {"", "!"}, {base64.RawURLEncoding.EncodeToString(other.PublicKey().Bytes()), ""}, {base64.RawURLEncoding.EncodeToString(append([]byte{4}, make([]byte, 64)...)), ""}, {"", "AAAA"}, {"", strings.Repeat("A", 24)},
	} {
		if _, no := errors.AsType[Invalid](put(func(s *Subscription) {
			if keys[0] != "" || keys[1] == "" {
				s.Keys.P256dh = keys[0]
			}
			if keys[1] != "" || keys[0] == "" {
				s.Keys.Auth = keys[1]
			}
		})); !no {
			t.Errorf("the keys %q are taken", keys)
		}
	}
	if len(h.devices) != 0 {
		t.Errorf("kept: %q", h.devices)
	}
	if err := put(func(s *Subscription) { s.Endpoint = "https://Push.Example.net:443/x?y=1" }); err != nil {
		t.Error(err)
	}
}

// A person has ten devices, and the oldest goes. A browser is one person's: who signs in there later has it.
func TestDevicesOfAPerson(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHouse()
		s, _ := h.sender(t, &http.Client{})
		put := func(session string, u chat.User, endpoint string) {
			t.Helper()
			from := browsers(t)
			from.Endpoint = "https://push.example.net/" + endpoint
			if err := s.Put(t.Context(), session, u, "", from); err != nil {
				t.Fatal(err)
			}
		}
		put("s-eve", eve, "hers")
		for n := range maxDevices + 2 {
			put(fmt.Sprint("s", n), ana, fmt.Sprint(n))
			time.Sleep(time.Second) //nolint:forbidigo // of the bubble
		}
		if h.devices["s0"] != nil || h.devices["s1"] != nil || h.devices["s2"] == nil || h.devices["s-eve"] == nil || len(h.devices) != maxDevices+1 {
			t.Errorf("kept are %d", len(h.devices))
		}
		put("s-eve", eve, "5")
		if n, err := s.Devices(t.Context(), ana); n != maxDevices-1 || err != nil || h.devices["s5"] != nil {
			t.Errorf("Ana has %d, %v", n, err)
		}
		if err := s.Drop(t.Context(), "s6"); err != nil || h.devices["s6"] != nil {
			t.Error(err)
		}
		if err := s.Drop(t.Context(), "none"); err != nil {
			t.Error(err)
		}

		// Whatever the store does not do, who asked for it is told.
		again := browsers(t)
		again.Endpoint = "https://push.example.net/7"
		for what, of := range map[string]struct {
			broken *error
			ask    func() error
		}{
			"keep":              {&h.full, func() error { return s.Put(t.Context(), "s7", ana, "", again) }},
			"see the others":    {&h.down, func() error { return s.Put(t.Context(), "s7", ana, "", again) }},
			"take it elsewhere": {&h.stuck, func() error { return s.Put(t.Context(), "s-eve", eve, "", again) }},
			"take the oldest":   {&h.stuck, func() error { return s.Put(t.Context(), "s-new", ana, "", browsers(t)) }},
			"drop":              {&h.stuck, func() error { return s.Drop(t.Context(), "s7") }},
			"find what to drop": {&h.down, func() error { return s.Drop(t.Context(), "s7") }},
			"count":             {&h.down, func() error { _, err := s.Devices(t.Context(), ana); return err }},
			"have a key":        {&h.keyless, func() error { _, err := s.Key(t.Context()); return err }},
		} {
			for n := range maxDevices {
				put(fmt.Sprint("s", n), ana, fmt.Sprint(n))
			}
			is := errors.New("down")
			h.change(func() { *of.broken = is })
			if err := of.ask(); !errors.Is(err, is) {
				t.Errorf("%s: %v", what, err)
			}
			h.change(func() { *of.broken = nil })
		}
		h.change(func() { h.key = "none" })
		if key, err := s.Key(t.Context()); err == nil {
			t.Errorf("the key is %q", key)
		}
	})
}

// Push services refuse who cannot be turned to, so a page that only this machine knows is not named.
func TestContact(t *testing.T) {
	for page, want := range map[string]string{"https://nod.example.org": "https://nod.example.org", "http://localhost:8080": project, "http://nod.example.org": project, "\x7f": project, "https://nod.internal": project, "https://10.0.0.1": project, "": project, "null": project} {
		if got := (device{Page: page}).contact(); got != want {
			t.Errorf("%q: %q", page, got)
		}
		_ = (device{Endpoint: page}).host() // whatever is kept
	}
}

// Whatever a name resolves to, nothing within is dialled.
func TestDialsThePublicInternetAlone(t *testing.T) {
	for at, want := range map[string]bool{
		"8.8.8.8:443": true, "[2a00:1450:4001:80e::200a]:443": true, "[::ffff:8.8.8.8]:443": true, "[64:ff9b::808:808]:443": true, "17.188.143.1:443": true,
		"8.8.8.8:80": false, "8.8.8.8:6379": false, "127.0.0.1:443": false, "127.9.9.9:443": false, "0.0.0.0:443": false, "0.1.2.3:443": false, "10.1.2.3:443": false, "172.16.0.1:443": false, "192.168.1.1:443": false,
		"100.64.0.1:443": false, "169.254.169.254:443": false, "192.0.0.192:443": false, "192.0.2.1:443": false, "198.18.0.1:443": false, "198.51.100.1:443": false, "203.0.113.1:443": false, "192.88.99.1:443": false,
		"224.0.0.1:443": false, "240.0.0.1:443": false, "255.255.255.255:443": false, "[::1]:443": false, "[::]:443": false, "[::ffff:127.0.0.1]:443": false, "[::ffff:10.0.0.1]:443": false, "[64:ff9b::a00:1]:443": false,
		"[64:ff9b::7f00:1]:443": false, "[64:ff9b:1::a00:1]:443": false, "[fe80::1]:443": false, "[fe80::1%eth0]:443": false, "[2a00::1%eth0]:443": false, "[fc00::1]:443": false, "[fd00:ec2::254]:443": false, "[ff02::1]:443": false,
		"[2001::1]:443": false, "[2001:db8::1]:443": false, "[2002:a00:1::]:443": false, "[3fff::1]:443": false, "[4000::1]:443": false, "nonsense": false,
	} {
		if got := dials("tcp", at, nil) == nil; got != want {
			t.Errorf("%s: %v", at, got)
		}
	}
	// The client asks it, and nothing is sent: the address is this machine's own.
	r, err := http.NewRequestWithContext(context.Background(), http.MethodPost, "https://localhost/x", nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := HTTPClient().Do(r)
	if err == nil {
		res.Body.Close()
	}
	if !errors.Is(err, errInside) {
		t.Errorf("%v", err)
	}
}

// Where the operator set a proxy nothing goes around it. net/http reads the setting once: another process has it.
func TestThroughTheOperatorsProxy(t *testing.T) {
	if os.Getenv("NOD_TEST_PROXIED") != "" {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://push.example.net/x", nil)
		if err != nil {
			t.Fatal(err)
		}
		if res, err := HTTPClient().Do(r); err == nil {
			res.Body.Close()
		}
		return
	}
	asked := make(chan string, 10)
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- r.Method + " " + r.Host
		w.WriteHeader(http.StatusForbidden)
	}))
	defer proxy.Close()
	in := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$")
	in.Env = append(os.Environ(), "HTTPS_PROXY="+proxy.URL, "NO_PROXY=", "NOD_TEST_PROXIED=1")
	if out, err := in.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
	close(asked)
	if got := <-asked; got != "CONNECT push.example.net:443" {
		t.Errorf("the proxy is asked for %q", got)
	}
}
