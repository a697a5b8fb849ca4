package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"time"
)

// Bounds of the HTTP server. There is no bound on a whole request or response: the events of a chat are one response that lasts as
// long as the page is open. Handlers bound the size of the bodies they read.
const (
	bodyTimeout    = 30 * time.Second // for what a client still sends after its headers
	headerTimeout  = 10 * time.Second // a client that never finishes its headers holds a connection no longer
	idleTimeout    = 11 * time.Minute // longer than load balancers keep a connection: what they send on one that closes is lost
	maxHeaderBytes = 64 << 10
)

// inTime gives each request's body a deadline. http.Server's ReadTimeout would stand for as long as the answer takes, and end streams.
func inTime(h http.Handler, limit time.Duration) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ContentLength != 0 {
			rc := http.NewResponseController(w)
			if err := rc.SetReadDeadline(time.Now().Add(limit)); err != nil {
				http.Error(w, "This connection takes no deadline.", http.StatusInternalServerError)
				return
			}
			r.Body = &timedBody{r.Body, rc}
		}
		h.ServeHTTP(w, r)
	})
}

// timedBody takes the deadline away once the body is whole.
type timedBody struct {
	io.ReadCloser
	rc *http.ResponseController
}

func (b *timedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if errors.Is(err, io.EOF) {
		_ = b.rc.SetReadDeadline(time.Time{}) // it was taken before
	}
	return n, err
}

// serveHTTP serves h on ln until ctx ends, then stops taking requests and gives those that run until drain has passed. It returns
// when every request is over, or cut with its context after the drain time. closeStreams, which may be nil, is called when the stop begins: it ends what
// would otherwise never finish, such as event streams. It closes ln.
func serveHTTP(ctx context.Context, ln net.Listener, h http.Handler, drain time.Duration, closeStreams func(), log *slog.Logger) error {
	doing, release := drained(ctx, drain)
	defer release()
	s := &http.Server{
		Handler:           inTime(h, bodyTimeout),
		ReadHeaderTimeout: headerTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve(ln) }()
	select {
	case err := <-served:
		return fmt.Errorf("the HTTP server stopped: %w", err)
	case <-ctx.Done():
	}
	if closeStreams != nil {
		closeStreams()
	}
	if err := s.Shutdown(doing); err != nil {
		log.Warn("requests were still open after the drain time and were cut", "drain", drain)
		_ = s.Close()
	}
	if err := <-served; !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("the HTTP server stopped: %w", err)
	}
	return nil
}

// drained returns the context for doing work, when taking ends with the context for taking it: doing ends drain after taking
// did. Its values are taking's. release frees it.
func drained(taking context.Context, drain time.Duration) (doing context.Context, release func()) {
	doing, cancel := context.WithCancel(context.WithoutCancel(taking))
	stop := context.AfterFunc(taking, func() {
		timer := time.AfterFunc(drain, cancel)
		context.AfterFunc(doing, func() { timer.Stop() })
	})
	return doing, func() {
		stop()
		cancel()
	}
}
