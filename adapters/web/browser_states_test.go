package web

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"image"
	"image/color"
	pixels "image/draw"
	"image/png"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/core/render"
)

var updateCards = flag.Bool("update-cards", false, "write docs/cards-page.png and docs/cards-phone.png: the states of a question")

// wish is one call of a reply, and what policy says of it.
type wish struct {
	server, tool, args string
	ruling             permission.Ruling
}

// board makes chats in which the model called tools, without the fake's own model.
type board struct {
	*bot
	id chat.ID
}

var ana = chat.User{Platform: Platform, Key: "ana"}

// chatWith is a chat of Ana's in which a reply has these calls, ruled and asked about.
func (b *bot) chatWith(key, said, reply string, calls ...wish) board {
	x := b.proposed(key, said, reply, calls...)
	for i, c := range x.fold(x.id).Turn.Calls {
		r := calls[i].ruling
		r.Timeout, r.Masked = b.timeout, render.MaskedJSON(c.Args) != nil
		x.rule(c.ID, r)
	}
	return x
}

// proposed is the same before anything is ruled.
func (b *bot) proposed(key, said, reply string, calls ...wish) board {
	x := board{b, webChat(key)}
	s := b.append(x.id, turn.Said{Delivery: chat.Delivery(key), By: ana, Name: "Ana", Text: said})
	id := s.Turn.ID
	b.append(x.id, turn.Shown{Turn: id, Message: chat.MessageRef("post-" + key)})
	var list []turn.Proposal
	for i, c := range calls {
		args := json.RawMessage(c.args)
		list = append(list, turn.Proposal{ID: turn.CallID(fmt.Sprint(key, i)), Tool: permission.Tool{Server: c.server, Name: c.tool, Definition: "d1"}, Args: args,
			Digest: permission.Digest("7f3a9c1e" + strings.Repeat("0", 56))})
	}
	b.append(x.id, turn.Replied{Turn: id, Text: reply, Calls: list})
	return x
}

func (x board) rule(call turn.CallID, r permission.Ruling) {
	x.append(x.id, turn.Ruled{Call: call, Ask: turn.AskID(x.bot.id("ask")), Ruling: r})
}

// call is the first call as it stands.
func (x board) call() turn.ToolCall { return x.fold(x.id).Turn.Calls[0] }

// start has the first call allowed by Ana and begun.
func (x board) start() {
	c := x.call()
	x.append(x.id, turn.Decided{Ask: c.Ask, Digest: c.Digest, Choice: chat.AllowOnce, By: ana, Name: "Ana"})
	x.append(x.id, turn.Started{Call: c.ID, Run: "r1", Ask: c.Ask, Digest: c.Digest, Token: 1})
}

func (x board) end(say string) {
	t := x.fold(x.id).Turn
	x.append(x.id, turn.Replied{Turn: t.ID, Step: t.Step, Text: say})
	x.append(x.id, turn.Ended{Turn: t.ID, Why: turn.Answered})
}

// state is one picture: what has to be read in it, and the buttons in sight besides ⋯, in their order.
type state struct {
	name, says, buttons string
	make                func(b *bot, key string) board
}

