package gateway

import (
	"bytes"
	"compress/zlib"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorilla/websocket"
)

func TestFatalCodesEndItWithASentence(t *testing.T) {
	for code, want := range map[int]string{
		4004: "copy the bot's token", 4010: "the shard is refused", 4011: "more shards are wanted", 4012: "newer version", 4013: "newer version",
	} {
		for _, begun := range []bool{false, true} {
			bubbled(t, fmt.Sprint(code, begun), func(t *testing.T) {
				fatal := func(p *peer) { p.hello(); p.next(); p.closeWith(code) }
				w := newWorld(t, fatal)
				if begun {
					w.script = []func(*peer){func(p *peer) { p.open(); p.drop() }, fatal}
				}
				b := w.bot().start()
				b.after(time.Hour)
				select {
				case <-b.done:
				default:
					t.Fatal("it goes on")
				}
				if b.err == nil || !strings.Contains(b.err.Error(), want) || !strings.Contains(b.err.Error(), fmt.Sprint(code)) || strings.Contains(b.err.Error(), theToken) {
					t.Errorf("error %v", b.err)
				}
				if got := len(w.all()); got != len(w.script) {
					t.Errorf("%d connections", got)
				}
			})
		}
	}
}

func TestCodesThatEndASessionOnly(t *testing.T) {
	for _, code := range []int{closeBadSequence, closeTimedOut} {
		bubbled(t, fmt.Sprint(code), func(t *testing.T) {
			b := newWorld(t, func(p *peer) { p.open(); p.closeWith(code) }).bot().start()
			b.after(time.Minute)
			b.expect(t, 2, 0)
		})
	}
	for _, code := range []int{1000, 1001, 4000, 4001, 4002, 4003, 4005, 4008, 4999} {
		bubbled(t, fmt.Sprint(code), func(t *testing.T) {
			b := newWorld(t, func(p *peer) { p.open(); p.closeWith(code) }).bot().start()
			b.after(time.Minute)
			b.expect(t, 1, 1)
			b.stillResumable(t) // by an answer to that either
		})
	}
}

func TestWithoutThePrivilegeOfMessageContent(t *testing.T) {
	bubble(t, func(t *testing.T) {
		refuse := func(p *peer) { p.hello(); p.next(); p.closeWith(4014) }
		w := newWorld(t, refuse)
		b := w.bot().start()
		b.after(time.Minute)
		b.expect(t, 2, 0)
		if !b.refused.Load() {
			t.Error("content is said to come")
		}
		for i, want := range []string{`"intents":37377`, `"intents":4609`} {
			if got := string(w.all()[i].packets()[0].Data); !strings.Contains(got, want) {
				t.Errorf("IDENTIFY %d: %s", i, got)
			}
		}
		if n := strings.Count(w.log(), "Message Content Intent"); n != 1 {
			t.Errorf("said %d times", n)
		}
	})
	bubbled(t, "two shards at once", func(t *testing.T) {
		refuse := func(p *peer) {
			p.hello()
			if x, _ := p.next(); strings.Contains(string(x.Data), `"intents":37377`) {
				time.Sleep(time.Second) // both have identified
				p.closeWith(4014)
				return
			}
			p.ready()
		}
		w := newWorld(t, refuse, refuse, refuse, refuse)
		w.starts.Limit.Concurrency = 2
		b := w.bot(func(c *Config) { c.Shards = 2 }).start()
		b.after(time.Minute)
		b.expect(t, 4, 0)
		if n := strings.Count(w.log(), "Message Content Intent"); n != 1 {
			t.Errorf("said %d times", n)
		}
	})
	bubbled(t, "switched off meanwhile", func(t *testing.T) {
		w := newWorld(t, func(p *peer) { p.open(); p.drop() }, func(p *peer) { p.hello(); p.next(); p.closeWith(4014) })
		b := w.bot().start()
		b.after(time.Minute)
		b.expect(t, 2, 1)
		if !b.refused.Load() {
			t.Error("content is said to come")
		}
	})
	bubbled(t, "refused all the same", func(t *testing.T) {
		refuse := func(p *peer) { p.hello(); p.next(); p.closeWith(4014) }
		w := newWorld(t, refuse, refuse)
		b := w.bot().start()
		b.after(time.Minute)
		<-b.done
		if b.err == nil || !strings.Contains(b.err.Error(), "4014") {
			t.Error(b.err)
		}
	})
}

