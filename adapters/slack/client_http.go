package slack

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"path"
)

const maxAnswer = 16 << 20 // bytes of one answer

// lean takes the echo out of the answers to what we send: slack-go parses the whole message or view that Slack returns, strictly, so one
// block that it does not know as it expects would make a message that is there look like a failure.
type lean struct{ *http.Client }

// echoes names the echo by method.
var echoes = map[string]string{
	"chat.postMessage": "message", "chat.update": "message",
	"views.open": "view", "views.push": "view", "views.update": "view", "views.publish": "view",
}

func (l lean) Do(r *http.Request) (*http.Response, error) {
	resp, err := l.Client.Do(r)
	if err != nil {
		return nil, err
	}
	resp.Body = &limited{io.LimitReader(resp.Body, maxAnswer), resp.Body}
	keep := echoes[path.Base(r.URL.Path)]
	if resp.StatusCode != http.StatusOK || keep == "" {
		return resp, nil
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	var whole map[string]json.RawMessage
	if json.Unmarshal(body, &whole) == nil && whole[keep] != nil {
		var bare struct {
			TS     string `json:"ts,omitempty"`
			Thread string `json:"thread_ts,omitempty"`
			ID     string `json:"id,omitempty"`
			Hash   string `json:"hash,omitempty"`
		}
		_ = json.Unmarshal(whole[keep], &bare)
		whole[keep], _ = json.Marshal(bare)
		body, _ = json.Marshal(whole)
	}
	resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	return resp, nil
}

type limited struct {
	io.Reader
	io.Closer
}
