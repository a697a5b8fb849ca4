package fakeslack

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Limits of whole payloads. https://docs.slack.dev/reference/block-kit/blocks unless it says otherwise.
const (
	MaxBlocks     = 50  // of a message
	MaxViewBlocks = 100 // of a modal or Home tab
	// MaxBlocksSize is the characters of all blocks' JSON without white space and escapes. Undocumented: 13,297 measured for markdown
	// alone, 13,172 with a divider, and 11,341 characters of text in many small blocks refused (slackapi/bolt-js issues 2509 and 2867):
	// text plus what wraps it.
	MaxBlocksSize = 13_200
	maxMarkdown   = 12_000 // over all markdown blocks of a payload
	maxInput      = 3_000  // of a plain_text_input
	maxMeta       = 3_000  // private_metadata. https://docs.slack.dev/reference/views
	maxViewTitle  = 24     // and of its buttons
	maxID         = 255    // block_id, action_id, callback_id, external_id
	maxViewSize   = 250_000
)

// checker walks a payload and notes what Slack would refuse.
type checker struct {
	path     []string
	bad      []fault
	blocks   map[string]bool // block_ids
	actions  map[string]bool // action_ids
	markdown int
	tables   int
	modal    bool
	inputs   bool
	focused  bool
}

// fault is one thing that is wrong.
type fault struct{ pointer, message string }

func (c *checker) no(format string, a ...any) {
	c.bad = append(c.bad, fault{"/" + strings.Join(c.path, "/"), fmt.Sprintf(format, a...)})
}

// in runs f one step down.
func (c *checker) in(step string, f func()) {
	c.path = append(c.path, step)
	f()
	c.path = c.path[:len(c.path)-1]
}

// refusal is the answer for what was found, nil if that is nothing.
func (c *checker) refusal(code string) *refusal {
	if len(c.bad) == 0 {
		return nil
	}
	slices.SortFunc(c.bad, func(a, b fault) int { return strings.Compare(a.pointer+a.message, b.pointer+b.message) })
	r := &refusal{Error: code}
	for _, f := range c.bad {
		r.Messages = append(r.Messages, "[ERROR] "+f.message+" [json-pointer:"+f.pointer+"]")
		r.Errors = append(r.Errors, f.message+" [json-pointer:"+f.pointer+"]")
		r.faults = append(r.faults, f)
	}
	return r
}

// checkMessage checks the blocks of a message.
func checkMessage(raw []byte) *refusal {
	var v any
	if json.Unmarshal(raw, &v) != nil {
		return &refusal{Error: "invalid_blocks_format"}
	}
	list, ok := v.([]any)
	if !ok {
		return &refusal{Error: "invalid_blocks_format"}
	}
	c := &checker{path: []string{"blocks"}, blocks: map[string]bool{}, actions: map[string]bool{}}
	if len(list) > MaxBlocks {
		c.no("no more than %d items allowed", MaxBlocks)
	}
	c.list(list)
	if r := c.refusal("invalid_blocks"); r != nil {
		return r
	}
	if size(v) > MaxBlocksSize {
		return &refusal{Error: "msg_blocks_too_long"}
	}
	return nil
}

func (c *checker) list(list []any) {
	for i, b := range list {
		c.in(strconv.Itoa(i), func() { c.block(b, nil) })
	}
	if c.markdown > maxMarkdown {
		c.no("markdown text must be less than %d characters in all", maxMarkdown+1)
	}
	if c.tables > 1 {
		c.no("only_one_table_allowed")
	}
}

