package permission

// MayRepeat says whether the same bytes may run again by themselves after an interruption, under the approval that
// they had: SAFETY 1's recovery rule, points 2 and 3. req.Tool is the tool as it was approved, current the definition
// that its server offers now (empty: none). rule names what allows it, or why it is not allowed.
//
// Everything that is in doubt is no: then a person is asked.
func MayRepeat(p Policy, req Request, current Digest) (rule string, ok bool) {
	e := p.Get(req.Tool, req.Source, req.Hints, req.Metadata)
	h := req.Hints
	switch {
	case !p.Installed && !p.AllowAll:
		return sayNoPolicy, false
	case e.Disabled != "":
		return sayDisabled(e), false
	case current == "" || current != req.Tool.Definition || e.Changed:
		return "the tool is not as it was when it was approved", false
	case e.Repeat == RepeatAlways:
		return "repeat: always", true
	case e.Repeat != RepeatAuto:
		return "repeat: never", false
	case !e.Trusted:
		return "the server is not marked trusted", false
	case h.IsReadOnly() && is(h.Destructive, true) && !h.IsIdempotent():
		return "the tool's annotations contradict each other", false
	case h.reads():
		return "read-only", true
	case h.IsIdempotent():
		return "idempotent", true
	}
	return "nothing says that running it twice does no harm", false
}
