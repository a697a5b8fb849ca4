package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nodhq/nod/tests/standins/mcpserver"
)

// surface is a bot with people on one surface. It tells one transcript at a time.
type surface interface {
	// chat opens a chat, or makes ready to: it begins with the first words said.
	chat(testing.TB) conversation
	// room is what of an expected message the surface shows, where it has less room than others.
	room(expected string) string
	model() *llm
	tools() *mcpserver.Ledger
}

// conversation is a chat on a surface, as a driver drives it. People are Ana, Ben and Ada.
type conversation interface {
	says(who, text string)
	commands(who, text string)
	startsOver(who string)
	// posts are the bot's messages, each in one piece, in their order.
	posts() []post
	// press presses something on a message, as it is or as it was. It returns when the bot has taken the click.
	press(who string, on post, b button)
	// fillIn opens the form behind a button, writes text in it and sends it.
	fillIn(who string, on post, b button, text string)
	// told is what somebody was told in private so far.
	told(who string) []string
	close()
}

// stage is where one transcript is being told.
type stage struct {
	t     *testing.T
	on    surface
	chat  conversation
	line  *line
	asked post           // as of the last "bot asks"
	heard map[string]int // how much of what each was told the transcript has said
	ran   []string       // what the transcript says that ran
	from  int            // where the ledger stood at first
	sent  int            // how many requests the model had at first
}

// perform tells a transcript.
func perform(t *testing.T, on surface, p *play) {
	s := &stage{t: t, on: on, heard: map[string]int{}, sent: len(on.model().requests()), from: len(effects(t, on.tools()))}
	answers := modelsLines(t, p)
	on.model().queue(answers...)
	s.chat = on.chat(t)
	t.Cleanup(s.chat.close)
	t.Cleanup(func() {
		if t.Failed() {
			for range len(answers) - len(s.requests()) { // what is left is not for the next transcript
				on.model().skip()
			}
			t.Logf("at %s: %s\nthe bot's messages:\n%s", s.line.at, s.line.text, s)
		}
	})
	for i := range p.lines {
		s.line = &p.lines[i]
		if s.line.text == "or:" {
			continue
		}
		if i+1 < len(p.lines) && p.lines[i+1].text == "or:" {
			s.line.args = append(s.line.args, "or", strings.Join(p.lines[i+1].below, "\n"))
		}
		if s.line.do != nil {
			s.line.do(s, s.line.args)
		}
	}
	// And nothing else happened.
	s.exactlyRan()
	for _, who := range []string{"Ana", "Ben", "Ada"} {
		if all := s.chat.told(who); len(all) != s.heard[who] {
			t.Errorf("%s was told, beyond the transcript: %q", who, all[s.heard[who]:])
		}
	}
	all := s.requests()
	if len(all) != len(answers) {
		t.Fatalf("the model was asked %d times, and the transcript has %d answers of it", len(all), len(answers))
	}
	for _, r := range all {
		if r.Refused != "" || !r.Authorized {
			t.Errorf("the model's service refused a request: %s", r.Refused)
		}
	}
}

// requests are what the model was sent since the transcript began.
func (s *stage) requests() []request { return s.on.model().requests()[s.sent:] }

// skip takes the next answer from the queue.
func (l *llm) skip() {
	res, err := http.Post(l.url+"/chat/completions", "application/json", strings.NewReader("{}"))
	if err == nil {
		_ = res.Body.Close()
	}
}

// modelsLines are the model's answers in their order.
func modelsLines(t testing.TB, p *play) (answers []string) {
	for _, l := range p.lines {
		if text, ok := strings.CutPrefix(l.text, "model: says "); ok {
			answers = append(answers, saysWords(spelled(text)))
		} else if text, ok := strings.CutPrefix(l.text, "model: calls "); ok {
			var calls [][2]string
			for _, c := range strings.Split(text, " and ") {
				tool, args, ok := strings.Cut(c, " ")
				if !ok || !json.Valid([]byte(args)) {
					t.Fatalf("%s: no call: %s", l.at, c)
				}
				calls = append(calls, [2]string{"box__" + tool, args})
			}
			answers = append(answers, callsTools(calls))
		}
	}
	return answers
}

