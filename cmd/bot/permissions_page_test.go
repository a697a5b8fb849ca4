package main

import (
	"os"
	"strings"
	"testing"

	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/core/render"
)

// R167: the page on permissions names what there is, by the words that people meet: buttons, fields, levels, templates and commands.
func TestPermissionsPageIsTrue(t *testing.T) {
	b, err := os.ReadFile("../../docs/permissions.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(b)
	if n := strings.Count(page, "\n"); n > 250 {
		t.Errorf("%d lines: nobody reads that", n)
	}
	words := []string{
		render.LabelAllowOnce, render.LabelAllowChat, render.LabelDeny, render.LabelDenyReason, render.LabelAllowExact, render.LabelAllowPath, render.LabelAllowHour,
		"Allow this tool 3 times", render.LabelRemember, render.LabelApproveAll(2), render.LabelDenyAll(2), render.LabelAllowSession, render.LabelEdit,
		render.LabelExtend, render.LabelAskAgain, render.LabelUndo, render.LabelRevoke, render.LabelAskMore, render.LabelDecline,
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
	for verb := range permissionVerbs() {
		words = append(words, "bot permissions "+verb)
	}
	words = append(words, "bot chat", strings.TrimSuffix(threeWords, " "), "reputation.public_key", "permissions.analysis")
	for _, w := range words {
		if !strings.Contains(page, w) {
			t.Errorf("the page does not say %q", w)
		}
	}
	readme, err := os.ReadFile("../../README.md")
	if err != nil || !strings.Contains(string(readme), "(docs/permissions.md)") {
		t.Errorf("README.md does not lead to it: %v", err)
	}
}