// discordgo, whose types these are, deadlocks or dies of most of these.
func TestPacketsThatAreNone(t *testing.T) {
	for name, packet := range map[string]string{
		"null":                   `null`,
		"no object":              `[1]`,
		"no JSON":                `{"op":`,
		"no op":                  `{"d":{}}`,
		"an op of no kind":       `{"op":"1"}`,
		"an unknown op":          `{"op":99,"d":{}}`,
		"acknowledged unasked":   `{"op":11}`,
		"asked for a heartbeat":  `{"op":1,"d":null}`,
		"a guild that is null":   `{"op":0,"s":2,"t":"GUILD_CREATE","d":null}`,
		"a guild that is none":   `{"op":0,"s":2,"t":"GUILD_UPDATE","d":{}}`,
		"a guild that is a word": `{"op":0,"s":2,"t":"GUILD_CREATE","d":"guild"}`,
	} {
		bubbled(t, name, func(t *testing.T) {
			w := newWorld(t, func(p *peer) {
				p.send(packet)
				p.hello()
				p.next()
				p.send(packet)
				p.dispatch(1, "READY", `{"session_id":"session","guilds":[null]}`)
				p.send(packet)
				p.dispatch(3, "X", `{}`)
			})
			b := w.bot().start()
			b.after(30 * time.Second)
			b.expect(t, 1, 0)
			got := slices.DeleteFunc(b.told(), func(s string) bool { return strings.HasPrefix(s, "GUILD_") }) // they are told: what is in them is not read here
			if !slices.Equal(got, []string{"READY", "X {}"}) || !strings.Contains(w.log(), "connected to the gateway") {
				t.Errorf("heard %q\n%s", got, w.log())
			}
			p := w.all()[0]
			if strings.Contains(packet, `"op":1,`) {
				var got []string
				for _, x := range p.packets() {
					if x.Op == opHeartbeat {
						got = append(got, string(x.Data))
					}
				}
				if len(got) < 3 || len(got) > 4 || got[0] != "null" { // one of them may have been due
					t.Errorf("heartbeats %v", got)
				}
			}
		})
	}
	for name, hello := range map[string]string{
		"no interval": `{"op":10,"d":{}}`, "none": `{"op":10,"d":{"heartbeat_interval":0}}`, "less": `{"op":10,"d":{"heartbeat_interval":-1}}`,
		"too much": `{"op":10,"d":{"heartbeat_interval":9223372036854775807}}`, "a word": `{"op":10,"d":{"heartbeat_interval":"soon"}}`, "null": `{"op":10}`,
		"far too long": `{"op":10,"d":{"heartbeat_interval":0,"_trace":"` + strings.Repeat("x", 4<<10) + `"}}`,
	} {
		bubbled(t, "HELLO "+name, func(t *testing.T) {
			b := newWorld(t, func(p *peer) { p.send(hello); p.next(); p.ready() }).bot().start()
			b.after(time.Minute)
			b.expect(t, 1, 0)
			if len(b.w.all()) != 2 {
				t.Errorf("%d connections", len(b.w.all()))
			}
		})
	}
	bubbled(t, "HELLO twice", func(t *testing.T) {
		b := newWorld(t, func(p *peer) { p.open(); p.hello() }).bot().start()
		b.after(3 * time.Minute)
		b.expect(t, 1, 0)
	})
	bubbled(t, "READY twice", func(t *testing.T) {
		b := newWorld(t, func(p *peer) { p.open(); p.ready() }).bot().start()
		b.after(time.Minute)
		b.expect(t, 1, 0)
	})
	bubbled(t, "READY without an ID", func(t *testing.T) { // there is nothing to resume by
		w := newWorld(t, func(p *peer) { p.hello(); p.next(); p.dispatch(1, "READY", `{}`); p.drop() })
		b := w.bot().start()
		b.after(time.Minute)
		b.expect(t, 2, 0)
	})
	bubbled(t, "larger than anything", func(t *testing.T) {
		w := newWorld(t, func(p *peer) { p.open(); p.dispatch(2, "X", strings.Repeat(" ", maxPacket)+`{}`) })
		b := w.bot().start()
		b.after(time.Minute)
		b.expect(t, 1, 1)
		if got := b.told(); !slices.Equal(got, []string{"READY", "RESUMED"}) {
			t.Errorf("heard %q", got)
		}
		b.stillResumable(t)
	})
}

