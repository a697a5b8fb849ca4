package e2e

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/png"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/nodhq/nod/tests/harness/chromium"
)

// tab is a page of a bot in a headless Chromium, signed in as Ana.
type tab struct {
	t   testing.TB
	ctx context.Context
	b   *bot
}

// browse opens the page of a bot as a newcomer does: by its address, saying a name.
func browse(t testing.TB, b *bot) *tab {
	t.Helper()
	p := arrive(t, b)
	p.do(chromedp.SetValue(chromedp.CSS("#name"), "Ana"), chromedp.Click(chromedp.CSS("button.send")))
	p.isIn()
	return p
}

// isIn waits until somebody has signed in.
func (p *tab) isIn() {
	p.t.Helper()
	p.do(chromedp.WaitVisible(chromedp.CSS("#say")))
	p.until(`document.readyState === "complete"`) // its scripts have run: what is typed before is heard by nobody
}

// signInAs signs somebody in by their company's provider, and signInBy by any door: as whom, what stands for it lets choose.
func (p *tab) signInAs(name string) {
	p.t.Helper()
	p.signInBy("#sign-in", name)
}

func (p *tab) signInBy(door, name string) {
	p.t.Helper()
	p.press(door)
	p.do(chromedp.WaitVisible(chromedp.CSS("#as-" + name)))
	p.press("#as-" + name)
	p.isIn()
}

// arrive opens the page in a browser that was never there.
func arrive(t testing.TB, b *bot) *tab {
	t.Helper()
	p := &tab{t, chromium.Open(t, 2*patience), b}
	p.do(chromedp.EmulateViewport(1200, 900), chromedp.Navigate(b.addr))
	return p
}

func (p *tab) do(steps ...chromedp.Action[chromedp.Void]) {
	p.t.Helper()
	if err := chromedp.Do(p.ctx, steps...); err != nil {
		p.t.Fatal(err)
	}
}

func look[T any](p *tab, js string, opts ...chromedp.EvaluateOption) T {
	p.t.Helper()
	v, err := chromedp.Run(p.ctx, chromedp.Evaluate[T](js, opts...))
	if err != nil {
		p.t.Fatal(js, err)
	}
	return v
}

// until waits for a condition of the page.
func (p *tab) until(js string) {
	p.t.Helper()
	if err := chromium.Until(p.ctx, js, patience); err != nil {
		p.t.Fatalf("waiting for %s: %v\nthe page says: %s", js, err, look[string](p, "document.body.innerText"))
	}
}

func (p *tab) say(text string) {
	p.t.Helper()
	if err := chromium.Insert(p.ctx, "#say", text); err != nil {
		p.t.Fatal(err)
	}
	p.key(kb.Enter)
}

func (p *tab) key(keys string) {
	p.t.Helper()
	if err := chromium.Type(p.ctx, keys); err != nil {
		p.t.Fatal(err)
	}
}

// press clicks by script once there is something in sight to press: a mouse aims at a place, and the button may have left it.
func (p *tab) press(selector string) {
	p.t.Helper()
	p.until(`(b => { if (!b || b.disabled || !b.checkVisibility()) return false; b.click(); return true })(document.querySelector(` + "`" + selector + "`" + `))`)
}

func (p *tab) text(selector string) string {
	p.t.Helper()
	return look[string](p, `(document.querySelector(`+"`"+selector+"`"+`)||{innerText:"(missing)"}).innerText`)
}

func (p *tab) scheme(name string) {
	p.t.Helper()
	if _, err := chromedp.Call(p.ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: name}}}); err != nil {
		p.t.Fatal(err)
	}
}

const (
	asked  = `!!document.querySelector(".ask")`
	isDone = `!!document.querySelector('.bot:last-child[data-state=done]')`
)

// tabTo presses Tab until an answer of the card has the focus, and returns the answers that had it on the way, the last one included.
func (p *tab) tabTo(choice string) (visited []string) {
	p.t.Helper()
	for range 80 {
		p.key(kb.Tab)
		if on := look[string](p, `document.activeElement.closest(".ask .answers .choices") ? document.activeElement.dataset.choice : ""`); on != "" {
			if visited = append(visited, on); on == choice {
				return visited
			}
		}
	}
	p.t.Fatalf("Tab never comes to %s; it came by %v", choice, visited)
	return nil
}

