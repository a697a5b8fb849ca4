package e2e

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/nodhq/nod/tests/standins/mcpserver"
)

// argumentsOf are what the API gives of the arguments on a chat's one card.
type argumentsForm struct {
	JSON string `json:"json"`
	Diff string `json:"diff"`
	Say  string `json:"say"`
}

func (r *room) argumentsOf(call string) argumentsForm {
	r.t.Helper()
	var c struct {
		Messages []struct {
			Blocks []struct {
				Call      string        `json:"tool_call_id"`
				Type      string        `json:"type"`
				Arguments argumentsForm `json:"arguments"`
			} `json:"blocks"`
		} `json:"messages"`
	}
	if status, no := r.call("GET", r.path(""), nil, &c); status != 200 {
		r.t.Fatal(status, no)
	}
	for _, m := range slices.Backward(c.Messages) {
		for _, b := range m.Blocks {
			if b.Type == "ask" && b.Call == call {
				return b.Arguments
			}
		}
	}
	r.t.Fatalf("call %s has no card", call)
	return argumentsForm{}
}

// docs is a server whose tools put and get a text. What get says is set, and counted.
type docs struct {
	*mcpserver.Server
	reads  atomic.Int64
	result atomic.Pointer[mcp.CallToolResult] // nil: it never answers
	stuck  chan struct{}                      // has room for one: it does not answer now
}

func newDocs(t *testing.T) *docs {
	d := &docs{Server: mcpserver.New("docs", mcpserver.OpenLedger(filepath.Join(t.TempDir(), "ledger"))), stuck: make(chan struct{}, 1)}
	one := json.RawMessage(`{"type":"object","properties":{"path":{"type":"string","maxLength":20}},"required":["path"],"additionalProperties":false}`)
	get := func(ctx context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		d.reads.Add(1)
		if res := d.result.Load(); res != nil {
			return res, nil
		}
		select {
		case d.stuck <- struct{}{}:
		default:
		}
		<-ctx.Done()
		return nil, ctx.Err()
	}
	put := func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return mcp.NewToolResultText("put"), nil
	}
	for _, name := range []string{"get", "asked_get", "unsure_get"} {
		d.MCP.AddTool(mcp.NewToolWithRawSchema(name, "Gives a text.", one), get)
	}
	for _, name := range []string{"put", "put_asked", "put_unsure", "put_missing", "put_alone"} {
		d.MCP.AddTool(mcp.NewToolWithRawSchema(name, "Puts a text.", json.RawMessage(`{"type":"object"}`)), put)
	}
	return d
}

// readAt is when something was read, on a card.
var readAt = regexp.MustCompile(`\d\d:\d\d:\d\d UTC`)

