package matrix

import (
	"slices"

	"github.com/nodhq/nod/core/chat"
)

// role is a person, and what the documents know of them. The facts are for the oracle, user and groups for the click.
type role struct {
	name   string
	user   chat.User
	groups []chat.User // as the platform vouches for them with this click

	nobody    bool // no person: a group, a bot, an identity that is not known
	barred    bool // the surface lets nobody of this kind decide
	member    bool // of the chat's workspace
	requester bool
	spoke     bool // in the chat
	owner     bool // spoke first
	listed    bool // as approver, themselves or by a group they are in now
	admin     bool
	granter   bool // gave the grant, where there is one
}

// town is a workspace of a surface, and how its people are called there.
type town struct {
	platform, team, away string
	key                  func(name string) string
}

// one is somebody of the workspace, away of another one, group a group of it.
func (w town) one(name string) chat.User {
	return chat.User{Platform: w.platform, Workspace: w.team, Key: w.key(name)}
}

func (w town) other(name string) chat.User {
	return chat.User{Platform: w.platform, Workspace: w.away, Key: w.key(name)}
}

func (w town) group(name string) chat.User {
	return chat.User{Platform: w.platform, Workspace: w.team, Key: chat.GroupPrefix + w.key(name)}
}

// paperTown is where the engine's own doors are.
var paperTown = town{"paper", "T1", "T2", func(name string) string { return name }}

// paperRoles are the people there.
func paperRoles() []role {
	one, other, group := paperTown.one, paperTown.other, paperTown.group
	crowd := []chat.User{group("crowd")}
	claims := []chat.User{{Platform: "paper", Workspace: "T2", Key: group("approvers").Key}, {Platform: "paper", Workspace: "T2", Key: group("admins").Key}, one("approvers"), one("root")}
	return []role{
		{name: "requester", user: one("ana"), member: true, requester: true, spoke: true},
		{name: "participant who began the chat", user: one("paul"), member: true, spoke: true, owner: true},
		{name: "participant of another workspace", user: other("petra"), spoke: true},
		{name: "listed approver", user: one("lena"), member: true, listed: true},
		{name: "approver by a group", user: one("gita"), groups: []chat.User{group("approvers")}, member: true, listed: true},
		{name: "listed approver of another workspace", user: other("lara"), listed: true},
		{name: "former approver, now off the list", user: one("finn"), member: true},
		{name: "former approver, now out of the group", user: one("fred"), member: true},
		{name: "stranger of the workspace", user: one("stan"), member: true},
		{name: "stranger in a group of no matter", user: one("gus"), groups: crowd, member: true},
		{name: "stranger who claims a group of elsewhere", user: one("vic"), groups: claims, member: true},
		{name: "admin", user: one("root"), member: true, admin: true},
		{name: "admin by a group", user: one("gwen"), groups: []chat.User{group("admins")}, member: true, admin: true},
		{name: "former admin, now off the list", user: one("fay"), member: true},
		{name: "former admin, now out of the group", user: one("fern"), member: true},
		{name: "stranger of another workspace", user: other("xena")},
		{name: "namesake of the requester elsewhere", user: other("ana")},
		{name: "namesake of the admin elsewhere", user: other("root")},
		{name: "namesake of the admin in a workspace without a name", user: chat.User{Platform: "paper", Key: "root"}},
		{name: "namesake of the admin on another platform", user: chat.User{Platform: "web", Workspace: "T1", Key: "root"}},
		{name: "person of the web", user: chat.User{Platform: "web", Key: "ana"}},
		{name: "the approvers' group itself", user: group("approvers"), nobody: true},
		{name: "the admins' group itself", user: group("admins"), nobody: true},
		{name: "unknown", nobody: true},
	}
}

// lost are the groups that people had while the ask was made.
var lost = map[string]string{"fred": "approvers", "fern": "admins"}

func roleNamed(name string, all []role) role {
	i := slices.IndexFunc(all, func(r role) bool { return r.name == name })
	if i < 0 {
		panic("there is no role " + name)
	}
	return all[i]
}

// groupsNow is what the platform says of somebody's groups when it is asked.
func groupsNow(u chat.User) []chat.User {
	for _, r := range paperRoles() {
		if r.user == u {
			return r.groups
		}
	}
	return nil
}
