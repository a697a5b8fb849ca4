package openai

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/tests/standins/fakellm"
)

// TestTwoSteps is a turn against the strict service: two calls at once, then words about their results.
func TestTwoSteps(t *testing.T) {
	b := connect(t, fake())
	talk := []turn.Utterance{{Role: turn.RoleUser, Name: "Ana", Text: "read a.txt and list files"}}
	r, _, _, err := b.ask(t, talk)
	if err != nil || len(r.Calls) != 2 || r.Calls[0].Server != "workbench" || r.Calls[0].Name != "read_file" || string(r.Calls[0].Args) != `{"path":"a.txt"}` || r.Calls[1].Name != "list_directory" {
		t.Fatalf("%+v, %v", r, err)
	}
	if r.Usage.Input == 0 || r.Usage.Output == 0 {
		t.Errorf("usage %+v", r.Usage)
	}
	u := turn.Utterance{Role: turn.RoleAssistant, Text: r.Text, Extra: r.Extra}
	for i, c := range r.Calls {
		u.Calls = append(u.Calls, turn.TalkCall{ID: turn.CallID(fmt.Sprintf("nod_%d", i)), Server: c.Server, Name: c.Name, Args: c.Args, Extra: c.Extra,
			Result: turn.Result{Text: []string{"hello", "Tool execution denied by user."}[i], IsError: i == 1}})
	}
	r, text, _, err := b.ask(t, append(talk, u))
	if want := "workbench__read_file gave: hello\n\nworkbench__list_directory was denied, so I did not do it."; err != nil || r.Text != want || text != want || r.Calls != nil {
		t.Fatalf("%+v, %v", r, err)
	}
}

// TestPicturesOfTools stand behind all results of their reply, as services want it; where one wants no person's words there, or no pictures, it
// gets none.
func TestPicturesOfTools(t *testing.T) {
	picture := &turn.Picture{Type: "image/png", Data: []byte("the picture")}
	call := func(id string, pictures ...*turn.Picture) turn.TalkCall {
		return turn.TalkCall{ID: turn.CallID(id), Server: "workbench", Name: "read_file", Result: turn.Result{Text: "[image image/png, 11 bytes]", Pictures: pictures}}
	}
	talk := []turn.Utterance{hi[0], {Role: turn.RoleAssistant, Calls: []turn.TalkCall{call("a", picture, &turn.Picture{Type: "image/png", Key: "kept no longer"}), call("b")}}}
	refused := fakellm.Raw{Status: 400, Unchecked: true, Body: `{"error":{"message":"Expected last role User or Assistant: unexpected role 'user' after role 'tool'"}}`}
	b := connect(t, fake())
	b.llm.Queue(refused)
	if r, _, _, err := b.ask(t, talk); err != nil || r.Text == "" {
		t.Fatalf("%+v, %v", r, err)
	}
	seen := b.llm.Requests()
	if len(seen) != 2 || bytes.Count(seen[0].Body, []byte("data:image/png;base64,dGhlIHBpY3R1cmU=")) != 1 || !bytes.Contains(seen[0].Body, []byte("read_file returned 1 picture, shown below")) ||
		bytes.Contains(seen[1].Body, []byte("data:image")) || bytes.Contains(seen[1].Body, []byte("shown below")) || !bytes.Contains(seen[1].Body, []byte("[image image/png, 11 bytes]")) {
		t.Errorf("%d requests: %s", len(seen), seen[0].Body)
	}
}
