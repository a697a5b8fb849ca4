package web

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/nodhq/nod/core/agent/turn"
)

const asks = `!!document.querySelector(".ask")`

// unsay empties the message field.
func unsay(t *testing.T, ctx context.Context) {
	t.Helper()
	eval[bool](t, ctx, `(document.getElementById("say").value = "", true)`)
}

// A question takes the focus of whoever does nothing else, has keys a moment later, and gives the focus back.
func TestPageAsksTheKeyboard(t *testing.T) {
	ctx, b, _ := browser(t)
	if got := eval[string](t, ctx, `(l => l.getAttribute("role") + " " + !!l.querySelector("ol.messages"))(document.getElementById("log"))`); got != "log true" {
		t.Errorf("the messages are %q", got)
	}
	speak(t, ctx, "write hello to notes.txt")
	until(t, ctx, `document.activeElement.matches(".ask")`)
	// What was typed on goes into the field.
	keys(t, ctx, "and")
	until(t, ctx, `document.activeElement.id === "say" && document.getElementById("say").value.trim() === "and"`)
	unsay(t, ctx)
	do(t, ctx, chromedp.Focus(css(".ask")))
	until(t, ctx, `!!document.querySelector(".ask[data-keys]")`)
	shoot(t, ctx, "keys")
	do(t, ctx, chromedp.EmulateViewport(390, 664)) // where the answers stand in two rows, and ⋯ beside Deny
	until(t, ctx, `innerWidth === 390`)
	if got := eval[string](t, ctx, `[...document.querySelectorAll(".ask .choices > .act")].map(b => getComputedStyle(b, "::after").content).join()`); got != `"1","2","3"` {
		t.Errorf("the keys on the answers: %s", got)
	}
	const place = `(b => (d => Math.round(b.left) + " " + Math.round(b.top - d.top))(document.querySelector(".ask [data-choice=deny]").getBoundingClientRect()))(document.querySelector(".ask summary").getBoundingClientRect())`
	before := eval[string](t, ctx, place)
	press(t, ctx, ".ask .more summary")
	until(t, ctx, `document.querySelector(".ask .menu").getBoundingClientRect().bottom > innerHeight && document.querySelector(".ask .answers").getBoundingClientRect().top < 200`)
	if after := eval[string](t, ctx, place); after != before {
		t.Errorf("⋯ was at %s and is at %s", before, after)
	}
	press(t, ctx, ".ask .more summary")
	do(t, ctx, chromedp.EmulateViewport(1200, 820))
	keys(t, ctx, kb.Escape)
	until(t, ctx, `document.activeElement.id === "say" && !document.querySelector(".ask[data-keys]")`)
	do(t, ctx, chromedp.Focus(css(".ask")))
	keys(t, ctx, "3")
	until(t, ctx, `!!document.querySelector('.step[data-state=denied]')`)
	until(t, ctx, `document.activeElement.id === "say"`)
	speak(t, ctx, "write hello to notes.txt")
	until(t, ctx, `document.activeElement.matches(".ask[data-keys]")`)
	keys(t, ctx, "2")
	until(t, ctx, `!!document.querySelector('.step[data-state=done]')`)
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.ran) != 1 {
		t.Errorf("ran %v", b.ran)
	}
}

// A digit that was on its way to the message field when the question took the focus answers nothing, and whoever writes keeps the focus.
func TestPageTakesNoAnswerForAWord(t *testing.T) {
	ctx, b, _ := browser(t)
	eval[bool](t, ctx, `(real => setTimeout = (f, ms) => ms === 1000 ? 0 : real(f, ms))(setTimeout) && true`) // the moment until the keys count does not end
	speak(t, ctx, "write hello to notes.txt")
	until(t, ctx, `document.activeElement.matches(".ask")`)
	keys(t, ctx, "1")
	until(t, ctx, `document.getElementById("say").value.trim() === "1"`)
	speak(t, ctx, " and on")
	until(t, ctx, `document.querySelectorAll(".mine").length === 2`)
	if eval[bool](t, ctx, `(dispatchEvent(new Event("blur")), document.querySelector(".ask [data-choice=allow_once]").focus(), !!document.querySelector(".ask").dataset.keys)`) {
		t.Error("whoever comes back to the window has keys at once")
	}
	do(t, ctx, chromedp.SendKeys(css("#say"), "more"), chromedp.Focus(css(".ask [data-choice=deny]")))
	keys(t, ctx, " ")
	until(t, ctx, `!!document.querySelector('.step[data-state=denied]')`)
	unsay(t, ctx)
	speak(t, ctx, "write it")
	do(t, ctx, chromedp.SendKeys(css("#say"), "I was about to"))
	until(t, ctx, asks)
	do(t, ctx, chromedp.SendKeys(css("#say"), " say 2"))
	if got := eval[string](t, ctx, `document.activeElement.id + "|" + document.getElementById("say").value`); !strings.HasPrefix(got, "say|") || !strings.HasSuffix(got, " say 2") {
		t.Errorf("whoever was writing stands at %q", got)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.ran) > 0 {
		t.Errorf("ran %v", b.ran)
	}
}

