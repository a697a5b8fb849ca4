package gateway

import (
	"context"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// Each trap of the gateway that discordgo v0.29.0 falls into (measured; in brackets) has its test here.

const (
	op7      = `{"op":7,"d":null}`
	op9      = `{"op":9,"d":false}`
	op9again = `{"op":9,"d":true}`
)

// resume is what a RESUME carries.
func (p *peer) resume(t *testing.T) string {
	t.Helper()
	all := p.packets()
	if len(all) == 0 || all[0].Op != opResume {
		t.Errorf("connection %d begins with %+v, want a RESUME", p.n, all)
		return ""
	}
	return strings.ReplaceAll(string(all[0].Data), theToken, "TOKEN")
}

// nothing closes with 1000 what is to be resumed.
func (b *bot) stillResumable(t *testing.T) {
	t.Helper()
	for _, p := range b.w.all() {
		if c := p.closeCode(); c == 1000 || c == 1001 {
			t.Errorf("connection %d was closed with %d: that ends the session", p.n, c)
		}
	}
}

func (b *bot) expect(t *testing.T, identifies, resumes int) {
	t.Helper()
	if i, r := b.w.count(opIdentify), b.w.count(opResume); i != identifies || r != resumes {
		t.Errorf("%d IDENTIFYs and %d RESUMEs, want %d and %d\n%s", i, r, identifies, resumes, b.w.log())
	}
	select {
	case <-b.done:
		t.Errorf("it has ended: %v", b.err)
	default:
	}
}

func TestADropIsResumedWhereReadySays(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, func(p *peer) { p.open(); p.dispatch(7, "X", `{}`); p.drop() })
		b := w.bot().start()
		b.after(time.Minute)
		b.expect(t, 1, 1)
		p := w.all()[1]
		if got := p.resume(t); got != `{"token":"Bot TOKEN","session_id":"session-0","seq":7}` {
			t.Errorf("RESUME with %s", got)
		}
		if p.url != "resume-0.test/?v=10&encoding=json" {
			t.Errorf("resumed at %s", p.url)
		}
		if began, resumed := b.times(); began != 1 || resumed != 1 {
			t.Errorf("began %d, resumed %d", began, resumed)
		}
		if w.asked != 1 {
			t.Errorf("gateway/bot was asked %d times", w.asked)
		}
		b.stillResumable(t)
	})
}

func TestASessionIsResumedElsewhereIfItsAddressIsGone(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, func(p *peer) { p.open(); p.drop() })
		w.noDial["resume-0.test:80"] = true
		b := w.bot().start()
		b.after(time.Minute)
		b.expect(t, 1, 1)
		if p := w.all()[1]; p.url != "gateway.test/?v=10&encoding=json" || p.resume(t) == "" {
			t.Errorf("resumed at %s", p.url)
		}
	})
}

func TestOnlyAnAddressOfTheSameKindIsResumedAt(t *testing.T) {
	t.Parallel()
	for give, want := range map[string]string{
		"wss://there.test":          "wss://there.test",
		"wss://there.test/a?b=c":    "wss://there.test/a",
		"ws://there.test":           "wss://here.test",
		"wss://user@there.test":     "wss://here.test",
		"":                          "wss://here.test",
		"wss://":                    "wss://here.test",
		"https://there.test":        "wss://here.test",
		"wss://there.test\x7f/%zz/": "wss://here.test",
	} {
		if got := resumeAt(give, "wss://here.test"); got != want {
			t.Errorf("%q: %q, want %q", give, got, want)
		}
	}
}

// (It deadlocks.)
func TestReconnectAsTheFirstPacket(t *testing.T) {
	bubble(t, func(t *testing.T) {
		first := func(p *peer) { p.hello(); p.next(); p.send(op7) }
		w := newWorld(t, first, nil, first, first)
		b := w.bot().start()
		b.after(time.Minute)
		b.expect(t, 2, 0) // the session had not begun: another
		w.all()[1].drop()
		b.after(time.Minute)
		b.expect(t, 2, 3) // two RESUMEs were answered with op 7, the third was not
		if began, resumed := b.times(); began != 1 || resumed != 1 {
			t.Errorf("began %d, resumed %d", began, resumed)
		}
		b.stillResumable(t)
	})
}

func TestReconnectInTheMiddleIsResumedAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, (*peer).drop, (*peer).drop, (*peer).drop) // trouble that is long over
		b := w.bot().start()
		b.after(5 * time.Minute)
		w.all()[3].send(op7)
		b.after(1100 * time.Millisecond)
		b.expect(t, 1, 1)
		b.stillResumable(t)
		if _, resumed := b.times(); resumed != 1 {
			t.Errorf("resumed %d", resumed)
		}
	})
}

func TestReconnectAfterEveryResumeIsNoStorm(t *testing.T) {
	bubble(t, func(t *testing.T) {
		again := func(p *peer) { p.open(); p.send(op7) }
		script := []func(*peer){}
		for range 1000 {
			script = append(script, again)
		}
		b := newWorld(t, script...).bot().start()
		b.after(10 * time.Minute)
		if i, r := b.w.count(opIdentify), b.w.count(opResume); i != 1 || r < 10 || r > 30 {
			t.Errorf("%d IDENTIFYs and %d RESUMEs in ten minutes", i, r)
		}
	})
}

func TestAResumeThatFailsBeginsOneNewSession(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, func(p *peer) { p.open(); p.drop() }, func(p *peer) { p.hello(); p.next(); p.send(op9) })
		b := w.bot().start()
		b.after(time.Minute)
		b.expect(t, 2, 1)
		all := w.all()
		if got := all[2].packets()[0].At.Sub(all[1].packets()[0].At); got < invalidLeast {
			t.Errorf("IDENTIFY %s after the RESUME that failed", got)
		}
		if all[2].url != "gateway.test/?v=10&encoding=json" {
			t.Errorf("begun at %s", all[2].url)
		}
		if began, resumed := b.times(); began != 2 || resumed != 0 {
			t.Errorf("began %d, resumed %d", began, resumed)
		}
	})
}

func TestAnInvalidSessionThatCanBeResumed(t *testing.T) {
	bubble(t, func(t *testing.T) {
		again := func(p *peer) { p.hello(); p.next(); p.send(op9again) }
		w := newWorld(t, func(p *peer) { p.open(); p.send(op9again) }, nil, nil, again, again, again, again, again)
		b := w.bot().start()
		b.after(time.Minute)
		b.expect(t, 1, 1)
		w.all()[1].drop()
		b.after(time.Minute)
		b.expect(t, 1, 2)
		w.all()[2].drop()
		b.after(5 * time.Minute)
		b.expect(t, 3, 2+maxAgain+1) // it says so every time: then another session; that, too, was called invalid once
		b.stillResumable(t)
	})
}

// (It sends IDENTIFY after IDENTIFY: 10,382 in two seconds.)
func TestInvalidSessionAfterIdentifyIsNoStorm(t *testing.T) {
	for _, answer := range []string{op9, op9again} {
		bubbled(t, answer, func(t *testing.T) {
			invalid := func(p *peer) {
				p.hello()
				for {
					if _, ok := p.next(); !ok {
						return
					}
					p.send(answer)
				}
			}
			w := newWorld(t, invalid, invalid, invalid)
			b := w.bot().start()
			b.after(5 * time.Minute)
			b.expect(t, 4, 0)
			var last time.Time
			for _, p := range w.all() {
				at := p.packets()[0].At
				if !last.IsZero() && at.Sub(last) < identifyEvery {
					t.Errorf("an IDENTIFY %s after another", at.Sub(last))
				}
				last = at
			}
			if began, _ := b.times(); began != 1 {
				t.Errorf("began %d", began)
			}
		})
	}
}

// What is lost again and again a while after it began is begun ever more slowly.
func TestSessionsThatDoNotLast(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t)
		for range 100 {
			w.script = append(w.script, func(p *peer) {
				p.open()
				select {
				case <-p.gone: // the test is over
				case <-time.After(2 * working):
					p.closeWith(closeBadSequence)
				}
			})
		}
		w.bot().start().after(10 * time.Minute)
		if n := w.count(opIdentify); n > 25 {
			t.Errorf("begun %d times", n)
		}
	})
}

