package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"

	"github.com/nodhq/nod/cmd/bot/command"
	"github.com/nodhq/nod/cmd/bot/config"
	"github.com/nodhq/nod/cmd/bot/parts"
	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/agent/settings"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/state"
	"github.com/nodhq/nod/tests/standins/stand"
)

// onOneRedis is a bot on a Redis that others may use as well, and their environment.
func onOneRedis(t *testing.T) (alive, map[string]string) {
	t.Helper()
	m := miniredis.RunT(t)
	m.RequireUserAuth("nod", "s3cret")
	env := map[string]string{"REDIS_URL": "redis://nod:s3cret@" + m.Addr(), "NOD_DATA_DIR": t.TempDir()}
	b := running(t, func(c *config.Config) {
		c.Redis.URL = config.URL(env["REDIS_URL"])
		c.AdminSessionKeys = []config.Secret{"k"}
	})
	return b, env
}

// cli runs one command of the permissions and fails if a secret is printed.
func cli(t *testing.T, env map[string]string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	code, stdout, stderr = try(t, append([]string{"permissions"}, args...), env, nil)
	if strings.Contains(stdout+stderr, "s3cret") {
		t.Errorf("a secret is printed:\n%s%s", stdout, stderr)
	}
	return code, stdout, stderr
}

// must is cli that has to work, without a complaint.
func must(t *testing.T, env map[string]string, args ...string) string {
	t.Helper()
	code, stdout, stderr := cli(t, env, args...)
	if code != command.OK || stderr != "" && !strings.Contains(stderr, "does not tell its maxmemory-policy") { // the stand-in has none
		t.Fatalf("permissions %v: code %d\n%s%s", args, code, stdout, stderr)
	}
	return stdout
}

func fileOf(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "settings.yaml")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

var digestA = strings.Repeat("a", 64)

