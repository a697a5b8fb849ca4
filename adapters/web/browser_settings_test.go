package web

import (
	"context"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/nodhq/nod/core/chat"
)

// settle opens the settings of the chat that is open, by the page's own link.
func settle(t *testing.T, ctx context.Context) {
	t.Helper()
	press(t, ctx, "#permissions")
	do(t, ctx, chromedp.WaitVisible(css("body.settings #panel section")))
}

// choose gives a field or a list its value.
func choose(t *testing.T, ctx context.Context, selector, value string) {
	t.Helper()
	if !eval[bool](t, ctx, `(s => { s.value = "`+value+`"; s.dispatchEvent(new Event("change", { bubbles: true })); return s.value === "`+value+`" })(document.querySelector('`+selector+`'))`) {
		t.Fatalf("%s does not take %q", selector, value)
	}
}

// promote makes everybody who is there an admin.
func promote(b *bot) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, s := range b.sessions {
		b.admins = append(b.admins, chat.User{Platform: Platform, Key: keptOf(s).User})
	}
}

// R112
func TestSettingsPageManages(t *testing.T) {
	ctx, b, _ := browser(t)
	promote(b)
	speak(t, ctx, "write hello to notes.txt")
	until(t, ctx, `!!document.querySelector(".ask")`)
	press(t, ctx, ".ask .answers .choices [data-choice=allow_chat]")
	until(t, ctx, `!!document.querySelector('.bot[data-state=done]')`)
	here := eval[string](t, ctx, `location.pathname.split("/").pop()`)
	settle(t, ctx)
	if got := eval[string](t, ctx, `location.pathname + "|" + document.title`); got != "/settings/c/"+here+"|Permissions · nod" {
		t.Errorf("the settings are at %q", got)
	}
	if got := eval[string](t, ctx, `document.querySelector("#panel").innerText`); !strings.Contains(got, "Here: "+here) || !strings.Contains(got, "write_file of files") {
		t.Errorf("the panel says %q", got)
	}
	if got := eval[string](t, ctx, `document.querySelector(".badge").textContent`); got != "3 new" {
		t.Errorf("the badge says %q", got)
	}
	shoot(t, ctx, "settings")

	// What takes much away is confirmed first, with the words of the engine; Cancel has the focus.
	press(t, ctx, `[data-token=revoke-all]`)
	until(t, ctx, `!!document.querySelector("dialog[open]")`)
	if got := eval[string](t, ctx, `document.querySelector("dialog .words").textContent + "|" + document.activeElement.dataset.act`); got != "Revoke everything that is allowed in every chat?|cancel" {
		t.Errorf("the confirmation: %q", got)
	}
	shoot(t, ctx, "settings-confirm")
	keys(t, ctx, kb.Escape)
	until(t, ctx, `!document.querySelector("dialog")`)
	if grants := grantsOf(b, here); len(b.acts) != 0 || grants != 1 {
		t.Fatalf("a cancelled confirmation did %v, %d grants are left", b.acts, grants)
	}
	press(t, ctx, `[data-token^=revoke-grant]`)
	until(t, ctx, `document.querySelector("#said").innerText.includes("Revoked")`)
	if grants := grantsOf(b, here); grants != 0 {
		t.Errorf("%d grants are left", grants)
	}
	until(t, ctx, `document.querySelector("#panel").innerText.includes("Nothing is allowed beyond the settings.")`)

	press(t, ctx, `[data-token=halt]`)
	until(t, ctx, `!!document.querySelector("dialog[open]")`)
	press(t, ctx, `dialog [data-act=confirm]`)
	until(t, ctx, `!!document.querySelector(".warn")`)
	if got := eval[string](t, ctx, `document.querySelector(".warn").innerText`); !strings.HasPrefix(got, "Everything is halted by Ana.") {
		t.Errorf("the banner: %q", got)
	}
	shoot(t, ctx, "settings-halted")
}

