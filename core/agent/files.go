package agent

import (
	"context"
	"errors"
	"slices"
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
	MaxPicture     = 4 << 20  // bytes of one picture: services of models take no more than about 5 MB
	MaxFileChars   = 20_000   // of one file's text that the model is given
	MaxFilesChars  = 60_000   // of all of them
	maxPictures    = 8        // that one request to the model carries, the newest
	maxReturned    = 4        // pictures of one result that are kept, the first
	picturesWithin = 10 * time.Second
	fileWithin     = 20 * time.Second
	filesWithin    = 60 * time.Second // for all of them
	fileTries      = 3
)

// Fetcher is an optional extra of a Platform on which people attach files.
type Fetcher interface {
	// Fetch gives a file's bytes, at most so many. It goes to the platform's own hosts only, whatever a message says. A [*FileError] says why
	// there is nothing to read; after any other error it is tried again.
	Fetch(ctx context.Context, id chat.ID, f chat.File, most int) ([]byte, error)
}

// FileError is a file that cannot be read, and will not be.
type FileError struct {
	Why   turn.WhyUnread
	Cause error // nil: Why says it all
}

func (e *FileError) Error() string {
	if e.Cause != nil {
		return string(e.Why) + ": " + e.Cause.Error()
	}
	return string(e.Why)
}
func (e *FileError) Unwrap() error { return e.Cause }

// Gallery is an optional extra of a Platform that shows the pictures which tools return.
type Gallery interface{ ShowsPictures() }

// Document is what a reader made of a file's bytes.
type Document struct {
	Text    string // as it stands there
	Pages   int    // that Text is of, where there are more
	Picture string // the media type of a picture, by its bytes; Text is empty then
}

// Reader makes text of a file, or knows it for a picture. It judges by the bytes: names and types lie. It is bounded in time and memory,
// whatever the bytes are. A [*FileError] says why not.
type Reader interface {
	Read(ctx context.Context, f chat.File, data []byte) (Document, error)
}

// Blobs keep bytes beside the log of their chat, the newest so many, for a while: the log names them by key.
type Blobs interface {
	PutBlob(ctx context.Context, id chat.ID, data []byte) (key string, err error)
	// Blob is nil where it is no longer kept.
	Blob(ctx context.Context, id chat.ID, key string) ([]byte, error)
}

// readFiles begins to read what people attached to the turn's messages. It counts as the model's work: what stops that stops it.
func (d *driver) readFiles(id turn.TurnID) bool {
	t := d.f.s.Turn
	if d.model != nil || d.reply != nil || d.e.isStopping() || t == nil || t.ID != id || d.e.halted.Load() != nil {
		return false
	}
	if slices.ContainsFunc(d.results, func(ev turn.Event) bool { _, read := ev.(turn.FilesRead); return read }) {
		return false
	}
	ctx, cancel := context.WithTimeout(d.ctx, filesWithin)
	d.model = cancel
	files := t.AllFiles()
	d.begin(func() func() {
		defer cancel()
		ev := turn.FilesRead{Turn: id}
		room := MaxFilesChars
		for i, f := range files {
			r := turn.FileRead{Why: turn.UnreadTooMany}
			if i < MaxFiles {
				r = d.readFile(ctx, f, min(room, MaxFileChars))
			}
			r.Name = text.ShortName(f.Name)
			room -= r.Chars
			ev.Files = append(ev.Files, r)
		}
		lost := d.ctx.Err() != nil // nobody may say that nothing could be read when nobody looked
		return func() {
			d.model = nil
			if !lost {
				d.results = append(d.results, ev)
			}
		}
	})
	return true
}

// readFile reads one, of which up to room characters are kept.
func (d *driver) readFile(ctx context.Context, f chat.File, room int) (r turn.FileRead) {
	defer d.survive("reading a file", func() { r = turn.FileRead{Why: turn.UnreadBroken} })
	r, err := d.tryFile(ctx, f, room)
	if err == nil {
		return r
	}
	r = turn.FileRead{Why: turn.UnreadTrouble}
	if no, ok := errors.AsType[*FileError](err); ok {
		r.Why = no.Why
	}
	if r.Why != turn.UnreadPicture && r.Why != turn.UnreadKind {
		d.e.Logger.Warn("an attached file was not read", "chat", d.id, "err", err)
	}
	return r
}

