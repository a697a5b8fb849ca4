package components

import (
	"encoding/json"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/bwmarrin/discordgo"
	"pgregory.net/rapid"

	"github.com/nodhq/nod/adapters/discord/ids"
	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/render"
	"github.com/nodhq/nod/core/text"
	"github.com/nodhq/nod/tests/standins/fakediscord/markup"
	"github.com/nodhq/nod/tests/standins/fakediscord/samples"
	"github.com/nodhq/nod/tests/suites/conformance/looks"
)

// Whatever a turn holds: after Fit it is a payload that Slack takes, and every choice of every ask that is shown is in it.
func TestEveryMessageIsTaken(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := render.Fit(hostile.Message(t), Limits)
		p := encode(m, good)
		if err := check(p); err != nil {
			t.Fatal(err)
		}
		if again := encode(m, good); !reflect.DeepEqual(again, p) {
			t.Fatal("the same message gave other bytes")
		}
		looks.KeepsAsks(t, m, pressable(t, p))
	})
}

// A message that keeps the floor has each of its choices in the payload.
func TestEveryChoiceIsDrawn(t *testing.T) {
	for name, m := range states() {
		m = render.Fit(m, Limits)
		if got, want := pressable(t, encode(m, good)), looks.Offered(m); !slices.Equal(got, want) {
			t.Errorf("%s:\n%v\nwant\n%v", name, got, want)
		}
	}
}

// Deny alone stands out, and the order is the documents' (R74, R89).
// R74
func TestButtonsOfAnAsk(t *testing.T) {
	look := func(m render.Message) (labels []string, styles []float64) {
		visit(map[string]any{"components": jsonOf(encode(m, nil).Components)}, "", func(_, kind string, n map[string]any) {
			if kind == partButton {
				labels, styles = append(labels, n["label"].(string)), append(styles, n["style"].(float64))
			}
		})
		return labels, styles
	}
	labels, styles := look(states()["asking"])
	if want := []string{"Allow for this chat", "Allow once", "Deny"}; !slices.Equal(labels, want) {
		t.Errorf("%q", labels)
	}
	if want := []float64{2, 2, 4}; !slices.Equal(styles, want) {
		t.Errorf("%v", styles)
	}
	loud := render.Message{Choices: []render.Choice{{Choice: chat.AllowOnce, Token: "x", Label: "Allow", Style: render.Danger}, {Choice: chat.AllowOnce, Token: "x", Label: "Allow", Style: "primary"}}}
	if _, styles := look(loud); !slices.Equal(styles, []float64{2, 2}) {
		t.Error("something but Deny stands out", styles)
	}
}

// What a select offers once more after "+5 min" must not look picked already: its custom_id changes with the deadline, and only then.
func TestSelectsForget(t *testing.T) {
	id := func(expires time.Time) (id string) {
		a := cardOf(1, looks.HelloArgs)
		a.Expires = expires
		visit(map[string]any{"components": jsonOf(encode(render.Message{Blocks: []render.Block{a}}, nil).Components)}, "", func(_, kind string, n map[string]any) {
			if kind == partSelect {
				id = n["custom_id"].(string)
			}
		})
		return id
	}
	if a, b := id(samples.TwoPM), id(samples.TwoPM.Add(5*time.Minute)); a == "" || a == b || a != id(samples.TwoPM) {
		t.Errorf("%q, %q", a, b)
	}
}

// The words of R69, R70, R72 and R73 are in the card, the question stands out, and what it says is there once.
// R69 R70 R72 R73 R78 R93
func TestWordsOfAnAsk(t *testing.T) {
	said := dump(encode(states()["asking"], nil))
	for _, want := range []string{"· ⚠️ Allow tool call from files? · Run write_file from files\n", "▌ Write hello to notes.txt?\n", "│ path: notes.txt\n", "content: hello\n",
		"· ⚠️ changes things · not classified yet\n", "· Ana can answer until ⟨at 14:03⟩ (⟨relative, 14:03⟩). " + text.Warning("nod") + " 𝗕⟨" + text.Review + "⟩"} {
		if strings.Count(said, want) != 1 {
			t.Errorf("%q is missing, or there twice, in\n%s", want, said)
		}
	}
	for _, done := range []string{"decided", "denied", "expired"} {
		if s := dump(encode(states()[done], nil)); strings.Contains(s, "Allow tool call") || strings.Contains(s, text.Review) || strings.Contains(s, "┌─") {
			t.Errorf("%s still shows a card", done)
		}
	}
}

