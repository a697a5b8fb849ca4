package inbound

// One app token, and one signing secret, bring what happens in every workspace that the app is installed in. What is of another one than
// the bot token's counts for nothing here.

// Self is who the bot is: what auth.test, and for App bots.info, say of the bot. https://docs.slack.dev/reference/methods/auth.test
type Self struct {
	Team       string // workspace ID
	Enterprise string // of an Enterprise Grid; else empty
	User       string // the bot's user ID, as others mention it
	Bot        string // the bot ID, as its messages carry it
	App        string // the app's ID; empty: not known
	URL        string // of the workspace, ending in "/"
}

// sameWorkspace reports whether something is of the workspace that the bot token belongs to, or of its organisation: on Enterprise Grid a
// channel can be in several workspaces of one organisation.
func (me Self) sameWorkspace(team, enterprise LooseString) bool {
	return string(team) == me.Team || me.Enterprise != "" && string(enterprise) == me.Enterprise
}

// Concerned reports whether what names an app, a workspace and an organisation is of this app, where the bot token is of.
func (me Self) Concerned(app, team, enterprise LooseString) bool {
	return (app == "" || me.App == "" || string(app) == me.App) && me.sameWorkspace(team, enterprise)
}
