package doctor

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/gorilla/websocket"
	"github.com/slack-go/slack"

	adapter "github.com/nodhq/nod/adapters/slack"
	"github.com/nodhq/nod/adapters/slack/calls"
	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/chat"
)

// channels looks whether nod is anywhere that it could be spoken to: the commonest reason for no answer is that nobody invited it.
// https://docs.slack.dev/reference/methods/users.conversations
func (x *examination) channels(ctx context.Context) []surface.Finding {
	const what = "channels"
	if x.self == nil {
		return one(what, surface.Unchecked, notChecked, "")
	}
	in, more, err := x.api.GetConversationsForUserContext(ctx, &slack.GetConversationsForUserParameters{
		Types: []string{"public_channel", "private_channel"}, Limit: 200, ExcludeArchived: true})
	switch {
	case err != nil:
		return one(what, surface.Unchecked, "not checked: "+words(err), "")
	case more != "":
		return one(what, surface.Fine, fmt.Sprintf("nod is in more than %d", len(in)), "")
	case len(in) == 0:
		return one(what, surface.Doubtful, "nod is in none, and hears nothing there",
			"Invite it where it should be: /invite @"+x.self.User+". Direct messages to it need none.")
	}
	return one(what, surface.Fine, fmt.Sprintf("nod is in %d", len(in)), "")
}

const maxDeciders = 50 // how many people are looked up

func (x *examination) deciders(ctx context.Context, people []chat.User) (out []surface.Finding) {
	if x.self == nil {
		return nil
	}
	fine := 0
	for _, p := range people[:min(len(people), maxDeciders)] {
		mark, found, do := x.decider(ctx, p)
		if found == "" {
			fine++
			continue
		}
		out = append(out, one("person "+p.Workspace+":"+p.Key, mark, found, do)...)
	}
	if fine > 0 {
		out = append(out, one("admins and approvers", surface.Fine, fmt.Sprintf("%d of the people named can decide here", fine), "")...)
	}
	return out
}

// decider says why somebody cannot decide here; nothing where they can.
func (x *examination) decider(ctx context.Context, p chat.User) (mark surface.Mark, found, do string) {
	correct := "Correct admins and approvers: copy the member ID of the person's profile, in the workspace of this token (" + x.self.TeamID + ")."
	u, err := x.api.GetUserInfoContext(ctx, p.Key)
	if no, refused := errors.AsType[slack.SlackErrorResponse](err); refused && (no.Err == "user_not_found" || no.Err == "user_not_visible") {
		return surface.Wrong, "there is nobody with that ID here, so nobody decides by that entry", correct
	}
	if err != nil {
		return surface.Unchecked, "not checked: " + words(err), ""
	}
	switch who := adapter.PersonOf(u, x.self.TeamID, x.self.EnterpriseID); {
	case who.User != p:
		return surface.Wrong, "Slack says that this is slack:" + who.User.Workspace + ":" + who.User.Key + ", so that entry is nobody", correct
	case who.Gone:
		return surface.Wrong, "is deactivated, and cannot decide", correct
	case who.Bot:
		return surface.Wrong, "is a program, and cannot decide", correct
	case who.Guest && !x.Guests:
		return surface.Wrong, "is a guest, and guests may not decide here", "Name a member of the workspace, or set slack.guests: true."
	case who.External && !x.External:
		return surface.Wrong, "is of another organisation, whose people may not decide here", "Name a member of the workspace, or set slack.external: true."
	}
	return surface.Fine, "", ""
}

const maxSockets = 10 // the connections that an app may have open: https://docs.slack.dev/apis/events-api/using-socket-mode

type firstFrame struct {
	Type   string `json:"type"`
	Reason string `json:"reason"` // of a disconnect
	Open   int    `json:"num_connections"`
	Info   struct {
		App string `json:"app_id"`
	} `json:"connection_info"`
}

func (x *examination) socket(ctx context.Context) []surface.Finding {
	const what = "app token"
	_, address, err := x.api.StartSocketModeContext(ctx)
	if err != nil {
		return one(what, surface.Wrong, words(err), x.appAdvice(err))
	}
	hello, err := firstOf(ctx, address)
	mark, found, do := judgeHello(hello, err)
	out := append(one(what, surface.Fine, "may open connections (connections:write)", ""), one("connection", mark, found, do)...)
	return append(out, x.oneApp(ctx, hello.Info.App)...)
}

func judgeHello(h firstFrame, err error) (mark surface.Mark, found, do string) {
	switch {
	case err != nil:
		return surface.Wrong, "the socket does not open: " + words(err),
			"Look at the network: this machine must reach wss-primary.slack.com and its kin, and a proxy must let WebSockets through."
	case h.Type == "disconnect" && h.Reason == "link_disabled":
		return surface.Wrong, "Socket Mode is switched off",
			"Switch it on at the app's page Socket Mode, or remove slack.app_token (SLACK_APP_TOKEN) and use HTTP."
	case h.Type == "disconnect" && h.Reason == "too_many_websockets":
		return surface.Wrong, "the app has its ten connections already", "Stop other processes with this app token, or lower slack.connections."
	case h.Type != "hello":
		return surface.Wrong, "the socket opens, but does not say hello (" + surface.Tame(h.Type+" "+h.Reason) + ")",
			"Try again; if it stays so, generate another app token for slack.app_token (SLACK_APP_TOKEN)."
	case h.Open >= maxSockets:
		return surface.Doubtful, fmt.Sprintf("the socket opens, and with it the app has %d of its %d connections", h.Open, maxSockets),
			"Lower slack.connections, or the number of processes: beyond ten Slack refuses."
	}
	return surface.Fine, "the socket opens and says hello", ""
}