// checkView checks a modal or a Home tab; an empty kind takes both.
func checkView(raw []byte, kind string) *refusal {
	var v map[string]any
	if json.Unmarshal(raw, &v) != nil || v == nil {
		return &refusal{Error: "invalid_arguments", Messages: []string{"[ERROR] missing required field: view"}}
	}
	if size(v) > maxViewSize {
		return &refusal{Error: "view_too_large"}
	}
	c := &checker{path: []string{"view"}, blocks: map[string]bool{}, actions: map[string]bool{}, modal: true}
	is, _ := v["type"].(string)
	if is != "modal" && is != "home" || kind != "" && is != kind {
		c.in("type", func() { c.no("unsupported type: %s", is) })
	}
	s := viewShape
	if is == "home" {
		s = homeShape
	}
	c.object(v, s)
	if c.inputs && v["submit"] == nil && is == "modal" {
		c.no("missing required field: submit (a view with an input block needs one)")
	}
	return c.refusal("invalid_arguments")
}

// size is the length of a value as JSON, in characters, without white space and escapes.
func size(v any) int {
	switch x := v.(type) {
	case string:
		return utf8.RuneCountInString(x) + 2
	case []any:
		n := 1 + max(1, len(x))
		for _, e := range x {
			n += size(e)
		}
		return n
	case map[string]any:
		n := 1 + max(1, len(x))
		for k, e := range x {
			n += utf8.RuneCountInString(k) + 3 + size(e)
		}
		return n
	case float64:
		return len(strconv.FormatFloat(x, 'g', -1, 64))
	case bool:
		return len(strconv.FormatBool(x))
	}
	return len("null")
}

// block checks one block; where only some kinds may stand, only names them.
func (c *checker) block(v any, only []string) {
	b, ok := v.(map[string]any)
	if !ok {
		c.no("must be an object")
		return
	}
	kind, _ := b["type"].(string)
	s, known := blockShapes[kind]
	switch {
	case !known, only != nil && !slices.Contains(only, kind), c.modal && messageOnly[kind], !c.modal && modalOnly[kind]:
		c.in("type", func() { c.no("unsupported type: %s", kind) })
		return
	}
	if id, ok := b["block_id"].(string); ok && id != "" {
		c.in("block_id", func() {
			if utf8.RuneCountInString(id) > maxID {
				c.no("must be less than %d characters", maxID+1)
			}
			if c.blocks[id] {
				c.no("block_id \"%s\" already exists", id)
			}
			c.blocks[id] = true
		})
	}
	switch kind {
	case "markdown":
		text, _ := b["text"].(string)
		c.markdown += utf8.RuneCountInString(text)
	case "input":
		c.inputs = true
	case "table":
		c.tables++
	}
	c.object(b, s)
	if s.also != nil {
		s.also(c, b)
	}
}

// object checks the members of an object against its shape.
func (c *checker) object(o map[string]any, s shape) {
	for _, k := range s.need {
		if _, ok := o[k]; !ok {
			c.no("missing required field: %s", k)
		}
	}
	for k, v := range o {
		rule, ok := s.have[k]
		if !ok {
			if k != "type" && k != "block_id" && !s.open {
				c.no("invalid additional property: %s", k)
			}
			continue
		}
		if v == nil {
			continue
		}
		c.path = append(c.path, k)
		rule(c, v)
		c.path = c.path[:len(c.path)-1]
	}
}

// element checks an interactive element of one of these kinds.
func element(kinds ...string) rule {
	return func(c *checker, v any) {
		e, ok := v.(map[string]any)
		if !ok {
			c.no("must be an object")
			return
		}
		kind, _ := e["type"].(string)
		s, known := elementShapes[kind]
		if !known || !slices.Contains(kinds, kind) {
			c.in("type", func() { c.no("unsupported type: %s", kind) })
			return
		}
		if id, ok := e["action_id"].(string); ok && id != "" {
			c.in("action_id", func() {
				if utf8.RuneCountInString(id) > maxID {
					c.no("must be less than %d characters", maxID+1)
				}
				if c.actions[id] {
					c.no("action_id \"%s\" already exists", id)
				}
				c.actions[id] = true
			})
		}
		c.object(e, s)
		if s.also != nil {
			s.also(c, e)
		}
		if e["focus_on_load"] == true {
			if c.focused {
				c.no("only one element may have focus_on_load")
			}
			c.focused = true
		}
	}
}
