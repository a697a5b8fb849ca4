package talk_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/nodhq/nod/core/agent/talk"
	. "github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/tests/script"
)

func TestTrimExactly(t *testing.T) {
	var all []Utterance
	for i := range 4 {
		all = append(all, Utterance{Role: RoleUser, Text: fmt.Sprint("q", i)}, Utterance{Role: RoleAssistant, Text: fmt.Sprint("a", i)})
	}
	each := talk.Tokens(all[:1])
	for budget, want := range map[int]int{8 * each: 8, 8*each - 1: 6, 6 * each: 6, 5 * each: 4, 4 * each: 4, 3 * each: 2, 1: 2, -1: 8} {
		kept, left := talk.Trim(all, budget)
		if len(kept) != want || left != 8-want || kept[0].Role != RoleUser {
			t.Errorf("budget %d: kept %d from %s, left %d, want %d", budget, len(kept), kept[0].Text, left, want)
		}
	}
	if kept, left := talk.Trim(all[1:2], 1); len(kept) != 1 || left != 0 {
		t.Errorf("without any question: kept %d, left %d", len(kept), left)
	}
	if kept, left := talk.Trim(nil, 1); len(kept) != 0 || left != 0 {
		t.Errorf("of nothing: kept %d, left %d", len(kept), left)
	}
}

func TestTalk(t *testing.T) {
	quoted := script.Says("m3", "three", script.Ana)
	quoted.Context = []chat.Quote{{Text: "what somebody else wrote"}}
	x := script.New(t).Put(script.Says("m0", "hi", script.Ben), script.Says("m1", "one", script.Ana), script.Says("m2", "two", script.Ana), quoted, script.Says("m4", "four", script.Ana)).Answer()
	id := x.Session.Turn.ID
	x.Put(Replied{Turn: id, Calls: []Proposal{script.Proposes("c1", "w", `{}`)}}, script.Rules("c1", "a1", permission.Forbid, permission.Write)).
		Put(Replied{Turn: id, Step: 1, Text: "Hm", Cut: true, Calls: []Proposal{script.Proposes("c2", "w", `{"n":2}`)}})
	var said []string
	for _, u := range talk.Of(x.Session) {
		line := fmt.Sprintf("%s: %s", u.Role, u.Text)
		for _, c := range u.Calls {
			line += fmt.Sprintf(" [%s %s]", c.ID, c.Result.Text)
		}
		said = append(said, line)
	}
	want := []string{"user: hi", "assistant: Well.", "user: one\n\ntwo", "user: three\n\nfour", "assistant:  [c1 not allowed]",
		"assistant: Hm\n\n(this reply was cut short) [c2 No result yet.]"}
	if !slices.Equal(said, want) {
		t.Errorf("the model reads %q, want %q", said, want)
	}
	x.Forbids("c2").Put(Replied{Turn: id, Step: 2})
	if all := talk.Of(x.Session); len(all) != 6 {
		t.Errorf("an empty reply is read as %+v", all[len(all)-1])
	}
}

func TestTrimKeepsTheLastQuestion(t *testing.T) {
	var all []Utterance
	for i := range 10 {
		all = append(all, Utterance{Role: RoleUser, Text: fmt.Sprintf("%0300d", i)}, Utterance{Role: RoleAssistant, Text: fmt.Sprintf("%0300d", i)})
	}
	kept, left := talk.Trim(all, 500)
	if left == 0 || len(kept)+left != len(all) || kept[0].Role != RoleUser {
		t.Errorf("kept %d, left %d, first %v", len(kept), left, kept[0].Role)
	}
	if kept, _ := talk.Trim(all, 1); kept[0].Text != all[18].Text || len(kept) != 2 {
		t.Errorf("the last question and what follows it have to stay: kept %d", len(kept))
	}
	if kept, left := talk.Trim(all, 0); left != 0 || len(kept) != len(all) {
		t.Error("no budget means all")
	}
}

// TestTrimCutsTheLongestResults: where the last question and its results are too much, the longest results are cut, and say so.
func TestTrimCutsTheLongestResults(t *testing.T) {
	result := func(n int) TalkCall { return TalkCall{Result: Result{Text: strings.Repeat("x", n)}} }
	all := []Utterance{
		{Role: RoleUser, Text: "q"},
		{Role: RoleAssistant, Calls: []TalkCall{result(40_000), result(9_000), {Result: Result{Structured: json.RawMessage(`{"a":"` + strings.Repeat("y", 30_000) + `"}`)}}, {Result: Result{Text: "t", Structured: json.RawMessage(`{}`)}}}},
	}
	kept, left := talk.Trim(all, 10_000)
	if got := talk.Tokens(kept); left != 0 || got > 10_100 || got < 9_900 {
		t.Errorf("%d tokens of 10,000, %d left out", got, left)
	}
	calls := kept[1].Calls
	for _, i := range []int{0, 2} {
		if text := calls[i].Result.Text; calls[i].Result.Structured != nil || !strings.HasSuffix(text, "bytes of this result left out: the conversation is too long for the model]") {
			t.Errorf("result %d ends %q", i, text[max(0, len(text)-100):])
		}
	}
	if !reflect.DeepEqual(calls[1], all[1].Calls[1]) || !reflect.DeepEqual(calls[3], all[1].Calls[3]) || len(all[1].Calls[0].Result.Text) != 40_000 {
		t.Error("what was short enough changed, or the log did")
	}
	if kept, _ := talk.Trim(all, 1); kept[1].Calls[0].Result.Size() < talk.LeastResult || kept[1].Calls[3].Result.Text != "t" {
		t.Errorf("with no room at all: %q", kept[1].Calls[0].Result.Text)
	}
}
