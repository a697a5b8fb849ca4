package openai

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/tests/standins/fakellm"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const key = "sk-test-0123456789abcdef"

// bench is a client of a strict service in this process, and what it waited.
type bench struct {
	*Client
	llm    *fakellm.Server
	waited []time.Duration
}

func connect(t *testing.T, llm *fakellm.Server, change ...func(*Config)) *bench {
	t.Helper()
	srv := httptest.NewServer(llm)
	t.Cleanup(srv.Close)
	cfg := Config{BaseURL: srv.URL + "/v1", APIKey: key, Model: "m", HTTPClient: srv.Client()}
	for _, f := range change {
		f(&cfg)
	}
	c, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{Client: c, llm: llm}
	c.wait = func(ctx context.Context, d time.Duration) error {
		b.waited = append(b.waited, d)
		return ctx.Err()
	}
	return b
}

func fake() *fakellm.Server { return fakellm.New(fakellm.Config{Key: key}) }

func spec(server, name, schema string) agent.ToolSpec {
	return agent.ToolSpec{Tool: permission.Tool{Server: server, Name: name}, Description: "Does " + name, InputSchema: json.RawMessage(schema)}
}

var someTools = []agent.ToolSpec{
	spec("workbench", "list_directory", `{"type":"object","properties":{"path":{"type":"string"}}}`),
	spec("workbench", "read_file", `{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}`),
}

var hi = []turn.Utterance{{Role: turn.RoleUser, Name: "Ana", Text: "hi"}}

// ask gives the reply and everything that was streamed.
func (b *bench) ask(t *testing.T, talk []turn.Utterance) (r agent.Reply, text string, notes []string, err error) {
	t.Helper()
	r, err = b.Reply(t.Context(), talk, someTools, func(d agent.Delta) {
		text += d.Text
		if d.Note != "" {
			notes = append(notes, d.Note)
		}
	})
	return r, text, notes, err
}

