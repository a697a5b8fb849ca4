package discord

import (
	"slices"
	"testing"

	"github.com/nodhq/nod/core/chat"
)

func TestSomebody(t *testing.T) {
	t.Parallel()
	u := &account{ID: "1", Username: "ana", GlobalName: "Ana"}
	by := somebodyOf("8", u, &membership{Nick: "Anna", Roles: []loose{"5", "8", "", "x"}})
	if by.User != person("8", "1") || by.Name != "Anna" || !slices.Equal(by.Groups, []chat.User{role("8", "8"), role("8", "5")}) {
		t.Errorf("%+v", by)
	}
	if by := somebodyOf("8", u, nil); by.Name != "Ana" || by.Groups != nil {
		t.Errorf("%+v", by)
	}
	u.GlobalName = ""
	if by := somebodyOf("", u, &membership{Roles: []loose{"5"}}); by.Name != "ana" || by.Groups != nil || by.User != person("", "1") {
		t.Errorf("%+v", by)
	}
	if by := somebodyOf("8", nil, nil); !by.User.IsZero() {
		t.Errorf("%+v", by)
	}
	for _, id := range []loose{"", "&5", "x"} { // "&5" would be a role
		if by := somebodyOf("8", &account{ID: id}, nil); !by.User.IsZero() {
			t.Errorf("%+v", by)
		}
	}
}
