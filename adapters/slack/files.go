package slack

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"net/url"
	"strings"

	"github.com/slack-go/slack"

	"github.com/nodhq/nod/adapters/slack/calls"
	"github.com/nodhq/nod/adapters/slack/inbound"
	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/agent/attach"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
)

var _ attach.Fetcher = (*Adapter)(nil)

// slackHosts are where Slack keeps files: files.slack.com, and hosts of workspaces. https://docs.slack.dev/reference/objects/file-object
var slackHosts = []string{".slack.com"}

// fileInfo is what Slack says of a file now: a message may be older than that. https://docs.slack.dev/reference/methods/files.info
type fileInfo struct {
	File struct {
		Mode     inbound.LooseString `json:"mode"` // hosted, snippet, post, external, tombstone, hidden_by_limit
		Type     inbound.LooseString `json:"mimetype"`
		External bool                `json:"is_external"`
		URL      inbound.LooseString `json:"url_private"`
		Download inbound.LooseString `json:"url_private_download"`
		Size     int                 `json:"size"`
	} `json:"file"`
}

// Fetch implements [attach.Fetcher]. The handle is the file's ID: where it is Slack says, and no message.
func (a *Adapter) Fetch(ctx context.Context, id chat.ID, f chat.File, most int) ([]byte, error) {
	a, p, err := a.locate(ctx, id)
	if err != nil {
		return nil, refusedFile(err)
	}
	var info fileInfo
	err = a.makeCall(ctx, calls.New(calls.File, p.Team, "", agent.Final), func() error {
		return a.form(ctx, calls.File, url.Values{"file": {f.Handle}}, &info)
	})
	if err != nil {
		return nil, refusedFile(err)
	}
	is := info.File
	switch {
	case is.Mode == "tombstone" || is.Mode == "hidden_by_limit":
		return nil, &attach.Error{Why: turn.UnreadGone}
	case is.External:
		return nil, &attach.Error{Why: turn.UnreadElsewhere}
	case is.Size > most:
		return nil, &attach.Error{Why: turn.UnreadTooBig}
	}
	data, kind, err := surface.Download(ctx, a.http, string(cmp.Or(is.Download, is.URL)), "Bearer "+a.BotToken, surface.Hosts{Names: slackHosts, Standin: a.standin()}, most)
	// Slack shows a page to sign in to whoever may not read the file. What it gives of a canvas is a page, too, of the canvas.
	if isPage(kind) && !isPage(string(is.Type)) && !bytes.Contains(data, []byte(`class="quip-canvas-content"`)) {
		return nil, &attach.Error{Why: turn.UnreadScope, Cause: errors.New("Slack gave a page to sign in instead of the file")}
	}
	return data, err
}

func isPage(kind string) bool { return strings.HasPrefix(kind, "text/html") }

// standin is the address of one, or "".
func (a *Adapter) standin() string {
	if a.APIURL == slack.APIURL {
		return ""
	}
	return a.APIURL
}

// refusedFile is a refusal of files.info as far as it says that the file never comes.
func refusedFile(err error) error {
	pe := calls.FaultOf(err)
	if !pe.Refuses() {
		return pe
	}
	switch calls.CodeOf(pe) {
	case "missing_scope":
		return &attach.Error{Why: turn.UnreadScope, Cause: pe}
	case "file_not_found", "file_deleted", "file_not_shared":
		return &attach.Error{Why: turn.UnreadGone, Cause: pe}
	}
	return &attach.Error{Why: turn.UnreadForbidden, Cause: pe}
}