func TestLargeAndCompressedPackets(t *testing.T) {
	bubble(t, func(t *testing.T) {
		squeezed := func(s string) []byte {
			var b bytes.Buffer
			z := zlib.NewWriter(&b)
			_, _ = z.Write([]byte(s))
			_ = z.Close()
			return b.Bytes()
		}
		large := `{"id":"1","name":"` + strings.Repeat("n", 100_000) + `"}`
		w := newWorld(t, func(p *peer) {
			p.open()
			p.dispatch(2, "GUILD_CREATE", large)
			p.sendAs(websocket.BinaryMessage, []byte("not compressed"))
			p.sendAs(websocket.BinaryMessage, squeezed(`{"op":0,"s":3,"t":"X","d":{}}`))
			p.sendAs(websocket.BinaryMessage, squeezed(op7))
		})
		b := w.bot().start()
		b.after(time.Minute)
		b.expect(t, 1, 1)
		if got := b.told(); !slices.Equal(got, []string{"READY", "GUILD_CREATE " + large, "X {}", "RESUMED"}) {
			t.Errorf("heard %q", got)
		}
	})
}

func TestAPanicInAHandlerEndsNothing(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, func(p *peer) { p.open(); p.dispatch(2, "X", `{}`); p.dispatch(3, "Y", `{}`) })
		b := w.bot()
		b.on = func(kind string) {
			if kind != "Y" {
				panic("the secret is " + kind)
			}
		}
		b.start().after(time.Minute)
		b.expect(t, 1, 0)
		if got := b.told(); !slices.Equal(got, []string{"READY", "X {}", "Y {}"}) {
			t.Errorf("heard %q", got)
		}
		if began, _ := b.times(); began != 1 { // told although the event's handler panicked
			t.Errorf("began %d", began)
		}
		if log := w.log(); strings.Contains(log, "the secret") || strings.Count(log, "a value of type string") != 2 {
			t.Error(log)
		}
	})
}

// Nothing may block there. Where something does, the shard has to go on without, and what it does in the end does not count.
func TestAHandlerThatNeverReturnsDoesNotWedgeTheShard(t *testing.T) {
	for _, returns := range []bool{false, true} {
		bubbled(t, fmt.Sprint("in the end: ", returns), func(t *testing.T) {
			w := newWorld(t)
			b := w.bot()
			hold, n := make(chan struct{}), atomic.Int32{}
			if returns {
				time.AfterFunc(time.Minute, func() { close(hold) })
			} else {
				t.Cleanup(func() { close(hold) })
			}
			b.on = func(string) {
				if n.Add(1) == 1 {
					<-hold
				}
			}
			b.start().after(2 * time.Minute)
			b.expect(t, 2, 0)
			if began, _ := b.times(); began != 1 {
				t.Errorf("began %d\n%s", began, w.log())
			}
		})
	}
}

// The same in the middle of a RESUME.
func TestAHandlerThatNeverReturnsWhileASessionIsResumed(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, func(p *peer) { p.open(); p.drop() }, func(p *peer) {
			p.hello()
			p.next()
			p.dispatch(2, "X", `{}`)
			p.dispatch(3, "Y", `{}`)
		})
		b := w.bot()
		hold := make(chan struct{})
		t.Cleanup(func() { close(hold) })
		b.on = func(kind string) {
			if kind == "Y" {
				<-hold
			}
		}
		b.start().after(2 * time.Minute)
		b.expect(t, 2, 1)
		if began, resumed := b.times(); began != 2 || resumed != 0 {
			t.Errorf("began %d, resumed %d\n%s", began, resumed, w.log())
		}
	})
}

func TestAnAnswerThatIsNoWebsocket(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t)
		w.cut = func(n int, c net.Conn) net.Conn { return c }
		w.noDial["gateway.test:80"] = true
		b := w.bot().start()
		b.after(time.Hour)
		n := len(w.dialled)
		if n < 60 || n > 2*130 { // with gateway/bot before each
			t.Errorf("%d attempts in an hour", n)
		}
		w.mu.Lock()
		w.noDial = nil
		w.mu.Unlock()
		b.after(2 * time.Minute)
		b.expect(t, 1, 0)
	})
}

func TestStoppingAtEveryPoint(t *testing.T) {
	for name, script := range map[string][]func(*peer){
		"before HELLO":         {func(*peer) {}},
		"after HELLO":          {func(p *peer) { p.hello() }},
		"after IDENTIFY":       {func(p *peer) { p.hello(); p.next() }},
		"connected":            {nil},
		"after op 7":           {func(p *peer) { p.open(); p.send(op7) }},
		"after a drop":         {func(p *peer) { p.open(); p.drop() }, func(p *peer) { p.drop() }, func(p *peer) { p.drop() }},
		"while it is resumed":  {func(p *peer) { p.open(); p.drop() }, func(p *peer) { p.hello(); p.next() }},
		"before another":       {func(p *peer) { p.open(); p.send(op9) }},
		"while events come in": {func(p *peer) { p.open(); p.pour() }},
	} {
		for _, at := range []time.Duration{0, 500 * time.Millisecond, 1500 * time.Millisecond, 4 * time.Second} {
			bubbled(t, fmt.Sprint(name, at), func(t *testing.T) {
				b := newWorld(t, script...).bot().start()
				b.after(at)
				before := time.Now()
				b.stop()
				<-b.done
				if took := time.Since(before); took > 2*time.Second || b.err != nil {
					t.Errorf("it took %s: %v", took, b.err)
				}
				synctest.Wait()
				n, told := len(b.w.dialled), len(b.told())
				b.after(time.Hour)
				if len(b.w.dialled) != n || len(b.told()) != told {
					t.Error("it goes on")
				}
			})
		}
	}
}