// tabOn presses Tab until that has the focus.
func (p *tab) tabOn(selector string) {
	p.t.Helper()
	for range 20 {
		if p.key(kb.Tab); look[bool](p, `document.activeElement.matches("`+selector+`")`) {
			return
		}
	}
	p.t.Fatalf("Tab never comes to %s", selector)
}

// R21 R73 R81 R84 R166
func TestPageAllowOnce(t *testing.T) {
	t.Parallel()
	b := start(t, settings{})
	p := browse(t, b)
	if got := look[string](p, `document.body.innerText`); !strings.Contains(got, "scripted demo, not a language model") || !strings.Contains(got, "OPENAI_API_KEY") {
		t.Errorf("the page does not say that this is a demo, and how to connect a model:\n%s", got)
	}
	p.say("write hello to notes.txt")
	p.until(asked)
	for selector, want := range map[string]string{
		".ask .small .header": "Allow tool call from workbench?",
		".ask .small .run":    "Run write_file from workbench",
		".ask h3":             "Write to notes.txt?",
		".ask .foot .warning": "Malicious MCP Servers or conversation content could potentially trick nod into attempting harmful actions " +
			"through your installed tools.",
		".ask .foot .review strong": "Review each action carefully before approving",
	} {
		if got := strings.TrimSpace(p.text(selector)); got != want {
			t.Errorf("%s says %q, want %q", selector, got, want)
		}
	}
	if weight := look[string](p, `getComputedStyle(document.querySelector(".ask .review strong")).fontWeight`); weight < "600" {
		t.Errorf("the review line has the weight %s", weight)
	}
	card := p.text(".ask")
	for _, want := range []string{"changes things · moderate risk", "notes.txt", "hello", "Ana can answer until", "⚒", "Replaces the file if it exists."} {
		if !strings.Contains(card, want) {
			t.Errorf("the card lacks %q:\n%s", want, card)
		}
	}
	eye := look[[]string](p, `[...document.querySelectorAll(".ask .answers .choices button")].sort((a, b) => a.getBoundingClientRect().x - b.getBoundingClientRect().x).map(b => b.textContent)`)
	if strings.Join(eye, "|") != "Allow for this chat|Allow once|Deny" {
		t.Errorf("the eye reads %v", eye)
	}
	if on := look[string](p, `document.activeElement.className + (document.activeElement.dataset.choice || "")`); on != "ask" {
		t.Errorf("the focus is on %q", on)
	}
	// Enter where the focus is by itself, however often, allows nothing.
	p.key("\r\r")
	if got := strings.Join(p.tabTo("deny"), "|"); got != "allow_chat|allow_once|deny" {
		t.Errorf("Tab goes %s", got)
	}
	if got := b.content("notes.txt"); got != "(missing)" {
		t.Fatalf("before the click the file says %q", got)
	}
	id := look[string](p, `document.querySelector(".bot").dataset.id`)
	p.press(".ask .answers .choices [data-choice=allow_once]")
	p.until(isDone)
	if n := look[int](p, `document.querySelectorAll(".bot").length`); n != 1 || look[string](p, `document.querySelector(".bot").dataset.id`) != id {
		t.Errorf("%d messages of the bot, and not the one that asked", n)
	}
	if step := p.text(".step"); !strings.Contains(step, "Write file “notes.txt”") || !strings.Contains(step, "allowed once by Ana") || look[bool](p, asked) {
		t.Errorf("the card became %q", step)
	}
	if got := b.content("notes.txt"); got != "hello" {
		t.Errorf("the file says %q", got)
	}
}

