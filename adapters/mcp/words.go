package mcp

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/url"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"

	"github.com/nodhq/nod/adapters/mcp/child"
	"github.com/nodhq/nod/adapters/mcp/confine"
	"github.com/nodhq/nod/adapters/mcp/oneline"
	"github.com/nodhq/nod/core/agent"
)

var errClosed = errors.New("the connection is closed")

// callError is a failed call: a sentence for people, and which of the errors that callers look for it is. The
// cause is logged where it happened and is not part of it: it may hold what a server echoed.
type callError struct {
	say string
	is  error
}

func (e *callError) Error() string { return e.say }
func (e *callError) Unwrap() error { return e.is }

func notRun(format string, a ...any) error {
	return &callError{fmt.Sprintf(format, a...), agent.ErrNotRun}
}

// why says in a few words of ours why a connection failed, or "" for what it has no words for. It never quotes an error that could hold an
// address with a key in it, or what a server sent.
func why(err error, cfg Server) string {
	var dns *net.DNSError
	var status errStatus
	var path *fs.PathError
	var word *sayError
	var bounds *confine.Error
	var start *child.Error
	switch {
	case errors.As(err, &word):
		return word.say
	case errors.As(err, &bounds):
		return bounds.Say
	case errors.As(err, &start):
		return start.Say
	case errors.Is(err, exec.ErrNotFound), errors.As(err, &path) && errors.Is(err, fs.ErrNotExist):
		return fmt.Sprintf("the command %q was not found", program(cfg))
	case errors.Is(err, fs.ErrPermission):
		return fmt.Sprintf("the command %q may not be run", program(cfg))
	case errors.As(err, &dns):
		return "its host name is not known"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "connection refused"
	case errors.Is(err, errRedirect):
		return errRedirect.Error()
	case errors.Is(err, transport.ErrAuthorizationRequired), errors.Is(err, transport.ErrUnauthorized):
		return "it refused our credentials (401)"
	case errors.As(err, &status):
		return fmt.Sprintf("it answered HTTP %d", int(status))
	case errors.Is(err, errTooBig):
		return errTooBig.Error()
	case errors.Is(err, context.DeadlineExceeded):
		return "it did not answer in time"
	case errors.Is(err, transport.ErrLegacySSEServer):
		return "it does not take MCP requests at that address"
	case errors.As(err, new(mcp.UnsupportedProtocolVersionError)):
		return "it speaks no version of MCP that nod knows"
	default:
		return ""
	}
}

// sayError carries words of ours through why.
type sayError struct{ say string }

func (e *sayError) Error() string { return e.say }

func program(cfg Server) string {
	if len(cfg.Command) == 0 {
		return ""
	}
	return oneline.Printable(cfg.Command[0])
}

// cleaner returns a function that takes this server's secrets out of a text: header and environment values,
// and what its URL carries besides the address.
func cleaner(cfg Server) func(string) string {
	secrets := map[string]bool{}
	add := func(s string) {
		if len(s) >= 6 { // shorter ones would blot out ordinary words
			secrets[s] = true
			secrets[url.QueryEscape(s)], secrets[url.PathEscape(s)] = true, true
			secrets[base64.StdEncoding.EncodeToString([]byte(s))] = true
		}
	}
	for _, v := range cfg.Headers {
		add(v)
		if _, token, ok := strings.Cut(v, " "); ok {
			add(token)
		}
	}
	for _, v := range cfg.Env {
		add(v)
	}
	if u, err := url.Parse(cfg.URL); err == nil {
		add(u.RawQuery)
		for _, values := range u.Query() {
			for _, v := range values {
				add(v)
			}
		}
		if p, ok := u.User.Password(); ok {
			add(p)
		}
	}
	var pairs []string
	for s := range secrets {
		pairs = append(pairs, s)
	}
	slices.SortFunc(pairs, func(a, b string) int { return len(b) - len(a) }) // the longest first
	var list []string
	for _, s := range pairs {
		list = append(list, s, "[secret]")
	}
	return strings.NewReplacer(list...).Replace
}

// span is a duration as people say it: "60 s", "5 min".
func span(d time.Duration) string {
	switch {
	case d >= 2*time.Minute && d%time.Minute == 0:
		return fmt.Sprintf("%d min", d/time.Minute)
	case d >= time.Second && d%time.Second == 0:
		return fmt.Sprintf("%d s", d/time.Second)
	default:
		return d.String()
	}
}

// quiet is a log handler that says everything at debug level and without secrets: mcp-go logs what is
// ordinary here (a server that offers no stream of notifications) as errors.
type quiet struct {
	slog.Handler
	clean func(string) string
}

func (q quiet) Enabled(ctx context.Context, _ slog.Level) bool {
	return q.Handler.Enabled(ctx, slog.LevelDebug)
}

func (q quiet) Handle(ctx context.Context, r slog.Record) error {
	out := slog.NewRecord(r.Time, slog.LevelDebug, q.clean(r.Message), r.PC)
	r.Attrs(func(a slog.Attr) bool {
		out.AddAttrs(slog.String(a.Key, q.clean(a.Value.String())))
		return true
	})
	return q.Handler.Handle(ctx, out)
}

func (q quiet) WithAttrs(as []slog.Attr) slog.Handler { return quiet{q.Handler.WithAttrs(as), q.clean} }
func (q quiet) WithGroup(name string) slog.Handler    { return quiet{q.Handler.WithGroup(name), q.clean} }
