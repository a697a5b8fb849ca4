package e2e

import (
	"encoding/json"
	"net/http"
	"regexp"
	"strings"
	"testing"
)

// What docs/requirements.md asks of the whole program and no other test shows. The number stands with each test.

// askedFor is an ask with all that programs read of it.
type askedFor struct {
	pendingForm
	Permission string `json:"permission"`
	Access     string `json:"access"`
	Risk       string `json:"risk"`
}

// A configuration that says nothing of permissions, and a server that nobody has said anything about:
// each of its tools asks, whatever it is called and whatever it says of itself, and is asked for in words.
// R13 R16 R18 R33 R39 R168 R169
func TestDefaultsOfAFreshServer(t *testing.T) {
	t.Parallel()
	box, ledger := toolbox(t)
	llm := startLLM(t)
	b := start(t, settings{yaml: box, env: llm.env()})
	ana := b.session("Ana")
	for _, x := range []struct{ order, tool, risk string }{
		{`call box__echo {"text":"hi"}`, "echo", "moderate"}, // it says that it only reads
		{`call box__fail {}`, "fail", "moderate"},            // it says nothing
		{`call box__write {"path":"a"}`, "write", "dangerous"},
		{`call box__mutable {}`, "mutable", "moderate"},
	} {
		r := ana.room()
		s := r.events("")
		r.say(x.order)
		ask := decode[askedFor](t, s.named("approval_required").Data)
		if ask.ToolName != x.tool || ask.Permission != "RequireConfirmation" || ask.Access != "write" || ask.Risk != x.risk || ask.Message != "Run "+x.tool+" from box" {
			t.Errorf("%s: %+v", x.tool, ask)
		}
		r.mustClick(ask.RequestID, "deny")
		r.idle()
	}
	all, err := ledger.Effects()
	if err != nil || len(all) > 0 {
		t.Errorf("without a yes it ran %+v: %v", all, err)
	}
	llm.healthy()
}

// The operator's word that a server is trusted, and its own that a tool only reads, are what lets it run unasked. What writes asks.
// R16 R17
func TestTrustedReadsRunUnasked(t *testing.T) {
	t.Parallel()
	box, ledger := toolbox(t)
	b := start(t, settings{yaml: entry(box, "trusted: true"), env: startLLM(t).env()})
	r := b.session("Ana").room()
	s := r.events("")
	r.say(`call box__echo {"text":"hi"}`)
	s.named("turn_done")
	if got := strings.Join(s.names(), " "); strings.Contains(got, "approval_required") {
		t.Errorf("a read of a trusted server asked: %s", got)
	}
	if m := r.get().last(); m.statuses() != "echo done" || !strings.Contains(words(m.block("step", "").Detail), "needs no question") {
		t.Errorf("%s", r.get())
	}
	for _, order := range []string{`call box__write {"path":"a"}`, `call box__fail {}`} {
		r.mustClick(r.ask(order).RequestID, "deny")
		r.idle()
	}
	if n := ledger.Count("write", "did"); n != 0 {
		t.Errorf("write ran %d times", n)
	}
}