// Where a call replaces a text that may be read unasked, its card shows what changes, and says what that was compared with. Whatever is not
// sure, the arguments stand as they are.
func TestReplacedTexts(t *testing.T) {
	t.Parallel()
	d, llm := newDocs(t), startLLM(t)
	b := start(t, settings{yaml: fmt.Sprintf(`
mcp: {servers: {docs: {url: %q, preview: {put: get, put_asked: asked_get, put_unsure: unsure_get, put_missing: nothing}}}}
permissions: {servers: {docs: {tools: {get: {ask: never, access: read}, asked_get: {access: read}, unsure_get: {ask: never, access: write}}}}}
`, d.ServeHTTP(t).URL), env: llm.env()})

	says := mcp.NewToolResultText
	structured := func(text string, more any) *mcp.CallToolResult {
		r := says(text)
		r.StructuredContent = more
		return r
	}
	picture := says("a\nb\n")
	picture.Content = append(picture.Content, mcp.NewImageContent(base64.StdEncoding.EncodeToString(pngOf(t)), "image/png"))
	lines := func(from, to int) string {
		var out strings.Builder
		for i := from; i <= to; i++ {
			fmt.Fprintf(&out, "line %d\n", i)
		}
		return out.String()
	}
	const secret = "key ghp_0123456789abcdefghijklmnopqrstuvwxyzAB\n"
	for name, tt := range map[string]struct {
		tool, args string // empty: put, with path a and content
		is         *mcp.CallToolResult
		becomes    string
		diff       string // all of it but for the first lines
		reads      int64
	}{
		"changes": {is: says("a\nb\nc\n"), becomes: "a\nB\nc\n", reads: 1, diff: "‹1 line goes, 1 line comes, 2 lines stay›\n  a\n- b\n+ B\n  c"},
		"far apart": {is: says(lines(1, 20)), becomes: "new\n" + lines(1, 19), reads: 1,
			diff: "‹1 line goes, 1 line comes, 19 lines stay›\n+ new\n  line 1\n  line 2\n  line 3\n⋯ 13 lines as before\n  line 17\n  line 18\n  line 19\n- line 20"},
		"before and after": {is: says(lines(1, 11)), becomes: strings.Replace(lines(1, 11), "line 6\n", "", 1), reads: 1,
			diff: "‹1 line goes, 0 lines come, 10 lines stay›\n⋯ 2 lines as before\n  line 3\n  line 4\n  line 5\n- line 6\n  line 7\n  line 8\n  line 9\n⋯ 2 lines as before"},
		"one line is no gap": {is: says(lines(1, 5)), becomes: lines(1, 4), reads: 1, diff: "‹1 line goes, 0 lines come, 4 lines stay›\n  line 1\n  line 2\n  line 3\n  line 4\n- line 5"},
		"the end":            {is: says("a\nb"), becomes: "a\nb\n", reads: 1, diff: "‹1 line goes, 1 line comes, 1 line stays›\n  a\n- b\n⋯ no line break here\n+ b"},
		"what nobody sees":   {is: says("a\r\nb\n⋯ 3 lines as before\n"), becomes: "a\nb \n", reads: 1, diff: "‹3 lines go, 2 lines come, 0 lines stay›\n- a\\u{000D}\n- b\n- ⋯ 3 lines as before\n+ a\n+ b\\u{0020}"},
		"structured":         {is: structured("a\n", map[string]any{"content": "a\n"}), becomes: "b\n", reads: 1, diff: "‹1 line goes, 1 line comes, 0 lines stay›\n- a\n+ b"},
		"structured, empty":  {is: structured("", map[string]any{"content": ""}), becomes: "b\n", reads: 1, diff: "‹0 lines go, 1 line comes, 0 lines stay›\n+ b"},
		"structured, other":  {is: structured("a\n", map[string]any{"content": "c\n"}), becomes: "b\n", reads: 1},
		"structured, more":   {is: structured("a\n", map[string]any{"content": "a\n", "of": "b"}), becomes: "b\n", reads: 1},
		"the same":           {is: says("a\n"), becomes: "a\n", reads: 1},
		"nothing":            {is: says(""), becomes: "a\n", reads: 1},
		"an error":           {is: mcp.NewToolResultError("a\n"), becomes: "b\n", reads: 1},
		"a picture":          {is: picture, becomes: "b\n", reads: 1},
		"binary":             {is: says("a\x00b\n"), becomes: "b\n", reads: 1},
		"other bytes":        {is: says("a\uFFFDb\n"), becomes: "b\n", reads: 1},
		"cut":                {is: says(strings.Repeat("a", 100_001)), becomes: "b\n", reads: 1},
		"cut, structured":    {is: structured(strings.Repeat("a", 100_001), map[string]any{"content": "a"}), becomes: "b\n", reads: 1},
		"long":               {is: says(strings.Repeat("a\n", 33_000)), becomes: "b\n", reads: 1},
		"much changes":       {is: says(strings.Repeat("old\n", 4_000)), becomes: "b\n", reads: 1},
		"a secret goes":      {is: says(secret), becomes: "b\n", reads: 1},
		"no answer":          {becomes: "b\n", reads: 1},
		"more arguments":     {args: `{"path":"a","content":"b","append":true}`, is: says("a\n")},
		"another argument":   {args: `{"path":"a","text":"b"}`, is: says("a\n")},
		"no text":            {args: `{"path":"a","content":null}`, is: says("a\n")},
		"a secret comes":     {becomes: secret, is: says("a\n"), reads: 1},
		"does not fit":       {args: `{"path":"longer than what get takes","content":"b"}`, is: says("a\n")},
		"the read is asked":  {tool: "put_asked", becomes: "b\n", is: says("a\n")},
		"no read":            {tool: "put_unsure", becomes: "b\n", is: says("a\n")},
		"no such tool":       {tool: "put_missing", becomes: "b\n", is: says("a\n")},
		"not named":          {tool: "put_alone", becomes: "b\n", is: says("a\n")},
	} {
		t.Run(name, func(t *testing.T) {
			if tt.tool == "" {
				tt.tool = "put"
			}
			if tt.args == "" {
				raw, err := json.Marshal(map[string]string{"path": "a", "content": tt.becomes})
				if err != nil {
					t.Fatal(err)
				}
				tt.args = string(raw)
			}
			before := d.reads.Load()
			d.result.Store(tt.is)
			r, begun := b.session("Ana").room(), time.Now()
			ask := r.ask("call docs__" + tt.tool + " " + tt.args)
			if took := time.Since(begun); took > 30*time.Second { // the server's own time for a call is a minute
				t.Errorf("the question came after %s", took)
			}
			a := r.argumentsOf(ask.ToolCallID)
			want, against := "", ""
			if tt.diff != "" {
				want, against = "path: a\ncontent: "+tt.diff, "compared with what get from docs read at ‹time›"
			}
			if a.Diff != want || !strings.HasPrefix(readAt.ReplaceAllString(a.Say, "‹time›"), against) || (against == "") != !strings.Contains(a.Say, "compared") {
				t.Errorf("%q\n%s\nwant\n%s", a.Say, a.Diff, want)
			}
			if got := d.reads.Load() - before; got != tt.reads {
				t.Errorf("%d reads", got)
			}
			if string(ask.Arguments) == "" || a.JSON == "" {
				t.Error("the arguments are not there")
			}
		})
	}

	// Several are looked at together, once each.
	before := d.reads.Load()
	d.result.Store(says("a\n"))
	r := b.session("Ana").room()
	r.say(`call docs__put {"path":"a","content":"b\n"} and call docs__put {"path":"c","content":"d\n"}`)
	for i, ask := range r.waiting(2).Pending {
		if got := r.argumentsOf(ask.ToolCallID).Diff; !strings.HasSuffix(got, []string{"+ b", "+ d"}[i]) {
			t.Errorf("call %d: %s", i, got)
		}
	}
	if got := d.reads.Load() - before; got != 2 {
		t.Errorf("%d reads for two calls", got)
	}
}

