package openai

import (
	"fmt"
	"testing"

	"github.com/nodhq/nod/core/agent/turn"
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
