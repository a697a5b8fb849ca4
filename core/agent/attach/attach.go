// Package attach reads what a turn's messages come with: what people attach to them, and what they said to each other before. It keeps the
// pictures among it and those that tools return.
//
// It knows how much of a file is read and for how long, and why one is not. Who fetches, reads and keeps bytes is ports.go's. The engine
// begins it and records what came of it; [Files] writes no log.
package attach

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/nodhq/nod/core/agent/talk"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/backoff"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/text"
)

// How much of what people attach is read, for one turn, and of the pictures that tools return.
const (
	MaxFiles       = 10       // files
	MaxFileBytes   = 10 << 20 // of one file
	maxPicture     = 4 << 20  // bytes of one picture: services of models take no more than about 5 MB
	maxFileChars   = 20_000   // of one file's text that the model is given
	maxFilesChars  = 60_000   // of all of them
	maxPictures    = 8        // that one request to the model carries, the newest
	maxReturned    = 4        // pictures of one result that are kept, the first
	picturesWithin = 10 * time.Second
	fileWithin     = 20 * time.Second
	filesWithin    = 60 * time.Second // for all of them
	earlierWithin  = 10 * time.Second // for what people said before, which is waited for by who asks now
	tries          = 3
)

// Files are those of one chat.
type Files struct {
	Chat     chat.ID
	Platform any                            // a [Fetcher], where people attach files on it, a [Historian], where they talk to each other, and a [Gallery], where it shows pictures
	Reader   Reader                         // nil: files are named only
	Blobs    Blobs                          // nil: no picture is kept
	Seen     bool                           // the model is given pictures
	Survive  func(what string, then func()) // deferred, keeps a panic to itself
	Logger   *slog.Logger
}

// Gather reads what is still to be read of a turn's messages, until ctx ends.
func (a Files) Gather(ctx context.Context, t *turn.Turn) (came []turn.Event) {
	files, before := t.Unread()
	earlier := turn.EarlierRead{Turn: t.ID}
	var reading sync.WaitGroup
	reading.Go(func() {
		ctx, cancel := context.WithTimeout(ctx, earlierWithin)
		defer cancel()
		for _, m := range before {
			quotes, read := a.earlier(ctx, m)
			earlier.Quotes, earlier.Unread = append(earlier.Quotes, quotes), earlier.Unread || !read
		}
	})
	if len(files) > 0 {
		came = append(came, turn.FilesRead{Turn: t.ID, Files: a.Read(ctx, files)})
	}
	if reading.Wait(); len(before) > 0 && ctx.Err() == nil { // else nobody may say that it cannot be read: the next message may bring it
		came = append(came, earlier)
	}
	return came
}

// earlier reads what people said before a message, but for what it shows itself. Where that cannot be read the model is told so.
func (a Files) earlier(ctx context.Context, m turn.Said) (quotes []chat.Quote, read bool) {
	unread := []chat.Quote{{Name: text.Product, Text: text.EarlierUnread}}
	defer a.Survive("reading what was said before", func() { quotes = unread })
	from, can := a.Platform.(Historian)
	if !can {
		return nil, true
	}
	quotes, err := try(ctx, earlierWithin, func(ctx context.Context) ([]chat.Quote, error) {
		return from.Earlier(ctx, a.Chat, m.Message, *m.Earlier)
	})
	if err != nil {
		a.Logger.Warn("a message is answered without what was said before it", "chat", a.Chat, "message", m.Message, "err", err)
		return unread, false
	}
	return slices.DeleteFunc(quotes, func(q chat.Quote) bool { return slices.Contains(m.Context, q) }), true
}

// Read reads files of one turn, in their order, until ctx ends.
func (a Files) Read(ctx context.Context, files []chat.File) (read []turn.FileRead) {
	ctx, cancel := context.WithTimeout(ctx, filesWithin)
	defer cancel()
	room := maxFilesChars
	for i, f := range files {
		r := turn.FileRead{Why: turn.UnreadTooMany}
		if i < MaxFiles {
			r = a.readFile(ctx, f, min(room, maxFileChars))
		}
		r.Name = text.ShortName(f.Name)
		room -= r.Chars
		read = append(read, r)
	}
	return read
}

// readFile reads one, of which up to room characters are kept.
func (a Files) readFile(ctx context.Context, f chat.File, room int) (r turn.FileRead) {
	defer a.Survive("reading a file", func() { r = turn.FileRead{Why: turn.UnreadBroken} })
	r, err := a.tryFile(ctx, f, room)
	if err == nil {
		return r
	}
	r = turn.FileRead{Why: turn.UnreadTrouble}
	if no, ok := errors.AsType[*Error](err); ok {
		r.Why = no.Why
	}
	if r.Why != turn.UnreadPicture && r.Why != turn.UnreadKind {
		a.Logger.Warn("an attached file was not read", "chat", a.Chat, "err", err)
	}
	return r
}

