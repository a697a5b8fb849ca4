package slack_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nodhq/nod/adapters/slack"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/tests/standins/fakeslack"
	"github.com/nodhq/nod/tests/suites/conformance"
)

// The conformance suite, through the real client and real sockets, over both transports.

func TestConformanceSocketMode(t *testing.T) {
	conformance.Platform(t, func(t *testing.T, in *conformance.Inbox, log *slog.Logger) conformance.Surface {
		return openConformance(t, in, log, false)
	})
}

func TestConformanceHTTP(t *testing.T) {
	conformance.Platform(t, func(t *testing.T, in *conformance.Inbox, log *slog.Logger) conformance.Surface {
		return openConformance(t, in, log, true)
	})
}

const (
	conformRoom  = "C0ROOM"
	conformOther = "U0OTHERBOT"
	// Distinctive, so that they are found wherever they turn up.
	conformBotToken = "xoxb-1111-s3cretB0TT0KEN"
	conformAppToken = "xapp-2222-s3cretAPPT0KEN"
	conformSigning  = "s3cretS1GNING0123456789abcdef"
)

var conformPeople = [2]string{conformance.Ana: "U0ANA", conformance.Ben: "U0BEN"}

// workspace is the stand-in behind one surface.
type workspace struct {
	*fakeslack.Server
	ctx     context.Context // of the levers' own waits: only a broken adapter sees its end
	t       *testing.T
	clock   *fakeslack.Manual
	adapter *slack.Adapter
	handler *httptest.Server // of signed HTTP; nil in Socket Mode
	client  *http.Client
	mu      sync.Mutex
	buttons []fakeslack.Button // what Button.Key counts
	passed  int
}

func openConformance(t *testing.T, in *conformance.Inbox, log *slog.Logger, overHTTP bool) conformance.Surface {
	w := &workspace{t: t, clock: fakeslack.NewManual(), client: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}}
	var cancel context.CancelFunc
	w.ctx, cancel = context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	w.Server = fakeslack.New(fakeslack.Options{Clock: w.clock, BotToken: conformBotToken, AppToken: conformAppToken, SigningSecret: conformSigning,
		Undescribed: t.Error})
	for _, id := range conformPeople {
		w.AddUser(fakeslack.User{ID: id, Name: strings.ToLower(id[2:])})
	}
	w.AddUser(fakeslack.User{ID: conformOther, Name: "other", Bot: true})
	w.AddChannel(fakeslack.Channel{ID: conformRoom, Members: []string{conformPeople[0], conformPeople[1], conformOther, w.BotUser()}})
	// One connection: what it brings back came in the order in which it was sent.
	c := slack.Config{BotToken: conformBotToken, APIURL: w.URL(), Engine: in, Asks: in, Logger: log, Connections: 1}
	if overHTTP {
		c.SigningSecret = conformSigning
	} else {
		c.AppToken = conformAppToken
	}
	a, err := slack.New(c)
	if err != nil {
		t.Fatal(err)
	}
	w.adapter = a
	if overHTTP {
		w.handler = httptest.NewServer(a.Handler())
	}
	s := conformance.Surface{
		Platform: a, Run: a.Run, Ready: w.ready, Over: slack.Hurry(a), Close: w.close, Budget: fakeslack.AckWithin, Secrets: w.secrets, Without: map[string]string{},
		Say: w.say, SayDirect: w.sayDirect, SayBot: w.sayBot, Edit: w.edit, Delete: w.takeBack, Press: w.press, Submit: w.submit, Details: w.details, SayAs: w.sayAs, PressAs: w.pressAs, Pass: w.pass, Retry: w.retry,
		Messages: w.messages, Look: w.look, Seen: w.seen, Wait: w.Wait, LinkTo: w.linkTo, Refusals: w.refusals, Trouble: w.trouble, Havoc: w.havoc, Lockout: w.lockout,
	}
	for i, id := range conformPeople {
		s.People[i] = chat.User{Platform: "slack", Workspace: w.Team(), Key: id}
	}
	if overHTTP {
		s.Forgeries = w.forgeries
	} else {
		s.Without["Forgeries"] = "the adapter opened the socket itself, over TLS and with its token: nobody else can write to it"
	}
	return s
}

func (w *workspace) ready(ctx context.Context) error {
	if w.handler == nil {
		return w.Wait(ctx, func() bool { return w.Connections() > 0 })
	}
	at := w.handler.URL
	if err := w.Deliver(fakeslack.Endpoints{Events: at + slack.PathEvents, Interactivity: at + slack.PathInteractivity, Commands: at + slack.PathCommands}); err != nil {
		return err
	}
	for { // until Run listens, deliveries are told to come again
		d := w.nothing("C0READY", "")
		if err := w.settled(ctx, d, 0); err != nil {
			return err
		}
		if acked(d) {
			return nil
		}
	}
}

