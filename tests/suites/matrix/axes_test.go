package matrix

import (
	"slices"

	"github.com/nodhq/nod/core/chat"
)

// cells are those of a stage at a level: a product of all axes would be half a million, so each part of it crosses those that meet
// in one check.
func (m *matrix) engineCells(l level, st stage) (all []cell) {
	seen := map[cell]bool{}
	put := func(d door, r role, p place, k pick) {
		c := cell{d, r.name, m.rule, l, p, st, k.choice}
		switch {
		case seen[c], k.choice == modeNever && d != commandDoor, k.rare && !slices.Contains(rarely, st):
		case k.choice == chat.Stop && (m.rule != byRequester && m.rule != uninstalled || st != awaiting && !slices.Contains(some, r.name)):
			// whatever the rule, everybody may
		default:
			seen[c] = true
			all = append(all, c)
		}
	}
	who(m.roles, m.rule, l, st, put)
	if m.rule == byRequester && (l == user || st == awaiting) || m.rule == byListed && st == awaiting {
		where(m.roles, put)
	}
	if st == awaiting || st == unknown && m.rule == byRequester {
		doors(m.roles, m.rule, l, st, put)
	}
	return all
}

type put = func(door, role, place, pick)

// who: every person with every choice, by a click on its message.
func who(roles []role, rule rule, l level, st stage, put put) {
	for _, r := range roles {
		if st != awaiting && (slices.Contains(alike, r.name) || (rule != byRequester || l != user) && !slices.Contains(telling, r.name)) {
			continue
		}
		for _, k := range picks {
			put(clickDoor, r, here, k)
		}
	}
}

// alike are people for whom it does not matter how an ask stands, if it does not for the others.
var alike = []string{
	"stranger in a group of no matter", "stranger who claims a group of elsewhere", "former approver, now off the list", "former approver, now out of the group",
	"former admin, now out of the group", "namesake of the admin elsewhere", "namesake of the admin in a workspace without a name",
	"namesake of the admin on another platform", "the admins' group itself", "the approvers' group itself",
}

// telling are people of each kind that a rule tells from the others: where an ask is further on, they stand for all.
var telling = []string{"requester", "participant who began the chat", "listed approver", "stranger of the workspace", "stranger of another workspace", "admin", "unknown"}

// some of the people: those who may decide where nothing else is said, and one who may not.
var some = []string{"requester", "admin", "stranger of the workspace"}

// where: every place with every choice, by some.
func where(roles []role, put put) {
	for _, name := range some {
		r := roleNamed(name, roles)
		for _, k := range picks {
			if k.rare {
				continue
			}
			for _, p := range []place{noMessage, otherText, otherChat, otherTeam, nowhere} {
				put(clickDoor, r, p, k)
			}
			put(decideDoor, r, otherChat, k)
		}
	}
}

// doors: every other door with every person.
func doors(roles []role, rule rule, l level, st stage, put put) {
	for _, r := range roles {
		for _, k := range picks {
			if k.rare {
				continue
			}
			if rule == byRequester && l == user { // which takes nothing, or asks for no approver: the same under every rule
				put(formDoor, r, noMessage, k)
				put(commandDoor, r, here, k)
			}
			if st == awaiting {
				put(decideDoor, r, here, k)
			}
		}
	}
}
