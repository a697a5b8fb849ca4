package attach

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/text"
)

// desk is a platform with files, a reader and a store. A file's handle says what becomes of it.
type desk struct {
	asked, broke int
	log          bytes.Buffer
}

type later struct{ error }

func (later) Later() time.Duration { return 5 * time.Second }

func (d *desk) Fetch(_ context.Context, _ chat.ID, f chat.File, _ int) ([]byte, error) {
	d.asked++
	switch f.Handle {
	case "gone":
		return nil, &Error{Why: turn.UnreadGone, Cause: errors.New("status 404")}
	case "down":
		return nil, errors.New("down")
	case "busy":
		if d.asked == 1 {
			return nil, later{errors.New("busy")}
		}
	}
	return []byte(f.Handle), nil
}

func (*desk) Read(_ context.Context, _ chat.File, data []byte) (Document, error) {
	switch s := string(data); {
	case s == "unreadable":
		return Document{}, errors.New("unreadable")
	case s == "panic":
		panic("a reader that breaks")
	case strings.HasPrefix(s, "picture"):
		return Document{Picture: "image/png"}, nil
	default:
		return Document{Text: s, Pages: 1}, nil
	}
}

func (*desk) PutBlob(context.Context, chat.ID, []byte) (string, error) { return "key", nil }

func (*desk) Blob(context.Context, chat.ID, string) ([]byte, error) { return []byte("p"), nil }

func (d *desk) files() Files {
	return Files{Platform: d, Reader: d, Blobs: d, Seen: true, Logger: slog.New(slog.NewTextHandler(&d.log, nil)), Survive: func(_ string, then func()) {
		if recover() != nil {
			d.broke++
			then()
		}
	}}
}

// TestWhatBecomesOfAFile: it is read, or the model and the person are told why not.
func TestWhatBecomesOfAFile(t *testing.T) {
	for _, c := range []struct {
		handle string
		size   int
		change func(*Files)
		why    turn.WhyUnread
		asked  int
		took   time.Duration
	}{
		{handle: "words", asked: 1},
		{handle: "words", size: MaxFileBytes, asked: 1},
		{handle: "words", change: func(a *Files) { a.Seen = false }, asked: 1},
		{handle: "words", size: MaxFileBytes + 1, why: turn.UnreadTooBig},
		{handle: "words", change: func(a *Files) { a.Reader = nil }, why: turn.UnreadKind},
		{handle: "words", change: func(a *Files) { a.Platform = nil }, why: turn.UnreadKind},
		{handle: "gone", why: turn.UnreadGone, asked: 1},
		{handle: "down", why: turn.UnreadTrouble, asked: 3, took: 750 * time.Millisecond},
		{handle: "busy", asked: 2, took: 5 * time.Second},
		{handle: "unreadable", why: turn.UnreadTrouble, asked: 1},
		{handle: "panic", why: turn.UnreadBroken, asked: 1},
		{handle: "picture", asked: 1},
		{handle: "picture", change: func(a *Files) { a.Seen = false }, why: turn.UnreadPicture, asked: 1},
		{handle: "picture", change: func(a *Files) { a.Blobs = nil }, why: turn.UnreadPicture, asked: 1},
		{handle: "picture" + strings.Repeat("x", maxPicture), why: turn.UnreadTooBig, asked: 1},
	} {
		synctest.Test(t, func(t *testing.T) {
			d, begun := &desk{}, time.Now()
			a := d.files()
			if c.change != nil {
				c.change(&a)
			}
			read := a.Read(t.Context(), []chat.File{{Name: "a.txt", Handle: c.handle, Size: c.size}})
			if len(read) != 1 || read[0].Name != "a.txt" || read[0].Why != c.why || d.asked != c.asked || time.Since(begun) != c.took {
				t.Fatalf("%.9s: %+v, asked %d times in %v", c.handle, read, d.asked, time.Since(begun))
			}
			// Whoever runs nod hears of what should have been read, and why it was not.
			own := slices.Contains([]turn.WhyUnread{"", turn.UnreadKind, turn.UnreadPicture, turn.UnreadBroken}, c.why)
			if log := d.log.String(); (log == "") != own || c.handle == "gone" && !strings.Contains(log, "status 404") {
				t.Errorf("%.9s, %s: the log says %q", c.handle, c.why, log)
			}
			if words, picture := read[0].Text != "", read[0].Picture != nil; c.why == "" && words == picture || c.why != "" && (words || picture) {
				t.Errorf("%.9s: %+v", c.handle, read[0])
			}
		})
	}
}

