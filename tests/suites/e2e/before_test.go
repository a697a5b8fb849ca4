package e2e

import (
	"flag"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var writeBefore = flag.String("write-before", "", "a program of an earlier release: write testdata/before anew with it")

// beforeYAML lets nothing of what was written go by itself, however long ago that was.
const beforeYAML = `
approvals: {timeout: park}
audit: {keep: park}
web: {session_keys: [{name: Ana, key: a-long-key-of-ana}]}
`

// What the release before wrote, in its own store and in a Redis, is read by this one, and goes on: what was said and done, a grant, a
// remembered choice, a setting, and a call that waits since then.
// R138 R140
func TestDataOfTheReleaseBefore(t *testing.T) {
	for _, store := range []string{"embedded", "redis"} {
		t.Run(store, func(t *testing.T) {
			t.Parallel()
			kept := filepath.Join("testdata", "before", store)
			dir := filepath.Join(t.TempDir(), "data")
			s := settings{yaml: beforeYAML, dir: filepath.Join(dir, "bot"), env: map[string]string{"ADMIN_SESSION_KEYS": bossKey}}
			if *writeBefore == "" {
				if err := os.CopyFS(dir, os.DirFS(kept)); err != nil {
					t.Fatal(err)
				}
			}
			var redis *redisServer
			if store == "redis" {
				redis = startRedisOn(t, filepath.Join(dir, "redis"))
				s.env["REDIS_URL"] = redis.url
			}
			if *writeBefore != "" {
				writeData(t, s, redis, kept, dir)
				return
			}
			b := start(t, s)
			r := &room{b.sessionBy("a-long-key-of-ana"), strings.TrimSpace(content(t, filepath.Join(dir, "chat")))}
			c := r.waiting(1)
			if got := r.transcript(); got != content(t, filepath.Join(dir, "transcript")) {
				t.Errorf("the chat is not what it was:\n%s", got)
			}
			if set := boss(b).command("", "history", "settings"); !strings.Contains(set, "workbench/create_directory") {
				t.Errorf("a setting is gone: %s", set)
			}
			if list := r.command("", "remembered"); !strings.Contains(list, "create_directory") {
				t.Errorf("a remembered choice is gone: %s", list)
			}
			if d := r.mustClick(c.Pending[0].RequestID, "allow_once"); d.Name != "Ana" {
				t.Errorf("the decision: %+v", d)
			}
			c = r.idle()
			if c.last().statuses() != "delete_file done" || b.content("old.txt") != "(missing)" {
				t.Errorf("%s", c)
			}
			r.say("write again to new.txt") // by the grant of then
			if c = r.idle(); c.last().statuses() != "write_file done" || b.content("new.txt") != "again" {
				t.Errorf("%s", c)
			}
			b.terminate()
			if _, said := b.run("doctor"); !strings.Contains(said, "state: written by: nod ") {
				t.Errorf("nod doctor does not say who wrote last: %s", said)
			}
			if code, said := b.run("audit", "verify"); code != 0 {
				t.Errorf("nod audit verify: %d: %s", code, said)
			}
		})
	}
}

// transcript is what a person read in the chat.
func (r *room) transcript() string {
	var b strings.Builder
	for _, m := range r.get().Messages {
		b.WriteString(m.Role + ": " + m.Text + m.text() + " [" + m.statuses() + "]\n")
	}
	return b.String()
}

// writeData lets a program of an earlier release do what the test reads, and keeps its files.
func writeData(t *testing.T, s settings, redis *redisServer, kept, dir string) {
	old := programs
	programs = t.TempDir()
	defer func() { programs = old }()
	if err := os.Symlink(*writeBefore, filepath.Join(programs, "bot")); err != nil {
		t.Fatal(err)
	}
	s.env = maps.Clone(s.env)
	s.env["BOT_DATA_DIR"], s.env["BOT_LISTEN"] = s.dir, "127.0.0.1:0" // what an earlier release calls them
	b := start(t, s)
	boss(b).command("", "accept", "workbench", "create_directory")
	boss(b).command("", "tool", "workbench", "create_directory", "timeout", "2m")
	r := b.sessionBy("a-long-key-of-ana").room()
	r.mustClick(r.ask("write hello to old.txt").RequestID, "allow_chat")
	r.idle()
	r.mustClick(r.ask("delete missing.txt").RequestID, "deny")
	r.idle()
	ask := r.ask("make directory plans")
	if status, no := r.call("POST", "/api/v1/tools/approve", map[string]any{"tool_call_id": ask.ToolCallID, "request_id": ask.RequestID, "approved": true, "remember": true}, nil); status != http.StatusOK {
		t.Fatalf("%d %+v", status, no)
	}
	r.idle()
	if code := b.terminate(); code != 0 { // its own store leaves a snapshot
		t.Fatalf("ended with %d", code)
	}
	b.start()
	r.ask("delete old.txt")
	r.waiting(1)
	for name, text := range map[string]string{"chat": r.id, "transcript": r.transcript()} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	b.kill() // and a journal
	if redis != nil {
		redis.kill()
	}
	if err := os.RemoveAll(kept); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(kept, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
}
