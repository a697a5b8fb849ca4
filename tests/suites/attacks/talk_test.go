package attacks

import (
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/tests/standins/fakediscord"
	"github.com/nodhq/nod/tests/standins/fakeslack"
)

// button is something on a message that can be pressed, as its surface has it.
type button struct {
	label string
	// On the web:
	choice, token string
	slack         fakeslack.Button
	discord       fakediscord.Button
}

// shot is one of the bot's messages as it stands.
type shot struct {
	ref     string
	text    string // what a reader sees of it
	raw     string // what was sent, whole
	outline string // its structure without words: what is a block, a button, markup
	buttons []button
	asks    int  // cards that wait
	over    bool // nothing of it is under way
}

// labelled are the buttons of a label, without what tells two apart ("Allow once · write").
func (s shot) labelled(label string) (out []button) {
	for _, b := range s.buttons {
		if l, _, _ := strings.Cut(b.label, " · "); l == label {
			out = append(out, b)
		}
	}
	return out
}

// looks keeps what was read from each message when it was looked at last: most polls see what the one before saw.
type looks struct {
	mu   sync.Mutex
	last map[string]look // by the message
}

type look struct {
	raw string
	shot
}

// at gives the shot of a message, read anew if its bytes are not what they were.
func (l *looks) at(ref, raw string, read func() shot) shot {
	l.mu.Lock()
	defer l.mu.Unlock()
	if x, ok := l.last[ref]; ok && x.raw == raw {
		return x.shot
	}
	if l.last == nil {
		l.last = map[string]look{}
	}
	l.last[ref] = look{raw, read()}
	return l.last[ref].shot
}

func (s shot) labels() (out []string) {
	for _, b := range s.buttons {
		l, _, _ := strings.Cut(b.label, " · ")
		out = append(out, l)
	}
	return out
}

// place is a chat on one surface.
type place interface {
	surface() string
	id() chat.ID
	// say writes into the chat; what somebody may not write is no error.
	say(who person, text string)
	// shots are the bot's messages, oldest first.
	shots() []shot
	// press presses a button on a message, and returns when the product has taken the click.
	press(t testing.TB, who person, on shot, b button)
	// fire presses it and does not wait.
	fire(t testing.TB, who person, on shot, b button)
	// told is what somebody was told alone so far, refusals of the API included.
	told(who person) []string
	// open opens the form behind a button; send sends it, and must be called.
	open(t testing.TB, who person, on shot, b button) (send func(field, text string))
	// payloads is everything that was ever sent into the chat, also what was said to one person.
	payloads() []string
}

// surfaces open a chat in which Ana says something.
var surfaces = []struct {
	name string
	open func(w *world, t testing.TB, text string) place
}{
	{"slack", func(w *world, t testing.TB, text string) place { return openThread(w, t, text) }},
	{"discord", func(w *world, t testing.TB, text string) place { return openTalk(w, t, text) }},
	{"web", func(w *world, t testing.TB, text string) place { return openRoom(w, t, text) }},
}

// talk is a chat in which a case happens.
type talk struct {
	place
	*world
	t    *testing.T
	name string // of its script, and the path of its call

	mu   sync.Mutex
	acts []attempt // the last of each person
}

// attempt is a click or a form that may have to be made again.
type attempt struct {
	who   person
	tries int // how often its person had been told to click again before it
	do    func()
}

// act does something as its person would.
func (k *talk) act(who person, do func()) {
	a := attempt{who, k.unrecorded(who), do}
	k.mu.Lock()
	k.acts = append(slices.DeleteFunc(k.acts, func(x attempt) bool { return x.who == who }), a)
	k.mu.Unlock()
	do()
}

// press presses a button.
func (k *talk) press(t testing.TB, who person, on shot, b button) {
	t.Helper()
	k.act(who, func() { k.place.press(t, who, on, b) })
}