// TestRoomForFiles: the first files have room, each for so much and all for so much.
func TestRoomForFiles(t *testing.T) {
	d := &desk{}
	var long, many []chat.File
	for range 4 {
		long = append(long, chat.File{Handle: strings.Repeat("x", maxFileChars+1)})
	}
	for range MaxFiles + 1 {
		many = append(many, chat.File{Handle: "words"})
	}
	for i, r := range d.files().Read(t.Context(), long) {
		if whole := i < 3; whole && (r.Chars != maxFileChars || r.Of != maxFileChars+1 || len(r.Text) != r.Chars) || !whole && r.Why != turn.UnreadTooMany {
			t.Errorf("file %d: %d of %d, %s", i, r.Chars, r.Of, r.Why)
		}
	}
	for i, r := range d.files().Read(t.Context(), many) {
		if (r.Why == turn.UnreadTooMany) != (i == MaxFiles) || r.Of != 0 {
			t.Errorf("file %d: %q, of %d", i, r.Why, r.Of)
		}
	}
}

// gallery shows pictures.
type gallery struct{ *desk }

func (gallery) ShowsPictures() {}

// TestPicturesOfResults: kept where somebody will see them, and never more than a few.
func TestPicturesOfResults(t *testing.T) {
	of := func(data ...string) (all []*turn.Picture) {
		for _, s := range data {
			all = append(all, &turn.Picture{Data: []byte(s)})
		}
		return all
	}
	for _, c := range []struct {
		name     string
		returned []*turn.Picture
		change   func(*Files, *desk)
		kept     int
	}{
		{"the model sees it", of("picture"), nil, 1},
		{"a person sees it", of("picture"), func(a *Files, d *desk) { a.Seen, a.Platform = false, gallery{d} }, 1},
		{"nobody sees it", of("picture"), func(a *Files, _ *desk) { a.Seen = false }, 0},
		{"nobody knows one", of("picture"), func(a *Files, _ *desk) { a.Reader = nil }, 0},
		{"nowhere to keep it", of("picture"), func(a *Files, _ *desk) { a.Blobs = nil }, 0},
		{"words and what cannot be read beside it", of("words", "unreadable", "picture"), nil, 1},
		{"too many", of(slices.Repeat([]string{"picture"}, maxReturned+1)...), nil, maxReturned},
		{"a reader that breaks", of("picture", "panic"), nil, 1},
	} {
		d := &desk{}
		a := d.files()
		if c.change != nil {
			c.change(&a, d)
		}
		if kept := a.Keep(t.Context(), c.returned); len(kept) != c.kept || slices.ContainsFunc(kept, func(p *turn.Picture) bool { return p.Key == "" }) || (d.broke > 0) != (c.name == "a reader that breaks") {
			t.Errorf("%s: %d kept", c.name, len(kept))
		}
	}
}

// TestTheModelsPictures: it gets the bytes, where it sees pictures and they are kept.
func TestTheModelsPictures(t *testing.T) {
	said := []turn.Utterance{{Role: turn.RoleUser, Files: []turn.FileRead{{Picture: &turn.Picture{Key: "key", Type: "image/png"}}}}}
	for _, c := range []struct {
		seen, kept bool
	}{{true, true}, {false, true}, {true, false}} {
		a := (&desk{}).files()
		if a.Seen = c.seen; !c.kept {
			a.Blobs = nil
		}
		if got := a.WithPictures(t.Context(), said)[0].Files[0].Picture; (len(got.Data) > 0) != (c.seen && c.kept) {
			t.Errorf("%+v: %q", c, got.Data)
		}
	}
}

// thread is a platform that tells what was said before a message. The message says what becomes of it.
type thread struct{ asked int }