// The rest of a newcomer's story, by clicks: a grant, another chat, a denial, a mixed turn, and two buttons at once.
func TestPageStory(t *testing.T) {
	t.Parallel()
	b := start(t, settings{})
	p := browse(t, b)
	p.say("write one to a.txt")
	p.until(asked)
	p.press(".ask .answers .choices [data-choice=allow_chat]")
	p.until(isDone)
	p.say("write two to a.txt")
	p.until(`document.querySelectorAll(".bot[data-state=done]").length === 2`)
	if got := b.content("a.txt"); got != "two" {
		t.Errorf("the file says %q", got)
	}
	if got := p.text(".messages"); !strings.Contains(got, "write_file of workbench is allowed in this chat for Ana's requests") {
		t.Errorf("the grant is not shown:\n%s", got)
	}

	p.press("#new")
	p.until(`document.querySelectorAll(".bot").length === 0`)
	p.say("write three to a.txt")
	p.until(asked)
	p.press(".ask .answers .choices [data-choice=deny]")
	p.until(isDone)
	if said := p.text(".bot .text:last-child"); b.content("a.txt") != "two" || !strings.Contains(said, "denied it, so a.txt was left as it is") {
		t.Errorf("another chat: the file says %q, the model %q", b.content("a.txt"), said)
	}

	p.say("read a.txt and write bye to b.txt and list files")
	p.until(asked)
	p.until(`document.querySelectorAll(".bot:last-child .step[data-state=done]").length === 2`)
	if got := b.content("b.txt"); got != "(missing)" {
		t.Errorf("before the click b.txt says %q", got)
	}
	p.press(".ask .answers .choices [data-choice=allow_once]")
	p.until(isDone)
	if steps := look[[]string](p, `[...document.querySelectorAll(".bot:last-child .step .title")].map(e => e.textContent)`); b.content("b.txt") != "bye" || strings.Join(steps, "|") != "Read file “a.txt”|Write file “b.txt”|List directory" {
		t.Errorf("the mixed turn shows %v, b.txt says %q", steps, b.content("b.txt"))
	}

	p.say("delete b.txt")
	p.until(asked)
	// The answer to the click that counts comes last, and says nothing about the other one.
	look[bool](p, `(fetched => { fetch = async (...of) => {
		const answer = await fetched(...of);
		if (answer.ok && of[0].endsWith("/clicks")) await new Promise(release => window.release = release);
		return answer;
	}; return true })(fetch)`)
	look[bool](p, `(card => { for (const c of ["allow_once", "deny"]) card.querySelector(".choices [data-choice=" + c + "]").click(); return true })(document.querySelector(".ask"))`)
	p.until(isDone)
	p.until(`!document.getElementById("whisper").hidden && !!window.release`)
	look[bool](p, `(async () => { release(); return (await fetch("/")).ok })()`, chromedp.EvalAwaitPromise)
	whisper, step := p.text("#whisper p"), p.text(".bot:last-child .step")
	switch gone := b.content("b.txt") == "(missing)"; {
	case gone && strings.Contains(step, "allowed once by Ana") && strings.Contains(whisper, "allowed once by Ana"):
	case !gone && strings.Contains(step, "denied by Ana") && strings.Contains(whisper, "denied by Ana"):
	default:
		t.Errorf("b.txt is gone: %v, the step says %q, the loser is told %q", gone, step, whisper)
	}
}

// Without a mouse: say, look, deny with a reason; say again, allow.
func TestPageKeyboardOnly(t *testing.T) {
	t.Parallel()
	b := start(t, settings{})
	p := browse(t, b)
	p.key("write hello to notes.txt") // the field has the focus from the beginning
	p.key(kb.Enter)
	p.until(asked)
	p.tabTo("deny")
	p.tabOn(".ask .more > summary")
	p.key("\r")
	p.tabOn(".ask .menu [data-choice=deny_reason]")
	p.key("\r")
	p.until(`document.activeElement.matches(".ask form.deny_reason input")`)
	p.key("not now\r")
	p.until(`!!document.querySelector(".step[data-state=denied]")`)
	p.until(isDone)
	if step, said := p.text(".step"), p.text(".bot .text:last-child"); !strings.Contains(step, "denied by Ana") || !strings.Contains(step, "not now") || !strings.Contains(said, "left as it is") {
		t.Errorf("%q, %q", step, said)
	}
	if got := b.content("notes.txt"); got != "(missing)" {
		t.Errorf("the file says %q", got)
	}
	p.do(chromedp.Focus(chromedp.CSS("#say")))
	p.key("write hello to notes.txt")
	p.key(kb.Enter)
	p.until(asked)
	p.tabTo("allow_once")
	p.key("\r")
	p.until(`document.querySelectorAll(".bot[data-state=done]").length === 2`)
	if got := b.content("notes.txt"); got != "hello" {
		t.Errorf("the file says %q", got)
	}
}