func TestInvalidSessionInTheMiddle(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, func(p *peer) { p.open(); p.send(op9) }, nil, func(p *peer) { p.open(); p.send(op9) })
		b := w.bot().start()
		b.after(time.Minute)
		b.expect(t, 2, 0)
		w.all()[1].drop()
		b.after(time.Minute)
		b.expect(t, 3, 1) // op 9 right after RESUMED
	})
}

// (It waits for ever.)
func TestSilence(t *testing.T) {
	for name, silent := range map[string]func(*peer){
		"before HELLO":   func(*peer) {},
		"after HELLO":    func(p *peer) { p.hello() },
		"after IDENTIFY": func(p *peer) { p.hello(); p.next() },
	} {
		bubbled(t, name, func(t *testing.T) {
			w := newWorld(t, silent, silent, nil, silent)
			if name == "before HELLO" { // where no RESUME left, none was left unanswered
				w.script = append(w.script, silent, silent)
			}
			b := w.bot().start()
			b.after(3 * time.Minute)
			if began, _ := b.times(); began != 1 {
				t.Errorf("began %d", began)
			}
			w.all()[2].drop()
			b.after(3 * time.Minute)
			if began, resumed := b.times(); began != 1 || resumed != 1 { // the session outlives connections that never began
				t.Errorf("began %d, resumed %d\n%s", began, resumed, w.log())
			}
			b.stillResumable(t)
		})
	}
}

func TestSilenceOfAConnection(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, func(p *peer) { p.setDeaf(); p.open() })
		b := w.bot(func(c *Config) { c.SilentWithin = 20 * time.Second }).start() // before the first heartbeat is missed
		b.after(19 * time.Second)
		b.expect(t, 1, 0)
		b.after(6 * time.Second)
		b.expect(t, 1, 1)
		b.stillResumable(t)
		if !strings.Contains(w.log(), "nothing came for 20s") {
			t.Error(w.log())
		}
	})
}

// TCP is there, HTTP is not.
func TestSilenceBeforeTheUpgrade(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t)
		var n atomic.Int32
		w.cut = func(_ int, c net.Conn) net.Conn {
			if n.Add(1) == 2 { // gateway/bot comes first
				_ = c.Close()
				silent, _ := net.Pipe()
				return silent
			}
			return c
		}
		b := w.bot().start()
		b.after(time.Minute)
		if began, _ := b.times(); began != 1 {
			t.Errorf("began %d\n%s", began, w.log())
		}
	})
}

// (It notices after five intervals, and then ends the session with 1000.)
func TestAHeartbeatThatIsNotAcknowledged(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, func(p *peer) {
			p.open()
			p.setDeaf()
			go func() { // it goes on sending events
				for seq := int64(2); ; seq++ {
					select {
					case <-p.gone:
						return
					case <-time.After(10 * time.Second):
						p.dispatch(seq, "X", `{}`)
					}
				}
			}()
		})
		b := w.bot().start()
		b.after(3*someInterval*time.Millisecond + 5*time.Second)
		b.expect(t, 1, 1)
		b.stillResumable(t)
		if !strings.Contains(w.log(), "a heartbeat was not acknowledged") {
			t.Error(w.log())
		}
	})
}

// half is a connection whose other end is gone without a word.
type half struct {
	net.Conn
	dead *atomic.Bool
	mine net.Conn // where nobody reads
}

func (h half) Write(b []byte) (int, error) {
	if h.dead.Load() {
		return h.mine.Write(b)
	}
	return h.Conn.Write(b)
}

func (h half) SetWriteDeadline(t time.Time) error {
	_ = h.mine.SetWriteDeadline(t)
	return h.Conn.SetWriteDeadline(t)
}

func TestAHalfOpenConnection(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t)
		var dead atomic.Bool
		w.cut = func(n int, c net.Conn) net.Conn {
			if n != 0 {
				return c
			}
			nowhere, _ := net.Pipe()
			return half{c, &dead, nowhere}
		}
		b := w.bot().start()
		b.after(time.Second)
		dead.Store(true)
		b.after(someInterval*time.Millisecond + writeWithin + 5*time.Second)
		b.expect(t, 1, 1)
	})
}

// mute is a connection on which nothing can be sent any more, while what was sent to us can be read.
type mute struct {
	net.Conn
	dead   *atomic.Bool
	failed chan struct{}
}

