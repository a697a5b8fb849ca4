// Package spec compares calls of Slack's Web API with what Slack's own clients may send, so that the stand-in, which grants what nod asks for, is not more lenient.
//
// The schemas (MIT License, as what they come from) are those of the arguments' types in Slack's clients for TypeScript, @slack/web-api 8.2.0 with
// @slack/types 3.2.0; generate.cjs makes them. They have what may stand where, and no limits: the stand-in has those.
package spec

import (
	_ "embed"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/nodhq/nod/tests/standins/described"
)

//go:embed slack.json.gz
var packed []byte

var slack = sync.OnceValues(func() (*described.Schemas, error) {
	doc, err := described.Unpack(packed)
	if err != nil {
		return nil, err
	}
	return described.New(doc)
})

// Faults are what Slack's clients would not send: of a call of a method, or of "response_url", with its values as text.
func Faults(method string, values url.Values) []string {
	schemas, err := slack()
	if err != nil {
		return []string{"Slack's arguments cannot be read: " + err.Error()}
	}
	sent := map[string]any{}
	for name := range values {
		sent[name] = typed(name, values.Get(name))
	}
	if method == "response_url" { // its types leave text out, which its documentation begins with; what else it takes a message has, too
		method = "chat.postMessage"
		for _, own := range []string{"delete_original", "replace_original", "response_type"} {
			delete(sent, own)
		}
		sent["channel"], sent["text"] = "C0", values.Get("text")
	}
	return schemas.Faults(method, []string{"$defs", method}, sent)
}

// typed is a form's value as the clients have it before they make a form of it.
func typed(name, text string) any {
	kind, _, _ := strings.Cut(name, "_")
	if flag, err := strconv.ParseBool(text); err == nil && slices.Contains([]string{"exclude", "include", "inclusive", "unfurl"}, kind) {
		return flag
	}
	switch name {
	case "blocks", "attachments", "files", "manifest", "message", "metadata", "prompts", "view", "limit", "length":
		if v, err := described.JSON([]byte(text)); err == nil {
			return v
		}
	}
	return text
}
