// Command fakellm runs the tests' OpenAI-compatible service as a process. It prints its address when it listens.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/nodhq/nod/tests/standins/fakellm"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:0", "address to listen on; port 0 picks one")
	key := flag.String("key", "", "bearer token to require")
	delay := flag.Duration("delay", 0, "wait before each streamed piece")
	allow := flag.String("allow", "", "unknown fields to take, separated by commas")
	raw := flag.String("raw", "", "file of server-sent events to answer the first request with")
	var strict fakellm.Strict
	flag.IntVar(&strict.MaxTools, "max-tools", 0, "refuse more tools than this")
	flag.StringVar(&strict.Dislikes, "dislikes", "", "function whose schema is refused")
	flag.IntVar(&strict.Context, "context", 0, "refuse requests of more tokens than this")
	flag.BoolVar(&strict.NineIDs, "nine-ids", false, "take ids of calls of nine letters and digits only")
	flag.BoolVar(&strict.NoTools, "no-tools", false, "refuse every tool")
	flag.BoolVar(&strict.NoPictures, "no-pictures", false, "refuse every picture")
	flag.Parse()
	if err := run(*listen, *raw, fakellm.Config{Key: *key, Delay: *delay, Strict: strict, Allow: strings.FieldsFunc(*allow, func(r rune) bool { return r == ',' })}); err != nil {
		fmt.Fprintln(os.Stderr, "fakellm:", err)
		os.Exit(1)
	}
}

func run(listen, raw string, cfg fakellm.Config) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	s := fakellm.New(cfg)
	if raw != "" {
		b, err := os.ReadFile(raw)
		if err != nil {
			return err
		}
		s.Queue(fakellm.Raw{Body: string(b)})
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", listen)
	if err != nil {
		return err
	}
	fmt.Printf("http://%s/v1\n", l.Addr())
	srv := &http.Server{Handler: s, ReadHeaderTimeout: 10 * time.Second, BaseContext: func(net.Listener) context.Context { return ctx }}
	done := make(chan error, 1)
	go func() { done <- srv.Serve(l) }()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	quit, cancel := context.WithTimeout(context.Background(), 3*time.Second)
	defer cancel()
	if err := srv.Shutdown(quit); err != nil && !errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return nil
}
