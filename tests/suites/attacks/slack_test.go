package attacks

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nodhq/nod/adapters/slack"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/tests/standins/fakeslack"
)

// thread is a chat in Slack.
type thread struct {
	w       *world
	t       testing.TB
	channel string
	root    string
	looks   looks
}

// slackChannel makes a channel with everybody in it, and an onlooker of its own.
func (w *world) slackChannel() string {
	id := "C" + w.room()
	members := []string{w.slack.BotUser(), onlooker(id)}
	w.slack.AddUser(fakeslack.User{ID: onlooker(id), Name: "Onlooker"})
	for p, u := range inSlack {
		if p != nobody {
			members = append(members, u)
		}
	}
	w.slack.AddChannel(fakeslack.Channel{ID: id, Members: members, Shared: true})
	return id
}

func openThread(w *world, t testing.TB, text string) *thread {
	th := &thread{w: w, t: t, channel: w.slackChannel()}
	th.root = w.slack.Say(inSlack[ana], th.channel, "", "<@"+w.slack.BotUser()+"> "+text)
	return th
}

func (th *thread) surface() string { return "slack" }

func (th *thread) id() chat.ID {
	return chat.ID{Platform: slack.Platform, Workspace: th.w.slack.Team(), Key: th.channel + "/" + th.root}
}

func (th *thread) say(who person, text string) {
	if inSlack[who] == "" || who == nobody {
		return
	}
	th.w.slack.Say(inSlack[who], th.channel, th.root, "<@"+th.w.slack.BotUser()+"> "+text)
}

func (th *thread) shots() (out []shot) {
	for _, m := range th.w.slack.Messages(th.channel, th.root) {
		if m.User == th.w.slack.BotUser() {
			out = append(out, th.looks.at(m.TS, fmt.Sprint(len(m.Versions), m.Deleted, m.Text, string(m.Blocks)), func() shot { return th.shot(m) }))
		}
	}
	return out
}

func (th *thread) shot(m fakeslack.Message) shot {
	s := shot{ref: m.TS, raw: m.Text + "\n" + string(m.Blocks), text: slackText(m.Version)}
	for _, b := range th.w.slack.Buttons(th.channel, m.TS) {
		s.buttons = append(s.buttons, button{label: b.Text, slack: b})
	}
	if now, ok := th.w.slack.Message(th.channel, m.TS); ok && len(now.Versions) != len(m.Versions) {
		return th.shot(now) // it was drawn anew between the two looks
	}
	return s.counted(slackOutline(m.Blocks))
}

// counted fills in what follows from the buttons.
func (s shot) counted(outline string) shot {
	s.outline = outline
	s.asks = len(s.labelled("Deny"))
	s.over = s.text != "" && s.asks == 0 && len(s.labelled("Stop")) == 0
	return s
}

func (th *thread) press(t testing.TB, who person, on shot, b button) {
	t.Helper()
	th.taken(t)(th.w.slack.Press(inSlack[who], th.channel, on.ref, b.slack))
}

func (th *thread) fire(t testing.TB, who person, on shot, b button) {
	if _, err := th.w.slack.Press(inSlack[who], th.channel, on.ref, b.slack); err != nil {
		t.Error(err)
	}
}

// taken waits until a delivery is acknowledged.
func (th *thread) taken(t testing.TB) func(*fakeslack.Delivery, error) {
	return func(d *fakeslack.Delivery, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		if _, err := d.Wait(ctx); err != nil {
			t.Fatal(err)
		}
	}
}

func (th *thread) told(who person) (out []string) {
	for _, e := range th.w.slack.Ephemerals(inSlack[who]) {
		if e.Channel == th.channel {
			out = append(out, slackText(e.Version))
		}
	}
	return out
}

