package discord_test

import (
	"fmt"
	"net/http"
	"time"

	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/tests/standins/fakediscord"
	"github.com/nodhq/nod/tests/suites/conformance"
)

// What goes wrong at Discord, and what it says to that.

// linkTo is as "Copy Message Link" writes it.
func (w *guild) linkTo(in chat.ID, ref chat.MessageRef) string {
	guild := in.Workspace
	if guild == "" {
		guild = "@me"
	}
	return "https://discord.com/channels/" + guild + "/" + w.spot(in) + "/" + string(ref)
}

// refusals are the payloads that Discord did not take.
func (w *guild) refusals() (out []string) {
	for _, r := range w.Refusals() {
		out = append(out, fmt.Sprintf("%s: %s %v", r.Method, r.Error, r.Errors))
	}
	return out
}

func (w *guild) trouble(m conformance.Mishap, _ chat.ID, ref chat.MessageRef, after time.Duration) {
	method, gone := fakediscord.CreateMessage, 10003
	if ref != "" {
		method, gone = fakediscord.EditMessage, 10008
	}
	w.Fail(method, 1, faultFor(m, after, gone))
}

func faultFor(m conformance.Mishap, after time.Duration, gone int) fakediscord.Fault {
	return map[conformance.Mishap]fakediscord.Fault{
		conformance.Busy: {RetryAfter: after}, conformance.Down: {Status: http.StatusServiceUnavailable}, conformance.Cut: {Cut: true, Reset: true},
		conformance.Lost: {CutAfter: true}, conformance.Gone: {Status: http.StatusNotFound, Code: gone}, conformance.Forbidden: {Status: http.StatusForbidden, Code: 50013},
	}[m]
}

func (w *guild) havoc(n int, m conformance.Mishap) {
	var fault func(fakediscord.Call) *fakediscord.Fault
	if f := faultFor(m, time.Second, 10008); n > 0 {
		fault = func(fakediscord.Call) *fakediscord.Fault { return &f }
	}
	w.FailWhen("", fault)
}

func (w *guild) lockout() {
	w.FailWhen("", func(fakediscord.Call) *fakediscord.Fault { return &fakediscord.Fault{Status: http.StatusUnauthorized} })
}
