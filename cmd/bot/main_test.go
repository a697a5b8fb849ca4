package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	stdlog "log"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/nodhq/nod/cmd/bot/command"
	"github.com/nodhq/nod/cmd/bot/config"
	"github.com/nodhq/nod/tests/standins/mcpserver"
)

func TestMain(m *testing.M) {
	mcpserver.Main() // the doctor's tests start this binary as an MCP server
	goleak.VerifyTestMain(m)
}

// try runs one command with a table for an environment and a run that must not be reached unless given.
func try(t *testing.T, args []string, env map[string]string, run func(context.Context, config.Config, io.Writer, *slog.Logger) error) (code int, stdout, stderr string) {
	t.Helper()
	if run == nil {
		run = func(context.Context, config.Config, io.Writer, *slog.Logger) error {
			t.Error("run was called")
			return nil
		}
	}
	var out, err bytes.Buffer
	p := process{args: args, run: run, Process: command.Process{Stdout: &out, Stderr: &err,
		Exit: func(code int) { t.Errorf("exit(%d) was called", code) },
		Env: func(k string) (string, bool) {
			if k == "HOME" {
				return "/home/ana", true
			}
			v, ok := env[k]
			return v, ok
		}}}
	code = p.main()
	return code, out.String(), err.String()
}

func write(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "nod.yaml")
	if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// R111
