package slack

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nodhq/nod/adapters/slack/inbound"
	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/tests/standins/fakeslack"
)

const postSecret = "8f742231b10e8888abcd99yyyzzz85a5"

// signedRequest is a request as Slack signs it, at a time.
func signedRequest(path, body, secret string, at time.Time) *http.Request {
	r := httptest.NewRequest(http.MethodPost, path, strings.NewReader(body))
	r.Header.Set("X-Slack-Request-Timestamp", strconv.FormatInt(at.Unix(), 10))
	r.Header.Set("X-Slack-Signature", fakeslack.Sign(secret, at.Unix(), []byte(body)))
	return r
}

// postbox is an adapter that is known and open, without a Slack behind it: users.info fails at once.
func postbox(t testing.TB, l *ledger, log *lines) (*Adapter, http.Handler) {
	t.Helper()
	gone := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(gone.Close)
	a, err := New(Config{BotToken: testToken, SigningSecret: postSecret, APIURL: gone.URL + "/", Engine: l, Asks: l, Logger: log.logger()})
	if err != nil {
		t.Fatal(err)
	}
	a.self = testSelf
	close(a.introduced)
	a.in.lanes.Open()
	t.Cleanup(a.in.lanes.Close)
	return a, a.Handler()
}

func serve(h http.Handler, r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func payloadOf(t testing.TB, name string) string {
	t.Helper()
	raw, err := os.ReadFile("testdata/inbound/" + name + ".json")
	if err != nil {
		t.Fatal(err)
	}
	var small bytes.Buffer
	if err := json.Compact(&small, raw); err != nil {
		t.Fatal(err)
	}
	return small.String()
}

func TestRequestsThatSlackDidNotSignAreRefused(t *testing.T) {
	body := payloadOf(t, "app_mention")
	now := time.Now()
	set := func(r *http.Request, k, v string) *http.Request { r.Header.Set(k, v); return r }
	ok := func() *http.Request { return signedRequest(PathEvents, body, postSecret, now) }
	changed := ok()
	changed.Body = io.NopCloser(strings.NewReader(strings.Replace(body, "read notes.txt", "read other.txt", 1)))
	for name, x := range map[string]struct {
		r    *http.Request
		want int
	}{
		"another secret":   {signedRequest(PathEvents, body, "other", now), http.StatusUnauthorized},
		"no secret":        {signedRequest(PathEvents, body, "", now), http.StatusUnauthorized},
		"old":              {signedRequest(PathEvents, body, postSecret, now.Add(-6*time.Minute)), http.StatusUnauthorized},
		"from the future":  {signedRequest(PathEvents, body, postSecret, now.Add(6*time.Minute)), http.StatusUnauthorized},
		"another time":     {set(ok(), "X-Slack-Request-Timestamp", strconv.FormatInt(now.Unix()-1, 10)), http.StatusUnauthorized},
		"no time":          {set(ok(), "X-Slack-Request-Timestamp", ""), http.StatusUnauthorized},
		"odd time":         {set(ok(), "X-Slack-Request-Timestamp", "now"), http.StatusUnauthorized},
		"no signature":     {set(ok(), "X-Slack-Signature", ""), http.StatusUnauthorized},
		"short signature":  {set(ok(), "X-Slack-Signature", "v0=00"), http.StatusUnauthorized},
		"other version":    {set(ok(), "X-Slack-Signature", "v1="+strings.Repeat("0", 64)), http.StatusUnauthorized},
		"not a hex number": {set(ok(), "X-Slack-Signature", "v0="+strings.Repeat("z", 64)), http.StatusUnauthorized},
		"changed body":     {changed, http.StatusUnauthorized},
		"oversized":        {signedRequest(PathEvents, body+strings.Repeat(" ", maxBody), postSecret, now), http.StatusRequestEntityTooLarge},
		"GET":              {httptest.NewRequest(http.MethodGet, PathEvents, nil), http.StatusMethodNotAllowed},
		"another path":     {signedRequest("/slack/else", body, postSecret, now), http.StatusNotFound},
		"signed":           {ok(), http.StatusOK},
	} {
		t.Run(name, func(t *testing.T) {
			l, log := newLedger(), &lines{}
			_, h := postbox(t, l, log)
			w := serve(h, x.r)
			if w.Code != x.want {
				t.Errorf("status %d, want %d", w.Code, x.want)
			}
			if x.want == http.StatusOK {
				if len(l.got()) != 1 {
					t.Error("a signed event was not taken")
				}
				return
			}
			if len(l.asked()) != 0 {
				t.Error("it was taken")
			}
			if x.want == http.StatusUnauthorized && w.Body.Len() > 0 {
				t.Errorf("the answer says more than it should: %q", w.Body)
			}
			if strings.Contains(log.String(), postSecret) || strings.Contains(log.String(), "notes.txt") {
				t.Errorf("the log says more than it should: %s", log)
			}
		})
	}
}

func TestURLVerificationIsAnsweredBeforeRun(t *testing.T) {
	a, err := New(Config{BotToken: testToken, SigningSecret: postSecret, Engine: newLedger(), Asks: newLedger()})
	if err != nil {
		t.Fatal(err)
	}
	w := serve(a.Handler(), signedRequest(PathEvents, `{"token":"x","challenge":"3eZbrw1aB","type":"url_verification"}`, postSecret, time.Now()))
	var got map[string]string
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil || w.Code != http.StatusOK || got["challenge"] != "3eZbrw1aB" {
		t.Errorf("%d %s", w.Code, w.Body)
	}
	if w := serve(a.Handler(), signedRequest(PathEvents, payloadOf(t, "message_im"), postSecret, time.Now())); w.Code != http.StatusServiceUnavailable {
		t.Errorf("an event before Run: status %d", w.Code)
	}
}

func TestThereIsNoHandlerInSocketMode(t *testing.T) {
	a, err := New(Config{BotToken: testToken, AppToken: "xapp-1", SigningSecret: postSecret, Engine: newLedger(), Asks: newLedger()})
	if err != nil {
		t.Fatal(err)
	}
	if a.Handler() != nil {
		t.Error("deliveries over HTTP are taken beside the sockets")
	}
}

func TestWhatNobodyUnderstandsIsNotSentAgain(t *testing.T) {
	for path, bodies := range map[string][]string{
		PathEvents:        {``, `[]`, `{"type":`, `{"type":"invented_in_2031"}`, `{"type":"app_rate_limited"}`, `{"type":"event_callback","event":17}`, `{"type":"event_callback","event":{"type":"invented"}}`},
		PathInteractivity: {``, `payload=`, `payload=[]`, `%zz`, `payload=` + url.QueryEscape(`{"type":"invented_in_2031"}`)},
		PathCommands:      {`%zz`, `ssl_check=1`},
	} {
		for _, body := range bodies {
			l := newLedger()
			log := &lines{}
			_, h := postbox(t, l, log)
			if w := serve(h, signedRequest(path, body, postSecret, time.Now())); w.Code != http.StatusOK || len(l.asked()) > 0 {
				t.Errorf("%s %q: status %d, %d taken", path, body, w.Code, len(l.asked()))
			}
			unclear := !strings.Contains(body, "ssl_check") && !strings.Contains(body, "app_rate_limited") && !strings.Contains(body, `"invented"`) && !strings.Contains(body, "payload=%7B")
			if strings.Contains(log.String(), "is dropped") != unclear || strings.Contains(body, "rate_limited") && !strings.Contains(log.String(), "holds events back") {
				t.Errorf("%s %q: the log:\n%s", path, body, log)
			}
		}
	}
}

func TestAnEventThatIsNotRecordedIsSentAgain(t *testing.T) {
	l := newLedger()
	l.fail = func(chat.Inbound) error { return errDown }
	_, h := postbox(t, l, &lines{})
	if w := serve(h, signedRequest(PathEvents, payloadOf(t, "message_im"), postSecret, time.Now())); w.Code != http.StatusServiceUnavailable {
		t.Errorf("status %d", w.Code)
	}
	l.set(func() { l.fail = nil })
	r := signedRequest(PathEvents, payloadOf(t, "message_im"), postSecret, time.Now())
	r.Header.Set("X-Slack-Retry-Num", "3")
	r.Header.Set("X-Slack-Retry-Reason", "http_error")
	if w := serve(h, r); w.Code != http.StatusOK || len(l.got()) != 1 {
		t.Errorf("the last retry: status %d, %d taken", w.Code, len(l.got()))
	}
}

// Slack waits three seconds: recording has less.
func TestRecordingIsBounded(t *testing.T) {
	l := newLedger()
	_, h := postbox(t, l, &lines{})
	serve(h, signedRequest(PathEvents, payloadOf(t, "message_im"), postSecret, time.Now()))
	if l.deadline.IsZero() || l.deadline.After(time.Now().Add(acceptWithin)) || acceptWithin >= ackWithin {
		t.Errorf("the deadline of Accept is %v", l.deadline)
	}
}

// What waited too long for its turn is left for Slack to send again, perhaps to a replica with less to do; a click is answered.
func TestWhatWaitedTooLong(t *testing.T) {
	l := newLedger()
	a, _ := postbox(t, l, &lines{})
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	e, err := inbound.DecodeEvent([]byte(payloadOf(t, "message_im")))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := a.serve(ctx, e); err == nil || len(l.asked()) > 0 {
		t.Error("an event is taken when it is too late to acknowledge it")
	}
	in, err := inbound.DecodeInteraction([]byte(`{"type":"block_actions","user":{"id":"UANA"},"actions":[{"action_id":"nod:deny:1","block_id":"b","value":"tok"}],"container":{"channel_id":"C1","message_ts":"1.2"}}`))
	if err != nil {
		t.Fatal(err)
	}
	if r, err := a.serve(ctx, in); err != nil || r.after == nil || len(l.got()) > 0 {
		t.Errorf("a click: %v, answered: %v", err, r.after != nil)
	}
}

// A message that the engine never takes must not come again and again.
func TestAMessageThatCannotBeTakenIsNotSentAgain(t *testing.T) {
	for _, hopeless := range []error{agent.ErrTooLong, agent.ErrNotText, agent.ErrEmpty, agent.ErrFull} {
		l := newLedger()
		l.fail = func(chat.Inbound) error { return hopeless }
		l.knows = func(chat.ID) (bool, error) { return true, nil }
		_, h := postbox(t, l, &lines{})
		for _, name := range []string{"message_im", "edited"} {
			if w := serve(h, signedRequest(PathEvents, payloadOf(t, name), postSecret, time.Now())); w.Code != http.StatusOK {
				t.Errorf("%s, %v: status %d", name, hopeless, w.Code)
			}
		}
		if len(l.asked()) != 2 {
			t.Errorf("%d asked", len(l.asked()))
		}
	}
}

// Where users.info fails, the signed envelope's word has to do: the message is not lost, and on every replica the author is the same.
func TestAMessageIsNotLostWhenSlackDoesNotSayWhoWroteIt(t *testing.T) {
	for name, want := range map[string]chat.User{"message_im": ana, "shared_channel": {Platform: Platform, Workspace: "T9", Key: "UEXT"}} {
		l := newLedger()
		_, h := postbox(t, l, &lines{})
		serve(h, signedRequest(PathEvents, payloadOf(t, name), postSecret, time.Now()))
		if got := l.got(); len(got) != 1 || got[0].From().User != want || got[0].(chat.Said).Standing != chat.Untold {
			t.Errorf("%s: taken %+v", name, got)
		}
	}
}

// The story over signed HTTP: a mention, a click, a command, with a repetition of each.
func TestOverHTTP(t *testing.T) {
	sc := newScene(t, overHTTP)
	sc.slack.Duplicate(2)
	ts := sc.slack.Say("UANA", "C1", "", "<@UBOT> hello")
	sc.quiet()
	only[chat.Said](sc)
	d, err := sc.slack.Press("UANA", "C1", ts, buttonFor(chat.AllowOnce, "tok1"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.Wait(sc.ctx); err != nil {
		t.Fatal(err)
	}
	if click, ok := sc.ledger.got()[1].(chat.Clicked); !ok || click.Token != "tok1" || click.User != ana {
		t.Errorf("%+v", sc.ledger.got()[1])
	}
	answer, err := sc.slack.Slash("UANA", "C1", "/nod", "help").Wait(sc.ctx)
	if err != nil || !strings.Contains(string(answer.Answer), `"response_type":"ephemeral"`) {
		t.Errorf("%s, %v", answer.Answer, err)
	}
}

func FuzzHandler(f *testing.F) {
	files, _ := filepath.Glob("testdata/inbound/*.json")
	for _, name := range files {
		raw, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(uint8(0), raw, true)
	}
	f.Add(uint8(1), []byte(`payload={"type":"block_actions","user":{"id":"U1"},"actions":[{"action_id":"nod:deny","block_id":"b","value":"x"}],"container":{"channel_id":"C1","message_ts":"1.2","attachment_id":""}}`), true)
	f.Add(uint8(1), []byte(`payload={"type":"view_submission","user":"U1","view":{"callback_id":"nod:edit","private_metadata":"{}"}}`), true)
	f.Add(uint8(2), []byte(`user_id=U1&channel_id=C1&text=stop`), true)
	f.Add(uint8(2), []byte(`user_id=U1`), false)
	paths := []string{PathEvents, PathInteractivity, PathCommands}
	l := newLedger()
	_, h := postbox(f, l, &lines{})
	f.Fuzz(func(t *testing.T, path uint8, body []byte, sign bool) {
		before := len(l.asked())
		secret := postSecret
		if !sign {
			secret = "another"
		}
		w := serve(h, signedRequest(paths[int(path)%len(paths)], string(body), secret, time.Now()))
		switch {
		case !sign && (w.Code != http.StatusUnauthorized || len(l.asked()) != before):
			t.Errorf("unsigned: status %d, %d taken", w.Code, len(l.asked())-before)
		case sign && w.Code != http.StatusOK && w.Code != http.StatusServiceUnavailable && w.Code != http.StatusRequestEntityTooLarge:
			t.Errorf("status %d", w.Code)
		case sign && int(path)%len(paths) != 0 && w.Code != http.StatusOK:
			t.Errorf("an interaction or a command was answered with %d", w.Code)
		}
	})
}

// Bolt's apps have one address for everything.
func TestEachAddressTakesEverything(t *testing.T) {
	for _, path := range []string{PathEvents, PathInteractivity, PathCommands} {
		sc := newScene(t, overHTTP)
		at := sc.web.URL + path
		if err := sc.slack.Deliver(fakeslack.Endpoints{Events: at, Interactivity: at, Commands: at}); err != nil {
			t.Fatal(err)
		}
		sc.slack.Say("UANA", "C1", "", "<@UBOT> hello")
		_, ts := sc.thread()
		sc.press("UANA", "C1", ts, buttonFor(chat.AllowOnce, "tok"))
		if got, err := sc.slack.Slash("UANA", "C1", "/nod", "help").Wait(sc.ctx); err != nil || !strings.Contains(string(got.Answer), "each thread is one chat") {
			t.Errorf("%s: %s, %v", path, got.Answer, err)
		}
		sc.quiet()
		if got := sc.ledger.got(); len(got) != 2 {
			t.Errorf("%s: taken %+v", path, got)
		}
	}
}
