package permission

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/nodhq/nod/core/chat"
)

var (
	reading = Tool{Server: "mail", Name: "list", Definition: "d1"}
	inside  = Hints{ReadOnly: new(true)}
)

// acceptedRead are settings in which an admin accepted the tool as a read.
func acceptedRead(t *testing.T, k Tool) Settings {
	return after(t, Settings{}, saw(k, false, true), AcceptReads{Tool: k})
}

func asked(s Settings, p Policy, req Request) Ruling { return Evaluate(s.Over(p), nil, req, noon) }

func reads(k Tool, h Hints) Request {
	req := call(k)
	req.Hints = h
	return req
}

// What an admin accepted as a read runs unasked, and nothing else does: not what only claims to read, what was only looked at, what changed
// since, what the server calls by another name, or what anybody says more of than that it reads inside.
// R16 C4
func TestOnlyAcceptedReadsRunUnasked(t *testing.T) {
	s := acceptedRead(t, reading)
	r := asked(s, installed(), reads(reading, inside))
	if r.Verdict != Allow || r.Winner() != RuleSource || r.Access != Read || r.Risk != Safe || r.Why() != "An admin accepted that list of mail only reads." {
		t.Fatalf("accepted: %v %s", r.Verdict, r.Why())
	}
	for h, says := range map[Hints]bool{inside: true, {}: false} { // what is not believed is said
		if asked(Settings{}, installed(), reads(reading, h)).SaysReads != says || r.SaysReads {
			t.Errorf("says that it reads, %+v: %v; accepted: %v", h, !says, r.SaysReads)
		}
	}
	changed, other, elsewhere := reading, reading, reading
	changed.Definition, other.Name, elsewhere.Server = "d2", "burn", "post"
	set := func(field, value string) Change { return set("mail", "list", field, value) }
	advice := func(a Access, risk Risk) Change { return Analysis{Tool: reading, Access: a, Risk: risk} }
	for name, c := range map[string]struct {
		s   Settings
		req Request
	}{
		"only claims to":           {Settings{}, reads(reading, inside)},
		"only seen":                {after(t, Settings{}, saw(reading, false, true)), reads(reading, inside)},
		"only looked at":           {after(t, Settings{}, saw(reading, false, true), accept(reading)), reads(reading, inside)},
		"changed, not heard yet":   {s, reads(changed, inside)},
		"changed":                  {after(t, s, saw(changed, false, true)), reads(changed, inside)},
		"changed, then looked at":  {after(t, s, saw(changed, false, true), accept(changed)), reads(changed, inside)},
		"changed, without a name":  {s, reads(Tool{Server: "mail", Name: "list"}, inside)},
		"taken back":               {after(t, s, AcceptReads{Tool: reading, Off: true}), reads(reading, inside)},
		"another tool":             {s, reads(other, inside)},
		"another server":           {s, reads(elsewhere, inside)},
		"says nothing":             {s, reads(reading, Hints{})},
		"says that it writes":      {s, reads(reading, Hints{ReadOnly: new(false)})},
		"says that it destroys":    {s, reads(reading, Hints{ReadOnly: new(true), Destructive: new(true)})},
		"reaches out":              {s, reads(reading, Hints{ReadOnly: new(true), OpenWorld: new(true)})},
		"an admin says it writes":  {after(t, s, set("access", "write")), reads(reading, inside)},
		"an admin calls it bad":    {after(t, s, set("risk", "dangerous")), reads(reading, inside)},
		"an admin has it asked":    {after(t, s, set("ask", "always")), reads(reading, inside)},
		"an admin has it confirm":  {after(t, s, set("approval", "RequireConfirmation")), reads(reading, inside)},
		"an admin's alone":         {after(t, s, set("approval", "RequireAuth")), reads(reading, inside)},
		"a model says it writes":   {after(t, s, advice(Write, Safe)), reads(reading, inside)},
		"a model calls it bad":     {after(t, s, advice(Read, Dangerous)), reads(reading, inside)},
		"the server always asks":   {after(t, s, Setting{Server: "mail", Field: "ask", Value: "always"}), reads(reading, inside)},
		"the chat always asks":     {s, func() Request { r := reads(reading, inside); r.Mode = ModeAlways; return r }()},
		"for a visitor":            {s, func() Request { r := reads(reading, inside); r.Standing = chat.Visitor; return r }()},
		"for who is not known":     {s, func() Request { r := reads(reading, inside); r.Standing = chat.Untold; return r }()},
		"its metadata says more":   {s, func() Request { r := reads(reading, inside); r.Metadata.Risk = Dangerous; return r }()},
		"its metadata says writes": {s, func() Request { r := reads(reading, inside); r.Metadata.Access = Write; return r }()},
		"the person wants to be":   {after(t, s, Remembered{ID: "r", By: ana, Tool: reading, Choice: StandAsk}), reads(reading, inside)},
	} {
		if r := asked(c.s, installed(), c.req); r.Verdict != Ask || strings.HasPrefix(r.Why(), "An admin accepted") {
			t.Errorf("%s: %v, %s", name, r.Verdict, r.Why())
		}
	}
	for _, name := range []string{"write_file", "delete_file", "gmail_send", "system_shutdown"} { // names add caution
		k := Tool{Server: "mail", Name: name, Definition: "d1"}
		if r := asked(acceptedRead(t, k), installed(), reads(k, inside)); r.Verdict != Ask {
			t.Errorf("%s: %v, %s", name, r.Verdict, r.Why())
		}
	}
	inert(t, s, AcceptReads{Tool: reading})
	inert(t, after(t, s, AcceptReads{Tool: reading, Off: true}), AcceptReads{Tool: reading, Off: true})
	if r := asked(after(t, s, saw(changed, false, true), AcceptReads{Tool: changed}), installed(), reads(changed, inside)); r.Verdict != Allow {
		t.Errorf("changed, and accepted as that: %s", r.Why())
	}
	back := after(t, s, saw(changed, false, true), saw(reading, false, true))
	if r := asked(back, installed(), reads(reading, inside)); r.Verdict != Allow {
		t.Errorf("as it was accepted, again: %s", r.Why())
	}
	// Nobody said that it reads but the admins, twice: what it is, and that it is accepted so.
	if r := asked(after(t, s, set("access", "read")), installed(), reads(reading, Hints{})); r.Verdict != Allow {
		t.Errorf("an admin says that it reads: %s", r.Why())
	}
	for _, h := range []Hints{{ReadOnly: new(false)}, {Destructive: new(true)}, {OpenWorld: new(true)}} {
		if r := asked(after(t, s, set("access", "read")), installed(), reads(reading, h)); r.Verdict != Ask {
			t.Errorf("an admin says that it reads, its server %+v: %v", h, r.Verdict)
		}
	}
}

