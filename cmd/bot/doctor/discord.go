package doctor

import (
	"context"
	"iter"
	"slices"

	"github.com/nodhq/nod/adapters/discord"
	discorddoctor "github.com/nodhq/nod/adapters/discord/doctor"
	"github.com/nodhq/nod/cmd/bot/parts"
	"github.com/nodhq/nod/core/chat"
)

// discord looks at the application, and at the address of a bot that runs.
func (p *patient) discord(ctx context.Context) iter.Seq[finding] {
	if !p.Discord.Enabled() {
		return one(ctx, func(context.Context) finding {
			return finding{What: "Discord", Found: "not configured", Do: "To be on Discord, see bot manifest discord, and set discord.token (DISCORD_TOKEN)."}
		})
	}
	return func(yield func(finding) bool) {
		c := parts.Discord(p.Config)
		for f := range discorddoctor.Check(ctx, c, p.roles()) {
			if !yield(f) {
				return
			}
		}
		switch {
		case c.PublicKey == "" || ctx.Err() != nil:
		case p.running:
			yield(discorddoctor.Reach(ctx, p.local(), c))
		default:
			yield(finding{What: "Discord: " + discord.PathInteractions, Found: "not checked, because no bot runs at " + p.Listen, Do: "Start the bot, then run bot doctor again."})
		}
	}
}

// roles are those of Discord that may decide.
func (p *patient) roles() (out []chat.User) {
	for _, u := range slices.Concat(p.Admins, p.Approvals.Approvers.Users) {
		if u.Platform == discord.Platform && u.IsGroup() && !slices.Contains(out, u) {
			out = append(out, u)
		}
	}
	return out
}
