package web

import (
	"context"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/text"
)

// R89
func TestCardOffersMore(t *testing.T) {
	ctx, b, _ := browser(t)
	speak(t, ctx, "write hello to notes.txt")
	until(t, ctx, `!!document.querySelector(".ask")`)
	id := webChat(eval[string](t, ctx, `location.pathname.split("/").pop()`))
	press(t, ctx, ".ask .more summary")
	if got := eval[string](t, ctx, `document.querySelector(".ask .tick").innerText.trim()`); got != "Remember this choice" {
		t.Errorf("the checkbox says %q", got)
	}
	// Ticking decides nothing.
	press(t, ctx, ".ask .tick input")
	until(t, ctx, `document.querySelector(".ask .tick input").checked && !document.querySelector(".ask .tick input").disabled`)
	s := func() turn.Session { b.mu.Lock(); defer b.mu.Unlock(); return b.fold(id) }()
	if c := turn.OpenAsks(s); len(c) != 1 || c[0].Ticked == nil || c[0].Ticked.Name != "Ana" || len(b.ran) > 0 {
		t.Fatalf("after ticking: %+v, ran %v", c, b.ran)
	}
	press(t, ctx, ".ask [data-choice=view]")
	until(t, ctx, `!!document.querySelector("dialog[open]")`)
	if got := eval[string](t, ctx, `document.querySelector("dialog").innerText`); !strings.Contains(got, text.LabelWhy) || !strings.Contains(got, text.PartServer) || !strings.Contains(got, `"path": "notes.txt"`) {
		t.Errorf("the details: %q", got)
	}
	if n := eval[int](t, ctx, `document.querySelectorAll("dialog .j-key").length`); n < 2 {
		t.Errorf("%d highlighted keys in the arguments", n)
	}
	shoot(t, ctx, "details")
	press(t, ctx, "dialog [data-act=close]")

	labels := eval[[]string](t, ctx, `[...document.querySelectorAll(".ask .more button")].map(b => b.textContent)`)
	if got := strings.Join(labels, "|"); got != "View details|Edit arguments…|Deny with a reason…|+5 min|Only with these values…|Allow this tool for 1 hour|Allow reads from files|Allow reads and writes from files|Allow all from files|Approve all for this session…|Stop" {
		t.Errorf("more: %s", got)
	}
	if got := eval[string](t, ctx, `document.querySelector("[data-choice=allow_exact]").title`); !strings.Contains(got, "notes.txt") {
		t.Errorf("the hint of the pins: %q", got)
	}
	shoot(t, ctx, "card-more")
	do(t, ctx, chromedp.EmulateViewport(390, 844))
	fits(t, ctx, 390)
	shoot(t, ctx, "card-more-phone")
	press(t, ctx, ".ask [data-choice=allow_server]")
	until(t, ctx, `!!document.querySelector("dialog[open]")`)
	if got := eval[string](t, ctx, `document.querySelector("dialog .words").textContent`); !strings.HasPrefix(got, "Allow all tools of files in this chat") {
		t.Errorf("the confirmation: %q", got)
	}
	shoot(t, ctx, "confirm-phone")
	press(t, ctx, "dialog [data-act=cancel]")
	until(t, ctx, `!document.querySelector("dialog")`)
	if len(b.ran) > 0 {
		t.Fatalf("a cancelled confirmation ran %v", b.ran)
	}
	// Who would be refused is told at once, and not asked whether they mean it.
	refused := func(on bool) {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.refused = map[string]bool{s.Turn.Requester.String(): on}
	}
	refused(true)
	press(t, ctx, ".ask [data-choice=allow_server]")
	until(t, ctx, `document.getElementById("whisper").innerText.includes("somebody else") && !document.querySelector("dialog")`)
	refused(false)
	press(t, ctx, ".ask [data-choice=allow_server]")
	press(t, ctx, "dialog [data-act=confirm]")
	until(t, ctx, `!!document.querySelector('.bot[data-state=done]')`)
	b.mu.Lock()
	defer b.mu.Unlock()
	if g := b.fold(id).Grants; len(g) != 1 || g[0].Scope == 0 {
		t.Errorf("the grant: %+v", g)
	}
}

