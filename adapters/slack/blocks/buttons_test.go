package blocks

import (
	"slices"
	"strings"
	"testing"

	"github.com/slack-go/slack"

	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/render"
	"github.com/nodhq/nod/core/text"
	"github.com/nodhq/nod/tests/suites/conformance/looks"
)

func TestParseAction(t *testing.T) {
	option := func(v string) slack.OptionBlockObject { return slack.OptionBlockObject{Value: v} }
	for _, c := range []struct {
		in     slack.BlockAction
		choice chat.Choice
		token  string
		asks   bool
	}{
		{slack.BlockAction{ActionID: "nod:deny:3", Value: "ASK1"}, chat.Deny, "ASK1", false},
		{slack.BlockAction{ActionID: "nod:approve_all:1", Value: "all-0a"}, chat.ApproveAll, "all-0a", false},
		{slack.BlockAction{ActionID: "nod:deny:3", BlockID: "4.0a0b0c0d0e:ASK:1"}, chat.Deny, "ASK:1", false}, // of a row of a long list
		{slack.BlockAction{ActionID: "nod:?accept:1", Value: "rev:7"}, chat.Accept, "rev:7", true},
		{slack.BlockAction{ActionID: "nod:more:4:ASK1", SelectedOption: option("deny_reason")}, chat.DenyReason, "ASK1", false},
		{slack.BlockAction{ActionID: "nod:more:4:ASK:1", SelectedOption: option("?allow_server")}, chat.AllowServer, "ASK:1", true},
		{slack.BlockAction{ActionID: "nod:more:4:ASK1", SelectedOption: option("remember")}, chat.Remember, "ASK1", false},
		{slack.BlockAction{ActionID: "nod:more:4:ASK1", SelectedOption: option("?view T1")}, chat.ViewDetail, "T1", true},
		{slack.BlockAction{ActionID: "nod:remember:4:ASK1"}, chat.Remember, "ASK1", false}, // of a message from before it was a line of a menu
		{slack.BlockAction{ActionID: "nod:remember:4:ASK1", Value: "ASK2", SelectedOption: option("allow_once")}, chat.Remember, "ASK1", false},
		{slack.BlockAction{ActionID: "nod:remember:1", Value: "ASK1"}, chat.Remember, "ASK1", false}, // of the details
		{slack.BlockAction{ActionID: "nod:rate:1", Value: "bad T1"}, chat.Bad, "T1", false},
		{slack.BlockAction{ActionID: "nod:open:1", Value: "install:" + rep(192)}, chat.Open, "install:" + rep(192), false},
	} {
		if choice, token, ok := ParseAction(&c.in); !ok || choice != c.choice || token != c.token || AsksFirst(&c.in) != c.asks {
			t.Errorf("%+v: %q %q %v", c.in, choice, token, ok)
		}
	}
	for _, a := range []slack.BlockAction{
		{}, {ActionID: "nod:deny", Value: "ASK1"}, {ActionID: "deny:1", Value: "ASK1"}, {ActionID: "nod:deny:x", Value: "ASK1"}, {ActionID: "nod:deny:1"}, {ActionID: "nod::1", Value: "ASK1"},
		{ActionID: "nod:approve:1", Value: "ASK1"}, {ActionID: "nod:page:next", Value: "1"}, {ActionID: "nod:page", Value: "1"}, {ActionID: "nod:deny:1", Value: rep(65)}, {ActionID: "nod:deny:1", Value: "a b"},
		{ActionID: "nod:deny:1", Value: "ä"}, {ActionID: "nod:more:1:ASK1", Value: "deny"}, {ActionID: "nod:more:1", SelectedOption: option("deny")}, {ActionID: "nod:more:1:ASK1", SelectedOption: option("more")},
		{ActionID: "nod:more:1:a b", SelectedOption: option("deny")}, {ActionID: "nod:more:1:ASK1", SelectedOption: option("deny ")}, {ActionID: "nod:more:1:ASK1", SelectedOption: option("deny a b")}, {ActionID: "nod:more:1:" + rep(65), SelectedOption: option("deny")},
		{ActionID: "nod:rate:1", Value: "deny ASK1"}, {ActionID: "nod:rate:1", Value: "good"}, {ActionID: "nod:rate:x", Value: "good T1"}, {ActionID: "nod:rate:1:T1", Value: "good"},
		{ActionID: "nod:deny:1:ASK1", Value: "ASK1"}, {ActionID: "nod:remember:x:ASK1"}, {ActionID: "nod:open:1", Value: rep(201)},
		{ActionID: "nod:more:1:ASK1", SelectedOption: option("??deny")}, {ActionID: "nodp:do:1", Value: "ASK1"}, {ActionID: "nod:sure:1", Value: "ASK1"}, {ActionID: "nod:cancel:2", Value: "ASK1"},
	} {
		if choice, token, ok := ParseAction(&a); ok || choice != "" || token != "" {
			t.Errorf("%+v: %q %q", a, choice, token)
		}
	}
}

func FuzzParseAction(f *testing.F) {
	f.Add("nod:deny:3", "ASK1", "")
	f.Add("nod:more:1:ASK1", "", "deny_reason")
	f.Add("nod:remember:1:ASK1", "", "")
	f.Add("nod:page:next", "2", "")
	f.Fuzz(func(t *testing.T, id, value, option string) {
		a := slack.BlockAction{ActionID: id, Value: value, SelectedOption: slack.OptionBlockObject{Value: option}}
		choice, token, ok := ParseAction(&a)
		if !ok {
			if choice != "" || token != "" {
				t.Fatalf("%q %q, though it is none", choice, token)
			}
			return
		}
		if !text.IsChoice(choice) || !tokenForm.MatchString(token) && (choice != chat.Open || !viewForm.MatchString(token)) || !strings.HasPrefix(id, "nod:") {
			t.Fatalf("%q %q of %+v", choice, token, a)
		}
	})
}

// However many choices stand behind ⋯: all of them are to be had, in menus of two to five or as buttons of their own.
func TestMenus(t *testing.T) {
	for n := range 14 {
		a := cardOf(1, looks.HelloArgs)
		a.More = nil
		for i := range n {
			a.More = append(a.More, render.Choice{Choice: chat.Extend, Token: "ASK1", Label: strings.Repeat("l", i)})
		}
		m := render.Message{Blocks: []render.Block{a}}
		p := EncodeMessage(m)
		if err := check(p); err != nil {
			t.Errorf("%d: %v", n, err)
		}
		if got, want := reachable(t, m, p), looks.Offered(m); !slices.Equal(got, want) {
			t.Errorf("%d: %v, want %v", n, got, want)
		}
	}
	a := cardOf(1, looks.HelloArgs) // all that there can be, of two asks
	for i := range a.More {
		a.More[i].Token = rep(64)
	}
	a.More = append(a.More, moreOf("ASK2")...)
	m := render.Message{Blocks: []render.Block{a}}
	p := EncodeMessage(m)
	if err := check(p); err != nil {
		t.Error(err)
	}
	if got, want := reachable(t, m, p), looks.Offered(m); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// A token that could not be read back gives no button.
func TestATokenThatIsTooLong(t *testing.T) {
	long := render.Choice{Choice: chat.Undo, Token: rep(maxToken + 1), Label: "Undo"}
	m := render.Message{Blocks: []render.Block{render.Ask{Header: "h", Choices: []render.Choice{long}, More: []render.Choice{long, long}}}}
	p := EncodeMessage(m)
	if err := check(p); err != nil || len(pressable(t, p)) != 0 {
		t.Errorf("%v %v", pressable(t, p), err)
	}
}