func (p *thread) Earlier(_ context.Context, _ chat.ID, before chat.MessageRef, e chat.Earlier) ([]chat.Quote, error) {
	p.asked++
	switch {
	case before == "gone":
		return nil, &Error{Why: turn.UnreadForbidden, Cause: errors.New("missing_scope")}
	case before == "down" || before == "hiccup" && p.asked == 1:
		return nil, errors.New("down")
	case before == "busy" && p.asked == 1:
		return nil, later{errors.New("busy")}
	case before == "too busy":
		return nil, hour{errors.New("busy")}
	case before == "panic":
		panic("a thread that breaks")
	}
	return []chat.Quote{{Name: "Ben", Text: "since " + string(e.Since)}, {Name: "Ben", Text: "replied to"}}, nil
}

type hour struct{ error }

func (hour) Later() time.Duration { return time.Hour }

// What people said before a message is read, or the model is told that it cannot be; nobody waits for what would take too long.
func TestWhatWasSaidBefore(t *testing.T) {
	const said, unread = "since m0|replied to", text.EarlierUnread
	for before, want := range map[chat.MessageRef]struct {
		quotes string
		asked  int
		took   time.Duration
	}{
		"m1": {said, 1, 0}, "gone": {unread, 1, 0}, "down": {unread, 3, 750 * time.Millisecond}, "hiccup": {said, 2, 250 * time.Millisecond},
		"busy": {said, 2, 5 * time.Second}, "too busy": {unread, 1, 0}, "panic": {unread, 1, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			d, p, begun := &desk{}, &thread{}, time.Now()
			a := d.files()
			a.Platform = p
			got := a.Gather(t.Context(), &turn.Turn{ID: "t1", Said: []turn.Said{{Message: "m0"}, {Message: before, Earlier: &chat.Earlier{Since: "m0"}}}})
			if len(got) != 1 {
				t.Fatalf("%s: %+v", before, got)
			}
			var all []string
			for _, q := range got[0].(turn.EarlierRead).Quotes[0] {
				all = append(all, q.Text)
			}
			if strings.Join(all, "|") != want.quotes || p.asked != want.asked || time.Since(begun) != want.took {
				t.Errorf("%s: %q, asked %d times in %v", before, all, p.asked, time.Since(begun))
			}
			if log := d.log.String(); (log == "") != (want.quotes == said || before == "panic") || before == "gone" && !strings.Contains(log, "missing_scope") {
				t.Errorf("%s: the log says %q", before, log)
			}
		})
	}
}

// Files and what was said before are read at once, each for its own time; what a message shows itself is not read twice. Of a turn that is
// stopped meanwhile nobody says that it cannot be read, and where people do not talk to each other nothing is.
func TestFilesAndWhatWasSaidBefore(t *testing.T) {
	d := &desk{}
	a := d.files()
	a.Platform = struct {
		*desk
		*thread
	}{d, &thread{}}
	m := turn.Said{Message: "m1", Files: []chat.File{{Handle: "words"}}, Context: []chat.Quote{{Name: "Ben", Text: "replied to"}}, Earlier: &chat.Earlier{}}
	asked := &turn.Turn{ID: "t1", Said: []turn.Said{m, {Message: "m2", Earlier: &chat.Earlier{Since: "m1"}}}}
	got := a.Gather(t.Context(), asked)
	if len(got) != 2 || got[0].(turn.FilesRead).Files[0].Text != "words" {
		t.Fatalf("%+v", got)
	}
	if q := got[1].(turn.EarlierRead).Quotes; len(q) != 2 || len(q[0]) != 1 || q[0][0].Text != "since " || len(q[1]) != 2 || q[1][0].Text != "since m1" {
		t.Errorf("%+v", q)
	}
	stopped, stop := context.WithCancel(t.Context())
	stop()
	if got := a.Gather(stopped, asked); len(got) != 1 {
		t.Errorf("stopped: %+v", got)
	}
	if got := a.Gather(t.Context(), &turn.Turn{ID: "t1", Said: []turn.Said{{Files: m.Files}}}); len(got) != 1 {
		t.Errorf("nobody said anything before: %+v", got)
	}
	a.Platform = d
	if got := a.Gather(t.Context(), asked); len(got) != 2 || got[1].(turn.EarlierRead).Quotes[0] != nil {
		t.Errorf("nobody talks to each other there: %+v", got)
	}
}
