package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// served starts serveHTTP and returns the address, the stop and what it returned.
func served(t *testing.T, h http.Handler, drain time.Duration, closeStreams func()) (url string, stop func(), result <-chan error) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	out := make(chan error, 1)
	go func() { out <- serveHTTP(ctx, ln, h, drain, closeStreams, slog.New(slog.DiscardHandler)) }()
	t.Cleanup(cancel)
	return "http://" + ln.Addr().String(), cancel, out
}

// get fetches one page; its client keeps no connection.
func get(url string) (string, error) {
	c := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	r, err := c.Get(url)
	if err != nil {
		return "", err
	}
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	return string(b), err
}

// pipes is a listener within this process, whose clock a test may own.
type pipes struct {
	net.Listener
	conns chan net.Conn
}

func (p pipes) Accept() (net.Conn, error) {
	if c, ok := <-p.conns; ok {
		return c, nil
	}
	return nil, net.ErrClosed
}

func (p pipes) Close() error { return nil }

// Google's load balancers keep a connection for ten minutes, and lose what they send on one that is closed meanwhile.
func TestServeHTTPKeepsConnectionsLongerThanProxiesDo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ln, dials := pipes{conns: make(chan net.Conn, 10)}, 0
		go func() {
			_ = serveHTTP(t.Context(), ln, http.NotFoundHandler(), time.Second, nil, slog.New(slog.DiscardHandler))
		}()
		proxy := &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
			ours, theirs := net.Pipe()
			ln.conns <- ours
			dials++
			return theirs, nil
		}}
		for range 2 {
			r, err := (&http.Client{Transport: proxy}).Get("http://nod.example.org/")
			if err != nil {
				t.Fatal(err)
			}
			_, _ = io.Copy(io.Discard, r.Body)
			r.Body.Close()
			time.Sleep(10 * time.Minute) //nolint:forbidigo // of the bubble
		}
		if dials != 1 {
			t.Errorf("%d connections", dials)
		}
		close(ln.conns)
		proxy.CloseIdleConnections()
	})
}

// A request that runs when the stop comes is answered; afterwards nothing is.
func TestServeHTTPFinishesWhatRuns(t *testing.T) {
	entered, finish := make(chan struct{}), make(chan struct{})
	url, stop, result := served(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		close(entered)
		<-finish
		if r.Context().Err() != nil {
			t.Error("the request was cut within the drain time")
		}
		_, _ = io.WriteString(w, "done")
	}), time.Hour, func() { close(finish) })
	body := make(chan string, 1)
	go func() {
		b, err := get(url)
		if err != nil {
			b = err.Error()
		}
		body <- b
	}()
	<-entered
	stop() // closeStreams lets the handler go on: so the stop was seen while the request ran
	if b := <-body; b != "done" {
		t.Errorf("the running request got %q", b)
	}
	if err := <-result; err != nil {
		t.Error(err)
	}
	if _, err := get(url); err == nil {
		t.Error("it still serves")
	}
}

// F16: who sends a body slower than it may take is cut, whatever the handler does with it; an answer that lasts longer is not.
func TestSlowBodiesAreCut(t *testing.T) {
	read := make(chan error, 2)
	srv := httptest.NewServer(inTime(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/unread" {
			return
		}
		b, err := io.ReadAll(r.Body)
		read <- err
		if err == nil && string(b) == "whole" { // longer than the deadline, which must not end it
			ticks := time.NewTicker(10 * time.Millisecond)
			defer ticks.Stop()
			for range 50 {
				select {
				case <-ticks.C:
				case <-r.Context().Done():
					t.Error("the answer to a whole body was cut")
					return
				}
			}
			_, _ = io.WriteString(w, "done")
		}
	}), 250*time.Millisecond))
	defer srv.Close()
	for path, head := range map[string]string{"/read": "Content-Length: 100", "/chunked": "Transfer-Encoding: chunked", "/unread": "Content-Length: 100"} {
		conn, err := net.Dial("tcp", srv.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		if err := conn.SetDeadline(time.Now().Add(2 * time.Minute)); err != nil { // it would hang for ever
			t.Fatal(err)
		}
		if _, err := io.WriteString(conn, "POST "+path+" HTTP/1.1\r\nHost: x\r\n"+head+"\r\n\r\n"); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadAll(conn); err != nil {
			t.Errorf("%s: the connection is still held: %v", path, err)
		}
		conn.Close()
		if path != "/unread" {
			if err := <-read; !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("%s: the handler read %v", path, err)
			}
		}
	}
	res, err := http.Post(srv.URL, "text/plain", strings.NewReader("whole"))
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if b, err := io.ReadAll(res.Body); string(b) != "done" {
		t.Errorf("%q, %v", b, err)
	}
}

