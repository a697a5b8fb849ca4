package discord

import (
	"strings"
	"testing"

	"github.com/nodhq/nod/adapters/discord/inbound"

	"github.com/nodhq/nod/adapters/discord/components"
	"github.com/nodhq/nod/adapters/discord/ids"
)

func TestDecodeQuotesNothing(t *testing.T) {
	t.Parallel()
	for _, raw := range []string{`{"content":"secret words"`, `{"content":"secret words",}`, `secret words`, `["secret words"]`} {
		err := inbound.Decode([]byte(raw), new(inbound.Message))
		if err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", raw, err)
		}
	}
}

// FuzzEvents: no event makes the code fail, and none but an interaction of a person or a person's message leads anywhere.
func FuzzEvents(f *testing.F) {
	types := []string{"MESSAGE_CREATE", "MESSAGE_UPDATE", "MESSAGE_DELETE", "MESSAGE_DELETE_BULK", "INTERACTION_CREATE", "GUILD_CREATE", "GUILD_DELETE",
		"CHANNEL_UPDATE", "CHANNEL_DELETE", "THREAD_UPDATE", "THREAD_LIST_SYNC", "GUILD_ROLE_UPDATE"}
	for i, s := range []string{
		`{"id":"1","channel_id":"2","guild_id":"3","type":0,"content":"<@11> hi","author":{"id":"4","username":"ana"},"mentions":[{"id":"11","member":{"nick":"x"}}],"components":[{"type":99}]}`,
		`{"id":"1","channel_id":"2","edited_timestamp":"now","author":{"id":"4"},"referenced_message":{"author":null},"message_snapshots":[{"message":null}]}`,
		`{"id":"1","ids":["2",3,null],"channel_id":"2"}`,
		`{"id":"1","type":3,"token":"t","channel_id":"2","user":{"id":"4"},"message":null,"data":{"custom_id":"nod:deny:x","values":[1]}}`,
		`{"id":"1","type":5,"token":"t","channel":{"id":"2","type":11},"member":{"user":null},"data":{"custom_id":"form:deny_reason:x","components":[{"component":{"component":null}}]}}`,
		`{"id":"1","type":2,"token":"t","channel_id":"2","user":{"id":"4"},"data":{"name":"nod","options":[{"name":"ask","options":[{"name":"text","value":5}]}]}}`,
		`{"id":"1","channels":[null,{"id":"2"}],"threads":[{"thread_metadata":null}],"roles":[{"tags":null}],"unavailable":"yes"}`,
		`{"guild_id":"1","role":null}`,
		`null`, `{}`, `"guild"`,
		`{"author":{"id":"0"},"content":"nobody's"}`,
	} {
		f.Add(i, []byte(s))
	}
	f.Fuzz(func(t *testing.T, kind int, raw []byte) {
		a, l := quietAdapter(t)
		if kind < 0 {
			kind = -(kind + 1)
		}
		typ := types[kind%len(types)]
		a.event(typ, raw) // its inbox is closed: what is taken is looked at below
		m, in := new(inbound.Message), new(inbound.Interaction)
		if inbound.Decode(raw, m) == nil {
			m.Guild = "" // nothing is asked for then
			if _, err := a.hear(t.Context(), m); err != nil {
				t.Error(err)
			}
			_, _ = m.Quote("", a.namesIn(m))
			_ = m.Words()
		}
		if inbound.Decode(raw, in) == nil {
			_ = a.incomingOf(in)
			_ = in.Lane()
			_, _ = inbound.CommandOf(in)
			_ = inbound.InputValue(in.Data.Components, components.FieldArgs)
			if by := in.By(); !by.User.IsZero() && !ids.IsSnowflake(by.User.Key) {
				t.Errorf("somebody is %q", by.User.Key)
			}
		}
		for _, got := range l.got() {
			if got.From().User.IsZero() || got.From().User.Key == a.self.User {
				t.Errorf("%+v", got)
			}
		}
	})
}
