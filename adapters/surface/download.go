package surface

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/nodhq/nod/core/agent/attach"
	"github.com/nodhq/nod/core/agent/turn"
)

// Hosts are where a platform keeps people's files. What begins with "." stands for everything below. With Standin, an address, that one is
// taken, too.
type Hosts struct {
	Names   []string
	Standin string
}

// Take reports whether files are taken from an address: by HTTPS, on the usual port, from one of the hosts.
func (h Hosts) Take(u *url.URL) bool {
	if to, err := url.Parse(h.Standin); err == nil && to.Host != "" && u.Scheme == to.Scheme && u.Host == to.Host {
		return true
	}
	if u.Scheme != "https" || u.User != nil || u.Port() != "" {
		return false
	}
	host := strings.ToLower(u.Hostname())
	for _, name := range h.Names {
		if host == name || strings.HasPrefix(name, ".") && strings.HasSuffix(host, name) {
			return true
		}
	}
	return false
}

// Download gives what stands at an address, up to so many bytes, and the type that the answer says. It follows no redirect, wherever one
// leads, and sends auth to nobody but these hosts. Its errors hold no address. client is one of [HTTPClient].
func Download(ctx context.Context, client *http.Client, address, auth string, from Hosts, most int) (data []byte, kind string, err error) {
	no := func(why turn.WhyUnread, say string) ([]byte, string, error) {
		return nil, "", &attach.Error{Why: why, Cause: errors.New(say)}
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil || !from.Take(r.URL) {
		return no(turn.UnreadElsewhere, "its address is not one of the platform's")
	}
	if auth != "" {
		r.Header.Set("Authorization", auth)
	}
	resp, err := client.Do(r)
	if err != nil {
		if at, ok := errors.AsType[*url.Error](err); ok {
			err = at.Err // without the address, which may let anybody in
		}
		return nil, "", err
	}
	defer func() { _ = resp.Body.Close() }()
	switch code := resp.StatusCode; {
	case code == http.StatusOK:
	case code == http.StatusNotFound || code == http.StatusGone:
		return no(turn.UnreadGone, "there is no such file any more")
	case code == http.StatusUnauthorized || code == http.StatusForbidden || code >= 300 && code < 400:
		return no(turn.UnreadForbidden, fmt.Sprintf("HTTP %d instead of the file", code))
	default:
		return nil, "", fmt.Errorf("HTTP %d instead of the file", code)
	}
	if data, err = io.ReadAll(io.LimitReader(resp.Body, int64(most)+1)); err != nil {
		return nil, "", errors.New("the file broke off")
	}
	if len(data) > most {
		return no(turn.UnreadTooBig, "it is bigger than the platform said, or than is read")
	}
	return data, resp.Header.Get("Content-Type"), nil
}