// fill makes settings of every kind, as people, servers and a model do.
func fill(t *testing.T, e *agent.Engine) {
	t.Helper()
	tool := permission.Tool{Server: "files", Name: "write_file", Definition: permission.Digest(digestA)}
	set := func(server, tool, field, value string) permission.Change {
		return permission.Setting{Server: server, Tool: tool, Field: field, Value: value}
	}
	ana := chat.User{Platform: "web", Key: "ana"}
	allowed := func(id string, scope permission.Scope, in chat.Channel) permission.Change { // of one tool, each beside the others
		r := permission.Remembered{ID: id, By: ana, Name: "Ana \u202e\U000E0067\\ud83d\\udc19", Tool: tool, Choice: permission.StandAllow, Scope: scope, Channel: in, Until: time.Date(2999, 1, 2, 3, 4, 5, 0, time.UTC)}
		if scope != permission.ScopeTool {
			r.Tools = []permission.Tool{tool}
		}
		return r
	}
	_, err := e.Change(t.Context(), chat.Envelope{User: ana, Name: "Ana"}, "", func(permission.Policy, permission.Settings) ([]permission.Change, error) {
		return []permission.Change{
			set("", "", "timeout", "30m"), set("workbench", "", "ask", "never"), set("workbench", "delete_file", "approval", "RequireAuth"),
			set("workbench", "write_file", "message", "Write <{{.args.path}}>: yes & \u202eno?"),
			permission.Remembered{ID: "r1", By: ana, Name: "Ana", Tool: permission.Tool{Server: "workbench", Name: "datetime"}, Choice: permission.StandDeny},
			allowed("r2", permission.ScopeTool, ""), allowed("r3", permission.ScopeTool, "web::C1"), allowed("r4", permission.ScopeTool, "web::C2"), allowed("r5", permission.ScopeReads, ""), allowed("r6", permission.ScopeServer, ""),
			permission.Seen{Tool: tool, Definition: permission.Definition{Description: "Writes."}, Stranger: true}, permission.Accept(tool),
			permission.Analysis{Tool: tool, Access: permission.Write, Risk: permission.Dangerous, Level: true, Reason: "it writes"},
		}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// rulings are what is decided about every tool of the workbench, for Ana and for somebody else.
func rulings(t *testing.T, s *settings.Settings) string {
	t.Helper()
	var out []string
	for _, who := range []string{"ana", "ben"} {
		for _, tool := range []string{"calculator", "create_directory", "datetime", "delete_file", "list_directory", "read_file", "write_file"} {
			lines, err := s.Permissions(t.Context(), chat.Envelope{User: chat.User{Platform: "web", Key: who}}, []string{"why", "workbench", tool})
			if err != nil {
				t.Fatal(err)
			}
			out = append(out, who+" "+tool)
			out = append(out, lines...)
		}
	}
	return strings.Join(out, "\n")
}

// Export, wipe, import: the same decisions and, byte for byte, the same export, as YAML and as JSON.
// R8
func TestExportWipeImport(t *testing.T) {
	for _, form := range []string{"yaml", "json"} {
		t.Run(form, func(t *testing.T) {
			old, env := onOneRedis(t)
			fill(t, old.engine)
			args := []string{"export"}
			if form == "json" {
				args = append(args, "-json")
			}
			file := filepath.Join(t.TempDir(), "out")
			for _, there := range []string{file, file + ".new"} {
				if err := os.WriteFile(there, []byte("somebody's own"), 0o644); err != nil { //nolint:gosec // as others may read it
					t.Fatal(err)
				}
			}
			if out := must(t, env, append(args, "-out", file)...); out != "" {
				t.Errorf("it prints %q", out)
			}
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			if got := must(t, env, args...); got != string(text) {
				t.Errorf("printed\n%s\nwritten\n%s", got, text)
			}
			if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("%v %v", info.Mode(), err)
			}
			if own, err := os.ReadFile(file + ".new"); string(own) != "somebody's own" {
				t.Errorf("another file is gone: %q, %v", own, err)
			}
			if form == "json" && !json.Valid(text) {
				t.Errorf("no JSON: %s", text)
			}
			if strings.Contains(string(text), "\u202e") {
				t.Errorf("a hidden character is in the file: %q", text)
			}

			fresh, other := onOneRedis(t)
			before := rulings(t, fresh.settings)
			if got := must(t, other, "import", file); !strings.Contains(got, "workbench: ask = default → never") || strings.Contains(got, "(not set) → (not set)") || !strings.Contains(got, "Nothing was changed yet: -yes does it.") {
				t.Errorf("the preview:\n%s", got)
			}
			if rulings(t, fresh.settings) != before || must(t, other, "export") != "version: 1\n" {
				t.Error("a preview changed something")
			}
			if got := must(t, other, "import", file, "-yes"); !strings.Contains(got, "Done: ") || !strings.Contains(got, "recorded as made by cli::") {
				t.Errorf("the import:\n%s", got)
			}
			if got := must(t, other, args...); got != string(text) {
				t.Errorf("exported again:\n%s\nwant\n%s", got, text)
			}
			if got, want := rulings(t, fresh.settings), rulings(t, old.settings); got != want {
				t.Errorf("decided after the import:\n%s\nbefore:\n%s", got, want)
			}
			if before == rulings(t, fresh.settings) {
				t.Error("the settings decide nothing: this test shows nothing")
			}
			if got := must(t, other, "import", file, "-yes"); got != "Nothing would change by that.\n" {
				t.Errorf("a second import: %q", got)
			}
		})
	}
}

// A file may come through the standard input, and is read there with its line numbers.
func TestImportFromStandardInput(t *testing.T) {
	env := stopped(t, func(kept) {})
	run := func(text string) (int, string) {
		var out strings.Builder
		p := process{args: []string{"permissions", "import", "-", "-yes"}, Process: command.Process{Stdin: strings.NewReader(text), Stdout: &out, Stderr: &out,
			Env: func(k string) (string, bool) { v, ok := env[k]; return v, ok }}}
		return p.main(), out.String()
	}
	if code, out := run("version: 1\nsettings:\n  - {field: mode, value: sometimes}\n"); code != command.Usage || !strings.Contains(out, "standard input:3: settings[1]: ") {
		t.Errorf("code %d\n%s", code, out)
	}
	if code, out := run("version: 1\nsettings:\n  - {field: mode, value: ALWAYS}\n"); code != command.OK || !strings.Contains(out, "everything: mode = tool → always") {
		t.Errorf("code %d\n%s", code, out)
	}
}

// A running bot sees what the command line changed at its next call, without a restart.
// R8
func TestImportCountsAtTheNextCall(t *testing.T) {
	b, env := onOneRedis(t)
	k := atTerminal(t, nil, "-url", b.url)
	k.until("> ")
	k.typed("write one to a.txt\n")
	k.until(threeWords)
	k.typed("o\n")
	k.until("> ")
	must(t, env, "import", "-yes", fileOf(t, "version: 1\nsettings:\n- {server: workbench, tool: write_file, field: ask, value: never}\n"))
	k.typed("write two to a.txt\n")
	k.until("> ")
	if got := b.file("a.txt"); got != "two" || strings.Count(k.out.String(), threeWords) != 1 {
		t.Errorf("a.txt says %q\n%s", got, k.out)
	}
	must(t, env, "apply", "careful", "-yes")
	k.typed("write three to a.txt\n")
	k.until("[o]nce  [d]eny (d): ")
	k.typed("d\n")
	k.until("> ")
	if got := b.file("a.txt"); got != "two" {
		t.Errorf("a.txt says %q\n%s", got, k.out)
	}
	_ = k.keys.Close()
	k.ends(command.OK)
}

// It is one change of the audit, by whoever typed, with its note; and the command neither claims a chat nor counts as a start of the bot.
// R8
func TestImportIsOneChange(t *testing.T) {
	on := onRedis(t)
	must(t, on.env, "import", "-yes", fileOf(t, "version: 1\nsettings:\n- {field: mode, value: always}\n- {field: strict, value: \"true\"}\n"))
	entries, err := on.store.History(t.Context(), agent.SettingsChat)
	if err != nil || len(entries) != 1 {
		t.Fatalf("%d entries, %v", len(entries), err)
	}
	ev, ok := entries[0].Event.(turn.Changed)
	who := command.Process{Env: onlyHome}.Operator()
	if !ok || len(ev.Changes) != 2 || ev.Note != "import" || ev.By != who.User || ev.Name != who.Name || ev.Surface != "cli" {
		t.Errorf("%+v", entries[0].Event)
	}
	if who.User.Platform != "cli" || who.User.Key == "" {
		t.Errorf("%+v", who)
	}
	want(t, on.env, "tail", 0, "note everything: strict = true; import", "")
	for _, key := range on.mini.Keys() {
		if strings.Contains(key, "{run}") {
			t.Errorf("the command counts as a start of the bot: %s", key)
		}
	}
	lease, err := on.store.ClaimDue(t.Context(), "another", 10)
	if err != nil || len(lease) > 1 {
		t.Errorf("%+v, %v", lease, err)
	}
	if got, err := on.store.Append(t.Context(), agent.Write{Chat: agent.SettingsChat, Claim: "another"}); err != nil || got.Lease.Token == 0 && len(lease) == 0 {
		t.Errorf("the command holds the settings: %+v, %v", got, err)
	}
}

// All or nothing: one entry that cannot be taken, and none is.
// R8
func TestImportAllOrNothing(t *testing.T) {
	var many strings.Builder
	many.WriteString("version: 1\nsettings: [{field: mode, value: always}]\nremembered:\n")
	for i := range 2001 {
		fmt.Fprintf(&many, "- {id: r%d, by: \"web::ana\", server: s, tool: t%d, choice: deny}\n", i, i)
	}
	env := stopped(t, func(kept) {})
	for name, tt := range map[string]struct {
		text, says string
		code       int
	}{
		"a wrong one": {"version: 1\nsettings:\n- {field: mode, value: always}\n- {field: posture, value: some}\n", "settings.yaml:4: settings[2]: ", command.Usage},
		"too many":    {many.String(), "there is no room for all of it", command.Fail},
	} {
		if code, _, errs := cli(t, env, "import", "-yes", fileOf(t, tt.text)); code != tt.code || !strings.Contains(errs, tt.says) {
			t.Errorf("%s: code %d, %q", name, code, errs)
		}
		if got := must(t, env, "export"); got != "version: 1\n" {
			t.Errorf("%s: there is\n%s", name, got)
		}
	}
}

func TestImportOfAMissingFile(t *testing.T) {
	if code, _, errs := cli(t, stopped(t, func(kept) {}), "import", "/nowhere/settings.yaml"); code != command.Usage || !strings.Contains(errs, "/nowhere/settings.yaml") {
		t.Errorf("code %d, %q", code, errs)
	}
}

// A template is shown before it is applied.
// R156
func TestApplyTemplate(t *testing.T) {
	env := stopped(t, func(kept) {})
	preview := must(t, env, "apply", "careful")
	for _, line := range []string{"everything: mode = tool → always", "workbench/delete_file: min_approvals = (not set) → 2", "Nothing was changed yet: -yes does it."} {
		if !strings.Contains(preview, line) {
			t.Errorf("the preview lacks %q:\n%s", line, preview)
		}
	}
	if got := must(t, env, "export"); got != "version: 1\n" {
		t.Errorf("the preview changed\n%s", got)
	}
	done := must(t, env, "apply", "Careful", "-yes")
	if shown, _, cut := strings.Cut(preview, "\n11 changes."); !cut || !strings.HasPrefix(done, shown+"\nDone: 11 changes, ") {
		t.Errorf("shown\n%s\ndone\n%s", preview, done)
	}
	if got := must(t, env, "apply", "careful"); !strings.Contains(got, "Nothing would change by that.") {
		t.Errorf("applied twice:\n%s", got)
	}
	shows := must(t, env, "show")
	for _, line := range []string{"  mode = always   (set by ", "  delete_file: write, dangerous, RequireConfirmation\n    ask = always   (set by "} {
		if !strings.Contains(shows, line) {
			t.Errorf("show lacks %q:\n%s", line, shows)
		}
	}
	if got := must(t, env, "show", "workbench", "write_file"); !strings.HasPrefix(got, "workbench\n  write_file: write, moderate") || strings.Contains(got, "delete_file") || strings.Contains(got, "everything") {
		t.Errorf("show of one tool:\n%s", got)
	}
	if got := must(t, env, "show", "workbench"); !strings.Contains(got, "delete_file") || strings.Contains(got, "everything") {
		t.Errorf("show of one server:\n%s", got)
	}
	if got := must(t, env, "why", "workbench", "datetime"); !strings.Contains(got, "asks first") || !strings.Contains(got, "mode") {
		t.Errorf("why:\n%s", got)
	}
	for _, name := range []string{"careful: ", "read-only: ", "team: ", "solo: "} {
		if got := must(t, map[string]string{"NOD_DATA_DIR": "/nowhere"}, "templates"); !strings.Contains(got, name) {
			t.Errorf("templates lacks %q:\n%s", name, got)
		}
	}
}

// With arguments behind the tool's name it is said what becomes of such a call, and by which rule.
func TestWhyWithArguments(t *testing.T) {
	env := stopped(t, func(kept) {})
	file := fileOf(t, "permissions: {servers: {workbench: {tools: {write_file: {rules: [{when: {path: notes/**}, ask: never}, {when: {path: keys/**}, enabled: false}]}}}}}\n")
	for args, want := range map[string]string{
		"":                       "arguments: write_file of workbench is refused where path is \"keys/**\" (rule 2 of the configuration). (no opinion)",
		`{"path": "plan.md"}`:    "write_file of workbench asks first.",
		`{"path": "notes/a.md"}`: "→ 4. arguments: write_file of workbench never asks where path is \"notes/**\" (rule 1 of the configuration). (not required)",
		`{"path": "keys/a"}`:     "→ 2. arguments: write_file of workbench is refused where path is \"keys/**\" (rule 2 of the configuration). (forbid)",
	} {
		words := []string{"why", "workbench", "write_file", "-config", file}
		if args != "" {
			words = slices.Insert(words, 3, args)
		}
		if got := must(t, env, words...); !strings.Contains(got, want) {
			t.Errorf("%s:\n%s", args, got)
		}
	}
	if code, out, errs := cli(t, env, "why", "workbench", "write_file", `{"path"`); code != command.Usage || out != "" || !strings.Contains(errs, "The arguments were refused: ") {
		t.Errorf("no arguments: code %d, %q, %q", code, out, errs)
	}
	if got := must(t, env, "show", "workbench", "write_file", "-config", file); !strings.Contains(got, "\n    rule: never asks where path is \"notes/**\"\n") {
		t.Errorf("show:\n%s", got)
	}
}

// What holds in a place is shown, and said of a call there.
func TestWhyInAPlace(t *testing.T) {
	env := stopped(t, func(kept) {})
	file := fileOf(t, "slack: {bot_token: xoxb-1, app_token: xapp-1}\npermissions: {channels: [{in: [slack:T1:C1, slack:T1:C2], timeout: 2h, servers: {workbench: {ask: never, tools: {delete_file: {enabled: false}}}}}]}\n")
	for place, want := range map[string]string{
		"slack:T1:C2": "write_file of workbench runs without asking.\n1. place: What the configuration says for slack:T1:C2 goes over the rest of it. (no opinion)\n",
		"slack:T1:C3": "write_file of workbench asks first.\n1. disabled: ",
		"slack:T1":    "write_file of workbench asks first.\n1. disabled: ",
	} {
		got := must(t, env, "why", "-in", place, "workbench", "write_file", "-config", file)
		if !strings.Contains(got, want) || strings.Contains(got, "timeout: 2h") != (place == "slack:T1:C2") {
			t.Errorf("%s:\n%s", place, got)
		}
	}
	for _, no := range []string{"#prod:", "prod", "slack:T1:#general", "slack:t1"} { // what holds elsewhere would be taken for what holds there
		if code, out, errs := try(t, []string{"permissions", "why", "-in", no, "workbench", "write_file", "-config", file}, env, nil); code != command.Usage || out != "" || !strings.HasPrefix(errs, "nod: -in: want IDs, not names: ") {
			t.Errorf("%s: code %d\n%s%s", no, code, out, errs)
		}
	}
	if got := must(t, env, "why", "-in", "slack:T1:C1", "workbench", "delete_file", "{}", "-config", file); !strings.Contains(got, "delete_file of workbench does not run.") {
		t.Error(got)
	}
	want := "in slack:T1:C1, slack:T1:C2\n  everything: timeout = 2h\n  workbench: ask = never\n  workbench/delete_file: enabled = false\n"
	if got := must(t, env, "show", "-config", file); !strings.Contains(got, want) {
		t.Errorf("show:\n%s", got)
	}
}

func TestPermissionsCommandLine(t *testing.T) {
	env := stopped(t, func(kept) {})
	for args, err := range map[string]string{
		"":                       `there is no command "permissions"; there is: nod permissions show, nod permissions why, nod permissions templates, nod permissions apply, nod permissions export, nod permissions import`,
		"look":                   `there is no command "permissions look"; there is: nod permissions show`,
		"why workbench":          "usage: nod permissions why SERVER TOOL",
		"export twice":           "usage: nod permissions export",
		"import":                 "usage: nod permissions import FILE",
		"apply":                  "usage: nod permissions apply TEMPLATE",
		"apply nothing":          `there is no template "nothing"; there is: careful, read-only, team, solo`,
		"show nowhere":           "There is no server “nowhere”. There is: workbench.",
		"show workbench nothing": `there is no tool "nothing" of workbench`,
		"why nowhere x":          "There is no server “nowhere”",
		"why workbench nothing":  "The server workbench has no tool “nothing”. It has: ",
		"export -yes":            "-yes goes with: nod permissions apply, nod permissions import",
		"show -json":             "-json goes with: nod doctor, nod manifest discord, nod permissions export",
		"import -out x y":        "-out goes with: nod init, nod audit anchor",
		"export -config /none":   "/none",
	} {
		if code, out, errs := cli(t, env, strings.Fields(args)...); code != command.Usage || out != "" || !strings.Contains(errs, err) {
			t.Errorf("%q: code %d, %q, %q", args, code, out, errs)
		}
	}
	if code, _, errs := cli(t, map[string]string{"NOD_DATA_DIR": filepath.Join(t.TempDir(), "none")}, "export"); code != command.Fail || !strings.Contains(errs, "no nod has kept anything here") {
		t.Errorf("code %d, %q", code, errs)
	}
	if code, _, errs := cli(t, env, "export", "-out", filepath.Join(t.TempDir(), "none", "x")); code != command.Fail || !strings.Contains(errs, "-out: ") {
		t.Errorf("code %d, %q", code, errs)
	}
}

// Before the first start the configuration can be asked, and a file of settings looked at and taken in; looking leaves nothing behind.
func TestPermissionsBeforeTheFirstStart(t *testing.T) {
	dir, temp := filepath.Join(t.TempDir(), "data"), t.TempDir()
	t.Setenv("TMPDIR", temp)
	env := map[string]string{"NOD_DATA_DIR": dir}
	file := fileOf(t, "version: 1\nsettings: [{server: workbench, tool: write_file, field: ask, value: never}]\n")
	for args, want := range map[string]string{
		"show workbench write_file": "write_file: write, moderate, RequireConfirmation",
		"why workbench write_file":  "asks",
		"apply careful":             "workbench/write_file: ask = default → always",
		"import " + file:            "workbench/write_file: ask = default → never\n1 change. Nothing was changed yet",
	} {
		if out := must(t, env, strings.Fields(args)...); !strings.Contains(out, want) {
			t.Errorf("%s prints\n%s", args, out)
		}
	}
	if left, err := os.ReadDir(temp); err != nil || len(left) > 0 {
		t.Errorf("%v is left behind, %v", left, err)
	}
	must(t, env, "import", "-yes", file)
	if out := must(t, env, "show", "workbench", "write_file"); !strings.Contains(out, "ask = never   (set by ") {
		t.Errorf("what was taken in is not in force:\n%s", out)
	}
	if out := must(t, env, "export"); !strings.Contains(out, "write_file") {
		t.Errorf("%s", out)
	}
}

// The embedded state belongs to the bot that runs on it: it can be looked at, and where something is to be changed the command says where to go.
func TestPermissionsBesideAnEmbeddedBot(t *testing.T) {
	dir := t.TempDir()
	s, err := state.OpenEmbedded(dir, state.Options{Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, args := range [][]string{{"export"}, {"show"}, {"apply", "careful"}, {"apply", "careful", "-yes"}} {
		code, _, errs := cli(t, map[string]string{"NOD_DATA_DIR": dir}, args...)
		if args[len(args)-1] != "-yes" {
			if code != command.OK {
				t.Errorf("%v: code %d, %q", args, code, errs)
			}
		} else if code != command.Fail || !strings.Contains(errs, "a nod is running on it") || !strings.Contains(errs, "use its settings page or /nod permissions, or stop it first") {
			t.Errorf("%v: code %d, %q", args, code, errs)
		}
	}
}

// What the command line changes is signed, as all that the bot writes is: the audit holds behind it.
func TestPermissionsAreSigned(t *testing.T) {
	c := config.Default()
	c.DataDir = t.TempDir()
	s, err := parts.OpenStore(t.Context(), c, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	ev := turn.Changed{Changes: []permission.Change{permission.Setting{Field: "strict", Value: "true"}}}
	_, err = s.Append(t.Context(), agent.Write{Chat: agent.SettingsChat, Events: []agent.Keyed{{Op: "x", Event: ev}}})
	if err = errors.Join(err, s.Close()); err != nil {
		t.Fatal(err)
	}
	env := map[string]string{"NOD_DATA_DIR": c.DataDir}
	must(t, env, "apply", "careful", "-yes")
	if out := want(t, env, "verify", command.OK, "ok: 1 chat, 2 entries\n", ""); strings.Contains(out, "not looked at") {
		t.Error(out)
	}
}

// A server that does not answer is told; what a template sets for its tools is set for those that were seen before.
// R156
func TestApplyBesideASilentServer(t *testing.T) {
	addr := fmt.Sprintf("127.0.0.1:%d", stand.FreePort(t))
	env := stopped(t, func(k kept) {
		tool := permission.Tool{Server: "far", Name: "burn", Definition: permission.Digest(digestA)}
		other := permission.Tool{Server: "far", Name: "burn", Definition: permission.Digest(strings.Repeat("b", 64))}
		ev := turn.Changed{Changes: []permission.Change{permission.Seen{Tool: tool, Stranger: true}, permission.Accept(tool), permission.Seen{Tool: other, Stranger: true}}}
		if _, err := k.store.Append(context.Background(), agent.Write{Chat: agent.SettingsChat, Events: []agent.Keyed{{Op: "x", Event: ev}}}); err != nil {
			t.Fatal(err)
		}
	})
	env["NOD_CONFIG"] = write(t, "mcp: {servers: {far: {url: \"http://"+addr+"/mcp\"}}}\n")
	code, out, errs := cli(t, env, "apply", "careful")
	if code != command.OK || !strings.Contains(errs, "note: far: ") || !strings.Contains(errs, "only those that were seen before are known") || !strings.Contains(out, "far/burn: ask = default → always") {
		t.Errorf("code %d\n%s\n%s", code, out, errs)
	}
	if _, out, _ := cli(t, env, "show"); strings.Count(out, "\n  cannot be used now: ") != 1 || !strings.Contains(out, "far\n  cannot be used now: ") || !strings.Contains(out, "; changed since it was accepted\n") {
		t.Errorf("show:\n%s", out)
	}
	if code, _, errs := cli(t, env, "show", "far", "write_file"); code != command.Usage || !strings.Contains(errs, `there is no tool "write_file" of far`) { // the workbench has one
		t.Errorf("code %d, %q", code, errs)
	}
}
