package attacks

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/nodhq/nod/core/chat"
)

// trap is a page that nobody may fetch: whoever does is on its list.
type trap struct {
	*httptest.Server
	mu      sync.Mutex
	fetched []string
}

func setTrap(t testing.TB) *trap {
	p := &trap{}
	p.Server = httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.fetched = append(p.fetched, r.Method+" "+r.URL.String())
	}))
	t.Cleanup(p.Close)
	return p
}

func (p *trap) untouched(t testing.TB) {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.fetched) > 0 {
		t.Errorf("the address was fetched: %q", p.fetched)
	}
}

// wanterTools ask for something in their answers, as servers do since 2026-07-28.
func wanterTools() []tool {
	wanter := func(params func(mcp.CallToolRequest) mcp.ElicitationParams) func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return func(_ context.Context, r mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			got := server.ElicitationResponse(r.Params.InputResponses, "it")
			if got == nil {
				return server.NewInputRequestBuilder("1").Elicit("it", params(r)).ToolResult(), nil
			}
			return mcp.NewToolResultText("elicited: " + string(got.Action) + " " + string(marshal(got.Content))), nil
		}
	}
	return []tool{
		{server: "wanter", name: "form", run: wanter(func(mcp.CallToolRequest) mcp.ElicitationParams {
			return mcp.ElicitationParams{Message: "Which branch, Ana?", RequestedSchema: json.RawMessage(`{"type":"object","properties":{"branch":{"type":"string"}},"required":["branch"]}`)}
		})},
		{server: "wanter", name: "address", run: wanter(func(r mcp.CallToolRequest) mcp.ElicitationParams {
			return mcp.ElicitationParams{Mode: "url", Message: "Sign in", URL: r.GetString("url", ""), ElicitationID: "e1"}
		})},
	}
}

// wanting waits until the server asks, and gives what carries the answer.
func (k *talk) wanting() (s shot, b button) {
	k.t.Helper()
	s = k.until("the server asks", func(s shot) bool { return slices.ContainsFunc(s.buttons, isAnswer) })
	return s, s.buttons[slices.IndexFunc(s.buttons, isAnswer)]
}

func isAnswer(b button) bool {
	return b.choice == "answer" || strings.HasPrefix(b.slack.ActionID, "nod:answer:") || strings.HasPrefix(b.discord.ID, "nod:answer:")
}

// wantings is row 25 for what reaches a person: it is for who asked, and for nobody else.
func wantings() (out []attack) {
	form := wants(call("wanter", "form", `{}`))
	for _, choice := range []chat.Choice{chat.Answer, chat.Decline, chat.AllowOnce, chat.AllowChat, chat.ApproveAll, chat.Edit, chat.Extend} {
		for _, who := range []person{ben, ada} { // not even an admin's
			if choice != chat.Answer && choice != chat.Decline && who == ada {
				continue
			}
			out = append(out, everywhere(25, "form-"+string(choice)+"-by-"+slug(string(who)), func(t *testing.T, w *world, surface string) {
				k := begin(t, w, surface, form)
				s, b := k.wanting()
				if choice != chat.Answer { // that opens a form, where a surface has one
					k.press(t, who, s, as(b, choice))
				} else {
					k.refused(who, s, b, "")
				}
				if _, err := k.engine.Decide(t.Context(), chat.Clicked{Envelope: k.envelope(who), Token: b.ticket(), Choice: choice, Fields: map[string]string{"branch": "evil"}}); err == nil {
					t.Errorf("%s by %s is taken", choice, who)
				}
				k.declined(b)
				if read := w.pen.read(k.name); strings.Contains(read, "evil") || strings.Contains(read, "elicited: accept") {
					t.Errorf("the server was answered by somebody else: %s", read)
				}
			})...)
		}
	}
	out = append(out, everywhere(25, "form-answered-after-the-call-ended", func(t *testing.T, w *world, surface string) {
		k := begin(t, w, surface, form)
		_, b := k.wanting()
		k.declined(b)
		_, err := k.engine.Decide(t.Context(), chat.Clicked{Envelope: k.envelope(ana), Token: b.ticket(), Choice: chat.Answer, Fields: map[string]string{"branch": "late"}})
		if err == nil {
			t.Error("it is taken")
		}
		if read := w.pen.read(k.name); strings.Contains(read, "late") {
			t.Errorf("the server got it: %s", read)
		}
	})...)
	out = append(out, everywhere(25, "form-answered-from-another-chat", func(t *testing.T, w *world, surface string) {
		k := begin(t, w, surface, form)
		_, b := k.wanting()
		other := elsewhere(t, w, surface, k.name+"-other")
		other.over(1)
		if _, err := k.engine.Decide(t.Context(), chat.Clicked{Envelope: other.envelope(ana), Token: b.ticket(), Choice: chat.Answer, Fields: map[string]string{"branch": "moved"}}); err == nil {
			t.Error("it is taken")
		}
		k.declined(b)
	})...)
	out = append(out, everywhere(25, "address-is-shown-to-its-reader-alone-and-not-fetched", func(t *testing.T, w *world, surface string) {
		page := setTrap(t)
		k := begin(t, w, surface, wants(call("wanter", "address", string(marshal(map[string]string{"url": page.URL + "/secret-" + idOf(t)})))))
		s, b := k.wanting()
		k.refused(ben, s, b, "")
		for _, x := range append(k.told(ben), s.text) {
			if surface != "web" && strings.Contains(x, "/secret-") && x != s.text {
				t.Errorf("Ben is shown it: %s", x)
			}
		}
		if surface == "web" {
			if status, answer := w.sessions[ben].call(t, http.MethodGet, "/api/v1/asks/"+b.token+"/want", nil); status < 400 || strings.Contains(answer, "secret-") {
				t.Errorf("Ben is shown it: %d %s", status, answer)
			}
		}
		k.declined(b)
		page.untouched(t)
	})...)
	for name, address := range map[string]string{
		"userinfo": "https://bank.example@evil.example/", "javascript": "javascript:alert(1)", "data": "data:text/html,<script>1</script>", "file": "file:///etc/passwd",
		"no-host": "https:///login", "credentials": "https://ana:pw@evil.example/", "relative": "//evil.example/", "vbscript": "vbscript:x", "spaces": "https://evil.example/ a", "empty": "",
	} {
		out = append(out, everywhere(25, "address-"+name+"-is-never-shown", func(t *testing.T, w *world, surface string) {
			k := begin(t, w, surface, wants(call("wanter", "address", string(marshal(map[string]string{"url": address})))))
			s := k.until("it is over, or the server asks", func(s shot) bool { return s.over || slices.ContainsFunc(s.buttons, isAnswer) })
			if !s.over {
				t.Fatalf("it is put before a person: %s", s.text)
			}
			if read := w.pen.read(k.name); strings.Contains(read, "elicited: accept") {
				t.Errorf("the server was answered: %s", read)
			}
		})...)
	}
	return out
}

// declined has Ana decline, and waits for the end of the turn.
func (k *talk) declined(b button) {
	k.t.Helper()
	if err := k.decide(ana, b, chat.Decline); err != nil {
		k.t.Fatalf("Ana declines: %v", err)
	}
	k.over(1)
}