// The second press of a double click does nothing: it asks nobody twice whether they mean it, and what it would find decided is no trouble.
func TestPageTakesADoubleClickForOne(t *testing.T) {
	ctx, b, _ := browser(t)
	speak(t, ctx, "write hello to notes.txt")
	until(t, ctx, asks)
	b.mu.Lock()
	b.hold = true
	b.mu.Unlock()
	twice := func(selector string) {
		t.Helper()
		eval[bool](t, ctx, `(b => { b.click(); b.click(); return true })(document.querySelector('`+selector+`'))`)
	}
	eval[bool](t, ctx, `(fetch => { window.sent = []; window.done = 0; window.fetch = async (...a) => { sent.push(a[1].body || ""); const out = await fetch(...a); done++; return out; }; return true })(window.fetch)`)
	press(t, ctx, ".ask .more summary")
	twice(".ask [data-choice=allow_session]")
	until(t, ctx, `!!document.querySelector("dialog[open]") && done === sent.length`)
	press(t, ctx, "dialog [data-act=confirm]")
	until(t, ctx, `!!document.querySelector(".note [data-choice=ask_more]") && done === sent.length`)
	if n := eval[int](t, ctx, `document.querySelectorAll("dialog").length`); n != 0 {
		t.Errorf("%d dialogs are left", n)
	}
	twice(".note [data-choice=ask_more]")
	until(t, ctx, `!document.querySelector(".note [data-choice=ask_more]") && done === sent.length`)
	if n := eval[int](t, ctx, `sent.filter(s => s.includes("ask_more")).length`); n != 1 {
		t.Errorf("it was sent %d times", n)
	}
}

// A session that asks no more says so, and asks again by a click.
func TestPageEndsASession(t *testing.T) {
	ctx, b, _ := browser(t)
	speak(t, ctx, "write hello to notes.txt")
	until(t, ctx, `!!document.querySelector(".ask")`)
	id := webChat(eval[string](t, ctx, `location.pathname.split("/").pop()`))
	b.mu.Lock()
	b.hold = true
	b.mu.Unlock()
	press(t, ctx, ".ask .more summary")
	press(t, ctx, ".ask [data-choice=allow_session]")
	press(t, ctx, "dialog [data-act=confirm]")
	until(t, ctx, `!!document.querySelector(".note [data-choice=ask_more]")`)
	press(t, ctx, ".note [data-choice=ask_more]")
	until(t, ctx, `!document.querySelector(".note [data-choice=ask_more]")`)
	b.mu.Lock()
	defer b.mu.Unlock()
	if m := b.fold(id).Mode; m != 0 {
		t.Errorf("the mode is %v", m)
	}
}

func wanted(t *testing.T, w turn.Elicitation) (context.Context, *bot) {
	t.Helper()
	ctx, b, _ := browser(t)
	b.mu.Lock()
	b.wants = &w
	b.mu.Unlock()
	speak(t, ctx, "write hello to notes.txt")
	until(t, ctx, `!!document.querySelector(".ask")`)
	press(t, ctx, ".ask [data-choice=allow_once]")
	until(t, ctx, `!!document.querySelector(".ask[data-kind=input]")`)
	return ctx, b
}

func TestPageFillsAForm(t *testing.T) {
	low, high := 1.0, 5.0
	ctx, b := wanted(t, turn.Elicitation{Kind: turn.ElicitationForm, Message: "Which <b>branch</b>, and who reviews?\u202e", Fields: []turn.FormField{
		{Name: "branch", Title: "Branch", Description: "Where it goes.", Type: "string", Required: true},
		{Name: "mail", Title: "Mail", Type: "string", Format: "email"},
		{Name: "count", Title: "Reviewers", Type: "integer", Min: &low, Max: &high, Default: "2"},
		{Name: "squash", Title: "Squash the commits", Type: "boolean", Default: "true"},
		{Name: "when", Title: "When", Type: "string", Options: []string{"now", "night"}, Labels: []string{"At once", "Tonight"}, Required: true},
		{Name: "tags", Title: "Labels", Type: "string", Options: []string{"bug", "docs", "ops"}, Many: true, Required: true},
	}})
	shoot(t, ctx, "want-card")
	if got := eval[string](t, ctx, `document.querySelector(".ask").innerText`); !strings.Contains(got, "files asks for something") || !strings.Contains(got, "<b>branch</b>") {
		t.Errorf("the card: %q", got)
	}
	press(t, ctx, ".ask [data-choice=answer]")
	until(t, ctx, `!!document.querySelector("dialog[open] form")`)
	shoot(t, ctx, "want-form")
	press(t, ctx, "dialog [data-act=send]")
	until(t, ctx, `document.activeElement.matches("[data-field=branch] input")`)
	if wrong := eval[int](t, ctx, `[...document.querySelectorAll("dialog [data-field] .problem")].filter(p => !p.hidden && p.textContent).length`); wrong != 3 {
		t.Errorf("%d fields say what is missing, want 3", wrong)
	}
	do(t, ctx, chromedp.SendKeys(css("[data-field=branch] input"), "main"), chromedp.SendKeys(css("[data-field=mail] input"), "nobody"),
		chromedp.Click(css("[data-field=tags] input[value=bug]")), chromedp.Click(css("[data-field=tags] input[value=ops]")))
	choose(t, ctx, "[data-field=when] select", "night")
	press(t, ctx, "dialog [data-act=send]")
	until(t, ctx, `document.activeElement.matches("[data-field=mail] input")`)
	choose(t, ctx, "[data-field=mail] input", "")
	press(t, ctx, "dialog [data-act=send]")
	until(t, ctx, `document.querySelector("dialog form > .problem").textContent === "Branch: main is protected."`)
	shoot(t, ctx, "want-refused")
	do(t, ctx, chromedp.EmulateViewport(390, 844))
	fits(t, ctx, 390)
	shoot(t, ctx, "want-phone")
	choose(t, ctx, "[data-field=branch] input", "topic")
	press(t, ctx, "dialog [data-act=send]")
	until(t, ctx, `!document.querySelector("dialog") && !!document.querySelector('.bot[data-state=done]')`)
	b.mu.Lock()
	defer b.mu.Unlock()
	got := b.clicked[len(b.clicked)-1]
	want := map[string]string{"branch": "topic", "count": "2", "squash": "true", "when": "night", "tags": "bug\nops"}
	if got.Choice != chat.Answer || len(got.Fields) != len(want) {
		t.Fatalf("sent %+v", got)
	}
	for k, v := range want {
		if got.Fields[k] != v {
			t.Errorf("%s is %q, want %q", k, got.Fields[k], v)
		}
	}
}