// await waits for something that a click should bring. Who is told to click again does: on a busy machine one may take longer than a
// platform waits.
func (k *talk) await(what string, yes func() bool) {
	k.t.Helper()
	until(k.t, what, func() bool {
		k.t.Helper()
		if yes() {
			return true
		}
		k.mu.Lock()
		last := slices.Clone(k.acts)
		k.mu.Unlock()
		for _, a := range last {
			if k.unrecorded(a.who) > a.tries {
				k.act(a.who, a.do)
			}
		}
		return false
	})
}

// begin has Ana ask for what the script says, in a chat of its own. A script that is empty calls write once.
func begin(t *testing.T, w *world, surface string, script ...reply) *talk {
	t.Helper()
	k := &talk{world: w, t: t, name: idOf(t)}
	if len(script) == 0 {
		script = []reply{wants(write(k.name))}
	}
	w.pen.learn(k.name, script...)
	for _, s := range surfaces {
		if s.name == surface {
			k.place = s.open(w, t, "please #"+k.name)
		}
	}
	t.Cleanup(func() {
		if t.Failed() {
			for _, s := range k.shots() {
				t.Logf("%s, over %v, %q:\n%s", s.ref, s.over, s.labels(), clip(s.text, 3000))
			}
			for _, p := range []person{ana, ben, ada} {
				t.Logf("told %s: %q", p, k.told(p))
			}
			t.Logf("the program's log, its end:\n%s", &w.record)
		}
	})
	return k
}

func clip(s string, n int) string {
	if len(s) > n {
		return s[:n] + "…"
	}
	return s
}

// last is the newest message.
func (k *talk) last() shot {
	if all := k.shots(); len(all) > 0 {
		return all[len(all)-1]
	}
	return shot{}
}

// until waits for a state of the newest message.
func (k *talk) until(what string, is func(shot) bool) (s shot) {
	k.t.Helper()
	k.await(what, func() bool { s = k.last(); return is(s) })
	return s
}

// asking waits until n calls wait for a person.
func (k *talk) asking(n int) shot {
	k.t.Helper()
	asks := k.until("it asks", func(s shot) bool { return s.asks == n })
	k.await("it is on record where", func() bool { // until then a click on any message may be one on that
		s, err := k.engine.Session(k.t.Context(), k.id())
		return err == nil && (s.Turn == nil || !s.Turn.Unseen())
	})
	return asks
}

// over waits until the nth turn is over.
func (k *talk) over(n int) (s shot) {
	k.t.Helper()
	k.await("the turn is over", func() bool {
		all := k.shots()
		if len(all) < n {
			return false
		}
		s = all[n-1]
		return s.over
	})
	return s
}

// again has somebody ask for the same or another script in the same chat.
func (k *talk) again(who person, name string, script ...reply) {
	k.pen.learn(name, script...)
	k.say(who, "please #"+name)
}

// one is the button of a label. It must be the only one.
func (k *talk) one(s shot, label string) button {
	k.t.Helper()
	all := s.labelled(label)
	if len(all) != 1 {
		k.t.Fatalf("%d things have the label %q, among %q", len(all), label, s.labels())
	}
	return all[0]
}

// click presses the one button of a label.
func (k *talk) click(who person, s shot, label string) {
	k.t.Helper()
	k.press(k.t, who, s, k.one(s, label))
}

// sure presses a button and, where the surface asks back in private before it takes that, the yes there. Slack's clients and the page ask
// before they send anything.
func (k *talk) sure(who person, s shot, b button) {
	k.t.Helper()
	p, ok := k.place.(*strand)
	ok = ok && strings.HasPrefix(b.discord.ID, "ask:")
	before := len(k.told(who))
	k.press(k.t, who, s, b)
	if !ok {
		return
	}
	k.await(string(who)+" is asked whether they are sure, or told why not, or it counts", func() bool {
		open := slices.ContainsFunc(k.last().buttons, func(x button) bool { return x.discord.ID == b.discord.ID })
		return !open || slices.ContainsFunc(k.told(who)[before:], func(s string) bool { return s != "" && !again(s) })
	})
	for _, m := range p.w.discord.Seen(inDiscord[who], p.thread) {
		for _, x := range m.Buttons() {
			if strings.HasPrefix(x.ID, "sure:") && strings.HasSuffix(x.ID, ":"+b.ticket()) {
				p.taken(k.t)(p.w.discord.Press(inDiscord[who], p.thread, m.ID, x))
				return
			}
		}
	}
}

