package terminal

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/nodhq/nod/cmd/bot/command"
	"github.com/nodhq/nod/core/render"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// What a model writes moves no cursor; what goes on is not said twice; and a card has all of every argument.
func TestChatPaper(t *testing.T) {
	var out strings.Builder
	p := newScreen(&out)
	text := func(s string) message {
		return message{ID: "m", Blocks: []block{{Type: "text", Markdown: s}}}
	}
	p.show(text("one \x1b[2J"))
	p.show(text("one \x1b[2Jtwo"))
	p.show(text("one \x1b[2Jtwo"))
	p.show(text("other"))
	p.endLine()
	if got, want := out.String(), "one \\u{001B}[2Jtwo\nother\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	out.Reset()
	said := message{ID: "n", Blocks: []block{
		{Type: "text", Markdown: "first"}, {Type: "text", Markdown: "second"},
		{Type: "step", ToolCallID: "1", State: render.StepPending, Title: "pending"}, {Type: "step", ToolCallID: "2", State: render.StepWaiting, Title: "waiting"},
		{Type: "step", ToolCallID: "3", State: render.StepRunning, Title: "running"},
		{Type: "note", Line: []span{{Strong: "Ends"}, {Text: " "}, {Time: time.Date(2026, 1, 2, 15, 4, 0, 0, time.UTC)}, {Text: " by "}, {Person: "ana"}}},
	}}
	p.show(said)
	p.show(said)
	if got, want := out.String(), "first\nsecond\n⟳ running · running\nEnds 15:04 UTC by ana\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	ask := block{Ask: render.Ask{Header: "h"}, Arguments: render.Args{JSON: `{"a": "all of it\u{202E}"}`, Chars: 20, Rows: []render.Row{{Name: "a", Value: "all …", Hidden: 4}}}}
	if got := ask.card(); !strings.Contains(got, "all of it") || strings.Contains(got, "all …") {
		t.Errorf("a shortened row is shown for the whole:\n%s", got)
	}
}

// A turn that ended is told twice where a stream broke in between; the second time it ends nothing.
func TestChatTurnEndsOnce(t *testing.T) {
	talk := &talk{screen: newScreen(io.Discard), ended: map[string]bool{}}
	done := event{name: "turn_done", data: `{"turn_id":"t1","why":"answered"}`}
	if why, over := talk.hear(done); !over || why != "answered" {
		t.Errorf("%q %v", why, over)
	}
	if _, over := talk.hear(done); over {
		t.Error("it ends the next turn")
	}
}

// A bot that went away is waited for while it may come back, and not for ever.
func TestChatGivesUp(t *testing.T) {
	was := http.DefaultTransport
	defer func() { http.DefaultTransport = was }()
	for _, events := range []struct{ status, body string }{{"502 Bad Gateway", ""}, {"200 OK", "<p>\n\n<p>\n\n"}} { // a proxy's, of which no line is an event
		synctest.Test(t, func(t *testing.T) {
			tries := 0
			http.DefaultTransport = &http.Transport{DialContext: func(context.Context, string, string) (net.Conn, error) {
				here, there := net.Pipe()
				go func() {
					defer there.Close()
					for in := bufio.NewReader(there); ; {
						r, err := http.ReadRequest(in)
						if err != nil {
							return
						}
						_, _ = io.Copy(io.Discard, r.Body)
						status, body := "200 OK", `{"key":"k","chat_id":"c"}`
						if strings.HasSuffix(r.URL.Path, "/events") {
							tries++
							status, body = events.status, events.body
						}
						fmt.Fprintf(there, "HTTP/1.1 %s\r\nContent-Length: %d\r\n\r\n%s", status, len(body), body)
					}
				}()
				return here, nil
			}}
			var errs strings.Builder
			begun := time.Now()
			code := run(command.Process{Stdout: io.Discard, Stderr: &errs, Env: func(string) (string, bool) { return "", false }}, flags{url: "http://bot"}, []string{"hi"})
			if code != command.Fail || tries != 1+streamTries || time.Since(begun) != (streamTries-1)*streamPause || !strings.Contains(errs.String(), "no bot can be reached at http://bot: the stream of events broke off, and does not come back") {
				t.Errorf("code %d after %d tries and %v: %s", code, tries, time.Since(begun), &errs)
			}
		})
	}
}

// What somebody writes on the page meanwhile does not take the place of what the bot asks.
func TestChatKeepsWhatIsAsked(t *testing.T) {
	talk := &talk{screen: newScreen(io.Discard)}
	talk.hear(event{name: "message", data: `{"id":"m1","role":"assistant","blocks":[{"type":"ask","request_id":"a"}]}`})
	talk.hear(event{name: "message", data: `{"id":"m2","role":"user","blocks":[{"type":"text","markdown":"and?"}]}`})
	if len(talk.message.Blocks) != 1 || talk.message.Blocks[0].RequestID != "a" {
		t.Errorf("%+v", talk.message)
	}
}

// A line belongs to the question that stood there when it was begun.
func TestKeyboard(t *testing.T) {
	k := newKeyboard()
	r, w := io.Pipe()
	go k.read(t.Context(), r)
	type_ := func(s string) {
		if _, err := io.WriteString(w, s); err != nil {
			t.Error(err)
		}
	}
	var typing sync.WaitGroup
	typing.Go(func() { type_("before\nbeg") })
	if l := <-k.lines; l.text != "before" || l.at != 0 {
		t.Errorf("%+v", l)
	}
	typing.Wait()
	now := k.put()
	typing.Go(func() { type_("un\nafter\r\nrest"); _ = w.Close() })
	if l := <-k.lines; l.text != "begun" || l.at >= now {
		t.Errorf("%+v", l)
	}
	if l := <-k.lines; l.text != "after" || l.at != now {
		t.Errorf("%+v", l)
	}
	if l, more := <-k.lines; more {
		t.Errorf("what has no end is a line: %+v", l)
	}
	typing.Wait()
}
