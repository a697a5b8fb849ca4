package slack

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/nodhq/nod/adapters/slack/blocks"
	"github.com/nodhq/nod/adapters/slack/inbound"
	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/render"
	"github.com/nodhq/nod/tests/standins/fakeslack"
)

func note(say string) render.Message {
	return render.Message{Blocks: []render.Block{render.Note{Line: render.Line{render.Plain(say)}}}}
}

func TestHandlesAreReadBack(t *testing.T) {
	for _, e := range []recipient{
		{"", "https://hooks.slack.com/a?b=c&d=%20", "C1", "1.1", "U1"},
		{"", "", "C1", "", "U1"},
		{"T1", "https://x.example/&channel=C2", "", "", ""},
	} {
		if got := recipientOf((&Adapter{self: inbound.Self{Team: e.team}}).privately(e.url, e.channel, e.thread, e.user)); got != e {
			t.Errorf("%+v became %+v", e, got)
		}
	}
}

func TestWhisperBesideTheThread(t *testing.T) {
	r := newRoom(t, fakeslack.Options{})
	if err := r.tell(r.ctx, r.privately("", "C1", r.place.Thread, "UANA"), "Only Ana can decide this."); err != nil {
		t.Fatal(err)
	}
	got := r.slack.Ephemerals("UANA")
	if len(got) != 1 || got[0].Thread != r.place.Thread || !strings.Contains(got[0].Text, "Only Ana can decide this.") {
		t.Fatalf("she saw %+v", got)
	}
	if v := r.slack.Calls("chat.postEphemeral")[0].Values; v.Has("unfurl_links") || v.Has("unfurl_media") {
		t.Errorf("sent %v", v)
	}
	if s := r.budget.of(r.place.Team + "/chat.postEphemeral"); len(s) != 1 || s[0].Limit != 100 {
		t.Errorf("spent %+v", s)
	}
	if len(r.bots()) > 0 {
		t.Error("everybody sees it")
	}
}

func TestWhisperToNobody(t *testing.T) {
	r := newRoom(t, fakeslack.Options{})
	for _, h := range []chat.ReplyHandle{{}, {Platform: "web", Key: "channel=C1&user=UANA"}, {Platform: Platform, Key: "%zz"}, {Platform: Platform, Key: "channel=C1"}, {Platform: Platform, Key: "user=UANA"}} {
		if pe := fault(t, r.Whisper(r.ctx, h, note("x"))); pe.Kind != agent.FaultGone || len(r.slack.Calls("chat.postEphemeral")) > 0 {
			t.Errorf("%+v: %v", h, pe)
		}
	}
}

func TestAnnotate(t *testing.T) {
	r := newRoom(t, fakeslack.Options{})
	beside := r.post(answering("a"))
	ana := render.Line{render.Person{User: userOf(r.place.Team, "UANA"), Name: "Ana"}, render.Plain(", something waits for you.")}
	ref, err := r.Annotate(r.ctx, r.id, beside, "nudge", render.Message{State: render.Waiting, Blocks: []render.Block{render.Note{Line: ana}}}, true)
	if err != nil {
		t.Fatal(err)
	}
	m := r.shown(ref)
	if m.Thread != r.place.Thread || m.Unfurl.Links || m.Unfurl.Media {
		t.Errorf("got %+v", m)
	}
	if !strings.Contains(string(m.Metadata), `"nod_note"`) || !strings.Contains(string(m.Metadata), `"nudge"`) {
		t.Errorf("metadata %s", m.Metadata)
	}
	if got, found, err := r.Seek(r.ctx, r.id, "nudge"); got != ref || !found || err != nil {
		t.Errorf("sought: %q, %v, %v", got, found, err)
	}
	if err := r.Remove(r.ctx, r.id, ref); err != nil {
		t.Fatal(err)
	}
	if !r.shown(ref).Deleted {
		t.Error("it is still there")
	}
	if err := r.Remove(r.ctx, r.id, ref); err != nil {
		t.Errorf("one that is not there: %v", err)
	}
	r.slack.Fail("chat.delete", 1, fakeslack.Fault{Error: "cant_delete_message"})
	if pe := fault(t, r.Remove(r.ctx, r.id, beside)); pe.Kind != agent.FaultForbidden {
		t.Error(pe)
	}
}

// The rest of a long answer is not cut again.
func TestAnnotateTheRest(t *testing.T) {
	r := newRoom(t, fakeslack.Options{})
	rest := render.Message{State: render.Done, Blocks: []render.Block{
		render.Note{Line: render.Line{render.Plain("continued")}},
		render.Text{Markdown: strings.Repeat("words and words. ", blocks.Limits.Text/20) + "the very end"},
	}}
	ref, err := r.Annotate(r.ctx, r.id, r.post(answering("a")), "rest-0", render.Fit(rest, r.Limits()), false)
	if err != nil {
		t.Fatal(err)
	}
	if m := r.shown(ref); !strings.Contains(string(m.Blocks), "the very end") {
		t.Errorf("%d characters are left of it", len(m.Blocks))
	}
}

// The link is what Slack itself gives for the message.
func TestPermalink(t *testing.T) {
	r := newRoom(t, fakeslack.Options{})
	beside := r.post(answering("a"))
	var theirs struct {
		Permalink string `json:"permalink"`
	}
	if err := r.form(r.ctx, "chat.getPermalink", url.Values{"channel": {"C1"}, "message_ts": {string(beside)}}, &theirs); err != nil {
		t.Fatal(err)
	}
	got, err := url.Parse(r.permalink(r.place, beside))
	if err != nil {
		t.Fatal(err)
	}
	want, _ := url.Parse(theirs.Permalink)
	if got.RequestURI() != want.RequestURI() {
		t.Errorf("got %s, want %s", got, want)
	}
	if !strings.HasPrefix(got.String(), strings.TrimSuffix(r.self.URL, "/")+"/archives/C1/p") {
		t.Errorf("%s is not in the workspace %s", got, r.self.URL)
	}
}