func (th *thread) open(t testing.TB, who person, on shot, b button) (send func(field, text string)) {
	t.Helper()
	th.w.forms.Lock() // a person has one form open
	v := th.form(t, inSlack[who], on, b)
	return func(field, text string) {
		t.Helper()
		defer th.w.forms.Unlock()
		for late := true; late; {
			late = false
			th.taken(t)(th.w.slack.SubmitView(inSlack[who], v.ID, map[string]string{field: text}))
			for _, x := range th.w.slack.Views(inSlack[who]) { // one with an error in it stays
				for _, say := range x.Errors {
					late = late || x.ID == v.ID && again(say)
				}
			}
		}
		for _, v := range th.w.slack.Views(inSlack[who]) {
			th.w.slack.CloseView(inSlack[who], v.ID)
		}
	}
}

// form opens the form behind a button.
func (th *thread) form(t testing.TB, user string, on shot, b button) (v fakeslack.View) {
	t.Helper()
	press := func() { th.taken(t)(th.w.slack.Press(user, th.channel, on.ref, b.slack)) }
	tries := th.toldAgain(user)
	press()
	until(t, "the form is open", func() bool {
		if n := th.toldAgain(user); n > tries {
			tries = n
			press()
		}
		for _, x := range th.w.slack.Views(user) {
			if strings.Contains(x.PrivateMetadata, th.root) {
				v = x
				return true
			}
		}
		return false
	})
	return v
}

// toldAgain is how often a user was told to click again.
func (th *thread) toldAgain(user string) (n int) {
	for _, e := range th.w.slack.Ephemerals(user) {
		if e.Channel == th.channel && again(slackText(e.Version)) {
			n++
		}
	}
	return n
}

// onlooker is somebody who is in this channel alone, and has no form open.
func onlooker(channel string) string { return "U9" + channel[1:] }

func (th *thread) payloads() (out []string) {
	for _, m := range th.w.slack.Messages(th.channel, "") {
		if m.User != th.w.slack.BotUser() {
			continue
		}
		for _, v := range m.Versions {
			out = append(out, v.Text+"\n"+string(v.Blocks))
		}
	}
	for p := range inSlack {
		for _, e := range th.w.slack.Ephemerals(inSlack[p]) {
			if e.Channel == th.channel {
				out = append(out, e.Text+"\n"+string(e.Blocks))
			}
		}
	}
	return out
}

// wire is a click as Slack would post it, for a case to change before it is signed again or not.
func (th *thread) wire(t testing.TB, who person, on shot, b button) map[string]any {
	t.Helper()
	var action map[string]any
	if b.slack.Type == "overflow" {
		action = map[string]any{"action_id": b.slack.ActionID, "block_id": b.slack.BlockID, "type": "overflow", "selected_option": map[string]any{"value": b.slack.Value}}
	} else {
		action = map[string]any{"action_id": b.slack.ActionID, "block_id": b.slack.BlockID, "type": "button", "value": b.slack.Value}
	}
	action["action_ts"] = "1.1"
	return map[string]any{
		"type": "block_actions", "api_app_id": "A0FAKE", "team": map[string]any{"id": th.w.slack.Team(), "domain": "acme"},
		"user":    map[string]any{"id": inSlack[who], "name": string(who), "team_id": th.w.slack.Team()},
		"channel": map[string]any{"id": th.channel}, "trigger_id": "1.2.3" + th.w.room(), "actions": []any{action},
		"container": map[string]any{"type": "message", "message_ts": on.ref, "channel_id": th.channel, "thread_ts": th.root},
		"message":   map[string]any{"ts": on.ref, "thread_ts": th.root},
	}
}

// signing is how a request to Slack's address is signed.
type signing struct {
	secret    string
	age       time.Duration
	signature func(string) string // changes the right one
	timestamp func(string) string
	headers   map[string]string
	drop      []string            // headers that are not sent
	body      func([]byte) []byte // after it was signed
	path      string
	method    string
}