// A person changes the arguments: nothing runs by that, the changed call is asked for anew, and it is what runs.
func TestPageEditsArguments(t *testing.T) {
	t.Parallel()
	b := start(t, settings{})
	p := browse(t, b)
	p.say("write hello to notes.txt")
	p.until(asked)
	old := look[string](p, `document.querySelector(".ask").dataset.request`)
	edit := func(args string) {
		p.press(".ask .more > summary")
		p.press(".ask .menu [data-choice=edit]")
		p.until(`document.activeElement.matches(".ask .edit textarea")`)
		look[bool](p, `(f => { f.value = `+fmt.Sprintf("%q", args)+`; return true })(document.querySelector(".ask .edit textarea"))`)
		p.press(".ask form.edit button[type=submit]")
	}
	edit(`{"path": 7}`)
	p.until(`document.getElementById("whisper").textContent.includes("not taken")`)
	edit(`{"path": "other.txt", "content": "hello \u200b you"}`)
	p.until(`document.querySelector(".ask") && document.querySelector(".ask").dataset.request !== ` + fmt.Sprintf("%q", old))
	if card := p.text(".ask"); !strings.Contains(card, "arguments changed by Ana") || !strings.Contains(card, "other.txt") {
		t.Errorf("the card: %q", card)
	}
	// What the card makes visible stands in the form as JSON again, so that leaving it alone changes nothing.
	if form := look[string](p, `JSON.parse(document.querySelector(".ask .edit textarea").value).content`); form != "hello \u200b you" {
		t.Errorf("the form holds %q", form)
	}
	p.press(".ask .answers .choices [data-choice=allow_once]")
	p.until(isDone)
	if got, other := b.content("notes.txt"), b.content("other.txt"); got != "(missing)" || other != "hello \u200b you" {
		t.Errorf("notes.txt says %q, other.txt %q", got, other)
	}
}

func TestPageOnPhoneAndDark(t *testing.T) {
	t.Parallel()
	b := start(t, settings{})
	p := browse(t, b)
	p.do(chromedp.EmulateViewport(360, 740, chromedp.EmulateMobile))
	p.say("write " + strings.Repeat("averylongwordwithoutanyspace", 12) + " to notes.txt")
	p.until(asked)
	for _, width := range []int64{360, 320, 768} {
		p.do(chromedp.EmulateViewport(width, 740, chromedp.EmulateMobile))
		if wide := look[int](p, `document.documentElement.scrollWidth - innerWidth`); wide > 0 {
			t.Errorf("%d wide: it scrolls sideways by %d", width, wide)
		}
		if outside := look[[]string](p, `[...document.querySelectorAll(".ask button, .ask p, #say, #send")].filter(e => e.offsetParent && (e.getBoundingClientRect().right > innerWidth + 1 || e.getBoundingClientRect().left < -1)).map(e => e.textContent || e.id)`); len(outside) > 0 {
			t.Errorf("%d wide: outside of the screen: %v", width, outside)
		}
	}
	const shade = `(s => { const c = getComputedStyle(document.body)[s].match(/[\d.]+/g).map(Number); return (c[0] + c[1] + c[2]) / 3 })`
	p.scheme("light")
	if ground, ink := look[float64](p, shade+`("backgroundColor")`), look[float64](p, shade+`("color")`); ground < 200 || ink > 90 {
		t.Errorf("light: ink %v on %v", ink, ground)
	}
	p.scheme("dark")
	if ground, ink := look[float64](p, shade+`("backgroundColor")`), look[float64](p, shade+`("color")`); ground > 60 || ink < 180 {
		t.Errorf("dark: ink %v on %v", ink, ground)
	}
	p.press(".ask .answers .choices [data-choice=deny]")
	p.until(isDone)
}

// The page that is open when the bot dies goes on when it is back, and so does the ask.
func TestPageAfterKill(t *testing.T) {
	t.Parallel()
	b := start(t, settings{})
	b.env["NOD_LISTEN"] = strings.TrimPrefix(b.addr, "http://") // the page stays at its address
	p := browse(t, b)
	p.say("write hello to notes.txt")
	p.until(asked)
	b.kill()
	p.until(`document.getElementById("link").textContent !== ""`)
	p.press(".ask .answers .choices [data-choice=allow_once]")
	p.until(`!document.getElementById("whisper").hidden`) // it says that the click did not arrive
	b.start()
	p.until(`document.getElementById("link").textContent === ""`)
	if got := b.content("notes.txt"); got != "(missing)" {
		t.Fatalf("the lost click wrote %q", got)
	}
	p.press(".ask .answers .choices [data-choice=allow_once]")
	p.until(isDone)
	if got := b.content("notes.txt"); got != "hello" || look[int](p, `document.querySelectorAll(".bot").length`) != 1 {
		t.Errorf("the file says %q; the page: %s", got, look[string](p, `document.body.innerText`))
	}
}

func sizeOf(t *testing.T, b []byte) image.Point {
	t.Helper()
	c, err := png.DecodeConfig(bytes.NewReader(b))
	if err != nil {
		t.Fatal(err)
	}
	return image.Pt(c.Width, c.Height)
}