// hook is the response_url of a click on a message of the bot's.
func (r *room) hook(ref chat.MessageRef) string {
	r.t.Helper()
	d, err := r.slack.Press("UANA", "C1", string(ref), fakeslack.Button{ActionID: "x", Type: "button", Text: "x"})
	if err != nil {
		r.t.Fatal(err)
	}
	var click struct {
		URL string `json:"response_url"`
	}
	if err := json.Unmarshal(d.Payload, &click); err != nil || click.URL == "" {
		r.t.Fatalf("%v in %s", err, d.Payload)
	}
	r.remember(messageAt{"C1", string(ref)}, click.URL)
	return click.URL
}

func TestDecisionsGoOutThroughTheClick(t *testing.T) {
	r := newRoom(t, fakeslack.Options{})
	ref := r.post(asking("ask"))
	r.hook(ref)
	r.edit(ref, answering("progress"), agent.Progress)
	r.edit(ref, answering("allowed once by Ana"), agent.Decision)
	r.edit(ref, finished("done"), agent.Final)
	var via []string
	for _, v := range r.shown(ref).Versions {
		via = append(via, v.Via)
	}
	if got := strings.Join(via, " "); got != "chat.postMessage chat.update response_url response_url" {
		t.Errorf("it was drawn by %s", got)
	}
	// One call for the progress; of the end the budget only hears, so that nothing is kept in reserve for it.
	if s := r.budget.of(r.updatePool()); len(s) != 2 || s[0].Lane != agent.Progress || s[0].Ends || s[1].Limit != 0 || !s[1].Ends || s[1].Message != "C1/"+string(ref) {
		t.Errorf("spent %+v", s)
	}
	m := r.shown(ref)
	if len(m.JSON()) == 0 || m.Text == "" {
		t.Errorf("text %q, blocks %s", m.Text, m.Blocks)
	}
}

func TestAfterFiveUsesByUpdate(t *testing.T) {
	r := newRoom(t, fakeslack.Options{})
	ref := r.post(asking("ask"))
	r.hook(ref)
	for i := range 6 {
		r.edit(ref, answering(strings.Repeat("x", i+1)), agent.Decision)
	}
	if n, m := len(r.slack.Calls("response_url")), len(r.slack.Calls("chat.update")); n != 5 || m != 1 || strings.Contains(r.log.String(), "does not take an edit") {
		t.Errorf("%d through the click and %d by chat.update; the log:\n%s", n, m, r.log)
	}
}

func TestAfterHalfAnHourByUpdate(t *testing.T) {
	r := newRoom(t, fakeslack.Options{})
	ref := r.post(asking("ask"))
	r.hook(ref)
	r.pass(30 * time.Minute)
	r.edit(ref, answering("x"), agent.Decision)
	if n, m := len(r.slack.Calls("response_url")), len(r.slack.Calls("chat.update")); n != 0 || m != 1 {
		t.Errorf("%d through the click and %d by chat.update", n, m)
	}
}

func TestAClickThatFailsFallsBackToUpdate(t *testing.T) {
	for _, f := range []fakeslack.Fault{{Error: "expired_url"}, {Status: 404}, {Status: 500}, {Cut: true}, {CutAfter: true}, {RetryAfter: time.Second}} {
		r := newRoom(t, fakeslack.Options{})
		ref := r.post(asking("ask"))
		r.hook(ref)
		r.slack.Fail("response_url", 1, f)
		r.edit(ref, answering("decided"), agent.Decision)
		if m := r.shown(ref); m.Via != "chat.update" || !strings.Contains(string(m.Blocks)+m.Text, "decided") {
			t.Errorf("%+v: drawn by %s: %s", f, m.Via, m.Text)
		}
		if strings.Contains(r.log.String(), "/actions/") {
			t.Errorf("the log holds the address: %s", r.log)
		}
	}
}

func TestWhisperThroughTheClick(t *testing.T) {
	r := newRoom(t, fakeslack.Options{})
	ref := r.post(asking("ask"))
	link := r.hook(ref)
	h := r.privately(link, "C1", r.place.Thread, "UANA")
	for range 6 {
		if err := r.tell(r.ctx, h, "Already denied by Ben."); err != nil {
			t.Fatal(err)
		}
	}
	if n, m := len(r.slack.Calls("response_url")), len(r.slack.Calls("chat.postEphemeral")); n != 5 || m != 1 {
		t.Errorf("%d through the click and %d beside the thread", n, m)
	}
	if v := r.slack.Calls("response_url")[0].Values; v.Get("response_type") != "ephemeral" || v.Get("replace_original") != "false" {
		t.Errorf("sent %v", v)
	}
	for _, e := range r.slack.Ephemerals("UANA") {
		if e.Thread != r.place.Thread {
			t.Errorf("it stands in thread %q", e.Thread)
		}
	}
	if m := r.shown(ref); len(m.Versions) != 1 {
		t.Errorf("the message was changed by %s", m.Via)
	}
	r.edit(ref, answering("x"), agent.Decision)
	if m := r.shown(ref); m.Via != "chat.update" {
		t.Errorf("drawn by %s: whispers use up the same five", m.Via)
	}
	if err := r.tell(r.ctx, r.privately(link, "", "", ""), "x"); fault(t, err).Kind != agent.FaultGone {
		t.Errorf("got %v", err)
	}
}