// On a small phone all answers of a question are on the screen as soon as it is, and a way leads to one that is not.
func TestPageKeepsTheAnswersOnTheScreen(t *testing.T) {
	ctx, _, _ := browser(t)
	do(t, ctx, chromedp.EmulateViewport(390, 664, chromedp.EmulateMobile))
	speak(t, ctx, strings.Repeat("Some words that fill the screen. ", 40))
	until(t, ctx, `!!document.querySelector(".bot[data-state=done]") && !document.getElementById("send").disabled`)
	speak(t, ctx, "write hello to notes.txt")
	until(t, ctx, asks)
	const outside = `[...document.querySelectorAll(".ask .choices button")].filter(b => { const r = b.getBoundingClientRect(), at = document.elementFromPoint(r.x + r.width / 2, r.y + r.height / 2); return at !== b }).map(b => b.textContent)`
	if out := eval[[]string](t, ctx, outside); len(out) > 0 {
		t.Errorf("not on the screen: %v", out)
	}
	shoot(t, ctx, "sticky-664")
	eval[bool](t, ctx, `(document.getElementById("scroll").scrollTop = 0, true)`)
	until(t, ctx, `document.getElementById("jump").textContent === "↓ A question waits"`)
	shoot(t, ctx, "jump-664")
	press(t, ctx, "#jump")
	until(t, ctx, `document.getElementById("jump").hidden && document.activeElement.matches(".ask")`)
	if out := eval[[]string](t, ctx, outside); len(out) > 0 {
		t.Errorf("after the jump not on the screen: %v", out)
	}
	fits(t, ctx, 390)
}

// A page that nobody looks at tells that something waits, and that a long turn ended, to those who asked for that.
func TestPageNotifies(t *testing.T) {
	ctx, b, _ := browser(t)
	eval[bool](t, ctx, `(rung = [], Object.defineProperty(document, "hidden", { configurable: true, get: () => true }),
		Notification = class { static permission = "default"; static requestPermission = async () => Notification.permission = "granted"; constructor(title, more) { rung.push(title + " | " + more.body + " | " + more.silent) } }, true)`)
	speak(t, ctx, "write hello to notes.txt")
	until(t, ctx, asks)
	if got := eval[string](t, ctx, `document.title`); got != "(1) needs your answer · nod" {
		t.Errorf("the title is %q", got)
	}
	press(t, ctx, ".ask [data-choice=deny]")
	until(t, ctx, `document.title === "nod"`)
	if eval[int](t, ctx, `rung.length`) > 0 || eval[bool](t, ctx, `Notification.permission !== "default"`) {
		t.Fatal("nobody asked for notifications")
	}
	press(t, ctx, "#bell")
	until(t, ctx, `document.getElementById("bell").getAttribute("aria-pressed") === "true"`)
	speak(t, ctx, "write hello to notes.txt")
	until(t, ctx, `rung.length === 1`)
	b.mu.Lock()
	b.clock = b.clock.Add(2 * time.Minute)
	b.mu.Unlock()
	press(t, ctx, ".ask [data-choice=allow_once]")
	until(t, ctx, `rung.length === 2`)
	first := eval[string](t, ctx, `document.querySelector(".step") && rung[0]`)
	if got := first + "\n" + eval[string](t, ctx, `rung[1]`); !strings.HasPrefix(got, "nod: Write hello to notes.txt? | write hello to notes.txt | true\nnod is done | ") {
		t.Errorf("told: %q", got)
	}
	press(t, ctx, "#bell")
	speak(t, ctx, "write hello to notes.txt")
	until(t, ctx, asks)
	if n := eval[int](t, ctx, `rung.length`); n != 2 {
		t.Errorf("%d after the bell was switched off", n)
	}
}