func (w *workspace) close() {
	if w.handler != nil {
		w.handler.CloseClientConnections()
		w.handler.Close()
	}
	w.Server.Close()
}

// secrets: tokens, the addresses that may change a message, and the tickets of sockets.
func (w *workspace) secrets() []string {
	return []string{conformBotToken, conformAppToken, conformSigning, "s3cret", "/actions/", url.QueryEscape("/actions/"), "ticket-"}
}

// where is what a chat's ID stands for; it reads the ID itself, so that a wrong one leads nowhere.
func (w *workspace) where(in chat.ID) (channel, thread string) {
	if in.IsZero() {
		return conformRoom, ""
	}
	channel, thread, ok := strings.Cut(in.Key, "/")
	if in.Platform != "slack" || in.Workspace != w.Team() || !ok {
		w.t.Errorf("%v is no thread of this workspace", in)
	}
	return channel, thread
}

// typed is what Slack makes of what somebody types. https://docs.slack.dev/messaging/formatting-message-text/#escaping
func typed(text string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(text)
}

func (w *workspace) sayIn(user string, in chat.ID, text string) string {
	channel, thread := w.where(in)
	return w.Say(user, channel, thread, "<@"+w.BotUser()+"> "+typed(text))
}

func (w *workspace) say(by conformance.Who, in chat.ID, text string) *conformance.Delivered {
	return w.delivered(func() string { return w.sayIn(conformPeople[by], in, text) })
}

func (w *workspace) sayBot(in chat.ID, text string) *conformance.Delivered {
	return w.delivered(func() string {
		channel, thread := w.where(in)
		return w.Say(conformOther, channel, thread, "<@"+w.BotUser()+"> "+typed(text))
	})
}

func (w *workspace) edit(in chat.ID, ref chat.MessageRef, text string) *conformance.Delivered {
	return w.delivered(func() string {
		channel, _ := w.where(in)
		w.EditMessage(channel, string(ref), typed(text))
		return ""
	})
}

func (w *workspace) takeBack(in chat.ID, ref chat.MessageRef) *conformance.Delivered {
	return w.delivered(func() string {
		channel, _ := w.where(in)
		w.DeleteMessage(channel, string(ref))
		return ""
	})
}

func (w *workspace) press(by conformance.Who, in chat.ID, ref chat.MessageRef, b conformance.Button) *conformance.Delivered {
	return w.delivered(func() string {
		n, err := strconv.Atoi(b.Key)
		if err != nil {
			w.t.Fatalf("no button %q: %v", b.Key, err)
		}
		w.mu.Lock()
		pressed := w.buttons[n]
		w.mu.Unlock()
		channel, _ := w.where(in)
		if _, err := w.Press(conformPeople[by], channel, string(ref), pressed); err != nil {
			w.t.Fatal(err)
		}
		return ""
	})
}

// submit fills in the one input of the modal that a press opens.
func (w *workspace) submit(by conformance.Who, in chat.ID, ref chat.MessageRef, b conformance.Button, words string) *conformance.Delivered {
	user := conformPeople[by]
	w.press(by, in, ref, b)
	if err := w.Wait(w.ctx, func() bool { return len(w.Views(user)) > 0 }); err != nil {
		w.t.Fatalf("%s opens no form: %v", b.Label, err)
	}
	view := w.Views(user)[0]
	var blocks []struct {
		Type  string
		Block string `json:"block_id"`
	}
	if err := json.Unmarshal(view.Blocks, &blocks); err != nil {
		w.t.Fatal(err)
	}
	values := map[string]string{}
	for _, b := range blocks {
		if b.Type == "input" {
			values[b.Block] = words
		}
	}
	return w.delivered(func() string {
		if _, err := w.SubmitView(user, view.ID, values); err != nil {
			w.t.Fatal(err)
		}
		return ""
	})
}

// delivered follows what do sends to the app.
func (w *workspace) delivered(do func() string) *conformance.Delivered {
	from := len(w.Deliveries())
	ts := do()
	sent := w.Deliveries()[from:]
	return &conformance.Delivered{
		Message: chat.MessageRef(ts),
		Acked:   func() bool { return !slices.ContainsFunc(sent, func(d *fakeslack.Delivery) bool { return !acked(d) }) },
		Taken: func(ctx context.Context) error {
			for _, d := range sent {
				if _, err := d.Wait(ctx); err != nil {
					return err
				}
			}
			return nil
		},
		Again: func() {
			for _, d := range sent {
				n := len(d.Attempts())
				w.Redeliver(d, false)
				if err := w.settled(w.ctx, d, n); err != nil {
					w.t.Error(err)
				}
			}
		},
	}
}

