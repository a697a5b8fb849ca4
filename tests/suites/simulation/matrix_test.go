package simulation

import (
	"crypto/sha1" //nolint:gosec // Redis names scripts so
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
	. "github.com/nodhq/nod/tests/harness"
)

// kinds are the kinds of turn. Ana says each line; what is written behind it is pressed as soon as it is offered.
var kinds = map[string]string{
	"no call":         "do 0: ",
	"a read":          "do 0: read",
	"an approval":     "do 0: write read | read: allow_once",
	"a denial":        "do 0: write: deny",
	"several calls":   "do 0: write send drop: approve_all",
	"one of several":  "do 0: write send: allow_once deny",
	"for the chat":    "do 0: write | write: allow_chat",
	"used later":      "do 0: write: allow_chat\ndo 1: write",
	"a grant ended":   "do 0: write: allow_chat revoke",
	"for all":         "do 0: write | send: allow_session",
	"an undo":         "do 0: write send: allow_once undo deny_all",
	"changed":         "do 0: write: edit allow_once",
	"more time":       "do 0: write: extend allow_once",
	"a stop":          "do 0: write send: stop",
	"nobody answers":  "do 0: write: ",
	"asked again":     "do 0: write: ask_again allow_once",
	"it happened":     "do 0: lost: allow_once happened",
	"it is left":      "do 0: lost: allow_once leave",
	"it runs again":   "do 0: lost: allow_once run_again allow_once",
	"a long call":     "do 0: slow: allow_once",
	"something wants": "do 0: asks: allow_once answer",
	"a setting":       "set touch always\ndo 0: touch: allow_once",
	"a mode":          "mode always\ndo 0: touch: allow_once",
	"two messages":    "do 0: write\ndo 1: read: allow_once",
	"anew":            "do 0: read\nreset\ndo 1: read",
	"a halt":          "do 0: write\nhalt\nresume\ndo 1: read",
}

// TestCrashMatrix kills the replica that talks to Redis before and after each of its writes to a connection, loses the reply to each, and from there on
// takes Redis away from everybody for longer than a lease, in every kind of turn. The oracle is that of the simulation. The normal run takes a fifth of
// the points, -matrix all of them.
func TestCrashMatrix(t *testing.T) {
	every := 5
	switch {
	case *matrix:
		every = 1
	case Raced:
		every = 100
	}
	points, told, seen := 0, 0, map[string]bool{}
	for _, kind := range slices.Sorted(maps.Keys(kinds)) {
		t.Run(kind, func(t *testing.T) {
			writes := point(t, kind, 0, none, seen)
			for at := 1; at <= writes; at++ {
				for _, what := range []fault{killedBefore, killedAfter, replyLost, awayBefore, awayAfter} {
					if points++; (points+at)%every != 0 { // so that each fault befalls some write of each sort
						continue
					}
					told++
					t.Run(fmt.Sprintf("%d %s", at, what), func(t *testing.T) { point(t, kind, at, what, seen) })
				}
			}
		})
	}
	t.Logf("%d of %d points", told, points)
	if told < 1000 && !Raced {
		t.Errorf("%d points of %d, want 1,000 at least", told, points)
	}
	covered(t, seen)
}

// point tells one kind of turn with one fault, and returns how many writes there were.
func point(t *testing.T, kind string, at int, what fault, seen map[string]bool) (writes int) {
	synctest.Test(t, func(t *testing.T) {
		s := newStory(t, uint64(at), true)
		s.Tools.Put(Tool{Server: "files", Name: "lost", Run: func(Invocation) (turn.Result, error) { return turn.Result{}, errors.New("the server died (simulated)") }})
		s.Tools.Put(Tool{Server: "files", Name: "slow", Run: func(Invocation) (turn.Result, error) {
			<-time.After(lease)
			return turn.Result{Text: "slow ok"}, nil
		}})
		s.redis.locked(func() {
			s.redis.at, s.redis.what = at, what
			s.redis.kill = func(replica string) {
				s.patients.Go(func() {
					s.tell("%s is killed", replica)
					for _, r := range s.Replicas {
						if r.Name == replica {
							r.Kill()
						}
					}
					s.redis.cut(replica)
				})
			}
		})
		for line := range strings.SplitSeq(kinds[kind], "\n") {
			s.does(line)
		}
		s.until(func() bool { return !s.open() })
		s.redis.locked(func() { writes = s.redis.writes; s.redis.what = none })
		s.beside.Wait()
		s.settle()
		s.judge()
		s.redis.locked(func() { maps.Copy(seen, s.redis.seen) })
		if t.Failed() {
			t.Logf("%s, write %d, %s:\n%s", kind, at, what, strings.Join(s.told, "\n"))
		}
	})
	return writes
}

