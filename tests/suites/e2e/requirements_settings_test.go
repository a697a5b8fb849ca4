package e2e

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// What is remembered and set counts at the next call of the tool server that runs already: it is never started anew. Who remembers
// reads what and when; an admin reads who set what.
// R44
func TestSettingsRestartNoServer(t *testing.T) {
	t.Parallel()
	box, ledger := toolbox(t)
	env := startLLM(t).env()
	env["ADMIN_SESSION_KEYS"] = bossKey
	b := start(t, settings{yaml: box, env: env})
	ana := b.session("Ana")
	const order = `call box__write {"path":"a"}`
	first := ana.room()
	boss(b).command("", "accept", "box", "write") // what nobody accepted is not remembered
	ask := first.ask(order)
	if status, no := first.call("POST", "/api/v1/tools/approve", map[string]any{"tool_call_id": ask.ToolCallID, "request_id": ask.RequestID, "approved": true, "remember": true}, nil); status != http.StatusOK {
		t.Fatalf("%d %+v", status, no)
	}
	first.idle()
	runs := func(r *room, n int) {
		t.Helper()
		r.say(order)
		if c := r.idle(); len(c.Pending) > 0 || ledger.Count("write", "did") != n {
			t.Fatalf("it ran %d times, want %d: %s", ledger.Count("write", "did"), n, c)
		}
	}
	second := ana.room()
	runs(second, 2) // remembered
	boss(b).command("", "server", "box", "never")
	boss(b).command("", "tool", "box", "write", "timeout", "2m")
	runs(b.session("Ben").room(), 3) // set
	runs(first, 4)
	runs(second, 5)
	effects, err := ledger.Effects()
	if err != nil {
		t.Fatal(err)
	}
	for before, after := range map[int]int{0: 3, 1: 4} { // each chat has a session of its own
		if was, is := effects[before].PID, effects[after].PID; was != is {
			t.Errorf("the server was started anew: %d, then %d", was, is)
		}
	}
	var mine struct {
		Sections []struct {
			Rows []struct {
				Line []struct {
					Text, Strong string
					Time         time.Time
				}
			}
		}
	}
	status, no := ana.call("GET", "/api/v1/settings?view=mine", nil, &mine)
	shown := false
	for _, s := range mine.Sections {
		for _, r := range s.Rows {
			line, dated := "", false
			for _, span := range r.Line {
				line += span.Text + span.Strong
				dated = dated || time.Since(span.Time).Abs() < time.Hour
			}
			shown = shown || dated && strings.Contains(line, "allow write of box")
		}
	}
	if !shown {
		t.Errorf("what Ana remembers, and since when, is not there: %d %+v %+v", status, no, mine)
	}
	if set := boss(b).command("", "history", "settings"); !strings.Contains(set, "box/write: timeout = 2m") || !strings.Contains(set, "box: ask = never") {
		t.Errorf("the settings' history:\n%s", set)
	}
}

// A rolling update is no restart. While one replica lives, grants go on, also on one host; when the last one has stopped they end.
// R103 R140 C13
func TestGrantsOutliveARollingUpdate(t *testing.T) {
	t.Parallel()
	redis := startRedis(t)
	dir := filepath.Join(t.TempDir(), "data")
	run := func(name, listen string) *bot { // what differs between neighbours on one host is where they listen
		return start(t, settings{name: name, yaml: "grants: {survive_restart: false}\n", dir: dir, env: map[string]string{"REDIS_URL": redis.url, "NOD_LISTEN": listen}})
	}
	a, b := run("A", "127.0.0.1:0"), run("B", "localhost:0")
	r := a.session("Ana").room()
	r.mustClick(r.ask("write one to a.txt").RequestID, "allow_chat")
	r.idle()
	for i, x := range []struct {
		end  func()
		want string // after a.txt was to say the text of the same place
	}{
		{func() { a.terminate() }, "two"}, {a.kill, "three"}, // while B lives
		{func() { b.terminate(); a.terminate() }, "three"}, // a cold start
	} {
		x.end()
		a.start()
		r.say("write " + []string{"two", "three", "four"}[i] + " to a.txt")
		r.until("it asks or is done", func(c chatForm) bool { return c.Queued == 0 && len(c.bots()) == i+2 && c.State != "working" })
		if got := a.content("a.txt"); got != x.want {
			t.Fatalf("start %d: a.txt says %q, want %q", i+2, got, x.want)
		}
	}
}

// One list of admins for keys and for people: somebody whom it names decides on Slack, and their name opens nothing on the web.
// R110 C18
func TestAdminsOfTheEnvironment(t *testing.T) {
	t.Parallel()
	o := openOffice(t, officeSettings{env: map[string]string{"ADMIN_SESSION_KEYS": bossKey + ", slack:T0FAKE:" + ben}})
	order, args := write(t)
	th := o.mention(t, order)
	ts := th.asking(1)
	named := &person{t: t, b: o.bots[0], key: "slack:T0FAKE:" + ben}
	if status, no := named.call("GET", "/api/v1/chats", nil, nil); status != http.StatusUnauthorized {
		t.Errorf("a name as a key: %d %+v", status, no)
	}
	if who := boss(o.bots[0]).command("", "whoami"); !strings.Contains(who, "You are an admin.") {
		t.Errorf("the key beside it: %s", who)
	}
	th.click(ben, ts, "Allow once")
	th.done(ts, "gave: written", "allowed once by @Ben")
	if n := o.wrote(t, args); n != 1 {
		t.Errorf("it ran %d times", n)
	}
}
