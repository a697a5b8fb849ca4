package inbound

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"strings"

	"github.com/slack-go/slack"

	"github.com/nodhq/nod/adapters/slack/blocks"
	"github.com/nodhq/nod/core/chat"
)

// TeamRef is the team of an interaction: null where the app is installed for a whole organisation.
// https://docs.slack.dev/reference/interaction-payloads/block_actions-payload
type TeamRef struct {
	ID         LooseString `json:"id"`
	Enterprise LooseString `json:"enterprise_id"`
}

// UnmarshalJSON never fails: what is no team names none.
func (c *TeamRef) UnmarshalJSON(b []byte) error {
	type plain TeamRef
	_ = json.Unmarshal(b, (*plain)(c))
	return nil
}

// Concerns reports whether an interaction is of this app, where the bot token is of. user.team_id does not matter: with somebody of
// another organisation it is theirs. In a view that such a person fills in, team is theirs too, and the view says where the app is installed
// (slackapi/bolt-js#1615), which may be an organisation. Where no workspace is named, the organisation has to be.
func (in Interaction) Concerns(me Self) bool {
	team, enterprise := cmp.Or(in.View.Installed, in.Team.ID), cmp.Or(in.Team.Enterprise, in.Enterprise)
	if at := in.View.Installed; string(at) == me.Enterprise {
		enterprise = at
	}
	return me.Concerned(in.App, team, enterprise)
}

// Interaction is a click, or a form that was sent. Who did it is User and nothing else. slack-go's own type is not used for what surrounds
// the actions: it rejects an empty attachment_id, and a message whose blocks Slack rewrote in a way it does not know.
// https://docs.slack.dev/reference/interaction-payloads/block_actions-payload
// https://docs.slack.dev/reference/interaction-payloads/view-interactions-payload
type Interaction struct {
	Type        string      `json:"type"`
	App         LooseString `json:"api_app_id"`
	Team        TeamRef     `json:"team"`
	Enterprise  LooseString `json:"enterprise"` // its id
	Trigger     LooseString `json:"trigger_id"`
	ResponseURL LooseString `json:"response_url"`
	User        LooseString `json:"user"` // its id
	Channel     LooseString `json:"channel"`
	Message     struct {
		TS     LooseString `json:"ts"`
		Thread LooseString `json:"thread_ts"`
	} `json:"message"`
	Container struct {
		Channel   LooseString `json:"channel_id"`
		Message   LooseString `json:"message_ts"`
		Thread    LooseString `json:"thread_ts"`
		Ephemeral bool        `json:"is_ephemeral"`
	} `json:"container"`
	Actions []json.RawMessage `json:"actions"`
	View    struct {
		ID        LooseString `json:"id"`
		Type      LooseString `json:"type"` // modal or home
		Hash      LooseString `json:"hash"`
		Callback  LooseString `json:"callback_id"`
		Metadata  LooseString `json:"private_metadata"`
		Previous  LooseString `json:"previous_view_id"`      // the modal that it lies on
		Installed LooseString `json:"app_installed_team_id"` // the workspace, or organisation, whose installation opened it
		State     struct {
			Values map[string]map[string]InputState `json:"values"`
		} `json:"state"`
	} `json:"view"`
}

// InputState is what an input holds.
// https://docs.slack.dev/reference/interaction-payloads/view-interactions-payload#view-state
type InputState struct {
	Value    LooseString   `json:"value"`
	Option   OptionState   `json:"selected_option"`
	Options  []OptionState `json:"selected_options"`
	Date     LooseString   `json:"selected_date"`      // 2026-11-21
	DateTime LooseString   `json:"selected_date_time"` // seconds since 1970
}

type OptionState struct {
	Value LooseString `json:"value"`
}

// Input is what the one input of a block holds; a block of ours has just one.
func (in Interaction) Input(block string) (e InputState) {
	for _, v := range in.View.State.Values[block] {
		e = v
	}
	return e
}

