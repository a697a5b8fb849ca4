package agent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"testing"

	"github.com/nodhq/nod/core/agent/decision"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/core/text"
)

// crew is a platform on which everybody is one of the crew. It notes of whom it is asked.
type crew struct {
	Platform
	asked []chat.User
	fails chat.User // of whom it cannot say; it says it with an answer
}

var theCrew = chat.User{Platform: here.Platform, Workspace: ana.Workspace, Key: chat.GroupPrefix + "crew"}

func (c *crew) Groups(_ context.Context, _ chat.ID, u chat.User) ([]chat.User, error) {
	c.asked = append(c.asked, u)
	if u == c.fails {
		return []chat.User{theCrew}, errors.New("no answer")
	}
	return []chat.User{theCrew}, nil
}

// mute is a platform without groups.
type mute struct{ Platform }

func crewed() permission.Policy { return permission.Policy{Admins: []chat.User{theCrew}} }

// Whoever acts belongs to the groups that the surface vouches for; where it says nothing, to those that the platform names, which is asked
// only where groups count; and to none where it does not answer.
func TestWhoeverActs(t *testing.T) {
	for name, c := range map[string]struct {
		by     []chat.User
		policy permission.Policy
		on     Platform
		want   string // admin, unsure, times asked
	}{
		"asked":                 {policy: crewed(), on: &crew{}, want: "true false 1"},
		"vouched for":           {by: []chat.User{theCrew}, policy: crewed(), on: &crew{}, want: "true false 0"},
		"vouched for, in none":  {by: []chat.User{}, policy: crewed(), on: &crew{}, want: "false false 0"},
		"groups do not count":   {policy: permission.Policy{}, on: &crew{}, want: "false false 0"},
		"there are no groups":   {policy: crewed(), on: mute{}, want: "false false 0"},
		"vouched for elsewhere": {by: []chat.User{theCrew}, policy: crewed(), on: mute{}, want: "true false 0"},
		"no answer":             {policy: crewed(), on: &crew{fails: ana}, want: "false true 1"},
	} {
		t.Run(name, func(t *testing.T) {
			e := &Engine{Config: Config{Platforms: map[string]Platform{here.Platform: c.on}, Logger: slog.New(slog.DiscardHandler)}}
			policy, unsure := e.WithGroups(t.Context(), c.policy, chat.Envelope{Chat: here, User: ana, Groups: c.by})
			asked := 0
			if of, is := c.on.(*crew); is {
				asked = len(of.asked)
			}
			if got := fmt.Sprint(policy.IsAdmin(ana), unsure, asked); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

// Only a refusal that a group could have changed says that groups are not known.
func TestWhatARefusalSaysInTheDark(t *testing.T) {
	gone := errors.New("gone")
	for _, c := range []struct {
		err    error
		unsure bool
		want   string
	}{
		{&decision.Refusal{Code: decision.RefusedNotYours, Say: "No."}, true, "No. " + text.GroupsUnknown},
		{&decision.Refusal{Code: decision.RefusedNotYours, Say: "No."}, false, "No."},
		{&decision.Refusal{Code: decision.RefusedDecided, Say: "Done."}, true, "Done."},
		{gone, true, gone.Error()},
	} {
		err := decision.Unsure(c.err, c.unsure)
		got := err.Error()
		if no := new(decision.Refusal); errors.As(err, &no) {
			got = no.Say
		}
		if got != c.want {
			t.Errorf("%v, %v: %q, want %q", c.err, c.unsure, got, c.want)
		}
	}
}

// Those whose decisions may count are asked about, each once: who gave a grant, who allowed what has not run, and who asks; nobody of another
// platform. Of whom nothing is known, nothing counts.
func TestWhoseGroupsCount(t *testing.T) {
	cleo, dan := ben, ben
	cleo.Key, dan.Key = "UCLEO", "UDAN"
	grants := []permission.Grant{{By: ana}, {By: ana}, {By: chat.User{Platform: "elsewhere", Key: "eve"}}}
	calls := []turn.ToolCall{{Decision: turn.Decision{By: ben}, Status: turn.Allowed}, {Decision: turn.Decision{By: cleo}, Status: turn.Done, Result: &turn.Result{}}, {Status: turn.Awaiting}}
	for name, c := range map[string]struct {
		s      turn.Session
		policy permission.Policy
		on     Platform
		want   string // asked, admins
	}{
		"all":            {turn.Session{Grants: grants, Turn: &turn.Turn{Requester: dan, Calls: calls}}, crewed(), &crew{}, fmt.Sprint([]chat.User{ana, ben, dan}, []chat.User{ana, ben, dan})},
		"one of several": {turn.Session{Turn: &turn.Turn{Requester: dan, Calls: []turn.ToolCall{{Decision: turn.Decision{By: ben}, Votes: []turn.Vote{{By: ana}}, Status: turn.Allowed}}}}, crewed(), &crew{}, fmt.Sprint([]chat.User{ben, ana, dan}, []chat.User{ana, ben, dan})},
		"no turn":        {turn.Session{Grants: grants}, crewed(), &crew{}, fmt.Sprint([]chat.User{ana}, []chat.User{ana})},
		"not of one":     {turn.Session{Grants: grants, Turn: &turn.Turn{Requester: dan, Calls: calls}}, crewed(), &crew{fails: ana}, fmt.Sprint([]chat.User{ana, ben, dan}, []chat.User{ben, dan})},
		"do not count":   {turn.Session{Grants: grants}, permission.Policy{}, &crew{}, "[] []"},
		"there are none": {turn.Session{Grants: grants}, crewed(), mute{}, "[] []"},
	} {
		t.Run(name, func(t *testing.T) {
			d := &driver{id: here, chatLease: chatLease{ctx: t.Context()}, e: &Engine{Config: Config{Platforms: map[string]Platform{here.Platform: c.on}, Logger: slog.New(slog.DiscardHandler)}}}
			policy := d.e.groups().Deciding(d.ctx, d.id, c.policy, c.s)
			var asked, admins []chat.User
			if of, is := c.on.(*crew); is {
				asked = of.asked
			}
			for _, u := range []chat.User{ana, ben, cleo, dan} {
				if policy.IsAdmin(u) {
					admins = append(admins, u)
				}
			}
			if got := fmt.Sprint(asked, admins); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

// What somebody decided away from their own platform, on the page where they signed in by it, counts as that platform says now.
func TestGroupsAreAskedOfEachOnesPlatform(t *testing.T) {
	page := chat.ID{Platform: "web", Key: "c"}
	for name, of := range map[string]*crew{"known": {}, "not of her": {fails: ana}} {
		d := &driver{id: page, chatLease: chatLease{ctx: t.Context()}, e: &Engine{Config: Config{Platforms: map[string]Platform{here.Platform: of, page.Platform: mute{}}, Logger: slog.New(slog.DiscardHandler)}}}
		policy := d.e.groups().Deciding(d.ctx, d.id, crewed(), turn.Session{Turn: &turn.Turn{Requester: ana}})
		if !slices.Equal(of.asked, []chat.User{ana}) || policy.IsAdmin(ana) != (name == "known") {
			t.Errorf("%s: asked of %v, admin: %v", name, of.asked, policy.IsAdmin(ana))
		}
	}
}
