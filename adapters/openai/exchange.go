package openai

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/param"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/agent/turn"
)

// attempt makes one request and reads its answer. The answer is never nil; with a fault it holds what came before it.
func (c *Client) attempt(ctx context.Context, talk []turn.Utterance, offered []agent.ToolSpec, s *shape, stream func(agent.Delta)) (*answer, *fault) {
	a := &answer{}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	watch := time.AfterFunc(c.idle, func() { cancel(errIdle) })
	defer watch.Stop()

	sent, err := request(c.model, talk, offered, s)
	if err != nil {
		return a, &fault{kind: unsendable, said: err.Error()}
	}
	var raw *http.Response
	if _, err := c.service.New(ctx, param.Override[openai.ChatCompletionNewParams](json.RawMessage(sent)), option.WithResponseBodyInto(&raw)); err != nil {
		return a, failed(ctx, err)
	}
	defer raw.Body.Close()
	watched := reader{io.LimitReader(raw.Body, maxAnswer), func() { watch.Reset(c.idle) }}
	in := bufio.NewReader(watched)
	emit := func(text string) { stream(agent.Delta{Text: clean(text)}) }

	switch peek(in) {
	case '{':
		return a, a.completion(ctx, in, emit)
	case '<':
		return a, &fault{kind: page}
	}
	return a, a.listen(ctx, newEvents(in), emit)
}

// listen reads a stream to its end.
func (a *answer) listen(ctx context.Context, in *events, emit func(string)) *fault {
	for {
		e, err := in.next()
		f := (*fault)(nil)
		switch {
		case errors.Is(err, io.EOF) && a.chunks == 0:
			f = &fault{kind: silent}
		case err != nil:
			f = stalled(ctx, broken, err)
		case bytes.HasPrefix(e.data, done):
			a.done = true
			return a.verdict(emit)
		case e.kind == "error":
			f = refusal(e.data, 0)
		default:
			f = a.chunk(e.data, emit)
		}
		if f != nil && a.whole() {
			return a.verdict(emit) // the model had finished, without [DONE] or before what came after
		}
		if f != nil {
			return f
		}
	}
}

// completion reads an answer that came in one piece.
func (a *answer) completion(ctx context.Context, in io.Reader, emit func(string)) *fault {
	body, err := io.ReadAll(in)
	if err != nil {
		return stalled(ctx, broken, err)
	}
	if f := a.chunk(body, emit); f != nil {
		return f
	}
	a.done = true
	return a.verdict(emit)
}

// verdict is the fault of an answer that ended in order, if it has one.
func (a *answer) verdict(emit func(string)) *fault {
	a.say(a.think.rest(), emit)
	switch {
	case strings.TrimSpace(a.text.String()) != "":
		return nil
	case a.finish == "length" || a.finish == "max_tokens":
		return &fault{kind: exhausted, code: a.finish}
	case a.short():
		return &fault{kind: filtered, code: a.finish}
	case !a.whole():
		return &fault{kind: silent}
	case len(a.calls) == 0:
		return &fault{kind: empty}
	}
	return nil
}

// refusals turns an error status into a fault before openai-go makes an error of it that holds the request, key and all.
func (c *Client) refusals(r *http.Request, next option.MiddlewareNext) (*http.Response, error) {
	res, err := next(r)
	if err != nil || res.StatusCode < 300 {
		return res, err
	}
	defer res.Body.Close()
	body, _ := io.ReadAll(io.LimitReader(res.Body, maxRefusal)) // what is there is enough
	f := refusal(body, res.StatusCode)
	f.retryAfter(res.Header, c.now())
	return nil, f
}

var errIdle = errors.New("nothing came in time")

// failed is the fault of a request that brought no answer.
func failed(ctx context.Context, err error) *fault {
	if f := (*fault)(nil); errors.As(err, &f) {
		return f
	}
	return stalled(ctx, unreachable, err)
}

// stalled is the fault of an exchange that broke, or in which nothing came for too long.
func stalled(ctx context.Context, kind kind, err error) *fault {
	if errors.Is(context.Cause(ctx), errIdle) {
		return &fault{kind: idle}
	}
	return &fault{kind: kind, said: cause(err)}
}

// cause words a transport's error without its address, which may hold a secret in its query.
func cause(err error) string {
	if u := (*url.Error)(nil); errors.As(err, &u) {
		err = u.Err
	}
	return err.Error()
}

// peek is the first byte that is neither white space nor a byte order mark, or 0. An error comes again with the next read.
func peek(in *bufio.Reader) byte {
	for {
		b, err := in.ReadByte()
		if err != nil {
			return 0
		}
		if strings.IndexByte(" \t\r\n\xEF\xBB\xBF", b) < 0 {
			_ = in.UnreadByte() // one was read
			return b
		}
	}
}

// reader tells when something came.
type reader struct {
	io.Reader
	came func()
}

func (r reader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if n > 0 {
		r.came()
	}
	return n, err
}