// firstOf is the first message of the socket at address, which holds a ticket and is never shown.
func firstOf(ctx context.Context, address string) (h firstFrame, err error) {
	dialer := websocket.Dialer{Proxy: http.ProxyFromEnvironment, HandshakeTimeout: surface.LookTimeout}
	conn, resp, err := dialer.DialContext(ctx, address, nil)
	if resp != nil && resp.Body != nil {
		defer resp.Body.Close()
	}
	if err != nil {
		return h, err
	}
	defer func() { _ = conn.Close() }()
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() }) // reading knows no context
	defer stop()
	conn.SetReadLimit(1 << 20)
	_, data, err := conn.ReadMessage()
	if err != nil {
		if ctx.Err() != nil {
			err = ctx.Err()
		}
		return h, err
	}
	_ = conn.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(websocket.CloseNormalClosure, ""), time.Now().Add(time.Second))
	if json.Unmarshal(data, &h) != nil {
		h.Type = "not JSON"
	}
	return h, nil
}

// oneApp looks whether both tokens are of the same app: two apps that were mixed up hear in one place and speak in another.
func (x *examination) oneApp(ctx context.Context, app string) []surface.Finding {
	if app == "" || x.self == nil {
		return nil
	}
	bot, err := x.api.GetBotInfoContext(ctx, slack.GetBotInfoParameters{Bot: x.self.BotID})
	if err != nil || bot.AppID == "" || bot.AppID == app {
		return nil
	}
	return one("one app", surface.Wrong, "the bot token is of the app "+surface.Tame(bot.AppID)+" and the app token of "+surface.Tame(app),
		"Take both tokens from one app: slack.bot_token (SLACK_BOT_TOKEN) and slack.app_token (SLACK_APP_TOKEN).")
}

func (x *examination) appAdvice(err error) string {
	no, refused := errors.AsType[slack.SlackErrorResponse](err)
	if !refused {
		return x.advice(err)
	}
	if do, ok := calls.AppTokenAdvice[no.Err]; ok {
		return "Look at slack.app_token (SLACK_APP_TOKEN): " + do + "."
	}
	return "Look at slack.app_token (SLACK_APP_TOKEN) and at the app's page Socket Mode; the word is explained at " +
		"https://docs.slack.dev/reference/methods/apps.connections.open."
}

// Reach looks whether the bot that runs at base, such as http://127.0.0.1:8080, takes what Slack posts, with Client and SigningSecret of c.
// Whether Slack itself gets to that address cannot be seen from here.
func Reach(ctx context.Context, base string, c adapter.Config) (out []surface.Finding) {
	ctx, cancel := context.WithTimeout(ctx, surface.LookTimeout)
	defer cancel()
	x := examine(c, false)
	defer x.http.CloseIdleConnections()
	for _, path := range []string{adapter.PathEvents, adapter.PathInteractivity, adapter.PathCommands} {
		mark, found, do := x.knock(ctx, base+path, path == adapter.PathEvents)
		out = append(out, one(path, mark, x.hide(found), do)...)
	}
	return out
}

const formType = "application/x-www-form-urlencoded"

// knock posts to an address: the handshake of https://docs.slack.dev/reference/events/url_verification where it is for events, else
// something without a signature, to which a refusal is what should come back.
func (x *examination) knock(ctx context.Context, address string, events bool) (mark surface.Mark, found, do string) {
	body, header, word := "payload={}", map[string]string{"Content-Type": formType}, rand.Text()
	if events {
		now := strconv.FormatInt(time.Now().Unix(), 10)
		body = `{"challenge":"` + word + `","type":"url_verification"}`
		header = map[string]string{
			"Content-Type": "application/json", "X-Slack-Request-Timestamp": now, "X-Slack-Signature": sign(x.SigningSecret, now, body),
		}
	}
	status, answer, err := x.post(ctx, address, body, header)
	switch {
	case err != nil:
		return surface.Wrong, "does not answer: " + err.Error(), "Look at listen (NOD_LISTEN) and at the bot's log."
	case status == http.StatusNotFound || !events && status == http.StatusMethodNotAllowed:
		return surface.Wrong, "is not served", "Restart the bot with slack.signing_secret (SLACK_SIGNING_SECRET) set and slack.app_token (SLACK_APP_TOKEN) not set."
	case events && status == http.StatusOK && strings.Contains(answer, word):
		return surface.Fine, "answers Slack's challenge", ""
	case events && (status == http.StatusUnauthorized || status == http.StatusForbidden):
		return surface.Wrong, fmt.Sprintf("refuses our signature (%d)", status), "The bot that runs there has another slack.signing_secret " +
			"(SLACK_SIGNING_SECRET), or its clock is off by minutes: restart it with this configuration."
	case events:
		return surface.Wrong, fmt.Sprintf("answers %d, and not the challenge", status), "Look whether listen (NOD_LISTEN) is this bot's, and at its log."
	case status >= 400 && status < 500:
		return surface.Fine, "refuses what is not signed", ""
	}
	return surface.Wrong, fmt.Sprintf("answers %d to a request without a signature", status), "Look whether listen (NOD_LISTEN) is this bot's: it would refuse."
}

func (x *examination) post(ctx context.Context, to, body string, header map[string]string) (status int, answer string, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, to, strings.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	for k, v := range header {
		req.Header.Set(k, v)
	}
	resp, err := x.http.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	return resp.StatusCode, string(b), err
}

// sign is https://docs.slack.dev/authentication/verifying-requests-from-slack.
func sign(secret, timestamp, body string) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte("v0:" + timestamp + ":" + body))
	return "v0=" + hex.EncodeToString(mac.Sum(nil))
}