func acked(d *fakeslack.Delivery) bool {
	return slices.ContainsFunc(d.Attempts(), func(a fakeslack.Attempt) bool { return !a.Acked.IsZero() && !a.Late })
}

// settled waits until it is known what came of an attempt.
func (w *workspace) settled(ctx context.Context, d *fakeslack.Delivery, attempt int) error {
	return w.Wait(ctx, func() bool {
		all := d.Attempts()
		return len(all) > attempt && (!all[attempt].Acked.IsZero() || all[attempt].Failed != "")
	})
}

// nothing sends another program's message, which the adapter has to leave alone.
func (w *workspace) nothing(channel, thread string) *fakeslack.Delivery {
	w.mu.Lock()
	w.passed++
	ts := fmt.Sprintf("1000000000.%06d", w.passed)
	w.mu.Unlock()
	e := map[string]any{"type": "message", "subtype": "bot_message", "bot_id": "B0PASSING", "channel": channel, "channel_type": "channel", "text": "passing by", "ts": ts, "event_ts": ts}
	if thread != "" {
		e["thread_ts"] = thread
	}
	return w.Send(e)
}

func (w *workspace) pass(ctx context.Context, in chat.ID) error {
	channel, thread := "C0PASSING", ""
	if !in.IsZero() {
		channel, thread = w.where(in)
	}
	_, err := w.nothing(channel, thread).Wait(ctx)
	return err
}

// retry: what was not acknowledged in three seconds is sent again at once.
func (w *workspace) retry() {
	if w.handler != nil { // an answer says so at once
		for _, d := range w.Deliveries() {
			if err := w.settled(w.ctx, d, len(d.Attempts())-1); err != nil {
				w.t.Fatal(err)
			}
		}
		w.clock.Advance(time.Millisecond)
		return
	}
	w.clock.Advance(fakeslack.AckWithin + time.Second)
}

func (w *workspace) trouble(m conformance.Mishap, _ chat.ID, ref chat.MessageRef, after time.Duration) {
	method, gone, forbidden := "chat.postMessage", "thread_not_found", "not_in_channel"
	if ref != "" {
		method, gone, forbidden = "chat.update", "message_not_found", "cant_update_message"
	}
	w.Fail(method, 1, faultFor(m, after, gone, forbidden))
}

func faultFor(m conformance.Mishap, after time.Duration, gone, forbidden string) fakeslack.Fault {
	return map[conformance.Mishap]fakeslack.Fault{
		conformance.Busy: {RetryAfter: after}, conformance.Down: {Status: http.StatusServiceUnavailable}, conformance.Cut: {Cut: true}, conformance.Lost: {CutAfter: true},
		conformance.Gone: {Error: gone}, conformance.Forbidden: {Error: forbidden},
	}[m]
}

func (w *workspace) havoc(n int, m conformance.Mishap) {
	var fault func(fakeslack.Call) *fakeslack.Fault
	if f := faultFor(m, time.Second, "message_not_found", "restricted_action"); n > 0 {
		fault = func(fakeslack.Call) *fakeslack.Fault { return &f }
	}
	w.FailWhen("", fault)
}

func (w *workspace) lockout() {
	for _, m := range []string{"auth.test", "apps.connections.open"} {
		w.FailWhen(m, func(fakeslack.Call) *fakeslack.Fault { return &fakeslack.Fault{Error: "invalid_auth"} })
	}
}

// refusals are the payloads that Slack did not take.
func (w *workspace) refusals() []string {
	var out []string
	for _, c := range w.Calls("chat.postMessage", "chat.update", "chat.postEphemeral", "response_url") {
		if c.Error != "" {
			out = append(out, c.Method+": "+c.Error)
		}
	}
	return out
}

// linkTo asks the stand-in, as the adapter does not. https://docs.slack.dev/reference/methods/chat.getPermalink
func (w *workspace) linkTo(in chat.ID, ref chat.MessageRef) string {
	channel, _ := w.where(in)
	var said struct{ Permalink, Error string }
	v := url.Values{"token": {conformBotToken}, "channel": {channel}, "message_ts": {string(ref)}}
	res, err := w.client.PostForm(w.URL()+"chat.getPermalink", v)
	if err == nil {
		defer func() { _ = res.Body.Close() }()
		err = json.NewDecoder(res.Body).Decode(&said)
	}
	if err = errors.Join(err, errorOf(said.Error)); err != nil {
		w.t.Fatal(err)
	}
	return said.Permalink
}

func errorOf(code string) error {
	if code == "" {
		return nil
	}
	return errors.New(code)
}
