package state

import (
	"fmt"
	"io/fs"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/tests/suites/conformance"
)

// A script touches only keys that it declares: a Cluster and a script replayed elsewhere rest on it.
func TestScriptsTouchOnlyTheirKeys(t *testing.T) {
	files, err := fs.Glob(sources, "lua/*.lua")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	calls := regexp.MustCompile(`redis\.p?call\(\s*'([A-Z]+)'\s*,?\s*([^,)]*)`)
	any := regexp.MustCompile(`redis\.p?call`)
	for _, f := range files {
		b, err := sources.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		found := calls.FindAllStringSubmatch(string(b), -1)
		if n := len(any.FindAllString(string(b), -1)); n != len(found) {
			t.Errorf("%s: %d calls, %d of them readable here", f, n, len(found))
		}
		for _, c := range found {
			switch c[1] {
			case "TIME", "PUBLISH":
			default:
				if !strings.HasPrefix(c[2], "KEYS[") {
					t.Errorf("%s: %s on %s, which is no declared key", f, c[1], c[2])
				}
			}
		}
		for _, banned := range []string{"cmsgpack", "struct.", "bit.", "math.random", "HEXPIRE", "FCALL", "SPUBLISH"} {
			if strings.Contains(string(b), banned) {
				t.Errorf("%s uses %s, which not every server has", f, banned)
			}
		}
	}
}

// TestOneSlotPerScript runs both suites and looks at the keys of every script that they send.
func TestOneSlotPerScript(t *testing.T) {
	var mu sync.Mutex
	scripts := map[string]bool{}
	open := func(t *testing.T) conformance.State {
		s, _ := mini(t, Options{})
		s.slots = true
		s.rdb.AddHook(&faults{seen: func(cmds ...redis.Cmder) {
			for _, c := range cmds {
				a := c.Args()
				if c.Name() != "evalsha" {
					continue
				}
				slots := map[uint16]bool{}
				for i := range a[2].(int) {
					slots[slot(fmt.Sprint(a[3+i]))] = true
				}
				if len(slots) != 1 {
					t.Errorf("keys of %d slots: %v", len(slots), a[3:3+a[2].(int)])
				}
				mu.Lock()
				scripts[a[1].(string)] = true
				mu.Unlock()
			}
		}})
		return levers(s, s.rdb)
	}
	t.Run("Log", func(t *testing.T) { conformance.Log(t, open) })
	t.Run("Leases", func(t *testing.T) { conformance.Leases(t, open) })
	for _, s := range []script{appendScript, claimScript, renewScript, loadScript} {
		if !scripts[s.SHA] {
			t.Errorf("%s was never run", s.Name)
		}
	}
	if a, b := slot(runEpoch), slot(runReplicas); a != b {
		t.Error("beat: two slots")
	}
	for b := range buckets {
		if slot(asksKey(b)) != slot(prefix+tag(b)+":head:x") || slot(dueKey(b)) != slot(asksKey(b)) {
			t.Errorf("bucket %d has several slots", b)
		}
	}
}

// slot is a Cluster's: CRC-16 (XMODEM) of the hash tag, modulo 16384.
func slot(key string) uint16 {
	if i := strings.IndexByte(key, '{'); i >= 0 {
		if j := strings.IndexByte(key[i+1:], '}'); j > 0 {
			key = key[i+1 : i+1+j]
		}
	}
	var crc uint16
	for i := range len(key) {
		crc ^= uint16(key[i]) << 8
		for range 8 {
			if crc&0x8000 != 0 {
				crc = crc<<1 ^ 0x1021
			} else {
				crc <<= 1
			}
		}
	}
	return crc % 16384
}

func TestKeys(t *testing.T) {
	if got := slot("123456789"); got != 0x31C3%16384 {
		t.Fatalf("slot itself is wrong: %x", got)
	}
	// What is stored is found again only while this does not change.
	k := keysOf(chat.ID{Platform: "slack", Workspace: "T1", Key: "C1:171.2"})
	if k.head != "nod:{b12}:head:slack:T1:C1%3A171.2" || k.due != "nod:{b12}:due" || k.asks != "nod:{b12}:asks" {
		t.Errorf("%+v", k)
	}
	if got := k.op("slack:Ev1"); got != "nod:{b12}:op:8h-ZKyI-TYEVeQQiUkR0GQ" {
		t.Errorf("%s", got)
	}
	used := map[string]bool{}
	for i := range 5000 {
		used[keysOf(chat.ID{Platform: "web", Key: fmt.Sprint(i)}).tag] = true
	}
	if len(used) != buckets {
		t.Errorf("%d of %d buckets are used", len(used), buckets)
	}
}

func TestEscape(t *testing.T) {
	for _, op := range []string{"", "a", "a b", "%", "%2", "%20", "a\nb\x00\x7f", "ü \xff", "100%"} {
		e := escape(op)
		if strings.ContainsAny(e, " \n") || unescape(e) != op {
			t.Errorf("%q became %q and %q", op, e, unescape(e))
		}
	}
}

func FuzzRow(f *testing.F) {
	f.Add([]byte("1 2 op -\n{}"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if r, err := parseRow(b); err == nil {
			again, err := parseRow(r.bytes())
			if err != nil || again.seq != r.seq || again.op != r.op {
				t.Errorf("%q: %+v, %v", b, again, err)
			}
		}
		c := chainFrom(room, agent.Head{})
		_, _ = c.entries([]string{string(b)})
		_, _, _ = parseSnapshot(room, string(b))
	})
}