var states = []state{
	{"one", "Roll checkout back to 2026.11.21-7?", "Allow for this chat|Allow once|Deny", func(b *bot, key string) board {
		return b.chatWith(key, "checkout is broken since noon", "The release at 11:58 is the likely cause.", wish{"deploys", "rollback", `{"service":"checkout","version":"2026.11.21-7"}`,
			permission.Ruling{ChatGrant: true, Remember: true, Unrated: true, Message: "Roll checkout back to 2026.11.21-7?", Access: permission.Write}})
	}},
	{"reads", "docs/f5.md", "Allow these 5|Deny", func(b *bot, key string) board {
		var five []wish
		for i := range 5 {
			five = append(five, wish{"files", "read_text_file", fmt.Sprintf(`{"path":"docs/f%d.md"}`, i+1),
				permission.Ruling{ChatGrant: true, Unrated: true, SaysReads: true, Scopes: []permission.Scope{permission.ScopeReads}}})
		}
		return b.chatWith(key, "summarise the five files in docs", "I'll read them all first.", five...)
	}},
	{"dangerous", "dangerous", "Allow for this chat|Allow once|Deny", func(b *bot, key string) board {
		return b.chatWith(key, "clean the build up", "", wish{"shell", "run", `{"command":"rm -rf build && make release","cwd":"/srv/app"}`,
			permission.Ruling{ChatGrant: true, Risk: permission.Dangerous, Access: permission.Write}})
	}},
	{"masked", "Part of this call is hidden", "Show what is hidden|Allow once|Deny", func(b *bot, key string) board {
		return b.chatWith(key, "set the key for checkout", "", wish{"deploys", "set_variable", `{"service":"checkout","api_key":"sk-live-0123456789abcdefghij"}`,
			permission.Ruling{ChatGrant: true, Unrated: true, Access: permission.Write}})
	}},
	{"replaces", "On Fridays somebody shows something.", "Allow for this chat|Allow once|Deny", func(b *bot, key string) board {
		was, becomes := "# Standup\n\nEvery day at 9:30, in the kitchen.\n", "# Standup\n\nEvery day at 10:00, in the kitchen.\n\nOn Fridays somebody shows something.\n"
		x := b.proposed(key, "move the standup to ten", "", wish{"files", "write_file", `{"path":"docs/standup.md","content":` + strconv.Quote(becomes) + `}`, permission.Ruling{}})
		c := x.call()
		x.append(x.id, turn.PreviewStarted{Call: c.ID, Run: "p1", Of: c.Digest, Tool: permission.Tool{Server: "files", Name: "read_text_file"}, Args: []byte(`{"path":"docs/standup.md"}`), Token: 1})
		x.append(x.id, turn.Previewed{Call: c.ID, Run: "p1", Diff: render.DiffLines(was, becomes)})
		x.rule(c.ID, permission.Ruling{ChatGrant: true, Unrated: true, Access: permission.Write, Timeout: b.timeout})
		return x
	}},
	{"edited", "notes-2.txt", "Allow for this chat|Allow once|Deny", func(b *bot, key string) board {
		r := permission.Ruling{ChatGrant: true, Unrated: true, Access: permission.Write, Timeout: b.timeout}
		x := b.chatWith(key, "write hello to notes.txt", "I'll write the file.", wish{"files", "write_file", `{"path":"notes.txt","content":"hello"}`, r})
		c := x.call()
		x.append(x.id, turn.Amended{Ask: c.Ask, By: ana, Name: "Ana", Args: []byte(`{"path":"notes-2.txt","content":"hello"}`), Digest: "8e" + c.Digest[2:]})
		x.rule(c.ID, r)
		return x
	}},
	{"long", "400  what happened", "Allow for this chat|Allow once|Deny", func(b *bot, key string) board {
		var lines strings.Builder
		for i := range 400 {
			fmt.Fprintf(&lines, "%03d  what happened on the day, and who did what about it\\n", i+1)
		}
		return b.chatWith(key, "write the report", "I'll write it to docs/report.md.", wish{"files", "write_file", `{"path":"docs/report.md","content":"` + lines.String() + `"}`,
			permission.Ruling{ChatGrant: true, Unrated: true, Access: permission.Write}})
	}},
	{"unknown", "It may have happened", "It happened|Run again|Leave it", func(b *bot, key string) board {
		x := b.chatWith(key, "roll checkout back", "", wish{"deploys", "rollback", `{"service":"checkout","version":"2026.11.21-7"}`, permission.Ruling{ChatGrant: true, Unrated: true}})
		x.start()
		c := x.call()
		x.append(x.id, turn.Abandoned{Call: c.ID, Run: c.Run, Token: 2, Ask: turn.AskID(b.id("ask"))})
		return x
	}},
	{"expired", "nobody answered", "Ask again", func(b *bot, key string) board {
		x := b.chatWith(key, "write hello to notes.txt", "I'll write the file.", wish{"files", "write_file", `{"path":"notes.txt","content":"hello"}`, permission.Ruling{ChatGrant: true, Unrated: true}})
		c := x.call()
		b.clock = c.Deadline
		x.append(x.id, turn.Expired{Ask: c.Ask})
		x.end("Nobody answered in time, so I did not write it.")
		b.clock = time.Now() // the next state's
		return x
	}},
	{"decided", "allowed once by Ana", "", func(b *bot, key string) board {
		x := b.chatWith(key, "write hello to notes.txt", "I'll write the file.", wish{"files", "write_file", `{"path":"notes.txt","content":"hello"}`, permission.Ruling{ChatGrant: true, Unrated: true}})
		x.start()
		x.append(x.id, turn.Finished{Call: x.call().ID, Run: "r1", Result: turn.Result{Text: "5 bytes written"}})
		x.end("**Done.** `notes.txt` says hello.\n\n| file | bytes |\n|---|---:|\n| notes.txt | 5 |\n\n```go\nfmt.Println(\"hello\") // greets\n```")
		return x
	}},
}

