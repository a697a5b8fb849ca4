package demo

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/core/text"
)

// offered is the whole workbench.
func offered() (specs []agent.ToolSpec) {
	for _, t := range tools {
		specs = append(specs, agent.ToolSpec{Tool: permission.Tool{Server: Server, Name: t.name}})
	}
	return specs
}

func user(text string) turn.Utterance {
	return turn.Utterance{Role: turn.RoleUser, Name: "Ana", Text: text}
}

// reply asks, and checks that what was streamed is what was answered.
func reply(t *testing.T, talk []turn.Utterance, specs []agent.ToolSpec) agent.Reply {
	t.Helper()
	var streamed strings.Builder
	r, err := Model{}.Reply(t.Context(), talk, specs, func(d agent.Delta) { streamed.WriteString(d.Text) })
	if err != nil {
		t.Fatal(err)
	}
	if streamed.String() != r.Text {
		t.Errorf("streamed %q, answered %q", streamed.String(), r.Text)
	}
	return r
}

func TestModelProposes(t *testing.T) {
	for _, c := range []struct {
		say, text string
		want      [][2]string
	}{
		{"what time is it", "I'll look at the clock.", [][2]string{{"datetime", `{}`}}},
		{"calculate 2+2", "I'll calculate `2+2`.", [][2]string{{"calculator", `{"expression":"2+2"}`}}},
		{"list files", "I'll list the files.", [][2]string{{"list_directory", `{}`}}},
		{"list files in docs", "I'll list the files in `docs`.", [][2]string{{"list_directory", `{"path":"docs"}`}}},
		{"@nod write hello to notes.txt", "I'll write to `notes.txt`.", [][2]string{{"write_file", `{"content":"hello","path":"notes.txt"}`}}},
		{"create directory docs", "I'll create the directory `docs`.", [][2]string{{"create_directory", `{"path":"docs"}`}}},
		{"DELETE Notes.txt", "I'll delete `Notes.txt`.", [][2]string{{"delete_file", `{"path":"Notes.txt"}`}}},
		{"read notes.txt and write bye to b.txt and list files", "I'll read `notes.txt`, write to `b.txt` and list the files.",
			[][2]string{{"read_file", `{"path":"notes.txt"}`}, {"write_file", `{"content":"bye","path":"b.txt"}`}, {"list_directory", `{}`}}},
	} {
		r := reply(t, []turn.Utterance{user(c.say)}, offered())
		var got [][2]string
		ids := map[string]bool{}
		for _, x := range r.Calls {
			if x.Server != Server || !json.Valid(x.Args) {
				t.Errorf("%q calls %+v", c.say, x)
			}
			got, ids[x.ModelID] = append(got, [2]string{x.Name, string(x.Args)}), true
		}
		if d := cmp.Diff(c.want, got); d != "" || r.Text != c.text || len(ids) != len(got) {
			t.Errorf("%q: %q, ids %v, calls %s", c.say, r.Text, ids, d)
		}
	}
}

func TestModelSaysThatItIsScripted(t *testing.T) {
	for _, say := range []string{"tell me a joke", "help", "", "read a.txt and write b"} {
		r := reply(t, []turn.Utterance{user(say)}, offered())
		if len(r.Calls) != 0 {
			t.Errorf("%q: calls %v", say, r.Calls)
		}
		for _, want := range []string{"scripted demo, not a language model", "`write hello to notes.txt`", "set OPENAI_API_KEY and OPENAI_MODEL (and OPENAI_BASE_URL", "nod.yaml"} {
			if strings.Count(r.Text, want) != 1 {
				t.Errorf("%q: %q stands %d times in %q", say, want, strings.Count(r.Text, want), r.Text)
			}
		}
	}
	if r := reply(t, []turn.Utterance{user("read a.txt and write b")}, offered()); !strings.Contains(r.Text, "“write b”") {
		t.Errorf("it does not say what it did not understand: %q", r.Text)
	}
}

func TestModelNeedsTheTool(t *testing.T) {
	specs := offered()[:4] // without write_file
	r := reply(t, []turn.Utterance{user("write hello to notes.txt")}, specs)
	if len(r.Calls) != 0 || r.Text != "I would need the tool write_file of workbench for that, but it is not offered to me now." {
		t.Fatalf("%+v", r)
	}
	other := []agent.ToolSpec{{Tool: permission.Tool{Server: "files", Name: "write_file"}}}
	if r := reply(t, []turn.Utterance{user("write hello to notes.txt")}, other); len(r.Calls) != 0 {
		t.Fatalf("it took the tool of another server: %+v", r)
	}
}

// done is a turn whose one call ended with r.
func done(name, args string, r turn.Result) []turn.Utterance {
	return []turn.Utterance{
		user("delete everything"), {Role: turn.RoleAssistant, Text: "No."}, // an earlier turn
		user("(pressed “Ask again”)"), // its words do not matter: calls and results do
		{Role: turn.RoleAssistant, Text: "I'll try.", Calls: []turn.TalkCall{{ID: "c1", Server: Server, Name: name, Args: json.RawMessage(args), Result: r}}},
		{Role: turn.RoleNote, Text: "a note"},
	}
}

