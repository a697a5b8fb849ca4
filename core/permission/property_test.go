package permission

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission/canonical"
	"github.com/nodhq/nod/core/permission/pin"
)

// Small pools make collisions likely: a property about "another tool" is worth nothing where no two are ever alike.
var (
	drawServer = rapid.SampledFrom([]string{"a", "a_b", "files"})
	drawName   = rapid.SampledFrom([]string{"c", "b_c", "read_file", "delete_file", "list_directory", "system_shutdown", "plain"})
	drawDigest = rapid.SampledFrom([]Digest{"d1", "d2"})
	drawUser   = rapid.SampledFrom([]chat.User{ana, ben, boss, {}, {Platform: "web", Key: "UANA"}})
	drawChat   = rapid.SampledFrom([]chat.ID{here, there, {Platform: "slack", Workspace: "T2", Key: "C1/1"}, {}})
	drawHint   = rapid.SampledFrom([]*bool{nil, nil, yes, no})
	drawBool   = rapid.Bool()
	drawTime   = rapid.Custom(func(t *rapid.T) time.Time {
		return noon.Add(time.Duration(rapid.IntRange(-3, 3).Draw(t, "min")) * time.Minute)
	})
	drawTool = rapid.Custom(func(t *rapid.T) Tool {
		return Tool{drawServer.Draw(t, "server"), drawName.Draw(t, "name"), drawDigest.Draw(t, "definition")}
	})
	drawHints = rapid.Custom(func(t *rapid.T) Hints {
		return Hints{drawHint.Draw(t, "readOnly"), drawHint.Draw(t, "destructive"), drawHint.Draw(t, "idempotent"), drawHint.Draw(t, "openWorld")}
	})
	drawSettings = rapid.Custom(func(t *rapid.T) ToolSettings {
		s := ToolSettings{Ask: rapid.SampledFrom([]Prompt{Inherit, Inherit, AlwaysAsk, NeverAsk}).Draw(t, "ask")}
		s.Access = rapid.SampledFrom([]*Access{nil, nil, new(Read), new(Write)}).Draw(t, "access")
		s.Risk = rapid.SampledFrom([]*Risk{nil, nil, new(Safe), new(Dangerous)}).Draw(t, "risk")
		s.Approval = rapid.SampledFrom([]*Approval{nil, nil, nil, new(AutoApprove), new(RequireConfirmation), new(RequireAuth)}).Draw(t, "approval")
		s.ChatGrant = drawHint.Draw(t, "chatGrant")
		s.Accepted = rapid.SampledFrom([]Digest{"", "", "d1"}).Draw(t, "accepted")
		s.Reads = drawBool.Draw(t, "accepted as a read")
		return s
	})
	drawGrant = rapid.Custom(func(t *rapid.T) Grant {
		g := Grant{ID: "g", Chat: drawChat.Draw(t, "chat"), Tool: drawTool.Draw(t, "tool"), By: drawUser.Draw(t, "by"), At: drawTime.Draw(t, "at")}
		g.Scope = Scope(rapid.IntRange(0, 3).Draw(t, "scope"))
		g.Tools = rapid.SliceOfN(drawTool, 0, 4).Draw(t, "tools")
		if rapid.IntRange(0, 3).Draw(t, "ends") == 0 {
			g.Until = drawTime.Draw(t, "until")
		}
		if rapid.IntRange(0, 3).Draw(t, "counts") == 0 {
			g.Counted, g.Uses = true, rapid.IntRange(0, 2).Draw(t, "uses")
		}
		return g
	})
)

