package discord

import (
	"errors"
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/nodhq/nod/adapters/discord/inbound"

	"github.com/nodhq/nod/adapters/discord/rest"
	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/tests/standins/fakediscord"
)

func TestChannelsAreAskedForOnce(t *testing.T) {
	p := newParlor(t)
	thread := p.CreateThread(p.ana, p.general, "", "a thread")
	p.until("the event of the thread has come", func() bool { _, there := p.a.in.channels.get(thread, p.clock.Now()); return there })
	p.a.in.channels.byID.Remove(thread)
	n := p.Count(fakediscord.GetChannel)
	for range 3 {
		c, err := p.a.channelOf(p.ctx, thread)
		if err != nil || c.Parent != p.general || c.Name != "a thread" || !c.IsThread() || c.Guild != p.Guild() {
			t.Errorf("%+v %v", c, err)
		}
	}
	if got := p.Count(fakediscord.GetChannel) - n; got != 1 {
		t.Errorf("asked %d times", got)
	}
	p.Rename(thread, "another name")
	p.settled(p.general)
	if c, _ := p.a.channelOf(p.ctx, thread); c.Name != "another name" {
		t.Errorf("%+v", c)
	}
}

func TestARefusalIsBelievedForAMinute(t *testing.T) {
	p := newParlor(t)
	n := len(p.Calls(fakediscord.GetChannel))
	for range 3 {
		_, err := p.a.channelOf(p.ctx, "4001")
		if pe := new(agent.PlatformError); !errors.As(err, &pe) || pe.Kind != agent.FaultGone {
			t.Errorf("%v", err)
		}
	}
	if got := len(p.Calls(fakediscord.GetChannel)) - n; got != 1 {
		t.Errorf("asked %d times", got)
	}
	p.clock.Advance(channelFailed)
	_, _ = p.a.channelOf(p.ctx, "4001")
	if got := len(p.Calls(fakediscord.GetChannel)) - n; got != 2 {
		t.Errorf("asked %d times", got)
	}
	p.Fail(fakediscord.GetChannel, 1, fakediscord.Fault{Status: 502})
	if _, err := p.a.channelOf(p.ctx, "4002"); rest.IsUnreachable(err) || err == nil {
		t.Errorf("%v", err)
	}
	if _, err := p.a.channelOf(p.ctx, "../../users/@me"); !rest.IsUnreachable(err) {
		t.Errorf("%v", err)
	}
}

func TestAnAnswerThatIsNoChannelIsNone(t *testing.T) {
	a, _ := outward(t, Config{APIURL: serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`[]`)) })})
	if c, err := a.channelOf(t.Context(), "4001"); err == nil || rest.IsUnreachable(err) {
		t.Errorf("%+v, %v", c, err)
	}
}

func TestChannelsAreBounded(t *testing.T) {
	t.Parallel()
	s := newChannels()
	for i := range maxChannels + 100 {
		s.put(inbound.Channel{ID: strconv.Itoa(i + 1)})
	}
	for i := range maxRoles + 100 {
		s.role("1", inbound.RoleObject{ID: inbound.LooseString(strconv.Itoa(i + 1)), Name: "x"}, "11")
	}
	s.put(inbound.Channel{ID: "not a channel"})
	if s.byID.Len() != maxChannels || s.roles.Len() != maxRoles {
		t.Errorf("%d, %d", s.byID.Len(), s.roles.Len())
	}
	if _, ok := s.get("1", time.Time{}); ok {
		t.Error("the oldest is kept")
	}
}

func TestLeavingAServerForgetsIt(t *testing.T) {
	t.Parallel()
	s := newChannels()
	s.put(inbound.Channel{ID: "1", Guild: "8"})
	s.put(inbound.Channel{ID: "2", Guild: "9"})
	r := inbound.RoleObject{ID: "5", Name: "nod"}
	r.Tags = &struct {
		Bot inbound.LooseString `json:"bot_id"`
	}{"11"}
	s.role("8", r, "11")
	r.ID = "6"
	s.role("8", r, "12") // another program's
	if s.ownRole("8") != "5" || s.roleName("5") != "nod" || s.ownRole("9") != "" {
		t.Error("roles")
	}
	s.leave("8")
	_, one := s.get("1", time.Time{})
	_, two := s.get("2", time.Time{})
	if one || !two || s.ownRole("8") != "" {
		t.Error("not forgotten, or too much")
	}
}