// What a person allowed for this chat is allowed for the look, too; what they allowed three times is not used up by it.
func TestReplacedTextsUnderGrants(t *testing.T) {
	t.Parallel()
	d, llm := newDocs(t), startLLM(t)
	d.result.Store(mcp.NewToolResultText("a\n"))
	b := start(t, settings{yaml: fmt.Sprintf(`
mcp: {servers: {docs: {url: %q, preview: {put_asked: asked_get}}}}
permissions: {servers: {docs: {tools: {asked_get: {access: read}}}}}
`, d.ServeHTTP(t).URL), env: llm.env()})
	for choice, reads := range map[string]int64{"allow_once": 1, "allow_uses": 1, "allow_chat": 2} {
		d.reads.Store(0)
		r := b.session("Ana").room()
		r.mustClick(r.ask(`call docs__asked_get {"path":"a"}`).RequestID, choice)
		r.idle()
		ask := r.ask(`call docs__put_asked {"path":"a","content":"b\n"}`)
		if got := r.argumentsOf(ask.ToolCallID).Diff; d.reads.Load() != reads || strings.HasSuffix(got, "- a\n+ b") != (reads == 2) {
			t.Errorf("%s: %d reads, %q", choice, d.reads.Load(), got)
		}
		if reads != 2 {
			continue
		}
		// Other arguments are compared anew; for what nobody is asked about, nothing is looked at.
		other := map[string]any{"choice": "edit", "arguments": map[string]string{"path": "a", "content": "c\n"}}
		if status, no := r.call("POST", "/api/v1/asks/"+ask.RequestID, other, nil); status != 200 {
			t.Fatal(status, no)
		}
		ask = r.waiting(1).Pending[0]
		if got := r.argumentsOf(ask.ToolCallID).Diff; d.reads.Load() != 3 || !strings.HasSuffix(got, "- a\n+ c") {
			t.Errorf("edited: %d reads, %q", d.reads.Load(), got)
		}
		r.mustClick(ask.RequestID, "allow_chat")
		r.idle()
		r.say(`call docs__put_asked {"path":"a","content":"d\n"}`)
		r.idle()
		if n := d.reads.Load(); n != 3 {
			t.Errorf("%d reads after a call that nobody was asked about", n)
		}
	}
}

