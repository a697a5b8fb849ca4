package components

import (
	"strings"
	"testing"

	"github.com/bwmarrin/discordgo"

	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/tests/standins/fakediscord/samples"
)

func formOf(fields ...turn.FormField) (turn.Session, turn.ToolCall) {
	s := samples.Wanting("W", turn.Elicitation{Kind: turn.ElicitationForm, Fields: fields})
	return s, s.Turn.Calls[0]
}

func inputs(t *testing.T, m *Modal) (all []discordgo.TextInput) {
	t.Helper()
	if err := checkModal(m); err != nil {
		t.Error(err)
	}
	for _, c := range m.Components {
		all = append(all, c.(discordgo.ActionsRow).Components[0].(discordgo.TextInput))
	}
	return all
}

// Names, descriptions and defaults are the server's: whatever they are, Discord takes the form.
func TestAnyFormIsTaken(t *testing.T) {
	t.Parallel()
	odd := rep(5000)
	_, call := formOf(turn.FormField{}, turn.FormField{Name: odd, Title: odd, Description: odd, Default: odd, Options: []string{odd, odd}}, turn.FormField{Name: "\u202e", Default: "a\nb", Type: "string"},
		turn.FormField{Name: "long", Type: "string", Max: samples.Bound(4000), Format: "odd"}, turn.FormField{Name: "x", Type: "number", Min: samples.Bound(1)}, turn.FormField{Name: "not there"})
	call.Tool.Server = odd
	all := inputs(t, ElicitationModal(rep(64), "90000000000000000009"[:20], call, nil))
	if len(all) != 5 {
		t.Fatalf("%d inputs", len(all))
	}
	if all[0].Label == "" || all[1].Value != "" || all[2].Style != discordgo.TextInputParagraph || all[3].Style != discordgo.TextInputParagraph || all[4].Style != discordgo.TextInputShort {
		t.Errorf("%+v", all)
	}
	if all[4].Placeholder != "A number, at least 1" {
		t.Errorf("%q", all[4].Placeholder)
	}
}

func TestWhatWasTypedStandsInTheFormAgain(t *testing.T) {
	t.Parallel()
	_, call := formOf(samples.Fields()...)
	all := inputs(t, ElicitationModal("W", "", call, map[string]string{"field1": "seven", "field3": ""}))
	if all[1].Value != "seven" || all[0].Value != "" || all[3].Value != "" {
		t.Errorf("%+v", all)
	}
	if all := inputs(t, ElicitationModal("W", "", call, nil)); all[1].Value != "2" || !all[0].Required || all[1].Required {
		t.Errorf("%+v", all)
	}
}

// An address is shown whole, where it leads stands in bold, and a button leads to nothing else.
func TestAddressesAreShown(t *testing.T) {
	t.Parallel()
	for _, x := range []struct {
		url     string
		button  bool
		host    string
		warning string
	}{
		{"https://good.example/a?b=*c*", true, "good.example", ""},
		{"https://good.example@evil.example/", true, "evil.example", ""},
		{"https://xn--pple-43d.example/", true, "xn--pple-43d.example", "reads"},
		{"https://good.example/\u202eb", false, "good.example", ""},
		{"https://good\u200b.example/", false, `good\u{200B}.example`, "hidden"},
		{"https://good.example/" + rep(500), false, "good.example", ""},
		{"https://good.example/" + rep(9000), false, "good.example", ""},
		{"https://good.example/```\n@everyone <@1> [x](https://y.example)", false, "", ""},
		{"javascript:alert(1)", false, "", ""}, {"discord://x/y", false, "x", ""}, {"", false, "", ""},
	} {
		s := samples.Wanting("W", turn.Elicitation{Kind: turn.ElicitationURL, URL: x.url})
		p := Address("W", "9", s.Turn.Calls[0])
		if err := check(p); err != nil {
			t.Errorf("%q: %v", x.url, err)
		}
		inert(t, p, func(string) bool { return false })
		text := dump(p)
		if got := strings.Contains(text, "["+sayOpenAddress+"]("+x.url+")"); got != x.button || got == strings.Contains(text, sayNoButton) {
			t.Errorf("%.40q: a button: %v\n%s", x.url, got, text)
		}
		if x.host != "" && !strings.Contains(text, "⟨"+x.host+"⟩") || !strings.Contains(text, x.warning) {
			t.Errorf("%.40q: the host is not in bold, or no warning\n%s", x.url, text)
		}
		if x.button && !strings.Contains(text, "│ "+x.url+"\n") {
			t.Errorf("%q is not shown whole\n%s", x.url, text)
		}
		if d := dump(p); !strings.Contains(d, sayDone) || !strings.HasPrefix(d, "┌") && x.url != "" {
			t.Errorf("the address does not come first\n%s", d)
		}
	}
}

// What a server asks for stands on its card in full, however many cards there are.
func TestAWantSaysWhatItIs(t *testing.T) {
	t.Parallel()
	s := dump(encode(wants(), nil))
	for _, want := range []string{"Which *folder* should the mail go to?", "Answer…", "Decline", "Never give it passwords"} {
		if !strings.Contains(s, want) {
			t.Errorf("%q is missing in\n%s", want, s)
		}
	}
}
