package matrix

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/tests/harness"
)

// cell is one click.
type cell struct {
	Door   door
	Role   string // of [roles]
	Rule   rule
	Level  level
	Place  place
	Stage  stage
	Choice chat.Choice
}

func (c cell) String() string {
	return fmt.Sprintf("%s by %s through %q from %s, of a %s ask that is %s, where %s", c.Choice, c.Role, c.Door, c.Place, c.Level, c.Stage, c.Rule)
}

// door is a way in.
type door string

// level is whose click the tool needs.
type level string

const (
	user  level = "user"
	admin level = "admin"
)

// rule is a policy, with what changed in it since the ask was made.
type rule string

const (
	byRequester    rule = "the requester decides"
	byParticipants rule = "participants decide"
	byAnyone       rule = "anyone decides"
	byListed       rule = "some are listed"
	byOthers       rule = "anyone decides but who asked"
	raised         rule = "the tool was raised to admins since" // with byRequester
	lowered        rule = "the tool was for admins until now"   // with byAnyone; of level admin only
	noAdmins       rule = "nobody is an admin any more"         // with byRequester
	uninstalled    rule = "there is no policy any more"
)

// place is where a click says it comes from.
type place string

const (
	here      place = "its message"
	noMessage place = "no message"
	otherText place = "another message of the chat"
	otherChat place = "another chat, where somebody is asked too"
	// Only where a surface has both:
	otherChannel place = "its thread's name in another channel"
	otherThread  place = "its channel, and another thread's name"

	otherTeam place = "another workspace"
	nowhere   place = "a chat that never was"
)

// count is what was tried.
type count struct {
	mu       sync.Mutex
	tried    map[cell]bool // whether it was accepted
	repeated int
}

func (n *count) add(c cell, accepted bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.tried == nil {
		n.tried = map[cell]bool{}
	}
	if _, again := n.tried[c]; again {
		n.repeated++
	}
	n.tried[c] = accepted
}

// report prints the count by axis, and fails where there are too few cells, or too few of either answer.
func (n *count) report(t *testing.T, cells, accepted int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	yes := 0
	axes := map[string]map[string][2]int{}
	for c, ok := range n.tried {
		i := 0
		if ok {
			i = 1
			yes++
		}
		for axis, v := range map[string]string{
			"door": string(c.Door), "role": c.Role, "rule": string(c.Rule), "level": string(c.Level), "place": string(c.Place), "stage": string(c.Stage), "choice": string(c.Choice),
		} {
			if axes[axis] == nil {
				axes[axis] = map[string][2]int{}
			}
			x := axes[axis][v]
			x[i]++
			axes[axis][v] = x
		}
	}
	var b strings.Builder
	for _, axis := range []string{"door", "role", "rule", "level", "place", "stage", "choice"} {
		fmt.Fprintf(&b, "%s\n", axis)
		for _, v := range slices.Sorted(maps.Keys(axes[axis])) {
			fmt.Fprintf(&b, "  %-45s %6d refused %6d accepted\n", v, axes[axis][v][0], axes[axis][v][1])
		}
	}
	t.Logf("%d cells: %d accepted, %d refused\n%s", len(n.tried), yes, len(n.tried)-yes, b.String())
	if t.Failed() {
		return
	}
	if !harness.Raced && (len(n.tried) < cells || yes < accepted) {
		t.Errorf("%d cells were tried, %d of them to be accepted; at least %d and %d are wanted", len(n.tried), yes, cells, accepted)
	}
	if n.repeated > 0 {
		t.Errorf("%d cells were tried twice", n.repeated)
	}
}