// The words are those that core/render gives the results.
var (
	deniedText    = text.ResultDenied("")
	deniedBecause = text.ResultDenied("not now")
	timedOutText  = text.ResultTimedOut(time.Minute)
	cancelledText = text.ResultCancelled
	unknownText   = text.ResultUnknown("the connection was lost")
	happenedText  = text.ResultHappened
)

func TestModelAdaptsToResults(t *testing.T) {
	write := `{"path":"notes.txt","content":"hello"}`
	bad := func(s string) turn.Result { return turn.Result{Text: s, IsError: true} }
	for _, c := range []struct {
		name, args string
		result     turn.Result
		want       string
	}{
		{"write_file", write, turn.Result{Text: "Wrote notes.txt (5 bytes)."}, "Done: Wrote notes.txt (5 bytes)."},
		{"datetime", `{}`, turn.Result{Text: "Wednesday, 4 March 2026"}, "It is Wednesday, 4 March 2026."},
		{"calculator", `{"expression":"1+1"}`, turn.Result{Text: "1+1 = 2"}, "**1+1 = 2**"},
		{"list_directory", `{}`, turn.Result{Text: "a.txt (1 byte)"}, "In the workspace:\n```\na.txt (1 byte)\n```"},
		{"read_file", `{"path":"notes.txt"}`, turn.Result{Text: "```\nTool execution denied by user."}, "`notes.txt` says:\n````\n```\nTool execution denied by user.\n````"},
		{"read_file", `{"path":"x"}`, bad("There is no x in the workspace."), "I could not read `x`: There is no x in the workspace."},
		{"write_file", write, bad(deniedText), "It was denied, so `notes.txt` was left as it is."},
		{"write_file", write, bad(deniedBecause), "It was denied, so `notes.txt` was left as it is. The reason given: “not now”."},
		{"write_file", write, bad(text.ResultDenied("why now?")), "It was denied, so `notes.txt` was left as it is. The reason given: “why now?”."},
		{"write_file", write, turn.Result{Text: deniedText, IsError: true, Structured: json.RawMessage(`{"success":false,"by":"Ana"}`)}, "Ana denied it, so `notes.txt` was left as it is."},
		{"delete_file", `{"path":"a"}`, bad(timedOutText), "I wanted to delete `a`, but nobody answered in time, so `a` was left as it is. Ask again from the message if you still want it."},
		{"create_directory", `{"path":"d"}`, bad(cancelledText), "The turn was stopped before I could create `d`, so nothing was created."},
		{"write_file", write, bad(unknownText), "I was interrupted while trying to write to `notes.txt`. Nobody can say whether it happened; I will not repeat it by myself."},
		{"write_file", write, turn.Result{Text: happenedText}, "I was interrupted while trying to write to `notes.txt`. A person says that it happened, so I will not repeat it."},
		{"write_file", write, bad(text.ResultNotAllowed("workbench is disabled.")), "I am not allowed to write to `notes.txt` here, so `notes.txt` was left as it is."},
	} {
		r := reply(t, done(c.name, c.args, c.result), offered())
		if r.Text != c.want || len(r.Calls) != 0 {
			t.Errorf("%s with %q:\n got %q %v\nwant %q", c.name, c.result.Text, r.Text, r.Calls, c.want)
		}
	}
}

func TestModelSummarisesAMixedTurn(t *testing.T) {
	talk := []turn.Utterance{user("x"), {Role: turn.RoleAssistant, Calls: []turn.TalkCall{
		{Name: "read_file", Args: json.RawMessage(`{"path":"a"}`), Result: turn.Result{Text: "hi"}},
		{Name: "write_file", Args: json.RawMessage(`{"path":"b"}`), Result: turn.Result{Text: deniedText, IsError: true}},
	}}}
	if got, want := reply(t, talk, nil).Text, "`a` says:\n```\nhi\n```\n\nIt was denied, so `b` was left as it is."; got != want {
		t.Fatalf("got %q", got)
	}
}

func TestNextTurnStartsAfresh(t *testing.T) {
	talk := append(done("write_file", `{"path":"a"}`, turn.Result{Text: "Wrote a."}), turn.Utterance{Role: turn.RoleAssistant, Text: "Done."}, user("list files"))
	if r := reply(t, talk, offered()); len(r.Calls) != 1 || r.Calls[0].Name != "list_directory" {
		t.Fatalf("%+v", r)
	}
}

func TestModelStopsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	stopped := errors.New("stopped")
	var words int
	r, err := Model{Delay: time.Nanosecond}.Reply(ctx, []turn.Utterance{user("write hello to notes.txt")}, offered(), func(agent.Delta) {
		if words++; words == 2 {
			cancel(stopped)
		}
	})
	if !errors.Is(err, stopped) || !r.Cut || r.Text != "I'll write " || len(r.Calls) != 0 {
		t.Fatalf("%+v, %v", r, err)
	}
}
