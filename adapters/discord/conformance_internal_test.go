package discord

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/render"
)

// What the conformance tests, which look from outside, have to be told: what a button says to the adapter, how text reads, and when
// something that leaves no trace outside is over.

// MaxRequest is what one signed request may have.
const MaxRequest = maxRequest

// ReadButton is what the adapter reads in a button, or in an option of a select.
func ReadButton(customID string, values []string) (chat.Choice, string, bool) {
	return parseCustomID(customID, values)
}

// DrawCard is how a message with one ask looks, as it is sent.
func DrawCard(a render.Ask) ([]byte, error) {
	p := encode(render.Message{State: render.Waiting, Blocks: []render.Block{a}}, func(string) bool { return false })
	s := sketchOf(levelFull, p)
	return s.body, errors.Join(s.err, check(p))
}

// Keep has an adapter live by a clock: what it waits for passes at once, and its next attempt at what was not recorded is when the
// clock says so.
func (a *Adapter) Keep(now func() time.Time, pass func(time.Duration), retry time.Duration) {
	a.now = now
	a.pause = func(ctx context.Context, d time.Duration) error {
		if ctx.Err() == nil {
			pass(d)
		}
		return ctx.Err()
	}
	a.in.wait = func(int) time.Duration { return retry }
}

// Caught waits until the marks are read that at least so many sessions of the gateway asked for. Before that nothing is taken live.
func (a *Adapter) Caught(ctx context.Context, sessions int) error {
	r := &a.in.rooms
	for {
		r.mu.Lock()
		ok, changed := r.began >= sessions && r.frozen == r.began, r.changed()
		r.mu.Unlock()
		if ok {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("the marks are not read: %w", ctx.Err())
		}
	}
}

// CaughtUp lets time pass until no room is behind. An attempt may have begun before what it needs was there: its next one is later.
func (a *Adapter) CaughtUp(ctx context.Context, pass func()) error {
	r := &a.in.rooms
	for passed := false; ; {
		r.mu.Lock()
		idle := !passed
		for _, l := range r.late {
			idle = idle && !l.working
		}
		left, changed := len(r.late), r.changed()
		if left > 0 && idle {
			pass()
			r.signal() // whoever waits for a room to be due looks again
		}
		r.mu.Unlock()
		if left == 0 {
			return nil
		}
		if passed = idle; passed {
			continue
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("%d rooms are behind: %w", left, ctx.Err())
		}
	}
}

// Settled waits until what came in a room so far has had its turn.
func (a *Adapter) Settled(ctx context.Context, room string) error {
	done := make(chan struct{})
	if !a.in.messages.Put(roomLane(room), func() { close(done) }) {
		return errors.New("the inbox is closed")
	}
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Closing waits until nothing is taken any more.
func (a *Adapter) Closing(ctx context.Context) error {
	look := time.NewTicker(time.Millisecond) // memory signals nothing
	defer look.Stop()
	for a.isOpen() {
		select {
		case <-look.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// Seen is a text as Discord's clients read it; where they differ, it is the most that one of them makes of it.
type Seen struct {
	Words    string
	Mentions []string // as IDs, "&ID" for a role, "#ID" for a channel, "everyone"
	Links    [][2]string
}

// ReadText reads Discord's markup.
func ReadText(md string) (out Seen) {
	for i, d := range dialects {
		nodes := read(md, d)
		if i == 0 {
			out.Words = plainWords(nodes)
		}
		walk(nodes, func(n seenNode) {
			switch n.kind {
			case "link":
				out.Links = append(out.Links, [2]string{plainWords(n.kids), n.href})
			case "url":
				out.Links = append(out.Links, [2]string{n.text, n.href})
			case "mention":
				out.Mentions = append(out.Mentions, strings.TrimPrefix(strings.TrimPrefix(strings.Trim(n.text, "<>"), "@!"), "@"))
			case "command", "everyone":
				out.Mentions = append(out.Mentions, strings.TrimPrefix(n.text, "@"))
			}
		})
	}
	return out
}

func plainWords(nodes []seenNode) string {
	var b strings.Builder
	for _, n := range nodes {
		switch n.kind {
		case "header": // its text is the marks
			b.WriteString(plainWords(n.kids) + "\n")
		case "list":
			b.WriteString("• " + plainWords(n.kids) + "\n")
		default:
			b.WriteString(n.text + plainWords(n.kids))
		}
		if n.kind == "quote" || n.kind == "subtext" || n.kind == "fence" {
			b.WriteString("\n")
		}
	}
	return b.String()
}

// What is stored of a chat is read back as the same place, and nothing else is taken for one.
func FuzzPlace(f *testing.F) {
	f.Add("discord", "800000000000000001", "100000000000000001/100000000000000002")
	f.Add("discord", "", "100000000000000001")
	f.Add("discord", "1", "1/")
	f.Add("web", "T:1", "C%1/1.0\n")
	f.Fuzz(func(t *testing.T, platform, workspace, key string) {
		id := chat.ID{Platform: platform, Workspace: workspace, Key: key}
		p, ok := placeOf(id)
		if !ok {
			return
		}
		if platform != Platform || p.id() != id {
			t.Fatalf("%#v is read as %+v, which is %#v", id, p, p.id())
		}
		if back, err := chat.ParseID(id.String()); err != nil || back != id {
			t.Fatalf("%#v is stored as %q and read back as %#v, %v", id, id, back, err)
		}
	})
}

// ReasonForm is the custom_id of a form for a reason, and that of its input.
func ReasonForm(token string) (form, field string) {
	return denyModal(token, "something").CustomID, fieldReason
}
