package doctor

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	adapter "github.com/nodhq/nod/adapters/slack"
	"github.com/nodhq/nod/adapters/surface"
)

// Reach looks whether the bot that runs at base, such as http://127.0.0.1:8080, takes what Slack posts: it asks for the
// answer to a signed challenge, as Slack does when an address is entered, and knocks at the other two addresses without a
// signature. It reads Client and SigningSecret of c. Whether Slack itself gets to that address cannot be seen from here.
func Reach(ctx context.Context, base string, c adapter.Config) []surface.Finding {
	ctx, cancel := context.WithTimeout(ctx, surface.LookTimeout)
	defer cancel()
	x := examine(c, false)
	defer x.http.CloseIdleConnections()
	out := []surface.Finding{x.challenge(ctx, base)}
	for _, path := range []string{adapter.PathInteractivity, adapter.PathCommands} {
		out = append(out, x.knock(ctx, base, path))
	}
	for i := range out {
		out[i].Found = x.hide(out[i].Found)
	}
	return out
}

// challenge is the handshake of https://docs.slack.dev/reference/events/url_verification.
func (x *examination) challenge(ctx context.Context, base string) surface.Finding {
	f := surface.Finding{What: "Slack: " + adapter.PathEvents}
	word := rand.Text()
	body, _ := json.Marshal(map[string]string{"type": "url_verification", "challenge": word})
	at := strconv.FormatInt(time.Now().Unix(), 10)
	status, answer, err := x.post(ctx, base+adapter.PathEvents, string(body), map[string]string{
		"Content-Type": "application/json", "X-Slack-Request-Timestamp": at, "X-Slack-Signature": sign(x.SigningSecret, at, string(body)),
	})
	switch {
	case err != nil:
		f.Mark, f.Found, f.Do = surface.Wrong, "does not answer: "+err.Error(), "Look at listen (BOT_LISTEN) and at the bot's log."
	case status == http.StatusOK && strings.Contains(answer, word):
		f.Mark, f.Found = surface.Fine, "answers Slack's challenge"
	case status == http.StatusNotFound:
		f.Mark, f.Found, f.Do = surface.Wrong, "is not served", "Restart the bot with slack.signing_secret (SLACK_SIGNING_SECRET) set and slack.app_token (SLACK_APP_TOKEN) not set."
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		f.Mark, f.Found, f.Do = surface.Wrong, fmt.Sprintf("refuses our signature (%d)", status), "The bot that runs there has another slack.signing_secret (SLACK_SIGNING_SECRET), or its clock is off by minutes: restart it with this configuration."
	default:
		f.Mark, f.Found, f.Do = surface.Wrong, fmt.Sprintf("answers %d, and not the challenge", status), "Look whether listen (BOT_LISTEN) is this bot's, and at its log."
	}
	return f
}

// knock posts without a signature: a refusal is what should come back.
func (x *examination) knock(ctx context.Context, base, path string) surface.Finding {
	f := surface.Finding{What: "Slack: " + path}
	status, _, err := x.post(ctx, base+path, "payload={}", map[string]string{"Content-Type": "application/x-www-form-urlencoded"})
	switch {
	case err != nil:
		f.Mark, f.Found, f.Do = surface.Wrong, "does not answer: "+err.Error(), "Look at listen (BOT_LISTEN) and at the bot's log."
	case status == http.StatusNotFound || status == http.StatusMethodNotAllowed:
		f.Mark, f.Found, f.Do = surface.Wrong, "is not served", "Restart the bot with slack.signing_secret (SLACK_SIGNING_SECRET) set and slack.app_token (SLACK_APP_TOKEN) not set."
	case status >= 400 && status < 500:
		f.Mark, f.Found = surface.Fine, "refuses what is not signed"
	default:
		f.Mark, f.Found, f.Do = surface.Wrong, fmt.Sprintf("answers %d to a request without a signature", status), "Look whether listen (BOT_LISTEN) is this bot's: it would refuse."
	}
	return f
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
	b, err := io.ReadAll(io.LimitReader(resp.Body, 64<<10))
	return resp.StatusCode, string(b), err
}

// sign is https://docs.slack.dev/authentication/verifying-requests-from-slack.
func sign(secret, timestamp, body string) string {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte("v0:" + timestamp + ":" + body))
	return "v0=" + hex.EncodeToString(mac.Sum(nil))
}