// An acceptance as a read is believed only where all of it is there: whatever else a policy may hold.
func TestAcceptedReadsNeedAllOfIt(t *testing.T) {
	whole := ToolSettings{Reads: true, Accepted: "d1"}
	for name, c := range map[string]struct {
		set  ToolSettings
		tool Tool
		src  Source
		want bool
	}{
		"all of it":            {whole, reading, SourceMCP, true},
		"nobody accepted it":   {ToolSettings{Reads: true, Accepted: "d1", New: true}, reading, SourceMCP, false},
		"nothing is recorded":  {ToolSettings{Reads: true}, reading, SourceMCP, false},
		"of nothing":           {ToolSettings{Reads: true}, Tool{Server: "mail", Name: "list"}, SourceMCP, false},
		"of another":           {ToolSettings{Reads: true, Accepted: "d2"}, reading, SourceMCP, false},
		"of our own":           {whole, reading, SourceWorkbench, false},
		"not as a read at all": {ToolSettings{Accepted: "d1"}, reading, SourceMCP, false},
	} {
		p := with(installed(), "mail", ServerSettings{Tools: tools("list", c.set)})
		if e := p.Get(c.tool, c.src, inside, Metadata{}); e.Reads != c.want || c.src == SourceMCP && ((e.Approval == AutoApprove) != c.want || (e.ApprovalFrom == FromAccepted) != c.want) {
			t.Errorf("%s: reads %v, %v by %s", name, e.Reads, e.Approval, e.ApprovalFrom)
		}
	}
	// What a tool declares beside its annotations makes it no less careful, for a trusted server neither.
	for _, m := range []Metadata{{Access: Write, Approval: AutoApprove}, {Risk: Dangerous, Approval: AutoApprove}} {
		for _, trusted := range []bool{false, true} {
			p := with(installed(), "mail", ServerSettings{Trusted: trusted, Tools: tools("list", whole)})
			if e := p.Get(reading, SourceMCP, inside, m); e.Approval == AutoApprove {
				t.Errorf("%+v, trusted %v: %v", m, trusted, e.Approval)
			}
		}
	}
}

