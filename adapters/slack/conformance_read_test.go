package slack_test

import (
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	mdtext "github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	"github.com/nodhq/nod/adapters/slack"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/render"
	"github.com/nodhq/nod/core/text"
	"github.com/nodhq/nod/tests/standins/fakeslack"
	"github.com/nodhq/nod/tests/suites/conformance"
)

// Messages as Slack's client would draw them: what is text in them, what is alive. Where it is not certain that Slack leaves
// something alone, it counts as alive. https://docs.slack.dev/messaging/formatting-message-text

func (w *workspace) messages(in chat.ID) []conformance.Shown {
	channel, thread := w.where(in)
	bare := w.bareNames()
	var out []conformance.Shown
	for _, m := range w.Messages(channel, thread) {
		if m.User == w.BotUser() {
			out = append(out, w.shown(m, bare))
		}
	}
	return out
}

func (w *workspace) look(in chat.ID, ref chat.MessageRef) (conformance.Shown, bool) {
	channel, thread := w.where(in)
	m, ok := w.Message(channel, string(ref))
	if !ok || m.Deleted || m.Thread != thread || m.User != w.BotUser() {
		return conformance.Shown{}, false
	}
	return w.shown(m, w.bareNames()), true
}

func (w *workspace) shown(m fakeslack.Message, bare map[string]bool) conformance.Shown {
	r := w.read(m.Version, bare[m.Via])
	r.Opened = true
	r.Ref, r.Previews = chat.MessageRef(m.TS), m.Unfurl.Links || m.Unfurl.Media
	for _, b := range w.Buttons(m.Channel, m.TS) {
		shown, ok := w.button(b)
		if !ok {
			shown.Choice = "unknown"
		}
		if ok || b.URL == "" {
			r.Buttons = append(r.Buttons, shown)
		}
	}
	return r.Shown
}

// seen: a private answer stands in the thread, or in the channel where there is no thread yet.
func (w *workspace) seen(by conformance.Who, in chat.ID) []conformance.Shown {
	channel, thread := w.where(in)
	var out []conformance.Shown
	for _, e := range w.Ephemerals(conformPeople[by]) {
		if e.Channel != channel || (e.Thread != "" && e.Thread != thread) {
			continue
		}
		r := w.read(e.Version, false)
		r.Ref = chat.MessageRef(e.TS)
		out = append(out, r.Shown)
	}
	return out
}

// button gives a button a key, and says what the adapter reads in it.
func (w *workspace) button(b fakeslack.Button) (conformance.Button, bool) {
	choice, token, ok := slack.ReadButton(b.Type, b.ActionID, b.BlockID, b.Value)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.buttons = append(w.buttons, b)
	return conformance.Button{Label: b.Text, Choice: choice, Token: token, Key: strconv.Itoa(len(w.buttons) - 1)}, ok
}

// bareNames says by which ways words like @here went out that Slack links by itself.
// https://docs.slack.dev/reference/methods/chat.postMessage#arg_parse
func (w *workspace) bareNames() map[string]bool {
	out := map[string]bool{}
	for _, c := range w.Calls("chat.postMessage", "chat.update") {
		parse, names := c.Values.Get("parse"), c.Values.Get("link_names")
		if parse == "full" || names == "1" || names == "true" || (c.Method == "chat.update" && parse != "none") {
			out[c.Method] = true
		}
	}
	return out
}

// reading is a message being read.
type reading struct {
	conformance.Shown
	text strings.Builder
}

func (w *workspace) read(v fakeslack.Version, bare bool) *reading {
	r := &reading{}
	if v.Blocks == nil {
		r.mrkdwn(v.Text)
	} else {
		hidden := &reading{} // notifications and screen readers get it
		hidden.mrkdwn(v.Text)
		r.Mentions, r.Links = hidden.Mentions, hidden.Links
		var blocks any
		if err := json.Unmarshal(v.Blocks, &blocks); err != nil {
			w.t.Fatal(err)
		}
		r.walk(blocks)
	}
	r.Text = r.text.String()
	if bare && atAll.MatchString(r.Text+" "+v.Text) {
		r.mention("everyone")
	}
	return r
}

var atAll = regexp.MustCompile(`@(here|channel|everyone)\b`)

func (r *reading) mention(who string) {
	if !slices.Contains(r.Mentions, who) {
		r.Mentions = append(r.Mentions, who)
	}
}

func (r *reading) say(s string) { r.text.WriteString(s + "\n") }

// walk reads blocks and what stands in them.
func (r *reading) walk(v any) {
	switch x := v.(type) {
	case []any:
		for _, e := range x {
			r.walk(e)
		}
	case map[string]any:
		kind, _ := x["type"].(string)
		text, _ := x["text"].(string)
		switch kind {
		case "mrkdwn":
			r.mrkdwn(text)
		case "plain_text":
			r.say(text)
		case "markdown":
			r.markdown(text)
		case "text":
			r.say(text) // of rich text: never parsed
		case "user", "usergroup", "broadcast", "channel", "team":
			who, _ := x["user_id"].(string)
			if who == "" {
				who = "everyone"
			}
			r.mention(who)
		case "link":
			r.link(x)
		case "button":
			if url, _ := x["url"].(string); url != "" {
				label, _ := x["text"].(map[string]any)["text"].(string)
				r.Links = append(r.Links, conformance.Link{Label: label, URL: url})
			}
		case "overflow":
		default:
			for _, k := range []string{"url", "image_url", "thumbnail_url", "video_url", "title_url"} {
				if url, _ := x[k].(string); url != "" {
					r.Images = append(r.Images, url)
				}
			}
			for _, e := range x {
				switch e.(type) {
				case map[string]any, []any:
					r.walk(e)
				}
			}
			if title, _ := x["title"].(string); title != "" {
				r.say(title) // of cards and containers that take a plain string
			}
		}
	}
}