// pour sends events until the connection ends.
func (p *peer) pour() {
	go func() {
		for seq := int64(2); ; seq++ {
			select {
			case <-p.gone:
				return
			case <-time.After(10 * time.Millisecond):
				p.dispatch(seq, "X", `{}`)
			}
		}
	}()
}

func TestStoppingWhileItDials(t *testing.T) {
	for _, late := range []bool{false, true} {
		bubbled(t, fmt.Sprint("with a connection all the same: ", late), func(t *testing.T) {
			w := newWorld(t)
			w.hang["gateway.test:80"], w.late = true, late
			b := w.bot().start()
			b.after(time.Second)
			before := time.Now()
			b.stop()
			<-b.done
			if took := time.Since(before); took > 0 || b.err != nil || w.count(opIdentify) != 0 {
				t.Errorf("it took %s: %v, %d IDENTIFYs", took, b.err, w.count(opIdentify))
			}
		})
	}
}

func TestItHasNotStoppedBeforeAnEventIsHandled(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, func(p *peer) { p.open(); p.dispatch(2, "X", `{}`) })
		b := w.bot()
		var handled atomic.Bool
		b.on = func(kind string) {
			if kind == "X" {
				time.Sleep(5 * time.Second)
				handled.Store(true)
			}
		}
		b.start().after(2 * time.Second)
		b.stop()
		<-b.done
		if !handled.Load() {
			t.Error("it has")
		}
	})
}

func TestNothingIsHeardOfASessionThatIsOver(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, func(p *peer) {
			p.open()
			var both []byte // in one write, so that the second has come when the first is handled
			for seq, kind := range []string{"X", "Y"} {
				packet := fmt.Sprintf(`{"op":0,"s":%d,"t":%q,"d":{}}`, seq+2, kind)
				both = append(append(both, 0x81, byte(len(packet))), packet...)
			}
			_, _ = p.NetConn().Write(both)
		})
		b := w.bot()
		b.on = func(kind string) {
			if kind == "X" {
				time.Sleep(time.Minute)
			}
		}
		b.start().after(2 * time.Second)
		b.stop()
		<-b.done
		b.after(2 * time.Minute)
		if got := b.told(); !slices.Equal(got, []string{"READY", "X {}"}) {
			t.Errorf("heard %q", got)
		}
	})
}

func TestTheShardThatWasSilentForLongestCounts(t *testing.T) {
	g := New(Config{})
	for _, at := range []int64{2, 1, 0, 3} { // 0: another process has it
		sh := new(shard)
		sh.heard.Store(at)
		g.shards = append(g.shards, sh)
	}
	if got := g.lastHeard().UnixNano(); got != 1 {
		t.Error(got)
	}
}

func TestHeardIsWhenSomethingCame(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t)
		b := w.bot()
		if !b.lastHeard().IsZero() {
			t.Error("heard before it began")
		}
		b.start().after(time.Second)
		began := time.Now().Add(-time.Second)
		if got := b.lastHeard(); got.Before(began) || got.After(time.Now()) { // perhaps with a heartbeat
			t.Errorf("heard at %s, want %s", got, began)
		}
		b.after(2 * someInterval * time.Millisecond)
		if got := b.lastHeard(); time.Since(got) > (someInterval+1)*time.Millisecond {
			t.Errorf("heard %s ago, with a heartbeat between", time.Since(got))
		}
		if err := b.Ready(); err != nil {
			t.Error(err)
		}
		b.shards[0].heard.Store(time.Now().Add(-2*b.SilentWithin - time.Second).UnixNano())
		if err := b.Ready(); err == nil {
			t.Error("ready, though nothing comes")
		}
		b.stop()
		<-b.done
		if !b.lastHeard().IsZero() || b.Ready() != nil {
			t.Error("heard after it ended")
		}
	})
}
