package openai

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/permission"
)

// answer gathers a reply from its raw chunks. openai-go's accumulator merges calls without index, sums repeated usage, drops what is new.
type answer struct {
	text   strings.Builder
	calls  []*partialCall
	usage  turn.Usage
	finish string
	done   bool // [DONE] was seen
	extra  fields
	chunks int
	think  thinking
}

// partialCall is a call as far as it has come.
type partialCall struct {
	index int // -1: the service gives none
	id    string
	name  string
	args  []byte
	extra fields
}

// chunk takes one chunk, or a whole completion, in. The text it brought goes to emit.
func (a *answer) chunk(data []byte, emit func(string)) *fault {
	if !gjson.ValidBytes(data) {
		return &fault{kind: garbled, said: clip(string(data), 200)}
	}
	root := gjson.ParseBytes(data)
	if e := root.Get("error"); e.Type != gjson.Null && e.Raw != `""` && e.Raw != "{}" && e.Raw != "false" {
		return refusal(data, 0)
	}
	a.chunks++
	a.used(root.Get("usage"))
	for i, c := range root.Get("choices").Array() {
		if n := c.Get("index"); n.Int() != 0 || !n.Exists() && i != 0 {
			continue // one answer was asked for
		}
		part := c.Get("delta")
		if !part.IsObject() {
			part = c.Get("message")
		}
		a.part(part, emit)
		a.finish = cmp.Or(c.Get("finish_reason").Str, a.finish)
	}
	return nil
}

func (a *answer) part(d gjson.Result, emit func(string)) {
	a.say(a.think.cut(contentText(d.Get("content"))), emit)
	a.say(contentText(d.Get("refusal")), emit)
	for _, c := range d.Get("tool_calls").Array() { // an object counts as a list of one
		a.call(c)
	}
	if c := d.Get("function_call"); c.IsObject() { // the older form: one call, no id
		a.extend(0, "", c.Get("name").String(), argument(c.Get("arguments")))
	}
	a.extra.addAll(d, "content", "refusal", "tool_calls", "function_call", "role", "name", "audio", "annotations")
}

func (a *answer) say(s string, emit func(string)) {
	if s != "" {
		a.text.WriteString(s)
		emit(s)
	}
}

// contentText is a content: a string, or an array of parts of which only the text ones are for people.
func contentText(v gjson.Result) string {
	if v.Type == gjson.String {
		return v.Str
	}
	var s string
	if v.IsArray() {
		for _, p := range v.Array() {
			if k := p.Get("type").Str; k == "text" || k == "output_text" {
				s += p.Get("text").String()
			}
		}
	}
	return s
}

func argument(v gjson.Result) string {
	if v.Type == gjson.JSON {
		return v.Raw // a service that forgot to make it a string
	}
	return v.Str
}

func (a *answer) call(c gjson.Result) {
	index := -1 // the service gives none
	if i := c.Get("index"); i.Type != gjson.Null {
		index = int(i.Int())
	}
	if p := a.extend(index, c.Get("id").String(), c.Get("function.name").String(), argument(c.Get("function.arguments"))); p != nil {
		p.extra.addAll(c, "index", "id", "type", "function")
	}
}

// extend finds the call that a delta goes on with, or begins a new one, and adds to it.
func (a *answer) extend(index int, id, name, args string) *partialCall {
	p := a.find(index, id, name)
	if p == nil || p.over(id, name, args) {
		if id+name+args == "" {
			return nil // belongs to nothing
		}
		p = &partialCall{index: index}
		a.calls = append(a.calls, p)
	}
	p.id = cmp.Or(p.id, id)
	if name != p.name {
		p.name += name // in pieces
	}
	p.args = append(p.args, args...)
	return p
}

func (a *answer) find(index int, id, name string) *partialCall {
	for _, p := range slices.Backward(a.calls) {
		switch {
		case index >= 0 && p.index >= 0:
			if p.index == index {
				return p
			}
		case id != "":
			if p.id == id {
				return p
			}
		case name != "" && p.name != name:
			return nil
		default:
			return p // neither index nor id nor name: the last one goes on
		}
	}
	return nil
}

// over reports whether a delta that was sent to p's place must be another call: another id; or, where ids are missing or the same, another
// beginning after p's arguments are complete.
func (p *partialCall) over(id, name, args string) bool {
	if id != "" && p.id != "" && id != p.id {
		return true
	}
	if name == "" || !gjson.ValidBytes(p.args) {
		return false
	}
	return name != p.name || strings.HasPrefix(strings.TrimSpace(args), "{")
}

// used keeps the last report: services that repeat it send totals, not differences.
func (a *answer) used(u gjson.Result) {
	first := func(names ...string) int {
		for _, n := range names {
			if v := u.Get(n); v.Type == gjson.Number {
				return max(int(v.Int()), 0)
			}
		}
		return 0
	}
	now := turn.Usage{
		Input:  first("prompt_tokens", "input_tokens"),
		Output: first("completion_tokens", "output_tokens"),
		Cached: first("prompt_tokens_details.cached_tokens", "input_tokens_details.cached_tokens", "prompt_cache_hit_tokens"),
	}
	if now != (turn.Usage{}) {
		a.usage = now
	}
}

