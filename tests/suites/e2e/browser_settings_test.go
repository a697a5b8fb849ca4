package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// bossKey is an administrator's key.
const bossKey = "boss-key-of-the-settings"

func withBoss(yaml string) settings {
	return settings{yaml: yaml, env: map[string]string{"ADMIN_SESSION_KEYS": bossKey}}
}

// signIn makes the tab an administrator's, by the page's own door.
func (p *tab) signIn(key string) {
	p.t.Helper()
	p.press("form.me button, form.who button")
	p.do(chromedp.WaitVisible(chromedp.CSS("#name")))
	p.press("details summary")
	p.do(chromedp.WaitVisible(chromedp.CSS("#key")), chromedp.SendKeys(chromedp.CSS("#key"), key), chromedp.Click(chromedp.CSS("button.send")),
		chromedp.WaitVisible(chromedp.CSS("#say, body.settings #panel section")))
	if look[bool](p, `document.body.matches(".settings")`) { // an admin who came for no chat is led to the settings
		p.back()
	}
}

// settings opens the settings by the chat page's link, or another view of them.
func (p *tab) settings() {
	p.t.Helper()
	p.press("#permissions")
	p.do(chromedp.WaitVisible(chromedp.CSS("body.settings #panel section")))
}

// view opens a tab of the settings.
func (p *tab) view(name string) {
	p.t.Helper()
	p.press(fmt.Sprintf(`#tabs a[href*="view=%s"]`, name))
	p.until(fmt.Sprintf(`location.search.includes("view=%s") && document.getElementById("panel").getAttribute("aria-busy") === "false"`, name))
}

// open follows a row's link to what the row names first.
func (p *tab) open(name string) {
	p.t.Helper()
	p.until(fmt.Sprintf(`(r => { const a = r && r.querySelector(".acts a"); if (a) a.click(); return !!a })([...document.querySelectorAll("#panel li")].find(r => (r.querySelector("strong") || {}).textContent === %q))`, name))
	p.until(fmt.Sprintf(`document.querySelector("#panel h1").textContent.includes(%q)`, name))
}

// back returns to the chat.
func (p *tab) back() {
	p.t.Helper()
	p.press(".back")
	p.do(chromedp.WaitVisible(chromedp.CSS("#say")))
}

// row is the part of the panel that says all of these.
func row(words ...string) string {
	return fmt.Sprintf(`[...document.querySelectorAll("#panel li")].find(r => %q.split("|").every(w => r.innerText.includes(w)))`, strings.Join(words, "|"))
}

// pick chooses an option of a row's list and applies it, confirming what is to be confirmed.
func (p *tab) pick(label string, confirm bool, words ...string) {
	p.t.Helper()
	p.until("!!(" + row(words...) + ")")
	if !look[bool](p, `(r => { for (const s of r.querySelectorAll("select")) { const o = [...s.options].find(o => o.textContent === `+fmt.Sprintf("%q", label)+
		`); if (!o) continue; s.value = o.value; s.dispatchEvent(new Event("change")); s.form.querySelector("button").click(); return true } 
		const b = [...r.querySelectorAll("button")].find(b => b.textContent === `+fmt.Sprintf("%q", label)+`); if (b) b.click(); return !!b })(`+row(words...)+`)`) {
		p.t.Fatalf("%v offers no %q: %s", words, label, look[string](p, `(`+row(words...)+`).outerHTML`))
	}
	if confirm {
		p.until(`!!document.querySelector("dialog[data-dialog=confirm][open]")`)
		p.press("dialog [data-act=confirm]")
	}
	p.until(`!document.getElementById("said").hidden && !document.querySelector("dialog")`)
	if look[bool](p, `document.getElementById("said").hasAttribute("data-bad")`) {
		p.t.Fatalf("%q was refused: %s", label, p.text("#said p"))
	}
	look[bool](p, `(document.querySelector("#said button").click(), true)`)
}