// What the operator says of a server and of its tool stands on the card of every surface or in its details, and in the block.
// R21 R81 R136
func TestCardSaysWhoseServerItIs(t *testing.T) {
	t.Parallel()
	const (
		box  = `, icon: "🔭", description: It watches the sky.`
		yaml = "permissions: {servers: {box: {tools: {write: {impact: Everybody will see it.}}}}}\n"
	)
	onCard, inDetails := []string{"🔭", "Everybody will see it."}, "It watches the sky."
	t.Run("web", func(t *testing.T) {
		t.Parallel()
		with, _ := toolbox(t, box)
		r := start(t, settings{yaml: with + yaml, env: startLLM(t).env()}).session("Ana").room()
		ask := r.ask(`call box__write {"path":"a"}`)
		var raw struct {
			Messages []struct {
				Blocks      json.RawMessage `json:"blocks"`
				Permissions []struct {
					Call struct {
						Icons       string `json:"server_icons"`
						Description string `json:"server_description"`
					} `json:"tool_call"`
				} `json:"permissions"`
			} `json:"messages"`
		}
		r.call("GET", r.path(""), nil, &raw)
		m := raw.Messages[len(raw.Messages)-1]
		for _, want := range onCard {
			if !strings.Contains(string(m.Blocks), want) {
				t.Errorf("the card lacks %q: %s", want, m.Blocks)
			}
		}
		var details json.RawMessage
		r.call("GET", r.path("/details/"+ask.RequestID), nil, &details)
		if !strings.Contains(string(details), inDetails) {
			t.Errorf("the details lack %q: %s", inDetails, details)
		}
		if call := m.Permissions[0].Call; call.Icons != onCard[0] || call.Description != inDetails {
			t.Errorf("the block: %+v", call)
		}
	})
	t.Run("Slack", func(t *testing.T) {
		t.Parallel()
		stories(t, officeSettings{box: box, yaml: yaml}, map[string]story{"card": func(t *testing.T, o *office) {
			order, _ := write(t)
			th := o.mention(t, order)
			ts := th.asking(1)
			for _, want := range onCard {
				th.says(ts, want)
			}
			th.click(ben, ts, "View details")
			if all := seenBlocks(th.view(ben, 1).Blocks); !strings.Contains(all, inDetails) {
				t.Errorf("the details lack %q: %s", inDetails, all)
			}
		}})
	})
	t.Run("Discord", func(t *testing.T) {
		t.Parallel()
		tales(t, guildSettings{box: box, yaml: yaml}, map[string]tale{"card": func(t *testing.T, g *guild) {
			order, _ := write(t)
			k := g.mention(t, order)
			id := k.asking(1)
			for _, want := range onCard {
				k.says(id, want)
			}
			k.click(benID, id, "View details")
			k.told(benID, inDetails)
		}})
	})
}

// What a tool does to the world, in its maker's words, stands on the card.
// R21
func TestImpactStandsOnTheCard(t *testing.T) {
	t.Parallel()
	b := start(t, settings{yaml: "permissions: {servers: {workbench: {tools: {create_directory: {impact: Everybody will see it.}}}}}\n"})
	for order, want := range map[string]string{"write hello to notes.txt": "Replaces the file if it exists.", "make the directory plans": "Everybody will see it."} {
		r := b.session("Ana").room()
		r.ask(order)
		var raw struct {
			Messages []struct {
				Blocks []struct {
					Type  string     `json:"type"`
					Facts []spanForm `json:"facts"`
				} `json:"blocks"`
			} `json:"messages"`
		}
		r.call("GET", r.path(""), nil, &raw)
		blocks := raw.Messages[len(raw.Messages)-1].Blocks
		if card := blocks[len(blocks)-1]; card.Type != "ask" || !strings.HasSuffix(words(card.Facts), " · "+want) {
			t.Errorf("%s: %+v", order, card)
		}
	}
}

// What needs an admin is told in the stream as such. Whoever asked cannot allow it, and it stays; no grant is offered for it.
// R29 R128 R130
func TestAdminLevelInTheStream(t *testing.T) {
	t.Parallel()
	b := start(t, settings{
		yaml: "permissions: {servers: {workbench: {tools: {write_file: {approval: RequireAuth}}}}}\n",
		env:  map[string]string{"ADMIN_SESSION_KEYS": "boss-key-of-16-bytes"},
	})
	r := b.session("Ana").room()
	s := r.events("")
	r.say("write hello to notes.txt")
	ask := decode[askedFor](t, s.named("approval_required").Data)
	if ask.Permission != "RequireAuth" || ask.ToolName != "write_file" {
		t.Errorf("%+v", ask)
	}
	if card := r.get().last().block("ask", ""); labels(card.Choices) != "Allow once|Deny" {
		t.Errorf("its buttons: %s", labels(card.Choices))
	}
	boss := r.as(&person{t: t, b: b, key: "boss-key-of-16-bytes"})
	for _, choice := range []string{"allow_once", "allow_chat", "deny"} {
		if _, status, _ := r.click(ask.RequestID, choice); status != http.StatusForbidden {
			t.Errorf("Ana's %s: %d", choice, status)
		}
	}
	if _, status, no := boss.click(ask.RequestID, "allow_chat"); status < 400 {
		t.Errorf("a grant for it: %d %+v", status, no)
	}
	if len(r.get().Pending) != 1 || b.content("notes.txt") != "(missing)" {
		t.Fatal("what was refused changed something")
	}
	boss.mustClick(ask.RequestID, "allow_once")
	r.idle()
	if got := b.content("notes.txt"); got != "hello" {
		t.Errorf("the file says %q", got)
	}
	// For an admin, too, once is once.
	r.ask("write again to notes.txt")
}

