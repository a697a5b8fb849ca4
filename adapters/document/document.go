// Package document makes text of the files that people attach, and knows pictures: it judges by the bytes, for names and types lie.
//
// Start at [Reader.Read]. Text of any kind is text as it stands; pictures are looked at no further than their size; of a PDF the text is
// taken (pdf.go). All else, archives among it, is of a kind that is not read: nothing here unpacks anything.
//
// A PDF is a program that a stranger wrote. It is read in a process of its own, which is this very binary started under another name, with
// bounds on its time and memory, without our environment: what makes it hang, or takes all memory, ends there. A binary answers under that
// name if its main calls [Main] first; in one that does not, PDFs are of a kind that is not read.
package document

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"image"
	_ "image/gif" // for what image.DecodeConfig knows
	_ "image/jpeg"
	_ "image/png"
	"net/http"
	"strings"
	"time"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/nodhq/nod/core/agent/attach"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
)

// maxSide is how wide or high a picture is at most, in pixels: services of models refuse more.
const maxSide = 8000

// Reader reads files. Its zero value is ready.
type Reader struct {
	within time.Duration // for one PDF; pdfWithin when zero
}

var _ attach.Reader = Reader{}

func no(why turn.WhyUnread, cause string) error {
	return &attach.Error{Why: why, Cause: errors.New(cause)}
}

// Read implements [attach.Reader].
func (r Reader) Read(ctx context.Context, _ chat.File, data []byte) (attach.Document, error) {
	bare := bytes.TrimLeft(data, "\r\n ") // programs send an empty line before a PDF by mistake
	switch kind := http.DetectContentType(data); {
	case bytes.HasPrefix(bare, []byte("%PDF-")):
		return readPDF(ctx, bare, cmp.Or(r.within, pdfWithin))
	case kind == "image/png" || kind == "image/jpeg" || kind == "image/gif":
		c, _, _ := image.DecodeConfig(bytes.NewReader(data)) // of one that it cannot read, no size
		if c.Width <= 0 || c.Height <= 0 {
			return attach.Document{}, no(turn.UnreadBroken, "a picture without a size")
		}
		if c.Width > maxSide || c.Height > maxSide {
			return attach.Document{}, no(turn.UnreadTooBig, "a picture of too many pixels")
		}
		return attach.Document{Picture: kind}, nil
	case kind == "image/webp":
		return attach.Document{Picture: kind}, nil
	}
	if s, ok := textOf(data); ok {
		return attach.Document{Text: s}, nil
	}
	return attach.Document{}, no(turn.UnreadKind, "no text, picture or PDF")
}

// textOf is data as text, if it is some: UTF-8, UTF-16 with a mark, or what spreadsheets of one country write, one byte for a letter.
func textOf(data []byte) (string, bool) {
	switch {
	case bytes.HasPrefix(data, []byte{0xFF, 0xFE}) && len(data)%2 == 0:
		return fromUTF16(data[2:], func(b []byte) uint16 { return uint16(b[0]) | uint16(b[1])<<8 })
	case bytes.HasPrefix(data, []byte{0xFE, 0xFF}) && len(data)%2 == 0:
		return fromUTF16(data[2:], func(b []byte) uint16 { return uint16(b[0])<<8 | uint16(b[1]) })
	}
	data = bytes.TrimPrefix(data, []byte("\xEF\xBB\xBF"))
	if utf8.Valid(data) {
		return plain(string(data))
	}
	runes := make([]rune, len(data))
	odd := 0
	for i, b := range data {
		if runes[i] = rune(b); b >= 0x80 {
			odd++
		}
		if b >= 0x80 && b < 0xA0 {
			runes[i] = windows[b-0x80]
		}
	}
	if odd > len(data)/4 { // of text in Latin letters it is far less
		return "", false
	}
	return plain(string(runes))
}

// windows are the characters that Windows puts where Latin 1 has controls. https://encoding.spec.whatwg.org/windows-1252.html
var windows = []rune("€\u0081‚ƒ„…†‡ˆ‰Š‹Œ\u008dŽ\u008f\u0090‘’“”•–—˜™š›œ\u009džŸ")

func fromUTF16(data []byte, at func([]byte) uint16) (string, bool) {
	units := make([]uint16, 0, len(data)/2)
	for ; len(data) >= 2; data = data[2:] {
		units = append(units, at(data))
	}
	return plain(string(utf16.Decode(units)))
}

// plain is a text with one kind of line end. One with controls that no text has is none.
func plain(s string) (string, bool) {
	s = strings.ReplaceAll(s, "\r\n", "\n")
	s = strings.ReplaceAll(s, "\r", "\n")
	controls := strings.ContainsFunc(s, func(r rune) bool {
		return r < ' ' && r != '\n' && r != '\t' && r != '\f' && r != '\v' && r != 0x1B && r != '\b' || r == 0x7F
	})
	return s, !controls
}
