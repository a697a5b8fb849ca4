package fakeslack

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
)

// methods are those of the Web API that are here. https://docs.slack.dev/reference/methods
var methods map[string]method

func init() { // openConnection and the rest name methods themselves, by way of the server
	methods = map[string]method{
		"api.test":                              {scope: "none", run: apiTest},
		"auth.test":                             {run: authTest},
		"apps.connections.open":                 {app: true, scope: "connections:write", run: openConnection},
		"oauth.v2.access":                       {scope: "none", run: oauthAccess},
		"auth.revoke":                           {run: authRevoke},
		"chat.postMessage":                      {scope: "chat:write", run: postMessage},
		"chat.update":                           {scope: "chat:write", run: updateMessage},
		"chat.delete":                           {scope: "chat:write", run: deleteMessage},
		"chat.postEphemeral":                    {scope: "chat:write", run: postEphemeral},
		"chat.getPermalink":                     {run: permalink},
		"conversations.info":                    {scope: "channels:read|groups:read|im:read|mpim:read", run: conversationInfo},
		"users.conversations":                   {scope: "channels:read|groups:read|im:read|mpim:read", run: conversationsOf},
		"conversations.open":                    {scope: "im:write|mpim:write|channels:manage", run: conversationOpen},
		"conversations.replies":                 {scope: "channels:history|groups:history|im:history|mpim:history", run: replies},
		"conversations.history":                 {scope: "channels:history|groups:history|im:history|mpim:history", run: history},
		"bots.info":                             {scope: "users:read", run: botInfo},
		"usergroups.list":                       {scope: "usergroups:read", run: listUserGroups},
		"users.info":                            {scope: "users:read", run: userInfo},
		"views.open":                            {run: openView},
		"views.push":                            {run: pushView},
		"views.update":                          {run: updateView},
		"views.publish":                         {run: publishView},
		"agents.sessions.setStatus":             {scope: "chat:write", run: setSession},
		"agents.sessions.rename":                {scope: "chat:write", run: renameSession},
		"assistant.threads.setStatus":           {scope: "chat:write|assistant:write", run: setTyping},
		"assistant.threads.setTitle":            {scope: "assistant:write", run: setTitle},
		"assistant.threads.setSuggestedPrompts": {scope: "assistant:write", run: setPrompts},
		"files.info":                            {scope: "files:read", run: fileInfo},
		"files.getUploadURLExternal":            {scope: "files:write", run: uploadURL},
		"files.completeUploadExternal":          {scope: "files:write", run: completeUpload},
		"blocks.validate":                       {run: validateBlocks},
	}
}

func apiTest(_ *Server, v values) (map[string]any, *refusal) {
	if code := v.Get("error"); code != "" {
		return no(code)
	}
	return map[string]any{}, nil
}

func authTest(s *Server, _ values) (map[string]any, *refusal) {
	out := map[string]any{"url": s.base + "/", "team": s.opt.TeamName, "user": s.opt.BotName, "team_id": s.opt.Team, "user_id": s.opt.BotUser, "bot_id": s.opt.BotID,
		"is_enterprise_install": false}
	if s.opt.Enterprise != "" {
		out["enterprise_id"] = s.opt.Enterprise
	}
	return out, nil
}

// botInfo knows the app's own bot alone. https://docs.slack.dev/reference/methods/bots.info
func botInfo(s *Server, v values) (map[string]any, *refusal) {
	if v.Get("bot") != s.opt.BotID {
		return no("bot_not_found")
	}
	return map[string]any{"bot": map[string]any{"id": s.opt.BotID, "app_id": s.opt.AppID, "name": s.opt.BotName, "user_id": s.opt.BotUser, "deleted": false, "updated": 1}}, nil
}

// readable is the channel if the bot may read it. s.mu is held.
func (s *Server) readable(v values) (*channel, *refusal) {
	c := s.channels[v.Get("channel")]
	switch {
	case c == nil || !s.member(c) && c.Kind != Public:
		return nil, &refusal{Error: "channel_not_found"}
	case !s.member(c):
		return nil, &refusal{Error: "not_in_channel"}
	}
	return c, nil
}

func conversationInfo(s *Server, v values) (map[string]any, *refusal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, bad := s.readable(v)
	if bad != nil && bad.Error == "not_in_channel" { // what a public channel is anybody may know
		c, bad = s.channels[v.Get("channel")], nil
	}
	if bad != nil {
		return nil, bad
	}
	out := map[string]any{"id": c.ID, "name": c.Name, "name_normalized": c.Name, "is_archived": c.Archived, "is_member": s.member(c), "is_channel": c.Kind == Public || c.Kind == Private,
		"is_group": c.Kind == Private, "is_im": c.Kind == DM, "is_mpim": c.Kind == Group, "is_private": c.Kind != Public, "is_ext_shared": c.Shared, "is_shared": c.Shared,
		"context_team_id": s.opt.Team, "num_members": len(c.Members)}
	if c.Kind == DM {
		delete(out, "name")
		for _, m := range c.Members {
			if m != s.opt.BotUser {
				out["user"] = m
			}
		}
	}
	return map[string]any{"channel": out}, nil
}

// conversationsOf are those that the bot is a member of. https://docs.slack.dev/reference/methods/users.conversations
func conversationsOf(s *Server, v values) (map[string]any, *refusal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := []any{}
	for _, c := range s.channels {
		kind := map[Kind]string{Public: "public_channel", Private: "private_channel", DM: "im", Group: "mpim"}[c.Kind]
		if s.member(c) && slices.Contains(strings.Split(cmp.Or(v.Get("types"), "public_channel"), ","), kind) && !(c.Archived && isTrue(v.Get("exclude_archived"))) {
			out = append(out, map[string]any{"id": c.ID, "name": c.Name})
		}
	}
	return map[string]any{"channels": out, "response_metadata": map[string]any{"next_cursor": ""}}, nil
}

