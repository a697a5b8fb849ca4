package doctor

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/gorilla/websocket"

	"github.com/nodhq/nod/adapters/discord/gateway"
	"github.com/nodhq/nod/adapters/discord/rest"
	"github.com/nodhq/nod/adapters/surface"
)

// fewStarts is how few identifications are left when it is said: a shard that starts uses one, and one that cannot resume another.
const fewStarts = 50

// gateway looks at the budget of identifications, and whether the gateway answers.
func (x *examination) gateway(ctx context.Context) []surface.Finding {
	var g gateway.Starts
	if err := x.get(ctx, "gateway/bot", &g); err != nil {
		return []surface.Finding{wrong(x.said(err), x.advice(err))}
	}
	starts := x.starts(g)
	starts.What = "session starts"
	return []surface.Finding{starts, x.hello(ctx, g.URL)}
}

// starts says how often the bot may still identify itself.
func (x *examination) starts(g gateway.Starts) surface.Finding {
	shards := cmp.Or(max(x.Shards, 0), g.Shards)
	left := fmt.Sprintf("%d of %d left", g.Limit.Remaining, g.Limit.Total)
	anew := "they are counted anew in " + (time.Duration(g.Limit.ResetAfter) * time.Millisecond).Round(time.Minute).String()
	switch {
	case g.Limit.Remaining < shards:
		return wrong(left+", and the bot needs "+plural(shards, "one", "%d")+": it waits; "+anew,
			"Find out why the bot starts so often (its log says why a session ended), "+
				"and start no other program with this token: at the limit Discord resets the token.")
	case g.Limit.Remaining < min(fewStarts, g.Limit.Total/2):
		return doubtful(left+"; "+anew,
			"Find out why the bot starts so often: its log says why a session ended. At the limit Discord resets the token.")
	case x.Shards > 0 && x.Shards < g.Shards:
		return doubtful(fmt.Sprintf("discord.shards is %d, and Discord recommends %d", x.Shards, g.Shards),
			"Set discord.shards to 0, which is what Discord recommends: it refuses shards with too many servers (close code 4011).")
	}
	return fine(left + "; " + plural(shards, "one shard", "%d shards") + ", " + plural(g.Limit.Concurrency, "one", "%d") + " at a time")
}

func plural(n int, one, more string) string {
	if n == 1 {
		return one
	}
	return fmt.Sprintf(more, n)
}

// hello opens a connection, waits for the gateway's first word and closes. The bot does not identify itself, so there is no session
// that could end, and nothing is counted. https://docs.discord.com/developers/events/gateway#connection-lifecycle
func (x *examination) hello(ctx context.Context, at string) surface.Finding {
	u, err := url.Parse(at)
	if err != nil || u.Scheme != "wss" && u.Scheme != "ws" || u.Host == "" {
		return wrong("Discord names no address of it", x.advice(rest.ErrUnexpected))
	}
	network := "Look at the network: a proxy before this machine must let WebSocket connections to " + address(at) + " through."
	u.RawQuery = "v=10&encoding=json"
	d := websocket.Dialer{Proxy: http.ProxyFromEnvironment, HandshakeTimeout: surface.LookTimeout}
	if t, ok := x.http.Transport.(*http.Transport); ok {
		d.Proxy, d.TLSClientConfig, d.NetDialContext = t.Proxy, t.TLSClientConfig, t.DialContext
	}
	conn, resp, err := d.DialContext(ctx, u.String(), nil)
	if err != nil {
		return wrong("does not open: "+socketProblem(err, resp), network)
	}
	defer func() { _ = conn.Close() }()
	// A connection that says nothing is left when the look's time is over.
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	beat, ok := heartbeat(conn)
	switch {
	case ok:
		_ = conn.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(websocket.CloseNormalClosure, ""), time.Now().Add(time.Second))
		return fine("says hello, with a heartbeat each " + beat.String())
	case ctx.Err() != nil:
		return wrong(fmt.Sprintf("opens, and says nothing in %s", surface.LookTimeout), network)
	}
	return wrong("opens, and does not say hello", network)
}

// maxHello bounds the gateway's first word.
const maxHello = 64 << 10

// heartbeat is what the gateway's first word says of it. ok is false where that is no hello, or none comes.
// https://docs.discord.com/developers/events/gateway-events#hello
func heartbeat(conn *websocket.Conn) (each time.Duration, ok bool) {
	conn.SetReadLimit(maxHello)
	_, raw, _ := conn.ReadMessage() // nothing, where it fails
	var hello struct {
		Op   int `json:"op"`
		Data struct {
			Interval int64 `json:"heartbeat_interval"` // milliseconds
		} `json:"d"`
	}
	_ = json.Unmarshal(raw, &hello) // what is not JSON is no hello
	const opHello = 10
	return time.Duration(hello.Data.Interval) * time.Millisecond, hello.Op == opHello && hello.Data.Interval > 0
}

// socketProblem says why a connection does not open.
func socketProblem(err error, resp *http.Response) string {
	var at *net.OpError
	switch {
	case resp != nil:
		_ = resp.Body.Close()
		return fmt.Sprintf("the server answered %d", resp.StatusCode)
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Sprintf("no answer in %s", surface.LookTimeout)
	case errors.As(err, &at):
		return surface.Tame(at.Err.Error())
	}
	return surface.Tame(strings.TrimPrefix(err.Error(), "websocket: "))
}