// Light, dark or as the system has it: this browser's choice, on every page.
func TestPageColours(t *testing.T) {
	ctx, _, _ := browser(t)
	dark(t, ctx, false)
	const ground = `getComputedStyle(document.body).backgroundColor`
	light := eval[string](t, ctx, ground)
	press(t, ctx, ".theme")
	dark(t, ctx, true)
	if got := eval[string](t, ctx, ground); got != light {
		t.Errorf("light was chosen, and the ground is %s", got)
	}
	press(t, ctx, ".theme")
	dark(t, ctx, false)
	black := eval[string](t, ctx, ground)
	do(t, ctx, chromedp.Navigate(eval[string](t, ctx, `location.origin`)+"/settings"))
	until(t, ctx, `!!document.querySelector(".panel h1")`)
	if got := eval[string](t, ctx, ground); black == light || got != black {
		t.Errorf("dark was chosen: %s, on the settings %s", black, got)
	}
	press(t, ctx, ".theme")
	if got := eval[string](t, ctx, ground); got != light {
		t.Errorf("as the system again: %s", got)
	}
}

// Code and messages can be copied; code is coloured by text alone, and a wide table scrolls inside itself.
func TestPageShowsCodeAndTables(t *testing.T) {
	ctx, _, _ := browser(t)
	do(t, ctx, chromedp.EmulateViewport(390, 664))
	eval[bool](t, ctx, `(Object.defineProperty(navigator, "clipboard", { value: { writeText: async text => { window.copied = text } } }), true)`)
	eval[bool](t, ctx, `(document.getElementById("say").value = "\n\n`+"```go\\n// <b>hi</b>\\nreturn \\\"x\\\", 42\\n```\\n\\n|a|b|\\n|-|-|\\n|"+strings.Repeat("verywide", 12)+`|`+strings.Repeat("verywide", 12)+`|\n", document.getElementById("composer").requestSubmit(), true)`)
	until(t, ctx, `!!document.querySelector(".bot[data-state=done] table")`)
	shoot(t, ctx, "code-table")
	if got := eval[string](t, ctx, `[...document.querySelectorAll(".codeblock code span")].map(s => s.className + ":" + s.textContent).join("|")`); got != `j-com:// <b>hi</b>|j-key:return|j-str:"x"|j-num:42` {
		t.Errorf("the code is %q", got)
	}
	fits(t, ctx, 390)
	if !eval[bool](t, ctx, `(w => w.scrollWidth > w.clientWidth)(document.querySelector(".wide"))`) {
		t.Error("the wide table does not scroll inside itself")
	}
	press(t, ctx, ".codeblock .copy")
	until(t, ctx, `(window.copied || "").startsWith("// <b>hi</b>\nreturn")`)
	press(t, ctx, ".bot .head .copy")
	until(t, ctx, "window.copied.includes('```go')")
}

// A block of text goes the way of its first letter, with its bullets, its bar and its columns, and so does what one writes.
func TestPageReadsFromRightToLeft(t *testing.T) {
	ctx, _, _ := browser(t)
	const ways = `[...document.querySelectorAll(".text > *")].map(e => e.tagName + ":" + getComputedStyle(e).direction).join()`
	for said, want := range map[string]string{
		"مرحبا\n\n# عنوان\n\n- بند\n- two\n\n> اقتباس\n\n1. أولا\n\n   ثانيا\n\n|قيمة|\n|-|\n|x|\n\n```\nكود\n```\n": "H3:rtl,UL:rtl,BLOCKQUOTE:rtl,OL:rtl,DIV:rtl,DIV:ltr",
		"hello\n\n# one\n\n- two\n- بند\n\n> three": "H3:ltr,UL:ltr,BLOCKQUOTE:ltr",
	} {
		press(t, ctx, "#new")
		eval[bool](t, ctx, `(document.getElementById("say").value = `+strconv.Quote(said)+`, true)`)
		if got := eval[string](t, ctx, `getComputedStyle(document.getElementById("say")).direction`); !strings.Contains(want, "H3:"+got) {
			t.Errorf("it is written %s", got)
		}
		eval[bool](t, ctx, `(document.getElementById("composer").requestSubmit(), true)`)
		until(t, ctx, `!!document.querySelector(".bot[data-state=done] blockquote")`)
		if got := eval[string](t, ctx, ways); !strings.Contains(got, want) {
			t.Errorf("%s: %s", said, got)
		}
		shoot(t, ctx, "way-"+want[3:6])
		if !eval[bool](t, ctx, `(u => getComputedStyle(u)[getComputedStyle(u).direction === "rtl" ? "paddingRight" : "paddingLeft"] !== "0px")(document.querySelector(".text ul"))`) {
			t.Error("the bullets stand outside")
		}
	}
}