// A request that does not end is cut after the drain time, with its context.
func TestServeHTTPCutsWhatDoesNotEnd(t *testing.T) {
	entered, ended := make(chan struct{}), make(chan error, 1)
	url, stop, result := served(t, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		close(entered)
		<-r.Context().Done()
		ended <- r.Context().Err()
	}), 0, nil)
	failed := make(chan error, 1)
	go func() {
		_, err := get(url)
		failed <- err
	}()
	<-entered
	stop()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("context: %v", err)
	}
	<-failed
	if err := <-result; err != nil {
		t.Error(err)
	}
}

// Also the client of a handler that looks at nothing is cut loose.
func TestServeHTTPCutsConnections(t *testing.T) {
	entered, finish := make(chan struct{}), make(chan struct{})
	url, stop, result := served(t, http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		close(entered)
		<-finish
	}), 0, nil)
	failed := make(chan error, 1)
	go func() {
		_, err := get(url)
		failed <- err
	}()
	<-entered
	stop()
	if err := <-failed; err == nil {
		t.Error("the client got an answer")
	}
	if err := <-result; err != nil {
		t.Error(err)
	}
	close(finish)
}

// A listener that breaks is an error, not a silent end.
func TestServeHTTPTellsOfABrokenListener(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ln.Close()
	if err := serveHTTP(t.Context(), ln, http.NotFoundHandler(), 0, nil, slog.New(slog.DiscardHandler)); err == nil {
		t.Error("no error")
	}
}

func TestHealth(t *testing.T) {
	ask := func(mux http.Handler, path string) (int, string) {
		w := httptest.NewRecorder()
		mux.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
		var e struct {
			Error struct{ Code, Message string }
		}
		if err := json.Unmarshal(w.Body.Bytes(), &e); err != nil {
			t.Errorf("%s: no JSON: %v", path, err)
		}
		return w.Code, e.Error.Code + e.Error.Message
	}
	stopping, stop := context.WithCancel(t.Context())
	failing := error(nil)
	mux := http.NewServeMux()
	var log bytes.Buffer
	spoken := error(nil)
	h := newHealth(slog.New(slog.NewTextHandler(&log, nil)), check{"Slack", "", func(context.Context) error { return spoken }}, check{"Redis", "Redis does not answer.", func(context.Context) error { return failing }})
	h.serve(mux, stopping)
	if code, _ := ask(mux, "/readyz"); code != 200 {
		t.Errorf("ready: %d", code)
	}
	// Strangers hear a kind; the cause goes to the log, once for an outage.
	for _, failing = range []error{errors.New("dial tcp 10.0.0.9:6379: connection refused"), context.DeadlineExceeded} {
		if code, say := ask(mux, "/readyz"); code != 503 || say != "not_readyRedis does not answer." {
			t.Errorf("%d %q", code, say)
		}
	}
	if n := strings.Count(log.String(), "level=ERROR"); n != 1 || !strings.Contains(log.String(), "10.0.0.9:6379") {
		t.Errorf("%d errors in the log, want one with the cause:\n%s", n, &log)
	}
	spoken = errors.New("Slack refuses the bot token") //nolint:staticcheck // a sentence
	if code, say := ask(mux, "/readyz"); code != 503 || say != "not_readySlack refuses the bot token." {
		t.Errorf("%d %q", code, say)
	}
	failing, spoken = nil, nil
	ask(mux, "/readyz")
	ask(mux, "/readyz")
	if n := strings.Count(log.String(), "level=INFO"); n != 2 || strings.Count(log.String(), "\n") != 4 {
		t.Errorf("the end of the outage stands %d times in the log:\n%s", n, &log)
	}
	failing = nil
	stop()
	if code, say := ask(mux, "/readyz"); code != 503 || !strings.HasPrefix(say, "stopping") {
		t.Errorf("%d %q", code, say)
	}
	if code, _ := ask(mux, "/healthz"); code != 200 {
		t.Errorf("a stopping process is alive: %d", code)
	}
}
