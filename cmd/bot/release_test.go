package main

import (
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/nodhq/nod/cmd/bot/command"
	"github.com/nodhq/nod/tests/harness/need"
)

// make dist builds a static program for one platform as for all six: it says its version, and its checksum is its own.
func TestDist(t *testing.T) {
	t.Parallel()
	need.Program(t, "make", "make")
	// Here the program knows where it was built: without that it would be compiled once more, in all its parts.
	if plan, err := exec.CommandContext(t.Context(), "make", "-n", "-C", "../..", "dist").Output(); err != nil || !strings.Contains(string(plan), "go build -trimpath ") {
		t.Errorf("make dist does not trim paths: %s, %v", plan, err)
	}
	dist := filepath.Join(t.TempDir(), "dist")
	cmd := exec.CommandContext(t.Context(), "make", "-s", "-C", "../..", "dist", "PLATFORMS="+runtime.GOOS+"/"+runtime.GOARCH, "VERSION=v9.8.7", "DIST="+dist, "TRIM=") //nolint:gosec // our own
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	name := "nod-v9.8.7-" + runtime.GOOS + "-" + runtime.GOARCH
	if runtime.GOOS == "windows" {
		name += ".exe"
	}
	program := filepath.Join(dist, name)
	out, err := exec.CommandContext(t.Context(), program, "version").Output() //nolint:gosec // built just now
	if err != nil || !strings.HasPrefix(string(out), "nod v9.8.7 (") {
		t.Errorf("it says %q, %v", out, err)
	}
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}
	static := map[string]string{}
	for _, s := range info.Settings {
		static[s.Key] = s.Value
	}
	if static["CGO_ENABLED"] != "0" {
		t.Errorf("it is not static: %v", static)
	}
	data, err := os.ReadFile(program) //nolint:gosec // built just now
	if err != nil {
		t.Fatal(err)
	}
	if mb := len(data) / 1000 / 1000; runtime.GOOS == "linux" && runtime.GOARCH == "amd64" && mb > 37 { // docs/decisions/0021; 0.6 since are Web Push (0027)
		t.Errorf("the program has %d MB: what made it grow?", mb)
	}
	is := sha256.Sum256(data)
	if sums, err := os.ReadFile(filepath.Join(dist, "SHA256SUMS")); err != nil || string(sums) != hex.EncodeToString(is[:])+"  "+name+"\n" { //nolint:gosec // a test's own file
		t.Errorf("SHA256SUMS has %q, %v", sums, err)
	}
}

// Both images run as nobody in particular, hold their data in one volume and say whether they are ready.
func TestImages(t *testing.T) {
	data, err := os.ReadFile("../../deploy/Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	stages := strings.Split(string(data), "\nFROM ")[2:] // what stands above builds
	for i, name := range []string{"tools", "plain"} {
		for _, want := range []string{" AS " + name + "\n", "\nUSER 65532:65532\n", "\nVOLUME /var/lib/nod\n", "\nHEALTHCHECK ", `CMD ["/usr/local/bin/nod", "health"]`, `ENTRYPOINT ["/usr/local/bin/nod"]`} {
			if len(stages) != 2 || !strings.Contains(stages[i], want) {
				t.Errorf("%s has no %q", name, want)
			}
		}
	}
}

// nod health asks the bot that listens here, and no proxy.
func TestHealthCommand(t *testing.T) {
	status, body := http.StatusOK, `{"status":"ready"}`
	bot := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/readyz" {
			t.Errorf("it asks for %s", r.URL)
		}
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	}))
	env := map[string]string{"NOD_LISTEN": bot.Listener.Addr().String()}
	if code, out, errs := try(t, []string{"health"}, env, nil); code != command.OK || out != "ready\n" {
		t.Errorf("code %d: %s%s", code, out, errs)
	}
	status, body = http.StatusServiceUnavailable, `{"error":{"code":"not_ready","message":"Redis does not answer."}}`
	if code, _, errs := try(t, []string{"health"}, env, nil); code != command.Fail || !strings.Contains(errs, "not ready: Redis does not answer.") {
		t.Errorf("code %d: %s", code, errs)
	}
	status, body = http.StatusOK, "a page of something else"
	if code, _, errs := try(t, []string{"health"}, env, nil); code != command.Fail || !strings.Contains(errs, "not ready") {
		t.Errorf("code %d: %s", code, errs)
	}
	bot.Close()
	if code, _, errs := try(t, []string{"health"}, env, nil); code != command.Fail || !strings.Contains(errs, "no bot answers at") {
		t.Errorf("code %d: %s", code, errs)
	}
}
