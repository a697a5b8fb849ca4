package agent

import (
	"context"
	"encoding/json"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/nodhq/nod/core/agent/decision"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/core/render"
	"github.com/nodhq/nod/core/text"
)

// The limits on a look at what a call replaces.
const (
	previewWithin = time.Second // for all looks of one reply: their questions wait for them
	maxReplaced   = 64 << 10    // bytes of the text that is there, and of the one that comes
	maxDiff       = 16 << 10    // bytes of what is kept of both
)

// looksFirst reports whether people are asked about a call only after a look at what it replaces, which the plan then records.
func (p *planner) looksFirst(j decision.Judge, s turn.Session, r turn.Ruled) bool {
	d, c := p.d, s.Turn.Call(r.Call)
	if r.Ruling.Verdict != permission.Ask {
		return false
	}
	token := d.lease.Load().Token
	if p := c.Preview; p != nil && p.Of == c.Digest {
		return c.Looks(token) // one that another driver began came to nothing
	}
	ev, may := j.Preview(s, c, token)
	if may {
		p.add(ev)
	}
	return may
}

// preview takes the looks that the log knows of. They count as the model's work: what stops that stops them.
func (d *driver) preview() bool {
	if d.model != nil { // with the first of them all are taken
		return false
	}
	s, token := d.f.s, d.lease.Load().Token
	ctx, cancel := context.WithTimeout(d.ctx, previewWithin)
	d.model = cancel
	d.begin(func() func() {
		defer cancel()
		var looked []turn.Event
		for _, c := range s.Turn.Calls {
			if c.Looks(token) {
				looked = append(looked, d.look(ctx, s, c))
			}
		}
		return func() {
			d.model = nil
			d.results = append(d.results, looked...)
		}
	})
	return true
}

// look reads what a call replaces, and compares.
func (d *driver) look(ctx context.Context, s turn.Session, c turn.ToolCall) (ev turn.Previewed) {
	ev = turn.Previewed{Call: c.ID, Run: c.Preview.Run, Why: turn.NoDiffFailed}
	defer d.survive("looking at what a call replaces", func() {})
	res, err := d.e.Tools.Call(InChat(ctx, d.id), consumePreview(s, c), func(turn.Progress) {})
	if err != nil || res.IsError {
		return ev
	}
	_, becomes, _ := decision.Replacement(c.Args)
	is, whole := wholeText(res)
	if ev.Why = turn.NoDiffPart; whole {
		ev.Diff, ev.Why = diffOf(is, becomes)
	}
	return ev
}

// wholeText is a result that is one text and nothing else, as its tool gave it. Where it gives the same once more as the only member of an
// object, that is the one that nothing was added to.
func wholeText(r turn.Result) (is string, ok bool) {
	if r.Omitted > 0 || len(r.Pictures) > 0 || r.Text == text.NoOutput || r.Text == text.EmptyFile {
		return "", false
	}
	if len(r.Structured) == 0 {
		return r.Text, true
	}
	var one map[string]*string
	if json.Unmarshal(r.Structured, &one) != nil || len(one) != 1 {
		return "", false
	}
	for _, said := range one {
		if said != nil && strings.HasPrefix(r.Text, *said) {
			return *said, true
		}
	}
	return "", false
}

// diffOf is what goes and comes where one text replaces another, in the lines of a [turn.Previewed], or why nobody is shown that.
func diffOf(is, becomes string) (string, turn.WhyNoDiff) {
	switch {
	case len(is) > maxReplaced || len(becomes) > maxReplaced:
		return "", turn.NoDiffLong
	case !utf8.ValidString(is) || strings.ContainsRune(is, 0) || strings.ContainsRune(is, utf8.RuneError):
		return "", turn.NoDiffBinary
	case is == becomes:
		return "", turn.NoDiffSame
	}
	if both, _ := json.Marshal([]string{is, becomes}); render.MaskedJSON(both) != nil { // one secret for another would look the same
		return "", turn.NoDiffSecret
	}
	diff := render.DiffLines(is, becomes)
	if len(diff) > maxDiff {
		return "", turn.NoDiffLong
	}
	return diff, ""
}
