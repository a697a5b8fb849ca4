package doctor

import (
	"context"
	"errors"
	"fmt"

	"github.com/slack-go/slack"

	adapter "github.com/nodhq/nod/adapters/slack"
	"github.com/nodhq/nod/adapters/surface"
)

// channels looks whether nod is anywhere that it could be spoken to: the commonest reason for no answer is that nobody invited it.
// https://docs.slack.dev/reference/methods/users.conversations
func (x *examination) channels(ctx context.Context) []surface.Finding {
	f := surface.Finding{What: "Slack: channels"}
	if x.self == nil {
		f.Found = notChecked
		return []surface.Finding{f}
	}
	in, more, err := x.api.GetConversationsForUserContext(ctx, &slack.GetConversationsForUserParameters{Types: []string{"public_channel", "private_channel"}, Limit: 200, ExcludeArchived: true})
	switch {
	case err != nil:
		f.Found = "not checked: " + x.said(err)
	case len(in) == 0 && more == "":
		f.Mark, f.Found, f.Do = surface.Doubtful, "nod is in none, and hears nothing there", "Invite it where it should be: /invite @"+x.self.User+". Direct messages to it need none."
	case more != "":
		f.Mark, f.Found = surface.Fine, fmt.Sprintf("nod is in more than %d", len(in))
	default:
		f.Mark, f.Found = surface.Fine, fmt.Sprintf("nod is in %d", len(in))
	}
	return []surface.Finding{f}
}

// maxDeciders is how many people are looked up.
const maxDeciders = 50

// deciders looks whether those whom the configuration names can decide here.
func (x *examination) deciders(ctx context.Context) (out []surface.Finding) {
	if x.self == nil || len(x.People) == 0 {
		return nil
	}
	fine := 0
	for _, p := range x.People[:min(len(x.People), maxDeciders)] {
		f := surface.Finding{What: "Slack: person " + p.Workspace + ":" + p.Key, Mark: surface.Wrong, Do: "Correct admins and approvers: copy the member ID of the person's profile, in the workspace of this token (" + x.self.TeamID + ")."}
		u, err := x.api.GetUserInfoContext(ctx, p.Key)
		no, refused := errors.AsType[slack.SlackErrorResponse](err)
		switch {
		case refused && (no.Err == "user_not_found" || no.Err == "user_not_visible"):
			f.Found = "there is nobody with that ID here, so nobody decides by that entry"
		case err != nil:
			f.Mark, f.Found, f.Do = surface.Unchecked, "not checked: "+x.said(err), ""
		default:
			who := adapter.PersonOf(u, x.self.TeamID, x.self.EnterpriseID)
			switch {
			case who.User != p:
				f.Found = "Slack says that this is slack:" + who.User.Workspace + ":" + who.User.Key + ", so that entry is nobody"
			case who.Gone:
				f.Found = "is deactivated, and cannot decide"
			case who.Bot:
				f.Found = "is a program, and cannot decide"
			case who.Guest && !x.Guests:
				f.Found, f.Do = "is a guest, and guests may not decide here", "Name a member of the workspace, or set slack.guests: true."
			case who.External && !x.External:
				f.Found, f.Do = "is of another organisation, whose people may not decide here", "Name a member of the workspace, or set slack.external: true."
			default:
				fine++
				continue
			}
		}
		out = append(out, f)
	}
	if fine > 0 {
		out = append(out, surface.Finding{What: "Slack: admins and approvers", Mark: surface.Fine, Found: fmt.Sprintf("%d of the people named can decide here", fine)})
	}
	return out
}
