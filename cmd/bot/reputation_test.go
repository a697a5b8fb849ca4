package main

import (
	"context"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/nodhq/nod/core/permission/canonical"

	"github.com/nodhq/nod/cmd/bot/config"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/core/render"
	"github.com/nodhq/nod/tests/standins/mcpserver"
)

// signer is whoever keeps a list.
var signer = ed25519.NewKeyFromSeed(slices.Repeat([]byte{7}, ed25519.SeedSize))

func publicKey(k ed25519.PrivateKey) string {
	return base64.StdEncoding.EncodeToString(k.Public().(ed25519.PublicKey)) //nolint:forcetypeassert // it is one
}

// signed is a list with its signature, in a form that is not the canonical one.
func signed(t *testing.T, k ed25519.PrivateKey, list string) string {
	t.Helper()
	sorted, err := canonical.Arguments([]byte(list))
	if err != nil {
		t.Fatal(err)
	}
	var parts map[string]any
	if err := json.Unmarshal([]byte(list), &parts); err != nil {
		t.Fatal(err)
	}
	parts["signature"] = base64.StdEncoding.EncodeToString(ed25519.Sign(k, sorted))
	b, err := json.MarshalIndent(parts, "", "\t")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

const goodList = `{"version":1,"source":"the <club> & friends","servers":{"tools":{"score":87,"note":"used by many\u202e"},"workbench":{"score":0}}}`

func listAt(t *testing.T, text string) func(*config.Config) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "reputation.json")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	ledger := mcpserver.OpenLedger(filepath.Join(t.TempDir(), "ledger"))
	return func(c *config.Config) {
		c.Reputation = config.Reputation{File: file, PublicKey: publicKey(signer)}
		env := map[string]config.Secret{}
		for k, v := range mcpserver.Env("tools", ledger) {
			env[k] = config.Secret(v)
		}
		c.MCP.Servers = map[string]config.Server{"tools": {Command: commandOf(mcpserver.Command()), Env: env, Timeout: patience}}
	}
}

// A list that was changed keeps the bot from starting; a missing one too.
// R157
func TestReputationMustVerify(t *testing.T) {
	for name, change := range map[string]func(*config.Config){
		"changed": listAt(t, strings.Replace(signed(t, signer, goodList), "87", "88", 1)),
		"missing": func(c *config.Config) {
			c.Reputation = config.Reputation{File: filepath.Join(t.TempDir(), "none.json"), PublicKey: publicKey(signer)}
		},
	} {
		c := config.Default()
		c.DataDir = t.TempDir()
		change(&c)
		b, err := wire(context.Background(), c, slog.New(slog.DiscardHandler))
		if err == nil {
			b.close()
			t.Errorf("%s: the bot starts", name)
		} else if !strings.Contains(err.Error(), "reputation.file") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// It is shown with its source, and decides nothing: every rule says the same with the best word, with the worst and with none.
// R157
func TestReputationDecidesNothing(t *testing.T) {
	all := map[string]string{}
	for name, list := range map[string]string{
		"none":  "",
		"best":  `{"version":1,"source":"club","servers":{"tools":{"score":100,"note":"safe, trusted, never ask"},"workbench":{"score":100}}}`,
		"worst": `{"version":1,"source":"club","servers":{"tools":{"score":0,"note":"malicious"},"workbench":{"score":0}}}`,
	} {
		change := listAt(t, "")
		if list != "" {
			change = listAt(t, signed(t, signer, list))
		}
		b := running(t, func(c *config.Config) {
			change(c)
			if list == "" {
				c.Reputation = config.Reputation{}
			}
		})
		env := chat.Envelope{User: chat.User{Platform: "web", Key: "ana"}, Name: "Ana"}
		tools, faults, err := b.servers.List(t.Context())
		if err != nil || len(faults) > 0 || len(tools) < 15 {
			t.Fatalf("%d tools, %v, %v", len(tools), faults, err)
		}
		b.settingsAre(func(s permission.Settings) bool { return s.Knows("tools") }) // else some rulings would say that a tool is new, and some not
		var lines []string
		for _, tool := range tools {
			why, err := b.settings.Permissions(t.Context(), env, []string{"why", tool.Tool.Server, tool.Tool.Name})
			if err != nil {
				t.Fatal(err)
			}
			lines = append(lines, why...)
		}
		all[name] = strings.Join(lines, "\n")
		panel, err := b.settings.Panel(t.Context(), env, "server:tools")
		if err != nil {
			t.Fatal(err)
		}
		text := panelText(panel)
		for words, want := range map[string]bool{
			"Reputation: 100 of 100, safe, trusted, never ask (source: club). It is shown, and decides nothing.": name == "best",
			"Reputation: 0 of 100, malicious (source: club). It is shown, and decides nothing.":                  name == "worst",
			"Reputation:": name != "none",
		} {
			if strings.Contains(text, words) != want {
				t.Errorf("%s: %q is there: %v\n%s", name, words, !want, text)
			}
		}
		b.stop()
	}
	if all["best"] != all["none"] || all["worst"] != all["none"] {
		t.Errorf("it changes what is decided:\n%s\nwith the best word:\n%s\nwith the worst:\n%s", all["none"], all["best"], all["worst"])
	}
}

func panelText(p render.Panel) string {
	var lines []string
	for _, s := range p.Sections {
		for _, r := range s.Rows {
			lines = append(lines, render.PlainLine(r.Line))
		}
	}
	return strings.Join(lines, "\n")
}

// commandOf is a command line as the configuration has it.
func commandOf(args []string) (out []config.Text) {
	for _, a := range args {
		out = append(out, config.URL(a))
	}
	return out
}
