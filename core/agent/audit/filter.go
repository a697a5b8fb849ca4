package audit

import (
	"slices"
	"strings"
	"time"
)

// Filter picks records. The zero Filter matches all; every field that is set narrows it.
type Filter struct {
	Since, Until time.Time // from Since on, before Until
	Actor        string    // who acted: [chat.User.String], the platform's own key, or the display name; "nod" for nod itself
	Chat         string    // [chat.ID.String]
	Server, Tool string
	Kind         string // a kind, or an outcome: "decision", "denied"
}

// Match reports whether the filter takes a record. Letters are compared without their case.
func (f Filter) Match(r Record) bool {
	switch {
	case r.At.Before(f.Since), !f.Until.IsZero() && !r.At.Before(f.Until): // nothing is before the zero time
		return false
	case f.Chat != "" && f.Chat != r.Chat:
		return false
	case f.Server != "" && !strings.EqualFold(f.Server, r.Server), f.Tool != "" && !strings.EqualFold(f.Tool, r.Tool):
		return false
	case f.Kind != "" && !strings.EqualFold(f.Kind, r.Kind) && !strings.EqualFold(f.Kind, r.Outcome):
		return false
	case f.Actor != "" && !strings.EqualFold(f.Actor, r.Name) && (r.By.IsZero() || f.Actor != r.By.String() && f.Actor != r.By.Key):
		return false
	}
	return true
}

// Pick gives the records that match, in their order.
func (f Filter) Pick(all []Record) []Record {
	return slices.DeleteFunc(slices.Clone(all), func(r Record) bool { return !f.Match(r) })
}
