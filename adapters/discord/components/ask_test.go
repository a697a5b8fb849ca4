package components

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/agent/card"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/core/render"
	"github.com/nodhq/nod/core/text"
	"github.com/nodhq/nod/tests/standins/fakediscord/samples"
	"github.com/nodhq/nod/tests/suites/conformance/looks"
)

// A card shows the server's icon where it is an emoji. An address is never drawn, because Discord would fetch it.
// R81
func TestIconOfAServer(t *testing.T) {
	const small = "· ⚠️ Allow tool call from files? · Run write_file from files\n"
	for name, tt := range map[string]struct{ icon, drawn string }{
		"emoji": {"📁", "📁"}, "none": {"", "⚠️"}, "picture": {"https://files.example/icon.png", "⚠️"}, "custom emoji": {"<:x:1>", "⚠️"},
		"a script": {"javascript:alert(1)", "⚠️"}, "words": {"This server is safe", "⚠️"},
	} {
		a := cardOf(1, looks.HelloArgs)
		a.Icon = tt.icon
		p := encode(render.Message{State: render.Waiting, Blocks: []render.Block{a}}, nil)
		if err := check(p); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if said := dump(p); !strings.Contains(said, strings.Replace(small, "⚠️", tt.drawn, 1)) || strings.Contains(string(pretty(t, p)), "files.example") {
			t.Errorf("%s:\n%s", name, said)
		}
	}
}

// The box on a card is as the chat says.
// R83
func TestTheBoxIsTicked(t *testing.T) {
	t.Parallel()
	s := samples.Grantable("tok")
	for _, want := range []string{"| ☐ Remember this choice (", "| ☑ Remember this choice ("} {
		if got := dump(encode(ofChat(s), nil)); !strings.Contains(got, want) {
			t.Errorf("%s is missing in\n%s", want, got)
		}
		s.Turn.Calls[0].Ticked = &turn.Person{User: samples.Ana.User}
	}
}

// controls are the buttons and selects of a payload in which a token stands; "" for all of them.
func controls(p Payload, token string) (n int) {
	visit(map[string]any{"components": jsonOf(p.Components)}, "", func(_, kind string, c map[string]any) {
		if id, _ := c["custom_id"].(string); (kind == partButton || kind == partSelect) && strings.Contains(id, token) {
			n++
		}
	})
	return n
}

// words are those that a person reads without opening anything.
func words(p Payload) (n int) {
	for l := range strings.Lines(dump(p)) {
		if at := strings.Index(l, " ▾ "); at >= 0 {
			l = l[:at]
		}
		n += len(strings.FieldsFunc(l, func(r rune) bool {
			return unicode.IsSpace(r) || strings.ContainsRune("│╭╰┌└─[]()⟨⟩·✓⚠️…", r)
		}))
	}
	return n
}

// A question about one call with two short arguments is read in three seconds: at most five controls, and ninety words.
func TestACardIsLight(t *testing.T) {
	asked := 0
	all := looks.States(samples.Ana, 60, cardOf)
	for _, name := range []string{"dangerous", "masked", "beyond", "reads"} {
		all[name] = states()[name]
	}
	for name, m := range all {
		p := encode(render.Fit(m, Limits), nil)
		switch asks := surface.CountAsks(m); {
		case asks > 1 || name == "big_args" || name == "replaces": // a list, and calls that are not short
			continue
		case asks == 1:
			asked++
			if n := words(p); n > 90 {
				t.Errorf("%s has %d words:\n%s", name, n, dump(p))
			}
		}
		want := 5
		if name == "beyond" { // it says besides that the chat never asks, with a button against that
			want++
		}
		if n := controls(p, ""); n > want {
			t.Errorf("%s has %d controls:\n%s", name, n, dump(p))
		}
	}
	if asked != 6 {
		t.Errorf("%d of them ask", asked)
	}
}

// Reads of one reply are one question, with one click for exactly these, and what each of them reads.
func TestReadsAreOneQuestion(t *testing.T) {
	s := samples.Reads()
	token := turn.BatchToken(turn.OpenAsks(s))
	look := func(m render.Message, labels ...string) {
		t.Helper()
		p := encode(render.Fit(m, Limits), nil)
		got, said := pressable(t, p), dump(p)
		if err := check(p); err != nil || !slices.Contains(got, "approve_all "+token) || !slices.Contains(got, "deny_all "+token) {
			t.Errorf("%v: %v", err, got)
		}
		for i := range 5 {
			if !strings.Contains(said, fmt.Sprintf("docs/f%d.md\n", i+1)) {
				t.Errorf("read %d is missing in\n%s", i+1, said)
			}
		}
		for _, l := range labels {
			if strings.Count(said, l) != 1 {
				t.Errorf("%s is missing, or there twice, in\n%s", l, said)
			}
		}
	}
	look(ofChat(s), "["+text.LabelAllowThese(5)+"] ["+text.LabelDeny+"]!\n")
	s.Turn.Calls = append(s.Turn.Calls, samples.Call(6, "write_file", `{"path":"summary.md","content":"41 lines"}`))
	look(ofChat(s), "["+text.LabelAllowThese(5)+"] ["+text.LabelDeny+"]!\n", "["+text.LabelAllowOnce+"] ["+text.LabelDeny+"]!\n", "["+text.LabelApproveAll(6)+"] ["+text.LabelDenyAll(6)+"]! ["+text.LabelStop+"]")
}

