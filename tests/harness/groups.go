package harness

import (
	"context"
	"errors"
	"slices"

	"github.com/nodhq/nod/core/agent/groups"
	"github.com/nodhq/nod/core/chat"
)

// Group is a group of the room's workspace, called "approvers".
var Group = chat.User{Platform: Room.Platform, Workspace: Room.Workspace, Key: chat.GroupPrefix + "approvers"}

// Join makes u the only members of [Group]. Only a platform with everything that is optional says so to the engine by itself;
// what people do always carries it.
func (p *Platform) Join(u ...chat.User) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.members = u
}

// HideGroups makes the platform fail to say who belongs to what.
func (p *Platform) HideGroups(hide bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hidden = hide
}

func (p *Platform) groupsOf(u chat.User) []chat.User {
	p.mu.Lock()
	defer p.mu.Unlock()
	if slices.Contains(p.members, u) {
		return []chat.User{Group}
	}
	return nil
}

var (
	_ groups.Groups = beside{}
	_ groups.Names  = beside{}
)

func (b beside) Groups(_ context.Context, _ chat.ID, u chat.User) ([]chat.User, error) {
	b.mu.Lock()
	hidden := b.hidden
	b.mu.Unlock()
	if hidden {
		return nil, errors.New("injected")
	}
	return b.groupsOf(u), nil
}

func (b beside) GroupName(_ chat.ID, g chat.User) string {
	if g == Group {
		return "approvers"
	}
	return ""
}