func (r *reading) link(x map[string]any) {
	l := conformance.Link{}
	l.URL, _ = x["url"].(string)
	l.Label, _ = x["text"].(string)
	r.Links = append(r.Links, l)
	r.say(l.Label + " " + l.URL)
}

// decode reads the only entities there are.
var decode = strings.NewReplacer("&lt;", "<", "&gt;", ">", "&amp;", "&")

var bracket = regexp.MustCompile(`<([^<>\n]*)>`)

// tokens reads what stands in angle brackets, and gives the text with what a person reads instead.
func (r *reading) tokens(text string) string {
	return bracket.ReplaceAllStringFunc(text, func(whole string) string {
		what, label, labelled := strings.Cut(whole[1:len(whole)-1], "|")
		decoded := decode.Replace(label)
		switch {
		case strings.HasPrefix(what, "@"):
			r.mention(what[1:])
			return "@somebody"
		case strings.HasPrefix(what, "#"):
			r.mention(what)
			return "#" + decoded
		case strings.HasPrefix(what, "!date^"):
			if part := strings.SplitN(what, "^", 4); len(part) == 4 {
				r.Links = append(r.Links, conformance.Link{Label: part[2], URL: part[3]})
			}
			return decoded
		case strings.HasPrefix(what, "!"):
			r.mention("everyone")
			return "@" + what[1:]
		case address.MatchString(what):
			l := conformance.Link{Label: decoded, URL: decode.Replace(what)}
			if !labelled {
				l.Label = l.URL
			}
			r.Links = append(r.Links, l)
			return l.Label
		}
		return whole
	})
}

var address = regexp.MustCompile(`(?i)^[a-z][a-z0-9+.-]*:`)

func (r *reading) mrkdwn(text string) { r.say(decode.Replace(r.tokens(text))) }

// markdown blocks read Markdown, and angle brackets as mrkdwn does. A backslash before one is not relied on.
// https://docs.slack.dev/reference/block-kit/blocks/markdown-block
func (r *reading) markdown(text string) {
	r.tokens(text)
	source := []byte(text)
	doc := goldmark.DefaultParser().Parse(mdtext.NewReader(source))
	_ = ast.Walk(doc, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Image:
			r.Images = append(r.Images, string(n.Destination))
		case *ast.Link:
			r.Links = append(r.Links, conformance.Link{Label: words(n, source), URL: string(n.Destination)})
		case *ast.CodeBlock, *ast.FencedCodeBlock:
			r.say(string(n.Lines().Value(source)))
		case *ast.HTMLBlock:
			r.say(string(n.Lines().Value(source)))
		}
		return ast.WalkContinue, nil
	})
	r.say(words(doc, source))
}

// words is the text under a node, as it is read.
func words(n ast.Node, source []byte) string {
	var b strings.Builder
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if t, ok := n.(*ast.Text); ok && entering {
			raw := t.Value(source)
			if _, code := n.Parent().(*ast.CodeSpan); !code {
				raw = util.ResolveEntityNames(util.ResolveNumericReferences(util.UnescapePunctuations(raw)))
			}
			b.Write(raw)
			if t.SoftLineBreak() || t.HardLineBreak() {
				b.WriteByte('\n')
			}
		}
		return ast.WalkContinue, nil
	})
	return b.String()
}

// pressable is the adapter's own Allow once button.
func (w *workspace) pressable(token string) fakeslack.Button {
	allow := render.Choice{Choice: chat.AllowOnce, Token: token, Label: text.LabelAllowOnce}
	raw, err := slack.DrawCard(render.Ask{
		Call: "call", Token: token, Kind: render.AskPermission, Header: "Allow?", Run: "Run it", Choices: []render.Choice{allow, {Choice: chat.Deny, Token: token, Label: text.LabelDeny}},
	})
	if err != nil {
		w.t.Fatal(err)
	}
	var blocks any
	_ = json.Unmarshal(raw, &blocks)
	var found fakeslack.Button
	var walk func(any)
	walk = func(v any) {
		switch x := v.(type) {
		case []any:
			for _, e := range x {
				walk(e)
			}
		case map[string]any:
			id, _ := x["action_id"].(string)
			value, _ := x["value"].(string)
			if c, _, ok := slack.ReadButton("button", id, "b", value); ok && c == chat.AllowOnce {
				found = fakeslack.Button{ActionID: id, Value: value, BlockID: "b"}
			}
			for _, e := range x {
				walk(e)
			}
		}
	}
	walk(blocks)
	if found.ActionID == "" {
		w.t.Fatalf("no button for %s in %s", chat.AllowOnce, raw)
	}
	return found
}
