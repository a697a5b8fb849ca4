package main

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"

	"github.com/nodhq/nod/cmd/bot/command"
	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/agent/audit"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/state"
)

// kept is a store that tests write to as a bot would, and the environment in which the audit finds it.
type kept struct {
	t     *testing.T
	store *state.Store
	env   map[string]string
	mini  *miniredis.Miniredis // nil where it is embedded
}

func onRedis(t *testing.T) kept {
	t.Helper()
	m := miniredis.RunT(t)
	m.RequireUserAuth("nod", "s3cret")
	url := "redis://nod:s3cret@" + m.Addr()
	s, err := state.Open(t.Context(), state.Options{URL: url, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return kept{t, s, map[string]string{"REDIS_URL": url}, m}
}

// stopped is what a bot with embedded state left.
func stopped(t *testing.T, fill func(kept)) map[string]string {
	t.Helper()
	dir := t.TempDir()
	s, err := state.OpenEmbedded(dir, state.Options{Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	env := map[string]string{"NOD_DATA_DIR": dir}
	fill(kept{t: t, store: s, env: env})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return env
}

var nina = chat.User{Platform: "web", Key: "nina"}

// asks writes a turn: a call that Nina, who is called by a formula, decides.
func (k kept) asks(key, tool string, choice chat.Choice) {
	k.t.Helper()
	id := chat.ID{Platform: "web", Key: key}
	args := `{"password":"s3cret","path":"notes.txt"}`
	call := turn.Proposal{ID: "c1", Tool: permission.Tool{Server: "files", Name: tool}, Args: json.RawMessage(args)}
	call.Digest = permission.CallDigest(id, call.Tool, []byte(args))
	put := func(w agent.Write, op string, e turn.Event) agent.Written {
		k.t.Helper()
		w.Chat, w.Events = id, []agent.Keyed{{Op: agent.OpID(op), Event: e}}
		got, err := k.store.Append(k.t.Context(), w)
		if err != nil {
			k.t.Fatal(err)
		}
		return got
	}
	w := put(agent.Write{Claim: "me"}, "s", turn.Said{Delivery: "s", By: nina, Name: "=Nina", Text: "please"})
	lease, open := w.Lease, turn.Fold(turn.New(id), w.Entries).Turn.ID
	w = put(agent.Write{Known: w.Head, Lease: lease}, "r", turn.Replied{Turn: open, Calls: []turn.Proposal{call}})
	w = put(agent.Write{Known: w.Head, Lease: lease}, "u", turn.Ruled{Call: "c1", Ask: "a1", Ruling: permission.Ruling{Verdict: permission.Ask}})
	w = put(agent.Write{Known: w.Head}, "d", turn.Decided{Ask: "a1", Digest: call.Digest, Choice: choice, By: nina, Name: "=Nina", Surface: "web", Reason: "-1+1\nand no more"})
	put(agent.Write{Known: w.Head, Lease: lease, Release: true}, "e", turn.Ended{Turn: open, Why: turn.Answered})
}

// tamper changes a chat's log behind everybody's back.
func (k kept) tamper(key string, f func(name string, l []string) []string) {
	k.t.Helper()
	for _, name := range k.mini.Keys() {
		if !strings.Contains(name, ":log:") || !strings.HasSuffix(name, "::"+key) {
			continue
		}
		l, err := k.mini.List(name)
		if err != nil {
			k.t.Fatal(err)
		}
		k.mini.Del(name)
		for _, e := range f(name, l) {
			if _, err := k.mini.RPush(name, e); err != nil {
				k.t.Fatal(err)
			}
		}
		return
	}
	k.t.Fatal("no log of " + key)
}

// spoil puts something else under the names that end so, as another program would.
func (k kept) spoil(end string) {
	k.t.Helper()
	for _, name := range k.mini.Keys() {
		if !strings.HasSuffix(name, end) {
			continue
		}
		k.mini.Del(name)
		if err := k.mini.Set(name, "x"); err != nil {
			k.t.Fatal(err)
		}
	}
}

// audits runs a command and fails if a secret is printed.
func audits(t *testing.T, env map[string]string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	code, stdout, stderr = try(t, append([]string{"audit"}, args...), env, nil)
	if strings.Contains(stdout+stderr, "s3cret") {
		t.Errorf("a secret is printed:\n%s%s", stdout, stderr)
	}
	return code, stdout, stderr
}

// want runs a command and compares its code and words in what it prints.
func want(t *testing.T, env map[string]string, args string, code int, stdout, stderr string) string {
	t.Helper()
	got, out, errs := audits(t, env, strings.Fields(args)...)
	if got != code {
		t.Errorf("%s: code %d, want %d\n%s%s", args, got, code, out, errs)
	}
	for _, x := range []struct{ got, want string }{{out, stdout}, {errs, stderr}} {
		if x.want == "" && x.got != "" || !strings.Contains(x.got, x.want) {
			t.Errorf("%s: %q, want %q in it", args, x.got, x.want)
		}
	}
	return out
}

func TestAuditCommandLine(t *testing.T) {
	env := stopped(t, func(kept) {})
	for args, err := range map[string]string{
		"": "nod audit tail, nod audit export", "look": "nod audit tail, nod audit export", "tail twice": "usage: nod audit tail",
		"tail -out x": "-out goes with: nod init, nod audit anchor", "export -n 5": "-n goes with: nod audit tail", "verify -since 2026-01-02": "-since goes with: nod audit tail, nod audit export",
		"anchor -anchors x": "-anchors goes with: nod audit verify", "tail -yaml": "-yaml goes with",
		"export -format xml": "-format: want one of jsonl, csv", "export -format text": "-format: want one of jsonl, csv", "tail -format xml": "text",
		"export -since yesterday": "-since: \"yesterday\" is no time", "export -until 1": "-until:", "export -chat c": "-chat: want platform:workspace:key",
		"tail -n 0": "at least 1", "tail -n -1": "at least 1", "tail -n x": "invalid value", "tail -follow": "-follow needs redis.url", "tail -config /nowhere.yaml": "/nowhere.yaml",
	} {
		want(t, env, args, command.Usage, "", err)
	}
	for _, args := range []string{"serve -follow", "version -n 5", "doctor -format csv", "config check -out x"} {
		if code, _, err := try(t, strings.Fields(args), env, nil); code != command.Usage || !strings.Contains(err, "goes with: nod ") {
			t.Errorf("%s: code %d, %s", args, code, err)
		}
	}
	if _, out, _ := try(t, []string{"help"}, nil, nil); !strings.Contains(out, "nod audit verify") {
		t.Error(out)
	}
	if _, out, _ := try(t, []string{"audit", "verify", "-help"}, nil, nil); !strings.Contains(out, "-anchors FILE") {
		t.Error(out)
	}
}

// R142
func TestAuditExport(t *testing.T) {
	fill := func(k kept) {
		k.asks("one", "write_file", chat.AllowOnce)
		k.asks("two", "read_file", chat.Deny)
	}
	redis := onRedis(t)
	fill(redis)
	for home, env := range map[string]map[string]string{"Redis": redis.env, "embedded": stopped(t, fill)} {
		t.Run(home, func(t *testing.T) {
			out := want(t, env, "export", command.OK, `"kind":"request","outcome":"asked"`, "")
			if n := strings.Count(out, "\n"); n != 5 { // asked and decided, twice; the call that ended unstarted
				t.Errorf("%d lines:\n%s", n, out)
			}
			var r audit.Record
			if err := json.Unmarshal([]byte(strings.SplitN(out, "\n", 3)[1]), &r); err != nil {
				t.Fatal(err)
			}
			if r.Kind != audit.Decision || r.Outcome != audit.Approved || r.By != nina || r.Chat != "web::one" || !strings.Contains(r.Args, "notes.txt") || r.Redacted != 1 {
				t.Errorf("%+v", r)
			}
			for args, n := range map[string]int{
				"-chat web::two": 2, "-chat web::none": 0, "-tool read_file": 2, "-server Files": 5, "-server git": 0, "-kind denied": 1, "-kind decision": 2, "-actor nina": 2, "-actor nod": 3,
				"-since 2026-01-02": 5, "-since 2999-01-02T15:04:05Z": 0, "-until 2026-01-02": 0, "-until 2999-01-02": 5,
			} {
				if _, out, _ := audits(t, env, append([]string{"export"}, strings.Fields(args)...)...); strings.Count(out, "\n") != n {
					t.Errorf("%s: %d lines, want %d\n%s", args, strings.Count(out, "\n"), n, out)
				}
			}
		})
	}
}

// A spreadsheet computes nothing of what people wrote.
func TestAuditCSV(t *testing.T) {
	k := onRedis(t)
	k.asks("one", "@SUM(A1)", chat.Deny)
	out := want(t, k.env, "export -format csv", command.OK, "chat,seq,at,kind,outcome,by,name", "")
	rows, err := csv.NewReader(strings.NewReader(out)).ReadAll()
	if err != nil || len(rows) != 3 {
		t.Fatalf("%d rows, %v", len(rows), err)
	}
	row := map[string]string{}
	for i, name := range rows[0] {
		row[name] = rows[2][i]
	}
	for name, v := range map[string]string{"name": "'=Nina", "tool": "'@SUM(A1)", "note": "'-1+1\nand no more", "by": "web::nina", "seq": "4", "redacted": "1", "outcome": "denied"} {
		if row[name] != v {
			t.Errorf("%s: %q, want %q", name, row[name], v)
		}
	}
	if out := want(t, onRedis(t).env, "export -format csv", command.OK, "chat,seq", ""); strings.Count(out, "\n") != 1 {
		t.Error(out)
	}
}

// R142
func TestAuditTail(t *testing.T) {
	k := onRedis(t)
	at := time.Date(2026, 11, 21, 14, 0, 0, 0, time.UTC)
	for i := range 30 {
		at = at.Add(time.Minute)
		k.mini.SetTime(at)
		k.asks(fmt.Sprint("c", i), "write_file", chat.Deny)
	}
	out := want(t, k.env, "tail", command.OK, "decision denied  by =Nina  web::nina  files/write_file", "")
	if lines := strings.Split(strings.TrimSpace(out), "\n"); len(lines) != 50 || !strings.Contains(lines[49], "chat web::c29 #4") || !strings.HasPrefix(lines[0], "2026-11-21 14:06:00Z  request asked") ||
		!strings.Contains(lines[1], `note -1+1\nand no more`) {
		t.Errorf("%d lines:\n%s", len(lines), out)
	}
	if out = want(t, k.env, "tail -n 1 -kind request", command.OK, "request asked", ""); strings.Count(out, "\n") != 1 || !strings.Contains(out, "web::c29 #3") {
		t.Error(out)
	}
	if out = want(t, k.env, "tail -n 1 -chat web::c3 -format jsonl", command.OK, `"chat":"web::c3","seq":4`, ""); strings.Count(out, "\n") != 1 {
		t.Error(out)
	}
	if out = want(t, k.env, "tail -since 2026-11-21", command.OK, "web::c0 #4", ""); strings.Count(out, "\n") != 60 { // all since then, for who goes on after a stop
		t.Error(out)
	}
	if out = want(t, k.env, "tail -since 2026-11-21 -n 1", command.OK, "web::c29 #4", ""); strings.Count(out, "\n") != 1 {
		t.Error(out)
	}
	// What is silent for longer is not read: a log that is broken there is verify's to find.
	k.tamper("c0", func(_ string, l []string) []string { return l[1:] })
	want(t, k.env, "tail -n 2", command.OK, "c29", "")
	want(t, k.env, "tail -n 60", command.Fail, "c29", "broken: chat web::c0: entry 1")
	if out = want(t, stopped(t, func(kept) {}), "tail", command.OK, "", ""); out != "" {
		t.Error(out)
	}
}

// tail -follow prints what comes in chats that there were and that are new, once each, until it is stopped.
func TestAuditFollow(t *testing.T) {
	t.Parallel()
	k := onRedis(t)
	k.asks("old", "write_file", chat.Deny)
	out, printed := io.Pipe()
	signals := make(chan os.Signal, 2)
	k.env["HOME"] = "/home/ana"
	stderr := &seat{t: t, out: newScreen(), code: make(chan int, 1)}
	go func() {
		code := process{args: []string{"audit", "tail", "-follow", "-n", "1"}, Process: command.Process{Stdout: printed, Stderr: stderr.out, Signals: signals, Exit: func(int) {},
			Env: func(name string) (string, bool) { v, ok := k.env[name]; return v, ok }}}.main()
		_ = printed.Close()
		stderr.code <- code
	}()
	lines := bufio.NewScanner(out)
	next := func(words ...string) {
		t.Helper()
		if !lines.Scan() {
			t.Fatal("it ended: ", stderr.out)
		}
		for _, w := range words {
			if !strings.Contains(lines.Text(), w) {
				t.Fatalf("%q has no %q", lines.Text(), w)
			}
		}
	}
	next("decision denied", "web::old #4")
	k.asks("new", "write_file", chat.Deny)
	next("request asked", "web::new #3")
	next("decision denied", "web::new #4")
	w, err := k.store.Append(t.Context(), agent.Write{Chat: chat.ID{Platform: "web", Key: "old"}, Events: []agent.Keyed{{Op: "again", Event: turn.Said{Delivery: "x", By: nina, Text: "hi"}}}})
	if err != nil || w.Head.Seq != 6 {
		t.Fatal(w, err)
	}
	_, _, head, err := k.store.Load(t.Context(), chat.ID{Platform: "web", Key: "old"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := k.store.Append(t.Context(), agent.Write{Chat: chat.ID{Platform: "web", Key: "old"}, Known: head, Events: []agent.Keyed{{Op: "mode", Event: turn.ModeSet{Mode: permission.ModeAlways, Rev: 1, By: nina}}}}); err != nil {
		t.Fatal(err)
	}
	next("mode always", "=Nina", "web::old #7")
	k.mini.SetError("LOADING Redis is loading the dataset in memory") // an outage ends nothing, and is told once
	stderr.until("asked again until it can: ")
	k.mini.SetError("")
	k.asks("then", "write_file", chat.Deny)
	next("request asked", "web::then #3")
	next("decision denied", "web::then #4")
	// What was deleted may begin anew: a direct message whose person writes again.
	if err := k.store.Erase(t.Context(), chat.ID{Platform: "web", Key: "then"}, 5); err != nil {
		t.Fatal(err)
	}
	k.asks("between", "write_file", chat.Deny)
	next("request asked", "web::between #3")
	next("decision denied", "web::between #4")
	k.mini.FastForward(25 * time.Hour) // operations are forgotten
	k.asks("then", "write_file", chat.Deny)
	next("request asked", "web::then #3")
	next("decision denied", "web::then #4")
	signals <- syscall.SIGTERM
	if lines.Scan() {
		t.Errorf("also: %s", lines.Text())
	}
	if code := <-stderr.code; code != command.OK || strings.Count(stderr.out.String(), "audit:") != 1 {
		t.Errorf("code %d, %s", code, stderr.out)
	}
}

func TestAuditVerify(t *testing.T) {
	k := onRedis(t)
	want(t, k.env, "verify", command.OK, "ok: 0 chats, 0 entries\n", "")
	k.asks("one", "write_file", chat.AllowOnce)
	k.asks("two", "write_file", chat.AllowOnce)
	want(t, k.env, "verify", command.OK, "ok: 2 chats, 10 entries\n", "")
	want(t, stopped(t, func(k kept) { k.asks("one", "w", chat.Deny) }), "verify", command.OK, "ok: 1 chat, 5 entries\n", "")

	k.tamper("one", func(_ string, l []string) []string {
		l[3] = strings.Replace(l[3], "nina", "ivan", 1) // who allowed that?
		return l
	})
	out := want(t, k.env, "verify", command.Fail, "broken: chat web::one: entry 5: ", "")
	if !strings.Contains(out, "broken: 1 log; 2 chats looked at, 9 entries hold\n") {
		t.Error(out)
	}
	// What holds is exported, the rest is named.
	out = want(t, k.env, "export", command.Fail, `"chat":"web::two"`, "broken: chat web::one: entry 5: ")
	if !strings.Contains(out, `"chat":"web::one","seq":3`) {
		t.Error(out)
	}
	k.tamper("two", func(_ string, l []string) []string { return append(l[:4:4], "5 1 x -\n"+`{"v":9,"k":"new","e":{}}`) })
	want(t, k.env, "verify", command.Fail, "broken: chat web::two: entry 5: ", "")
}

func TestAuditAnchors(t *testing.T) {
	k := onRedis(t)
	k.asks("one", "write_file", chat.AllowOnce)
	k.asks("two", "write_file", chat.AllowOnce)
	file := filepath.Join(t.TempDir(), "anchors")
	lines := func() int {
		t.Helper()
		b, err := os.ReadFile(file) //nolint:gosec // a test's own file
		if err != nil {
			t.Fatal(err)
		}
		return bytes.Count(b, []byte("\n"))
	}
	if out := want(t, k.env, "anchor", command.OK, `{"chat":"web::one","seq":5,"roll":"`, ""); strings.Count(out, "\n") != 2 {
		t.Error(out)
	}
	want(t, k.env, "verify -anchors "+file, command.Fail, "", "-anchors: open ")
	want(t, k.env, "anchor -out "+file, command.OK, "", "2 anchors written")
	want(t, k.env, "anchor -out "+file, command.OK, "", "0 anchors written to "+file+", 2 chats not moved since")
	k.asks("three", "write_file", chat.Deny)
	want(t, k.env, "anchor -out "+file, command.OK, "", "1 anchor written")
	if n := lines(); n != 3 {
		t.Errorf("%d lines", n)
	}
	want(t, k.env, "verify -anchors "+file, command.OK, "ok: 3 chats, 15 entries, 3 anchors\n", "")

	for _, name := range k.mini.Keys() { // somebody deletes a chat
		if strings.HasSuffix(name, ":web::two") {
			k.mini.Del(name)
		}
	}
	want(t, k.env, "verify", command.OK, "ok: 2 chats, 10 entries\n", "")
	want(t, k.env, "verify -anchors "+file, command.Fail, "broken: chat web::two: entry 1: ", "")
	want(t, k.env, "anchor -out "+file, command.Fail, "", "broken: chat web::two: it was anchored, and nothing of it is kept")

	// A log that was tampered with gets no anchor that would make it look right.
	k.tamper("one", func(_ string, l []string) []string {
		first, event, _ := strings.Cut(l[4], "\n")
		l[4] = first + "\n" + strings.Replace(event, "1-", "2-", 1) // of the turn
		return l
	})
	want(t, k.env, "verify", command.OK, "ok: 2 chats", "")
	want(t, k.env, "anchor -out "+file, command.Fail, "", "broken: chat web::one: entry 5: ")
	if n := lines(); n != 3 {
		t.Errorf("%d lines", n)
	}

	if err := os.WriteFile(file, []byte(`{"chat":"web::one","seq":5,"ro`), 0o600); err != nil { // the disk was full
		t.Fatal(err)
	}
	want(t, k.env, "verify -anchors "+file, command.Fail, "", "line 1 is no anchor")
	want(t, k.env, "anchor -out "+file, command.Fail, "", "line 1 is no anchor")
	want(t, k.env, "anchor -out "+filepath.Join(file, "no", "way"), command.Fail, "", "-out: ")
	want(t, k.env, "anchor -out "+filepath.Join(t.TempDir(), "no", "dir"), command.Fail, "", "no such file or directory")
	if err := os.WriteFile(file, []byte(`{"chat":"one","seq":5,"roll":"r"}`), 0o600); err != nil { // not as records have it
		t.Fatal(err)
	}
	want(t, k.env, "verify -anchors "+file, command.Fail, "", `-anchors: "one" is no chat: `)
	claimed := onRedis(t) // a bot was about to write there
	if _, err := claimed.store.Append(t.Context(), agent.Write{Chat: chat.ID{Platform: "web", Key: "claimed"}, Claim: "me"}); err != nil {
		t.Fatal(err)
	}
	if out := want(t, claimed.env, "anchor", command.OK, "", ""); out != "" {
		t.Errorf("what nobody wrote is anchored: %s", out)
	}
	old := `{"chat":"web::long-ago","seq":5,"roll":"r","last":"2020-01-02T00:00:00Z","at":"2020-01-03T00:00:00Z"}` + "\n"
	if err := os.WriteFile(file, []byte(old), 0o600); err != nil {
		t.Fatal(err)
	}
	forEver := write(t, "audit: {keep: park}\n")
	want(t, onRedis(t).env, "verify -anchors "+file+" -config "+forEver, command.Fail, "web::long-ago", "")
	want(t, onRedis(t).env, "verify -anchors "+file, command.OK, "ok: 0 chats, 0 entries, 0 anchors; 1 anchored chat gone since, silent for longer than logs are kept\n", "")
}

// What another program put under one of a chat's names is told of that chat, and hides nothing of the others.
func TestAuditOfWhatIsNoLog(t *testing.T) {
	for _, which := range []string{":head:", ":log:", ":snap:"} {
		k := onRedis(t)
		for _, name := range []string{"one", "two", "zoe"} {
			k.asks(name, "write_file", chat.Deny)
		}
		k.tamper("zoe", func(_ string, l []string) []string { return l[:4] })
		k.tamper("two", func(log string, l []string) []string {
			is := strings.Replace(log, ":log:", which, 1)
			k.mini.Del(is)
			if _, err := k.mini.ZAdd(is, 1, "x"); err != nil {
				t.Fatal(err)
			}
			if is == log {
				return nil
			}
			return l
		})
		two, zoe := "broken: chat web::two: the stored log does not agree with itself: ", "broken: chat web::zoe: entry 5"
		out := want(t, k.env, "verify", command.Fail, two, "")
		if !strings.Contains(out, "WRONGTYPE") || !strings.Contains(out, zoe) || !strings.Contains(out, "broken: 2 logs; 3 chats looked at") {
			t.Errorf("%s: verify: %s", which, out)
		}
		out = want(t, k.env, "anchor", command.Fail, `{"chat":"web::one","seq":5,`, two)
		if strings.Contains(out, "web::two") {
			t.Errorf("%s: anchor: %s", which, out)
		}
		if which == ":snap:" { // records are made of the log alone
			two = zoe
		}
		for _, verb := range []string{"tail", "export"} {
			out = want(t, k.env, verb, command.Fail, "web::zoe", two)
			if !strings.Contains(out, "web::one") {
				t.Errorf("%s: %s: %s", which, verb, out)
			}
		}
		want(t, k.env, "export -chat web::one", command.OK, "web::one", "")
	}
}

// Where the store does not answer, nothing is said to hold, and nothing is anchored.
func TestAuditOfWhatCannotBeRead(t *testing.T) {
	file := filepath.Join(t.TempDir(), "anchors")
	missing := fmt.Sprintf(`{"chat":"web::zoe","seq":5,"roll":"r","last":%q,"at":%[1]q}`, time.Now().Format(time.RFC3339))
	if err := os.WriteFile(file, []byte(missing), 0o600); err != nil {
		t.Fatal(err)
	}

	k := onRedis(t)
	k.asks("one", "write_file", chat.Deny)
	k.mini.Server().SetPreHook(func(c *server.Peer, cmd string, _ ...string) bool {
		refused := cmd == "EXEC"
		if refused {
			c.WriteError("NOPERM at all")
		}
		return refused
	})
	none := filepath.Join(t.TempDir(), "none")
	for _, args := range []string{"verify", "anchor", "anchor -out " + none, "export", "export -chat web::one", "tail"} {
		want(t, k.env, args, command.Fail, "", "NOPERM")
	}
	if _, err := os.Stat(none); err == nil {
		t.Error("there are anchors")
	}

	// What was deleted on record stands in the settings' log: without it a chat that is gone says nothing.
	k = onRedis(t)
	k.mini.Server().SetPreHook(func(c *server.Peer, cmd string, _ ...string) bool {
		first := cmd == "EXEC" // that log is read first
		if first {
			k.mini.Server().SetPreHook(nil)
			c.WriteError("NOPERM not now")
		}
		return first
	})
	want(t, k.env, "verify -anchors "+file, command.Fail, "", "NOPERM")
}

// A chat that faded may begin anew; nothing else explains why a log does not go through what was anchored.
func TestAuditAnchorsOfEarlier(t *testing.T) {
	now, file := time.Now(), filepath.Join(t.TempDir(), "anchors")
	for _, x := range []struct {
		what, chat string
		last, at   time.Time // of what was anchored, and of what stands there now; zero: nothing
		code       int
		erased     time.Time // on record
	}{
		{"deleted", "web::one", now.Add(-time.Hour), time.Time{}, command.OK, now.Add(-time.Minute)},
		{"deleted, begun anew, and gone again", "web::one", now.Add(-time.Minute), time.Time{}, command.Fail, now.Add(-time.Hour)},
		{"on record as deleted, and there", "web::one", now.Add(-2 * time.Hour), now.Add(-time.Hour), command.Fail, now.Add(-time.Minute)},
		{"faded", "web::one", now.AddDate(-2, 0, 0), time.Time{}, command.OK, time.Time{}},
		{"faded, and somebody spoke there again", "web::one", now.AddDate(-2, 0, 0), now, command.OK, time.Time{}},
		{"rewritten", "web::one", now.Add(-time.Hour), now, command.Fail, time.Time{}},
		{"rewritten with a time to come", "web::one", now.Add(-time.Hour), now.AddDate(9, 0, 0), command.Fail, time.Time{}},
		{"the settings, which never fade", "nod::settings", now.AddDate(-2, 0, 0), time.Time{}, command.Fail, time.Time{}},
	} {
		k := onRedis(t)
		if !x.erased.IsZero() {
			k.mini.SetTime(x.erased)
			change := turn.Changed{By: nina, Changes: permission.Changes{permission.Erased{Chats: []string{x.chat}}}}
			if _, err := k.store.Append(t.Context(), agent.Write{Chat: agent.SettingsChat, Events: []agent.Keyed{{Op: "e", Event: change}}}); err != nil {
				t.Fatal(err)
			}
		}
		if !x.at.IsZero() {
			k.mini.SetTime(x.at)
			k.asks("one", "write_file", chat.Deny)
		}
		for _, line := range []string{"verify -anchors ", "anchor -out "} {
			anchor := fmt.Sprintf(`{"chat":%q,"seq":5,"roll":"r","last":%q,"at":%[2]q}`+"\n", x.chat, x.last.Format(time.RFC3339))
			if err := os.WriteFile(file, []byte(anchor), 0o600); err != nil {
				t.Fatal(err)
			}
			if code, out, errs := audits(t, k.env, strings.Fields(line+file)...); code != x.code || strings.Contains(out+errs, "broken: chat "+x.chat) != (code != command.OK) {
				t.Errorf("%s: %s: code %d\n%s%s", x.what, line, code, out, errs)
			} else if strings.Contains(out, "1 anchored chat deleted since, on record") != (x.what == "deleted" && line == "verify -anchors ") {
				t.Errorf("%s: %s: %s", x.what, line, out)
			}
		}
	}
}

// The embedded state belongs to one process: the audit reads what that has written so far, and takes nothing from it.
func TestAuditBesideARunningBot(t *testing.T) {
	dir := t.TempDir()
	s, err := state.OpenEmbedded(dir, state.Options{Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	k := kept{t: t, store: s, env: map[string]string{"NOD_DATA_DIR": dir}}
	k.asks("one", "write", chat.Deny)
	want(t, k.env, "tail", command.OK, "denied", "")
	want(t, k.env, "verify", command.OK, "ok: 1 chat,", "")
	k.asks("two", "write", chat.Deny) // the bot goes on
	want(t, k.env, "verify", command.OK, "ok: 2 chats,", "")
	want(t, map[string]string{"NOD_DATA_DIR": filepath.Join(dir, "none")}, "verify", command.Fail, "", "no nod has kept anything here")
	want(t, map[string]string{"REDIS_URL": "redis://u:s3cret@127.0.0.1:1"}, "verify", command.Fail, "", "does not answer")
}
