package main

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

	"github.com/nodhq/nod/core/render"
)

// chatAPI is the web API as a program uses it: docs/permissions.md names the requests.
type chatAPI struct {
	base   *url.URL
	client *http.Client
	key    string
}

func newChatAPI(base *url.URL) *chatAPI {
	t := http.DefaultTransport.(*http.Transport).Clone() //nolint:forcetypeassert // the standard library's own
	return &chatAPI{base: base, client: &http.Client{
		Transport:     t,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, // the key is for this host
	}}
}

func (a *chatAPI) close() { a.client.CloseIdleConnections() }

// apiError is what the API says in words.
type apiError struct {
	status    int
	Code, Say string
}

func (e *apiError) Error() string { return e.Say }

const apiPatience = 30 * time.Second

// do makes one request. in and out may be nil.
func (a *chatAPI) do(ctx context.Context, method, path string, in, out any) error {
	ctx, cancel := context.WithTimeout(ctx, apiPatience)
	defer cancel()
	resp, err := a.send(ctx, method, path, in)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(io.LimitReader(resp.Body, 64<<20))
	if err != nil {
		return a.unreachable(err)
	}
	if resp.StatusCode >= 300 {
		return refusalOf(resp.StatusCode, b)
	}
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(b, out); err != nil {
		return fmt.Errorf("%s answers, but not as a nod does", a.base.Host)
	}
	return nil
}

func (a *chatAPI) send(ctx context.Context, method, path string, in any) (*http.Response, error) {
	var body io.Reader
	if in != nil {
		b, err := json.Marshal(in)
		if err != nil {
			return nil, err
		}
		body = bytes.NewReader(b)
	}
	req, err := http.NewRequestWithContext(ctx, method, a.base.String()+path, body)
	if err != nil {
		return nil, err
	}
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
	return resp, nil
}

func (a *chatAPI) unreachable(err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err
	}
	return fmt.Errorf("no bot can be reached at %s: %w", a.base, err)
}

// refusalOf reads an error of the API. Whatever else answers is told by its status.
func refusalOf(status int, body []byte) error {
	var e struct {
		Error struct{ Code, Message string }
	}
	if json.Unmarshal(body, &e) != nil || e.Error.Message == "" {
		return &apiError{status, "", fmt.Sprintf("the address answers %d %s, which no nod says", status, http.StatusText(status))}
	}
	return &apiError{status, e.Error.Code, render.Prose(e.Error.Message)}
}

func isStatus(err error, status int) bool {
	var e *apiError
	return errors.As(err, &e) && e.status == status
}

// signIn uses a key as it is, or opens a session: with that key where it only opens sessions, without one where the listener asks for none.
func (a *chatAPI) signIn(ctx context.Context, key, name string) error {
	a.key = key
	if key != "" {
		if err := a.do(ctx, "GET", "/api/v1/chats", nil, nil); !isStatus(err, http.StatusUnauthorized) {
			return err
		}
	}
	var session struct{ Key string }
	err := a.do(ctx, "POST", "/api/v1/sessions", map[string]string{"name": name}, &session)
	var e *apiError
	if errors.As(err, &e) && (e.Code == "unauthorized" || e.Code == "forbidden") {
		return fmt.Errorf("%w Set BOT_SESSION_KEY.", err) //nolint:revive,staticcheck // the API's sentence, and one more
	}
	a.key = session.Key
	return err
}

// heard is one event of the stream, or its end.
type heard struct {
	name, id string
	data     []byte
	err      error
}

const (
	streamTries = 20
	streamPause = time.Second
)

// events delivers a chat's events until ctx ends. A stream that breaks is taken up where it was; when that fails again and again the last
// event says so.
func (a *chatAPI) events(ctx context.Context, chat string, to chan<- heard) {
	tell := func(h heard) {
		select {
		case to <- h:
		case <-ctx.Done():
		}
	}
	last := "0" // from the beginning
	for try := 0; ctx.Err() == nil; try++ {
		if try > streamTries {
			tell(heard{err: a.unreachable(errors.New("the stream of events broke off, and does not come back"))})
			return
		}
		if try > 1 { // the first break is tried again at once
			pause := time.NewTimer(streamPause)
			select {
			case <-pause.C:
			case <-ctx.Done():
			}
			pause.Stop()
		}
		resp, err := a.send(ctx, "GET", "/api/v1/chats/"+url.PathEscape(chat)+"/events?after="+url.QueryEscape(last), nil)
		if err != nil {
			continue
		}
		if resp.StatusCode != http.StatusOK {
			b, _ := io.ReadAll(io.LimitReader(resp.Body, 1<<16))
			_ = resp.Body.Close()
			if resp.StatusCode < 500 && resp.StatusCode != http.StatusTooManyRequests {
				tell(heard{err: refusalOf(resp.StatusCode, b)})
				return
			}
			continue
		}
		readEvents(resp.Body, func(h heard) {
			if h.id != "" {
				last = h.id
			}
			try = 0
			tell(h)
		})
		_ = resp.Body.Close()
	}
}

// readEvents reads server-sent events until the stream ends: https://html.spec.whatwg.org/multipage/server-sent-events.html
func readEvents(r io.Reader, take func(heard)) {
	in := bufio.NewReader(r)
	var h heard
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return
		}
		field, value, _ := strings.Cut(strings.TrimRight(line, "\r\n"), ":")
		value = strings.TrimPrefix(value, " ")
		switch field {
		case "":
			if h.name != "" && h.data != nil {
				take(h)
			}
			if strings.TrimRight(line, "\r\n") == "" {
				h = heard{}
			}
		case "event":
			h.name = value
		case "id":
			h.id = value
		case "data":
			h.data = append(h.data, value...)
		}
	}
}
