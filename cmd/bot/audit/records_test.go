package audit

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"strings"
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
	var out strings.Builder
	w := newRecordWriter(&out, "csv")
	if err := errors.Join(w.write(full), w.end()); err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(strings.NewReader(out.String())).ReadAll()
	if err != nil || len(rows) != 2 {
		t.Fatalf("%v\n%s", err, out.String())
	}
	at := -1
	for i, name := range rows[0] {
		next := bytes.Index(b, []byte(`"`+name+`":`))
		if next <= at || rows[1][i] == "" {
			t.Errorf("column %s: %q, at %d of %s", name, rows[1][i], next, b)
		}
		at = next
	}
	var fields map[string]any
	if err := json.Unmarshal(b, &fields); err != nil || len(fields) != len(rows[0]) {
		t.Errorf("%d fields, %d columns, %v", len(fields), len(rows[0]), err)
	}
}
