package slack

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"path"
)

const maxAnswer = 16 << 20 // bytes of one answer

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
