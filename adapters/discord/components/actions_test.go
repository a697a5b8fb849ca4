package components

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/render"
	"github.com/nodhq/nod/core/text"
	"github.com/nodhq/nod/tests/suites/conformance/looks"
)

func TestParseCustomID(t *testing.T) {
	for _, c := range []struct {
		id     string
		values []string
		choice chat.Choice
		token  string
	}{
		{"nod:deny:ASK1", nil, chat.Deny, "ASK1"},
		{"nod:deny:ASK1 2", nil, chat.Deny, "ASK1"},
		{"nod:approve_all:all-0a:x", nil, chat.ApproveAll, "all-0a:x"},
		{"nod:more:ASK1", []string{"deny_reason ASK1"}, chat.DenyReason, "ASK1"},
		{"nod:more:ASK1 1795269780", []string{"edit ASK2 3"}, chat.Edit, "ASK2"},
		{"nod:more:ASK1", []string{"?allow_server ASK1"}, chat.AllowServer, "ASK1"},
		{"ask:allow_session:ASK1 2", nil, chat.AllowSession, "ASK1"},
		{"sure::answer:ASK1", nil, chat.Answer, "ASK1"},
		{"sure:900000000000000009:answer:ASK1", nil, chat.Answer, "ASK1"},
		{"in:900000000000000001:accept:ASK1", nil, chat.Accept, "ASK1"},
	} {
		if choice, token, ok := parseCustomID(c.id, c.values); !ok || choice != c.choice || token != c.token {
			t.Errorf("%+v: %q %q %v", c, choice, token, ok)
		}
	}
	for _, c := range []struct {
		id     string
		values []string
	}{
		{"", nil}, {"nod:deny", nil}, {"deny:ASK1", nil}, {"nod:deny:", nil}, {"nod::ASK1", nil}, {"nod:approve:ASK1", nil}, {"nod:deny:" + rep(65), nil}, {"nod:deny:a b", nil}, {"nod:deny:a 1 2", nil},
		{"nod:deny:ä", nil}, {"nod:deny:ASK1\n", nil}, {"xnod:deny:ASK1", nil}, {"nod:deny:ASK1", []string{"deny ASK1"}}, {"nod:more:ASK1", nil}, {"nod:more:ASK1", []string{}},
		{"nod:more:ASK1", []string{"deny"}}, {"nod:more:ASK1", []string{"deny ASK1", "edit ASK1"}}, {"nod:more:ASK1", []string{"more ASK1"}}, {"nod:more:ASK1", []string{"approve ASK1"}}, {"nod:more:ASK1", []string{"deny a b"}},
		{"form:edit:ASK1", nil}, {"nod:DENY:ASK1", nil}, {"ask:more:ASK1", []string{"deny ASK1"}}, {"sure:deny:ASK1", nil}, {"sure:0:deny:ASK1", nil}, {"sure:x:deny:ASK1", nil}, {"in::accept:ASK1", nil},
		{"in:x:accept:ASK1", nil}, {"nod:more:ASK1", []string{"??deny ASK1"}}, {"nod:cancel:ASK1", nil}, {"nodp:d:0: tok =v", nil},
	} {
		if choice, token, ok := parseCustomID(c.id, c.values); ok || choice != "" || token != "" {
			t.Errorf("%+v: %q %q", c, choice, token)
		}
	}
}

func FuzzParseCustomID(f *testing.F) {
	f.Add("nod:deny:ASK1 2", "")
	f.Add("nod:more:ASK1", "deny_reason ASK1")
	f.Fuzz(func(t *testing.T, id, value string) {
		for _, values := range [][]string{nil, {value}} {
			choice, token, ok := parseCustomID(id, values)
			if !ok {
				if choice != "" || token != "" {
					t.Fatalf("%q %q, though it is none", choice, token)
				}
				continue
			}
			if !text.IsChoice(choice) || !tokenForm.MatchString(token) || !slices.ContainsFunc([]string{"nod:", "ask:", "sure:", "in:"}, func(s string) bool { return strings.HasPrefix(id, s) }) || (values != nil) != strings.HasPrefix(id, "nod:more:") {
				t.Fatalf("%q %q of %q %q", choice, token, id, values)
			}
		}
	})
}

