package form

import (
	"errors"
	"testing"

	"github.com/nodhq/nod/core/agent/turn"
)

// Content is what a server is told of what was typed into its form, or which words go back to the person who typed it.
func TestContentOfAForm(t *testing.T) {
	num := func(x float64) *float64 { return &x }
	whole, number := turn.FormField{Type: "integer"}, turn.FormField{Type: "number"}
	least, most, within := turn.FormField{Type: "number", Min: num(1.5)}, turn.FormField{Type: "number", Max: num(3)}, turn.FormField{Type: "number", Min: num(1.5), Max: num(3)}
	long, short, sized := turn.FormField{Type: "string", Min: num(2)}, turn.FormField{Type: "string", Max: num(3)}, turn.FormField{Type: "string", Min: num(2), Max: num(3)}
	one := turn.FormField{Type: "string", Options: []string{"main", "next"}}
	many := turn.FormField{Type: "string", Options: []string{"main", "next"}, Many: true}
	needed := turn.FormField{Type: "string", Required: true}
	mail, uri := turn.FormField{Type: "string", Format: "email"}, turn.FormField{Type: "string", Format: "uri"}
	date, moment := turn.FormField{Type: "string", Format: "date"}, turn.FormField{Type: "string", Format: "date-time"}
	const (
		notMail = "x has to be an e-mail address."
		notURI  = "x has to be an address, such as https://example.com."
		notDate = "x has to be a date as 2026-11-21."
		notTime = "x has to be a time as 2026-11-21T14:02:00Z."
	)
	for _, c := range []struct {
		field      turn.FormField
		text, want string // the value as JSON, nothing where it is left out, or the words that end in a full stop
	}{
		{turn.FormField{Type: "string"}, "  main ", `"main"`},
		{turn.FormField{Type: "string"}, "", ""},
		{turn.FormField{Type: "string"}, " \n", ""},
		{needed, "", "x is needed."},
		{needed, " \t", "x is needed."},
		{needed, "main", `"main"`},
		{turn.FormField{Type: "string", Title: "The\nbranch", Required: true}, "", "The ⏎ branch is needed."},

		{one, "next", `"next"`},
		{one, "trunk", "x has to be one of main, next."},
		{one, "main\nnext", "x takes one answer."},
		{many, "main", `["main"]`},
		{many, "main\n next ", `["main","next"]`},
		{many, "main\ntrunk", "x has to be one of main, next."},

		{turn.FormField{Type: "boolean"}, "Yes", `true`},
		{turn.FormField{Type: "boolean"}, "true", `true`},
		{turn.FormField{Type: "boolean"}, "NO", `false`},
		{turn.FormField{Type: "boolean"}, "false", `false`},
		{turn.FormField{Type: "boolean"}, "maybe", "x has to be true or false."},

		{whole, "12", `12`},
		{whole, "9007199254740993", `9007199254740993`},
		{whole, "1.5", "x has to be a whole number."},
		{whole, "many", "x has to be a whole number."},
		{number, "1.5", `1.5`},
		{number, "-1e3", `-1e3`},
		{number, "many", "x has to be a number."},
		{number, "inf", "x has to be a number."},
		{number, "NaN", "x has to be a number."},
		{number, "1e400", "x has to be a number."},
		{number, "+5", `5`},
		{number, "-.5", `-0.5`},
		{number, "5.", `5`},
		{whole, "007", `7`},
		{least, "1.5", `1.5`},
		{least, "1.4", "x has to be at least 1.5."},
		{most, "3", `3`},
		{most, "3.5", "x has to be at most 3."},
		{within, "2", `2`},
		{within, "1", "x has to be 1.5 to 3."},
		{within, "4", "x has to be 1.5 to 3."},

		{long, "ab", `"ab"`},
		{long, "a", "x has to have at least 2 characters."},
		{short, "äöü", `"äöü"`},
		{short, "abcd", "x has to have at most 3 characters."},
		{sized, "abc", `"abc"`},
		{sized, "a", "x has to have 2 to 3 characters."},
		{sized, "abcd", "x has to have 2 to 3 characters."},

		{mail, "ana@example.com", `"ana@example.com"`},
		{mail, "@example.com", notMail},
		{mail, "ana", notMail},
		{mail, "ana@example", notMail},
		{mail, "ana@example.com, ben@example.com", notMail},
		{mail, "Ana <ana@example.com>", notMail},
		{mail, "ana b@example.com", notMail},
		{mail, "ana@b@example.com", notMail},
		{uri, "https://example.com/a", `"https://example.com/a"`},
		{uri, "example.com", notURI},
		{uri, "https://[::1", notURI},
		{date, "2026-11-21", `"2026-11-21"`},
		{date, "21.11.2026", notDate},
		{moment, "2026-11-21T14:02:00Z", `"2026-11-21T14:02:00Z"`},
		{moment, "2026-11-21", notTime},
	} {
		c.field.Name = "x"
		got, err := Content(turn.Elicitation{Kind: turn.ElicitationForm, Fields: []turn.FormField{c.field}}, map[string]string{"x": c.text})
		says, want := string(got), `{"x":`+c.want+`}`
		switch {
		case c.want == "":
			want = `{}`
		case c.want[len(c.want)-1] == '.':
			want = c.want
		}
		if err != nil {
			says = err.Error()
			if wrong := (&FieldError{}); !errors.As(err, &wrong) || wrong.Field.Name != "x" || got != nil {
				t.Errorf("%q: %v names no field, beside %s", c.text, err, got)
			}
		}
		if says != want {
			t.Errorf("%+v, %q: %s, want %s", c.field, c.text, says, want)
		}
	}

	// Each field has its own value, and what is no field of the form does not go to the server.
	want := turn.Elicitation{Kind: turn.ElicitationForm, Fields: []turn.FormField{{Name: "a", Type: "string"}, {Name: "b", Type: "integer"}, {Name: "c", Type: "string"}}}
	if got, err := Content(want, map[string]string{"a": "main", "b": "2", "z": "mine"}); err != nil || string(got) != `{"a":"main","b":2}` {
		t.Errorf("%s, %v", got, err)
	}
	// An address is opened: there is nothing to tell, not even an empty form.
	want.Kind = turn.ElicitationURL
	if got, err := Content(want, map[string]string{"a": "main"}); got != nil || err != nil {
		t.Errorf("%s, %v", got, err)
	}
}
