package document

import (
	"bytes"
	"compress/zlib"
	"context"
	"errors"
	"fmt"
	"image"
	"image/jpeg"
	"image/png"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/nodhq/nod/core/agent/attach"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
)

func TestMain(m *testing.M) {
	Main() // this binary reads PDFs, as the program does
	os.Exit(m.Run())
}

func read(t *testing.T, name string, data []byte) (attach.Document, turn.WhyUnread) {
	t.Helper()
	return readBy(t, Reader{}, name, data)
}

func readBy(t *testing.T, r Reader, name string, data []byte) (attach.Document, turn.WhyUnread) {
	t.Helper()
	doc, err := r.Read(t.Context(), chat.File{Name: name, Type: "text/plain"}, data)
	no, _ := errors.AsType[*attach.Error](err)
	if err != nil && no == nil {
		t.Fatalf("%s: %v is no reason", name, err)
	}
	if no != nil {
		return doc, no.Why
	}
	return doc, ""
}

func picture(t *testing.T, w, h int) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, w, h))); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestKindsByTheirBytes(t *testing.T) {
	var photo bytes.Buffer
	if err := jpeg.Encode(&photo, image.NewGray(image.Rect(0, 0, 3, 2)), nil); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		data    []byte
		text    string
		picture string
		why     turn.WhyUnread
	}{
		"a.csv":            {data: []byte("a;b\r\n1;2\r\n"), text: "a;b\n1;2\n"},
		"mark.csv":         {data: []byte("\xEF\xBB\xBFa;b"), text: "a;b"},
		"wide.csv":         {data: []byte("\xFF\xFEa\x00;\x00\xE5\x00"), text: "a;å"},
		"other end.csv":    {data: []byte("\xFE\xFF\x00a\x00;\x00\xE5"), text: "a;å"},
		"cut.csv":          {data: []byte("\xFF\xFEa\x00;"), why: turn.UnreadKind},
		"other cut.csv":    {data: []byte("\xFE\xFF\x00a\x00"), why: turn.UnreadKind},
		"letters.csv":      {data: []byte("Malmö;12"), text: "Malmö;12"},
		"layout.txt":       {data: []byte("a\tb\fc\vd\x1b[1me\bf"), text: "a\tb\fc\vd\x1b[1me\bf"},
		"control.txt":      {data: []byte("a\x7fb"), why: turn.UnreadKind},
		"one byte.csv":     {data: []byte("Malm\xF6;12\nLund;7\n"), text: "Malmö;12\nLund;7\n"},
		"windows.csv":      {data: []byte("Preis;\x80 5\n\x84gut\x93 \x96 sagt Ren\xe9\n"), text: "Preis;€ 5\n„gut“ – sagt René\n"},
		"\n first.pdf":     {data: []byte("\r\n%PDF-1.7\nnothing else"), why: turn.UnreadBroken},
		"page.png":         {data: []byte("<html><script>alert(1)</script>"), text: "<html><script>alert(1)</script>"},
		"picture.txt":      {data: picture(t, 3, 2), picture: "image/png"},
		"wide.png":         {data: picture(t, maxSide+1, 1), why: turn.UnreadTooBig},
		"tall.png":         {data: picture(t, 1, maxSide+1), why: turn.UnreadTooBig},
		"half.png":         {data: picture(t, 3, 2)[:20], why: turn.UnreadBroken},
		"a.gif":            {data: []byte("GIF89a\x01\x00\x01\x00\x00\x00\x00"), picture: "image/gif"},
		"no width.gif":     {data: []byte("GIF89a\x00\x00\x01\x00\x00\x00\x00"), why: turn.UnreadBroken},
		"no height.gif":    {data: []byte("GIF89a\x01\x00\x00\x00\x00\x00\x00"), why: turn.UnreadBroken},
		"photo.jpeg":       {data: photo.Bytes(), picture: "image/jpeg"},
		"photo.webp":       {data: []byte("RIFF\x00\x00\x00\x00WEBPVP8 "), picture: "image/webp"},
		"archive.txt":      {data: []byte("PK\x03\x04\x14\x00\x00\x00\x08\x00"), why: turn.UnreadKind},
		"packed.txt":       {data: []byte("\x1F\x8B\x08\x00\x00\x00\x00\x00"), why: turn.UnreadKind},
		"program":          {data: []byte("\x7FELF\x02\x01\x01\x00"), why: turn.UnreadKind},
		"photo.heic":       {data: []byte("\x00\x00\x00\x18ftypheic\x00\x00"), why: turn.UnreadKind},
		"other letters":    {data: bytes.Repeat([]byte{0xC4, 0xE3, 0xBA, 0xC3}, 50), why: turn.UnreadKind},
		"empty.txt":        {},
		"svg is text.svg":  {data: []byte("<svg onload='x'/>"), text: "<svg onload='x'/>"},
		"not really a.pdf": {data: []byte("%PDF-1.7\nnothing else"), why: turn.UnreadBroken},
	} {
		doc, why := read(t, name, c.data)
		if doc.Text != c.text || doc.Picture != c.picture || why != c.why {
			t.Errorf("%s: %+v, %q", name, doc, why)
		}
	}
}