// shot keeps a picture where NOD_WEB_SHOTS names a folder: for people, not for the test.
func (p *tab) shot(name string) {
	p.t.Helper()
	dir := os.Getenv("NOD_WEB_SHOTS")
	if dir == "" {
		return
	}
	png, err := chromedp.Run(p.ctx, chromedp.CaptureScreenshot())
	if err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name+".png"), png, 0o600); err != nil {
		p.t.Fatal(err)
	}
}

// What somebody sets in the page counts for the next call, in the chat that is already open.
// R3 R4 R19 R148 R149
func TestSettingsPageChangesATool(t *testing.T) {
	t.Parallel()
	b := start(t, withBoss(""))
	p := browse(t, b)
	p.signIn(bossKey)
	p.say("list files")
	p.until(isDone)
	if look[bool](p, asked) {
		t.Fatal("list_directory asks by default")
	}
	p.settings()
	p.view("servers")
	p.open("workbench")
	p.open("list_directory")
	p.pick("Always ask", false, "Asking:")
	p.until(`(` + row("Asking:") + `).innerText.includes("Always ask")`)
	p.back()
	p.say("list files")
	p.until(asked)
	if card := p.text(".ask"); !strings.Contains(card, "Run list_directory from workbench") {
		t.Errorf("the card: %q", card)
	}
	p.press(".ask .answers .choices [data-choice=deny]")
	p.until(isDone)

	// Somebody else, who is no admin, reads it and is offered nothing of it.
	ana := browse(t, b)
	ana.settings()
	ana.view("servers")
	ana.open("workbench")
	ana.open("list_directory")
	if text := ana.text("#panel"); !strings.Contains(text, "Always ask") || !strings.Contains(text, "Only an admin can change that.") {
		t.Errorf("Ana reads %q", text)
	}
	if look[bool](ana, `(r => !!r.querySelector("select, button"))(`+row("Asking:")+`)`) {
		t.Error("Ana is offered a change of a tool's setting")
	}
}

// A grant that is revoked in the page no longer covers the next call.
// R148
func TestSettingsPageRevokes(t *testing.T) {
	t.Parallel()
	b := start(t, settings{})
	p := browse(t, b)
	p.say("write one to a.txt")
	p.until(asked)
	p.press(".ask .answers .choices [data-choice=allow_chat]")
	p.until(isDone)
	p.settings()
	p.view("grants")
	p.pick("Revoke", false, "write_file of workbench")
	p.until(`document.querySelector("#panel").innerText.includes("Nothing")`)
	p.back()
	p.say("write two to a.txt")
	p.until(asked)
	if got := b.content("a.txt"); got != "one" {
		t.Errorf("the file says %q", got)
	}
	p.press(".ask .answers .choices [data-choice=deny]")
	p.until(isDone)
}

// "Remember this choice" decides nothing when it is ticked, and counts in another chat of the same person, until it is forgotten.
// R44 R83 R153
func TestPageRemembers(t *testing.T) {
	t.Parallel()
	b := start(t, settings{})
	p := browse(t, b)
	p.say("write one to a.txt")
	p.until(asked)
	p.press(".ask .more > summary")
	p.press(".ask .tick input")
	p.until(`document.querySelector(".ask .tick input").checked && !document.querySelector(".ask .tick input").disabled`)
	if got := b.content("a.txt"); got != "(missing)" || !look[bool](p, asked) {
		t.Fatalf("ticking decided: the file says %q", got)
	}
	p.press(".ask .answers .choices [data-choice=allow_once]")
	p.until(`!!document.querySelector("dialog .words")`) // what is remembered is more than what is allowed here
	if got := p.text("dialog .words"); !strings.Contains(got, "“Remember this choice” is ticked by Ana") || b.content("a.txt") != "(missing)" {
		t.Fatalf("before it was confirmed: %q, and the file says %q", got, b.content("a.txt"))
	}
	p.press("dialog [data-act=confirm]")
	p.until(isDone)
	p.press("#new")
	p.until(`document.querySelectorAll(".bot").length === 0`)
	p.say("write two to a.txt")
	p.until(isDone)
	if got := b.content("a.txt"); got != "two" {
		t.Errorf("in another chat the file says %q", got)
	}
	p.settings()
	p.view("mine")
	p.pick("Forget", false, "write_file")
	p.back()
	p.say("write three to a.txt")
	p.until(asked)
	if got := b.content("a.txt"); got != "two" {
		t.Errorf("forgotten, yet the file says %q", got)
	}
	p.press(".ask .answers .choices [data-choice=deny]")
	p.until(isDone)
}