// whole reports whether the answer came to its end. A finish reason is not always given, and "stop" may stand with calls.
func (a *answer) whole() bool {
	return a.finish != "" || a.done && (a.text.Len() > 0 || len(a.calls) > 0)
}

// short reports whether the service itself stopped the model before it was done.
func (a *answer) short() bool {
	return slices.Contains([]string{"length", "max_tokens", "content_filter", "error"}, a.finish)
}

// reply is what the caller gets. A cut one has no calls: their arguments may be half of what was meant.
func (a *answer) reply(byAlias map[string]permission.Tool, faults []string) agent.Reply {
	r := agent.Reply{Text: clean(a.text.String()), Usage: a.usage, Extra: a.extra.object(), Faults: faults}
	if r.Cut = !a.whole() || a.short(); r.Cut {
		r.Extra = nil
		return r
	}
	seen := map[string]bool{}
	for i, p := range a.calls {
		id := p.id
		for n := i; id == "" || seen[id]; n++ {
			id = fmt.Sprintf("call_%d", n)
		}
		seen[id] = true
		tool, known := byAlias[p.name]
		if !known {
			tool = permission.Tool{Name: p.name}
		}
		r.Calls = append(r.Calls, agent.ReplyCall{ModelID: id, Server: tool.Server, Name: tool.Name, Args: p.args, Extra: p.extra.object()})
	}
	return r
}

// fields are what a service sends beyond the standard and wants back: reasoning, signatures.
type fields map[string]*field

type field struct {
	text strings.Builder // of strings, which come in pieces
	list []string        // of arrays, likewise
	raw  string          // of anything else: the last one
}

// maxExtra bounds what is stored and sent back with every later request.
const maxExtra = 1 << 20

// addAll adds the members of an object, but for those that are read otherwise.
func (f *fields) addAll(object gjson.Result, but ...string) {
	object.ForEach(func(key, v gjson.Result) bool {
		if v.Type == gjson.Null || slices.Contains(but, key.Str) {
			return true
		}
		if *f == nil {
			*f = fields{}
		}
		x := (*f)[key.Str]
		if x == nil {
			x = &field{}
			(*f)[key.Str] = x
		}
		switch {
		case v.Type == gjson.String:
			x.text.WriteString(v.Str)
		case v.IsArray():
			for _, e := range v.Array() {
				x.list = append(x.list, e.Raw)
			}
		default:
			x.raw = v.Raw
		}
		return true
	})
}

// object is the fields as one JSON object, or nil. One that is too large to carry along is left out.
func (f fields) object() json.RawMessage {
	out, size := map[string]json.RawMessage{}, 0
	for key, x := range f {
		v := json.RawMessage(x.raw)
		switch {
		case x.raw != "":
		case x.list != nil:
			v = json.RawMessage("[" + strings.Join(x.list, ",") + "]")
		case x.text.Len() > 0:
			v, _ = json.Marshal(clean(x.text.String())) // a string always encodes
		default:
			continue
		}
		out[key] = v
		size += len(v)
	}
	if len(out) == 0 || size > maxExtra {
		return nil
	}
	b, _ := json.Marshal(out) // nil where something is nested too deep
	return b
}

// thinking leaves a model's thoughts out of its text: some local services send them as <think>…</think> at its beginning.
type thinking struct {
	held string // what may still turn out to be the beginning tag, or a part of the end tag
	in   thoughts
}

type thoughts uint8

const (
	unsure thoughts = iota // nothing but white space and a part of the tag has come
	inside
	gap // white space after the end tag
	over

	thinkBegins, thinkEnds = "<think>", "</think>"
)

// cut takes the next piece of text and returns what of it is for people.
func (t *thinking) cut(piece string) string {
	if t.in == over {
		return piece
	}
	t.held += piece
	if t.in == unsure {
		bare := strings.TrimLeft(t.held, " \t\r\n")
		switch {
		case strings.HasPrefix(bare, thinkBegins):
			t.in, t.held = inside, bare[len(thinkBegins):]
		case strings.HasPrefix(thinkBegins, bare):
			return "" // more has to come
		default:
			return t.rest()
		}
	}
	if t.in == inside {
		_, after, ended := strings.Cut(t.held, thinkEnds)
		if !ended {
			t.held = t.held[max(0, len(t.held)-len(thinkEnds)+1):]
			return ""
		}
		t.in, t.held = gap, after
	}
	if t.held = strings.TrimLeft(t.held, " \t\r\n"); t.held == "" {
		return ""
	}
	return t.rest()
}

// rest ends the filter and gives what it still held.
func (t *thinking) rest() string {
	if t.in == inside {
		return ""
	}
	out := t.held
	t.in, t.held = over, ""
	return out
}