func stream(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("testdata", "streams", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

type calls = []agent.ReplyCall

func wrote(id, name, args string) agent.ReplyCall {
	c := agent.ReplyCall{ModelID: id, Server: "workbench", Name: name}
	if args != "" {
		c.Args = []byte(args)
	}
	return c
}

var (
	readA = wrote("a", "read_file", `{"path":"a"}`)
	listB = wrote("b", "list_directory", `{"path":"b"}`)
	both  = calls{readA, listB}
)

// named is a call with another id.
func named(c agent.ReplyCall, id string) agent.ReplyCall { c.ModelID = id; return c }

// answered are the recorded streams that give an answer at the first attempt.
var answered = map[string]agent.Reply{
	"text.sse":                           {Text: "Hello", Usage: turn.Usage{Input: 10, Output: 5, Cached: 4}},
	"parallel.sse":                       {Calls: both},
	"parallel_interleaved.sse":           {Calls: both},
	"same_index.sse":                     {Calls: both}, // Ollama
	"same_index_no_ids.sse":              {Calls: calls{named(readA, "call_0"), named(listB, "call_1")}},
	"no_index.sse":                       {Calls: both}, // Gemini
	"no_index_in_pieces.sse":             {Calls: both},
	"no_index_no_ids.sse":                {Calls: calls{named(readA, "call_0"), named(listB, "call_1")}},
	"no_index_same_tool_twice.sse":       {Calls: calls{named(readA, "call_0"), wrote("call_1", "read_file", `{"path":"b"}`)}},
	"index_minus_one.sse":                {Calls: both},
	"index_null.sse":                     {Calls: both},
	"index_text.sse":                     {Calls: both},
	"name_repeated.sse":                  {Calls: calls{readA}},
	"name_repeated_nested.sse":           {Calls: calls{wrote("a", "read_file", `{"path":{"x":1}}`)}},
	"args_before_name.sse":               {Calls: calls{readA}},
	"id_later.sse":                       {Calls: calls{wrote("a", "read_file", `{"path":"a"} `)}},
	"index_sometimes.sse":                {Calls: both},
	"no_index_ids_repeated.sse":          {Calls: both},
	"same_index_no_args.sse":             {Calls: calls{wrote("a", "list_directory", ""), listB}},
	"call_empty.sse":                     {Text: "Hello"},
	"no_done_calls.sse":                  {Calls: calls{readA}},
	"no_finish_calls.sse":                {Calls: calls{readA}},
	"no_index_no_ids_names_repeated.sse": {Calls: calls{wrote("call_0", "list_directory", ""), named(readA, "call_1")}},
	"same_index_no_ids_in_pieces.sse":    {Calls: calls{named(readA, "call_0"), named(listB, "call_1")}},
	"no_finish_no_last_blank_line.sse":   {Text: "Hello"},
	"name_in_pieces.sse":                 {Calls: calls{readA}},
	"ids_empty.sse":                      {Calls: calls{named(readA, "call_0"), named(listB, "call_1")}},
	"ids_repeated.sse":                   {Calls: calls{named(readA, "call"), named(listB, "call_1")}},
	"ids_repeated_same_index.sse":        {Calls: calls{named(readA, "call"), named(listB, "call_1")}},
	"args_object.sse":                    {Calls: calls{readA}},
	"args_empty.sse":                     {Calls: calls{wrote("a", "list_directory", "")}},
	"args_null.sse":                      {Calls: calls{wrote("a", "list_directory", "")}},
	"args_malformed.sse":                 {Calls: calls{wrote("a", "read_file", `{"path": "a"`)}},
	"calls_as_object.sse":                {Calls: calls{readA}},
	"function_call.sse":                  {Calls: calls{named(readA, "call_0")}},
	"unknown_tool.sse":                   {Calls: calls{{ModelID: "a", Name: "launch_rocket", Args: []byte("{}")}}},
	"finish_stop_with_calls.sse":         {Text: "Hello", Calls: calls{readA}},
	"no_finish.sse":                      {Text: "Hello"},
	"no_done.sse":                        {Text: "Hello"},
	"no_finish_no_done.sse":              {Text: "Hello", Cut: true},
	"no_finish_no_done_calls.sse":        {Text: "Hello", Cut: true},
	"length.sse":                         {Text: "Hello", Cut: true},
	"filtered_midway.sse":                {Text: "Hello", Cut: true},
	"usage_every_chunk.sse":              {Text: "Hello", Usage: turn.Usage{Input: 10, Output: 5}}, // vLLM
	"usage_missing.sse":                  {Text: "Hello"},
	"usage_null.sse":                     {Text: "Hello", Usage: turn.Usage{Input: 10, Output: 5}},
	"chunk_ids_differ.sse":               {Text: "Hello", Usage: turn.Usage{Input: 10, Output: 5}},
	"error_null.sse":                     {Text: "Hello"},
	"no_last_blank_line.sse":             {Text: "Hello"},
	"no_last_blank_line_chunk.sse":       {Text: "Hello!"},
	"single_newlines.sse":                {Text: "Hello"},
	"crlf.sse":                           {Text: "Hello"},
	"comments.sse":                       {Text: "Hello"},
	"no_space.sse":                       {Text: "Hello"},
	"event_names.sse":                    {Text: "Hello"},
	"two_data_lines.sse":                 {Text: "Hello"},
	"bom.sse":                            {Text: "Hello"},
	"content_null.sse":                   {Text: "Hello"},
	"delta_null.sse":                     {Text: "Hello"},
	"choices_null.sse":                   {Text: "Hello"},
	"content_parts.sse":                  {Text: "Hello"}, // Mistral
	"reasoning.sse":                      {Text: "Hello", Extra: json.RawMessage(`{"reasoning_content":"I think"}`)},
	"reasoning_details.sse":              {Text: "Hello", Extra: json.RawMessage(`{"reasoning":"I","reasoning_details":[{"type":"reasoning.text","text":"I"},{"type":"reasoning.encrypted","data":"x9"}]}`)},
	"signature.sse": {Calls: calls{{ModelID: "a", Server: "workbench", Name: "read_file", Args: []byte(`{"path":"a"}`),
		Extra: json.RawMessage(`{"extra_content":{"google":{"thought_signature":"c2ln"}}}`)}}},
	"refusal.sse":            {Text: "Hello"},
	"second_choice.sse":      {Text: "Hello"},
	"message_not_delta.sse":  {Text: "Hello"},
	"bad_utf8.sse":           {Text: "Hel\uFFFDlo"},
	"error_midway.sse":       {Text: "Hello", Cut: true},
	"error_event_midway.sse": {Text: "Hello", Cut: true},
	"garbled_midway.sse":     {Text: "Hello", Cut: true},
	"error_after_finish.sse": {Text: "Hello"},
	"completion.json":        {Text: "Hello", Calls: calls{readA}, Usage: turn.Usage{Input: 10, Output: 5}},
}

// unanswered are those that give none: what the person reads while it is tried again, or at the end when again is false.
var unanswered = map[string]struct {
	say   string
	again bool
}{
	"error_first.sse":       {"The model's service reported an error.", true},
	"error_event_first.sse": {"The model's service reported an error.", true},
	"error_text.json":       {"The model's service reported an error.", true},
	"error_code.json":       {"The model's service refused the request (429).", true},
	"empty.sse":             {"The model's service sent an empty answer.", true},
	"only_done.sse":         {"The model's service sent an empty answer.", true},
	"only_comments.sse":     {"The model's service sent an empty answer.", true},
	"cut_before_text.sse":   {"The model's service broke its answer off.", true},
	"cut_in_call.sse":       {"The model's service broke its answer off.", true},
	"thought_only.sse":      {"The model's service sent an empty answer.", true},
	"error_own_code.json":   {"The model's service reported an error.", true},
	"length_other_name.sse": {"The model reached its output limit before it said anything (max_tokens). No tool was run in this step.", false},
	"garbled.sse":           {"The model's service sent something unreadable.", true},
	"filtered.sse":          {"The model's service stopped the answer before it began (content_filter). No tool was run in this step.", false},
	"page.html":             {"The address of the model's service answers with a web page, not like a model's service. No tool was run in this step.", false},
}

func TestEveryRecordedStreamIsExpected(t *testing.T) {
	files, err := filepath.Glob("testdata/streams/*")
	if err != nil || len(files) < 32 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, f := range files {
		_, yes := answered[filepath.Base(f)]
		if _, no := unanswered[filepath.Base(f)]; yes == no {
			t.Errorf("%s is in no table, or in both", f)
		}
	}
}

func TestStreams(t *testing.T) {
	for name, want := range answered {
		t.Run(name, func(t *testing.T) {
			b := connect(t, fake())
			b.llm.Queue(fakellm.Raw{Body: stream(t, name)})
			r, text, notes, err := b.ask(t, hi)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(want, r); d != "" {
				t.Error(d)
			}
			if text != want.Text || len(notes) != 0 || len(b.llm.Requests()) != 1 {
				t.Errorf("streamed %q, notes %q, %d requests", text, notes, len(b.llm.Requests()))
			}
		})
	}
}

func TestStreamsWithoutAnAnswer(t *testing.T) {
	for name, want := range unanswered {
		t.Run(name, func(t *testing.T) {
			b := connect(t, fake())
			b.llm.Queue(fakellm.Raw{Body: stream(t, name)}, fakellm.Raw{Body: stream(t, "text.sse")})
			r, text, notes, err := b.ask(t, hi)
			if !want.again {
				if err == nil || !strings.HasPrefix(err.Error(), want.say) || len(b.llm.Requests()) != 1 || text != "" {
					t.Fatalf("error %v, %d requests, streamed %q", err, len(b.llm.Requests()), text)
				}
				return
			}
			if err != nil || r.Text != "Hello" || text != "Hello" {
				t.Fatalf("after the second attempt: %+v, streamed %q, %v", r, text, err)
			}
			if len(notes) != 1 || notes[0] != want.say+" Trying again in 1 s." || len(b.waited) != 1 {
				t.Errorf("notes %q, waited %v", notes, b.waited)
			}
		})
	}
}

// TestConnectionCut: what was streamed stands, and nobody is asked again.
func TestConnectionCut(t *testing.T) {
	b := connect(t, fake())
	whole := stream(t, "finish_stop_with_calls.sse")
	b.llm.Queue(fakellm.Raw{Body: whole[:strings.Index(whole, `"finish_reason":"stop"`)-30], Cut: true})
	r, text, _, err := b.ask(t, hi)
	if err != nil || !r.Cut || r.Text != "Hello" || text != "Hello" || r.Calls != nil || len(b.llm.Requests()) != 1 {
		t.Fatalf("%+v, %v, %d requests", r, err, len(b.llm.Requests()))
	}
	// Before the first text it is asked again.
	b.llm.Queue(fakellm.Raw{Body: stream(t, "cut_in_call.sse"), Cut: true}, fakellm.Raw{Body: stream(t, "text.sse")})
	if r, _, notes, err := b.ask(t, hi); err != nil || r.Text != "Hello" || len(notes) != 1 {
		t.Fatalf("%+v, %v, notes %q", r, err, notes)
	}
	b.llm.Queue(fakellm.Raw{Body: stream(t, "completion.json")[:20], Cut: true})
	if _, _, notes, err := b.ask(t, hi); err != nil || len(notes) != 1 || !strings.HasPrefix(notes[0], "The model's service broke its answer off.") {
		t.Fatalf("%v, notes %q", err, notes)
	}
}

// slow answers in pieces, each after a while.
type slow struct {
	pieces []string
	pause  time.Duration
	hang   bool // after the last piece
}

func (s slow) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Request: r, Body: io.NopCloser(&slowBody{s, r.Context()})}, nil
}