func TestCommands(t *testing.T) {
	good, bad := write(t, "lease: 7s\nslack: {bot_token: xoxb-s3cret, app_token: xapp-s3cret}\n"), write(t, "lease: 1ms\nlisen: s3cret\n")
	for _, tt := range []struct {
		args     string
		env      map[string]string
		code     int
		out, err string // what must be in them; "" means empty
	}{
		{"help", nil, 0, "config check", ""},
		{"-h", nil, 0, "config check", ""},
		{"serve --help", nil, 0, "config check", ""},
		{"version", nil, 0, "nod ", ""},
		{"config check", nil, 0, "ok\n", "ADMIN_SESSION_KEYS"},
		{"config check -config " + good, nil, 0, "ok\n", "ADMIN_SESSION_KEYS"},
		{"-config " + good + " config check", nil, 0, "ok\n", "ADMIN_SESSION_KEYS"},
		{"config -config=" + good + " print", nil, 0, "lease: 7s", ""},
		{"config print", map[string]string{"NOD_CONFIG": good}, 0, "bot_token: '***'", ""},
		{"config print", map[string]string{"NOD_CONFIG": good, "NOD_LISTEN": "127.0.0.1:9"}, 0, "listen: 127.0.0.1:9", ""},
		{"config print", nil, 0, "lease: 10s", ""},
		{"config check -config " + bad, nil, 2, "", bad + ":1: lease: want at least 1s\n" + bad + ":2: lisen: there is no such field"},
		{"config print -config " + bad, map[string]string{"NOD_CONFIG": good}, 2, "", ":1: lease"},
		{"-config " + bad, nil, 2, "", ":1: lease"},
		{"serve -config /nowhere/nod.yaml", nil, 2, "", "/nowhere/nod.yaml"},
		{"serv", nil, 2, "", `no command "serv"`},
		{"serv", nil, 2, "", "did you mean nod serve?\nnod --help says more.\n"},
		{"perm", nil, 2, "", "did you mean nod permissions?"},
		{"config check", map[string]string{"REDIS_URL": "redis://:s3cret@h/0?foo=1"}, 2, "", "redis.url: go-redis does not know one of the parameters"},
		{"config chek", nil, 2, "", "did you mean nod config check?"},
		{"config", nil, 2, "", `no command "config"; there is: nod config check, nod config print`},
		{"--version", nil, 0, "nod ", ""},
		{"-version", nil, 0, "nod ", ""},
		{"-v", nil, 0, "nod ", ""},
		{"--config " + good + " --log=json config print", nil, 0, "lease: 7s", ""},
		{"-json permissions export -config /none", nil, 2, "", "/none"},
		{"doctor twice", nil, 2, "", "usage: nod doctor"},
		{"-config", nil, 2, "", "flag needs an argument: --config"},
		{"audit export -formt csv", nil, 2, "", "there is no flag -formt; did you mean format?"},
		{"chat -url nowhere -- -json", nil, 2, "", "-url: want where the bot listens"},
		{"audit tail -h", nil, 0, "--chat NAME", ""},
		{"audit -h", nil, 0, "nod audit anchor", ""},
		{"help permissions show", nil, 0, "nod permissions show [SERVER [TOOL]]", ""},
		{"help permisions", nil, 2, "", "did you mean nod permissions?"},
		{"help audit lok", nil, 2, "", `no command "audit lok"`},
		{"completion bash", nil, 0, "__start_nod", ""},
		{"completion zsh", nil, 0, "#compdef nod", ""},
		{"completion fish", nil, 0, "complete -c nod", ""},
		{"__complete permissions apply re", nil, 0, "read-only", "Completion ended"},
		{"__complete audit tail --for", nil, 0, "--format", "Completion ended"},
		{"__complete --log json audit ta", nil, 0, "tail", "Completion ended"}, // what is typed comes last
		{"__completeNoDesc --log json audit ta", nil, 0, "tail\n", "Completion ended"},
		{"permissions export -json=maybe", nil, 2, "", `-json: invalid value "maybe"`},
		{"config chek", nil, 2, "", `no command "config chek"`},
		{"help", nil, 0, "nod manifest slack", ""},
		{"help", nil, 0, "nod doctor", ""},
		{"help", nil, 0, "nod manifest discord", ""},
		{"help", nil, 0, "docs/discord.md", ""},
		{"manifest", nil, 2, "", "nod manifest slack, nod manifest discord"},
		{"manifest irc", nil, 2, "", `no command "manifest irc"; there is: nod manifest slack, nod manifest discord`},
		{"manifest slack twice", nil, 2, "", "usage: nod manifest slack"},
		{"manifest slack -http bot.example.com", nil, 2, "", "-http: want the public address"},
		{"manifest slack -json", nil, 2, "", "-json goes with: nod doctor, nod manifest discord"},
		{"manifest slack -client 1", nil, 2, "", "-client goes with: nod manifest discord"},
		{"manifest discord -groups", nil, 2, "", "-groups goes with: nod manifest slack"},
		{"doctor -groups", nil, 2, "", "-groups goes with: nod manifest slack"},
		{"manifest discord -yaml", nil, 2, "", "-yaml goes with: nod manifest slack"},
		{"manifest discord -http bot.example.com", nil, 2, "", "-http: want the public address"},
		{"manifest discord -client nod", nil, 2, "", "-client: want the application's ID"},
		{"manifest discord -json", nil, 2, "", "whose?"},
		{"manifest discord -json", map[string]string{"DISCORD_TOKEN": "s3cret"}, 2, "", "whose?"},
		{"manifest discord -config " + bad, nil, 2, "", ":1: lease"},
		{"doctor -client 1", nil, 2, "", "-client goes with"},
		{"manifest slack -config " + bad, nil, 2, "", ":1: lease"},
		{"doctor -http https://h", nil, 2, "", "-http goes with"},
		{"serve -yaml", nil, 2, "", "-yaml goes with"},
		{"serve -json", nil, 2, "", "-json goes with"},
		{"-log xml", nil, 2, "", "-log wants text or json"},
		{"-colour", nil, 2, "", "-colour"},
	} {
		t.Run(tt.args, func(t *testing.T) {
			code, out, err := try(t, strings.Fields(tt.args), tt.env, nil)
			if code != tt.code {
				t.Errorf("exit code %d, want %d", code, tt.code)
			}
			for _, x := range []struct{ name, got, want string }{{"stdout", out, tt.out}, {"stderr", err, tt.err}} {
				if x.want == "" && x.got != "" || !strings.Contains(x.got, x.want) {
					t.Errorf("%s: %q, want %q in it", x.name, x.got, x.want)
				}
			}
			if strings.Contains(out+err, "s3cret") {
				t.Error("a secret was printed")
			}
		})
	}
}

