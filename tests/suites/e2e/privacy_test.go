package e2e

import (
	"net/http"
	"path/filepath"
	"strings"
	"testing"
)

// A person is exported, held and deleted beside two replicas that drive their chat: the question that is open in it ends without its tool, and
// the chat is gone for both, from their memory too. Another person's chat stays.
func TestAPersonIsDeletedBesideReplicas(t *testing.T) {
	t.Parallel()
	box, ledger := toolbox(t)
	env := startLLM(t).env()
	redis, a, b := replicas(t, box, "3s", env)
	ana, ben := a.session("Ana"), b.session("Ben")
	r, his := ana.room(), ben.room()
	his.ask(`call box__write {"path":"his"}`)
	r.ask(`call box__write {"path":"secret-plan"}`)
	r.as(ana.at(b)).waiting(1) // both know it

	env["REDIS_URL"] = redis.url
	dir := filepath.Join(t.TempDir(), "operator")
	run := func(code int, says string, args ...string) string {
		t.Helper()
		got, out := prepare(t, settings{yaml: box, dir: dir, env: env}).run(args...)
		if got != code || !strings.Contains(out, says) {
			t.Errorf("nod %s: code %d, want %d and %q:\n%s", strings.Join(args, " "), got, code, says, out)
		}
		return out
	}
	run(0, "secret-plan", "person", "export", ana.user)
	run(0, "1 chat so far", "hold", ana.user, "-why", "dispute")
	run(1, "there is a hold on "+ana.user, "person", "delete", ana.user, "-yes")
	r.waiting(1)
	run(0, "Released", "hold", ana.user, "-release")
	run(0, "Nothing was deleted yet", "person", "delete", ana.user)
	r.waiting(1)
	run(0, "Deleted.", "person", "delete", ana.user, "-yes")
	until(t, "a replica ended the turn", func() bool { return strings.Contains(a.out.String()+b.out.String(), "why=stopped") })

	run(1, "nothing is kept about "+ana.user, "person", "export", ana.user)
	for _, at := range []*bot{a, b} {
		if _, status, _ := r.as(ana.at(at)).look(); status != http.StatusUnauthorized {
			t.Errorf("at %s Ana's session answers %d", at.name, status)
		}
		if _, status, _ := r.as(ben.at(at)).look(); status != http.StatusNotFound {
			t.Errorf("at %s her chat answers %d", at.name, status)
		}
	}
	his.mustClick(his.waiting(1).Pending[0].RequestID, "allow_once")
	his.idle()
	if n := ledger.Count("write", "did"); n != 1 {
		t.Errorf("the tool ran %d times", n)
	}
	run(0, "ok: ", "audit", "verify")
}

// With the embedded store the bot has it to itself: commands read beside it, and an admin puts a hold from a chat.
func TestAHoldBesideTheEmbeddedStore(t *testing.T) {
	t.Parallel()
	s := withBoss("")
	s.dir = filepath.Join(t.TempDir(), "data")
	b := start(t, s)
	ana := b.session("Ana")
	r := ana.room()
	r.ask("write one to a.txt")
	run := func(code int, says string, args ...string) {
		t.Helper()
		if got, out := prepare(t, s).run(args...); got != code || !strings.Contains(out, says) {
			t.Errorf("nod %s: code %d, want %d and %q:\n%s", strings.Join(args, " "), got, code, says, out)
		}
	}
	run(0, "write one to a.txt", "person", "export", ana.user)
	run(1, "/nod permissions hold in a chat", "hold", ana.user)
	run(1, "stop it first", "person", "delete", ana.user, "-yes")
	for line, says := range map[string]string{"hold": "Only an admin", "hold " + ana.user + " dispute": "Only an admin"} {
		if out := ana.command(r.id, strings.Fields(line)...); !strings.Contains(out, says) {
			t.Errorf("Ana is told %q of %s", out, line)
		}
	}
	for _, x := range [][2]string{
		{"hold", "Nothing is held."}, {"hold nobody", "hold [<chat or person> <why>"}, {"hold release " + ana.user, "Nothing"},
		{"hold " + ana.user + " dispute 7", "On hold: " + ana.user + ", 1 chat so far"}, {"hold", ": dispute 7"},
		{"hold release " + ana.user, "Released: " + ana.user + ", 1 chat"}, {"hold", "Nothing is held."}, {"hold " + ana.user + " dispute 7", "On hold"},
	} {
		if out := boss(b).command("", strings.Fields(x[0])...); !strings.Contains(out, x[1]) {
			t.Errorf("the admin is told %q of %s, want %q", out, x[0], x[1])
		}
	}
	run(0, ": dispute 7", "hold", "-list")
	b.terminate()
	run(1, "there is a hold on "+ana.user, "person", "delete", ana.user, "-yes")
	run(0, "Released", "hold", ana.user, "-release")
	run(0, "Deleted.", "person", "delete", ana.user, "-yes")
	run(1, "nothing is kept about "+ana.user, "person", "export", ana.user)
}