// What is wider than one call says so, and has to be confirmed; then it holds for what it says.
// R106 R107
func TestPageAllowsAServer(t *testing.T) {
	t.Parallel()
	b := start(t, settings{})
	p := browse(t, b)
	p.say("write one to a.txt")
	p.until(asked)
	p.press(".ask .more summary")
	p.press(".ask [data-choice=allow_writes]")
	p.until(`!!document.querySelector("dialog[open]")`)
	if got := p.text("dialog .words"); !strings.HasPrefix(got, "Allow reads and writes from workbench in this chat without asking again?") {
		t.Errorf("the confirmation says %q", got)
	}
	p.press("dialog [data-act=cancel]")
	p.until(`!document.querySelector("dialog")`)
	if got := b.content("a.txt"); got != "(missing)" || !look[bool](p, asked) {
		t.Fatalf("a cancelled confirmation decided: the file says %q", got)
	}
	p.press(".ask [data-choice=allow_writes]")
	p.until(`!!document.querySelector("dialog[open]")`)
	p.press("dialog [data-act=confirm]")
	p.until(isDone)
	p.say("write two to b.txt")
	p.until(`document.querySelectorAll(".bot[data-state=done]").length === 2`)
	if got := b.content("a.txt") + b.content("b.txt"); got != "onetwo" {
		t.Errorf("the files say %q", got)
	}
}

// A halt from the page stops what waits and tells everybody, until it is resumed.
func TestSettingsPageHalts(t *testing.T) {
	t.Parallel()
	b := start(t, withBoss(""))
	ana := browse(t, b)
	ana.say("write one to a.txt")
	ana.until(asked)
	p := browse(t, b)
	p.signIn(bossKey)
	p.settings()
	p.pick("Halt everything…", true, "Halt")
	p.until(`!!document.querySelector(".warn")`)
	if got := p.text(".warn"); !strings.Contains(got, "halted nod") {
		t.Errorf("the banner says %q", got)
	}
	ana.until(`!document.querySelector(".ask") && !!document.querySelector('.bot[data-state=stopped], .bot[data-state=failed]')`)
	ana.say("write two to a.txt")
	ana.until(`document.querySelectorAll(".bot").length === 2 && !document.querySelector(".ask")`)
	if got := b.content("a.txt"); got != "(missing)" {
		t.Errorf("halted, and the file says %q", got)
	}
	p.pick("Resume", false, "Resume")
	ana.say("write three to a.txt")
	ana.until(asked)
	ana.press(".ask .answers .choices [data-choice=allow_once]")
	ana.until(isDone)
	if got := b.content("a.txt"); got != "three" {
		t.Errorf("resumed, and the file says %q", got)
	}
}

