package calls

// What to do about errors of Slack's, for the log and the doctor, and for whoever wrote where the bot cannot answer.

const reinstall = "reinstall the app in the workspace, and give its Bot User OAuth Token (xoxb-…) as SLACK_BOT_TOKEN"

// TokenAdvice is what to do about the errors of auth.test that no waiting mends. https://docs.slack.dev/reference/methods/auth.test lists
// these.
var TokenAdvice = map[string]string{ //nolint:gosec // words about tokens, none of them one
	"not_authed":              "no token arrived; give the app's Bot User OAuth Token (xoxb-…) as SLACK_BOT_TOKEN",
	"invalid_auth":            "it is not a token of this app, or this network is not allowed; copy the Bot User OAuth Token (xoxb-…) from the app's \"OAuth & Permissions\" page to SLACK_BOT_TOKEN, and look at the app's allowed IP ranges",
	"account_inactive":        "the app was removed from the workspace, or the workspace is gone; " + reinstall,
	"token_revoked":           "it was revoked; " + reinstall,
	"token_expired":           "it has expired; " + reinstall + ", with token rotation turned off",
	"not_allowed_token_type":  "it is of the wrong kind; give the Bot User OAuth Token (xoxb-…) as SLACK_BOT_TOKEN and the App-Level Token (xapp-…) as SLACK_APP_TOKEN",
	"org_login_required":      "the workspace is being moved to another organisation; wait until that is done, then start again",
	"team_access_not_granted": "the app was not granted this workspace; ask an organisation admin to approve it, then " + reinstall,
	"ekm_access_denied":       "the organisation's admins have suspended it; ask them",
}

// AppTokenAdvice is the same for the app token. https://docs.slack.dev/reference/methods/apps.connections.open
var AppTokenAdvice = map[string]string{
	"invalid_auth":           "it is no token of an app; generate an App-Level Token (xapp-…) with the scope connections:write on the app's page Basic Information",
	"not_authed":             "no token arrived",
	"not_allowed_token_type": "this is another kind of token; generate an App-Level Token (xapp-…) with the scope connections:write on the app's page Basic Information",
	"missing_scope":          "its scope connections:write is missing; generate another with it on the app's page Basic Information",
	"no_permission":          "its scope connections:write is missing; generate another with it on the app's page Basic Information",
	"token_revoked":          "it was revoked; generate another on the app's page Basic Information",
	"account_inactive":       "the app is no more, or is not installed",
	"forbidden_team":         "the app is not installed in this workspace",
}

const (
	askAdmins = "ask somebody who manages the channel to let the app post there, or ask me in another one"
	inviteMe  = "write /invite and my name there, and ask again"
)

// placeAdvice are the refusals of a place, with what whoever wrote to the bot there can do. https://docs.slack.dev/reference/methods/chat.postMessage#errors
var placeAdvice = map[string]string{
	"not_in_channel":                           "I am no member of that channel: " + inviteMe + ".",
	"is_archived":                              "the channel is archived. Ask me in another one.",
	"restricted_action":                        "only some may post in that channel: " + askAdmins + ".",
	"restricted_action_read_only_channel":      "the channel is read-only: " + askAdmins + ".",
	"restricted_action_thread_only_channel":    "new messages are not allowed in that channel: " + askAdmins + ".",
	"restricted_action_non_threadable_channel": "threads are not allowed in that channel: " + askAdmins + ".",
	"restricted_action_thread_locked":          "the thread is locked: ask me in another one.",
	"channel_not_found":                        "I cannot see that channel. If it is private, " + inviteMe + ".",
	"cannot_reply_to_message":                  "that message takes no replies. Ask me in a message of its own.",
}