type slowBody struct {
	slow
	ctx context.Context
}

func (b *slowBody) Read(p []byte) (int, error) {
	if len(b.pieces) == 0 {
		if b.hang {
			<-b.ctx.Done()
			return 0, b.ctx.Err()
		}
		return 0, io.EOF
	}
	time.Sleep(b.pause)
	if err := b.ctx.Err(); err != nil {
		return 0, err
	}
	n := copy(p, b.pieces[0])
	if b.pieces[0] = b.pieces[0][n:]; b.pieces[0] == "" {
		b.pieces = b.pieces[1:]
	}
	return n, nil
}

// TestSilence: a service that stops sending is given up; one that is slow, but goes on, is waited for. (Time is the bubble's.)
func TestSilence(t *testing.T) {
	pieces := strings.SplitAfter(strings.TrimSuffix(stream(t, "text.sse"), "\n\n"), "\n\n")
	for _, c := range []struct {
		slow
		want agent.Reply
		fail string
	}{
		{slow{slices.Clone(pieces), 4 * time.Minute, false}, answered["text.sse"], ""},
		{slow{slices.Clone(pieces[:3]), time.Second, true}, agent.Reply{Text: "Hello", Cut: true}, ""},
		{slow{nil, 0, true}, agent.Reply{}, "The model's service went silent. No tool was run in this step. Send your message again to retry."},
	} {
		synctest.Test(t, func(t *testing.T) {
			client, err := New(Config{BaseURL: "http://llm.test/v1", Model: "m", HTTPClient: &http.Client{Transport: c.slow}, MaxRetries: -1})
			if err != nil {
				t.Fatal(err)
			}
			r, err := client.Reply(t.Context(), hi, nil, nil)
			if d := cmp.Diff(c.want, r); d != "" || err == nil && c.fail != "" || err != nil && err.Error() != c.fail {
				t.Errorf("%v %s", err, d)
			}
		})
	}
}

