package e2e

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"

	"github.com/nodhq/nod/tests/standins/fakeslack"
)

// seen is what a message shows, as text: its words in their order, a line for each block, what can be pressed in brackets. It
// reads the blocks independently of the code that writes them.
func seen(v fakeslack.Version) string {
	if len(v.Blocks) == 0 {
		return v.Text
	}
	return seenBlocks(v.Blocks)
}

func seenBlocks(blocks json.RawMessage) string {
	text := dated.ReplaceAllString(strings.Join(lines(blocks), "\n"), "$1")
	return drawn.Replace(text)
}

// What Slack draws of its own tokens: names, times, and characters that are escaped.
var (
	dated = regexp.MustCompile(`<!date\^[^|>]*\|([^>]*)>`)
	drawn = strings.NewReplacer("&lt;", "<", "&gt;", ">", "&amp;", "&", "<@"+ana+">", "@Ana", "<@"+ben+">", "@Ben", "<@"+admin+">", "@Ada")
)

// part is one block, element or text object, as far as it is read here.
type part struct {
	Type     string          `json:"type"`
	Text     json.RawMessage `json:"text"`
	Title    json.RawMessage `json:"title"`
	Subtitle json.RawMessage `json:"subtitle"`
	Label    json.RawMessage `json:"label"`
	Status   string          `json:"status"`
	URL      string          `json:"url"`
	User     string          `json:"user_id"`
	Fallback string          `json:"fallback"`
	Initial  string          `json:"initial_value"`

	Placeholder json.RawMessage `json:"placeholder"`

	Details   json.RawMessage `json:"details"`
	Output    json.RawMessage `json:"output"`
	Fields    json.RawMessage `json:"fields"`
	Elements  json.RawMessage `json:"elements"`
	Element   json.RawMessage `json:"element"`
	Tasks     json.RawMessage `json:"tasks"`
	Children  json.RawMessage `json:"child_blocks"`
	Options   json.RawMessage `json:"options"`
	Initials  json.RawMessage `json:"initial_options"`
	Actions   json.RawMessage `json:"actions"`
	Accessory json.RawMessage `json:"accessory"`
}

// lines are what a value shows.
func lines(raw json.RawMessage) (out []string) {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 {
		return nil
	}
	switch raw[0] {
	case '"':
		var s string
		if json.Unmarshal(raw, &s) == nil && s != "" {
			out = append(out, s)
		}
	case '[':
		var all []json.RawMessage
		if json.Unmarshal(raw, &all) == nil {
			for _, one := range all {
				out = append(out, lines(one)...)
			}
		}
	case '{':
		var p part
		if json.Unmarshal(raw, &p) == nil {
			out = p.lines()
		}
	}
	return out
}

func (p part) lines() (out []string) {
	switch p.Type {
	case "rich_text_section", "rich_text_preformatted", "rich_text_quote", "context", "actions":
		between := map[string]string{"context": " ", "actions": " "}[p.Type]
		return []string{strings.Join(lines(p.Elements), between)}
	case "user":
		return []string{"<@" + p.User + ">"}
	case "link":
		return []string{strings.Join(append(lines(p.Text), p.URL), " ")}
	case "date":
		return []string{p.Fallback}
	case "button":
		return []string{"[" + strings.Join(lines(p.Text), "") + "]"}
	case "overflow":
		return []string{"[⋯ " + strings.Join(lines(p.Options), " · ") + "]"}
	case "static_select":
		return []string{"[" + strings.Join(lines(p.Placeholder), "") + " " + strings.Join(lines(p.Options), " · ") + "]"}
	case "checkboxes":
		box := "☐ "
		if len(lines(p.Initials)) > 0 {
			box = "☑ "
		}
		return []string{"[" + box + strings.Join(lines(p.Options), " · ") + "]"}
	}
	if p.Status != "" {
		out = append(out, "("+p.Status+")")
	}
	for _, raw := range []json.RawMessage{p.Label, p.Title, p.Subtitle, p.Text, p.Fields, p.Details, p.Output, p.Tasks, p.Elements, p.Element, p.Children, p.Accessory, p.Actions} {
		out = append(out, lines(raw)...)
	}
	if p.Initial != "" {
		out = append(out, p.Initial)
	}
	return out
}

// inert reports whether words stand only where Slack looks for no markup: in plain_text, and in the text of rich text.
func inert(blocks json.RawMessage, words string) bool {
	ok := true
	var walk func(v any, parsed bool)
	walk = func(v any, parsed bool) {
		switch x := v.(type) {
		case string:
			if parsed && strings.Contains(x, words) {
				ok = false
			}
		case []any:
			for _, e := range x {
				walk(e, parsed)
			}
		case map[string]any:
			for k, e := range x {
				walk(e, k == "text" && (x["type"] == "mrkdwn" || x["type"] == "markdown"))
			}
		}
	}
	var v any
	if json.Unmarshal(blocks, &v) != nil {
		return false
	}
	walk(v, true)
	return ok
}