// Every state of a question on the real page, at a desk and on a phone: what it says, that its answers are in sight at once, and that nothing
// runs over the side. With -update-cards the pictures in docs/cards.md are taken anew.
func TestCards(t *testing.T) {
	ctx, b, _ := browser(t)
	b.mu.Lock()
	for i, s := range states {
		s.make(b, fmt.Sprint("state-", i))
	}
	b.mu.Unlock()
	const sights = `[...document.querySelectorAll(".blocks .choices button")].filter(b => !b.closest(".more, .batch"))`
	for _, size := range []struct {
		sheet         string
		width, height int64
		columns       int
	}{{"cards-page.png", 1000, 600, 3}, {"", 800, 600, 0}, {"cards-phone.png", 390, 664, 5}} {
		do(t, ctx, chromedp.EmulateViewport(size.width, size.height))
		var shots []image.Image
		for i, s := range states {
			do(t, ctx, chromedp.Navigate(eval[string](t, ctx, `location.origin`)+fmt.Sprint("/c/state-", i)))
			until(t, ctx, `document.readyState === "complete" && !!document.querySelector(".bot .blocks")`)
			if got := eval[string](t, ctx, `document.querySelector(".bot").innerText`); !strings.Contains(got, s.says) {
				t.Errorf("%s: %q is not to be read in\n%s", s.name, s.says, got)
			}
			if got := strings.Join(eval[[]string](t, ctx, sights+`.map(b => b.textContent)`), "|"); got != s.buttons {
				t.Errorf("%s at %d: the buttons are %q, want %q", s.name, size.width, got, s.buttons)
			}
			if out := eval[[]string](t, ctx, sights+`.filter(b => { const r = b.getBoundingClientRect(); return document.elementFromPoint(r.x + r.width / 2, r.y + r.height / 2) !== b }).map(b => b.textContent)`); len(out) > 0 {
				t.Errorf("%s at %d: not on the screen: %v", s.name, size.width, out)
			}
			// None is alone in its row, as if it were more than the others.
			if alone := eval[[]string](t, ctx, `(all => all.filter(b => !all.some(o => o !== b && Math.abs(o.getBoundingClientRect().y - b.getBoundingClientRect().y) < 5)).map(b => b.textContent))([...document.querySelectorAll(".ask .answers .choices .act, .ask .more > summary")])`); len(alone) > 0 {
				t.Errorf("%s at %d: alone in a row: %v", s.name, size.width, alone)
			}
			fits(t, ctx, size.width)
			shoot(t, ctx, fmt.Sprintf("state-%s-%d", s.name, size.width))
			if *updateCards && size.sheet != "" {
				eval[bool](t, ctx, `(document.querySelector(".banner").remove(), (document.querySelector(".batch, .ask") || document.querySelector(".mine")).scrollIntoView(), true)`)
				shots = append(shots, screenshot(t, ctx))
			}
		}
		if *updateCards && size.sheet != "" {
			writeSheet(t, filepath.Join("..", "..", "docs", size.sheet), size.columns, shots)
		}
	}
}

func screenshot(t *testing.T, ctx context.Context) image.Image {
	t.Helper()
	raw, err := chromedp.Run(ctx, chromedp.CaptureScreenshot())
	if err != nil {
		t.Fatal(err)
	}
	shot, err := png.Decode(bytes.NewReader(raw))
	if err != nil {
		t.Fatal(err)
	}
	chat := shot.Bounds() // without the list of chats
	chat.Min.X = eval[int](t, ctx, `Math.max(0, document.querySelector("main").getBoundingClientRect().x)`)
	return shot.(interface {
		SubImage(image.Rectangle) image.Image
	}).SubImage(chat)
}

// writeSheet puts pictures of one size side by side, in the 255 colours that most of them have.
func writeSheet(t *testing.T, file string, columns int, shots []image.Image) {
	t.Helper()
	const gap = 10
	w, h := shots[0].Bounds().Dx()+gap, shots[0].Bounds().Dy()+gap
	sheet := image.NewRGBA(image.Rect(0, 0, columns*w+gap, (len(shots)+columns-1)/columns*h+gap))
	pixels.Draw(sheet, sheet.Bounds(), image.NewUniform(color.RGBA{0x70, 0x74, 0x7c, 0xff}), image.Point{}, pixels.Src)
	for i, shot := range shots {
		at := image.Pt(gap+i%columns*w, gap+i/columns*h)
		pixels.Draw(sheet, image.Rectangle{at, at.Add(shot.Bounds().Size())}, shot, shot.Bounds().Min, pixels.Src)
	}
	counts := map[color.RGBA]int{}
	for i := 0; i < len(sheet.Pix); i += 4 {
		counts[color.RGBA{sheet.Pix[i], sheet.Pix[i+1], sheet.Pix[i+2], 0xff}]++
	}
	common := slices.SortedFunc(maps.Keys(counts), func(a, b color.RGBA) int { return cmp.Compare(counts[b], counts[a]) })
	var most color.Palette
	for _, c := range common[:min(len(common), 255)] {
		most = append(most, c)
	}
	small := image.NewPaletted(sheet.Bounds(), most)
	pixels.Draw(small, small.Bounds(), sheet, image.Point{}, pixels.Src)
	var out bytes.Buffer
	if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&out, small); err != nil {
		t.Fatal(err)
	}
	if out.Len() > 400_000 {
		t.Errorf("%s has %d bytes", file, out.Len())
	}
	if err := os.WriteFile(file, out.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
}
