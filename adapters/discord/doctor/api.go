package doctor

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/bwmarrin/discordgo"

	"github.com/nodhq/nod/adapters/discord/rest"
	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/agent"
)

// get asks for one thing, once.
func (x *examination) get(ctx context.Context, path string, into any) error {
	if x.api == nil {
		return rest.ErrUnexpected // an address that the configuration lets through and no request can have
	}
	return x.api.Call(ctx, http.MethodGet, discordgo.EndpointAPI+path, nil, into)
}

// isBusy reports whether Discord, or what stands before it, says to slow down, and when to come again.
func isBusy(err error) (again time.Duration, is bool) {
	pe, ok := errors.AsType[*agent.PlatformError](err)
	if !ok || pe.Kind != agent.FaultBusy {
		return 0, false
	}
	return pe.RetryAfter.Round(time.Second), true
}

// said is an error in words.
func (x *examination) said(err error) string {
	no := rest.RefusalIn(err)
	_, busy := isBusy(err)
	switch {
	case no.Status == http.StatusUnauthorized:
		return "Discord does not know it (401)"
	case busy:
		return "Discord says to slow down (429)"
	case no.Status != 0 && no.Say == "":
		return fmt.Sprintf("the server answered %d, and not in Discord's form", no.Status)
	case no.Status != 0:
		return fmt.Sprintf("Discord refuses it: %s (%d, code %d)", surface.Tame(no.Say), no.Status, no.Code)
	case errors.Is(err, rest.ErrUnexpected):
		return "the answer is not Discord's"
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Sprintf("no answer in %s", surface.LookTimeout)
	}
	if pe, ok := errors.AsType[*agent.PlatformError](err); ok {
		err = pe.Cause
	}
	return "Discord cannot be reached: " + surface.Tame(err.Error())
}

// advice is what to do about an error.
func (x *examination) advice(err error) string {
	no := rest.RefusalIn(err)
	again, busy := isBusy(err)
	switch {
	case no.Status == http.StatusUnauthorized:
		return "Reset Token on the application's page Bot shows a new one; give it as discord.token (DISCORD_TOKEN). Discord also resets tokens by itself: where one became public, or a bot identified itself too often."
	case errors.Is(err, rest.ErrShutOut):
		return "This address of yours sent too many requests that were refused, and is shut out for a while: stop all programs with this token or address, and try again in " + again.String() + "."
	case busy:
		return "Try again in " + again.String() + "."
	case no.Status >= 500:
		return "Try again later; https://discordstatus.com says how Discord is."
	case x.APIURL != "":
		return "Look at discord.api_url (DISCORD_API_URL): it names a stand-in. Empty is Discord itself."
	case no.Status != 0:
		return "Look the code up at https://docs.discord.com/developers/topics/opcodes-and-status-codes."
	}
	return "Look at the network: this machine must reach https://discord.com (a proxy is taken from HTTPS_PROXY)."
}

// hide takes the token out of words that came from outside.
func (x *examination) hide(s string) string {
	if x.Token == "" {
		return s
	}
	return strings.ReplaceAll(s, x.Token, "[secret]")
}