// Whichever way an answer comes over HTTP, whoever asked may give it, somebody else may not, and what needs an admin is an admin's.
// R29 R131
func TestWhoMayDecide(t *testing.T) {
	t.Parallel()
	b := start(t, settings{
		yaml: "permissions: {servers: {workbench: {tools: {create_directory: {approval: RequireAuth}}}}}\n",
		env:  map[string]string{"ADMIN_SESSION_KEYS": "boss-key-of-16-bytes"},
	})
	boss := &person{t: t, b: b, key: "boss-key-of-16-bytes"}
	for name, way := range map[string]func(pendingForm, *room) (path string, body map[string]any){
		"by call": func(a pendingForm, _ *room) (string, map[string]any) {
			return "/api/v1/tools/approve", map[string]any{"tool_call_id": a.ToolCallID, "approved": true}
		},
		"by request": func(a pendingForm, _ *room) (string, map[string]any) {
			return "/api/v1/asks/" + a.RequestID, map[string]any{"choice": "allow_once"}
		},
		"a button": func(a pendingForm, r *room) (string, map[string]any) {
			return r.path("/clicks"), map[string]any{"token": a.RequestID, "choice": "allow_once"}
		},
		"all": func(_ pendingForm, r *room) (string, map[string]any) {
			return r.path("/asks"), map[string]any{"choice": "allow_once"}
		},
	} {
		t.Run(name, func(t *testing.T) {
			ana, ben := b.session("Ana"), b.session("Ben")
			r := ana.room()
			for order, who := range map[string]struct {
				no  []*person
				yes *person
			}{
				"write hello to " + strings.ReplaceAll(name, " ", "") + ".txt": {[]*person{ben}, ana},
				"make the directory " + strings.ReplaceAll(name, " ", ""):      {[]*person{ben, ana}, boss},
			} {
				ask := r.ask(order)
				path, body := way(ask, r)
				for _, p := range who.no {
					if status, no := p.call("POST", path, body, nil); status != http.StatusForbidden || no.Code != "not_yours" {
						t.Errorf("%s, somebody who may not: %d %+v", order, status, no)
					}
					check := map[string]any{"token": ask.RequestID, "choice": "allow_chat", "check": true}
					if status, no := p.call("POST", r.path("/clicks"), check, nil); status != http.StatusForbidden || no.Code != "not_yours" {
						t.Errorf("%s, somebody who may not is not told before: %d %+v", order, status, no)
					}
					if got := r.get().Pending; len(got) != 1 || got[0].RequestID != ask.RequestID {
						t.Fatalf("%s: a refused answer changed something: %+v", order, got)
					}
				}
				if status, no := who.yes.call("POST", path, body, nil); status != http.StatusOK {
					t.Errorf("%s: %d %+v", order, status, no)
				}
				r.idle()
				if got := r.get().last().statuses(); !strings.HasSuffix(got, " done") {
					t.Errorf("%s: %s", order, got)
				}
			}
		})
	}
}

