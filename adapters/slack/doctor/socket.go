package doctor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/gorilla/websocket"
	"github.com/slack-go/slack"

	adapter "github.com/nodhq/nod/adapters/slack"
	"github.com/nodhq/nod/adapters/surface"
)

// maxSockets are the connections that an app may have open: https://docs.slack.dev/apis/events-api/using-socket-mode
const maxSockets = 10

// firstFrame is the first message on a socket.
type firstFrame struct {
	Type   string `json:"type"`
	Reason string `json:"reason"` // of a disconnect
	Open   int    `json:"num_connections"`
	Info   struct {
		App string `json:"app_id"`
	} `json:"connection_info"`
}

// socket opens a connection as the bot would, waits for its hello, and closes it.
func (x *examination) socket(ctx context.Context) []surface.Finding {
	token := surface.Finding{What: "Slack: app token"}
	_, address, err := x.api.StartSocketModeContext(ctx)
	if err != nil {
		token.Mark, token.Found, token.Do = surface.Wrong, x.said(err), x.appAdvice(err)
		return []surface.Finding{token}
	}
	token.Mark, token.Found = surface.Fine, "may open connections (connections:write)"
	conn := surface.Finding{What: "Slack: connection"}
	h, err := firstOf(ctx, address)
	switch {
	case err != nil:
		conn.Mark, conn.Found = surface.Wrong, "the socket does not open: "+x.said(err)
		conn.Do = "Look at the network: this machine must reach wss-primary.slack.com and its kin, and a proxy must let WebSockets through."
	case h.Type == "disconnect" && h.Reason == "link_disabled":
		conn.Mark, conn.Found, conn.Do = surface.Wrong, "Socket Mode is switched off", "Switch it on at the app's page Socket Mode, or remove slack.app_token (SLACK_APP_TOKEN) and use HTTP."
	case h.Type == "disconnect" && h.Reason == "too_many_websockets":
		conn.Mark, conn.Found = surface.Wrong, "the app has its ten connections already"
		conn.Do = "Stop other processes with this app token, or lower slack.connections."
	case h.Type != "hello":
		conn.Mark, conn.Found = surface.Wrong, "the socket opens, but does not say hello ("+surface.Tame(h.Type+" "+h.Reason)+")"
		conn.Do = "Try again; if it stays so, generate another app token for slack.app_token (SLACK_APP_TOKEN)."
	default:
		conn.Mark, conn.Found = surface.Fine, "the socket opens and says hello"
		if h.Open >= maxSockets {
			conn.Mark, conn.Found = surface.Doubtful, fmt.Sprintf("the socket opens, and with it the app has %d of its %d connections", h.Open, maxSockets)
			conn.Do = "Lower slack.connections, or the number of processes: beyond ten Slack refuses."
		}
	}
	out := []surface.Finding{token, conn}
	if f, ok := x.oneApp(ctx, h.Info.App); ok {
		out = append(out, f)
	}
	return out
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
func (x *examination) oneApp(ctx context.Context, app string) (surface.Finding, bool) {
	if app == "" || x.self == nil {
		return surface.Finding{}, false
	}
	bot, err := x.api.GetBotInfoContext(ctx, slack.GetBotInfoParameters{Bot: x.self.BotID})
	if err != nil || bot.AppID == "" || bot.AppID == app {
		return surface.Finding{}, false
	}
	return surface.Finding{What: "Slack: one app", Mark: surface.Wrong, Found: "the bot token is of the app " + surface.Tame(bot.AppID) + " and the app token of " + surface.Tame(app),
		Do: "Take both tokens from one app: slack.bot_token (SLACK_BOT_TOKEN) and slack.app_token (SLACK_APP_TOKEN)."}, true
}

func (x *examination) appAdvice(err error) string {
	var no slack.SlackErrorResponse
	if errors.As(err, &no) {
		if do, ok := adapter.AppTokenAdvice(no.Err); ok {
			return "Look at slack.app_token (SLACK_APP_TOKEN): " + do + "."
		}
		return "Look at slack.app_token (SLACK_APP_TOKEN) and at the app's page Socket Mode; the word is explained at https://docs.slack.dev/reference/methods/apps.connections.open."
	}
	return x.advice(err)
}