func TestPDF(t *testing.T) {
	data, err := os.ReadFile("testdata/report.pdf")
	if err != nil {
		t.Fatal(err)
	}
	doc, why := read(t, "report.pdf", data)
	for _, want := range []string{"Quarterly report", "Revenue grew by 12 percent in Malmö.", "1,234", "Second page"} {
		if !strings.Contains(strings.Join(strings.Fields(doc.Text), " "), want) {
			t.Errorf("no %q in %q, %q", want, doc.Text, why)
		}
	}
}

// pdfOf is a PDF of these objects, the first its catalogue.
func pdfOf(objects ...string) []byte {
	var b bytes.Buffer
	b.WriteString("%PDF-1.4\n")
	var at []int
	for i, o := range objects {
		at = append(at, b.Len())
		fmt.Fprintf(&b, "%d 0 obj\n%s\nendobj\n", i+1, o)
	}
	start := b.Len()
	fmt.Fprintf(&b, "xref\n0 %d\n0000000000 65535 f \n", len(objects)+1)
	for _, n := range at {
		fmt.Fprintf(&b, "%010d 00000 n \n", n)
	}
	fmt.Fprintf(&b, "trailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n", len(objects)+1, start)
	return b.Bytes()
}

func streamOf(content []byte) string {
	var b bytes.Buffer
	z, _ := zlib.NewWriterLevel(&b, zlib.BestSpeed)
	_, _ = z.Write(content)
	_ = z.Close()
	return fmt.Sprintf("<< /Length %d /Filter /FlateDecode >>\nstream\n%s\nendstream", b.Len(), b.String())
}

const (
	catalogue = "<< /Type /Catalog /Pages 2 0 R >>"
	onePage   = "<< /Type /Pages /Count 1 /Kids [3 0 R] >>"
	page      = "<< /Type /Page /Parent 2 0 R /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>"
	font      = "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>"
)

// What makes the library loop, recurse without end or take all memory ends with the process that reads it, and this one goes on.
func TestHostilePDFs(t *testing.T) {
	hello := streamOf([]byte("BT /F1 12 Tf (hello) Tj ET"))
	if doc, why := read(t, "hello.pdf", pdfOf(catalogue, onePage, page, hello, font)); doc.Text != "hello" {
		t.Fatalf("the PDFs of this test are none: %q, %q", doc.Text, why)
	}
	for name, data := range map[string][]byte{
		"pages in a circle":      pdfOf(catalogue, "<< /Type /Pages /Count 5 /Kids [2 0 R] >>"),
		"parents in a circle":    pdfOf(catalogue, onePage, "<< /Type /Page /Parent 3 0 R /Contents 4 0 R >>", hello, font),
		"a bomb":                 pdfOf(catalogue, onePage, page, streamOf(bytes.Repeat([]byte("BT /F1 12 Tf (aaaaaaaaaaaaaaaaaaaaaaaa) Tj ET\n"), 6<<20)), font),
		"a length that is wrong": pdfOf(catalogue, onePage, page, "<< /Length 99999999999 >>\nstream\nBT ET\nendstream", font),
		"brackets without end":   append([]byte("%PDF-1.4\n1 0 obj\n"), bytes.Repeat([]byte("["), 9<<20)...),
		"arrays in arrays":       pdfOf(catalogue, onePage, page, hello, strings.Repeat("[", 3<<20)+strings.Repeat("]", 3<<20)),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			doc, why := readBy(t, Reader{within: time.Second}, name, data) // it ends, which is what is tested
			if why == "" && len(doc.Text) > pdfText {
				t.Errorf("%d bytes of text", len(doc.Text))
			}
		})
	}
}

// An endless PDF ends when nobody waits for it any more.
func TestPDFEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := Reader{}.Read(ctx, chat.File{}, pdfOf(catalogue, "<< /Type /Pages /Count 5 /Kids [2 0 R] >>"))
	if no, ok := errors.AsType[*attach.Error](err); !ok || no.Why != turn.UnreadBroken {
		t.Errorf("%v", err)
	}
}

// A page that cannot be read does not take the others with it, and a PDF that is encrypted is not called a broken one.
func TestPDFsOfEveryDay(t *testing.T) {
	two := "<< /Type /Pages /Count 2 /Kids [6 0 R 3 0 R] >>"
	hello, bad := streamOf([]byte("BT /F1 12 Tf (hello) Tj ET")), streamOf([]byte("BT /F1 Tf (bad) Tj ET"))
	other := strings.Replace(page, "4 0 R", "7 0 R", 1)
	doc, why := read(t, "two.pdf", pdfOf(catalogue, two, page, hello, font, other, bad))
	if doc.Text != "[page 1 cannot be read]\n\nhello" || why != "" {
		t.Errorf("%q, %q", doc.Text, why)
	}
	if doc, why = read(t, "bad.pdf", pdfOf(catalogue, onePage, page, bad, font)); why != turn.UnreadBroken {
		t.Errorf("%q, %q", doc.Text, why)
	}
	for _, kind := range []string{"/V 5 /R 6 /Length 256", "/V 2 /R 3 /Length 128 /O (" + strings.Repeat("o", 32) + ") /U (" + strings.Repeat("u", 32) + ") /P -4"} {
		locked := bytes.Replace(pdfOf(catalogue, onePage, page, hello, font), []byte("/Root"), []byte("/ID [(a) (b)] /Encrypt << /Filter /Standard "+kind+" >> /Root"), 1)
		if doc, why = read(t, "locked.pdf", locked); why != "locked" {
			t.Errorf("%s: %q, %q", kind, doc.Text, why)
		}
	}
}