func drawWorld(t *rapid.T) (Policy, []Grant, Request) {
	req := Request{
		Chat: rapid.SampledFrom([]chat.ID{here, here, there}).Draw(t, "chat"), Requester: rapid.SampledFrom([]chat.User{ana, ana, ben}).Draw(t, "requester"),
		Present: []chat.User{ana, ben}, Mode: Mode(rapid.SampledFrom([]int{0, 0, 0, 1, 2}).Draw(t, "mode")), ModeAt: drawTime.Draw(t, "modeAt"),
		Tool: drawTool.Draw(t, "tool"), Source: Source(rapid.IntRange(0, 1).Draw(t, "source")), Hints: drawHints.Draw(t, "hints"),
		Metadata: rapid.SampledFrom([]Metadata{{}, {Access: Read, Risk: Safe, Approval: AutoApprove}, {Access: Write}, {Approval: RequireAuth}}).Draw(t, "metadata"),
		Args:     json.RawMessage(`{"m":"GET"}`),
	}
	p := Policy{
		Installed: true, Posture: Posture(rapid.IntRange(0, 1).Draw(t, "posture")), Mode: Mode(rapid.SampledFrom([]int{0, 0, 1, 2}).Draw(t, "default mode")),
		Approvers: Approvers{Rule: ApproverRule(rapid.IntRange(0, 3).Draw(t, "approvers")), Users: []chat.User{ben}},
		Admins:    []chat.User{boss}, SurviveRestart: drawBool.Draw(t, "survive"), Epoch: uint64(rapid.IntRange(0, 1).Draw(t, "epoch")),
	}
	p = with(p, req.Tool.Server, ServerSettings{
		Ask: rapid.SampledFrom([]Prompt{Inherit, Inherit, AlwaysAsk, NeverAsk}).Draw(t, "server ask"), Trusted: drawBool.Draw(t, "trusted"),
		Tools: tools(req.Tool.Name, drawSettings.Draw(t, "settings")),
	})
	grants := rapid.SliceOfN(drawGrant, 0, 3).Draw(t, "grants")
	for i := range grants { // most grants are near misses of this call
		if rapid.IntRange(0, 4).Draw(t, "near") > 0 {
			grants[i].Chat, grants[i].Tool = req.Chat, req.Tool
			grants[i].Tools = append(grants[i].Tools, req.Tool)
		}
	}
	return p, grants, req
}

// A tool is offered as it would be ruled, without the sentences.
func TestOfferedIsWhatIsNotForbidden(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, grants, req := drawWorld(t)
		p.Installed, p.AllowAll = rapid.IntRange(0, 4).Draw(t, "installed") > 0, rapid.IntRange(0, 4).Draw(t, "allow all") == 0
		req.Unattended = drawBool.Draw(t, "unattended")
		if rapid.IntRange(0, 4).Draw(t, "halted") == 0 {
			p.Halted = &Halt{}
		}
		server := p.Servers[req.Tool.Server]
		set := server.Tools[req.Tool.Name]
		set.Disabled = rapid.IntRange(0, 4).Draw(t, "off") == 0
		set.Rules = rapid.SliceOfN(rapid.SampledFrom([]Rule{letsGET, asksPUT, refusesRM}), 0, 2).Draw(t, "rules")
		server.Tools = tools(req.Tool.Name, set)
		p = with(p, req.Tool.Server, server)
		if rapid.IntRange(0, 2).Draw(t, "denied") == 0 {
			p.Remembered = []Remembered{{ID: "r", By: req.Requester, Tool: req.Tool, Choice: StandDeny}}
		}
		open := req
		open.Unwritten = true
		r := Evaluate(p, grants, open, noon)
		want := r.Verdict != Forbid || !req.Unattended && r.Winner() == RuleRemembered
		if got := Offered(p, grants, req, noon); got != want {
			t.Fatalf("offered: %v, and ruled %v by %s", got, r.Verdict, r.Winner())
		}
	})
}

// P8: a grant never covers another tool, definition, server or chat, whatever else is set; and what it covers, its
// granter may decide now.
func TestGrantNeverWidens(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, grants, req := drawWorld(t)
		for _, g := range grants {
			ok, why := Covers(p, g, req, noon)
			if why == "" {
				t.Fatal("no reason")
			}
			if !ok {
				continue
			}
			same := g.Tool == req.Tool
			if g.Scope != ScopeTool {
				same = g.Tool.Server == req.Tool.Server && slices.Contains(g.Tools, req.Tool)
			}
			e := p.Get(req.Tool, req.Source, req.Hints, req.Metadata)
			switch {
			case !same:
				t.Fatalf("%+v covers %+v", g, req.Tool)
			case g.Chat != req.Chat:
				t.Fatal("another chat")
			case MayDecide(p, req, LevelUser, g.By) != nil:
				t.Fatal("its granter may not decide this")
			case e.Approval == RequireAuth:
				t.Fatal("RequireAuth")
			case g.Scope != ScopeTool && e.Risk == Dangerous && (g.Scope != ScopeServer || g.By != boss):
				t.Fatal("dangerous")
			case g.Scope == ScopeReads && e.Access != Read, g.Scope == ScopeWrites && !e.Classified:
				t.Fatal("access")
			}
			narrow := g
			narrow.Pins = []pin.Pin{{Path: "m", Value: json.RawMessage(`"PUT"`)}}
			if ok, _ := Covers(p, narrow, req, noon); ok {
				t.Fatal("outside its pins")
			}
		}
	})
}

