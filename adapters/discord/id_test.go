package discord

import (
	"testing"

	"github.com/nodhq/nod/core/chat"
)

func TestAPlaceIsReadBackFromItsChat(t *testing.T) {
	t.Parallel()
	for _, p := range []place{{"1", "2", ""}, {"1", "2", "3"}, {"", "18446744073709551615", ""}} {
		if got, ok := placeOf(p.id()); !ok || got != p {
			t.Errorf("%+v is read back as %+v, %v", p, got, ok)
		}
	}
	for _, id := range []chat.ID{
		{}, {Platform: "slack", Workspace: "1", Key: "2"}, {Platform: Platform, Workspace: "1"}, {Platform: Platform, Workspace: "1", Key: "2/"}, {Platform: Platform, Workspace: "1", Key: "/3"},
		{Platform: Platform, Workspace: "1", Key: "2/3/4"}, {Platform: Platform, Workspace: "x", Key: "2"}, {Platform: Platform, Key: "2/3"}, {Platform: Platform, Workspace: "1", Key: "02"},
		{Platform: Platform, Workspace: "1", Key: "2?x"}, {Platform: Platform, Workspace: "1", Key: "123456789012345678901"},
	} {
		if p, ok := placeOf(id); ok {
			t.Errorf("%+v is taken for %+v", id, p)
		}
	}
}

func TestARoleIsNamedAsTheGatewayCallsIt(t *testing.T) {
	t.Parallel()
	a := new(Adapter)
	a.event("GUILD_ROLE_CREATE", []byte(`{"guild_id":"1","role":{"id":"9","name":"ops"}}`))
	if got := a.GroupName(chat.ID{}, role("1", "9")); got != "ops" {
		t.Errorf("it is called %q", got)
	}
	for _, no := range []chat.User{role("1", "8"), person("1", "9"), {Platform: "slack", Workspace: "1", Key: "&9"}} {
		if got := a.GroupName(chat.ID{}, no); got != "" {
			t.Errorf("%v is called %q", no, got)
		}
	}
}