// putFirst and putAnew are two orders: to write a file of the workbench, and then another text into it.
const (
	putFirst = `call workbench__write_file {"path":"n.txt","content":"one\ntwo\n"}`
	putAnew  = `call workbench__write_file {"path":"n.txt","content":"one\nthree\n"}`
)

var putShown = []string{"path: n.txt\ncontent: ‹1 line goes, 1 line comes, 1 line stays›\n  one\n- two\n+ three", "compared with what read_file from workbench read at ", "Show arguments"}

// On Slack the card shows what changes, the arguments in full are one step away, and the read is on record. A replica that dies while it reads
// is followed by one that asks without.
func TestSlackReplacedText(t *testing.T) {
	t.Parallel()
	d := newDocs(t)
	o := openOffice(t, officeSettings{
		replicas: 2, box: fmt.Sprintf("}, docs: {url: %q, preview: {put: get}", d.ServeHTTP(t).URL),
		yaml: "workbench: true\npermissions: {servers: {docs: {tools: {get: {ask: never, access: read}}}}}\n",
	})
	o.turnTo(o.bots[0]) // each replica has files of its own
	th := o.mention(t, putFirst)
	ts := th.asking(1)
	if got := seen(th.now(ts).Version); strings.Contains(got, "compared") {
		t.Errorf("there was nothing to compare with:\n%s", got)
	}
	th.click(ana, ts, "Allow once")
	th.done(ts)
	th.say(ana, o.me(putAnew))
	ts = th.asking(2)
	got := seen(th.now(ts).Version)
	for _, want := range putShown {
		if !strings.Contains(got, want) {
			t.Errorf("no %q:\n%s", want, got)
		}
	}
	th.click(ana, ts, "Show arguments")
	if got := seenBlocks(th.view(ana, 1).Blocks); !strings.Contains(got, "│ three") || !strings.Contains(got, "- two") {
		t.Errorf("the details:\n%s", got)
	}

	th = o.mention(t, `call docs__put {"path":"a","content":"b"}`)
	<-d.stuck
	o.bots[0].kill()
	o.turnTo(o.bots[1])
	if got := seen(th.now(th.asking(1)).Version); strings.Contains(got, "compared") || d.reads.Load() != 1 {
		t.Errorf("%d reads:\n%s", d.reads.Load(), got)
	}
	_, records := o.bots[0].run("audit", "tail", "--kind", "preview", "--format", "jsonl")
	for _, want := range []string{`"outcome":"auto"`, `"outcome":"ok"`, `"outcome":"failed"`, `"tool":"read_file"`, `"args":"{\"path\": \"n.txt\"}"`} {
		if !strings.Contains(records, want) {
			t.Errorf("no %s in the audit:\n%s", want, records)
		}
	}
}

// On Discord the card shows what changes, too.
func TestDiscordReplacedText(t *testing.T) {
	t.Parallel()
	g := openGuild(t, guildSettings{yaml: "workbench: true\n"})
	k := g.mention(t, putFirst)
	id := k.asking(1)
	k.click(anaID, id, "Allow once")
	k.done(id)
	k.say(anaID, putAnew)
	id = k.asking(2)
	got := shown(k.now(id).Version)
	for _, want := range putShown {
		if !strings.Contains(got, want) {
			t.Errorf("no %q:\n%s", want, got)
		}
	}
}
