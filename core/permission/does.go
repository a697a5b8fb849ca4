package permission

// Does is what a tool is for, as people are asked to accept it: what its server claims, or anybody who is believed says, whichever is
// worse. Zero: nobody says.
type Does uint8

const (
	DoesNobodyKnows Does = iota
	DoesRead             // claims a read that stays inside, and nothing speaks against it: accepted, it runs unasked
	DoesReach            // a read that reaches out into the world
	DoesChange
	DoesDestroy
)

// Does groups a tool by what it is for. Accepting a tool as a read ([AcceptReads]) counts exactly for those that it calls reads.
func (p Policy) Does(t Tool, src Source, h Hints, m Metadata) Does {
	set := p.Servers[t.Server].Tools[t.Name]
	set.Accepted, set.New, set.Reads = t.Definition, false, true
	one := Policy{Posture: p.Posture}
	one.edit(t.Server, func(s *ServerSettings) { s.Trusted = p.Servers[t.Server].Trusted })
	one.editTool(t, func(x *ToolSettings) { *x = set })
	switch e := one.Get(t, src, h, m); {
	case e.Risk == Dangerous:
		return DoesDestroy
	case e.Access == Write && e.Classified, h.access() == Write, lookupName(t, src).access == Write:
		return DoesChange
	case e.Reads, e.Source == SourceWorkbench && e.Access == Read:
		return DoesRead
	case is(h.ReadOnly, true) && is(h.OpenWorld, true):
		return DoesReach
	}
	return DoesNobodyKnows
}
