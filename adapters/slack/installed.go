package slack

import (
	"cmp"
	"context"
	"encoding/json"

	"github.com/slack-go/slack"

	"github.com/nodhq/nod/adapters/surface"
)

// One app token, and one signing secret, bring what happens in every workspace that the app is installed in. What is of another one than
// the bot token's counts for nothing here.

// home reports whether something is of the workspace that the bot token belongs to, or of its organisation: on Enterprise Grid a
// channel can be in several workspaces of one organisation.
func (me self) home(team, enterprise loose) bool {
	return string(team) == me.Team || me.Enterprise != "" && string(enterprise) == me.Enterprise
}

// concerned reports whether what names an app, a workspace and an organisation is of this app, where the bot token is of.
func (me self) concerned(app, team, enterprise loose) bool {
	return (app == "" || me.App == "" || string(app) == me.App) && me.home(team, enterprise)
}

// crew is the team of an interaction: null where the app is installed for a whole organisation.
// https://docs.slack.dev/reference/interaction-payloads/block_actions-payload
type crew struct{ ID, Enterprise loose }

// UnmarshalJSON never fails: what is no team names none.
func (c *crew) UnmarshalJSON(b []byte) error {
	var o struct {
		ID         loose `json:"id"`
		Enterprise loose `json:"enterprise_id"`
	}
	if json.Unmarshal(b, &o) == nil {
		*c = crew(o)
	}
	return nil
}

// concerns reports whether an interaction is of this app, where the bot token is of. user.team_id does not matter: with somebody of
// another organisation it is theirs. In a view that such a person fills in, team is theirs too, and the view says where the app is installed
// (slackapi/bolt-js#1615), which may be an organisation. Where no workspace is named, the organisation has to be.
func (in interaction) concerns(me self) bool {
	team, enterprise := in.Team.ID, cmp.Or(in.Team.Enterprise, in.Enterprise)
	if at := in.View.Installed; at != "" {
		if team = at; string(at) == me.Enterprise {
			enterprise = at
		}
	}
	return me.concerned(in.App, team, enterprise)
}

// elsewhere refuses an interaction of another workspace or app, and says so where it can be said.
func (a *Adapter) elsewhere(in interaction) receipt {
	a.Logger.Warn("slack: an interaction of another workspace or app is refused", "type", surface.Shortened(in.Type, 64),
		"team", surface.Shortened(string(in.Team.ID), 64), "app", surface.Shortened(string(in.App), 64))
	block := map[string]string{callbackDeny: blockReason, callbackEdit: blockArgs, callbackAnswer: wantBlock(0), callbackFill: blockFill}[string(in.View.Callback)]
	switch {
	case in.Type == "view_submission" && block != "":
		return receipt{body: slack.NewErrorsViewSubmissionResponse(map[string]string{block: sayElsewhere})}
	case in.Type == "block_actions" && in.channel() != "":
		return a.answering(privately(string(in.ResponseURL), in.channel(), string(in.Container.Thread), string(in.User)), sayElsewhere)
	}
	return receipt{} // nowhere to say it
}

// ownApp is the app that the bot token belongs to, by bots.info; auth.test does not say. Empty where Slack does not say: then only who signed, or
// whose socket it came by, says which app something is of.
// https://docs.slack.dev/reference/methods/bots.info
func (a *Adapter) ownApp(ctx context.Context, bot string) string {
	ctx, cancel := context.WithTimeout(ctx, surface.CallTimeout)
	defer cancel()
	b, err := a.api.GetBotInfoContext(ctx, slack.GetBotInfoParameters{Bot: bot})
	if err != nil {
		a.Logger.Info("slack: which app the bot token is of is not known", "err", faultOf(err))
		return ""
	}
	return b.AppID
}