// However many choices a card has, in front and behind More: all of them are to be had, and a line of its own needs no select.
func TestChoicesOfACard(t *testing.T) {
	for _, n := range []int{0, 1, 2, 5, 24, 25, 26, 59} {
		for front := range 8 {
			a := cardOf(1, looks.HelloArgs)
			a.More, a.Choices = nil, nil
			for i := range n {
				a.More = append(a.More, render.Choice{Choice: chat.Extend, Token: "ASK1", Label: strings.Repeat("l", i)})
			}
			for range front {
				a.Choices = append(a.Choices, looks.Button(chat.AllowOnce, "ASK1", text.LabelAllowOnce))
			}
			m := render.Message{Blocks: []render.Block{a}}
			p := encode(m, nil)
			if err := check(p); err != nil {
				t.Errorf("%d, %d: %v", front, n, err)
			}
			if got, want := pressable(t, p), looks.Offered(m); !slices.Equal(got, want) {
				t.Errorf("%d, %d: %v, want %v", front, n, got, want)
			}
			if s := dump(p); n == 1 && front%maxRow != 0 && strings.Contains(s, "▾") {
				t.Errorf("a select for one line:\n%s", s)
			}
		}
	}
}

// What could not be read back is not drawn.
func TestChoicesThatSayNothing(t *testing.T) {
	cs := []render.Choice{{Choice: chat.Deny, Label: "no token"}, {Choice: "approve", Token: "x", Label: "no choice"}, {Choice: chat.Deny, Token: "a b", Label: "no token's form"}, {Choice: chat.Deny, Token: rep(65), Label: "too long"}, {Token: "x", Label: "nothing"}}
	p := encode(render.Message{Blocks: []render.Block{render.Note{Choices: cs}, render.Ask{Choices: cs, More: cs}}, Choices: cs}, nil)
	if err := check(p); err != nil || len(clicksOn(p)) != 0 {
		t.Errorf("%v, %v", clicksOn(p), err)
	}
}

// Side buttons go into one select where they are many; the way back is the same.
func TestManySideButtons(t *testing.T) {
	for _, n := range []int{1, 5, 6, 25, 26, 60} {
		var note render.Note
		for range n {
			note.Choices = append(note.Choices, looks.Button(chat.Revoke, "G1", text.LabelRevoke))
		}
		m := render.Message{Blocks: []render.Block{note}}
		p := encode(m, nil)
		if err := check(p); err != nil {
			t.Errorf("%d: %v", n, err)
		}
		if got, want := pressable(t, p), looks.Offered(m); !slices.Equal(got, want) {
			t.Errorf("%d: %v", n, got)
		}
		if got := strings.Contains(dump(p), "▾"); got != (n > maxRow) {
			t.Errorf("%d: a select: %v", n, got)
		}
	}
}

// Where the components of a message are short, side buttons go into selects before anything of the message is left out.
func TestSideButtonsMakeRoom(t *testing.T) {
	var m render.Message
	for i := range 12 {
		n := looks.Note(strings.Repeat("x", i+1))
		for range 2 {
			n.Choices = append(n.Choices, looks.Button(chat.Revoke, "G1", text.LabelRevoke))
		}
		m.Blocks = append(m.Blocks, n)
	}
	if !reflect.DeepEqual(render.Fit(m, Limits), m) {
		t.Fatal("Fit cut it")
	}
	p := encode(m, nil)
	if got, want := pressable(t, p), looks.Offered(m); !slices.Equal(got, want) || check(p) != nil {
		t.Errorf("%v, %v", got, check(p))
	}
	if s := dump(p); strings.Count(s, "▾") != 12 || strings.Contains(s, "earlier") {
		t.Error(s)
	}
}

// A private button carries its card's message as long as there is room for it.
func TestSureID(t *testing.T) {
	t.Parallel()
	for _, x := range []struct{ token, message, want string }{
		{"tok", "900000000000000009", "900000000000000009"}, {"tok", "", ""}, {"tok", "no message", ""}, {rep(64), "90000000000000000009", ""},
	} {
		id := sureID(chat.AllowSession, x.token, x.message)
		p, ok := ParseAction(id, nil)
		if !ok || len(id) > maxCustomID || p.Choice != chat.AllowSession || p.Token != x.token || p.Message != x.want || !p.Sure || p.Ask {
			t.Errorf("%q: %+v", id, p)
		}
	}
}

// parseCustomID is the choice and the token of [parsePressed].
func parseCustomID(customID string, values []string) (choice chat.Choice, token string, ok bool) {
	p, ok := ParseAction(customID, values)
	return p.Choice, p.Token, ok
}
