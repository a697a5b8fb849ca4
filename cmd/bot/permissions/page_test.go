package permissions

import (
	"os"
	"strings"
	"testing"

	"github.com/nodhq/nod/cmd/bot/command"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/core/text"
)

// The page on permissions names what there is, by the words that people meet: buttons, fields, levels, templates and commands.
// R167
func TestPermissionsPageIsTrue(t *testing.T) {
	b, err := os.ReadFile("../../../docs/permissions.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(b)
	if n := strings.Count(page, "\n"); n > 250 {
		t.Errorf("%d lines: nobody reads that", n)
	}
	words := []string{
		text.LabelAllowOnce, text.LabelAllowChat, text.LabelDeny, text.LabelDenyReason, text.LabelAllowExact, text.LabelAllowPath, text.LabelAllowHour,
		"Allow this tool 3 times", text.LabelRemember, text.LabelApproveAll(2), text.LabelDenyAll(2), text.LabelAllowSession, text.LabelEdit,
		text.LabelExtend, text.LabelAskAgain, text.LabelUndo, text.LabelRevoke, text.LabelAskMore, text.LabelDecline,
		permission.ModeAlways.Label(), permission.ModeNever.Label(), permission.ModeTool.Label(),
	}
	for _, at := range []permission.Setting{{}, {Server: "s"}, {Server: "s", Tool: "t"}} {
		for _, f := range at.Fields() {
			words = append(words, "`"+f.Name+"`")
		}
	}
	for _, level := range []permission.Approval{permission.AutoApprove, permission.RequireConfirmation, permission.RequireAuth} {
		words = append(words, "`"+level.String()+"`")
	}
	for _, x := range permission.Templates() {
		words = append(words, "`"+x.Name+"`")
	}
	for _, verb := range Commands(&command.Process{}).Commands() {
		words = append(words, "nod permissions "+verb.Name())
	}
	words = append(words, "nod chat", "[s]ession  [o]nce  [d]eny (d):", "reputation.public_key", "permissions.analysis")
	for _, w := range words {
		if !strings.Contains(page, w) {
			t.Errorf("the page does not say %q", w)
		}
	}
	readme, err := os.ReadFile("../../../README.md")
	if err != nil || !strings.Contains(string(readme), "(docs/permissions.md)") {
		t.Errorf("README.md does not lead to it: %v", err)
	}
}
