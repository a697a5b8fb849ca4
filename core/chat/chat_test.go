package chat

import (
	"encoding/json"
	"testing"
)

// TestNamesComeBack: what is stored or configured under a name is found again, whatever a platform put into it.
func TestNamesComeBack(t *testing.T) {
	for _, id := range []ID{{"slack", "T1", "C1"}, {"web", "", "u-ana"}, {"a:b", "%3A", "c%d:"}} {
		if got, err := ParseID(id.String()); err != nil || got != id {
			t.Errorf("%q came back as %+v, %v", id, got, err)
		}
	}
	for _, s := range []string{"", "slack", "slack:T1", "slack:T1:", ":T1:U1", "slack:T1:U1:x"} {
		if got, err := ParseID(s); err == nil || !got.IsZero() {
			t.Errorf("%q is read as %+v", s, got)
		}
		if got, err := ParseUser(s); err == nil || !got.IsZero() {
			t.Errorf("%q is read as %+v", s, got)
		}
	}
	for _, by := range []User{{"slack", "T1", "U1"}, {}} { // nobody is a key, too
		votes := map[User]int{by: 1}
		stored, err := json.Marshal(votes)
		if err == nil {
			clear(votes)
			err = json.Unmarshal(stored, &votes)
		}
		if err != nil || votes[by] != 1 || len(votes) != 1 {
			t.Errorf("%+v came back as %v by %s, %v", by, votes, stored, err)
		}
	}
	if err := json.Unmarshal([]byte(`{"slack:T1":1}`), &map[User]int{}); err == nil {
		t.Error("half a name is read")
	}
}

// TestWhoSomebodyIs: who counts as a group, as vouched for, and as somebody else.
func TestWhoSomebodyIs(t *testing.T) {
	ana, ben, ina, role := User{"web", "", "u-ana"}, User{"web", "", "u-ben"}, User{"web", "", "oidc-1"}, User{"discord", "G1", "&5"}
	for _, c := range []struct {
		who                   User
		group, named, vouched bool
	}{
		{ana, false, true, false}, {ina, false, false, true}, {role, true, false, false}, {User{"slack", "T1", "oidc-1"}, false, false, false}, {User{}, false, false, false},
	} {
		if c.who.IsGroup() != c.group || c.who.SelfNamed() != c.named || c.who.Vouched() != c.vouched || c.who.IsZero() != (c.who == User{}) {
			t.Errorf("%q is taken for another", c.who)
		}
	}
	if ana.Person() != ben.Person() || ina.Person() != ina || ana.Person() == ina.Person() {
		t.Error("who only say who they are count as different people, or others do not")
	}
	direct := role
	direct.Workspace = ""
	if !role.SameAccount(direct) || role.SameAccount(User{"slack", "G1", "&5"}) || ana.SameAccount(ben) {
		t.Error("an account is taken for another")
	}
	if (Envelope{User: ana}).On() != "web" || (Envelope{User: ana, Surface: "api"}).On() != "api" {
		t.Error("it is done elsewhere")
	}
}