// refused presses a button and waits until the person was told why that counts for nothing.
func (k *talk) refused(who person, s shot, b button, say string) {
	k.t.Helper()
	before := len(k.told(who))
	k.sure(who, s, b)
	k.await(string(who)+" is told "+say, func() bool { return has(k.told(who)[before:], say) })
}

// still checks that the newest message asks as it did, and that nothing ran.
func (k *talk) still(asks int) {
	k.t.Helper()
	k.never()
	if s := k.last(); s.asks != asks {
		k.t.Fatalf("the attack changed what waits: %d asks, want %d", s.asks, asks)
	}
}

// end has everything that waits denied, waits for the end of the turn, and checks that nothing of the case ran.
func (k *talk) end() shot {
	k.t.Helper()
	k.denyAll()
	s := k.over(len(k.shots()))
	k.never()
	return s
}

// denyAll has Ada deny whatever asks until the newest turn is over. A card that is just being redrawn is looked at again.
func (k *talk) denyAll() {
	k.t.Helper()
	for {
		s := k.until("it asks or is over", func(s shot) bool { return s.asks > 0 || s.over })
		if s.over {
			return
		}
		k.press(k.t, ada, s, s.labelled("Deny")[0])
		k.until("a denial counts", func(now shot) bool {
			return now.asks < s.asks || now.labelled("Deny")[0].ticket() != s.labelled("Deny")[0].ticket()
		})
	}
}

// unrecorded is how often somebody was told to click again.
func (k *talk) unrecorded(who person) (n int) {
	for _, say := range k.told(who) {
		if again(say) {
			n++
		}
	}
	return n
}

// again reports whether somebody is told to click again, because of nothing that they did.
func again(say string) bool {
	return slices.ContainsFunc([]string{surface.SayNotRecorded, "Click again.", "nothing was recorded. Try again.", "too much is going on just now", "trouble connecting"}, func(x string) bool {
		return strings.Contains(say, x)
	})
}

// fill opens a form and sends it.
func (k *talk) fill(t testing.TB, who person, on shot, b button, field, text string) {
	t.Helper()
	k.act(who, func() { k.open(t, who, on, b)(field, text) })
}

// ran is how often a call with this case's path reached a server.
func (k *talk) ran() int { return len(k.ledger.of(quoted(k.name))) }

func quoted(path string) string { return `"` + path + `"` }

// never fails the test if the case's call ran.
func (k *talk) never() {
	k.t.Helper()
	if got := k.ledger.of(quoted(k.name)); len(got) > 0 {
		k.t.Fatalf("it ran: %+v", got)
	}
}

// times checks how often the case's call ran.
func (k *talk) times(n int) {
	k.t.Helper()
	if got := k.ran(); got != n {
		k.t.Fatalf("it ran %d times, want %d", got, n)
	}
}

// allow has Ana allow the one call that waits, and waits for the end of the turn.
func (k *talk) allow(label string) shot {
	k.t.Helper()
	s := k.asking(1)
	k.sure(ana, s, k.one(s, label))
	return k.over(len(k.shots()))
}

func sorted(list []string) []string {
	out := slices.Clone(list)
	slices.Sort(out)
	return out
}

// edits tries to change the call that waits, and checks that no form opens for it and it stayed as it was.
func (k *talk) edits(who person, s shot) {
	k.t.Helper()
	k.refused(who, s, k.one(s, "Edit arguments…"), "")
	k.refused(who, s, k.one(s, "Deny with a reason…"), "")
	if now := k.last(); !strings.Contains(now.text, k.name) || now.asks != 1 {
		k.t.Errorf("the call changed: %s", now.text)
	}
}
