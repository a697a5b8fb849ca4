package e2e

import (
	"crypto/x509"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/nodhq/nod/tests/standins/stand"
)

// replicas are two processes on one real Redis. They share the folder of the demo's files, as processes on one machine do.
func replicas(t *testing.T, yaml, lease string, env map[string]string) (*redisServer, *bot, *bot) {
	t.Helper()
	redis := startRedis(t)
	dir := filepath.Join(t.TempDir(), "data")
	all := map[string]string{"REDIS_URL": redis.url}
	for k, v := range env {
		all[k] = v
	}
	yaml += "lease: " + lease + "\n"
	return redis, start(t, settings{name: "A", yaml: yaml, dir: dir, env: all}), start(t, settings{name: "B", yaml: yaml, dir: dir, env: all})
}

// One chat, two replicas: said at A, answered at B, seen at both.
// R54
func TestReplicasShareAChat(t *testing.T) {
	t.Parallel()
	_, a, b := replicas(t, "", "3s", nil)
	ana := a.session("Ana")
	r := ana.room()
	atB := r.as(ana.at(b))
	s := atB.events("")
	r.say("write hello to notes.txt")
	ask := decode[pendingForm](t, s.named("approval_required").Data)
	before := r.get().last().ID
	atB.mustClick(ask.RequestID, "allow_once")
	s.named("permission_granted")
	s.named("turn_done")
	c := r.idle()
	if a.content("notes.txt") != "hello" || len(c.bots()) != 1 || c.last().ID != before {
		t.Errorf("notes.txt %q: %s", a.content("notes.txt"), c)
	}
	if _, status, no := r.click(ask.RequestID, "deny"); status != http.StatusConflict || no.Choice != "allow_once" || no.Name != "Ana" {
		t.Errorf("a second click at the other replica: %d %+v", status, no)
	}
	// Text that is still being written is seen at the replica that does not write it.
	r.say("help")
	s.next("live text", func(e sse) bool {
		m := decode[messageForm](t, e.Data)
		return e.Name == "message" && e.ID == "" && m.Live && strings.Contains(m.text(), "I am a scripted demo")
	})
	s.named("turn_done")
	// A grant given at one replica covers calls at the other.
	r.say("write one to a.txt")
	atB.mustClick(decode[pendingForm](t, s.named("approval_required").Data).RequestID, "allow_chat")
	s.named("turn_done")
	atB.say("write two to a.txt")
	s.named("turn_done")
	if got := a.content("a.txt"); got != "two" {
		t.Errorf("a.txt says %q", got)
	}
	ben := r.as(b.session("Ben")) // a session opened at B is known at A
	if _, status, _ := ben.as(ben.at(a)).look(); status != http.StatusOK {
		t.Errorf("B's session at A: %d", status)
	}
}

func TestReplicaDies(t *testing.T) {
	t.Parallel()
	llm := startLLM(t)
	box, ledger := toolbox(t)
	_, a, b := replicas(t, box, "3s", llm.env())
	ana := a.session("Ana")
	r := ana.room()
	atB := r.as(ana.at(b))
	ask := r.ask(`call box__write {"path":"a"}`)
	before := r.get().last().ID
	a.kill()
	atB.mustClick(ask.RequestID, "allow_once")
	c := atB.idle()
	if n := ledger.Count("write", "did"); n != 1 || c.last().ID != before || len(c.bots()) != 1 {
		t.Errorf("it ran %d times: %s", n, c)
	}
	// Dead while it runs a call: B takes over and asks what happened. It is another chat: B may not have given the first one back yet.
	a.start()
	r = ana.at(a).room()
	atB = r.as(ana.at(b))
	ask = r.ask(`call box__slow {}`)
	r.mustClick(ask.RequestID, "allow_once")
	until(t, "the tool has begun", func() bool { return ledger.Count("slow", "began") == 1 })
	a.kill()
	c = atB.until("B asks what happened", func(c chatForm) bool { return c.last().block("ask", "").Kind == "outcome" })
	atB.mustClick(c.last().block("ask", "").RequestID, "leave")
	atB.idle()
	if n := ledger.Count("slow", "began"); n != 1 {
		t.Errorf("it ran %d times", n)
	}
}

func TestRedisRestarts(t *testing.T) {
	t.Parallel()
	redis, a, b := replicas(t, "", "3s", nil)
	ana := a.session("Ana")
	r := ana.room()
	ask := r.ask("write hello to notes.txt")
	redis.kill()
	until(t, "a replica without its store is not ready", func() bool {
		res, err := http.Get(a.addr + "/readyz")
		if err != nil {
			return false
		}
		defer res.Body.Close()
		return res.StatusCode == http.StatusServiceUnavailable
	})
	if _, status, no := r.click(ask.RequestID, "allow_once"); status != http.StatusServiceUnavailable || no.Message == "" {
		t.Errorf("a click without the store: %d %+v", status, no)
	}
	if a.content("notes.txt") != "(missing)" {
		t.Fatal("it ran on a decision that was not recorded")
	}
	redis.start(t)
	atB := r.as(ana.at(b))
	c := atB.waiting(1)
	if c.Pending[0].RequestID != ask.RequestID {
		t.Errorf("after the restart: %+v", c.Pending)
	}
	until(t, "the click is recorded", func() bool { // errors of an outage are told for a moment after its end
		_, status, _ := atB.click(ask.RequestID, "allow_once")
		return status == http.StatusOK
	})
	atB.idle()
	if got := a.content("notes.txt"); got != "hello" {
		t.Errorf("the file says %q", got)
	}
}

// Over TLS, with an authority of the operator's own beside the system's. Without it nothing is sent there, and what is wrong is said.
// R54
func TestRedisOverTLS(t *testing.T) {
	t.Parallel()
	pair := httptest.NewTLSServer(nil)
	pair.Close()
	key, err := x509.MarshalPKCS8PrivateKey(pair.TLS.Certificates[0].PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	cert, secret := filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for file, block := range map[string]*pem.Block{cert: {Type: "CERTIFICATE", Bytes: pair.Certificate().Raw}, secret: {Type: "PRIVATE KEY", Bytes: key}} {
		if err := os.WriteFile(file, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	port := strconv.Itoa(stand.FreePort(t))
	redis := startRedisAt(t, "--tls-port", port, "--tls-cert-file", cert, "--tls-key-file", secret, "--tls-auth-clients", "no")
	env := map[string]string{"REDIS_URL": "rediss://" + redis.user + "127.0.0.1:" + port}
	code, said := prepare(t, settings{name: "stranger", env: env}).run("doctor")
	if code == 0 || !strings.Contains(said, "certificate") || !strings.Contains(said, "SSL_CERT_FILE") {
		t.Errorf("the doctor of who does not know the authority: %d\n%s", code, said)
	}
	b := start(t, settings{env: map[string]string{"REDIS_URL": env["REDIS_URL"], "SSL_CERT_FILE": cert}})
	r := b.session("Ana").room()
	r.mustClick(r.ask("write hello to notes.txt").RequestID, "allow_once")
	r.idle()
	if got := b.content("notes.txt"); got != "hello" {
		t.Errorf("the file says %q", got)
	}
}