func TestPageShowsAnAddressBeforeItOpens(t *testing.T) {
	ctx, b := wanted(t, turn.Elicitation{Kind: turn.ElicitationURL, Message: "Sign in, please.", URL: "https://xn--pple-43d.example:8443/login?next=https://files.example/"})
	if eval[bool](t, ctx, `document.documentElement.innerHTML.includes("xn--pple")`) {
		t.Error("the address stands on the card, which everybody in the chat sees")
	}
	press(t, ctx, ".ask [data-choice=answer]")
	until(t, ctx, `!!document.querySelector("dialog[open] .address")`)
	shoot(t, ctx, "want-url")
	if got := eval[string](t, ctx, `document.querySelector("dialog .address").textContent + "|" + document.querySelector("dialog .address strong").textContent`); got != "https://xn--pple-43d.example:8443/login?next=https://files.example/|xn--pple-43d.example" {
		t.Errorf("the address: %q", got)
	}
	if got := eval[string](t, ctx, `(a => a.getAttribute("href") + "|" + a.rel + "|" + a.target)(document.querySelector("dialog a"))`); got != "https://xn--pple-43d.example:8443/login?next=https://files.example/|noreferrer noopener|_blank" {
		t.Errorf("the link: %q", got)
	}
	if got := eval[string](t, ctx, `document.querySelector("dialog").innerText`); !strings.Contains(got, "did not open it") || !strings.Contains(strings.ToLower(got), "careful") {
		t.Errorf("the warnings: %q", got)
	}
	press(t, ctx, "dialog [data-act=send]")
	until(t, ctx, `!document.querySelector("dialog") && !!document.querySelector('.bot[data-state=done]')`)
	b.mu.Lock()
	defer b.mu.Unlock()
	if got := b.clicked[len(b.clicked)-1]; got.Choice != chat.Answer || len(got.Fields) != 0 {
		t.Errorf("sent %+v", got)
	}
}

func TestPageAnswersCommandsPrivately(t *testing.T) {
	ctx, b, _ := browser(t)
	speak(t, ctx, "/whoami")
	until(t, ctx, `!document.querySelector("#whisper").hidden && document.querySelector("#say").value === ""`)
	if got := eval[string](t, ctx, `document.querySelector("#whisper p").textContent + "|" + location.pathname`); got != "You are Ana\\u{202E}.\nYou said: whoami\nHere is .|/" {
		t.Errorf("before there is a chat: %q", got)
	}
	if len(b.logs) > 0 {
		t.Error("a command began a chat")
	}
	speak(t, ctx, "hello")
	until(t, ctx, `!!document.querySelector('.bot[data-state=done]')`)
	speak(t, ctx, "/nod permissions why files write_file")
	until(t, ctx, `document.querySelector("#whisper p").textContent.includes("You said: why files write_file")`)
	shoot(t, ctx, "command")
	if got := eval[string](t, ctx, `document.querySelector("#whisper a").getAttribute("href").replace(location.pathname, "")`); got != "/settings" {
		t.Errorf("the way to the settings leads to %q", got)
	}
	if n := eval[int](t, ctx, `document.querySelectorAll(".mine").length`); n != 1 {
		t.Errorf("%d messages of Ana, want 1", n)
	}
	speak(t, ctx, "/etc/hosts, what is it?")
	until(t, ctx, `document.querySelectorAll(".mine").length === 2`)
}
