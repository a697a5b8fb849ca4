package turn

import (
	"math"
	"slices"
	"sort"
	"strings"

	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/core/render"
)

// Talk is what a model reads next: the transcript and the open turn. It is called when every call is settled;
// a call that is not gets a result that says so, so that a request can never hold a call without one.
func Talk(s Session) []Utterance {
	talk := s.Transcript
	if s.Turn != nil {
		talk = add(talk, s.Turn.Talk()...)
	}
	return talk
}

// Talk is the turn as utterances.
func (t *Turn) Talk() []Utterance {
	var talk []Utterance
	for _, n := range t.Notes {
		talk = append(talk, Utterance{Role: RoleNote, Text: n})
	}
	for i, m := range t.Said {
		if i > 0 && m.Replay == nil && len(m.Context) == 0 {
			u := &talk[len(talk)-1]
			u.Text += "\n\n" + m.Text
			continue
		}
		talk = append(talk, Utterance{Role: RoleUser, By: m.By, Name: m.Name, Text: m.Text, Context: m.Context})
	}
	for step, r := range t.Replies {
		u := Utterance{Role: RoleAssistant, Text: r.Text, Extra: r.Extra}
		if r.Cut {
			u.Text = strings.TrimSpace(u.Text + "\n\n(this reply was cut short)")
		}
		for _, c := range t.Calls {
			if c.Step != step {
				continue
			}
			tc := TalkCall{ID: c.ID, ModelID: c.ModelID, Server: c.Tool.Server, Name: c.Tool.Name, Args: c.Args, Extra: c.Extra}
			if c.edited() {
				tc.Args = c.Wrote // what the model said stays what it said; the result tells what ran
			}
			if c.Result != nil {
				tc.Result = c.told()
			} else {
				tc.Result = Result{Text: "No result yet.", IsError: true}
			}
			u.Calls = append(u.Calls, tc)
		}
		if u.Text != "" || len(u.Calls) > 0 {
			talk = append(talk, u)
		}
	}
	return talk
}

func (u Utterance) size() int {
	n := len(u.Text) + len(u.Extra)
	for _, q := range u.Context {
		n += len(q.Text)
	}
	for _, c := range u.Calls {
		n += len(c.Args) + c.Result.size()
	}
	return n
}

// tokens is a careful guess (three bytes each): a model's own count is not known before it is asked.
func (u Utterance) tokens() int { return u.size()/3 + 8 }

// Tokens is about how many tokens a talk takes.
func Tokens(talk []Utterance) int {
	n := 0
	for _, u := range talk {
		n += u.tokens()
	}
	return n
}

// Trim keeps the newest utterances within about budget tokens (0: all), always beginning with a person's, and always the
// last person's and everything after it. Where that alone is too much, its longest results are cut. left says how many utterances were
// left out; the turn's message tells people.
func Trim(talk []Utterance, budget int) (kept []Utterance, left int) {
	if budget <= 0 {
		return talk, 0
	}
	must := 0
	for i, u := range talk {
		if u.Role == RoleUser {
			must = i
		}
	}
	from, size := len(talk), 0
	for i := len(talk) - 1; i >= 0; i-- {
		size += talk[i].tokens()
		if size > budget && i < must {
			break
		}
		from = i
	}
	for from < must && talk[from].Role != RoleUser {
		from++
	}
	return shorten(slices.Clip(talk[from:]), budget), from
}

// leastResult is how many bytes of a result stay when a talk is too long.
const leastResult = 1000

// shorten cuts results, the longest first, so that the talk takes about budget tokens.
func shorten(talk []Utterance, budget int) []Utterance {
	var sizes []int
	for _, u := range talk {
		for _, c := range u.Calls {
			sizes = append(sizes, c.Result.size())
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
			out[i].Calls[j].Result.shorten(longest)
		}
	}
	return out
}

func (r Result) size() int { return len(r.Text) + len(r.Structured) }

// shorten cuts a result to about n bytes, for the model only: the log keeps it whole.
func (r *Result) shorten(n int) {
	if r.size() <= n {
		return
	}
	text := r.Text + string(r.Structured)
	kept := strings.ToValidUTF8(text[:n], "")
	r.Text, r.Structured = kept+render.ResultCut(len(text)-len(kept)), nil
}

// Requested is the permission request of a call as the session knows it; the caller adds what only the tool's
// current definition tells.
func Requested(s Session, c ToolCall) permission.Request {
	r := permission.Request{Chat: s.Chat, Mode: s.Mode, ModeAt: s.ModeAt, Tool: c.Tool, Args: c.Args, Masked: render.MaskedJSON(c.Args)}
	if s.Turn != nil {
		r.Requester, r.Unattended, r.Standing = s.Turn.Requester, s.Turn.Unattended, s.Turn.Standing
	}
	for _, p := range s.People {
		r.Present = append(r.Present, p.User)
	}
	return r
}