func conversationOpen(s *Server, v values) (map[string]any, *refusal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	user := v.Get("users")
	if s.users[user] == nil {
		return no("user_not_found")
	}
	return map[string]any{"channel": map[string]any{"id": s.dm(user).ID}}, nil
}

func replies(s *Server, v values) (map[string]any, *refusal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, bad := s.readable(v)
	if bad != nil {
		return nil, bad
	}
	root, bad := c.thread(v.Get("ts"))
	if bad != nil || root == "" {
		return no("thread_not_found")
	}
	return s.pageOf(v, c.in(root), true)
}

func history(s *Server, v values) (map[string]any, *refusal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, bad := s.readable(v)
	if bad != nil {
		return nil, bad
	}
	roots := slices.DeleteFunc(slices.Clone(c.messages), func(m *Message) bool { return m.Thread != "" })
	slices.Reverse(roots)
	return s.pageOf(v, roots, false)
}

// pageOf is one page of messages. first keeps the first message (the root) on every page, as conversations.replies does.
func (s *Server) pageOf(v values, all []*Message, first bool) (map[string]any, *refusal) {
	limit, from := 1000, 0
	if raw := v.Get("limit"); raw != "" {
		n, err := strconv.Atoi(raw)
		if err != nil || n < 1 || n > 1000 {
			return no("invalid_limit")
		}
		limit = n
	}
	if raw := v.Get("cursor"); raw != "" {
		n, err := strconv.Atoi(raw)
		if err != nil || n < 0 {
			return no("invalid_cursor")
		}
		from = n
	}
	oldest, latest, inclusive := v.Get("oldest"), v.Get("latest"), isTrue(v.Get("inclusive"))
	shown := slices.DeleteFunc(slices.Clone(all), func(m *Message) bool {
		if m.Deleted {
			return true
		}
		if first && m == all[0] {
			return false
		}
		early := oldest != "" && (before(m.TS, oldest) || !inclusive && m.TS == oldest)
		late := latest != "" && (before(latest, m.TS) || !inclusive && m.TS == latest)
		return early || late
	})
	end := min(len(shown), from+limit)
	out := []any{}
	for _, m := range shown[min(from, end):end] {
		w := s.wire(m, m.Version)
		if m.Metadata != nil && isTrue(v.Get("include_all_metadata")) {
			w["metadata"] = m.Metadata
		}
		out = append(out, w)
	}
	next := ""
	if end < len(shown) {
		next = strconv.Itoa(end)
	}
	return map[string]any{"messages": out, "has_more": next != "", "response_metadata": map[string]any{"next_cursor": next}}, nil
}

func isTrue(v string) bool { return v == "1" || v == "true" }

// before compares timestamps, which have the same number of digits until 2286.
func before(a, b string) bool { return a < b }

func userInfo(s *Server, v values) (map[string]any, *refusal) {
	s.mu.Lock()
	defer s.mu.Unlock()
	u := s.users[v.Get("user")]
	if u == nil {
		return no("user_not_found")
	}
	tz := cmp.Or(u.TZ, "UTC")
	out := map[string]any{"id": u.ID, "team_id": u.Team, "name": u.Name, "real_name": u.Name, "deleted": u.Deleted, "tz": tz, "tz_label": tz, "tz_offset": 0, "is_bot": u.Bot,
		"is_admin": u.Admin, "is_owner": u.Owner, "is_restricted": u.Guest || u.UltraGuest, "is_ultra_restricted": u.UltraGuest, "is_stranger": u.Stranger, "is_app_user": u.Bot, "updated": 1,
		"profile": map[string]any{"real_name": u.Name, "display_name": u.Name, "real_name_normalized": u.Name, "display_name_normalized": u.Name, "team": u.Team}}
	if u.EnterpriseID != "" {
		out["enterprise_user"] = map[string]any{"id": u.ID, "enterprise_id": u.EnterpriseID, "enterprise_name": u.EnterpriseID, "is_admin": false, "is_owner": false, "teams": []string{u.Team}}
	}
	return map[string]any{"user": out}, nil
}

func validateBlocks(_ *Server, v values) (map[string]any, *refusal) {
	var bad *refusal
	given := 0
	for _, k := range []string{"blocks", "message", "view"} {
		if v.Get(k) == "" {
			continue
		}
		given++
		raw := []byte(v.Get(k))
		switch k {
		case "blocks":
			bad = checkMessage(raw)
		case "message":
			var m struct{ Blocks json.RawMessage }
			if json.Unmarshal(raw, &m) != nil {
				return no("invalid_arguments")
			}
			if bad = checkMessage(m.Blocks); bad != nil && bad.Error == "invalid_blocks" {
				bad.Error = "invalid_message"
			}
		case "view":
			if bad = checkView(raw, ""); bad != nil {
				bad.Error = "invalid_view"
			}
		}
	}
	if given != 1 {
		return no("invalid_arguments")
	}
	if bad != nil {
		bad.Errors = nil // objects here, where chat.postMessage has strings
		for _, f := range bad.faults {
			at := f.pointer
			if v.Get("blocks") != "" {
				at = strings.TrimPrefix(at, "/blocks")
			}
			bad.Errors = append(bad.Errors, map[string]any{"pointer": at, "code": "failed_constraint", "message": f.message})
		}
		return nil, bad
	}
	return map[string]any{}, nil
}
