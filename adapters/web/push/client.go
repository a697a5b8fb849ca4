package push

import (
	"errors"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"syscall"
	"time"

	"github.com/nodhq/nod/adapters/surface"
)

// errInside says that an address is not of the Internet.
var errInside = errors.New("the push service's name leads to an address within")

// HTTPClient reaches public addresses alone, whatever a name resolves to, and follows nothing. Where the operator set a proxy (HTTPS_PROXY) for a
// name, that proxy resolves it, and its rules hold.
func HTTPClient() *http.Client {
	c := surface.HTTPClient(&http.Client{Timeout: sending})
	c.Transport = &way{proxied: c.Transport, direct: &http.Transport{
		DialContext:         (&net.Dialer{Timeout: surface.DialTimeout, Control: dials}).DialContext,
		TLSHandshakeTimeout: surface.DialTimeout, ForceAttemptHTTP2: true, IdleConnTimeout: 90 * time.Second,
		MaxIdleConns: 16, MaxConnsPerHost: 16, MaxResponseHeaderBytes: 16 << 10,
	}}
	return c
}

// way is the one to a push service.
type way struct{ direct, proxied http.RoundTripper }

// RoundTrip implements [http.RoundTripper].
func (w *way) RoundTrip(r *http.Request) (*http.Response, error) {
	if proxy, _ := http.ProxyFromEnvironment(r); proxy != nil { // it fails for plain HTTP alone
		return w.proxied.RoundTrip(r)
	}
	return w.direct.RoundTrip(r)
}

// dials is asked for each address that is connected to, once the name is resolved.
func dials(_, address string, _ syscall.RawConn) error {
	at, _ := netip.ParseAddrPort(address) // what is none has port 0
	if at.Port() != 443 || !ofInternet(at.Addr()) {
		return errInside
	}
	return nil
}

var (
	unicast6 = netip.MustParsePrefix("2000::/3")
	nat64    = netip.MustParsePrefix("64:ff9b::/96") // an IPv4 address in its last four bytes: RFC 6052
	// special are the blocks that are nobody's on the Internet, or that hold another address:
	// https://www.iana.org/assignments/iana-ipv4-special-registry and iana-ipv6-special-registry.
	special = []netip.Prefix{
		netip.MustParsePrefix("0.0.0.0/8"), netip.MustParsePrefix("100.64.0.0/10"), netip.MustParsePrefix("192.0.0.0/24"), netip.MustParsePrefix("192.0.2.0/24"),
		netip.MustParsePrefix("192.88.99.0/24"), netip.MustParsePrefix("198.18.0.0/15"), netip.MustParsePrefix("198.51.100.0/24"), netip.MustParsePrefix("203.0.113.0/24"),
		netip.MustParsePrefix("240.0.0.0/4"), netip.MustParsePrefix("2001::/23"), netip.MustParsePrefix("2001:db8::/32"), netip.MustParsePrefix("2002::/16"), netip.MustParsePrefix("3fff::/20"),
	}
)

func ofInternet(a netip.Addr) bool {
	if a = a.Unmap(); nat64.Contains(a) {
		b := a.As16()
		a = netip.AddrFrom4([4]byte(b[12:]))
	}
	switch {
	case !a.IsGlobalUnicast(), a.IsPrivate(), a.Is6() && !unicast6.Contains(a): // nothing contains what has a zone
		return false
	}
	return !slices.ContainsFunc(special, func(p netip.Prefix) bool { return p.Contains(a) })
}
