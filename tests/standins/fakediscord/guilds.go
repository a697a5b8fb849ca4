package fakediscord

import (
	"maps"
	"slices"
)

// What can be asked of guilds, users and the application.

// gatewayURL is where clients connect at first. A RESUME goes to another address.
func (s *Server) gatewayURL() string { return "ws://" + s.host + "/gateway" }

func getGateway(s *Server, _ *request) (int, any, *refusal) {
	return 200, obj{"url": s.gatewayURL()}, nil
}

func getGatewayBot(s *Server, _ *request) (int, any, *refusal) {
	left, after := s.starts()
	return 200, obj{"url": s.gatewayURL(), "shards": s.opt.Shards, "session_start_limit": obj{"total": s.opt.SessionStarts, "remaining": left,
		"reset_after": after.Milliseconds(), "max_concurrency": s.opt.MaxConcurrency}}, nil
}

func getSelf(s *Server, _ *request) (int, any, *refusal) {
	u := s.wireUser(s.opt.BotUser)
	u["mfa_enabled"], u["locale"], u["verified"], u["email"] = true, "en-US", true, nil
	return 200, u, nil
}

// getSelfGuilds are the guilds that the bot is in, with what it may there. All fit on one page.
// https://docs.discord.com/developers/resources/user#get-current-user-guilds
func getSelfGuilds(s *Server, _ *request) (int, any, *refusal) {
	out := []any{}
	for _, id := range slices.Sorted(maps.Keys(s.guilds)) {
		out = append(out, obj{"id": id, "name": s.guilds[id].Name, "icon": nil, "banner": nil, "owner": false, "permissions": s.opt.Permissions.String(), "features": []any{}})
	}
	return 200, out, nil
}

func getUser(s *Server, q *request) (int, any, *refusal) {
	if s.users[q.path("user")] == nil {
		return no(404, 10013, "Unknown User")
	}
	return 200, s.wireUser(q.path("user")), nil
}

// Flags of an application for intents of a bot in few guilds. https://docs.discord.com/developers/resources/application#application-object-application-flags
const (
	flagMembersLimited = 1 << 15
	flagContentLimited = 1 << 19
)

func getApplication(s *Server, _ *request) (int, any, *refusal) {
	flags := 0
	if s.opt.Members {
		flags |= flagMembersLimited
	}
	if !s.noContent {
		flags |= flagContentLimited
	}
	owner := s.wireUser("700000000000000001")
	out := obj{"id": s.opt.AppID, "name": s.opt.BotName, "icon": nil, "description": "", "type": nil, "bot": s.wireUser(s.opt.BotUser), "verify_key": s.PublicKey(), "flags": flags,
		"flags_new": "0", "redirect_uris": []any{}, "interactions_endpoint_url": nil, "role_connections_verification_url": nil, "owner": owner, "approximate_guild_count": len(s.guilds),
		"approximate_user_install_count": 0, "approximate_user_authorization_count": 0, "explicit_content_filter": 0, "team": nil, "bot_public": true, "bot_require_code_grant": false,
		"summary": "", "eligible_oauth2_scopes": []any{}}
	if s.endpoint != "" {
		out["interactions_endpoint_url"] = s.endpoint
	}
	return 200, out, nil
}

// editApplication answers only: the address is set by [Server.Deliver], as a person does in the developer portal.
func editApplication(s *Server, q *request) (int, any, *refusal) { return getApplication(s, q) }

func (s *Server) guildOf(q *request) (*guild, *refusal) {
	g := s.guilds[q.path("guild")]
	if g == nil || g.unavailable {
		return nil, &refusal{status: 404, code: 10004, message: "Unknown Guild"}
	}
	return g, nil
}

func getGuild(s *Server, q *request) (int, any, *refusal) {
	g, bad := s.guildOf(q)
	if bad != nil {
		return 0, nil, bad
	}
	return 200, s.wireGuild(g), nil
}

func getMember(s *Server, q *request) (int, any, *refusal) {
	g, bad := s.guildOf(q)
	if bad != nil {
		return 0, nil, bad
	}
	m := s.wireMember(g, q.path("user"), true)
	if m == nil {
		return no(404, 10007, "Unknown Member")
	}
	return 200, m, nil
}

func getRoles(s *Server, q *request) (int, any, *refusal) {
	g, bad := s.guildOf(q)
	if bad != nil {
		return 0, nil, bad
	}
	return 200, s.wireGuild(g)["roles"], nil
}

func getChannels(s *Server, q *request) (int, any, *refusal) {
	g, bad := s.guildOf(q)
	if bad != nil {
		return 0, nil, bad
	}
	return 200, s.wireGuildCreate(g)["channels"], nil
}

func getActiveThreads(s *Server, q *request) (int, any, *refusal) {
	g, bad := s.guildOf(q)
	if bad != nil {
		return 0, nil, bad
	}
	return 200, obj{"threads": s.wireGuildCreate(g)["threads"], "members": []any{}, "has_more": false}, nil
}

func createDM(s *Server, q *request) (int, any, *refusal) {
	u := str(q.body(), "recipient_id")
	if s.users[u] == nil {
		return 0, nil, &refusal{status: 400, code: 50035, message: "Invalid Form Body", errors: obj{"recipient_id": leaf("USER_INVALID_ID", "Invalid Recipient(s)")}}
	}
	if u == s.opt.BotUser {
		return no(400, 50007, "Cannot send messages to this user")
	}
	return 200, s.wireChannel(s.dm(u)), nil
}