// saysWords is a streamed answer of words.
func saysWords(text string) string {
	var out strings.Builder
	for _, word := range strings.SplitAfter(text, " ") {
		chunk(&out, map[string]any{"content": word}, nil)
	}
	chunk(&out, map[string]any{}, "stop")
	return out.String() + "data: [DONE]\n\n"
}

// callsTools is a streamed answer with several calls.
func callsTools(calls [][2]string) string {
	var out strings.Builder
	for i, c := range calls {
		chunk(&out, map[string]any{"tool_calls": []any{map[string]any{"index": i, "id": fmt.Sprintf("call_%d", i), "type": "function",
			"function": map[string]any{"name": c[0], "arguments": c[1]}}}}, nil)
	}
	chunk(&out, map[string]any{}, "tool_calls")
	return out.String() + "data: [DONE]\n\n"
}

func chunk(out *strings.Builder, delta map[string]any, finish any) {
	raw, err := json.Marshal(map[string]any{"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "fake",
		"choices": []any{map[string]any{"index": 0, "delta": delta, "finish_reason": finish}}})
	if err != nil {
		panic(err) // only for values of this file
	}
	out.WriteString("data: " + string(raw) + "\n\n")
}

func (s *stage) says(a []string)     { s.chat.says(a[0], a[1]) }
func (s *stage) commands(a []string) { s.chat.commands(a[0], a[1]) }

// commandsUntil gives a command until its answer has a word in it.
func (s *stage) commandsUntil(a []string) {
	s.until(a[0]+" is told of "+a[1], func() bool {
		n := s.heard[a[0]]
		s.chat.commands(a[0], a[2])
		var all []string
		s.until(a[0]+" is answered", func() bool { all = s.chat.told(a[0]); return len(all) > n })
		s.heard[a[0]] = len(all)
		return strings.Contains(all[n], a[1])
	})
}

func (s *stage) startsOver(a []string) { s.chat.startsOver(a[0]) }

func (s *stage) newest() post {
	if all := s.chat.posts(); len(all) > 0 {
		return all[len(all)-1]
	}
	return post{}
}

// find waits for what has a label on the newest message, or takes it from an older state of it.
func (s *stage) find(label, nth string, old bool) (on post, b button) {
	s.t.Helper()
	n := 1
	if nth != "" {
		n, _ = strconv.Atoi(nth) // digits, by the form
	}
	is := func() bool {
		if on = s.asked; !old {
			on = s.newest()
		}
		all := slices.DeleteFunc(on.pressable(), func(b button) bool { return b.label != label })
		if len(all) >= n && (nth != "" || len(all) == 1) {
			b = all[n-1]
			return true
		}
		return false
	}
	if old && !is() {
		s.t.Fatalf("%s: there was no such %q", s.line.at, label)
	}
	s.until(fmt.Sprintf("%q can be pressed", label), is)
	return on, b
}

func (s *stage) presses(a []string) {
	on, b := s.find(a[3], a[2], a[1] != "")
	s.chat.press(a[0], on, b)
}

func (s *stage) fillsIn(a []string) {
	on, b := s.find(a[1], "", false)
	s.chat.fillIn(a[0], on, b, a[2])
}

func (s *stage) atOnce(a []string) {
	var both sync.WaitGroup
	on, first := s.find(a[1], "", false)
	_, second := s.find(a[3], "", false)
	both.Go(func() { s.chat.press(a[0], on, first) })
	both.Go(func() { s.chat.press(a[2], on, second) })
	both.Wait()
}

func (s *stage) isTold(a []string) {
	who, want := a[0], a[1]
	n := s.heard[who]
	var all []string
	s.until(who+" is told "+want, func() bool { all = s.chat.told(who); return len(all) > n })
	s.heard[who]++
	if *updateTranscripts {
		s.line.text = who + " is told: " + all[n]
	} else if all[n] != want {
		s.t.Errorf("%s: %s is told\n%s\nwant\n%s", s.line.at, who, all[n], want)
	}
}

