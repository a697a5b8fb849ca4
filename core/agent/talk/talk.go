// Package talk is what a model reads: the transcript of a session in words. The fold keeps kinds and values, so that every release
// folds a log to the same session; what a kind says to the model is said here, once.
//
// It imports turn for the session and render for the sentences. It is pure.
//
// Where to start: [Of] gives the talk of a session, [Trim] makes it fit a model's context. [Result] is a call's result in words, for
// whoever shows it to people, too; [Said] is what a person said.
//
// Where a new line goes: a new kind of result or note is declared in package turn and gets its words here; the sentence itself stands
// in package render.
package talk

import (
	"encoding/json"
	"math"
	"slices"
	"sort"
	"strings"

	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/text"
)

// Of is what a model reads next: the transcript and the open turn. A call that is not settled gets a result that says so.
func Of(s turn.Session) []turn.Utterance {
	talk := slices.Clone(turn.Transcript(s))
	for i, u := range talk {
		talk[i] = spoken(u)
	}
	return talk
}

// spoken puts what the fold keeps of an utterance into words.
func spoken(u turn.Utterance) turn.Utterance {
	switch {
	case u.Note != nil:
		u.Text = noteText(*u.Note)
	case u.Again != nil:
		u.Text = text.AskedAgain(u.Again.Name, u.Again.Server)
	case u.Cut:
		u.Text = strings.TrimSpace(u.Text + "\n\n(this reply was cut short)")
	}
	u.Note, u.Again, u.Cut = nil, nil, false
	u.Calls = slices.Clone(u.Calls)
	for i := range u.Calls {
		c := &u.Calls[i]
		pending := c.Result.Kind == turn.ResultPending
		c.Result = Result(c.Result)
		if c.Edit != nil && !pending {
			c.Result.Text = text.ResultEdited(c.Edit.Name, string(c.Edit.Args)) + "\n\n" + c.Result.Text
		}
		c.Edit = nil
	}
	return u
}

func noteText(n turn.Note) string {
	switch n.Kind {
	case turn.NoteLate:
		return text.LateResult(n.Tool, n.Server, n.Text, n.Failed)
	case turn.NoteMoreCalls:
		return text.NoteMoreCalls(n.More, n.Taken)
	}
	return n.Text
}

// Said is what a person said, or pressed.
func Said(m turn.Said) string {
	if m.Replay != nil && m.Text == "" {
		return text.AskedAgain(m.Replay.Tool.Name, m.Replay.Tool.Server)
	}
	return m.Text
}

// Result is a call's result in words.
func Result(r turn.Result) turn.Result {
	said := turn.Result{Text: r.Text, Structured: r.Structured, IsError: r.IsError, Omitted: r.Omitted, Pictures: r.Pictures}
	switch r.Kind {
	case turn.ResultPending:
		said.Text = "No result yet."
	case turn.ResultDenied:
		said.Text, said.Structured = text.ResultDenied(r.Reason), denied(r.By)
	case turn.ResultTimedOut:
		said.Text = text.ResultTimedOut(r.Waited)
	case turn.ResultCancelled:
		said.Text = text.ResultCancelled
	case turn.ResultUnknown:
		said.Text = text.ResultUnknown(r.Reason)
	case turn.ResultHappened:
		said.Text = text.ResultHappened
	}
	if r.Reran {
		said.Text += " " + text.EarlierRun
	}
	return said
}

// denied is the structure of a denial's result (R121).
func denied(by string) json.RawMessage {
	b, _ := json.Marshal(struct { // strings always fit
		Success bool   `json:"success"`
		Error   string `json:"error"`
		By      string `json:"by,omitempty"`
	}{false, "User denied tool execution", by})
	return b
}

// Tokens is about how many tokens a talk takes: a careful guess (three bytes each), for a model's own count is not known before it is asked.
func Tokens(talk []turn.Utterance) (n int) {
	for _, u := range talk {
		n += u.Size()/3 + 8
	}
	return n
}

// Trim keeps the newest utterances within about budget tokens (0: all), always beginning with a person's, and always the
// last person's and everything after it. Where that alone is too much, its longest results are cut. left says how many utterances were
// left out; the turn's message tells people.
func Trim(talk []turn.Utterance, budget int) (kept []turn.Utterance, left int) {
	if budget <= 0 {
		return talk, 0
	}
	must := max(lastOfPerson(talk), 0)
	from, size := len(talk), 0
	for i := len(talk) - 1; i >= 0; i-- {
		size += Tokens(talk[i : i+1])
		if size > budget && i < must {
			break
		}
		from = i
	}
	for from < must && talk[from].Role != turn.RoleUser {
		from++
	}
	return shorten(slices.Clip(talk[from:]), budget), from
}

// leastResult is how many bytes of a result stay when a talk is too long.
const leastResult = 1000

// shorten cuts results, the longest first, so that the talk takes about budget tokens.
func shorten(talk []turn.Utterance, budget int) []turn.Utterance {
	var sizes []int
	for _, u := range talk {
		for _, c := range u.Calls {
			sizes = append(sizes, c.Result.Size())
		}
	}
	cut := func(n int) (sum int) {
		for _, size := range sizes {
			sum += min(size, n)
		}
		return sum
	}
	all := cut(math.MaxInt)
	room := all - (Tokens(talk)-budget)*3
	longest := max(leastResult, sort.Search(all, func(n int) bool { return cut(n+1) > room }))
	out := slices.Clone(talk)
	for i, u := range out {
		out[i].Calls = slices.Clone(u.Calls)
		for j := range out[i].Calls {
			out[i].Calls[j].Result = cutResult(out[i].Calls[j].Result, longest)
		}
	}
	return out
}

// cutResult cuts a result to about n bytes, for the model only: the log keeps it whole.
func cutResult(r turn.Result, n int) turn.Result {
	if r.Size() <= n {
		return r
	}
	whole := r.Text + string(r.Structured)
	start := strings.ToValidUTF8(whole[:n], "")
	r.Text, r.Structured = start+text.ResultCut(len(whole)-len(start)), nil
	return r
}

// BeforeQuestion puts notes before the last person's words: what a model is to answer stands last.
func BeforeQuestion(talk, notes []turn.Utterance) []turn.Utterance {
	at := lastOfPerson(talk)
	if at < 0 {
		at = len(talk)
	}
	return slices.Concat(talk[:at], notes, talk[at:])
}

func lastOfPerson(talk []turn.Utterance) int {
	for i, u := range slices.Backward(talk) {
		if u.Role == turn.RoleUser {
			return i
		}
	}
	return -1
}