// does has Ana or the admin do what a line says.
func (s *story) does(line string) {
	words := strings.Fields(line)
	switch words[0] {
	case "do":
		_, line, _ = strings.Cut(line, ": ")
		program, presses, _ := strings.Cut(line, ": ")
		s.says(Ana, Room, fmt.Sprintf("do %d: %s", len(s.said), program))
		s.beside.Wait()
		s.pressAll(strings.Fields(presses))
	case "set":
		s.sets(words[1], words[2])
	case "halt", "resume":
		env := s.Envelope(Room, Root)
		s.attempt(s.rng, changes(env, permission.Halting(words[0] == "halt")), env)
		s.halted = true
	default:
		s.deliver(s.rng, chat.Commanded{Envelope: s.Envelope(Room, Ana), Verb: words[0], Args: words[1:]})
		s.halted = s.halted || words[0] == "reset"
	}
	s.beside.Wait()
}

// pressAll has Ana press one button after another, each once it is there. One that does not come is done without: a fault made it another story.
func (s *story) pressAll(choices []string) {
	pressed := map[string]bool{}
	for _, choice := range choices {
		s.until(func() bool {
			for _, b := range s.buttons(true) {
				if k := b.Token + choice; string(b.Choice) == choice && !pressed[k] {
					pressed[k] = true
					s.press(s.rng, Ana, b)
					return true
				}
			}
			return !s.open()
		})
	}
}

// until waits for a condition, or until an ask's time is over.
func (s *story) until(cond func() bool) {
	for range int(2 * askFor / time.Second) {
		<-time.After(time.Second)
		if cond() {
			return
		}
	}
}

// open reports whether a message is not final, or none is there yet.
func (s *story) open() bool {
	return len(s.World.Platform.Messages(Room)) == 0 || s.openIn(Room)
}

func (s *story) openIn(id chat.ID) bool {
	return slices.ContainsFunc(s.World.Platform.Messages(id), func(m Message) bool { return !over(m.Now()) })
}

// apart are scripts that no turn sends, and who tests them.
var apart = map[string]string{
	"anew": "miniredis does not say who it is: state, make chaos", "void": "the embedded store's: state", "restore": "state",
	"beat": "the heartbeat, a second's: state", "forget": "in the background, of what has faded: state", "keep": "what people attach: state",
	"hold": "the web's and Slack's: state", "session": "the web's: state, TestSimulation", "once": "the web's: state, TestSimulation", "limit": "where there is one: state", "put": "shelves: state", "take": "shelves: state", "drop": "shelves: state",
	"mark": "of Discord: state", "marks": "of Discord: state", "markgone": "of Discord: state", "swap": "of installations in Slack: state", "spend": "an adapter's budget: state", "cooloff": "an adapter's budget: state",
	"erase": "nod person delete, which goes on when it is run again: state", "retain": "a hold's, put again with the next write: state, tests/suites/e2e",
}

// covered: each script of the store was sent, or is known to be no turn's.
func covered(t *testing.T, seen map[string]bool) {
	files, err := filepath.Glob("../../../state/lua/*.lua")
	if err != nil || len(files) == 0 {
		t.Fatal("no scripts", err)
	}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		h := sha1.Sum(b) //nolint:gosec // see the import
		name := strings.TrimSuffix(filepath.Base(f), ".lua")
		sent, why := seen[hex.EncodeToString(h[:])], apart[name]
		if !sent && why == "" {
			t.Errorf("no kind of turn sends the script %s: nobody knows what a crash there comes to", name)
		}
		if sent && why != "" {
			t.Errorf("a turn sends the script %s, which is said to be apart", name)
		}
	}
}
