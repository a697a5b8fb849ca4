package audit

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"github.com/nodhq/nod/core/agent/audit"
	"github.com/nodhq/nod/core/chat"
)

// A spreadsheet computes nothing of what people wrote, and every field of the JSON form has its column.
func TestColumns(t *testing.T) {
	nina := chat.User{Platform: "web", Key: "nina"}
	for in, out := range map[string]string{"": "", "a=1": "a=1", "=1": "'=1", "  =1": "'  =1", "＝1": "'＝1", "\t1": "'\t1", "\u200b=1": `\u{200B}=1`, "\r=1": `\u{000D}=1`, "\n=1": "'\n=1", "+": "'+", "  ": "'  "} {
		if got := cell(in); got != out {
			t.Errorf("%q: %q, want %q", in, got, out)
		}
	}
	// Every field of the JSON form has its column, by its name and in its order.
	full := audit.Record{Chat: "c", Seq: 1, At: time.Unix(1, 0), Kind: "k", Outcome: "o", By: nina, Name: "n", Surface: "s", Requester: nina, Turn: "t", Call: "c", Ask: "a", Run: "r", Server: "s",
		Tool: "t", Definition: "d", Access: "a", Risk: "r", Level: "l", Choice: "c", Rule: "r", Why: "w", Grant: "g", Digest: "d", Args: "a", Redacted: 1, MS: 1, Note: "n"}
	b, err := json.Marshal(full)
	if err != nil {
		t.Fatal(err)
	}
	at := -1
	for _, c := range columns {
		next := bytes.Index(b, []byte(`"`+c.name+`":`))
		if next <= at || c.of(full) == "" {
			t.Errorf("column %s: %q, at %d of %s", c.name, c.of(full), next, b)
		}
		at = next
	}
	var fields map[string]any
	if err := json.Unmarshal(b, &fields); err != nil || len(fields) != len(columns) {
		t.Errorf("%d fields, %d columns, %v", len(fields), len(columns), err)
	}
}
