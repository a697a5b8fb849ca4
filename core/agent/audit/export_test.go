package audit

import "github.com/nodhq/nod/core/permission"

// What the tests of this package look at from outside: they tell their stories with tests/script, which imports this package.
const NoteGone = noteGone

// Kept is how many drawn arguments and lapsed calls an auditor keeps.
func (a *Auditor) Kept() (drawn, lapsed int) { return len(a.drawn), len(a.lapsed) }

// Hold gives the auditor's session these grants.
func (a *Auditor) Hold(grants ...permission.Grant) { a.s.Grants = grants }

// NoteGrant is what a record says of a grant.
func NoteGrant(g permission.Grant) string { return noteGrant(g) }