func (a Files) tryFile(ctx context.Context, f chat.File, room int) (r turn.FileRead, err error) {
	from, can := a.Platform.(Fetcher)
	switch {
	case !can || a.Reader == nil:
		return r, &Error{Why: turn.UnreadKind}
	case f.Size > MaxFileBytes:
		return r, &Error{Why: turn.UnreadTooBig}
	case room <= 0:
		return r, &Error{Why: turn.UnreadTooMany}
	}
	data, err := try(ctx, fileWithin, func(ctx context.Context) ([]byte, error) { return from.Fetch(ctx, a.Chat, f, MaxFileBytes) })
	if err != nil {
		return r, err
	}
	rctx, cancel := context.WithTimeout(ctx, fileWithin)
	defer cancel()
	doc, err := a.Reader.Read(rctx, f, data)
	switch {
	case err != nil:
		return r, err
	case doc.Picture != "" && !a.Seen:
		return r, &Error{Why: turn.UnreadPicture}
	case doc.Picture != "":
		r.Picture, err = a.keepPicture(ctx, doc.Picture, data)
		return r, err
	}
	r.Pages = doc.Pages
	r.Text, r.Chars = text.Prose(doc.Text), utf8.RuneCountInString(doc.Text)
	if chars := []rune(r.Text); len(chars) > room { // what hides is written out, which makes it longer
		r.Text, r.Chars, r.Of = string(chars[:room]), room, len(chars)
	}
	return r, nil
}

// try asks until the platform answers, says that it never will, or it would take too long.
func try[T any](ctx context.Context, within time.Duration, ask func(context.Context) (T, error)) (got T, err error) {
	again := backoff.Exponential{First: 250 * time.Millisecond, Most: 2 * time.Second}
	for n := range tries {
		one, cancel := context.WithTimeout(ctx, within)
		got, err = ask(one)
		cancel()
		var refused interface{ Refuses() bool }
		if err == nil || errors.As(err, &refused) && refused.Refuses() {
			return got, err
		}
		wait := again.Base(n)
		var later interface{ Later() time.Duration }
		if errors.As(err, &later) {
			wait = max(wait, later.Later())
		}
		if end, _ := ctx.Deadline(); n+1 == tries || time.Until(end) < wait || backoff.Wait(ctx, wait) != nil {
			break
		}
	}
	return got, err
}

func (a Files) keepPicture(ctx context.Context, kind string, data []byte) (*turn.Picture, error) {
	switch {
	case a.Blobs == nil:
		return nil, &Error{Why: turn.UnreadPicture}
	case len(data) > maxPicture:
		return nil, &Error{Why: turn.UnreadTooBig}
	}
	key, err := a.Blobs.PutBlob(ctx, a.Chat, data)
	return &turn.Picture{Key: key, Type: kind, Size: len(data)}, err
}

// Keep keeps the first of a result's pictures that are some by their bytes, where the model or a person will see them. Whatever goes
// wrong, the call is done: its text names them all.
func (a Files) Keep(ctx context.Context, pictures []*turn.Picture) (kept []*turn.Picture) {
	_, shown := a.Platform.(Gallery)
	if a.Reader == nil || !shown && !a.Seen {
		return nil
	}
	defer a.Survive("reading a tool's picture", func() {})
	ctx, cancel := context.WithTimeout(ctx, picturesWithin)
	defer cancel()
	for _, p := range pictures {
		if len(kept) == maxReturned {
			break
		}
		doc, err := a.Reader.Read(ctx, chat.File{}, p.Data)
		if doc.Picture != "" {
			p, err = a.keepPicture(ctx, doc.Picture, p.Data)
		}
		switch {
		case err != nil:
			a.Logger.Warn("a picture that a tool returned is not kept", "chat", a.Chat, "err", err)
		case doc.Picture != "":
			kept = append(kept, p)
		}
	}
	return kept
}

// WithPictures gives a talk with the bytes of its newest pictures, where the model sees them.
func (a Files) WithPictures(ctx context.Context, said []turn.Utterance) []turn.Utterance {
	if !a.Seen || a.Blobs == nil {
		return said
	}
	return talk.WithPictures(said, maxPictures, func(key string) []byte {
		data, err := a.Blobs.Blob(ctx, a.Chat, key)
		if err != nil {
			a.Logger.Warn("the model is asked without a picture", "chat", a.Chat, "err", err)
		}
		return data
	})
}
