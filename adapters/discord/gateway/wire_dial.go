package gateway

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"

	"github.com/nodhq/nod/adapters/surface"
)

// dialer is how the network is reached: as the client does that the adapter was given, so that a proxy or roots of one's own are used here
// as well. The zero value is the plain network.
type dialer struct {
	dial  func(ctx context.Context, network, addr string) (net.Conn, error)
	proxy func(*http.Request) (*url.URL, error)
	tls   *tls.Config
}

func dialerOf(c *http.Client) dialer {
	plain := &net.Dialer{Timeout: surface.DialTimeout, KeepAlive: surface.DialTimeout}
	w := dialer{dial: plain.DialContext, proxy: http.ProxyFromEnvironment}
	if c == nil || c.Transport == nil {
		return w
	}
	if t, ok := c.Transport.(*http.Transport); ok {
		w.proxy, w.tls = t.Proxy, t.TLSClientConfig
		if t.DialContext != nil {
			w.dial = t.DialContext
		}
	}
	return w
}

// connect opens a connection to a host, through a proxy where there is one. gorilla's own proxying has no place for reading above TLS.
func (w dialer) connect(ctx context.Context, addr string, secure bool) (net.Conn, error) {
	conn, err := w.tunnel(ctx, addr, secure)
	if err != nil || !secure {
		return conn, err
	}
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	config := w.tls.Clone()
	if config == nil {
		config = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	config.NextProtos = nil // websockets are HTTP/1.1
	if config.ServerName == "" {
		config.ServerName = host
	}
	over := tls.Client(conn, config)
	if err := over.HandshakeContext(ctx); err != nil {
		_ = conn.Close()
		return nil, err
	}
	return over, nil
}

func (w dialer) tunnel(ctx context.Context, addr string, secure bool) (net.Conn, error) {
	through, err := w.through(addr, secure)
	if err != nil {
		return nil, err
	}
	if through == nil {
		return w.dial(ctx, "tcp", addr)
	}
	if through.Scheme != "http" {
		return nil, fmt.Errorf("the gateway can be reached through a proxy of the kind http://, not %s://", through.Scheme)
	}
	at := through.Host
	if through.Port() == "" {
		at = net.JoinHostPort(through.Hostname(), "80")
	}
	conn, err := w.dial(ctx, "tcp", at)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
	err = askProxy(conn, addr, through.User)
	if !stop() {
		err = ctx.Err()
	}
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	return conn, nil
}

// through is the proxy for an address; nil: none.
func (w dialer) through(addr string, secure bool) (*url.URL, error) {
	if w.proxy == nil {
		return nil, nil
	}
	u := &url.URL{Scheme: "http", Host: addr}
	if secure {
		u.Scheme = "https"
	}
	through, err := w.proxy(&http.Request{Method: http.MethodGet, URL: u, Host: addr})
	if err != nil {
		return nil, errors.New("the address of the proxy (HTTPS_PROXY, HTTP_PROXY) is none") // not which: a password may be in it
	}
	return through, nil
}

// askProxy has a proxy connect to an address. https://www.rfc-editor.org/rfc/rfc9110#name-connect
func askProxy(conn net.Conn, addr string, as *url.Userinfo) error {
	r := &http.Request{Method: http.MethodConnect, URL: &url.URL{Opaque: addr}, Host: addr, Header: http.Header{}}
	if as != nil {
		password, _ := as.Password()
		r.Header.Set("Proxy-Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(as.Username()+":"+password)))
	}
	if err := r.Write(conn); err != nil {
		return errors.New("the proxy broke off")
	}
	// One byte at a time: what comes after the answer is not the proxy's.
	res, err := http.ReadResponse(bufio.NewReaderSize(oneByte{conn}, 16), r)
	if err != nil {
		return errors.New("the proxy gave no answer that is HTTP")
	}
	_ = res.Body.Close() // an answer to CONNECT has none: what follows is the tunnel's
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("the proxy does not connect to %s: HTTP status %d", addr, res.StatusCode)
	}
	return nil
}

type oneByte struct{ net.Conn }

func (o oneByte) Read(p []byte) (int, error) { return o.Conn.Read(p[:1]) }
