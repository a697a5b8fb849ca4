package decision

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/core/render"
	"github.com/nodhq/nod/core/text"
)

// Preview is the read that shows what a call replaces. It is as much as the model could do by itself: a tool of the same server, which the
// operator names for that, which the policy knows as a read, and which may run for this person in this chat without a question. Whatever is
// not sure is no reason to read. c has just been ruled, so that its tool is the one that was offered.
func (j Judge) Preview(s turn.Session, c turn.ToolCall, token uint64) (ev turn.PreviewStarted, may bool) {
	tools, _ := j.Tools()
	t, _ := find(tools, c.Tool)
	reader, known := find(tools, permission.Tool{Server: c.Tool.Server, Name: t.Preview})
	path, _, replaces := Replacement(c.Args)
	if !known || !replaces {
		return ev, false
	}
	args, _ := json.Marshal(map[string]string{turn.Replaces: path}) // text always marshals
	if unchecked, err := j.Check(reader.Tool, args); unchecked || err != nil {
		return ev, false
	}
	// What is granted for so many uses is granted for the model's calls.
	lasting := slices.DeleteFunc(slices.Clone(s.Grants), func(g permission.Grant) bool { return g.Counted || g.Uses > 0 })
	r := permission.Evaluate(j.Policy, lasting, reader.Request(s, turn.ToolCall{Tool: reader.Tool, Args: args}), j.Now)
	if r.Verdict != permission.Allow || r.Access != permission.Read {
		return ev, false
	}
	return turn.PreviewStarted{Call: c.ID, Run: turn.RunID(j.Mint()), Of: c.Digest, Tool: reader.Tool, Args: args, Grant: r.Grant, Token: token}, true
}

// Replacement is what a call that replaces a text says: where, and what stands there then. With anything beside the two nobody knows that it
// replaces.
func Replacement(args json.RawMessage) (path, content string, ok bool) {
	var a map[string]*string
	if json.Unmarshal(args, &a) != nil || len(a) != 2 || a[turn.Replaces] == nil || a[turn.Becomes] == nil {
		return "", "", false
	}
	return *a[turn.Replaces], *a[turn.Becomes], true
}

// The limits on what is compared.
const (
	maxReplaced = 64 << 10 // bytes of the text that is there, and of the one that comes
	maxDiff     = 16 << 10 // bytes of what is kept of both
)

// Difference is what a call changes where its look at what it replaces gave that result, in the lines of a [turn.Previewed], or why nobody is
// shown that.
func Difference(args json.RawMessage, looked turn.Result) (string, turn.WhyNoDiff) {
	_, becomes, _ := Replacement(args)
	is, whole := wholeText(looked)
	switch {
	case !whole:
		return "", turn.NoDiffPart
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