// In no world does an acceptance as a read let run what writes, what nobody classified, or what changed; and it adds to no other rule.
func TestAcceptingReadsLetsNoWriteRun(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, grants, req := drawWorld(t)
		server := p.Servers[req.Tool.Server]
		set := server.Tools[req.Tool.Name]
		if rapid.IntRange(0, 4).Draw(t, "near") > 0 { // most are near misses of an accepted read
			req.Source, req.Metadata, req.Tool.Definition, set.Accepted = SourceMCP, Metadata{}, "d1", "d1"
			set.New = rapid.IntRange(0, 4).Draw(t, "new") == 0
			if rapid.Bool().Draw(t, "one that says it reads") {
				req.Hints = Hints{ReadOnly: yes}
			}
		}
		rule := func(reads bool) Ruling {
			set.Reads = reads
			server.Tools = tools(req.Tool.Name, set)
			return Evaluate(with(p, req.Tool.Server, server), grants, req, noon)
		}
		was, is := rule(false), rule(true)
		if was.Verdict == is.Verdict {
			return
		}
		if was.Verdict != Ask || is.Verdict != Allow {
			t.Fatalf("%v became %v", was.Verdict, is.Verdict)
		}
		switch {
		case req.Source != SourceMCP, req.Tool.Definition != set.Accepted, set.New:
			t.Fatalf("%+v runs, accepted is %s", req.Tool, set.Accepted)
		case is.Access != Read, is.Risk == Dangerous, set.Access != nil && *set.Access != Read:
			t.Fatalf("%v %v runs", is.Access, is.Risk)
		case req.Hints.Destructive == yes, req.Hints.ReadOnly == no, req.Hints.OpenWorld == yes, req.Hints.ReadOnly != yes && set.Access == nil:
			t.Fatalf("%+v runs", req.Hints)
		case is.Winner() != RuleSource && is.Winner() != RuleGrant:
			t.Fatalf("by %s", is.Winner())
		case req.Mode == ModeAlways && is.Winner() != RuleGrant:
			t.Fatal("in a chat that always asks")
		}
	})
	look := Request{Chat: here, Requester: ana, Tool: Tool{"a", "look", "d1"}, Source: SourceMCP, Hints: Hints{ReadOnly: yes}}
	for reads, want := range map[bool]Verdict{false: Ask, true: Allow} { // else none of it would say anything
		p := with(Policy{Installed: true}, "a", ServerSettings{Tools: tools("look", ToolSettings{Accepted: "d1", Reads: reads})})
		if got := Evaluate(p, nil, look, noon).Verdict; got != want {
			t.Errorf("accepted as a read %v: %v, want %v", reads, got, want)
		}
	}
}