// Approve, deny and approve-all are events with their scope, and a denial has its structured result.
// R60 R86 R102 R121 R132
func TestOutcomesAreEvents(t *testing.T) {
	t.Parallel()
	b := start(t, settings{})
	r := b.session("Ana").room()
	s := r.events("")
	for _, x := range []struct{ choice, event, scope string }{
		{"allow_once", "permission_granted", "once"}, {"deny", "permission_denied", ""}, {"allow_chat", "permission_granted", "chat"},
	} {
		r.say("write " + x.choice + " to notes.txt")
		ask := decode[pendingForm](t, s.named("approval_required").Data)
		before := b.content("notes.txt")
		r.mustClick(ask.RequestID, x.choice, "because")
		e := s.next("the outcome", func(e sse) bool { return strings.HasPrefix(e.Name, "permission_") })
		got := decode[map[string]any](t, e.Data)
		if e.Name != x.event || got["type"] != x.event || got["request_id"] != ask.RequestID || got["tool_call_id"] != ask.ToolCallID ||
			got["chat_id"] != r.id || got["message_id"] != r.get().last().ID || got["tool_name"] != "write_file" || got["server_name"] != "workbench" || got["name"] != "Ana" {
			t.Errorf("%s gave %s %v", x.choice, e.Name, got)
		}
		if scope, _ := got["scope"].(string); scope != x.scope {
			t.Errorf("%s has the scope %q", x.choice, scope)
		}
		s.named("turn_done")
		call := r.get().last().ToolCalls[0]
		if x.choice == "deny" {
			var structured struct {
				Success bool   `json:"success"`
				Error   string `json:"error"`
			}
			structured.Success = true
			if err := json.Unmarshal(call.Result.Structured, &structured); err != nil || structured.Success || structured.Error != "User denied tool execution" || !call.Result.IsError {
				t.Errorf("a denial's result: %s %v", call.Result.Structured, call.Result.IsError)
			}
			if b.content("notes.txt") != before {
				t.Error("denied, and written all the same")
			}
		} else if b.content("notes.txt") != x.choice || call.Result.IsError {
			t.Errorf("%s: the file says %q, the result %+v", x.choice, b.content("notes.txt"), call.Result)
		}
	}
	r.say("write at last to notes.txt") // approve-all holds for the rest of the session
	if e := s.next("the end", func(e sse) bool { return e.Name == "turn_done" || e.Name == "approval_required" }); e.Name != "turn_done" {
		t.Error("after approve-all it asked")
	}
}

// The model's service gets the model's own call, and right behind it a message of the role tool with the same id that begins with the
// agreed sentence; what was allowed in the same reply has its result there, too.
// R57 R120
func TestADenialAsTheServiceReadsIt(t *testing.T) {
	t.Parallel()
	box, _ := toolbox(t)
	llm := startLLM(t)
	b := start(t, settings{yaml: box, env: llm.env()})
	r := b.session("Ana").room()
	r.say(`call box__write {"path":"yes"} and call box__write {"path":"no"}`)
	for _, p := range r.waiting(2).Pending {
		r.mustClick(p.RequestID, map[bool]string{true: "allow_once", false: "deny"}[strings.Contains(string(p.Arguments), "yes")], "not that one")
	}
	r.idle()
	all := llm.requests()
	var last struct {
		Messages []struct {
			Role      string `json:"role"`
			Content   string `json:"content"`
			ID        string `json:"tool_call_id"`
			ToolCalls []struct {
				ID       string `json:"id"`
				Function struct {
					Arguments string `json:"arguments"`
				} `json:"function"`
			} `json:"tool_calls"`
		} `json:"messages"`
	}
	if err := json.Unmarshal(all[len(all)-1].Body, &last); err != nil {
		t.Fatal(err)
	}
	n := len(last.Messages)
	if n < 3 || last.Messages[n-3].Role != "assistant" || len(last.Messages[n-3].ToolCalls) != 2 {
		t.Fatalf("%s", all[len(all)-1].Body)
	}
	for i, call := range last.Messages[n-3].ToolCalls {
		m := last.Messages[n-2+i]
		if m.Role != "tool" || m.ID != call.ID || call.ID == "" {
			t.Errorf("call %s is followed by %s %s", call.ID, m.Role, m.ID)
		}
		denied := strings.HasPrefix(m.Content, "Tool execution denied by user. Reason: not that one. Do not retry the same call;")
		if denied != strings.Contains(call.Function.Arguments, "no") || !denied && !strings.Contains(m.Content, "written") {
			t.Errorf("%s: %s", call.Function.Arguments, m.Content)
		}
	}
	llm.healthy()
}