// Each call of a list has its own answers. At least five are shown at once, whatever they are; the others follow, which the message says.
func TestRowsOfAList(t *testing.T) {
	long := `{"path":"notes.txt","content":"` + strings.Repeat("line\\n", 200) + `"}`
	for n := 2; n <= turn.MaxAsks; n += 3 {
		for name, args := range map[string]string{"short": "", "long": long} {
			s := samples.Writes(n)
			s.Turn.Calls = append([]turn.ToolCall{{ID: "read", Status: turn.Done, Tool: permission.Tool{Server: "files", Name: "read_file"}}}, s.Turn.Calls...)
			if args != "" {
				for i := range s.Turn.Calls {
					s.Turn.Calls[i].Args = []byte(args)
				}
			}
			m := card.View(s, s.Turn, card.Live{Text: "I'll write all of them."})
			p := encode(render.Fit(m, Limits), nil)
			if err := check(p); err != nil {
				t.Fatalf("%d, %s: %v", n, name, err)
			}
			got, said := pressable(t, p), dump(p)
			rows := 0
			for i := range n {
				token := fmt.Sprintf("ASK%d", i+1)
				if !slices.Contains(got, "allow_once "+token) {
					break
				}
				rows++
				for _, c := range []chat.Choice{chat.Deny, chat.AllowChat, chat.AllowHour, chat.DenyReason, chat.ViewDetail} {
					if !slices.Contains(got, string(c)+" "+token) {
						t.Errorf("%d, %s: row %d has no %s", n, name, i+1, c)
					}
				}
				if c := controls(p, ":"+token); c > 4 {
					t.Errorf("%d, %s: row %d has %d controls", n, name, i+1, c)
				}
			}
			if rows < min(n, 5) || strings.Contains(said, text.MoreWait(n-rows)) != (rows < n) || slices.ContainsFunc(got, func(s string) bool { return strings.HasPrefix(s, "approve_all") }) != (rows == n) {
				t.Errorf("%d, %s: %d rows in\n%s", n, name, rows, said)
			}
			if strings.Count(said, text.Warning("nod")) != 1 || strings.Count(said, text.Review) != 1 || strings.Count(said, text.AllowHeader("files")) != 1 {
				t.Errorf("%d, %s: what is the same for all is not there once in\n%s", n, name, said)
			}
		}
	}
}

// A grant for the chat is confirmed in words where the tool may destroy something, and where nobody classified it.
func TestWideGrantsAskFirst(t *testing.T) {
	usual := samples.Dangerous()
	usual.Turn.Calls[0].Ruling.Risk = permission.Moderate
	for name, x := range map[string]struct {
		of   turn.Session
		form string
	}{"dangerous": {samples.Dangerous(), "ask:"}, "not classified": {samples.Writes(1), "ask:"}, "moderate": {usual, "nod:"}} {
		p := encode(ofChat(x.of), nil)
		var ids []string
		for _, c := range clicksOn(p) {
			ids = append(ids, c.id)
		}
		if !slices.Contains(ids, x.form+"allow_chat:ASK1") || !slices.Contains(ids, "nod:allow_once:ASK1") {
			t.Errorf("%s: %v", name, ids)
		}
	}
}

// What is hidden can be looked at without opening anything first, and is not in the message.
func TestRevealStandsInTheRow(t *testing.T) {
	p := encode(ofChat(samples.Masked()), nil)
	if s := dump(p); !strings.Contains(s, "["+text.LabelReveal+"] ["+text.LabelAllowOnce+"] ["+text.LabelDeny+"]!\n") || strings.Contains(string(pretty(t, p)), "0123456789") {
		t.Error(s)
	}
}

// Where Discord takes no card, and in what a notification shows, the tool is named in plain words before anything else.
func TestPlainWordsNameTheTool(t *testing.T) {
	m := ofChat(samples.Dangerous())
	for level := 0; ; level++ {
		r, ok := Turn(m, nil)(level)
		if !ok {
			if level < 2 {
				t.Fatalf("%d levels", level)
			}
			return
		}
		first := dump(r.Payload)
		at := strings.Index(first, "Run command “rm -rf build”?")
		if rest := strings.Index(first, "/srv/team"); at < 0 || rest < at || !strings.Contains(first, "Allow tool call from shell?") {
			t.Errorf("level %d:\n%s", level, first)
		}
	}
}
