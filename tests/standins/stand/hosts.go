package stand

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
)

// Hosts are all hosts of the internet but this machine's own, which are reached as they are: whoever uses [Hosts.Client] asks these, by
// HTTP or HTTPS, whatever their names are.
type Hosts struct {
	mu     sync.Mutex
	asked  []*http.Request
	answer http.HandlerFunc
	plain  *httptest.Server
	secure *httptest.Server
	dial   *http.Transport
}

// NewHosts opens them. Close them.
func NewHosts() *Hosts {
	h := new(Hosts)
	serve := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h.mu.Lock()
		h.asked = append(h.asked, r)
		answer := h.answer
		h.mu.Unlock()
		if answer != nil {
			answer(w, r)
		}
	})
	h.plain, h.secure = httptest.NewServer(serve), httptest.NewTLSServer(serve)
	h.dial = &http.Transport{
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, //nolint:gosec // its certificate names no host, and it is every host
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			host, port, err := net.SplitHostPort(address)
			switch ip := net.ParseIP(host); {
			case err != nil:
				return nil, err
			case ip != nil && ip.IsLoopback():
			case port == "443":
				address = h.secure.Listener.Addr().String()
			default:
				address = h.plain.Listener.Addr().String()
			}
			return new(net.Dialer).DialContext(ctx, network, address)
		},
	}
	return h
}

// Close ends them.
func (h *Hosts) Close() {
	h.dial.CloseIdleConnections()
	h.plain.Close()
	h.secure.Close()
}

// Client reaches them.
func (h *Hosts) Client() *http.Client { return &http.Client{Transport: h.dial} }

// Answer says what all of them give from now on, and forgets what they were asked.
func (h *Hosts) Answer(with http.HandlerFunc) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.answer, h.asked = with, nil
}

// Asked are the requests that came, each as "https host/path" with " token" behind it where it bore an Authorization.
func (h *Hosts) Asked() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	var all []string
	for _, r := range h.asked {
		line := "http "
		if r.TLS != nil {
			line = "https "
		}
		line += r.Host + r.URL.Path
		if r.Header.Get("Authorization") != "" {
			line += " token"
		}
		all = append(all, line)
	}
	return strings.Join(all, ", ")
}
