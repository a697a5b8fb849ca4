package doctor

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/nodhq/nod/adapters/discord"
	"github.com/nodhq/nod/adapters/surface"
)

// Reach looks whether the bot that runs at base, such as http://127.0.0.1:8080, takes what Discord posts: it knocks without a
// signature, as Discord itself does now and then, and a refusal is what should come back. That a right signature is accepted cannot
// be tried, because only Discord can sign; nor can it be seen from here whether Discord gets to that address. It reads Client of c.
// https://docs.discord.com/developers/interactions/overview#setting-up-an-endpoint
func Reach(ctx context.Context, base string, c discord.Config) surface.Finding {
	ctx, cancel := context.WithTimeout(ctx, surface.LookTimeout)
	defer cancel()
	x := examine(c)
	defer x.http.CloseIdleConnections()
	f := surface.Finding{What: "Discord: " + discord.PathInteractions, Mark: surface.Wrong, Do: "Look at listen (BOT_LISTEN) and at the bot's log."}
	status, err := x.knock(ctx, base+discord.PathInteractions)
	switch {
	case err != nil:
		f.Found = "does not answer: " + surface.Tame(err.Error())
	case status == http.StatusNotFound || status == http.StatusMethodNotAllowed:
		f.Found, f.Do = "is not served", "Restart the bot with discord.public_key (DISCORD_PUBLIC_KEY) set."
	case status == http.StatusUnauthorized:
		f.Mark, f.Found, f.Do = surface.Fine, "refuses what is not signed", ""
	default:
		f.Found, f.Do = fmt.Sprintf("answers %d to a request without a signature, where Discord wants 401", status), "Look whether listen (BOT_LISTEN) is this bot's."
	}
	f.Found = x.hide(f.Found)
	return f
}

func (x *examination) knock(ctx context.Context, at string) (status int, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, at, strings.NewReader(`{"type":1}`))
	if err != nil {
		return 0, err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := x.http.Do(req)
	if err != nil {
		return 0, err
	}
	return resp.StatusCode, resp.Body.Close()
}