// R111
func TestServe(t *testing.T) {
	var got config.Config
	code, _, log := try(t, []string{"-log", "json"}, map[string]string{"OPENAI_API_KEY": "s3cret"}, func(_ context.Context, c config.Config, _ io.Writer, log *slog.Logger) error {
		got = c
		log.Info("configured", "config", c, "took", 90*time.Millisecond)
		log.Debug("a step")
		return nil
	})
	if code != 0 || !got.Demo() || got.Model.APIKey.Reveal() != "s3cret" {
		t.Errorf("code %d", code)
	}
	if !strings.Contains(log, `"msg":"configured"`) || !strings.Contains(log, `"took":"90ms"`) || !strings.Contains(log, `"level":"WARN"`) || strings.Contains(log, "s3cret") || strings.Contains(log, "a step") {
		t.Errorf("log:\n%s", log)
	}
	for level, want := range map[string]int{"debug": 2, "info": 1, "error": 0} {
		_, _, log := try(t, nil, map[string]string{"NOD_LOG_LEVEL": level}, func(_ context.Context, _ config.Config, _ io.Writer, log *slog.Logger) error {
			log.Debug("looked at")
			log.Info("looked at")
			return nil
		})
		if n := strings.Count(log, "looked at"); n != want {
			t.Errorf("%s: %d lines of %d:\n%s", level, n, want, log)
		}
	}
	// What libraries print has the log's form, too, and is for whoever looks for a fault.
	for level, want := range map[string]int{"debug": 1, "info": 0} {
		_, _, log := try(t, []string{"-log", "json"}, map[string]string{"NOD_LOG_LEVEL": level}, func(context.Context, config.Config, io.Writer, *slog.Logger) error {
			stdlog.Print("ERROR: metrics: a file cannot be read")
			return nil
		})
		if n := strings.Count(log, `"level":"DEBUG","msg":"ERROR: metrics: a file cannot be read"`); n != want {
			t.Errorf("%s: %d lines of %d:\n%s", level, n, want, log)
		}
	}
	code, _, log = try(t, []string{"serve"}, nil, func(context.Context, config.Config, io.Writer, *slog.Logger) error {
		return errors.New("no room")
	})
	if code != 1 || !strings.Contains(log, "no room") {
		t.Errorf("code %d, log:\n%s", code, log)
	}
}

// One signal ends the context and lets run finish; the exit code is then 0.
func TestSignalStopsSoftly(t *testing.T) {
	signals := make(chan os.Signal, 2)
	var log bytes.Buffer
	p := process{Process: command.Process{Signals: signals, Stdout: io.Discard, Stderr: &log, Env: onlyHome,
		Exit: func(int) { t.Error("exit was called") }},
		run: func(ctx context.Context, _ config.Config, _ io.Writer, _ *slog.Logger) error {
			signals <- syscall.SIGTERM
			<-ctx.Done()
			if err := context.Cause(ctx); !strings.Contains(err.Error(), "terminated") {
				t.Errorf("cause %v", err)
			}
			return ctx.Err()
		}}
	if code := p.main(); code != 0 {
		t.Errorf("exit code %d, log:\n%s", code, log.String())
	}
}

