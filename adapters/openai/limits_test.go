package openai

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/tests/standins/fakellm"
)

func strict(s fakellm.Strict) *fakellm.Server {
	return fakellm.New(fakellm.Config{Key: key, Strict: s})
}

// sent are the names of the tools in the last request.
func (b *bench) sent(t *testing.T) (names []string) {
	t.Helper()
	all := b.llm.Requests()
	var body struct {
		Tools []struct{ Function struct{ Name string } }
	}
	if err := json.Unmarshal(all[len(all)-1].Body, &body); err != nil {
		t.Fatal(err)
	}
	for _, tool := range body.Tools {
		names = append(names, tool.Function.Name)
	}
	return names
}

// TestARefusedToolCostsOnlyItself: a service names the tool whose definition it does not take; the others go on.
func TestARefusedToolCostsOnlyItself(t *testing.T) {
	offered := append(slices.Clone(someTools), spec("workbench", "read", `{"type":"object"}`)) // a part of the other's name
	b := connect(t, strict(fakellm.Strict{Dislikes: "workbench__read_file"}))
	for round := range 2 {
		r, err := b.Reply(t.Context(), hi, offered, nil)
		if err != nil || r.Text != "You said: hi" {
			t.Fatalf("%+v, %v", r, err)
		}
		if want := "The model's service refuses the definition of workbench__read_file, so this tool is left out."; !slices.Equal(r.Faults, []string{want}) {
			t.Errorf("round %d: people read %q", round, r.Faults)
		}
		if got := b.sent(t); !slices.Equal(got, []string{"workbench__list_directory", "workbench__read"}) {
			t.Errorf("round %d: offered %q", round, got)
		}
	}
	if n := len(b.llm.Requests()); n != 4 { // refused, refused with simpler schemas, taken; and then it is known
		t.Errorf("%d requests", n)
	}
}

// TestASchemaThatHasToBeSimpler: what made a service take the tools is done at once the next time.
func TestASchemaThatHasToBeSimpler(t *testing.T) {
	b := connect(t, fake())
	b.llm.Queue(fakellm.Raw{Body: stream(t, "text.sse")}) // without a refusal nothing is made simpler
	if _, _, _, err := b.ask(t, hi); err != nil || b.simple.Load() {
		t.Fatal(err)
	}
	b.llm.Queue(fakellm.Raw{Status: 400, Body: `{"error":{"message":"Invalid schema for function 's__t': schema must have type 'object' and not have 'anyOf' at the top level."}}`})
	offered := []agent.ToolSpec{spec("s", "t", `{"type":"object","properties":{"a":{},"b":{}},"anyOf":[{"required":["a"]},{"required":["b"]}]}`)}
	for round := range 2 {
		if r, err := b.Reply(t.Context(), hi, offered, nil); err != nil || len(r.Faults) > 0 {
			t.Fatalf("%+v, %v", r, err)
		}
		all := b.llm.Requests()
		if last := string(all[len(all)-1].Body); len(all) != 3+round || strings.Contains(last, `"anyOf":[{"required":["a"]`) || !strings.Contains(last, "must also satisfy") {
			t.Errorf("round %d: %d requests, the last is %s", round, len(all), last)
		}
	}
	// Where it was a tool that had to go, the others are whole again.
	b = connect(t, strict(fakellm.Strict{Dislikes: "s__u"}))
	for range 2 {
		if r, err := b.Reply(t.Context(), hi, append(offered, spec("s", "u", `{"type":"object"}`)), nil); err != nil || len(r.Faults) != 1 {
			t.Fatalf("%+v, %v", r, err)
		}
	}
	if all := b.llm.Requests(); len(all) != 4 || !strings.Contains(string(all[3].Body), `"anyOf":[{"required":["a"]`) {
		t.Errorf("%d requests, the last is %s", len(all), all[len(all)-1].Body)
	}
}

// TestARefusalThatNamesAPlace: some services give the tool's place instead of its name.
func TestARefusalThatNamesAPlace(t *testing.T) {
	for name, said := range map[string]string{
		"openai": `{"error":{"message":"array schema missing items","param":"tools[1].function.parameters"}}`,
		"both":   `{"error":{"message":"workbench__read_file: array schema missing items","param":"tools[0].function.parameters"}}`,
		"gemini": `[{"error":{"code":400,"message":"* GenerateContentRequest.tools[0].function_declarations[1].parameters.properties[tags].items: missing field.\n","status":"INVALID_ARGUMENT"}}]`,
	} {
		b := connect(t, fake())
		no := fakellm.Raw{Status: 400, Body: said}
		b.llm.Queue(no, no)
		if r, _, _, err := b.ask(t, hi); err != nil || len(r.Faults) != 1 || !slices.Equal(b.sent(t), []string{"workbench__list_directory"}) {
			t.Errorf("%s: %+v, %v: offered %q", name, r, err, b.sent(t))
		}
	}
}

