package openai

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/permission"
)

// answer gathers a reply from its chunks. openai-go's own accumulator merges what services without call indexes send,
// sums repeated usage and drops what it does not know. This one reads the raw chunk.
type answer struct {
	text   strings.Builder
	calls  []*piece
	usage  turn.Usage
	finish string
	done   bool // [DONE] was seen
	extra  fields
	chunks int
	think  thinking
}

// piece is a call as far as it has come.
type piece struct {
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
	if u := root.Get("usage"); u.IsObject() {
		a.used(u)
	}
	for i, c := range root.Get("choices").Array() {
		if n := c.Get("index"); n.Exists() && n.Int() != 0 || !n.Exists() && i != 0 {
			continue // one answer was asked for
		}
		part := c.Get("delta")
		if !part.IsObject() {
			part = c.Get("message")
		}
		a.part(part, emit)
		if f := c.Get("finish_reason"); f.Type == gjson.String && f.Str != "" {
			a.finish = f.Str
		}
	}
	return nil
}

func (a *answer) part(d gjson.Result, emit func(string)) {
	d.ForEach(func(key, v gjson.Result) bool {
		switch key.Str {
		case "content":
			a.say(a.think.cut(words(v)), emit)
		case "refusal":
			a.say(words(v), emit)
		case "tool_calls":
			if v.IsObject() {
				a.call(v)
			} else {
				for _, c := range v.Array() {
					a.call(c)
				}
			}
		case "function_call": // the older form: one call, no id
			if v.IsObject() {
				a.piece(0, true, "", v.Get("name").String(), argument(v.Get("arguments")))
			}
		case "role", "name", "audio", "annotations": // nothing to replay
		default:
			a.extra.add(key.Str, v)
		}
		return true
	})
}

func (a *answer) say(s string, emit func(string)) {
	if s != "" {
		a.text.WriteString(s)
		emit(s)
	}
}

// words is a content: a string, or an array of parts of which only the text ones are for people.
func words(v gjson.Result) string {
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
	switch {
	case v.Type == gjson.String:
		return v.Str
	case v.IsObject() || v.IsArray():
		return v.Raw // a service that forgot to make it a string
	}
	return ""
}

func (a *answer) call(c gjson.Result) {
	if !c.IsObject() {
		return
	}
	index, indexed := -1, false
	switch i := c.Get("index"); i.Type {
	case gjson.Number:
		index, indexed = int(i.Int()), i.Int() >= 0
	case gjson.String:
		n, err := strconv.Atoi(i.Str)
		index, indexed = n, err == nil && n >= 0
	}
	p := a.piece(index, indexed, c.Get("id").String(), c.Get("function.name").String(), argument(c.Get("function.arguments")))
	if p == nil {
		return
	}
	c.ForEach(func(key, v gjson.Result) bool {
		switch key.Str {
		case "index", "id", "type", "function":
		default:
			p.extra.add(key.Str, v)
		}
		return true
	})
}

// piece finds the call that a delta goes on with, or begins a new one, and adds to it.
func (a *answer) piece(index int, indexed bool, id, name, args string) *piece {
	p := a.find(index, indexed, id, name)
	if p != nil && p.over(id, name, args) {
		p = nil
	}
	if p == nil {
		if id == "" && name == "" && (args == "" || !indexed) {
			return nil // belongs to nothing
		}
		if !indexed {
			index = -1
		}
		p = &piece{index: index}
		a.calls = append(a.calls, p)
	}
	if p.id == "" {
		p.id = id
	}
	switch {
	case p.name == "" || name == p.name:
		p.name += strings.TrimPrefix(name, p.name)
	case len(p.args) == 0:
		p.name += name // in pieces
	}
	p.args = append(p.args, args...)
	return p
}

func (a *answer) find(index int, indexed bool, id, name string) *piece {
	for _, p := range slices.Backward(a.calls) {
		switch {
		case indexed && p.index >= 0:
			if p.index == index {
				return p
			}
		case id != "":
			if p.id == id {
				return p
			}
		case name != "":
			if p.name == name {
				return p
			}
			return nil
		default:
			return p // neither index nor id nor name: the last one goes on
		}
	}
	return nil
}

// over reports whether a delta that was sent to p's place must be another call: another id; or, where ids are
// missing or the same, another beginning after p's arguments are complete.
func (p *piece) over(id, name, args string) bool {
	if id != "" && p.id != "" && id != p.id {
		return true
	}
	if name == "" || len(p.args) == 0 || p.args[0] != '{' || !gjson.ValidBytes(p.args) {
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

// whole reports whether the answer came to its end. A finish reason is not always given, and never decides alone
// whether there are calls: some services say "stop" with them.
func (a *answer) whole() bool {
	return a.finish != "" || a.done && (a.text.Len() > 0 || len(a.calls) > 0)
}

// short reports whether the service itself stopped the model before it was done.
func (a *answer) short() bool {
	return slices.Contains([]string{"length", "max_tokens", "content_filter", "error"}, a.finish)
}

// reply is what the caller gets. A cut one has no calls: their arguments may be half of what was meant.
func (a *answer) reply(t table, faults []string) agent.Reply {
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
		tool, known := t[p.name]
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

func (f *fields) add(key string, v gjson.Result) {
	if v.Type == gjson.Null || key == "" {
		return
	}
	if *f == nil {
		*f = fields{}
	}
	x := (*f)[key]
	if x == nil {
		x = &field{}
		(*f)[key] = x
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
}

// object is the fields as one JSON object, or nil. One that is too large to carry along is left out.
func (f fields) object() json.RawMessage {
	out := map[string]json.RawMessage{}
	size := 0
	for key, x := range f {
		var v []byte
		switch {
		case x.raw != "":
			v = []byte(x.raw)
		case x.list != nil:
			v = []byte("[" + strings.Join(x.list, ",") + "]")
		case x.text.Len() > 0:
			v, _ = json.Marshal(clean(x.text.String())) // a string always encodes
		default:
			continue
		}
		if size += len(v); size > maxExtra {
			return nil
		}
		out[key] = v
	}
	if len(out) == 0 {
		return nil
	}
	b, err := json.Marshal(out)
	if err != nil {
		return nil
	}
	return b
}
