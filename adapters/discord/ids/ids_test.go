package ids

import (
	"testing"
	"time"

	"github.com/nodhq/nod/core/chat"
)

func TestAPlaceIsReadBackFromItsChat(t *testing.T) {
	t.Parallel()
	for _, p := range []Place{{"1", "2", ""}, {"1", "2", "3"}, {"", "18446744073709551615", ""}} {
		if got, ok := PlaceOf(p.Chat()); !ok || got != p {
			t.Errorf("%+v is read back as %+v, %v", p, got, ok)
		}
	}
	for _, id := range []chat.ID{
		{}, {Platform: "slack", Workspace: "1", Key: "2"}, {Platform: Platform, Workspace: "1"}, {Platform: Platform, Workspace: "1", Key: "2/"}, {Platform: Platform, Workspace: "1", Key: "/3"},
		{Platform: Platform, Workspace: "1", Key: "2/3/4"}, {Platform: Platform, Workspace: "x", Key: "2"}, {Platform: Platform, Key: "2/3"}, {Platform: Platform, Workspace: "1", Key: "02"},
		{Platform: Platform, Workspace: "1", Key: "2?x"}, {Platform: Platform, Workspace: "1", Key: "123456789012345678901"},
	} {
		if p, ok := PlaceOf(id); ok {
			t.Errorf("%+v is taken for %+v", id, p)
		}
	}
}

func TestReferences(t *testing.T) {
	if (Place{"", "2", ""}).Shared() != "" || (Place{"1", "2", "3"}).Shared() != (Place{"1", "2", ""}).Shared() || !Person("1", "").IsZero() {
		t.Error("a direct message stands in no channel, a thread in its channel, and nobody is nobody")
	}
	for want, p := range map[string]Place{
		"https://discord.com/channels/1/2/9":   {"1", "2", ""},
		"https://discord.com/channels/1/3/9":   {"1", "2", "3"},
		"https://discord.com/channels/@me/2/9": {"", "2", ""},
	} {
		if got := p.LinkTo("9"); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
}

// A handle comes back out of a log, and becomes the path of a call.
func TestHandlesOfFiles(t *testing.T) {
	t.Parallel()
	for handle, want := range map[string]bool{"1/2/3": true, "1/2": false, "1/2/3/4": false, "../2/3": false, "1/x/3": false, "1/2/": false} {
		if channel, message, attachment, ok := FileOf(handle); ok != want || ok && channel+message+attachment != "123" {
			t.Errorf("%q: %v", handle, ok)
		}
	}
}

// What is stored of a chat is read back as the same place, and nothing else is taken for one.
func FuzzPlace(f *testing.F) {
	f.Add("discord", "800000000000000001", "100000000000000001/100000000000000002")
	f.Add("discord", "", "100000000000000001")
	f.Add("discord", "1", "1/")
	f.Add("web", "T:1", "C%1/1.0\n")
	f.Fuzz(func(t *testing.T, platform, workspace, key string) {
		id := chat.ID{Platform: platform, Workspace: workspace, Key: key}
		p, ok := PlaceOf(id)
		if !ok {
			return
		}
		if platform != "discord" || p.Chat() != id {
			t.Fatalf("%#v is read as %+v, which is %#v", id, p, p.Chat())
		}
		if back, err := chat.ParseID(id.String()); err != nil || back != id {
			t.Fatalf("%#v is stored as %q and read back as %#v, %v", id, id, back, err)
		}
	})
}

func TestSnowflakes(t *testing.T) {
	t.Parallel()
	if !Older("99", "100") || Older("100", "99") || Older("5", "5") || Before("100") != "99" || Before("0") != "0" || Before("x") != "0" {
		t.Error("order")
	}
	at := time.UnixMilli(1_700_000_000_123)
	if got := Time(FirstAt(at)); !got.Equal(at) {
		t.Errorf("%v", got)
	}
	if FirstAt(time.Unix(0, 0)) != "0" {
		t.Error("before Discord")
	}
}
