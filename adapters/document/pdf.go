package document

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strings"
	"sync/atomic"
	"time"

	"github.com/ledongthuc/pdf"

	"github.com/nodhq/nod/core/agent/attach"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/text"
)

// What reading one PDF takes at most.
const (
	pdfWithin = 5 * time.Second
	pdfMemory = 768 << 20 // bytes of the process that reads it
	pdfPages  = 200
	pdfText   = 1 << 20 // bytes of text: far more than is given to a model
	atOnce    = 2       // processes
)

// reader is the name under which this binary is started to read a PDF.
const reader = "nod-read-pdf"

// answers is set once main said that this binary is such a reader, too.
var answers atomic.Bool

var slots = make(chan struct{}, atOnce)

// pages is what the process that reads says.
type pages struct {
	Text  string
	Pages int            // that Text is of, where there are more
	Why   turn.WhyUnread // it was not read
}

// Main is the reading process, where this binary was started as one, and then does not return. It stands first in main.
func Main() {
	if len(os.Args) != 1 || os.Args[0] != reader {
		answers.Store(true)
		return
	}
	debug.SetMaxStack(64 << 20)
	debug.SetMemoryLimit(pdfMemory / 2)
	bound()
	data, err := io.ReadAll(io.LimitReader(os.Stdin, attach.MaxFileBytes+1))
	p := pages{}
	if err == nil {
		p, err = extract(data)
	}
	if err != nil {
		p.Why = turn.UnreadBroken
		if strings.Contains(err.Error(), "encrypt") { // all that the library says of it
			p.Why = turn.UnreadLocked
		}
	}
	say := json.NewEncoder(os.Stdout)
	say.SetEscapeHTML(false)
	if say.Encode(p) != nil {
		os.Exit(1) //nolint:forbidigo // it stands in for main: nobody listens any more
	}
	os.Exit(0) //nolint:forbidigo // it stands in for main
}

// extract takes the text out of a PDF. It may panic, loop or take all memory: see the package's comment.
func extract(data []byte) (p pages, err error) {
	defer func() {
		if broken := recover(); broken != nil {
			err = errors.New("the library that reads PDFs panicked")
		}
	}()
	r, err := pdf.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return p, err
	}
	var b strings.Builder
	var broken error
	read, n := 0, r.NumPage()
	for i := 1; i <= n; i++ {
		if i > pdfPages || b.Len() > pdfText {
			p.Pages = i - 1
			break
		}
		page := r.Page(i)
		if page.V.IsNull() {
			continue
		}
		s, err := page.GetPlainText(nil)
		if err == nil {
			read++
		} else {
			s, broken = fmt.Sprintf("[page %d cannot be read]", i), err
		}
		if s = strings.TrimSpace(s); s != "" {
			b.WriteString(s + "\n\n")
		}
	}
	if broken != nil && read == 0 {
		return p, broken
	}
	p.Text = text.HeadBytes(strings.ToValidUTF8(strings.TrimSpace(b.String()), "\uFFFD"), pdfText)
	return p, nil
}

// readPDF has one read in a process of its own.
func readPDF(ctx context.Context, data []byte, within time.Duration) (attach.Document, error) {
	if !answers.Load() {
		return attach.Document{}, no(turn.UnreadKind, "this binary does not read PDFs")
	}
	self, err := executable()
	if err != nil {
		return attach.Document{}, no(turn.UnreadKind, "this binary is not found")
	}
	select {
	case slots <- struct{}{}:
		defer func() { <-slots }()
	case <-ctx.Done():
		return attach.Document{}, no(turn.UnreadBroken, "too many PDFs at once")
	}
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	cmd := exec.CommandContext(ctx, self)
	cmd.Args, cmd.Env, cmd.Dir = []string{reader}, []string{"GOMAXPROCS=1"}, os.TempDir()
	out := &limited{left: 8 * pdfText}
	cmd.Stdin, cmd.Stdout = bytes.NewReader(data), out
	cmd.WaitDelay = time.Second
	if err := cmd.Run(); err != nil {
		return attach.Document{}, no(turn.UnreadBroken, "a PDF could not be read in time, or took too much memory")
	}
	var p pages
	if json.Unmarshal(out.Bytes(), &p) != nil || p.Why != "" {
		return attach.Document{}, no(cmp.Or(p.Why, turn.UnreadBroken), "not a PDF that can be read")
	}
	return attach.Document{Text: p.Text, Pages: p.Pages}, nil
}

// executable is this binary. Where the system can tell, not by its name: it may have been replaced by a newer one.
func executable() (string, error) {
	if runtime.GOOS == "linux" {
		return "/proc/self/exe", nil
	}
	return os.Executable()
}

// limited is what somebody says, up to so many bytes.
type limited struct {
	bytes.Buffer
	left int
}

func (l *limited) Write(p []byte) (int, error) {
	if l.left -= len(p); l.left < 0 {
		return 0, errors.New("it says too much")
	}
	return l.Buffer.Write(p)
}