func (m mute) Write(b []byte) (int, error) {
	if m.dead.CompareAndSwap(true, false) {
		close(m.failed)
		return 0, net.ErrClosed
	}
	return m.Conn.Write(b)
}

func TestWhatDiscordSaidIsReadAlthoughNothingCanBeSent(t *testing.T) {
	bubble(t, func(t *testing.T) {
		var dead atomic.Bool
		failed := make(chan struct{})
		w := newWorld(t, func(p *peer) { p.open(); dead.Store(true); <-failed; p.closeWith(closeBadToken) })
		w.cut = func(n int, c net.Conn) net.Conn {
			if n != 0 {
				return c
			}
			return mute{c, &dead, failed}
		}
		b := w.bot().start()
		b.after(time.Hour)
		<-b.done
		if b.err == nil || !strings.Contains(b.err.Error(), "4004") || len(w.all()) != 1 {
			t.Errorf("%v after %d connections", b.err, len(w.all()))
		}
	})
}

func bubbled(t *testing.T, name string, f func(*testing.T)) {
	t.Helper()
	t.Run(name, func(t *testing.T) { bubble(t, f) })
}

// A session can be lost at Discord so that it ignores or closes every RESUME, while an IDENTIFY works at once.
func TestAResumeThatIsNeverAnsweredIsGivenUp(t *testing.T) {
	for name, bad := range map[string]func(*peer){
		"ignored": helloOnly,
		"closed":  func(p *peer) { p.hello(); p.next(); p.closeWith(4000) },
	} {
		bubbled(t, name, func(t *testing.T) {
			w := newWorld(t, func(p *peer) { p.open(); p.drop() }, bad, bad)
			b := w.bot().start()
			b.after(90 * time.Second)
			b.expect(t, 2, 2)
			if one, two := w.all()[1].url, w.all()[2].url; !strings.HasPrefix(one, "resume-0.test") || !strings.HasPrefix(two, "gateway.test") { // where READY says may be the trouble
				t.Errorf("resumed at %s, then at %s", one, two)
			}
			if began, _ := b.times(); began != 2 {
				t.Errorf("began %d", began)
			}
		})
	}
	bubbled(t, "one of them, after one that was answered", func(t *testing.T) {
		w := newWorld(t, func(p *peer) { p.open(); p.drop() }, func(p *peer) { p.open(); p.drop() }, helloOnly)
		b := w.bot().start()
		b.after(90 * time.Second)
		b.expect(t, 1, 3)
	})
	bubbled(t, "no connection", func(t *testing.T) { // then nothing was asked: the session may still be resumed
		w := newWorld(t, func(p *peer) { p.open(); p.drop() })
		b := w.bot().start()
		b.after(500 * time.Millisecond)
		w.mu.Lock()
		w.noDial["gateway.test:80"], w.noDial["resume-0.test:80"] = true, true
		w.mu.Unlock()
		b.after(time.Minute)
		w.mu.Lock()
		clear(w.noDial)
		w.mu.Unlock()
		b.after(time.Minute)
		b.expect(t, 1, 1)
	})
}

// What runs beside a shard is told how long nothing came, and when there is no session.
func TestWhatRunsBesideAShardKnowsWhetherItIsHeard(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, func(p *peer) { p.open(); time.Sleep(time.Minute); p.setDeaf(); <-p.gone })
		w.script = append(w.script, slices.Repeat([]func(*peer){helloOnly}, 100)...)
		var silentFor func() (time.Duration, bool)
		ended := make(chan struct{})
		b := w.bot(func(c *Config) {
			c.Beside = func(ctx context.Context, _ int, f func() (time.Duration, bool)) {
				silentFor = f
				<-ctx.Done()
				close(ended)
			}
		}).start()
		b.after(55 * time.Second)
		if d, ok := silentFor(); !ok || d > 45*time.Second {
			t.Errorf("after 55 s: silent for %s, %v", d, ok)
		}
		b.after(10 * time.Minute)
		if d, ok := silentFor(); ok && d < 9*time.Minute {
			t.Errorf("silent for %s, though nothing was heard since a minute after the start", d)
		}
		b.stop()
		<-b.done
		<-ended
	})
}