// What is not shown of arguments is counted, and Show arguments is one of the buttons.
func TestHiddenArgumentsAreCounted(t *testing.T) {
	for name, want := range map[string]string{"big_args": " characters not shown\n", "lines": " · 24 of 62 lines · 493 of 762 characters not shown\n"} {
		if s := dump(encode(render.Fit(states()[name], Limits), nil)); !strings.Contains(s, want) || !strings.Contains(s, "[Deny]! ["+text.LabelShowArguments+"]") {
			t.Errorf("%s: %q is missing in\n%s", name, want, s)
		}
	}
}

// The accent repeats the state, and is never the only thing that says it.
// R77
func TestAccents(t *testing.T) {
	for state, want := range map[render.State]int{render.Working: 0x95A5A6, render.Waiting: 0xF0A020, render.Done: 0x2ECC71, render.Failed: 0xE74C3C, render.Stopped: 0x95A5A6, "odd": 0x95A5A6} {
		p := encode(render.Message{State: state}, nil)
		if box := p.Components[0].(discordgo.Container); len(p.Components) != 1 || *box.AccentColor != want {
			t.Errorf("%s: %x", state, *box.AccentColor)
		}
		if s := dump(p); !strings.Contains(s, surface.SayState(state)) {
			t.Errorf("%s says %q", state, s)
		}
	}
}

func TestRoomy(t *testing.T) {
	for _, s := range []encoder{{count: maxComponents + 1}, {chars: maxText + 1}, {bytes: maxTextBytes + 1}} {
		if s.fits() {
			t.Errorf("%+v", s)
		}
	}
	if s := (&encoder{count: maxComponents, chars: maxText, bytes: maxTextBytes}); !s.fits() {
		t.Error("the largest that there may be has no room")
	}
}

// Discord takes no text of spaces.
func TestNothingIsNotSaid(t *testing.T) {
	s := &encoder{ids: names{}}
	s.say("", "  ")
	if s.lines != nil {
		t.Errorf("%q", s.lines)
	}
	s.flush()
	s.addText(" \n ")
	if len(s.parts) != 0 {
		t.Errorf("%+v", s.parts)
	}
}

func TestHiddenCharactersInCode(t *testing.T) {
	if s := dump(encode(render.Message{Blocks: []render.Block{render.Code{Source: "a\u202eb"}}}, nil)); !strings.Contains(s, `a\u{202E}b`) {
		t.Error(s)
	}
}

// A call that has no details says in a word how it stands.
// R85
func TestStepsSayHowTheyStand(t *testing.T) {
	for state, want := range map[render.StepState]string{render.StepWaiting: "-# ⚠️ x · files · waits for an answer", render.StepRunning: "-# ⟳ x · files · running"} {
		if got := stepLine(looks.Step(state, "x")); got != want {
			t.Errorf("%q", got)
		}
	}
}

// Where Fit cut arguments that still have many lines, one count says what of both is not there; and rows are shown where they are all.
func TestArgumentsThatFitCut(t *testing.T) {
	lines := slices.Repeat([]string{`  "k": 1,`}, 60)
	lines[30] = "… 500 more characters …"
	a := cardOf(1, looks.HelloArgs)
	a.Args.JSON, a.Args.Rows, a.Args.Hidden = strings.Join(lines, "\n"), a.Args.Rows[:1], 500
	s := dump(encode(render.Message{Blocks: []render.Block{a}}, nil))
	if !strings.Contains(s, "│ … 849 more characters …\n") || strings.Count(s, "\"k\": 1") != 24 || strings.Contains(s, "path: notes.txt") {
		t.Error(s)
	}
}

func TestStamped(t *testing.T) {
	p := encode(states()["asking"], nil)
	s := numberedAs(p, 123456)
	if got := s.Components[0].(discordgo.Container).ID; got != 123456 || check(s) != nil {
		t.Errorf("%d, %v", got, check(s))
	}
	if p.Components[0].(discordgo.Container).ID != 0 {
		t.Error("the message it was made of changed")
	}
	if got := numberedAs(Payload{}, 1); len(got.Components) != 0 {
		t.Error("nothing became something")
	}
}

// nameless are the people in a message whom nobody called anything: Discord names them, and notifies nobody.
func nameless(m render.Message) (ids []string) {
	for _, b := range m.Blocks {
		var l render.Line
		switch b := b.(type) {
		case render.Step:
			l = b.Detail
		case render.Note:
			l = b.Line
		case render.Ask:
			l = slices.Concat(b.Facts, b.Footer)
		}
		for _, s := range l {
			if p, ok := s.(render.Person); ok && p.Name == "" {
				ids = append(ids, strings.TrimPrefix(p.User.Key, chat.GroupPrefix))
			}
		}
	}
	return ids
}