// postSlack posts an interaction as s says, and returns the status.
func (w *world) postSlack(t testing.TB, payload any, s signing) int {
	t.Helper()
	body := []byte(url.Values{"payload": {string(marshal(payload))}}.Encode())
	if raw, ok := payload.([]byte); ok {
		body = raw
	}
	if s.secret == "" {
		s.secret = w.slack.SigningSecret()
	}
	at := time.Now().Add(-s.age).Unix()
	stamp, signature := strconv.FormatInt(at, 10), fakeslack.Sign(s.secret, at, body)
	if s.signature != nil {
		signature = s.signature(signature)
	}
	if s.timestamp != nil {
		stamp = s.timestamp(stamp)
	}
	if s.body != nil {
		body = s.body(body)
	}
	if s.path == "" {
		s.path = slack.PathInteractivity
	}
	if s.method == "" {
		s.method = http.MethodPost
	}
	h := http.Header{"Content-Type": {"application/x-www-form-urlencoded"}, "X-Slack-Request-Timestamp": {stamp}, "X-Slack-Signature": {signature}}
	for k, v := range s.headers {
		h.Set(k, v)
	}
	for _, k := range s.drop {
		h.Del(k)
	}
	status, _ := w.request(t, s.method, s.path, body, h)
	return status
}

// request makes one HTTP request to the product's listener.
func (w *world) request(t testing.TB, method, path string, body []byte, h http.Header) (status int, answer string) {
	t.Helper()
	r, err := http.NewRequestWithContext(context.WithoutCancel(t.Context()), method, w.url+path, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header = h.Clone()
	if host := h.Get("Host"); host != "" {
		r.Host = host
		r.Header.Del("Host")
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(b)
}

func marshal(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // only for values of this package
	}
	return b
}

// slackText is what a message shows.
func slackText(v fakeslack.Version) string {
	if len(v.Blocks) == 0 {
		return unslack.Replace(v.Text)
	}
	var lines []string
	walk(v.Blocks, func(o map[string]any) {
		switch o["type"] {
		case "plain_text", "mrkdwn", "markdown", "text":
			if s, ok := o["text"].(string); ok {
				lines = append(lines, unslack.Replace(s))
			}
		case "link":
			lines = append(lines, fmt.Sprint(o["text"], " ", o["url"]))
		}
	})
	return strings.Join(lines, "\n")
}

var unslack = strings.NewReplacer("&lt;", "<", "&gt;", ">", "&amp;", "&")

// walk visits every object of a JSON value, outer ones first, keys in their order.
func walk(raw []byte, visit func(map[string]any)) {
	var v any
	d := json.NewDecoder(bytes.NewReader(raw))
	if d.Decode(&v) != nil {
		return
	}
	var in func(any)
	in = func(v any) {
		switch x := v.(type) {
		case []any:
			for _, e := range x {
				in(e)
			}
		case map[string]any:
			visit(x)
			for _, k := range sorted(slices.Collect(keys(x))) {
				in(x[k])
			}
		}
	}
	in(v)
}

func keys(m map[string]any) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// slackOutline is the structure of the newest card, or of the whole message where there is none: every block and element with its
// kind, what a button says, and what Slack would read as markup.
func slackOutline(blocks json.RawMessage) string {
	var all []json.RawMessage
	_ = json.Unmarshal(blocks, &all) // no blocks: no outline
	from := 0
	for i, b := range all {
		var block struct{ Type string }
		if json.Unmarshal(b, &block) == nil && block.Type == "header" && i > 0 { // the question; the card begins with the small line above it
			from = i - 1
		}
	}
	var out []string
	for _, b := range all[from:] {
		walk(b, func(o map[string]any) {
			kind, _ := o["type"].(string)
			text, _ := o["text"].(string)
			switch kind {
			case "mrkdwn", "markdown":
				kind += slackMarkup(text)
			case "button":
				o, _ := o["text"].(map[string]any)
				kind += fmt.Sprint(" ", o["text"])
			}
			if kind != "" {
				out = append(out, kind)
			}
		})
	}
	return strings.Join(out, "\n")
}

var (
	slackFence  = regexp.MustCompile("(?s)```.*?```")
	slackTokens = regexp.MustCompile("<[@#!a-z][^>]*>|[*_~`]|(?m)^>")
)

func slackMarkup(text string) string {
	rest := slackFence.ReplaceAllString(text, "F")
	return fmt.Sprint(" fences=", len(slackFence.FindAllString(text, -1)), " tokens=", len(slackTokens.FindAllString(rest, -1)))
}