// What an ask's block says is there again after a restart, while it waits and when it is decided.
// R108 R138
func TestTheBlockOutlivesTheProcess(t *testing.T) {
	t.Parallel()
	for name, env := range map[string]func() map[string]string{
		"embedded": func() map[string]string { return nil },
		"redis":    func() map[string]string { return map[string]string{"REDIS_URL": startRedis(t).url} },
	} {
		t.Run(name, func(t *testing.T) { theBlockOutlivesTheProcess(t, start(t, settings{env: env()})) })
	}
}

func theBlockOutlivesTheProcess(t *testing.T, b *bot) {
	r := b.session("Ana").room()
	block := func() string {
		var raw struct {
			Messages []struct {
				Permissions []json.RawMessage `json:"permissions"`
			} `json:"messages"`
		}
		r.call("GET", r.path(""), nil, &raw)
		if n := len(raw.Messages); n == 0 || len(raw.Messages[n-1].Permissions) != 1 {
			t.Fatalf("%+v", raw)
		}
		return string(raw.Messages[len(raw.Messages)-1].Permissions[0])
	}
	ask := r.ask("write hello to notes.txt")
	waiting := block()
	b.restart()
	r.waiting(1)
	if got := block(); got != waiting || !strings.Contains(got, `"status":"pending"`) || !strings.Contains(got, `"needsUserAction":true`) {
		t.Errorf("it was\n%s\nand is\n%s", waiting, got)
	}
	r.mustClick(ask.RequestID, "allow_once")
	r.idle()
	decided := block()
	b.restart()
	if got := block(); got != decided || !strings.Contains(got, `"status":"granted"`) || !strings.Contains(got, `"grantedPermissions":["write"]`) || strings.Contains(got, `"needsUserAction":true`) {
		t.Errorf("it was\n%s\nand is\n%s", decided, got)
	}
}

// The block says what the decision gave, which may be more than the call needed.
// R108 R137
func TestTheBlockSaysWhatWasGranted(t *testing.T) {
	t.Parallel()
	box, _ := toolbox(t)
	b := start(t, settings{yaml: box + "permissions: {servers: {box: {tools: {echo: {access: read}, env: {access: write, risk: moderate}}}}}\n", env: startLLM(t).env()})
	for _, x := range []struct{ order, choice, access, given string }{
		{"call box__echo {\"text\":\"a\",\"n\":1}", "allow_once", "read", `["read"]`},
		{"call box__echo {\"text\":\"a\",\"n\":1}", "allow_chat", "read", `["read"]`},
		{"call box__echo {\"text\":\"a\",\"n\":1}", "allow_reads", "read", `["read"]`},
		{"call box__echo {\"text\":\"a\",\"n\":1}", "allow_server", "read", `["read","write","all"]`},
		{`call box__write {"path":"a"}`, "allow_once", "write", `["write"]`},
		{"call box__env {}", "allow_writes", "write", `["read","write"]`},
		{`call box__write {"path":"a"}`, "deny", "write", ""},
	} {
		r := b.session("Ana").room()
		r.mustClick(r.ask(x.order).RequestID, x.choice)
		r.idle()
		var raw struct {
			Messages []struct {
				Permissions []struct {
					Extra struct {
						PermissionType     string          `json:"permissionType"`
						GrantedPermissions json.RawMessage `json:"grantedPermissions"`
					} `json:"extra"`
				} `json:"permissions"`
			} `json:"messages"`
		}
		r.call("GET", r.path(""), nil, &raw)
		if got := raw.Messages[len(raw.Messages)-1].Permissions[0].Extra; got.PermissionType != x.access || string(got.GrantedPermissions) != x.given {
			t.Errorf("%s, %s: %s, given %s", x.order, x.choice, got.PermissionType, got.GrantedPermissions)
		}
	}
}