func (s *stage) oneIsTold(a []string) {
	var all []string
	s.until("one of them is told", func() bool {
		all = nil
		for _, who := range a[:2] {
			all = append(all, s.chat.told(who)[s.heard[who]:]...)
		}
		return len(all) > 0
	})
	if len(all) != 1 || !strings.HasPrefix(all[0], a[2]) {
		s.t.Errorf("%s: they are told %q", s.line.at, all)
	}
	for _, who := range a[:2] {
		s.heard[who] = len(s.chat.told(who))
	}
}

func (s *stage) modelReads(a []string) {
	inJSON, err := json.Marshal(a[0])
	if err != nil {
		s.t.Fatal(err)
	}
	s.until("the model reads "+a[0], func() bool {
		for _, r := range s.requests() {
			if bytes.Contains(r.Body, inJSON[1:len(inJSON)-1]) {
				return true
			}
		}
		return false
	})
}

func effects(t testing.TB, l *mcpserver.Ledger) (out []string) {
	t.Helper()
	all, err := l.Effects()
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range all {
		out = append(out, strings.TrimSpace(e.Tool+" "+string(e.Args)))
	}
	return out
}

// exactlyRan checks that what ran is what the transcript says.
func (s *stage) exactlyRan() {
	s.t.Helper()
	got := effects(s.t, s.on.tools())[s.from:]
	slices.Sort(got)
	slices.Sort(s.ran)
	if !slices.Equal(got, s.ran) {
		s.t.Fatalf("%s: what ran: %q, want %q", s.line.at, got, s.ran)
	}
}

func (s *stage) toolRan(a []string) {
	for _, c := range strings.Split(a[0], " and ") {
		s.ran = append(s.ran, strings.TrimSuffix(c, " {}"))
	}
	s.until(a[0]+" ran", func() bool { return len(effects(s.t, s.on.tools())) >= s.from+len(s.ran) })
	s.exactlyRan()
}

func (s *stage) ranIfAllowed(a []string) {
	if strings.Contains(s.newest().String(), "allowed once by ") {
		s.toolRan(a)
	}
	s.exactlyRan()
}

func (s *stage) noToolRan([]string) { s.exactlyRan() }

// shows waits until a message says just what is expected.
func (s *stage) shows(a []string) {
	s.t.Helper()
	wants := []string{strings.Join(s.line.below, "\n")}
	if len(a) > 2 {
		wants = append(wants, a[3])
	}
	for i := range wants {
		wants[i] = s.on.room(wants[i])
	}
	n, _ := strconv.Atoi(a[1]) // digits or nothing, by the form
	var got post
	is := func() bool {
		got = post{}
		if all := s.chat.posts(); len(all) > 0 && len(all) >= n {
			got = all[(n+len(all)-1)%len(all)]
		}
		return got.id != "" && slices.Contains(wants, got.String())
	}
	if *updateTranscripts {
		if s.settle(a[0] == "asks", n, is); !is() && len(wants) == 1 {
			s.line.below = strings.Split(got.String(), "\n")
		}
	} else {
		defer func() {
			if s.t.Failed() {
				s.t.Logf("%s: it shows\n%s\nand is to show\n%s", s.line.at, indented(got.String()), indented(strings.Join(wants, "\nor\n")))
			}
		}()
		s.until("the message shows what is expected", is)
	}
	if a[0] == "asks" {
		s.asked = got
	}
}

// settle waits, for -update-transcripts, until the message is as expected, or asks, or its turn is over. Only there a message has a second to
// change from what it said before.
func (s *stage) settle(asks bool, n int, is func() bool) {
	early := time.Now().Add(time.Second)
	s.until("the message is there", func() bool {
		all := s.chat.posts()
		if is() || len(all) == 0 || len(all) < n {
			return is()
		}
		p := all[(n+len(all)-1)%len(all)]
		return asks == (len(p.cards) > 0) && asks == p.can("Stop") && time.Now().After(early)
	})
}

func (s *stage) until(what string, is func() bool) {
	s.t.Helper()
	until(s.t, s.line.at+": "+what, is)
}

func (s *stage) String() string {
	var out []string
	for _, p := range s.chat.posts() {
		out = append(out, indented(p.String()))
	}
	for _, who := range []string{"Ana", "Ben", "Ada"} {
		out = append(out, fmt.Sprintf("told %s: %q", who, s.chat.told(who)))
	}
	return strings.Join(out, "\n  --\n")
}
