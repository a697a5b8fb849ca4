package e2e

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nodhq/nod/tests/harness/need"
	"github.com/nodhq/nod/tests/standins/stand"
)

func deployed(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "..", "..", "deploy", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func written(t *testing.T, name, text string) string {
	t.Helper()
	name = filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// certificate is one of nod.example.com, in files, and what believes it.
func certificate(t *testing.T) (cert, key string, pool *x509.CertPool) {
	t.Helper()
	srv := httptest.NewTLSServer(nil)
	defer srv.Close()
	pair := srv.TLS.Certificates[0]
	private, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	pool = x509.NewCertPool()
	pool.AddCert(srv.Certificate())
	cert = written(t, "cert.pem", string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: pair.Certificate[0]})))
	return cert, written(t, "key.pem", string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}))), pool
}

// Through the proxies of deploy/, as they stand but for addresses and the certificate, a person is asked at once and the largest file arrives.
func TestProxies(t *testing.T) {
	t.Parallel()
	for name, run := range map[string]func(t *testing.T, at, behind, cert, key string) (cmd *exec.Cmd, ready string){
		"nginx": func(t *testing.T, at, behind, cert, key string) (*exec.Cmd, string) {
			site := strings.NewReplacer("listen 443 ssl", "listen "+at+" ssl", "nod.example.org;", "nod.example.com;", "/etc/ssl/nod.example.org.pem", cert,
				"/etc/ssl/nod.example.org.key", key, "http://127.0.0.1:8080", behind).Replace(deployed(t, "nginx.conf"))
			dir := t.TempDir()
			var temp strings.Builder
			for _, kind := range []string{"client_body", "proxy", "fastcgi", "uwsgi", "scgi"} {
				fmt.Fprintf(&temp, "%s_temp_path %s/%s;\n", kind, dir, kind)
			}
			// Without a master there is no worker that outlives it when the test kills it.
			whole := "daemon off; master_process off; pid " + dir + "/pid; error_log stderr notice;\nevents {}\nhttp { access_log off;\n" + temp.String() + site + "}\n"
			return exec.CommandContext(t.Context(), "nginx", "-p", dir, "-e", "stderr", "-c", written(t, "nginx.conf", whole)), "getrlimit" //nolint:gosec // a test's
		},
		"caddy": func(t *testing.T, at, behind, cert, key string) (*exec.Cmd, string) {
			site := strings.NewReplacer("nod.example.org {", "{\n\tadmin off\n\tauto_https disable_redirects\n}\nnod.example.com:"+at[strings.LastIndex(at, ":")+1:]+" {\n\tbind 127.0.0.1\n\ttls "+cert+" "+key,
				"127.0.0.1:8080", strings.TrimPrefix(behind, "http://")).Replace(deployed(t, "Caddyfile"))
			cmd := exec.CommandContext(t.Context(), "caddy", "run", "--adapter", "caddyfile", "--config", written(t, "Caddyfile", site)) //nolint:gosec // a test's
			cmd.Env = []string{"HOME=" + t.TempDir()}
			return cmd, "serving initial configuration"
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			need.Program(t, name, name)
			b := start(t, settings{yaml: "web: {hosts: [nod.example.com], session_keys: [{name: Ana, key: a-long-key-of-ana}]}\n"})
			cert, key, pool := certificate(t)
			at := fmt.Sprintf("127.0.0.1:%d", stand.FreePort(t))
			cmd, ready := run(t, at, b.addr, cert, key)
			spawn(t, cmd, func(line string) bool { return strings.Contains(line, ready) })
			transport := &http.Transport{
				TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12},
				DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
					return new(net.Dialer).DialContext(ctx, "tcp", at)
				},
			}
			t.Cleanup(transport.CloseIdleConnections)
			outside := &bot{t: t, addr: "https://nod.example.com:" + at[strings.LastIndex(at, ":")+1:], over: &http.Client{Transport: transport}}
			r := outside.sessionBy("a-long-key-of-ana").room()
			s := r.events("")
			r.say("write hello to notes.txt")
			ask := decode[pendingForm](t, s.named("approval_required").Data)
			r.mustClick(ask.RequestID, "allow_once")
			s.named("turn_done")
			var file struct{ Size int }
			if status, no := r.call("POST", r.path("/files?name=big.txt"), []byte(strings.Repeat("x", 10<<20)), &file); status != http.StatusCreated || file.Size != 10<<20 {
				t.Errorf("a file of 10 MB: %d %+v", status, no)
			}
		})
	}
}

// server starts a redis-server with a file of deploy/ and what is said besides, as a recipe's machine would have it.
func server(t *testing.T, port int, args ...string) *child {
	t.Helper()
	path := need.Program(t, "redis", "redis-server")
	file := written(t, "redis.conf", deployed(t, "redis.conf"))
	args = append([]string{file, "--bind", "127.0.0.1", "--port", fmt.Sprint(port), "--dir", filepath.Dir(file)}, args...)
	c, _ := spawn(t, exec.CommandContext(t.Context(), path, args...), func(line string) bool { return strings.Contains(line, "eady to accept connections") }) //nolint:gosec // a test's
	return c
}