// inert: nothing that people, models, servers or tools wrote is alive in a payload, on no client.
func inert(t interface{ Fatalf(string, ...any) }, p Payload, alive hosts, nameless ...string) {
	visit(map[string]any{"components": jsonOf(p.Components)}, "", func(at, kind string, n map[string]any) {
		if kind != partText {
			return
		}
		for _, d := range markup.Dialects {
			markup.Walk(markup.Read(content(n), d), func(n markup.Node) {
				switch n.Kind {
				case "subtext", "header": // ours
				case "time":
					if !ourTime.MatchString(n.Text) {
						t.Fatalf("%s: a time %q", at, n.Text)
					}
				case "mention":
					id := strings.Trim(n.Text, "<@&>")
					if !slices.Contains(slices.Concat(p.Users, p.Roles, nameless), id) || id != "111111111111111111" && id != "222222222222222222" {
						t.Fatalf("%s: %q is mentioned", at, n.Text)
					}
				case "link":
					if n.Href != aQuestion {
						harmless(t, []markup.Node{n}, alive, n.Text)
					}
				default:
					n.Kids = nil // they are looked at by themselves
					harmless(t, []markup.Node{n}, alive, n.Text)
				}
			})
		}
	})
}

var ourTime = regexp.MustCompile(`^<t:\d+:[tR]>$`)

const aQuestion = "https://discord.com/channels/900000000000000001/900000000000000002/900000000000000003"

// Nothing that people, models, servers or tools wrote becomes a mention, a disguised link or a button.
func TestWordsStayWords(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := render.Fit(hostile.Message(t), Limits)
		alive := hosts(good).or(m.Hosts)
		p := encode(m, good)
		inert(t, p, alive, nameless(m)...)
		if len(p.Users)+len(p.Roles)+len(p.Files) > 0 {
			t.Fatal("a turn's message notifies somebody")
		}
		allowed := map[string]bool{}
		for _, s := range looks.Offered(m) {
			allowed[s] = true
		}
		for _, s := range pressable(t, p) {
			if c, _, _ := strings.Cut(s, " "); !allowed[s] && c != string(chat.ViewDetail) {
				t.Fatalf("a button from nowhere: %s", s)
			}
		}
		note := encodeNote(m, aQuestion)
		if err := check(note); err != nil {
			t.Fatal(err)
		}
		inert(t, note, func(string) bool { return false })
	})
}

// Texts that are at the edge in characters, in bytes or in UTF-16 units, and answers of nothing but signs that grow.
func TestBudgets(t *testing.T) {
	for _, unit := range []string{"x", "é", "中", "😀", "_", "`", "*a* ", "```\nx\n```\n", "- a\n", "https://good.example/a ", "| a ", "<@1> ", "\\", "\u202e", "\n"} {
		for _, n := range []int{1, 250, 1000, 2000, 3000, 3999, 4000, 4001, 12_000} {
			for _, b := range []render.Block{render.Text{Markdown: strings.Repeat(unit, n)}, render.Code{Source: strings.Repeat(unit, n)}, looks.Note(strings.Repeat(unit, n))} {
				m := render.Fit(render.Message{State: render.Done, Token: "T1", Hosts: []string{"good.example"}, Blocks: []render.Block{b}}, Limits)
				if err := check(encode(m, nil)); err != nil {
					t.Fatalf("%d of %q: %v", n, unit, err)
				}
			}
			a := cardOf(1, `{"a":`+strconv.Quote(strings.Repeat(unit, n))+`}`)
			m := render.Fit(render.Message{State: render.Waiting, Blocks: []render.Block{render.Text{Markdown: strings.Repeat(unit, n)}, a}, Choices: []render.Choice{looks.Stop()}}, Limits)
			p := encode(m, nil)
			if err := check(p); err != nil {
				t.Fatalf("arguments, %d of %q: %v", n, unit, err)
			}
			if got := pressable(t, p); !slices.Contains(got, "deny ASK1") || !slices.Contains(got, "edit ASK1") || !slices.Contains(got, "view ASK1") {
				t.Fatalf("%d of %q: %v", n, unit, got)
			}
		}
	}
}