func DecodeInteraction(payload []byte) (Interaction, error) { return decode[Interaction](payload) }

// Lane: somebody's clicks on one message keep their order, and wait for nobody else's, nor for a message of its thread.
func (in Interaction) Lane() string {
	if in.View.ID != "" {
		return "v:" + string(in.View.ID)
	}
	return "i:" + string(in.Container.Channel) + "/" + string(in.MessageRef()) + "/" + string(in.User)
}

func (in Interaction) MessageRef() chat.MessageRef {
	return chat.MessageRef(cmp.Or(in.Container.Message, in.Message.TS))
}

func (in Interaction) ChannelID() string { return string(cmp.Or(in.Container.Channel, in.Channel)) }

// Place is the thread that the clicked message stands in.
func (in Interaction) Place(me Self) (p blocks.Place, ok bool) {
	thread := cmp.Or(in.Container.Thread, in.Message.Thread, LooseString(in.MessageRef()))
	p = blocks.Place{Team: me.Team, Channel: in.ChannelID(), Thread: string(thread)}
	return p, p.Channel != "" && blocks.IsTimestamp(p.Thread)
}

func (in Interaction) Delivery(act *slack.BlockAction) chat.Delivery {
	return chat.Delivery("i:" + string(in.MessageRef()) + ":" + act.ActionTs + ":" + act.ActionID)
}

func (in Interaction) PanelDelivery(act *slack.BlockAction) chat.Delivery {
	return chat.Delivery("p:" + string(in.View.ID) + ":" + act.ActionTs + ":" + act.ActionID)
}

// Submission is the same for a form that Slack sends twice, and another for one that was corrected: the view and its hash stay then.
func (in Interaction) Submission(value string) chat.Delivery {
	sum := sha256.Sum256([]byte(value))
	return chat.Delivery("v:" + string(in.View.ID) + ":" + string(in.View.Hash) + ":" + hex.EncodeToString(sum[:6]))
}

// SlashCommand is a slash command. It names a channel, never a thread.
// https://docs.slack.dev/interactivity/implementing-slash-commands/#app_command_handling
type SlashCommand struct {
	App         LooseString `json:"api_app_id"`
	Team        LooseString `json:"team_id"`
	Enterprise  LooseString `json:"enterprise_id"`
	Channel     LooseString `json:"channel_id"`
	User        LooseString `json:"user_id"`
	Text        LooseString `json:"text"`
	ResponseURL LooseString `json:"response_url"`
	Trigger     LooseString `json:"trigger_id"`
}

// ReadSlashCommand is a slash command as HTTP brings it: a form.
func ReadSlashCommand(form func(string) string) SlashCommand {
	return SlashCommand{
		App: LooseString(form("api_app_id")), Team: LooseString(form("team_id")), Enterprise: LooseString(form("enterprise_id")),
		Channel: LooseString(form("channel_id")), User: LooseString(form("user_id")), Text: LooseString(form("text")),
		ResponseURL: LooseString(form("response_url")), Trigger: LooseString(form("trigger_id")),
	}
}

func (c SlashCommand) Lane() string { return "c:" + string(c.Channel) + "/" + string(c.User) }

func (c SlashCommand) Direct() bool { return strings.HasPrefix(string(c.Channel), "D") }

// slashSettings are what a slash command about settings begins with.
var slashSettings = []string{"permissions", "tools", "halt", "resume", "why", "whoami", "history", "stats"}

// SettingsWords reads a slash command about settings: the words for [surface.Settings.Permissions].
func (c SlashCommand) SettingsWords() (words []string, ok bool) {
	words = strings.Fields(string(c.Text))
	if len(words) == 0 || !slices.Contains(slashSettings, strings.ToLower(words[0])) {
		return nil, false
	}
	if strings.EqualFold(words[0], "permissions") {
		words = words[1:]
	}
	return words, true
}