// What one says goes to the chat where it was said, though the answer to what was said before it is still on its way.
func TestPageSendsWhereItWasSaid(t *testing.T) {
	for name, late := range map[string]string{"the chat is being made": "/chats", "the chat is being opened": "nodes=1", "the message is being sent": "/messages"} {
		t.Run(name, func(t *testing.T) {
			ctx, b, _ := browser(t)
			eval[bool](t, ctx, `(fetch => { window.fetch = async (...a) => { const out = await fetch(...a); if (!window.held && a[0].endsWith("`+late+`") && (a[0].includes("nodes") || a[1].method === "POST")) { window.held = true; await new Promise(go => window.go = go); } return out; }; return true })(window.fetch)`)
			speak(t, ctx, "one")
			until(t, ctx, `window.held === true`)
			press(t, ctx, "#new")
			speak(t, ctx, "two")
			eval[bool](t, ctx, `(go(), true)`)
			until(t, ctx, `[...document.querySelectorAll(".mine")].map(m => m.textContent).join("|") === "two"`)
			b.mu.Lock()
			defer b.mu.Unlock()
			var said []string
			for _, log := range b.logs {
				var in []string
				for _, x := range log {
					if m, is := x.Event.(turn.Said); is {
						in = append(in, m.Text)
					}
				}
				said = append(said, strings.Join(in, "+"))
			}
			if slices.Sort(said); strings.Join(said, " ") != "one two" {
				t.Errorf("the chats have %v", said)
			}
		})
	}
}

// The list finds chats by their titles and by what was said in them.
func TestPageFindsChats(t *testing.T) {
	ctx, _, _ := browser(t)
	speak(t, ctx, "Where is the llama?")
	until(t, ctx, `!!document.querySelector(".bot[data-state=done]")`)
	press(t, ctx, "#new")
	speak(t, ctx, "write hello to notes.txt")
	until(t, ctx, asks)
	find := func(words, want string) {
		t.Helper()
		eval[bool](t, ctx, `(f => { f.value = "`+words+`"; f.dispatchEvent(new Event("input")); return true })(document.getElementById("find"))`)
		until(t, ctx, `[...document.querySelectorAll("#chats > *")].map(a => a.textContent).join("|") === "`+want+`"`)
	}
	find("LLAMA the", "Where is the llama?")
	find("I'll file", "write hello to notes.txtI'll write the file.")
	shoot(t, ctx, "search")
	find("nobody said this", "No chat has these words.")
	find("", "write hello to notes.txt|Where is the llama?")
}

// What is being written is there again when one comes back to the page, until it is sent. Whoever signs in after somebody else does not find it.
func TestPageKeepsTheDraft(t *testing.T) {
	ctx, _, _ := browser(t)
	origin := eval[string](t, ctx, `location.origin`)
	finds := func(want string) {
		t.Helper()
		do(t, ctx, chromedp.Navigate(origin+"/settings"), chromedp.Navigate(origin), chromedp.WaitVisible(css("#say")))
		until(t, ctx, `document.readyState === "complete"`)
		if got := eval[string](t, ctx, `document.getElementById("say").value`); got != want {
			t.Fatalf("the field has %q, not %q", got, want)
		}
	}
	keys(t, ctx, "half a sentence")
	finds("half a sentence")
	for _, who := range []struct{ name, finds string }{{"Ben", ""}, {"Ana", "half a sentence"}} {
		do(t, ctx, chromedp.Click(css(".me button")), chromedp.SetValue(css("#name"), who.name), chromedp.Click(css("button.send")), chromedp.WaitVisible(css("#say")))
		finds(who.finds)
	}
	do(t, ctx, chromedp.Focus(css("#say")))
	keys(t, ctx, kb.Enter)
	until(t, ctx, `!!document.querySelector(".bot[data-state=done]")`)
	finds("")
}