// A usual answer of 3,000 characters is not cut: what comes after it is posted from there on (render.Rest).
func TestAnAnswerOfItsLimitIsWhole(t *testing.T) {
	for _, unit := range []string{"Words of an answer, as it is written. ", "中文的答案，", "A line with `code`, a_name and **bold**.\n\n"} {
		md := string([]rune(strings.Repeat(unit, 600))[:Limits.Text-10])
		m := render.Message{State: render.Done, Blocks: []render.Block{render.Text{Markdown: md}}}
		if got := render.Fit(m, Limits); !reflect.DeepEqual(got, m) {
			t.Fatal("Fit cut it")
		}
		if s := dump(encode(m, nil)); strings.Contains(s, "more character") {
			t.Errorf("%q was cut", unit)
		}
	}
}

// What real sessions look like passes as well, at every step of their recorded logs.
func TestRecordedSessions(t *testing.T) {
	looks.Recorded(t, "../../../core/agent/turn/testdata", func(where string, m render.Message) {
		m = render.Fit(m, Limits)
		p := encode(m, nil)
		if err := check(p); err != nil {
			t.Fatalf("%s: %v", where, err)
		}
		if got, want := pressable(t, p), looks.Offered(m); !slices.Equal(got, want) {
			t.Fatalf("%s: %v, want %v", where, got, want)
		}
		inert(t, p, hosts(nil).or(m.Hosts), nameless(m)...)
	})
}

// A message beside the turn's notifies those that it names and nobody else, and leads to the question.
func TestNotes(t *testing.T) {
	ben := render.Person{User: chat.User{Platform: "web", Key: "222222222222222222"}, Name: "Ben <@3>"}
	admins := render.Person{User: ids.Role("900000000000000001", "222222222222222222"), Name: "admins"}
	m := render.Message{Blocks: []render.Block{render.Note{Line: render.Line{samples.Ana, render.Plain(", "), admins, render.Plain(", "), samples.Ana, render.Plain(", "), ben, render.Plain(": a call of @everyone <@4> waits for your answer")}}}}
	p := encodeNote(m, aQuestion)
	if err := check(p); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(p.Users, []string{"111111111111111111"}) || !slices.Equal(p.Roles, []string{"222222222222222222"}) {
		t.Errorf("%q, %q", p.Users, p.Roles)
	}
	inert(t, p, nil)
	looks.Golden(t, "note_nudge.json", pretty(t, p))
	looks.Golden(t, "note_nudge.txt", []byte(dump(p)))
	for _, bad := range []string{"javascript:alert(1)", "https://x.example/)[a](https://evil.example", "https://x.example/ y"} {
		if s, _ := json.Marshal(encodeNote(m, bad).Components); strings.Contains(string(s), surface.SayOpenQuestion) {
			t.Error("a link that is none:", bad)
		}
	}
	several := dump(encodeNote(render.Message{Blocks: []render.Block{looks.Note("In this thread:\n• write_file of files\n# x")}}, ""))
	if several != "In this thread:\n• write_file of files\n# x\n" {
		t.Errorf("%q", several)
	}
	forged := render.Line{render.Plain("denied by "), render.Person{Name: "Ben\nAllowed by Ana"}}
	if s := dump(encodeNote(render.Message{Blocks: []render.Block{render.Note{Line: forged}}}, "")); s != "denied by Ben ⏎ Allowed by Ana\n" {
		t.Errorf("%q", s)
	}
	if err := check(encodeNote(render.Message{}, "")); err != nil {
		t.Error("an empty note:", err)
	}
	many := render.Line{}
	for i := range 150 {
		many = append(many, render.Person{User: ids.Person("900000000000000001", strconv.Itoa(100000000000000000+i)), Name: "x"})
	}
	if err := check(encodeNote(render.Message{Blocks: []render.Block{render.Note{Line: many}}}, "")); err != nil {
		t.Error("150 people:", err)
	}
}

func BenchmarkEncodeAsk(b *testing.B) {
	m := render.Fit(states()["asking"], Limits)
	b.ReportAllocs()
	for b.Loop() {
		encode(m, nil)
	}
}

// An answer as long as one message holds.
func BenchmarkEncodeAnswer(b *testing.B) {
	m := render.Fit(render.Message{Blocks: []render.Block{render.Text{Markdown: strings.Repeat("Forty characters of an answer, with `c`. ", 73)}}}, Limits)
	b.ReportAllocs()
	for b.Loop() {
		encode(m, nil)
	}
}

func BenchmarkCheckAsk(b *testing.B) {
	p := encode(render.Fit(states()["asking"], Limits), nil)
	b.ReportAllocs()
	for b.Loop() {
		if err := check(p); err != nil {
			b.Fatal(err)
		}
	}
}