// An admin sees in the chat that tools wait for their word, and where to give it; nobody else is troubled.
func TestPageTellsAnAdminOfNewTools(t *testing.T) {
	t.Parallel()
	yaml, _ := toolbox(t)
	b := start(t, withBoss(yaml))
	ana := browse(t, b)
	p := browse(t, b)
	p.signIn(bossKey)
	p.until(`/^Permissions · [1-9]\d* new$/.test(document.getElementById("permissions").textContent)`)
	ana.say("what time is it")
	ana.until(isDone)
	if got := ana.text("#permissions"); got != "Permissions" {
		t.Errorf("Ana reads %q", got)
	}
	p.settings()
	look[bool](p, `(`+row("box", "new tools")+`.querySelector("a").click(), true)`)
	p.until(`document.querySelector("#panel h1").textContent.includes("box")`)
	for { // one click for each group of tools
		label := look[string](p, `([...document.querySelectorAll("#panel button")].map(b => b.textContent).find(t => /^(Accept as they are now|Let \d+ tools? run)/.test(t)) || "")`)
		if label == "" {
			break
		}
		p.pick(label, false, label)
	}
	p.until(`!document.querySelector("#tabs .badge")`)
	p.back()
	p.until(`document.getElementById("permissions").textContent === "Permissions"`)
}

// Every view of the real settings fits, at every width, for somebody who may do everything.
func TestSettingsPageLooks(t *testing.T) {
	t.Parallel()
	yaml, _ := toolbox(t)
	b := start(t, withBoss(yaml+"approvals: {timeout: 5m}\n"))
	p := browse(t, b)
	p.signIn(bossKey)
	p.say("write hello to notes.txt")
	p.until(asked)
	p.press(".ask .answers .choices [data-choice=allow_chat]")
	p.until(isDone)
	p.say("delete notes.txt")
	p.until(asked)
	p.settings()
	fits := func(what string) {
		t.Helper()
		for _, width := range []int64{1200, 768, 390, 320} {
			p.do(chromedp.EmulateViewport(width, 900))
			if wide := look[int](p, `document.documentElement.scrollWidth - innerWidth`); wide > 0 {
				t.Errorf("%s, %d wide: it scrolls sideways by %d", what, width, wide)
			}
			if outside := look[[]string](p, `[...document.querySelectorAll("#panel button, #panel select, #panel a, #panel p, .bar a, .bar button")].filter(e => e.offsetParent && (e.getBoundingClientRect().right > innerWidth + 1 || e.getBoundingClientRect().left < -1)).map(e => e.textContent)`); len(outside) > 0 {
				t.Errorf("%s, %d wide: outside of the screen: %v", what, width, outside)
			}
			if width == 390 {
				p.shot("e-phone-" + what)
			}
		}
		p.do(chromedp.EmulateViewport(1200, 900))
		p.shot("e-" + what)
	}
	fits("home")
	for _, view := range []string{"grants", "servers", "mine", "templates", "history", "stats"} {
		p.view(view)
		fits(view)
	}
	p.view("servers")
	p.open("box")
	fits("server")
	p.open("echo")
	fits("tool")
	p.view("home")
	look[bool](p, `(`+row("box", "new tools")+`.querySelector("a").click(), true)`)
	p.until(`document.querySelector("#panel h1").textContent.includes("box")`)
	fits("install")
}

// The documentation's picture is the real page; -update-picture takes it anew. As with the README's, only its size is compared.
func TestSettingsPicture(t *testing.T) {
	b := start(t, settings{yaml: "approvals: {timeout: 5m}\n", env: map[string]string{"ADMIN_SESSION_KEYS": bossKey}})
	p := browse(t, b)
	p.signIn(bossKey)
	p.say("write hello to notes.txt")
	p.until(asked)
	p.press(".ask .answers .choices [data-choice=allow_chat]")
	p.until(isDone)
	p.say("delete notes.txt")
	p.until(asked)
	p.settings()
	p.until(`document.querySelectorAll("#panel section").length > 3`)
	taken, err := chromedp.Run(p.ctx, chromedp.CaptureScreenshot())
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join("..", "..", "..", "docs", "settings.png")
	if *updatePicture {
		if err := os.WriteFile(file, taken, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	kept, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if is, was := sizeOf(t, taken), sizeOf(t, kept); is != was {
		t.Errorf("the page is %v, the picture %v: take it anew with -run SettingsPicture -update-picture", is, was)
	}
}
