package attacks

import (
	"errors"
	"fmt"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/agent/decision"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
)

// envelope is a delivery of somebody's, as the surface would sign for it.
func (k *talk) envelope(who person) chat.Envelope {
	return chat.Envelope{Delivery: chat.Delivery("a" + k.room()), Chat: k.id(), User: k.user(who), Name: string(who)}
}

// decide gives the engine a click as a surface would, with a choice of ours: where a surface asks for a confirmation first, this is the click
// that comes after it.
func (k *talk) decide(who person, b button, choice chat.Choice) error {
	_, err := k.engine.Decide(k.t.Context(), chat.Clicked{Envelope: k.envelope(who), Token: b.ticket(), Choice: choice})
	return err
}

// grants has somebody allow the one call that waits, with a wider choice, and waits for the end of the turn.
func (k *talk) grants(who person, choice chat.Choice) {
	k.t.Helper()
	s := k.asking(1)
	if err := k.decide(who, k.one(s, "Allow once"), choice); err != nil {
		k.t.Fatalf("%s by %s, who may: %v", choice, who, err)
	}
	k.over(len(k.shots()))
}

// denied tries a choice through the surface and as the click behind that, and checks that it was refused both times.
func (k *talk) denied(who person, s shot, b button, choice chat.Choice) {
	k.t.Helper()
	k.press(k.t, who, s, as(b, choice))
	var no *decision.Refusal
	if err := k.decide(who, b, choice); !errors.As(err, &no) || no.Say == "" {
		k.t.Fatalf("%s by %s: %v", choice, who, err)
	}
}

// as is the same button with another choice.
func as(b button, choice chat.Choice) button {
	b.token = b.ticket()
	b.choice = string(choice)
	b.slack.Type, b.slack.ActionID, b.slack.Value = "button", "nod:"+string(choice)+":1", b.token
	b.discord.ID, b.discord.Value = "nod:"+string(choice)+":"+b.token, ""
	return b
}

// wide are the choices that leave something standing.
var wide = []chat.Choice{
	chat.AllowChat, chat.AllowExact, chat.AllowPath, chat.AllowHour, chat.AllowUses, chat.AllowReads, chat.AllowWrites, chat.AllowServer, chat.AllowSession, chat.Remember,
}

// mixTools are a server's of every kind.
func mixTools() (out []tool) {
	for _, name := range []string{"look", "put", "boom", "pair", "others", "list_directory", "ruled", "refusing"} {
		out = append(out, tool{server: "mix", name: name, description: "Does."})
	}
	for _, s := range surfaces {
		for _, name := range []string{"mem-" + s.name, "changing-" + s.name, "turning-" + s.name, "narrow-" + s.name + "-allow_exact", "narrow-" + s.name + "-allow_path",
			"narrow-" + s.name + "-allow_exact-control", "narrow-" + s.name + "-allow_path-control", "narrow-" + s.name + "-uses"} {
			out = append(out, tool{server: "mix", name: name, description: "Does."})
		}
		for name := range inChannel {
			out = append(out, tool{server: "mix", name: channelTool(s.name, name), description: "Does."})
		}
	}
	return out
}

// mixed is what the operator says of them.
func mixed() permission.ServerSettings {
	reads, writes, dangerous, safe := permission.Read, permission.Write, permission.Dangerous, permission.Safe
	two, no := permission.People(2), false
	return permission.ServerSettings{Tools: map[string]permission.ToolSettings{
		"ruled": {Rules: argumentRules["ruled"]}, "refusing": {Rules: argumentRules["refusing"]},
		"look": {Access: &reads, Risk: &safe}, "put": {Access: &writes, Risk: &safe}, "boom": {Access: &writes, Risk: &dangerous},
		"pair":   {Rights: permission.Rights{MinApprovals: &two, Approvers: &permission.Approvers{Rule: permission.ApproversAnyone}}},
		"others": {Rights: permission.Rights{RequesterMayApprove: &no, Approvers: &permission.Approvers{Rule: permission.ApproversAnyone}}},
	}}
}

// located is a call with the case's name beside its path, so that the ledger tells it whatever the path is.
func located(name, path string) agent.ReplyCall {
	return call("box", "write", fmt.Sprintf(`{"case":%q,"path":%q}`, name, path))
}
