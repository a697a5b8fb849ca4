package gateway

import (
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"
)

func TestTheGatewayThroughTLSAndAProxy(t *testing.T) {
	t.Parallel()
	gateway := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		up := websocket.Upgrader{}
		c, err := up.Upgrade(w, r, nil)
		if err != nil {
			return
		}
		defer c.Close()
		_ = c.WriteMessage(websocket.TextMessage, []byte("here"))
	}))
	gateway.Config.ErrorLog = log.New(io.Discard, "", 0)
	gateway.EnableHTTP2 = true
	gateway.StartTLS()
	defer gateway.Close()
	var mu sync.Mutex
	var asked []string
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		asked = append(asked, r.Method+" "+r.Host+" "+r.Header.Get("Proxy-Authorization"))
		mu.Unlock()
		if r.Header.Get("Proxy-Authorization") == "" {
			w.WriteHeader(http.StatusProxyAuthRequired)
			return
		}
		if strings.HasSuffix(r.Host, ":1") { // it answers with less than HTTP wants
			here, _, _ := w.(http.Hijacker).Hijack()
			_, _ = here.Write([]byte("HTTP/1.1 404\r\n\r\n"))
			_ = here.Close()
			return
		}
		there, err := net.Dial("tcp", r.Host) //nolint:noctx // a test
		if err != nil {
			t.Error(err)
			return
		}
		here, _, _ := w.(http.Hijacker).Hijack()
		_, _ = here.Write([]byte("HTTP/1.1 200 OK\r\n\r\n"))
		go func() { defer there.Close(); _, _ = io.Copy(there, here) }()
		defer here.Close()
		_, _ = io.Copy(here, there)
	}))
	defer proxy.Close()
	socks, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // a test
	if err != nil {
		t.Fatal(err)
	}
	defer socks.Close()
	go func() { // https://www.rfc-editor.org/rfc/rfc1928, for one that connects to an IPv4 address without a password
		here, err := socks.Accept()
		if err != nil {
			return
		}
		defer here.Close()
		greeting, request := make([]byte, 3), make([]byte, 10)
		_, _ = io.ReadFull(here, greeting)
		_, _ = here.Write([]byte{5, 0})
		_, _ = io.ReadFull(here, request)
		there, err := net.Dial("tcp", gateway.Listener.Addr().String()) //nolint:noctx // a test
		if err != nil || request[3] != 1 {
			t.Errorf("socks: %v, asked for %v", err, request)
			return
		}
		defer there.Close()
		_, _ = here.Write([]byte{5, 0, 0, 1, 0, 0, 0, 0, 0, 0})
		go func() { _, _ = io.Copy(there, here) }()
		_, _ = io.Copy(here, there)
	}()
	at, _ := url.Parse(proxy.URL)
	roots := gateway.Client().Transport.(*http.Transport).TLSClientConfig
	roots.NextProtos = []string{"h2", "http/1.1"} // as a transport that was used has it
	get := func(tr *http.Transport, address string) (string, error) {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		defer cancel()
		c, err := New(Config{Client: &http.Client{Transport: tr}}).dial(ctx, address)
		if err != nil {
			return "", err
		}
		defer c.Close()
		_, b, err := c.ReadMessage()
		return string(b), err
	}
	as := *at
	as.User = url.UserPassword("ana", "secret")
	there := "wss" + strings.TrimPrefix(gateway.URL, "https")
	for name, c := range map[string]struct {
		tr   *http.Transport
		at   string
		want string // of the error; empty: it works
	}{
		"plainly":            {&http.Transport{TLSClientConfig: roots}, there, ""},
		"without the roots":  {&http.Transport{}, there, "certificate"},
		"no websocket":       {&http.Transport{}, "ws" + strings.TrimPrefix(proxy.URL, "http"), "407 Proxy Authentication Required"},
		"no address":         {&http.Transport{}, "https://there.test", "malformed"},
		"through a proxy":    {&http.Transport{TLSClientConfig: roots, Proxy: http.ProxyURL(&as)}, there, ""},
		"a proxy says no":    {&http.Transport{TLSClientConfig: roots, Proxy: http.ProxyURL(at)}, there, "Proxy Authentication Required"},
		"a proxy of a kind":  {&http.Transport{TLSClientConfig: roots, Proxy: http.ProxyURL(&url.URL{Scheme: "quic", Host: at.Host})}, there, "quic"},
		"through SOCKS":      {&http.Transport{TLSClientConfig: roots, Proxy: http.ProxyURL(&url.URL{Scheme: "socks5", Host: socks.Addr().String()})}, there, ""},
		"a proxy of no sort": {&http.Transport{TLSClientConfig: roots, Proxy: func(*http.Request) (*url.URL, error) { return nil, errors.New("http://ana:secret@") }}, there, "HTTPS_PROXY"},
		"a proxy is no more": {&http.Transport{TLSClientConfig: roots, Proxy: http.ProxyURL(&url.URL{Scheme: "http", Host: "127.0.0.1:1"})}, there, "refused"},
		"a proxy of no word": {&http.Transport{TLSClientConfig: roots, Proxy: http.ProxyURL(&as)}, "wss://there.test:1", "index out of range"},
	} {
		got, err := get(c.tr, c.at)
		switch {
		case c.want == "" && (err != nil || got != "here"):
			t.Errorf("%s: %v, %q", name, err, got)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "secret")):
			t.Errorf("%s: %v", name, err)
		}
	}
	mu.Lock()
	defer mu.Unlock()
	if !strings.Contains(strings.Join(asked, "|"), "CONNECT "+strings.TrimPrefix(gateway.URL, "https://")+" Basic YW5hOnNlY3JldA==") {
		t.Errorf("the proxy was asked %q", asked)
	}
}
