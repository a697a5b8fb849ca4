package inbound

import (
	"slices"
	"testing"

	"github.com/nodhq/nod/adapters/discord/ids"
	"github.com/nodhq/nod/core/chat"
)

func TestSomebody(t *testing.T) {
	t.Parallel()
	u := &Account{ID: "1", Username: "ana", GlobalName: "Ana"}
	by := PersonOf("8", u, &Member{Nick: "Anna", Roles: []LooseString{"5", "8", "", "x"}})
	if by.User != ids.Person("8", "1") || by.Name != "Anna" || !slices.Equal(by.Groups, []chat.User{ids.Role("8", "8"), ids.Role("8", "5")}) {
		t.Errorf("%+v", by)
	}
	if by := PersonOf("8", u, nil); by.Name != "Ana" || by.Groups != nil {
		t.Errorf("%+v", by)
	}
	u.GlobalName = ""
	if by := PersonOf("", u, &Member{Roles: []LooseString{"5"}}); by.Name != "ana" || by.Groups != nil || by.User != ids.Person("", "1") {
		t.Errorf("%+v", by)
	}
	if by := PersonOf("8", nil, nil); !by.User.IsZero() {
		t.Errorf("%+v", by)
	}
	for _, id := range []LooseString{"", "&5", "x"} { // "&5" would be a role
		if by := PersonOf("8", &Account{ID: id}, nil); !by.User.IsZero() {
			t.Errorf("%+v", by)
		}
	}
}