// Of a terminal that was closed the kernel tells, and then the shell: that asks for nothing more.
func TestAHangupIsToldTwice(t *testing.T) {
	signals, exited := make(chan os.Signal), make(chan struct{})
	p := process{Process: command.Process{Signals: signals, Stdout: io.Discard, Stderr: io.Discard, Env: onlyHome,
		Exit: func(int) { close(exited) }},
		run: func(ctx context.Context, _ config.Config, _ io.Writer, _ *slog.Logger) error {
			for range 3 { // the last one is taken once the second has been heard
				select {
				case signals <- syscall.SIGHUP:
				case <-exited:
					t.Error("it ended at once")
				}
			}
			<-ctx.Done()
			return ctx.Err()
		}}
	if code := p.main(); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// The second signal ends the process at once, although run goes on.
func TestSecondSignalExits(t *testing.T) {
	signals, exited := make(chan os.Signal, 2), make(chan int, 1)
	p := process{Process: command.Process{Signals: signals, Stdout: io.Discard, Stderr: io.Discard, Env: onlyHome,
		Exit: func(code int) { exited <- code }},
		run: func(ctx context.Context, _ config.Config, _ io.Writer, _ *slog.Logger) error {
			signals <- syscall.SIGINT
			<-ctx.Done()
			signals <- syscall.SIGINT
			if code := <-exited; code != command.Fail {
				t.Errorf("exit(%d)", code)
			}
			return nil
		}}
	p.main()
}

func TestDrained(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		taking, stop := context.WithCancel(context.Background())
		doing, release := drained(taking, 10*time.Second)
		defer release()
		stop()
		time.Sleep(10*time.Second - time.Nanosecond) // the bubble's clock
		synctest.Wait()
		if doing.Err() != nil {
			t.Error("work was cut before the drain time")
		}
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		if doing.Err() == nil {
			t.Error("work went on after the drain time")
		}
	})
	synctest.Test(t, func(t *testing.T) { // release before the stop leaves nothing behind
		taking, stop := context.WithCancel(context.Background())
		doing, release := drained(taking, time.Hour)
		release()
		stop()
		synctest.Wait()
		if doing.Err() == nil {
			t.Error("released and still alive")
		}
	})
}

func onlyHome(name string) (string, bool) {
	if name == "HOME" {
		return "/home/ana", true
	}
	return "", false
}

// What the environment has and nod does not know, though it nearly does, is said by each of the three.
func TestMisspeltVariablesAreSaid(t *testing.T) {
	var out, errs bytes.Buffer
	p := process{args: []string{"config", "check"}, Process: command.Process{Variables: []string{"NOD_LISTN", "PATH"}, Env: onlyHome, Stdout: &out, Stderr: &errs}}
	if p.main() != 0 || !strings.Contains(errs.String(), "NOD_LISTN is none that nod knows; did you mean NOD_LISTEN?") || strings.Contains(errs.String(), "PATH") {
		t.Errorf("%s%s", out.String(), errs.String())
	}
	out.Reset()
	p.args = []string{"doctor"}
	p.Env = func(k string) (string, bool) {
		v, ok := map[string]string{"HOME": "/home/ana", "NOD_LISTEN": "127.0.0.1:0", "NOD_DATA_DIR": t.TempDir()}[k]
		return v, ok
	}
	p.main()
	says(t, out.String(), "! configuration", "NOD_LISTN")
	errs.Reset()
	p.args = nil
	p.run = func(context.Context, config.Config, io.Writer, *slog.Logger) error { return nil }
	p.main()
	if !strings.Contains(errs.String(), "NOD_LISTN") {
		t.Errorf("the log at start does not say it:\n%s", errs.String())
	}
}

// Who has requests marked with a trace, and names no collector, hears that there is none.
func TestMarksWithoutACollector(t *testing.T) {
	for on, want := range map[string]bool{"true": true, "false": false} {
		c, err := config.Parse("nod.yaml", []byte("data_dir: "+t.TempDir()+"\ntraces: {propagate: "+on+"}\n"), onlyHome)
		if err != nil {
			t.Fatal(err)
		}
		var log bytes.Buffer
		b, err := wire(t.Context(), c, slog.New(slog.NewTextHandler(&log, nil)))
		if err != nil {
			t.Fatal(err)
		}
		b.close()
		if said := strings.Contains(log.String(), "traces.propagate tells nobody"); said != want {
			t.Errorf("propagate %s: %s", on, &log)
		}
	}
}