// Who goes on to another view while a change is on its way stays there.
func TestSettingsPageStaysWhereOneWent(t *testing.T) {
	ctx, b, _ := browser(t)
	promote(b)
	settle(t, ctx)
	eval[bool](t, ctx, `(fetch => { window.fetch = async (...a) => { const out = await fetch(...a); if (a[1].method === "POST") { window.held = true; await new Promise(go => window.go = go); } return out; }; return true })(window.fetch)`)
	press(t, ctx, `[data-token=halt]`)
	press(t, ctx, `dialog [data-act=confirm]`)
	until(t, ctx, `window.held === true`)
	press(t, ctx, `#tabs a[href*="view=tools"]`)
	until(t, ctx, `location.search === "?view=tools" && !!document.querySelector("select")`)
	eval[bool](t, ctx, `(go(), true)`)
	until(t, ctx, `document.querySelector("#said").innerText !== ""`)
	if at := eval[string](t, ctx, `location.search + " " + !!document.querySelector("select")`); at != "?view=tools true" {
		t.Errorf("the page is at %s", at)
	}
}

func grantsOf(b *bot, key string) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.fold(webChat(key)).Grants)
}

// A setting, by the keyboard alone: looking through the list sets nothing, the button does.
func TestSettingsPageByKeyboard(t *testing.T) {
	ctx, b, _ := browser(t)
	settle(t, ctx)
	tab := func(is string) {
		t.Helper()
		for range 40 {
			keys(t, ctx, kb.Tab)
			if eval[bool](t, ctx, `document.activeElement.matches('`+is+`')`) {
				return
			}
		}
		t.Fatalf("Tab never comes to %s", is)
	}
	tab(`#tabs a[href*="view=tools"]`)
	keys(t, ctx, "\r")
	until(t, ctx, `location.search === "?view=tools" && !!document.querySelector("select")`)
	tab(`select[data-tokens~="always:writ"]`)
	keys(t, ctx, "a") // the list's own way: the first option that begins so
	until(t, ctx, `!document.querySelectorAll(".pick button")[1].hidden`)
	if len(b.acts) != 0 {
		t.Fatalf("looking through the list did %v", b.acts)
	}
	tab(`.pick button`)
	keys(t, ctx, "\r")
	until(t, ctx, `document.querySelector("#said").innerText.includes("Changed")`)
	b.mu.Lock()
	got := b.asks["writ"]
	b.mu.Unlock()
	if got != "always" {
		t.Errorf("write_file asks %q", got)
	}
	if !eval[bool](t, ctx, `document.activeElement.matches('select[data-tokens~="always:writ"]') && document.activeElement.selectedOptions[0].textContent === "Always ask"`) {
		t.Error("after the change the focus is not on what was changed")
	}
	keys(t, ctx, kb.Shift) // nothing; the page has not moved
	if back := eval[string](t, ctx, `(history.back(), "")`); back != "" {
		t.Fatal(back)
	}
	until(t, ctx, `location.search === "" && document.querySelector("#panel").innerText.includes("Waiting for you")`)
}

// Whoever comes back to the window is where they were: nothing is drawn anew that has not changed.
func TestSettingsPageKeepsTheFocus(t *testing.T) {
	ctx, b, _ := browser(t)
	settle(t, ctx)
	const there = `document.querySelector('#panel a[href*="view=overview"]')`
	press(t, ctx, `#tabs a[href*="view=tools"]`)
	until(t, ctx, `!!`+there)
	back := func() {
		t.Helper()
		eval[bool](t, ctx, `(document.dispatchEvent(new Event("visibilitychange")), document.getElementById("panel").getAttribute("aria-busy") === "true")`)
		until(t, ctx, `document.getElementById("panel").getAttribute("aria-busy") === "false"`)
	}
	eval[bool](t, ctx, `(`+there+`.focus(), true)`)
	back()
	if !eval[bool](t, ctx, `document.activeElement === `+there) {
		t.Error("the focus is gone")
	}
	b.mu.Lock()
	b.message = "Write it?"
	b.mu.Unlock()
	eval[bool](t, ctx, `(`+there+`.old = true)`)
	back()
	if eval[bool](t, ctx, `!!`+there+`.old`) {
		t.Error("what another did meanwhile is not drawn")
	}
}

