package terminal

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/nodhq/nod/core/backoff"
	"github.com/nodhq/nod/core/text"
)

const (
	apiTimeout  = 30 * time.Second // of one request
	streamTries = 20               // to open the stream of events, one after the other
	streamPause = time.Second      // between two of them; after a first break there is none
)

// api is the web API as a program uses it: docs/permissions.md names the requests.
type api struct {
	base   *url.URL
	client *http.Client
	key    string
}

func newAPI(base *url.URL) *api {
	return &api{base: base, client: &http.Client{
		Transport:     http.DefaultTransport.(*http.Transport).Clone(),                               //nolint:forcetypeassert // the standard library's own
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, // the key is for this host
	}}
}

// refusal is what the API says in words.
type refusal struct {
	status        int
	Code, Message string
}

func (e *refusal) Error() string { return e.Message }

// do makes one request. in and out may be nil.
func (a *api) do(ctx context.Context, method, path string, in, out any) error {
	ctx, cancel := context.WithTimeout(ctx, apiTimeout)
	defer cancel()
	body, err := a.open(ctx, method, path, in)
	if err != nil {
		return err
	}
	defer body.Close()
	b, err := io.ReadAll(io.LimitReader(body, 64<<20))
	switch {
	case err != nil:
		return a.unreachable(err)
	case out != nil && json.Unmarshal(b, out) != nil:
		return fmt.Errorf("%s answers, but not as a nod does", a.base.Host)
	}
	return nil
}

// open makes one request and returns the body of its answer. An answer that is none of a nod's is told by its status.
func (a *api) open(ctx context.Context, method, path string, in any) (io.ReadCloser, error) {
	var body io.Reader
	if in != nil {
		b, _ := json.Marshal(in) // texts can be written
		body = bytes.NewReader(b)
	}
	req, _ := http.NewRequestWithContext(ctx, method, a.base.String()+path, body) // baseURL has read the address
	if in != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if a.key != "" {
		req.Header.Set("Authorization", "Bearer "+a.key)
	}
	resp, err := a.client.Do(req)
	if err != nil {
		return nil, a.unreachable(err)
	}
	if resp.StatusCode < 300 {
		return resp.Body, nil
	}
	defer resp.Body.Close()
	var e struct{ Error refusal }
	if json.NewDecoder(io.LimitReader(resp.Body, 1<<20)).Decode(&e) != nil || e.Error.Message == "" {
		return nil, &refusal{resp.StatusCode, "", fmt.Sprintf("the address answers %d %s, which no nod says", resp.StatusCode, http.StatusText(resp.StatusCode))}
	}
	return nil, &refusal{resp.StatusCode, e.Error.Code, text.Prose(e.Error.Message)}
}

func (a *api) unreachable(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err
	}
	return fmt.Errorf("no bot can be reached at %s: %w", a.base, err)
}

// signIn uses a key as it is, or opens a session: with that key where it only opens sessions, without one where the listener asks for none.
func (a *api) signIn(ctx context.Context, key, name string) error {
	a.key = key
	var no *refusal
	if key != "" {
		if err := a.do(ctx, "GET", "/api/v1/chats", nil, nil); !errors.As(err, &no) || no.status != http.StatusUnauthorized {
			return err
		}
	}
	var session struct{ Key string }
	err := a.do(ctx, "POST", "/api/v1/sessions", map[string]string{"name": name}, &session)
	if errors.As(err, &no) && (no.Code == "unauthorized" || no.Code == "forbidden") {
		return fmt.Errorf("%w Set NOD_SESSION_KEY.", err) //nolint:revive,staticcheck // the API's sentence, and one more
	}
	a.key = session.Key
	return err
}

// event is one event of the stream, or its end.
type event struct {
	name, id, data string
	err            error
}

// events delivers a chat's events until ctx ends. A stream that breaks is taken up where it was; when that fails again and again the last
// event says so.
func (a *api) events(ctx context.Context, chat string, to chan<- event) {
	tell := func(e event) {
		select {
		case to <- e:
		case <-ctx.Done():
		}
	}
	last := "0" // from the beginning
	for try := 0; ctx.Err() == nil; try++ {
		if try > streamTries {
			tell(event{err: a.unreachable(errors.New("the stream of events broke off, and does not come back"))})
			return
		}
		if try > 1 {
			_ = backoff.Wait(ctx, streamPause)
		}
		body, err := a.open(ctx, "GET", "/api/v1/chats/"+url.PathEscape(chat)+"/events?after="+url.QueryEscape(last), nil)
		if no := (*refusal)(nil); errors.As(err, &no) && no.status < 500 && no.status != http.StatusTooManyRequests {
			tell(event{err: err})
			return
		}
		if err != nil {
			continue
		}
		readEvents(body, func(e event) {
			if e.id != "" {
				last = e.id
			}
			try = 0
			tell(e)
		})
		_ = body.Close()
	}
}

// readEvents reads server-sent events until the stream ends: https://html.spec.whatwg.org/multipage/server-sent-events.html
func readEvents(r io.Reader, take func(event)) {
	var e event
	for in := bufio.NewReader(r); ; {
		line, err := in.ReadString('\n')
		if err != nil {
			return
		}
		line = strings.TrimRight(line, "\r\n")
		field, value, _ := strings.Cut(line, ":")
		switch value = strings.TrimPrefix(value, " "); {
		case line == "":
			if e.name != "" {
				take(e)
			}
			e = event{}
		case field == "event":
			e.name = value
		case field == "id":
			e.id = value
		case field == "data":
			e.data += value
		}
	}
}
