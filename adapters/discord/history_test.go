package discord

import (
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/nodhq/nod/adapters/discord/ids"
	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/text"
	"github.com/nodhq/nod/tests/standins/fakediscord"
	"github.com/nodhq/nod/tests/suites/conformance"
)

// said is what a message brings of what was said before, each as "name: text".
func (p *parlor) context(id string) (all []string) {
	p.t.Helper()
	p.until("it is taken", func() bool { return p.tookMessage(id) })
	for _, in := range p.ledger.got() {
		if s, ok := in.(chat.Said); ok && string(s.Message) == id {
			for _, q := range p.heard(s) {
				all = append(all, q.Name+": "+q.Text)
			}
		}
	}
	return all
}

// heard is what the model reads of others with a message.
func (p *parlor) heard(said chat.Said) []chat.Quote {
	return conformance.Heard(p.ctx, p.a, said, slog.New(slog.NewTextHandler(p.log, nil)))
}

func TestAStrangeThreadIsImportedOnce(t *testing.T) {
	p := newParlor(t)
	robot := p.AddUser(fakediscord.User{Name: "robot", Bot: true})
	start := p.Say(p.ben, p.general, "the disk is full")
	thread := p.CreateThread(p.ben, p.general, start, "disk")
	question := p.Say(p.ana, thread, "<@"+p.ben+"> which one?")
	p.Post(fakediscord.Post{User: robot, Channel: thread, Embeds: []any{map[string]any{"title": "db1: 99 %"}}})
	if _, err := p.a.Post(p.ctx, p.in(thread), "own", inWords("of the bot itself")); err != nil {
		t.Fatal(err)
	}
	p.Post(fakediscord.Post{User: p.ana, Channel: thread, Type: 4, Text: "renamed"})
	got := p.context(p.Reply(p.ana, thread, question, p.bot()+" help us")) // to what is there anyway
	if want := []string{"Ben: the disk is full", "robot: **db1: 99 %**", "Ana: @Ben which one?"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	if s := p.heard(p.ledger.got()[0].(chat.Said)); s[0].By != p.user(p.ben) || !s[1].By.IsZero() {
		t.Errorf("%+v", s)
	}
	if got := p.context(p.Say(p.ana, thread, p.bot()+" again")); got != nil {
		t.Errorf("and again: %q", got)
	}
}

func TestWithoutHistoryTheMessageGoesInAllTheSame(t *testing.T) {
	p := newParlor(t)
	thread := p.CreateThread(p.ben, p.general, p.Say(p.ben, p.general, "the disk is full"), "disk")
	p.Say(p.ana, thread, "before")
	p.Fail(fakediscord.GetMessages, 9, fakediscord.Fault{Status: http.StatusForbidden})
	question := p.Say(p.ana, thread, p.bot()+" help us")
	p.until("it is taken", func() bool { return p.tookMessage(question) })
	if n := len(p.Calls(fakediscord.GetMessages)); n != 0 {
		t.Errorf("it waited for %d calls", n)
	}
	if got := p.context(question); !slices.Equal(got, []string{"nod: " + text.EarlierUnread}) || len(p.Calls(fakediscord.GetMessages)) != 1 {
		t.Errorf("%q, after %d calls", got, len(p.Calls(fakediscord.GetMessages)))
	}
}

// What nobody could tell apart is no part of a thread.
func TestMessagesWithoutAnIDAreLeftOut(t *testing.T) {
	page := "[" + strings.TrimSuffix(strings.Repeat(`{"content":"x","author":{"id":"4"}},`, surface.MaxQuotes), ",") + "]"
	a, _ := outward(t, Config{APIURL: serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(page)) })})
	if got, err := a.Earlier(t.Context(), ids.Place{Guild: "1", Channel: "2", Thread: "3"}.Chat(), "9", chat.Earlier{}); got != nil || err != nil {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestALongThreadIsCutInTheMiddle(t *testing.T) {
	p := newParlor(t)
	start := p.Say(p.ben, p.general, "the first")
	thread := p.CreateThread(p.ben, p.general, start, "long")
	for i := range surface.MaxQuotes + 20 {
		p.Say(p.ana, thread, fmt.Sprint("message ", i))
	}
	got := p.context(p.Say(p.ana, thread, p.bot()+" help us"))
	if len(got) != surface.MaxQuotes+2 || got[0] != "Ben: the first" || !strings.Contains(got[1], "left out") || got[len(got)-1] != fmt.Sprint("Ana: message ", surface.MaxQuotes+19) {
		t.Errorf("%d: %q", len(got), got)
	}
	p.Say(p.ben, thread, "one more")
	if got := p.context(p.Say(p.ana, thread, p.bot()+" and now?")); !slices.Equal(got, []string{"Ben: one more"}) {
		t.Errorf("nothing is left out: %q", got)
	}
}

func TestWhatIsRepliedToIsQuoted(t *testing.T) {
	p := newParlor(t)
	of := p.Say(p.ben, p.general, "deploy failed")
	if got := p.context(p.Reply(p.ana, p.general, of, p.bot()+" what now?")); !slices.Equal(got, []string{"Ben: deploy failed"}) {
		t.Errorf("%q", got)
	}
	at := ids.Place{Guild: p.Guild(), Channel: p.general, Thread: ""}
	ref, err := p.a.Post(p.ctx, at.Chat(), "own", inWords("deploying"))
	if err != nil {
		t.Fatal(err)
	}
	if got := p.context(p.Reply(p.ana, p.general, string(ref), "and this?")); len(got) != 1 || !strings.Contains(got[0], "deploying") {
		t.Errorf("%q", got) // a new thread, which does not know what was said in the channel
	}
	dm := p.OpenDM(p.ana)
	p.context(p.Say(p.ana, dm, "hello"))
	own, err := p.a.Post(p.ctx, ids.Place{Guild: "", Channel: dm, Thread: ""}.Chat(), "own2", inWords("hello Ana"))
	if err != nil {
		t.Fatal(err)
	}
	if got := p.context(p.Reply(p.ana, dm, string(own), "thanks")); got != nil {
		t.Errorf("%q", got) // its own words are in the chat already
	}
	if got := p.context(p.Reply(p.ana, dm, p.Say(p.ana, dm, "and you?"), "I asked you this")); !slices.Equal(got, []string{"Ana: and you?"}) {
		t.Errorf("%q", got)
	}
	if got := p.context(p.Reply(p.ana, p.general, p.Post(fakediscord.Post{User: p.ben, Channel: p.general}), p.bot()+" of nothing that can be read")); got != nil {
		t.Errorf("%q", got)
	}
}

// An alert is mostly embeds; a person forwards, attaches, asks in polls. All of it is read, and none of it is the requester's own words.
func TestAllThatStandsAboveAMentionIsRead(t *testing.T) {
	p := newParlor(t)
	robot := p.AddUser(fakediscord.User{Name: "robot", Bot: true})
	start := p.Post(fakediscord.Post{User: robot, Channel: p.general, Text: "FIRING", Embeds: []any{map[string]any{
		"author": map[string]any{"name": "Grafana"}, "title": "Disk full", "url": "https://grafana.example/d/1", "description": "db1 is at 99 %",
		"fields": []any{map[string]any{"name": "host", "value": "db1"}}, "image": map[string]any{"url": "https://grafana.example/g.png"}, "footer": map[string]any{"text": "since 12:03"}}}})
	thread := p.CreateThread(p.ben, p.general, start, "disk")
	p.Post(fakediscord.Post{Webhook: "deploys", Channel: thread, Components: []any{map[string]any{"type": 17, "components": []any{map[string]any{"type": 10, "content": "**v2** is out"}}}}})
	p.Post(fakediscord.Post{User: p.ben, Channel: thread, Text: "the log\u202e", Files: []fakediscord.Attachment{{Name: "db1.log", Size: 20_480, Type: "text/plain"}}})
	far := p.Say(p.ben, thread, "was it `cron`?")
	p.Post(fakediscord.Post{User: p.ben, Channel: thread, Forward: far})
	p.Post(fakediscord.Post{User: p.ben, Channel: thread, Poll: map[string]any{"question": map[string]any{"text": "roll back?"},
		"answers": []any{map[string]any{"answer_id": 1, "poll_media": map[string]any{"text": "yes"}}, map[string]any{"answer_id": 2, "poll_media": map[string]any{"text": "no"}}}}})
	got := p.context(p.Say(p.ana, thread, p.bot()+" help us"))
	want := []string{
		"robot: FIRING\nGrafana\n**Disk full** (https://grafana.example/d/1)\ndb1 is at 99 %\nhost: db1\n[picture: https://grafana.example/g.png]\nsince 12:03",
		"deploys: **v2** is out",
		"Ben: the log\\u{202E}\n[file db1.log, 20 KB; nod cannot read it]",
		"Ben: was it `cron`?",
		"Ben: > [forwarded]\n> was it `cron`?",
		"Ben: [poll: roll back? / yes / no]",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n--\n"), strings.Join(want, "\n--\n"))
	}
	if n := len(p.Calls(fakediscord.GetMessage)); n != 0 {
		t.Errorf("%d calls for the message that the thread hangs on, to which the thread's own first one points", n)
	}
	if said := onlyOne[chat.Said](p); said.Text != "help us" {
		t.Errorf("what others wrote is among her words: %q", said.Text)
	}
}

func TestAForwardWithoutWordsIsNoCryForHelp(t *testing.T) {
	p := newParlor(t)
	dm := p.OpenDM(p.ana)
	p.context(p.Say(p.ana, dm, "hello"))
	own := p.Say(p.ana, dm, "deploy failed")
	got := p.context(p.Post(fakediscord.Post{User: p.ana, Channel: dm, Forward: own}))
	if !slices.Equal(got, []string{"a forwarded message: deploy failed"}) || p.ledger.texts()[2] != surface.SayQuotedAlone {
		t.Errorf("%q, with %q", p.ledger.texts(), got)
	}
}
