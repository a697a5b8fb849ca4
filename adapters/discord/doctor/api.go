package doctor

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/nodhq/nod/adapters/surface"
)

// The doctor asks by hand, with one plain request for each thing: no limiter and no retry stand between what Discord says and
// what is reported.

// Where Discord's API is. https://docs.discord.com/developers/reference#api-reference
const (
	discordBase = "https://discord.com"
	apiPath     = "/api/v10"
)

// userAgent is how the doctor names itself: Discord refuses clients without a name of this form.
// https://docs.discord.com/developers/reference#user-agent
const userAgent = "DiscordBot (https://github.com/nodhq/nod, 1) doctor"

// maxLook bounds what is read of one answer. The largest, a server's roles, has 250 of them.
const maxLook = 4 << 20

func clientOf(c *http.Client) *http.Client {
	if c != nil {
		return c
	}
	return &http.Client{Timeout: 2 * surface.LookTimeout, Transport: &http.Transport{Proxy: http.ProxyFromEnvironment, DisableKeepAlives: true, TLSHandshakeTimeout: surface.LookTimeout}}
}

// apiError is a refusal of Discord's. https://docs.discord.com/developers/topics/opcodes-and-status-codes
type apiError struct {
	Status  int
	Code    int    `json:"code"`
	Message string `json:"message"`
	wait    time.Duration
	plain   bool // not in Discord's form: of what stands before it, or of something else
}

func (e *apiError) Error() string { return fmt.Sprintf("HTTP %d, code %d", e.Status, e.Code) }

var errNotDiscord = errors.New("the answer is not Discord's")

func (x *examination) get(ctx context.Context, path string, into any) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, x.base+path, nil)
	if err != nil {
		return errNotDiscord // an address that the configuration lets through and no request can have
	}
	req.Header.Set("Authorization", "Bot "+x.Token)
	req.Header.Set("User-Agent", userAgent)
	resp, err := x.http.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxLook))
	if err != nil {
		return err
	}
	if resp.StatusCode == http.StatusOK {
		if json.Unmarshal(body, into) != nil {
			return errNotDiscord
		}
		return nil
	}
	no := &apiError{}
	no.plain = json.Unmarshal(body, no) != nil || no.Message == ""
	no.Status = resp.StatusCode
	if s, err := strconv.ParseFloat(resp.Header.Get("Retry-After"), 64); err == nil {
		no.wait = time.Duration(s * float64(time.Second))
	}
	return no
}

// said is an error in words.
func (x *examination) said(err error) string {
	var no *apiError
	var at *url.Error
	switch {
	case errors.As(err, &no) && no.Status == http.StatusUnauthorized:
		return "Discord does not know it (401)"
	case errors.As(err, &no) && no.Status == http.StatusTooManyRequests:
		return "Discord says to slow down (429)"
	case errors.As(err, &no) && no.plain:
		return fmt.Sprintf("the server answered %d, and not in Discord's form", no.Status)
	case errors.As(err, &no):
		return fmt.Sprintf("Discord refuses it: %s (%d, code %d)", surface.Tame(no.Message), no.Status, no.Code)
	case errors.Is(err, errNotDiscord):
		return err.Error()
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Sprintf("no answer in %s", surface.LookTimeout)
	case errors.As(err, &at):
		err = at.Err
	}
	return "Discord cannot be reached: " + surface.Tame(err.Error())
}

// advice is what to do about an error.
func (x *examination) advice(err error) string {
	var no *apiError
	errors.As(err, &no)
	switch {
	case no != nil && no.Status == http.StatusUnauthorized:
		return "Reset Token on the application's page Bot shows a new one; give it as discord.token (DISCORD_TOKEN). Discord also resets tokens by itself: where one became public, or a bot identified itself too often."
	case no != nil && no.Status == http.StatusTooManyRequests && no.plain:
		return "This address of yours sent too many requests that were refused, and is shut out for a while: stop all programs with this token or address, and try again in " + waiting(no.wait) + "."
	case no != nil && no.Status == http.StatusTooManyRequests:
		return "Try again in " + waiting(no.wait) + "."
	case no != nil && no.Status >= 500:
		return "Try again later; https://discordstatus.com says how Discord is."
	case x.APIURL != "":
		return "Look at discord.api_url (DISCORD_API_URL): it names a stand-in. Empty is Discord itself."
	case no != nil:
		return "Look the code up at https://docs.discord.com/developers/topics/opcodes-and-status-codes."
	}
	return "Look at the network: this machine must reach " + discordBase + " (a proxy is taken from HTTPS_PROXY)."
}

func waiting(d time.Duration) string {
	if d <= 0 {
		return "a minute"
	}
	return d.Round(time.Second).String()
}

// refusalCode is Discord's own number for a refusal; 0 for any other error.
func refusalCode(err error) int {
	if no, ok := errors.AsType[*apiError](err); ok {
		return no.Code
	}
	return 0
}

// hide takes the token out of words that came from outside.
func (x *examination) hide(s string) string {
	if x.Token == "" {
		return s
	}
	return strings.ReplaceAll(s, x.Token, "[secret]")
}
