package components

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/bwmarrin/discordgo"

	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/render"
	"github.com/nodhq/nod/core/text"
	"github.com/nodhq/nod/tests/standins/fakediscord/samples"
	"github.com/nodhq/nod/tests/suites/conformance/looks"
)

func inputOf(t *testing.T, m *Modal) discordgo.TextInput {
	t.Helper()
	row, ok := m.Components[0].(discordgo.ActionsRow)
	if !ok || len(m.Components) != 1 || len(row.Components) != 1 {
		t.Fatalf("%+v", m)
	}
	return row.Components[0].(discordgo.TextInput)
}

func TestForms(t *testing.T) {
	edit, ok := EditModal("ASK1", "Run write_file from files", looks.HelloArgs)
	if !ok {
		t.Fatal("short arguments cannot be edited")
	}
	for name, m := range map[string]*Modal{"view_deny": DenyModal("ASK1", "Run write_file from files"), "view_edit": edit} {
		if err := checkModal(m); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		looks.Golden(t, name+".json", pretty(t, map[string]any{"title": m.Title, "custom_id": m.CustomID, "components": jsonOf(m.Components)}))
		looks.Golden(t, name+".txt", []byte("# "+m.Title+"\n"+dump(Payload{Components: m.Components})))
	}
}

// What the other side of the click looks for.
func TestFormNames(t *testing.T) {
	edit, _ := EditModal("ASK1", "x", "{}")
	deny := DenyModal("ASK1", "")
	if c, token, _, ok := ParseForm(deny.CustomID); !ok || c != chat.DenyReason || token != "ASK1" {
		t.Errorf("%q %q %v", c, token, ok)
	}
	if c, token, _, ok := ParseForm(edit.CustomID); !ok || c != chat.Edit || token != "ASK1" {
		t.Errorf("%q %q %v", c, token, ok)
	}
	if in := inputOf(t, deny); in.CustomID != FieldReason || in.Required || in.MaxLength != 500 {
		t.Errorf("%+v", in)
	}
	if in := inputOf(t, edit); in.CustomID != FieldArgs || !in.Required || !strings.Contains(in.Label, "Nothing runs before") {
		t.Errorf("%+v", in)
	}
	long := rep(500)
	wide, _ := EditModal(rep(64), long, "{}")
	for _, m := range []*Modal{DenyModal(rep(64), long), DenyModal("x", strings.Repeat("😀", 60)), DenyModal("x", "\u202e\n"), wide} {
		if err := checkModal(m); err != nil {
			t.Error(err)
		}
	}
	for _, bad := range []string{"", "form:deny:ASK1", "form:edit:", "form:edit:a b", "nod:edit:ASK1", "form:edit:" + rep(65), "form:edit:ASK1 2", "xform:edit:ASK1", "form:edit:ä"} {
		if c, token, at, ok := ParseForm(bad); ok || c != "" || token != "" || at != "" {
			t.Errorf("%q: %q %q", bad, c, token)
		}
	}
}

// Arguments that are offered for a change are the same JSON, with nothing hidden in it; longer ones are not offered.
func TestEditable(t *testing.T) {
	for _, args := range []string{`{"a":"x\u200by` + "\u200b\u202e\U000E0041" + `","n":1.00,"n":2}`, `[]`, `{"a":` + strings.Repeat("[", 90) + strings.Repeat("]", 90) + `}`} {
		m, ok := EditModal("ASK1", "x", args)
		if !ok {
			t.Fatal(args)
		}
		got := inputOf(t, m).Value
		var a, b any
		if json.Unmarshal([]byte(args), &a) != nil || json.Unmarshal([]byte(got), &b) != nil || !reflect.DeepEqual(a, b) {
			t.Errorf("%s became %s", args, got)
		}
		if _, n := text.Visible(got); n != 0 {
			t.Errorf("%d hidden characters in %q", n, got)
		}
		if strings.Contains(args, "1.00") && !strings.Contains(got, "1.00") {
			t.Error("a number lost its digits")
		}
	}
	m, ok := EditModal("x", "x", fmt.Sprintf(`{"a":"%s"}`, rep(3992)))
	if !ok || checkModal(m) != nil {
		t.Error("4,000 characters are not offered")
	}
	for _, args := range []string{`{"a":"` + rep(3993) + `"}`, "", `{"a":"` + strings.Repeat("\u200b", 800) + `"}`, `{"a":"` + strings.Repeat("😀", 2000) + `"}`} {
		if _, ok := EditModal("x", "x", args); ok {
			t.Errorf("%d characters are offered", len(args))
		}
	}
}

// What its form cannot hold is not offered to be edited.
func TestWhatIsTooLongToEditIsNotOffered(t *testing.T) {
	for args, want := range map[string]bool{
		`{"a":"` + rep(3992) + `"}`: true, `{"a":"` + rep(3993) + `"}`: false, `{"a":"` + strings.Repeat("\u200b", 666) + `"}`: false, `{"a":"` + strings.Repeat("😀", 1997) + `"}`: false,
	} {
		p := encode(render.Fit(ofChat(samples.Asking(samples.Call(1, "write_file", args))), Limits), nil)
		if got := strings.Contains(dump(p), text.LabelEdit); got != want {
			t.Errorf("%.20s of %d bytes: %v", args, len(args), got)
		}
		if _, ok := EditModal("ASK1", "x", args); ok != want {
			t.Errorf("%.20s of %d bytes, the form: %v", args, len(args), ok)
		}
	}
}