// The worlds that the properties draw are not all alike: in a fixed sample of them every verdict occurs, and grants of every
// scope cover something. Else the properties would say nothing.
func TestWorldsDiffer(t *testing.T) {
	type world struct {
		p      Policy
		grants []Grant
		req    Request
	}
	draw := rapid.Custom(func(t *rapid.T) world {
		p, grants, req := drawWorld(t)
		return world{p, grants, req}
	})
	verdicts, scopes := map[Verdict]int{}, map[Scope]int{}
	for seed := range 1500 {
		w := draw.Example(seed)
		w.req.Unattended = seed%10 == 0
		r := Evaluate(w.p, w.grants, w.req, noon)
		verdicts[r.Verdict]++
		for _, g := range w.grants {
			if ok, _ := Covers(w.p, g, w.req, noon); ok {
				scopes[g.Scope]++
			}
		}
	}
	if len(verdicts) != 3 || len(scopes) != 4 {
		t.Errorf("verdicts %v, covering scopes %v", verdicts, scopes)
	}
	t.Log(verdicts, scopes)
}

// More caution never lets run what did not run before.
func TestCautionIsMonotone(t *testing.T) {
	settings := func(p *Policy, req Request, f func(*ServerSettings, *ToolSettings)) {
		s := p.Servers[req.Tool.Server]
		x := s.Tools[req.Tool.Name]
		f(&s, &x)
		s.Tools = tools(req.Tool.Name, x)
		*p = with(*p, req.Tool.Server, s)
	}
	cautions := map[string]func(*Policy, *Request){
		"destructiveHint": func(_ *Policy, r *Request) { r.Hints.Destructive = yes },
		"not read-only": func(p *Policy, r *Request) {
			if r.Hints.ReadOnly != nil || r.Source == SourceMCP && !p.Servers[r.Tool.Server].Trusted {
				r.Hints.ReadOnly = no // from a trusted server that said nothing before, it classifies the tool: that is no caution
			}
		},
		"openWorldHint":  func(_ *Policy, r *Request) { r.Hints.OpenWorld = yes },
		"not idempotent": func(_ *Policy, r *Request) { r.Hints.Idempotent = no },
		"untrusted": func(p *Policy, r *Request) {
			settings(p, *r, func(s *ServerSettings, _ *ToolSettings) { s.Trusted = false })
		},
		"server always asks": func(p *Policy, r *Request) {
			settings(p, *r, func(s *ServerSettings, _ *ToolSettings) { s.Ask = AlwaysAsk })
		},
		"tool always asks": func(p *Policy, r *Request) {
			settings(p, *r, func(_ *ServerSettings, x *ToolSettings) { x.Ask = AlwaysAsk })
		},
		"RequireAuth": func(p *Policy, r *Request) {
			settings(p, *r, func(_ *ServerSettings, x *ToolSettings) { x.Approval = new(RequireAuth) })
		},
		"RequireConfirmation": func(p *Policy, r *Request) {
			settings(p, *r, func(_ *ServerSettings, x *ToolSettings) {
				if p.Get(r.Tool, r.Source, r.Hints, r.Metadata).Approval != RequireAuth {
					x.Approval = new(RequireConfirmation)
				}
			})
		},
		"dangerous": func(p *Policy, r *Request) {
			settings(p, *r, func(_ *ServerSettings, x *ToolSettings) { x.Risk = new(Dangerous) })
		},
		"disabled": func(p *Policy, r *Request) {
			settings(p, *r, func(_ *ServerSettings, x *ToolSettings) { x.Disabled = true })
		},
		"grants withheld": func(p *Policy, r *Request) {
			settings(p, *r, func(_ *ServerSettings, x *ToolSettings) { x.ChatGrant = no })
		},
		"another definition accepted": func(p *Policy, r *Request) {
			settings(p, *r, func(_ *ServerSettings, x *ToolSettings) { x.Accepted = "d9" })
		},
		"session always":  func(_ *Policy, r *Request) { r.Mode = ModeAlways },
		"posture all":     func(p *Policy, _ *Request) { p.Posture = PostureAll },
		"unattended":      func(_ *Policy, r *Request) { r.Unattended = true },
		"nobody present":  func(_ *Policy, r *Request) { r.Present = nil },
		"requester only":  func(p *Policy, r *Request) { p.Approvers = Approvers{Rule: 9} },
		"no admins":       func(p *Policy, _ *Request) { p.Admins = nil },
		"a restart":       func(p *Policy, _ *Request) { p.Epoch, p.SurviveRestart = 7, false },
		"policy is gone":  func(p *Policy, _ *Request) { *p = Policy{} },
		"stranger's tool": func(_ *Policy, r *Request) { r.Metadata.Approval = RequireAuth },
	}
	names := slices.Sorted(func(yield func(string) bool) {
		for n := range cautions {
			if !yield(n) {
				return
			}
		}
	})
	rapid.Check(t, func(t *rapid.T) {
		p, grants, req := drawWorld(t)
		before := Evaluate(p, grants, req, noon)
		name := rapid.SampledFrom(names).Draw(t, "caution")
		cautions[name](&p, &req)
		after := Evaluate(p, grants, req, noon)
		if before.Verdict != Allow && after.Verdict == Allow {
			t.Fatalf("%s made %v into Allow:\nbefore %+v\nafter  %+v", name, before.Verdict, before.Reasons, after.Reasons)
		}
		if before.Level == LevelAdmin && after.Level != LevelAdmin && after.Verdict != Forbid {
			t.Fatalf("%s removed the admin level", name)
		}
	})
}

