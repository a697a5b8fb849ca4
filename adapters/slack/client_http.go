package slack

import (
	"bytes"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"path"
	"time"
)

// Timeouts of one exchange. net/http has none by itself.
const (
	dialTimeout   = 5 * time.Second
	headerTimeout = 15 * time.Second
	callTimeout   = 30 * time.Second
	maxAnswer     = 16 << 20 // bytes of one answer
)

// httpClient is c with what must not be missing: a timeout, and no redirects, because a redirected POST would carry the token
// to wherever it leads.
func httpClient(c *http.Client) *http.Client {
	var own http.Client
	if c != nil {
		own = *c
	} else {
		own.Transport = &http.Transport{
			Proxy:                 http.ProxyFromEnvironment,
			DialContext:           (&net.Dialer{Timeout: dialTimeout, KeepAlive: 30 * time.Second}).DialContext,
			TLSHandshakeTimeout:   dialTimeout,
			ResponseHeaderTimeout: headerTimeout,
			ForceAttemptHTTP2:     true,
			MaxIdleConns:          128,
			MaxIdleConnsPerHost:   64, // the default of 2 opens a connection for nearly every edit
			IdleConnTimeout:       90 * time.Second,
		}
	}
	if own.Timeout <= 0 {
		own.Timeout = callTimeout
	}
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &own
}

// lean takes the echo out of the answers to what we send: slack-go parses the whole message that Slack returns, strictly, so one
// block that it does not know as it expects would make a message that is there look like a failure.
type lean struct{ *http.Client }

func (l lean) Do(r *http.Request) (*http.Response, error) {
	resp, err := l.Client.Do(r)
	if err != nil {
		return nil, err
	}
	resp.Body = &limited{io.LimitReader(resp.Body, maxAnswer), resp.Body}
	if method := path.Base(r.URL.Path); resp.StatusCode != http.StatusOK || method != "chat.postMessage" && method != "chat.update" {
		return resp, nil
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	var whole map[string]json.RawMessage
	if json.Unmarshal(body, &whole) == nil && whole["message"] != nil {
		var kept struct {
			TS     string `json:"ts"`
			Thread string `json:"thread_ts,omitempty"`
		}
		_ = json.Unmarshal(whole["message"], &kept)
		whole["message"], _ = json.Marshal(kept)
		body, _ = json.Marshal(whole)
	}
	resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	return resp, nil
}

type limited struct {
	io.Reader
	io.Closer
}