// talked says something that asks, allows it, and wants it done.
func talked(t *testing.T, r *room) {
	t.Helper()
	until(t, "a message is taken", func() bool {
		status, _ := r.call("POST", r.path("/messages"), map[string]string{"text": "write hello to notes.txt", "delivery": "again"}, nil)
		return status == http.StatusAccepted
	})
	until(t, "it asks, is allowed and done", func() bool {
		c, _, _ := r.look()
		if len(c.Pending) > 0 {
			_, _, _ = r.click(c.Pending[0].RequestID, "allow_once") // while Redis is away it is refused, and tried again
		}
		return len(c.bots()) > 0 && c.last().State == "done"
	})
}

// Redis with Sentinel as deploy/ has it: when the primary dies another takes over, and nod goes on there.
func TestSentinel(t *testing.T) {
	t.Parallel()
	first, second := stand.FreePort(t), stand.FreePort(t)
	primary := server(t, first, "--repl-diskless-sync-delay", "0")
	replica := server(t, second, "--replicaof", "127.0.0.1", fmt.Sprint(first))
	until(t, "the replica has what the primary has", func() bool { return strings.Contains(replica.out.String(), "sync: Finished with success") })
	var sentinels []string
	var switched []*child
	for range 3 {
		port := stand.FreePort(t)
		text := strings.NewReplacer("127.0.0.1 6379", fmt.Sprintf("127.0.0.1 %d", first), "down-after-milliseconds nod 5000", "down-after-milliseconds nod 1000").Replace(deployed(t, "sentinel.conf"))
		path := written(t, "sentinel.conf", text)
		c, _ := spawn(t, exec.CommandContext(t.Context(), "redis-server", path, "--sentinel", "--bind", "127.0.0.1", "--port", fmt.Sprint(port), "--dir", filepath.Dir(path)), //nolint:gosec // a test's
			func(line string) bool { return strings.Contains(line, "+monitor master nod") })
		sentinels, switched = append(sentinels, fmt.Sprintf("127.0.0.1:%d", port)), append(switched, c)
	}
	for _, c := range switched {
		until(t, "each Sentinel knows the replica and the others", func() bool {
			return strings.Contains(c.out.String(), "+slave slave") && strings.Count(c.out.String(), "+sentinel sentinel") == 2
		})
	}
	b := start(t, settings{env: map[string]string{"REDIS_URL": "redis://" + sentinels[0] + "/0?master_name=nod&addr=" + sentinels[1] + "&addr=" + sentinels[2]}})
	ana := b.session("Ana")
	talked(t, ana.room())
	primary.kill()
	until(t, "the replica was chosen", func() bool { return strings.Contains(switched[0].out.String(), "+switch-master nod") })
	until(t, "somebody can begin a chat again", func() bool {
		status, _ := ana.call("POST", "/api/v1/chats", nil, nil)
		return status == http.StatusCreated
	})
	talked(t, ana.room())
}

// Redis as a Cluster, made as docs/operating.md says.
func TestCluster(t *testing.T) {
	t.Parallel()
	need.Program(t, "redis", "redis-cli")
	var nodes []string
	for range 3 {
		port := stand.FreePort(t)
		server(t, port, "--cluster-enabled", "yes", "--cluster-port", fmt.Sprint(stand.FreePort(t)))
		nodes = append(nodes, fmt.Sprintf("127.0.0.1:%d", port))
	}
	_, page, ok := strings.Cut(readPage(t, "operating.md"), "    redis-cli --cluster create ")
	line, _, _ := strings.Cut(page, "\n")
	if !ok {
		t.Fatal("docs/operating.md does not say how")
	}
	args := strings.Fields(strings.NewReplacer("one:6379", nodes[0], "two:6379", nodes[1], "three:6379", nodes[2]).Replace(line))
	if out, err := exec.CommandContext(t.Context(), "redis-cli", append([]string{"--cluster", "create"}, args...)...).CombinedOutput(); err != nil { //nolint:gosec // the page's
		t.Fatalf("%v\n%s", err, out)
	}
	for _, node := range nodes { // redis-cli looks at one of them only
		_, port, _ := strings.Cut(node, ":")
		until(t, "each node has joined", func() bool {
			out, err := exec.CommandContext(t.Context(), "redis-cli", "-p", port, "cluster", "info").Output() //nolint:gosec // a test's
			return err == nil && strings.Contains(string(out), "cluster_state:ok") && strings.Contains(string(out), "cluster_known_nodes:3")
		})
	}
	talked(t, start(t, settings{env: map[string]string{"REDIS_URL": "redis://" + nodes[0] + "?addr=" + nodes[1]}}).session("Ana").room())
}

func readPage(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