// For an MCP server a name of the table may only raise caution.
// C4
func TestNamesOnlyRaise(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, _, req := drawWorld(t)
		plain := req.Tool
		plain.Name = "nothing_of_the_table"
		s := p.Servers[req.Tool.Server]
		s.Tools = map[string]ToolSettings{plain.Name: s.Tools[req.Tool.Name], req.Tool.Name: s.Tools[req.Tool.Name]}
		p = with(p, req.Tool.Server, s)
		a := p.Get(plain, SourceMCP, req.Hints, req.Metadata)
		b := p.Get(req.Tool, SourceMCP, req.Hints, req.Metadata)
		if b.Approval.rank() < a.Approval.rank() || b.Risk.rank() < a.Risk.rank() || a.Access == Write && b.Access == Read || !a.Classified && b.Classified {
			t.Fatalf("%s lowers %+v to %+v", req.Tool.Name, a, b)
		}
	})
}

// Evaluate is a function: the same again, its arguments untouched, one winner, and grants in any order give the same verdict.
func TestEvaluateIsPure(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, grants, req := drawWorld(t)
		p0, g0, r0 := fmt.Sprintf("%+v", p), slices.Clone(grants), fmt.Sprintf("%+v", req)
		r := Evaluate(p, grants, req, noon)
		if fmt.Sprintf("%+v", p) != p0 || !reflect.DeepEqual(grants, g0) || fmt.Sprintf("%+v", req) != r0 {
			t.Fatal("changed its arguments")
		}
		if !reflect.DeepEqual(r, Evaluate(p, grants, req, noon)) {
			t.Fatal("not the same again")
		}
		slices.Reverse(grants)
		if v := Evaluate(p, grants, req, noon).Verdict; v != r.Verdict {
			t.Fatalf("%v, and %v with the grants reversed", r.Verdict, v)
		}
		won := 0
		for _, x := range r.Reasons {
			if x.Won {
				won++
			}
		}
		if won != 1 || r.Why() == "" {
			t.Fatalf("%d winners", won)
		}
		if (r.Grant != "") && r.Verdict != Allow || r.ChatGrant && (r.Verdict != Ask || r.Level != LevelUser) || r.Verdict == Ask && r.Approval == AutoApprove {
			t.Fatalf("%+v", r)
		}
	})
}

