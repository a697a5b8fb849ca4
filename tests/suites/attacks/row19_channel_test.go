package attacks

import (
	"testing"

	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
)

// channelsToo is a policy under which tools can be allowed for all chats of a channel.
func channelsToo(_ *world, p *permission.Policy) { p.ChannelGrants = true }

// inChannel are cases of what is allowed for a channel: who asks in another of its chats, after whom.
var inChannel = map[string]struct {
	by, asks person
	runs     bool
}{
	"control":          {ana, ana, true},
	"control-by-admin": {ada, ben, true},
	"another-person":   {ana, ben, false},
	"another-channel":  {ana, ana, false},
	"guest-by-admin":   {ada, guest, false},
}

func channelTool(surface, name string) string { return "channel-" + surface + "-" + name }

// channels is row 19 for what is allowed for a channel: it is nobody else's where its giver may not answer, and no guest's at all.
func channels() (out []attack) {
	for _, s := range []string{"slack", "discord"} {
		for name, c := range inChannel {
			if c.asks == guest && s != "slack" { // only Slack has them
				continue
			}
			out = append(out, on(19, s, "channel-"+name, func(t *testing.T, w *world) {
				tool := channelTool(s, name)
				w.accepts(t, "mix", tool)
				one := wants(call("mix", tool, `{"path":"`+idOf(t)+`"}`))
				k := begin(t, w, s, one)
				k.grants(c.by, chat.AllowChannel)
				k.times(1)
				other := &talk{world: w, t: t, name: k.name + "-other"}
				w.pen.learn(other.name, says("Hello."))
				if other.place = k.beside("please #" + other.name); name == "another-channel" {
					other = elsewhere(t, w, s, other.name, says("Hello."))
				}
				other.over(1)
				other.again(c.asks, k.name+"-2", one)
				if c.runs {
					other.over(2)
					k.times(2)
					return
				}
				other.until("it asks", func(s shot) bool { return s.asks == 1 && len(other.shots()) == 2 })
				other.denyAll()
				other.over(2)
				k.times(1)
			}))
		}
	}
	for name, x := range map[string]struct {
		server, tool string
		by           person
	}{
		"where-only-admins-decide":        {"box", "guarded", ada},
		"where-the-operator-withholds-it": {"box", "nograntable", ada},
		"where-an-admin-says-always":      {"box", "always", ada},
		"where-several-must-allow":        {"mix", "pair", ada},
		"by-a-stranger":                   {"mix", "put", ben},
		"of-what-nobody-accepted":         {"mix", "look", ana},
	} {
		out = append(out, everywhere(19, "channel-"+name, func(t *testing.T, w *world, surface string) {
			if name == "by-a-stranger" {
				w.accepts(t, x.server, x.tool)
			}
			k := begin(t, w, surface, wants(call(x.server, x.tool, `{"path":"`+idOf(t)+`"}`)))
			s := k.asking(1)
			k.denied(x.by, s, k.one(s, "Allow once"), chat.AllowChannel)
			k.still(1)
			k.end()
		})...)
	}
	return inWorld("channel", out)
}

// beside opens another chat in the same channel.
func (k *talk) beside(text string) place {
	if p, ok := k.place.(*thread); ok {
		th := &thread{w: k.world, t: k.t, channel: p.channel}
		th.root = k.slack.Say(inSlack[ana], th.channel, "", "<@"+k.slack.BotUser()+"> "+text)
		return th
	}
	to := &strand{w: k.world, t: k.t, channel: k.place.(*strand).channel}
	to.thread = k.discord.Say(inDiscord[ana], to.channel, "<@"+k.discord.BotUser()+"> "+text)
	return to
}
