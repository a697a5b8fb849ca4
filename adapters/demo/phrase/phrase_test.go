package phrase

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestParse(t *testing.T) {
	for _, c := range []struct {
		say  string
		want []Command
	}{
		{"what time is it", []Command{{Verb: Time}}},
		{"What time is it?", []Command{{Verb: Time}}},
		{"@nod what's the time please?", []Command{{Verb: Time}}},
		{"<@U123ABC>, WHAT TIME IS IT", []Command{{Verb: Time}}},
		{"calculate 2 + 2 * (3-1)", []Command{{Verb: Calculate, Text: "2 + 2 * (3-1)"}}},
		{"calculate 2+2=?", []Command{{Verb: Calculate, Text: "2+2"}}},
		{"what is 7*6?", []Command{{Verb: Calculate, Text: "7*6"}}},
		{"list files", []Command{{Verb: List}}},
		{"list the files in docs/old", []Command{{Verb: List, Path: "docs/old"}}},
		{"list docs", []Command{{Verb: List, Path: "docs"}}},
		{"ls", []Command{{Verb: List}}},
		{"read notes.txt", []Command{{Verb: Read, Path: "notes.txt"}}},
		{"Read Notes.TXT.", []Command{{Verb: Read, Path: "Notes.TXT"}}},
		{"please read `my notes.txt`", []Command{{Verb: Read, Path: "my notes.txt"}}},
		{"write hello to notes.txt", []Command{{Verb: Write, Path: "notes.txt", Text: "hello"}}},
		{`write "Hello, World!" to "a b.txt"`, []Command{{Verb: Write, Path: "a b.txt", Text: "Hello, World!"}}},
		{"write go to work to todo.txt", []Command{{Verb: Write, Path: "todo.txt", Text: "go to work"}}},
		{"write salt and pepper to list.txt", []Command{{Verb: Write, Path: "list.txt", Text: "salt and pepper"}}},
		{"write a and read b to x.txt", []Command{{Verb: Write, Path: "x.txt", Text: "a and read b"}}},
		{"write one\ntwo to x.txt", []Command{{Verb: Write, Path: "x.txt", Text: "one\ntwo"}}},
		{"create directory Reports", []Command{{Verb: Create, Path: "Reports"}}},
		{"make a folder called old", []Command{{Verb: Create, Path: "old"}}},
		{"delete notes.txt", []Command{{Verb: Delete, Path: "notes.txt"}}},
		{"help", []Command{{Verb: Help}}},
		{"Hi!", []Command{{Verb: Help}}},
		{"read notes.txt and write bye to b.txt and list files", []Command{
			{Verb: Read, Path: "notes.txt"}, {Verb: Write, Path: "b.txt", Text: "bye"}, {Verb: List}}},
		{"create directory x, write a to x/a.txt, and then delete b.txt", []Command{
			{Verb: Create, Path: "x"}, {Verb: Write, Path: "x/a.txt", Text: "a"}, {Verb: Delete, Path: "b.txt"}}},
		{"what time is it and calculate 1+1", []Command{{Verb: Time}, {Verb: Calculate, Text: "1+1"}}},
		{"read a.txt and write b", []Command{{Verb: Read, Path: "a.txt"}, {Text: "write b"}}},
		{"read rock and roll.txt", []Command{{Verb: Read, Path: "rock and roll.txt"}}},
		{"readme", []Command{{Text: "readme"}}},
		{"tell me a joke", []Command{{Text: "tell me a joke"}}},
		{"", []Command{{}}},
		{"@nod", []Command{{Text: "@nod"}}},
		{"yes, go", []Command{{Text: "yes, go"}}},
	} {
		if d := cmp.Diff(c.want, Parse(c.say)); d != "" {
			t.Errorf("Parse(%q): %s", c.say, d)
		}
	}
}

func TestParseStopsAtTheLimit(t *testing.T) {
	got := Parse(strings.Repeat("read a.txt and ", 40) + "list files")
	if len(got) != Limit+1 || got[Limit].Verb != Unknown {
		t.Fatalf("%d commands, the last %+v; want %d and an unknown rest", len(got), got[len(got)-1], Limit)
	}
}

// TestParseStaysCheap: a message made to be tedious (each place is tried against all before it) is given up early.
func TestParseStaysCheap(t *testing.T) {
	got := Parse("write x" + strings.Repeat(" and read x", 20_000))
	if len(got) != 1 || got[0].Verb != Unknown {
		t.Fatalf("%d commands", len(got))
	}
}

func FuzzParse(f *testing.F) {
	f.Add("read a and write b to c")
	f.Add("@x ,;\n and then")
	f.Fuzz(func(t *testing.T, s string) {
		got := Parse(s)
		if len(got) == 0 {
			t.Fatal("no command")
		}
		for _, c := range got {
			if c.Verb == Write && c.Path == "" && !strings.ContainsAny(s, "\"'`“‘«") {
				t.Fatalf("a write without a file: %+v", c)
			}
			if utf8.ValidString(s) && !utf8.ValidString(c.Path+c.Text) {
				t.Fatalf("cut inside a character: %+v", c)
			}
		}
	})
}
