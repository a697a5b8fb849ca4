package fakediscord_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/nodhq/nod/tests/harness/need"
	"github.com/nodhq/nod/tests/standins/fakediscord"
)

// A second client, which we did not write: discord.js, in a program written as its guide shows. It has a conversation with the
// stand-in, so that what ours can do with it is not all that it can do.

// program is the bot on discord.js at work. What it says is kept line by line.
type program struct {
	t  *testing.T
	mu sync.Mutex
	is []string
	on chan struct{} // something was said, or it ended
}

// second starts it, or skips where node or its packages are not there and nothing requires them.
func second(t *testing.T, r *room) *program {
	t.Helper()
	dir, err := filepath.Abs("../node")
	if err != nil {
		t.Fatal(err)
	}
	node, err := exec.LookPath("node")
	if err == nil {
		_, err = os.Stat(filepath.Join(dir, "node_modules", "discord.js"))
	}
	if err != nil {
		need.Missing(t, "node", "node or the packages of tests/standins/node are not there (run npm ci there)")
	}
	cmd := exec.CommandContext(context.Background(), node, filepath.Join(dir, "discordjs.mjs"))
	cmd.Env = []string{"DISCORD_API=" + r.URL() + "/api", "DISCORD_TOKEN=" + r.Token(), "PATH=" + os.Getenv("PATH")}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = cmd.Stdout
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	p := &program{t: t, on: make(chan struct{}, 1)}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			p.mu.Lock()
			p.is = append(p.is, lines.Text())
			p.mu.Unlock()
			select {
			case p.on <- struct{}{}:
			default:
			}
		}
	}()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		<-ended
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("the program said:\n%s\nrefused:\n%+v", strings.Join(p.said(), "\n"), r.Refusals())
		}
	})
	return p
}

func (p *program) said() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string(nil), p.is...)
}

// says waits until the program has said a line that begins so n times, and gives the n-th, whole.
func (p *program) says(begin string, n int) string {
	p.t.Helper()
	ctx := within(p.t)
	for {
		seen := 0
		for _, line := range p.said() {
			if strings.HasPrefix(line, begin) {
				if seen++; seen == n {
					return line
				}
			}
		}
		select {
		case <-p.on:
		case <-ctx.Done():
			p.t.Fatalf("it never said %q %d times", begin, n)
		}
	}
}

func TestASecondClient(t *testing.T) {
	r := start(t, fakediscord.Options{Limits: fakediscord.Documented()})
	p := second(t, r)
	equal(t, "ready", p.says("ready", 1), fmt.Sprintf("ready %s %s", r.BotUser(), r.Guild()))
	if got := r.Commands(""); len(got) != 1 || got[0]["name"] != "nod" {
		t.Errorf("the commands are %v", got)
	}

	said := r.Say(r.ana, r.general, "<@"+r.BotUser()+"> deploy it")
	if heard := p.says("heard", 1); !strings.HasPrefix(heard, "heard "+r.ana) || !strings.HasSuffix(heard, "deploy it") {
		t.Error(heard)
	}
	asked := strings.Fields(p.says("asked", 1))[1]
	if m, ok := r.Message(said, asked); !ok || !strings.HasPrefix(m.Text(), "May I?") || len(m.Buttons()) != 2 {
		t.Errorf("in the thread: %v %+v", ok, m)
	}
	if _, err := r.Click(r.ben, said, asked, "Allow once"); err != nil {
		t.Fatal(err)
	}
	equal(t, "edited", p.says("edited", 1), "edited "+asked+" 1 true")
	if m, _ := r.Message(said, asked); m.Text() != "All done." || len(m.Buttons()) != 0 || len(m.Versions) != 3 {
		t.Errorf("in the end: %+v", m)
	}
	if seen := r.Seen(r.ben, said); len(seen) != 1 || seen[0].Text() != "thank you" || len(r.Seen(r.ana, said)) != 0 {
		t.Errorf("Ben sees %+v", seen)
	}

	// The connection breaks, and is taken up again; then a form, in a direct conversation.
	r.Drop()
	p.says("resumed", 1)
	dm := r.OpenDM(r.ana)
	r.Say(r.ana, dm, "and this")
	denied := strings.Fields(p.says("asked", 2))[1]
	if _, err := r.Click(r.ana, dm, denied, "Deny"); err != nil {
		t.Fatal(err)
	}
	p.says("opened", 1)
	if _, err := r.Submit(r.ana, map[string]string{"words": "not today"}); err != nil {
		t.Fatal(err)
	}
	p.says("denied", 1)
	if m, _ := r.Message(dm, denied); m.Text() != "Denied: not today" {
		t.Errorf("after the form: %q", m.Text())
	}

	d, err := r.Slash(r.ana, r.general, "nod", "ask", map[string]any{"text": "what is new?"})
	if err != nil {
		t.Fatal(err)
	}
	if a, err := d.Wait(within(t)); err != nil || a.Type != 4 {
		t.Errorf("answered with %+v, %v", a, err)
	}
	answer := strings.Fields(p.says("commanded ask", 1))[2]
	if m, ok := r.Message(r.general, answer); !ok || m.Text() != "asked: what is new?" {
		t.Errorf("the answer %v %+v", ok, m)
	}
	if no := r.Refusals(); len(no) > 0 {
		t.Errorf("refused: %+v", no)
	}
	for _, line := range p.said() {
		if strings.HasPrefix(line, "error") {
			t.Error(line)
		}
	}
}
