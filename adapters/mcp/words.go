package mcp

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"net/url"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"

	"github.com/nodhq/nod/adapters/mcp/oneline"
	"github.com/nodhq/nod/core/agent"
)

var errClosed = errors.New("the connection is closed")

// callError is a failed call: a sentence for people, and which error callers look for. The cause, which may hold a server's words, is only
// logged.
type callError struct {
	say string
	is  error
}

func (e *callError) Error() string { return e.say }
func (e *callError) Unwrap() error { return e.is }

// notRun is the error of a tool that certainly was not run; format goes on after that.
func notRun(name, format string, a ...any) error {
	return &callError{oneline.Brief(name, 60) + " was not run" + fmt.Sprintf(format, a...), agent.ErrNotRun}
}

// why says in a few words of ours why a connection failed, or "". It quotes neither a server nor an error that could hold a key.
func why(err error, cfg Server) string {
	program := oneline.Printable(strings.Join(cfg.Command[:min(len(cfg.Command), 1)], ""))
	var status errStatus
	var words *oneline.Error
	switch {
	case errors.As(err, &words):
		return words.Say
	case errors.Is(err, exec.ErrNotFound), errors.Is(err, fs.ErrNotExist):
		return fmt.Sprintf("the command %q was not found", program)
	case errors.Is(err, fs.ErrPermission):
		return fmt.Sprintf("the command %q may not be run", program)
	case errors.As(err, new(*net.DNSError)):
		return "its host name is not known"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "connection refused"
	case errors.Is(err, errRedirect):
		return errRedirect.Error()
	case errors.Is(err, transport.ErrAuthorizationRequired):
		return "it refused our credentials (401)"
	case errors.As(err, &status):
		return fmt.Sprintf("it answered HTTP %d", int(status))
	case errors.Is(err, errTooBig), errors.As(err, new(*http.MaxBytesError)): // a body that was one whole answer
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

// leastPart is the fewest bytes of a part of a path that may be a secret, as that of some servers is.
const leastPart = 16

// cleaner takes a server's secrets out of a text: header and environment values, and what its URL, or one among its arguments, carries besides
// the address. Programs print what they were started with.
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
		_, token, _ := strings.Cut(v, " ")
		add(v)
		add(token)
	}
	for _, v := range slices.AppendSeq(slices.Clone(cfg.Secrets), maps.Values(cfg.Env)) {
		add(v)
	}
	for _, v := range append(slices.Clone(cfg.Command), cfg.URL) {
		_, rest, _ := strings.Cut(v, "://")
		u, err := url.Parse("x://" + rest) // as in --at=https://…, too
		if err != nil {
			continue
		}
		add(u.RawQuery)
		for _, values := range u.Query() {
			for _, v := range values {
				add(v)
			}
		}
		for part := range strings.SplitSeq(u.Path, "/") {
			if len(part) >= leastPart {
				add(part)
			}
		}
		p, _ := u.User.Password()
		add(p)
		add(u.User.Username())
	}
	var list []string
	longer := func(a, b string) int { return len(b) - len(a) }
	for _, s := range slices.SortedFunc(maps.Keys(secrets), longer) {
		list = append(list, s, "[secret]")
	}
	return strings.NewReplacer(list...).Replace
}

// span is a duration as people say it: "60 s", "5 min".
func span(d time.Duration) string {
	switch {
	case d >= 2*time.Minute && d%time.Minute == 0:
		return fmt.Sprintf("%d min", d/time.Minute)
	case d%time.Second == 0:
		return fmt.Sprintf("%d s", d/time.Second)
	default:
		return d.String()
	}
}

// quiet is a log handler that says everything at debug level and without secrets: mcp-go logs ordinary things as errors.
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
