package surface

import (
	"net"
	"net/http"
	"time"
)

// How long one call of a platform's API may take.
const (
	DialTimeout   = 5 * time.Second // of a connection, or its TLS handshake
	headerTimeout = 15 * time.Second
	// CallTimeout bounds one call, its answer's body included.
	CallTimeout = 30 * time.Second
)

// HTTPClient is c with what must not be missing: a timeout, and no redirects, because a redirected request would carry the token
// to wherever it leads.
func HTTPClient(c *http.Client) *http.Client {
	var own http.Client
	if c != nil {
		own = *c
	}
	if own.Transport == nil {
		own.Transport = &http.Transport{
			Proxy:                 http.ProxyFromEnvironment,
			DialContext:           (&net.Dialer{Timeout: DialTimeout, KeepAlive: 30 * time.Second}).DialContext,
			TLSHandshakeTimeout:   DialTimeout,
			ResponseHeaderTimeout: headerTimeout,
			ForceAttemptHTTP2:     true,
			MaxIdleConns:          128,
			MaxIdleConnsPerHost:   64, // the default of 2 opens a connection for nearly every edit
			IdleConnTimeout:       90 * time.Second,
		}
	}
	if own.Timeout <= 0 {
		own.Timeout = CallTimeout
	}
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &own
}