// What is decided over HTTP is decided: the card on Discord says so, and its buttons are gone.
// R129
func TestTheAPIDecidesADiscordCard(t *testing.T) {
	t.Parallel()
	tales(t, guildSettings{env: map[string]string{"ADMIN_SESSION_KEYS": "boss-key-of-16-bytes"}}, map[string]tale{
		"approve": func(t *testing.T, g *guild) { decideByAPIOnDiscord(t, g, true) },
		"deny":    func(t *testing.T, g *guild) { decideByAPIOnDiscord(t, g, false) },
	})
}

func decideByAPIOnDiscord(t *testing.T, g *guild, approved bool) {
	order, args := write(t)
	k := g.mention(t, order)
	id := k.asking(1)
	allow := k.nth(id, "Allow once", 0)
	request := regexp.MustCompile(`[A-Z2-7]{20,}`).FindString(allow.ID)
	body := map[string]any{"request_id": request, "approved": approved}
	somebody, boss := g.bots[0].session("Ana"), &person{t: t, b: g.bots[0], key: "boss-key-of-16-bytes"}
	if status, no := somebody.call("POST", "/api/v1/tools/approve", body, nil); status != http.StatusForbidden {
		t.Errorf("somebody of the web: %d %+v", status, no)
	}
	var d decisionForm
	if status, no := boss.call("POST", "/api/v1/tools/approve", body, &d); status != http.StatusOK || d.Approved != approved || d.RequestID != request {
		t.Fatalf("an admin, about %q: %d %+v %+v", allow.ID, status, no, d)
	}
	if approved {
		k.done(id, "gave: written", "allowed once by")
	} else {
		k.done(id, "was denied", "denied by")
	}
	if n := g.wrote(t, args); n != map[bool]int{true: 1, false: 0}[approved] {
		t.Errorf("it ran %d times", n)
	}
}

// What is decided over HTTP is decided: the card on Slack says so, and its buttons are gone.
// R129 C18
func TestTheAPIDecidesASlackCard(t *testing.T) {
	t.Parallel()
	stories(t, officeSettings{env: map[string]string{"ADMIN_SESSION_KEYS": "boss-key-of-16-bytes"}}, map[string]story{
		"approve": func(t *testing.T, o *office) { decideByAPI(t, o, true) },
		"deny":    func(t *testing.T, o *office) { decideByAPI(t, o, false) },
	})
}

func decideByAPI(t *testing.T, o *office, approved bool) {
	order, args := write(t)
	th := o.mention(t, order)
	ts := th.asking(1)
	allow := th.nth(ts, "Allow once", 0)
	body := map[string]any{"request_id": allow.Value, "approved": approved}
	somebody, boss := o.bots[0].session("Ana"), &person{t: t, b: o.bots[0], key: "boss-key-of-16-bytes"}
	if status, no := somebody.call("POST", "/api/v1/tools/approve", body, nil); status != http.StatusForbidden {
		t.Errorf("somebody of the web: %d %+v", status, no)
	}
	if n := o.wrote(t, args); n != 0 || count(th.buttons(ts), "Allow once") != 1 {
		t.Fatalf("a refused answer changed the card, or it ran %d times: %s", n, th)
	}
	var d decisionForm
	if status, no := boss.call("POST", "/api/v1/tools/approve", body, &d); status != http.StatusOK || d.Approved != approved || d.RequestID != allow.Value {
		t.Fatalf("an admin: %d %+v %+v", status, no, d)
	}
	if approved {
		th.done(ts, "gave: written", "allowed once by")
	} else {
		th.done(ts, "was denied", "denied by")
	}
	if n := o.wrote(t, args); n != map[bool]int{true: 1, false: 0}[approved] {
		t.Errorf("it ran %d times", n)
	}
	th.press(ana, ts, allow)
	th.told(ana, "Already ")
}
