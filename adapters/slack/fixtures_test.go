package slack

import (
	"encoding/json"
	"strings"

	"github.com/nodhq/nod/adapters/slack/inbound"
)

// jsonOf is what an acknowledgement says.
func jsonOf(v any) string {
	raw, _ := json.Marshal(v)
	return string(raw)
}

func rep(n int) string { return strings.Repeat("x", n) }

var testSelf = inbound.Self{Team: "T1", User: "UBOT", Bot: "BBOT", URL: "https://acme.slack.com/"}