func TestSettingsPageForm(t *testing.T) {
	ctx, b, _ := browser(t)
	settle(t, ctx)
	press(t, ctx, `#tabs a[href*="view=tools"]`)
	until(t, ctx, `!!document.querySelector("[data-token=message]")`)
	press(t, ctx, "[data-token=message]")
	until(t, ctx, `document.activeElement.id === "fill"`)
	do(t, ctx, chromedp.SendKeys(css("#fill"), "{{.bad}}\r"))
	until(t, ctx, `!document.querySelector("dialog .problem").hidden`)
	if got := eval[string](t, ctx, `document.querySelector("dialog .problem").textContent + "|" + document.querySelector("#fill").value`); got != "Nothing was changed: the template names bad, which is not there.|{{.bad}}" {
		t.Errorf("the refusal: %q", got)
	}
	shoot(t, ctx, "settings-form")
	choose(t, ctx, "#fill", "")
	do(t, ctx, chromedp.SendKeys(css("#fill"), strings.Repeat("x", 50)+"\r"))
	until(t, ctx, `!document.querySelector("dialog")`)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.message != strings.Repeat("x", 40) {
		t.Errorf("the question is %q", b.message)
	}
}

func TestSettingsPageLooks(t *testing.T) {
	ctx, b, _ := browser(t)
	promote(b)
	speak(t, ctx, "write hello to notes.txt")
	until(t, ctx, `!!document.querySelector(".ask")`)
	settle(t, ctx)
	press(t, ctx, `#tabs a[href*="view=tools"]`)
	until(t, ctx, `document.querySelectorAll("select").length === 3`)
	if got := eval[string](t, ctx, `document.querySelector("#panel").innerText`); !strings.Contains(got, `delete_file\u{202E}<b>x</b>`) || eval[bool](t, ctx, `!!document.querySelector("#panel b")`) {
		t.Errorf("a tool's name became something else: %q", got)
	}
	shoot(t, ctx, "settings-tools")
	for _, width := range []int64{390, 320, 768, 1200} {
		do(t, ctx, chromedp.EmulateViewport(width, 844))
		fits(t, ctx, width)
		if width == 390 {
			shoot(t, ctx, "settings-phone")
			dark(t, ctx, true)
			shoot(t, ctx, "settings-phone-dark")
		}
	}
	shoot(t, ctx, "settings-dark")
	const shade = `(s => { const c = getComputedStyle(document.body)[s].match(/[\d.]+/g).map(Number); return (c[0] + c[1] + c[2]) / 3 })`
	if ground, ink := eval[float64](t, ctx, shade+`("backgroundColor")`), eval[float64](t, ctx, shade+`("color")`); ground > 60 || ink < 180 {
		t.Errorf("dark: ink %v on %v", ink, ground)
	}
}

// fits: nothing stands outside of the screen, and nothing scrolls sideways.
func fits(t *testing.T, ctx context.Context, width int64) {
	t.Helper()
	if small := eval[string](t, ctx, `innerWidth > 760 ? "" : [...document.querySelectorAll("input, textarea, select")].filter(f => parseFloat(getComputedStyle(f).fontSize) < 16).map(f => f.outerHTML).join()`); small != "" {
		t.Errorf("an iPhone zooms into %s", small)
	}
	if wide := eval[int](t, ctx, `document.documentElement.scrollWidth - innerWidth`); wide > 0 {
		t.Errorf("%d wide: it scrolls sideways by %d", width, wide)
	}
	if out := eval[[]string](t, ctx, `[...document.querySelectorAll("main button, main select, main p, main h2, .bar a, .bar button, dialog button, dialog p, dialog input")].filter(e => e.offsetParent && (e.getBoundingClientRect().right > innerWidth + 1 || e.getBoundingClientRect().left < -1)).map(e => e.textContent)`); len(out) > 0 {
		t.Errorf("%d wide: outside of the screen: %v", width, out)
	}
}

// The settings' address is a door like the chat's: who signs in there goes on there.
func TestSettingsPageNeedsASession(t *testing.T) {
	ctx, _, _ := browser(t)
	origin := eval[string](t, ctx, `location.origin`)
	press(t, ctx, `form.me button`)
	do(t, ctx, chromedp.WaitVisible(css("#name")), chromedp.Navigate(origin+"/settings"), chromedp.WaitVisible(css("#name")),
		chromedp.Click(css("button.send")), chromedp.WaitVisible(css("body.settings #panel section")))
	if got := eval[string](t, ctx, `location.pathname`); got != "/settings" {
		t.Errorf("after signing in the page is at %s", got)
	}
}