// TestNoStreaming: a service that answers only in one piece is asked for that.
func TestNoStreaming(t *testing.T) {
	for _, body := range []string{"", stream(t, "only_done.sse")} {
		b := connect(t, fake())
		b.llm.Queue(fakellm.Raw{Body: body}) // the script gives the next
		r, text, _, err := b.ask(t, hi)
		if err != nil || r.Text != "You said: hi" || text != r.Text {
			t.Fatalf("%+v, %q, %v", r, text, err)
		}
		if second := string(b.llm.Requests()[1].Body); strings.Contains(second, `"stream"`) || strings.Contains(second, "stream_options") {
			t.Errorf("the request after %q streams: %s", body, second)
		}
	}
}

func TestWrongContentType(t *testing.T) {
	b := connect(t, fake())
	b.llm.Queue(fakellm.Raw{Header: map[string]string{"Content-Type": "text/html"}, Body: stream(t, "text.sse")},
		fakellm.Raw{Header: map[string]string{"Content-Type": "text/event-stream"}, Body: stream(t, "completion.json")})
	for range 2 {
		if r, _, _, err := b.ask(t, hi); err != nil || r.Text != "Hello" {
			t.Errorf("%+v, %v", r, err)
		}
	}
}

// TestStopped: when the context ends, its cause comes with what was streamed.
func TestStopped(t *testing.T) {
	b := connect(t, fake())
	b.llm.Queue(fakellm.Raw{Body: strings.Join(strings.Split(stream(t, "text.sse"), "\n\n")[:2], "\n\n") + "\n\n", Hang: true})
	ctx, cancel := context.WithCancelCause(t.Context())
	r, err := b.Reply(ctx, hi, nil, func(d agent.Delta) { cancel(http.ErrAbortHandler) })
	if !errors.Is(err, http.ErrAbortHandler) || !r.Cut || r.Text != "Hel" {
		t.Fatalf("%+v, %v", r, err)
	}
	// What had come whole by then is not lost.
	b.llm.Queue(fakellm.Raw{Body: stream(t, "completion.json")})
	ctx, cancel = context.WithCancelCause(t.Context())
	if r, err := b.Reply(ctx, hi, someTools, func(agent.Delta) { cancel(http.ErrAbortHandler) }); err != nil || r.Cut || len(r.Calls) != 1 {
		t.Fatalf("%+v, %v", r, err)
	}
}

// TestTooMuchToCarryAlong: what a service wants back is left out where it would swell every later request.
func TestTooMuchToCarryAlong(t *testing.T) {
	b := connect(t, fake())
	b.llm.Queue(fakellm.Raw{Body: `{"choices":[{"message":{"content":"Hello","signature":"` + strings.Repeat("x", maxExtra) + `"},"finish_reason":"stop"}]}`})
	if r, _, _, err := b.ask(t, hi); err != nil || r.Text != "Hello" || r.Extra != nil {
		t.Fatalf("%d bytes, %v", len(r.Extra), err)
	}
}
