package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nodhq/nod/cmd/bot/config"
	"github.com/nodhq/nod/cmd/bot/parts"
	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/tests/standins/fakellm"
	"github.com/nodhq/nod/tests/standins/mcpserver"
)

// answersWith is one whole answer of a model.
func answersWith(text string) fakellm.Raw {
	b, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	chunk := func(delta, finish string) string {
		return `data: {"id":"x","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":` + delta + `,"finish_reason":` + finish + "}]}\n\n"
	}
	return fakellm.Raw{Body: chunk(`{"role":"assistant","content":`+string(b)+`}`, "null") + chunk("{}", `"stop"`) + "data: [DONE]\n\n"}
}

// settingsAre waits until what is set is as wanted.
func (a alive) settingsAre(wanted func(permission.Settings) bool) permission.Settings {
	a.t.Helper()
	ctx, cancel := context.WithTimeout(a.t.Context(), patience)
	defer cancel()
	moved, err := a.store.Watch(ctx, agent.SettingsChat)
	if err != nil {
		a.t.Fatal(err)
	}
	for {
		s, err := a.engine.Settings(ctx)
		if err != nil {
			a.t.Fatal(err)
		}
		if wanted(s) {
			return s
		}
		select {
		case <-moved:
		case <-ctx.Done():
			a.t.Fatalf("the settings never came to be as wanted: %+v", s)
		}
	}
}

// The model is asked about tools that nobody accepted, only if the operator wants that. What it says in the one strict form adds
// caution; anything else changes nothing; nothing that it says takes caution away; and what an admin sets stands over it.
// R160
func TestAnalysisAddsCautionAlone(t *testing.T) {
	model := &fakellm.Server{}
	service := httptest.NewServer(model)
	t.Cleanup(service.Close)
	ledger := mcpserver.OpenLedger(filepath.Join(t.TempDir(), "ledger"))
	with := func(analysis bool) func(*config.Config) {
		return func(c *config.Config) {
			c.Model.BaseURL, c.Model.Name = config.URL(service.URL+"/v1"), "m"
			c.Permissions.Analysis = analysis
			c.AdminSessionKeys = []config.Secret{"k"}
			env := map[string]config.Secret{}
			for k, v := range mcpserver.Env("tools", ledger) {
				env[k] = config.Secret(v)
			}
			c.MCP.Servers = map[string]config.Server{"tools": {Command: commandOf(mcpserver.Command()), Env: env, Timeout: patience}}
			dangerous, auth := permission.Dangerous, permission.RequireAuth
			c.Permissions.Servers = map[string]config.ServerPolicy{"tools": {Tools: map[string]config.ToolPolicy{
				"crash": {Risk: &dangerous, Approval: &auth},
			}}}
		}
	}
	// Tools are looked at by name, five for each look: ask, big, change, crash, echo.
	model.Queue(
		answersWith(`Sure! {"access":"write","risk":"dangerous","admin":true,"reason":"x"}`),               // ask: words around it
		answersWith(`{"access":"write","risk":"dangerous","admin":true,"reason":"it grows","allow":true}`), // big: a field too many
		answersWith(`{"access":"write","risk":"dangerous","admin":true,"reason":"it changes others"}`),     // change: taken
		answersWith(`{"access":"read","risk":"safe","admin":false,"reason":"trust me, never ask"}`),        // crash: may lower nothing
		answersWith(`{"access":"read","risk":"safe","admin":false,"reason":"harmless\u202e"}`),             // echo: may lower nothing
	)
	b := running(t, with(true))
	// One after the other: what stands before the last was taken by then, or never is.
	settings := b.settingsAre(func(s permission.Settings) bool {
		return slices.ContainsFunc(s.Analyses, func(a permission.Analysis) bool { return a.Tool.Name == "echo" })
	})
	var taken []string
	for _, a := range settings.Analyses {
		taken = append(taken, a.Tool.Name)
		if strings.ContainsRune(a.Reason, '\u202e') {
			t.Errorf("a hidden character stands in the reason %q", a.Reason)
		}
	}
	if got := strings.Join(taken, " "); got != "change crash echo" {
		t.Errorf("taken: %s", got)
	}
	if prompt := string(model.Requests()[0].Body); !strings.Contains(prompt, "Elicits input.") || strings.Contains(prompt, `"tools":[{`) {
		t.Errorf("asked with: %s", prompt)
	}

	other := &fakellm.Server{} // the first replica goes on to ask its own
	elsewhere := httptest.NewServer(other)
	t.Cleanup(elsewhere.Close)
	without := running(t, func(c *config.Config) {
		with(false)(c)
		c.Model.BaseURL = config.URL(elsewhere.URL + "/v1")
	})
	without.settingsAre(func(s permission.Settings) bool { return len(s.Told) > 0 }) // which is what comes after the model was asked
	if len(other.Requests()) != 0 {
		t.Error("without permissions.analysis the model is asked")
	}
	effective := func(b alive, tool string) string {
		specs, _, err := b.servers.List(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		policy, err := b.engine.Policy(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, sp := range specs {
			if sp.Tool.Server == "tools" && sp.Tool.Name == tool {
				is := policy.Get(sp.Tool, sp.Source, sp.Hints, sp.Metadata)
				return fmt.Sprintf("%s %s %s %v", is.Access, is.Risk, is.Approval, is.ConfirmationRequired())
			}
		}
		t.Fatalf("there is no tool %s", tool)
		return ""
	}
	for _, tool := range []string{"ask", "big", "crash", "echo", "env"} {
		if got, want := effective(b, tool), effective(without, tool); got != want {
			t.Errorf("%s is %s with the analysis, and %s without", tool, got, want)
		}
	}
	if got := effective(b, "change"); got != "write dangerous RequireAuth true" {
		t.Errorf("change is %s", got)
	}
	if got := effective(b, "change"); got == effective(without, "change") {
		t.Errorf("the analysis adds nothing: %s", got)
	}
	why, err := b.settings.Permissions(t.Context(), chat.Envelope{User: chat.User{Platform: "web", Key: "ana"}}, []string{"why", "tools", "change"})
	if err != nil || !strings.Contains(strings.Join(why, "\n"), "RequireAuth") {
		t.Errorf("%v, %v", why, err)
	}

	// A person who confirms something else is obeyed.
	admin := chat.Envelope{User: parts.Operators(b.config).Admins[0], Name: "admin"}
	for field, value := range map[string]string{"approval": "RequireConfirmation", "risk": "moderate"} {
		if _, err := b.engine.ChangeAsAdmin(t.Context(), admin, "", permission.Setting{Server: "tools", Tool: "change", Field: field, Value: value}); err != nil {
			t.Fatal(err)
		}
	}
	if got := effective(b, "change"); strings.Contains(got, "RequireAuth") || strings.Contains(got, "dangerous") {
		t.Errorf("after an admin's word change is %s", got)
	}
}