// Whatever is seen and accepted in whatever order, a pin says "accepted as a read" of that definition only of which an admin said so last.
func TestReadsArePinned(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var s Settings
		var said Digest // of which the last word was that it reads
		for i := range rapid.IntRange(1, 20).Draw(t, "changes") {
			k := reading
			k.Definition = rapid.SampledFrom([]Digest{"d1", "d2"}).Draw(t, "definition")
			before, _ := s.Pin(k)
			var c Change
			switch rapid.IntRange(0, 3).Draw(t, "kind") {
			case 0:
				c = saw(k, false, true)
			case 1:
				c = Accept(k)
			case 2:
				c = AcceptReads{Tool: k}
			case 3:
				c = AcceptReads{Tool: k, Off: true}
			}
			next, moved := s.Apply(c, boss, "Boss", noon.Add(time.Duration(i)))
			if x, ok := c.(AcceptReads); ok && moved && !x.Off {
				said = k.Definition
			} else if _, ok := c.(Accept); moved && (ok || x.Off) {
				said = ""
			}
			if ok := reflect.DeepEqual(next, s); ok == moved {
				t.Fatalf("%s: moved %v", c, moved)
			}
			s = next
			is, _ := s.Pin(k)
			if is.Reads != (said != "") || is.Reads && (is.Counts != said || !is.Accepted) {
				t.Fatalf("%s: %+v after %+v, said %q", c, is, before, said)
			}
		}
	})
}

// The groups in which an admin is shown a server's tools. Accepting as reads lets exactly the group of the reads run.
func TestWhatToolsDo(t *testing.T) {
	for _, c := range []struct {
		name string
		h    Hints
		set  ToolSettings
		want Does
	}{
		{"list", Hints{}, ToolSettings{}, DoesNobodyKnows},
		{"list", Hints{ReadOnly: new(true)}, ToolSettings{}, DoesRead},
		{"list", Hints{ReadOnly: new(true), OpenWorld: new(false)}, ToolSettings{}, DoesRead},
		{"list", Hints{ReadOnly: new(true), OpenWorld: new(true)}, ToolSettings{}, DoesReach},
		{"list", Hints{ReadOnly: new(true), Destructive: new(true)}, ToolSettings{}, DoesDestroy},
		{"list", Hints{ReadOnly: new(false)}, ToolSettings{}, DoesChange},
		{"list", Hints{Destructive: new(true)}, ToolSettings{}, DoesDestroy},
		{"list", Hints{OpenWorld: new(true)}, ToolSettings{}, DoesNobodyKnows},
		{"list", Hints{}, ToolSettings{Access: new(Read)}, DoesRead},
		{"list", Hints{ReadOnly: new(false)}, ToolSettings{Access: new(Read)}, DoesChange},
		{"list", Hints{ReadOnly: new(true)}, ToolSettings{Access: new(Write)}, DoesChange},
		{"list", Hints{ReadOnly: new(true)}, ToolSettings{Risk: new(Dangerous)}, DoesDestroy},
		{"list", Hints{ReadOnly: new(true), Destructive: new(true)}, ToolSettings{Risk: new(Safe)}, DoesNobodyKnows},
		{"list", Hints{ReadOnly: new(true), Destructive: new(true)}, ToolSettings{Access: new(Read), Risk: new(Safe)}, DoesNobodyKnows},
		{"read_file", Hints{}, ToolSettings{}, DoesNobodyKnows},
		{"write_file", Hints{ReadOnly: new(true)}, ToolSettings{}, DoesChange},
		{"delete_file", Hints{ReadOnly: new(true)}, ToolSettings{}, DoesDestroy},
	} {
		for _, trusted := range []bool{false, true} {
			k := Tool{Server: "mail", Name: c.name, Definition: "d1"}
			p := with(installed(), "mail", ServerSettings{Trusted: trusted, Tools: tools(c.name, c.set)})
			got := p.Does(k, SourceMCP, c.h, Metadata{})
			if got != c.want {
				t.Errorf("%s %+v %+v, trusted %v: %v, want %v", c.name, c.h, c.set, trusted, got, c.want)
			}
			r := asked(acceptedRead(t, k), p, reads(k, c.h))
			if (r.Verdict == Allow) != (got == DoesRead) {
				t.Errorf("%s %+v %+v: group %v, and accepted as a read it is %v", c.name, c.h, c.set, got, r.Verdict)
			}
		}
	}
	for name, want := range map[string]Does{"read_file": DoesRead, "thing": DoesNobodyKnows} {
		if got := installed().Does(Tool{Server: "own", Name: name}, SourceWorkbench, Hints{}, Metadata{}); got != want {
			t.Errorf("our own %s: %v", name, got)
		}
	}
}