// The Enter that ends a word of an input method sends nothing. Safari gives it after the composition, with the key code of one.
func TestPageSendsNothingWhileComposing(t *testing.T) {
	ctx, b, _ := browser(t)
	keys(t, ctx, "nihon")
	if _, err := chromedp.Call(ctx, input.DispatchKeyEvent, input.DispatchKeyEventParams{Type: "rawKeyDown", Key: "Enter", Code: "Enter", WindowsVirtualKeyCode: 229}); err != nil {
		t.Fatal(err)
	}
	keys(t, ctx, "go")
	if got := eval[string](t, ctx, `document.getElementById("say").value`); got != "nihongo" {
		t.Errorf("the field has %q", got)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.logs) > 0 {
		t.Error("half a word was sent")
	}
}

// What a proxy refuses, or the line, is told in words; so is it that one has to sign in again.
func TestPageSaysWhyNothingWasSent(t *testing.T) {
	ctx, b, _ := browser(t)
	const said = `document.querySelector("#whisper p").textContent`
	eval[bool](t, ctx, `(fetch => { window.fetch = async (...a) => /\/files\?/.test(a[0]) ? window.answer() : fetch(...a); return true })(window.fetch)`)
	for answer, want := range map[string]string{
		`() => new Response("<h1>413 Request Entity Too Large</h1>", { status: 413 })`: "too large",
		`() => { throw new TypeError("Failed to fetch") }`:                             "That did not reach the bot.",
	} {
		eval[bool](t, ctx, `(window.answer = `+answer+`, document.querySelector("#whisper button").click(), true)`)
		eval[bool](t, ctx, `(paste => { paste.items.add(new File(["x"], "shot.png")); document.getElementById("say").dispatchEvent(new ClipboardEvent("paste", { clipboardData: paste })); document.getElementById("composer").requestSubmit(); return true })(new DataTransfer())`)
		until(t, ctx, said+` !== ""`)
		if got := eval[string](t, ctx, said); !strings.Contains(got, want) {
			t.Errorf("the page says %q", got)
		}
		press(t, ctx, "#files button")
	}
	b.mu.Lock()
	clear(b.sessions)
	b.mu.Unlock()
	press(t, ctx, "#whisper button")
	speak(t, ctx, "hello")
	until(t, ctx, said+` === "Your session has ended. Reload this page to sign in."`)
}

// The answer was lost, and the message not: who sees that and takes it out of the field may say the same again later.
func TestPageSaysTheSameTwice(t *testing.T) {
	ctx, _, _ := browser(t)
	const mine = `document.querySelectorAll(".mine").length`
	speak(t, ctx, "go on")
	until(t, ctx, mine+` === 1 && !document.getElementById("send").disabled`)
	eval[bool](t, ctx, `(fetch => { window.fetch = async (...a) => { const out = await fetch(...a); if (!window.lost && a[0].endsWith("/messages")) { window.lost = true; throw new TypeError("cut off"); } return out; }; return true })(window.fetch)`)
	speak(t, ctx, "go on")
	until(t, ctx, mine+` === 2 && document.getElementById("say").value === "go on"`)
	keys(t, ctx, kb.Enter) // tried again as it is, it is the same message
	until(t, ctx, `document.getElementById("say").value === "" && !document.getElementById("send").disabled`)
	eval[bool](t, ctx, `!(window.lost = false)`)
	speak(t, ctx, "yes")
	until(t, ctx, mine+` === 3 && document.getElementById("say").value === "yes"`)
	unsay(t, ctx)
	speak(t, ctx, "yes")
	until(t, ctx, mine+` === 4`)
}

// A button that goes away by its own press leaves the focus where one goes on.
func TestPageKeepsTheFocusOfAButtonThatGoes(t *testing.T) {
	ctx, b, _ := browser(t)
	b.mu.Lock()
	b.hold = true
	b.mu.Unlock()
	speak(t, ctx, "write hello to notes.txt")
	until(t, ctx, asks)
	press(t, ctx, ".ask [data-choice=allow_once]")
	until(t, ctx, `!!document.querySelector(".step[data-state=running]")`)
	do(t, ctx, chromedp.Focus(css(".head [data-choice=stop]")))
	keys(t, ctx, kb.Enter)
	until(t, ctx, `!document.querySelector(".head [data-choice=stop]")`)
	if on := eval[string](t, ctx, `document.activeElement.id`); on != "say" {
		t.Errorf("the focus is on %q", on)
	}
}
