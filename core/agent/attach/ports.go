package attach

import (
	"context"

	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
)

// Fetcher is an optional extra of a platform on which people attach files.
type Fetcher interface {
	// Fetch gives a file's bytes, at most so many. It goes to the platform's own hosts only, whatever a message says. An [*Error] says why
	// there is nothing to read; after any other error it is tried again; one with a method Later() says after how long.
	Fetch(ctx context.Context, id chat.ID, f chat.File, most int) ([]byte, error)
}

// Historian is an optional extra of a platform on which people talk to each other in a chat.
type Historian interface {
	// Earlier is what people said there before a message, as far as e goes back: untrusted text of its authors, the oldest first, and where some
	// of it is left out. An error with a method Refuses() that says so stands; after any other it is tried again, as with Fetch.
	Earlier(ctx context.Context, id chat.ID, before chat.MessageRef, e chat.Earlier) ([]chat.Quote, error)
}

// Error is a file that cannot be read, and will not be.
type Error struct {
	Why   turn.WhyUnread
	Cause error // nil: Why says it all
}

func (e *Error) Error() string {
	if e.Cause != nil {
		return string(e.Why) + ": " + e.Cause.Error()
	}
	return string(e.Why)
}
func (e *Error) Unwrap() error { return e.Cause }

// Refuses reports that it is of no use to try again.
func (*Error) Refuses() bool { return true }

// Gallery is an optional extra of a platform that shows the pictures which tools return.
type Gallery interface{ ShowsPictures() }

// Document is what a reader made of a file's bytes.
type Document struct {
	Text    string // as it stands there
	Pages   int    // that Text is of, where there are more
	Picture string // the media type of a picture, by its bytes; Text is empty then
}

// Reader makes text of a file, or knows it for a picture. It judges by the bytes: names and types lie. It is bounded in time and memory,
// whatever the bytes are. An [*Error] says why not.
type Reader interface {
	Read(ctx context.Context, f chat.File, data []byte) (Document, error)
}

// Blobs keep bytes beside the log of their chat, the newest so many, for a while: the log names them by key.
type Blobs interface {
	PutBlob(ctx context.Context, id chat.ID, data []byte) (key string, err error)
	// Blob is nil where it is no longer kept.
	Blob(ctx context.Context, id chat.ID, key string) ([]byte, error)
}