func (d *driver) tryFile(ctx context.Context, f chat.File, room int) (r turn.FileRead, err error) {
	from, can := d.platform().(Fetcher)
	switch {
	case !can || d.e.Reader == nil:
		return r, &FileError{Why: turn.UnreadKind}
	case f.Size > MaxFileBytes:
		return r, &FileError{Why: turn.UnreadTooBig}
	case room <= 0:
		return r, &FileError{Why: turn.UnreadTooMany}
	}
	data, err := d.fetch(ctx, from, f)
	if err != nil {
		return r, err
	}
	rctx, cancel := context.WithTimeout(ctx, fileWithin)
	defer cancel()
	doc, err := d.e.Reader.Read(rctx, f, data)
	switch {
	case err != nil:
		return r, err
	case doc.Picture != "" && !d.e.ModelSees:
		return r, &FileError{Why: turn.UnreadPicture}
	case doc.Picture != "":
		r.Picture, err = d.keepPicture(ctx, doc.Picture, data)
		return r, err
	}
	r.Pages = doc.Pages
	r.Text, r.Chars = text.Prose(doc.Text), utf8.RuneCountInString(doc.Text)
	if chars := []rune(r.Text); len(chars) > room { // what hides is written out, which makes it longer
		r.Text, r.Chars, r.Of = string(chars[:room]), room, len(chars)
	}
	return r, nil
}

// fetch asks for the bytes until they are there, the platform says that they never will be, or it took too long.
func (d *driver) fetch(ctx context.Context, from Fetcher, f chat.File) (data []byte, err error) {
	again := backoff.Exponential{First: 250 * time.Millisecond, Most: 2 * time.Second}
	for try := range fileTries {
		fctx, cancel := context.WithTimeout(ctx, fileWithin)
		data, err = from.Fetch(fctx, d.id, f, MaxFileBytes)
		cancel()
		if _, never := errors.AsType[*FileError](err); err == nil || never {
			return data, err
		}
		wait := again.Base(try)
		if pe, ok := errors.AsType[*PlatformError](err); ok {
			wait = max(wait, pe.RetryAfter)
		}
		if backoff.Wait(ctx, wait) != nil {
			break
		}
	}
	return nil, err
}

func (d *driver) keepPicture(ctx context.Context, kind string, data []byte) (*turn.Picture, error) {
	switch {
	case d.e.Blobs == nil:
		return nil, &FileError{Why: turn.UnreadPicture}
	case len(data) > MaxPicture:
		return nil, &FileError{Why: turn.UnreadTooBig}
	}
	key, err := d.e.Blobs.PutBlob(ctx, d.id, data)
	return &turn.Picture{Key: key, Type: kind, Size: len(data)}, err
}

// keepReturned keeps the first of a result's pictures that are some by their bytes, where the model or a person will see them. Whatever goes
// wrong, the call is done: its text names them all.
func (d *driver) keepReturned(pictures []*turn.Picture) (kept []*turn.Picture) {
	_, shown := d.platform().(Gallery)
	if d.e.Reader == nil || !shown && !d.e.ModelSees {
		return nil
	}
	defer d.survive("reading a tool's picture", func() {})
	ctx, cancel := context.WithTimeout(d.ctx, picturesWithin) // not the call's: a stop comes after the result
	defer cancel()
	for _, p := range pictures {
		if len(kept) == maxReturned {
			break
		}
		doc, err := d.e.Reader.Read(ctx, chat.File{}, p.Data)
		if err == nil && doc.Picture != "" {
			p, err = d.keepPicture(ctx, doc.Picture, p.Data)
		}
		switch {
		case err != nil:
			d.e.Logger.Warn("a picture that a tool returned is not kept", "chat", d.id, "err", err)
		case doc.Picture != "":
			kept = append(kept, p)
		}
	}
	return kept
}

// withPictures gives a talk with the bytes of its newest pictures, where the model sees them.
func (d *driver) withPictures(ctx context.Context, said []turn.Utterance) []turn.Utterance {
	if !d.e.ModelSees || d.e.Blobs == nil {
		return said
	}
	return talk.WithPictures(said, maxPictures, func(key string) []byte {
		data, err := d.e.Blobs.Blob(ctx, d.id, key)
		if err != nil {
			d.e.Logger.Warn("the model is asked without a picture", "chat", d.id, "err", err)
		}
		return data
	})
}