// Two spellings of the same arguments have one canonical form.
func TestOneFormOfArguments(t *testing.T) {
	var draw func(t *rapid.T, depth int) any
	text := rapid.StringOf(rapid.SampledFrom([]rune("ab\"\\/\n\u0000<é😀\u2028")))
	draw = func(t *rapid.T, depth int) any {
		top := 5
		if depth == 0 {
			top = 2
		}
		switch rapid.IntRange(0, top).Draw(t, "kind") {
		case 0:
			return text.Draw(t, "text")
		case 1:
			return json.Number(rapid.SampledFrom([]string{"0", "-0", "1.0", "1e400", "9007199254740993"}).Draw(t, "number"))
		case 2:
			return rapid.SampledFrom([]any{true, false, nil}).Draw(t, "word")
		case 3:
			list := []any{}
			for range rapid.IntRange(0, 3).Draw(t, "n") {
				list = append(list, draw(t, depth-1))
			}
			return list
		}
		o := map[string]any{}
		for range rapid.IntRange(0, 4).Draw(t, "n") {
			o[text.Draw(t, "key")] = draw(t, depth-1)
		}
		return o
	}
	rapid.Check(t, func(t *rapid.T) {
		v := map[string]any{"root": draw(t, 3), "other": draw(t, 2)}
		space := func() string { return rapid.SampledFrom([]string{"", "", " ", "\n\t"}).Draw(t, "space") }
		var spell func(v any) string
		str := func(s string) string {
			var b strings.Builder
			for _, r := range s {
				switch {
				case rapid.IntRange(0, 2).Draw(t, "escape") == 0 && r < 0x10000:
					fmt.Fprintf(&b, `\u%04X`, r)
				case r == '"' || r == '\\':
					b.WriteString(`\` + string(r))
				case r < ' ':
					fmt.Fprintf(&b, `\u%04x`, r)
				default:
					b.WriteRune(r)
				}
			}
			return `"` + b.String() + `"`
		}
		spell = func(v any) string {
			switch v := v.(type) {
			case string:
				return str(v)
			case map[string]any:
				var parts []string
				for k, x := range v { // in the map's random order
					parts = append(parts, space()+str(k)+space()+":"+space()+spell(x)+space())
				}
				return "{" + strings.Join(parts, ",") + "}"
			case []any:
				var parts []string
				for _, x := range v {
					parts = append(parts, space()+spell(x)+space())
				}
				return "[" + strings.Join(parts, ",") + "]"
			}
			b, _ := json.Marshal(v)
			return string(b)
		}
		a, err := canonical.Arguments([]byte(spell(v)))
		if err != nil {
			t.Fatal(err)
		}
		b, err := canonical.Arguments([]byte(space() + spell(v)))
		if err != nil || string(a) != string(b) {
			t.Fatalf("%s\n%s\n%v", a, b, err)
		}
	})
}

// Different calls have different digests, however their fields run together.
func TestDigestsDiffer(t *testing.T) {
	field := rapid.StringOfN(rapid.SampledFrom([]rune("ab")), 0, 3, -1)
	rapid.Check(t, func(t *rapid.T) {
		draw := func() [7]string {
			var f [7]string
			for i := range f {
				f[i] = field.Draw(t, "field")
			}
			return f
		}
		d := func(f [7]string) Digest {
			return CallDigest(chat.ID{Platform: f[0], Workspace: f[1], Key: f[2]}, Tool{f[3], f[4], Digest(f[5])}, []byte(f[6]))
		}
		a := draw()
		b := a
		i := rapid.IntRange(0, 5).Draw(t, "boundary") // move a byte over a boundary, which keeps the joined text
		if b[i] == "" {
			b = draw()
		} else {
			b[i+1] = b[i][len(b[i])-1:] + b[i+1]
			b[i] = b[i][:len(b[i])-1]
		}
		if (a == b) != (d(a) == d(b)) {
			t.Fatalf("%q and %q", a, b)
		}
	})
}
