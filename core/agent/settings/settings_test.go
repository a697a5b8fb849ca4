package settings

import (
	"strings"
	"testing"

	"github.com/nodhq/nod/core/agent"
)

// What is missing is named, all of it; what may be left out is not.
func TestNewNamesWhatIsMissing(t *testing.T) {
	_, err := New(Config{})
	for _, field := range []string{"Engine", "Log", "Index", "Tools"} {
		if err == nil || !strings.Contains(err.Error(), "Config."+field+" is missing") {
			t.Errorf("%s: %v", field, err)
		}
	}
	type ports struct {
		agent.Log
		agent.Index
		agent.Tools
	}
	s, err := New(Config{Engine: &agent.Engine{}, Log: ports{}, Index: ports{}, Tools: ports{}})
	if err != nil || s.Logger == nil {
		t.Errorf("%+v: %v", s, err)
	}
}

// A token is the same for the same action on the same thing as it stands, and another for anything else.
func TestTokens(t *testing.T) {
	token := func(view, name, target, current string) string {
		q := &request{view: view, offers: map[string]action{}}
		act := q.offer("Halt", name, target, current, setHalt(true))
		if q.offers[act.Token] == nil {
			t.Errorf("%s is not offered", act.Token)
		}
		return act.Token
	}
	seen := map[string]bool{}
	for _, x := range [][4]string{{"home", "a", "b", "c"}, {"mine", "a", "b", "c"}, {"home", "ab", "", "c"}, {"home", "a", "bc", ""}, {"home", "a", "b", "d"}} {
		one := token(x[0], x[1], x[2], x[3])
		if one != token(x[0], x[1], x[2], x[3]) || seen[one] || len(one) > 26 {
			t.Errorf("%v: %s", x, one)
		}
		seen[one] = true
	}
}