// TestTooManyTools: what a service says is its most is what it gets; what the talk used stays, and every server keeps some.
func TestTooManyTools(t *testing.T) {
	b := connect(t, strict(fakellm.Strict{MaxTools: 4}))
	var many []agent.ToolSpec
	for i := range 6 {
		many = append(many, spec("big", fmt.Sprintf("tool_%d", i), `{"type":"object"}`))
	}
	many = append(many, spec("small", "one", `{"type":"object"}`), spec("small", "two", `{"type":"object"}`))
	talk := []turn.Utterance{hi[0], {Role: turn.RoleAssistant, Calls: []turn.TalkCall{{ID: "c1", Server: "big", Name: "tool_5", Result: turn.Result{Text: "r"}}}}, hi[0]}
	r, err := b.Reply(t.Context(), talk, many, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := b.sent(t); !slices.Equal(got, []string{"big__tool_0", "big__tool_5", "small__one", "small__two"}) && !slices.Equal(got, []string{"big__tool_0", "big__tool_1", "big__tool_5", "small__one"}) {
		t.Errorf("offered %q", got)
	}
	if len(r.Faults) != 1 || !strings.HasPrefix(r.Faults[0], "The model's service takes 4 tools at most, so 4 are left out.") {
		t.Errorf("people read %q", r.Faults)
	}
	if r, err := b.Reply(t.Context(), hi, many[:3], nil); err != nil || len(r.Faults) != 0 || len(b.sent(t)) != 3 {
		t.Errorf("fewer than that: %+v, %v", r, err)
	}
	// Another refusal says nothing of how many.
	for i := range usualMost {
		many = append(many, spec("more", fmt.Sprintf("tool_%d", i), `{"type":"object"}`))
	}
	b = connect(t, fake())
	b.llm.Queue(fakellm.Raw{Status: 400, Body: `{"error":{"message":"tools: wrong schema"}}`})
	if r, err := b.Reply(t.Context(), hi, many, nil); err != nil || len(r.Faults) != 0 || len(b.sent(t)) != len(many) {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestAModelWithoutTools can still talk.
func TestAModelWithoutTools(t *testing.T) {
	b := connect(t, strict(fakellm.Strict{NoTools: true}))
	r, _, _, err := b.ask(t, hi)
	if err != nil || r.Text != "You said: hi" || !slices.Equal(r.Faults, []string{"This model takes no tools: it can only talk."}) {
		t.Errorf("%+v, %v", r, err)
	}
	if r, err := b.Reply(t.Context(), hi, nil, nil); err != nil || len(r.Faults) != 0 {
		t.Errorf("where there are no tools: %+v, %v", r, err)
	}
}

// TestIDsOfCalls: a service gets its own ids back; where they cannot be used, ids that every service takes.
func TestIDsOfCalls(t *testing.T) {
	call := func(ours, theirs string) turn.TalkCall {
		return turn.TalkCall{ID: turn.CallID(ours), ModelID: theirs, Server: "workbench", Name: "read_file", Result: turn.Result{Text: "r"}}
	}
	talk := []turn.Utterance{
		hi[0], {Role: turn.RoleAssistant, Calls: []turn.TalkCall{call("call_a", "functions.read:0"), call("call_b", "abcDEF123")}},
		hi[0], {Role: turn.RoleAssistant, Calls: []turn.TalkCall{call("call_c", "abcDEF123"), call("call_d", "")}}, hi[0],
	}
	for _, c := range []struct {
		strict fakellm.Strict
		talk   []turn.Utterance
		tries  int
	}{
		{fakellm.Strict{}, talk, 1},
		{fakellm.Strict{NineIDs: true}, talk, 1},
		{fakellm.Strict{NineIDs: true}, append(slices.Clone(talk), turn.Utterance{Role: turn.RoleAssistant, Calls: []turn.TalkCall{call("call_e", "callOfAnotherService"), call("call_f", "abc_DE-12")}}, hi[0]), 2},
		{fakellm.Strict{}, append(slices.Clone(talk), turn.Utterance{Role: turn.RoleAssistant, Calls: []turn.TalkCall{call("call_e", strings.Repeat("x", 65))}}, hi[0]), 1},
	} {
		b := connect(t, strict(c.strict))
		if _, _, _, err := b.ask(t, c.talk); err != nil || len(b.llm.Requests()) != c.tries {
			t.Errorf("%+v: %v after %d requests", c.strict, err, len(b.llm.Requests()))
		}
		if all := b.llm.Requests(); strings.Count(string(all[len(all)-1].Body), `"abcDEF123"`) != 2 || strings.Contains(string(all[len(all)-1].Body), strings.Repeat("x", 65)) { // the call and its result
			t.Errorf("the service's own id does not come back once: %s", all[len(all)-1].Body)
		}
	}
}

// TestAnswersWithNothingInThem are asked for again, and then said to be empty.
func TestAnswersWithNothingInThem(t *testing.T) {
	empty := fakellm.Raw{Body: "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\" \\n\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n"}
	b := connect(t, fake())
	b.llm.Queue(empty, empty)
	if r, _, notes, err := b.ask(t, hi); err != nil || r.Text != "You said: hi" || len(notes) != 2 {
		t.Errorf("%+v, %q, %v", r, notes, err)
	}
	b.llm.Queue(empty, empty, empty)
	var m *agent.ModelError
	if _, _, _, err := b.ask(t, hi); !errors.As(err, &m) || m.Say != "The model's service sent an empty answer. No tool was run in this step. Send your message again to retry." {
		t.Errorf("%v", err)
	}
}

// TestThoughtsAreNotText: <think> at the beginning of a text, however it is cut into pieces.
func TestThoughtsAreNotText(t *testing.T) {
	for text, want := range map[string]string{
		"<think>I should say hello.</think>\n\nHello": "Hello",
		" \n<think>\na <b> c\n</think>Hello </think>": "Hello </think>",
		"Hello <think>not a thought</think>":          "Hello <think>not a thought</think>",
		"<thinker> is a word":                         "<thinker> is a word",
		"<thi":                                        "<thi",
		"<think></think>  a":                          "a",
	} {
		for size := 1; size <= len(text); size++ {
			b := connect(t, fake())
			var body strings.Builder
			for from := 0; from < len(text); from += size {
				piece, err := json.Marshal(text[from:min(from+size, len(text))])
				if err != nil {
					t.Fatal(err)
				}
				fmt.Fprintf(&body, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":%s}}]}\n\n", piece)
			}
			body.WriteString("data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n")
			b.llm.Queue(fakellm.Raw{Body: body.String()})
			if r, streamed, _, err := b.ask(t, hi); err != nil || r.Text != want || streamed != want {
				t.Fatalf("%q in pieces of %d: %q, streamed %q, %v", text, size, r.Text, streamed, err)
			}
		}
	}
}

// TestRefusalsOfLength: each service has its own words for a talk that is too long.
func TestRefusalsOfLength(t *testing.T) {
	for _, said := range []string{
		"This model's maximum context length is 8192 tokens.",
		"The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
		"the request exceeds the available context size. try increasing the context size or enable context shift",
		"prompt is too long: 210000 tokens > 200000 maximum",
	} {
		b := connect(t, fake())
		b.llm.Queue(fakellm.Raw{Status: 400, Body: fmt.Sprintf(`{"error":{"message":%q}}`, said)})
		var m *agent.ModelError
		if _, _, _, err := b.ask(t, hi); !errors.As(err, &m) || !m.TooLong {
			t.Errorf("%q: %v", said, err)
		}
	}
	for _, raw := range []fakellm.Raw{status(400), {Body: "data: the context window {\n\n"}} {
		b := connect(t, fake(), func(c *Config) { c.MaxRetries = -1 })
		b.llm.Queue(raw)
		var m *agent.ModelError
		if _, _, _, err := b.ask(t, hi); !errors.As(err, &m) || m.TooLong {
			t.Errorf("another fault: %v", err)
		}
	}
}

// TestStoppedAtItsLimit gives advice that fits; a call that could not be read is asked for again.
func TestStoppedAtItsLimit(t *testing.T) {
	b := connect(t, fake())
	b.llm.Queue(fakellm.Raw{Body: "data: {\"choices\":[{\"index\":0,\"delta\":{\"reasoning\":\"hm\"},\"finish_reason\":\"length\"}]}\n\ndata: [DONE]\n\n"})
	if _, _, _, err := b.ask(t, hi); err == nil || err.Error() != "The model reached its output limit before it said anything (length). No tool was run in this step. Ask for less at once, or let whoever runs the model's service raise the limit." {
		t.Error(err)
	}
	b.llm.Queue(fakellm.Raw{Status: 400, Body: `{"error":{"message":"Failed to call a function.","code":"tool_use_failed"}}`})
	if r, _, _, err := b.ask(t, hi); err != nil || r.Text != "You said: hi" {
		t.Errorf("%+v, %v", r, err)
	}
}
