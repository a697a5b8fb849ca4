package fakediscord

import (
	"cmp"
	"strings"
)

// How things look in JSON. https://docs.discord.com/developers/resources/message#message-object and its sisters. s.mu is held.

func (s *Server) wireUser(id string) obj {
	u := s.users[id]
	if u == nil {
		u = &User{ID: id, Name: "Deleted User"}
	}
	out := obj{"id": u.ID, "username": cmp.Or(u.Handle, strings.ToLower(u.Name)), "global_name": u.Name, "avatar": nil, "discriminator": "0", "public_flags": 0, "flags": 0,
		"banner": nil, "accent_color": nil, "avatar_decoration_data": nil, "collectibles": nil, "primary_guild": nil}
	if u.Bot {
		out["bot"], out["global_name"], out["username"] = true, nil, u.Name
	}
	return out
}

func (s *Server) wireMember(g *guild, user string, whole bool) obj {
	m := g.members[user]
	if m == nil {
		return nil
	}
	out := obj{"roles": list(m.Roles), "nick": nil, "avatar": nil, "banner": nil, "joined_at": "2025-01-01T00:00:00.000000+00:00", "premium_since": nil,
		"deaf": false, "mute": false, "flags": 0, "pending": false, "communication_disabled_until": nil}
	if m.Nick != "" {
		out["nick"] = m.Nick
	}
	if whole {
		out["user"] = s.wireUser(user)
	}
	return out
}

func list[T any](in []T) []any {
	out := make([]any, len(in))
	for i, v := range in {
		out[i] = v
	}
	return out
}

func (s *Server) wireRole(g *guild, r *Role) obj {
	position := 0
	for i, x := range g.roles {
		if x == r {
			position = i
		}
	}
	out := obj{"id": r.ID, "name": r.Name, "permissions": r.Permissions.String(), "position": position, "color": 0,
		"colors": obj{"primary_color": 0, "secondary_color": nil, "tertiary_color": nil}, "hoist": false, "managed": r.Name == s.opt.BotName,
		"mentionable": r.Mentionable, "icon": nil, "unicode_emoji": nil, "flags": 0, "description": nil}
	if r.Name == s.opt.BotName {
		out["tags"] = obj{"bot_id": s.opt.BotUser}
	}
	return out
}

func (s *Server) wireChannel(c *channel) obj {
	out := obj{"id": c.ID, "type": c.Kind, "flags": 0, "last_message_id": nil}
	if n := len(c.messages); n > 0 {
		out["last_message_id"] = c.messages[n-1].ID
	}
	if c.Kind == DM {
		out["recipients"] = []any{s.wireUser(c.With)}
		return out
	}
	out["guild_id"], out["name"], out["parent_id"], out["rate_limit_per_user"] = c.Guild, c.Name, nil, 0
	if c.Parent != "" {
		out["parent_id"] = c.Parent
	}
	if !c.Thread() {
		out["position"], out["nsfw"], out["topic"], out["permission_overwrites"] = 0, false, nil, []any{}
		if c.Denied != 0 {
			out["permission_overwrites"] = []any{obj{"id": s.opt.BotUser, "type": 1, "allow": "0", "deny": c.Denied.String()}}
		}
		return out
	}
	out["owner_id"], out["message_count"], out["total_message_sent"], out["member_count"] = c.Owner, len(c.messages), len(c.messages), min(len(c.People), 50)
	out["thread_metadata"] = obj{"archived": c.Archived, "archive_timestamp": stamp(s.clock.Now()), "auto_archive_duration": c.AutoArchive, "locked": c.Locked,
		"create_timestamp": stamp(Time(c.ID))}
	for _, u := range c.People {
		if u == s.opt.BotUser {
			out["member"] = s.wireThreadMember(c, u)
		}
	}
	return out
}

func (s *Server) wireThreadMember(c *channel, user string) obj {
	return obj{"id": c.ID, "user_id": user, "join_timestamp": stamp(Time(c.ID)), "flags": 0, "muted": false, "mute_config": nil}
}

func (s *Server) wireAuthor(m *Message) obj {
	if m.Name == "" {
		return s.wireUser(m.Author)
	}
	return obj{"id": m.Author, "username": m.Name, "avatar": nil, "discriminator": "0000", "public_flags": 0, "flags": 0, "bot": true, "global_name": nil, "primary_guild": nil}
}

// wireMessage is a message as REST gives it.
func (s *Server) wireMessage(m *Message) obj { return s.wireVersion(m, m.Version) }

func (s *Server) wireVersion(m *Message, v Version) obj {
	out := s.wireBare(m, v)
	if r := m.Reference; r != nil && (m.Type == TypeReply || m.Type == TypeThreadStarter) { // https://docs.discord.com/developers/resources/message#message-object
		out["referenced_message"] = nil // deleted
		if c := s.channels[r.Channel]; c != nil {
			if of := c.find(r.Message); of != nil {
				out["referenced_message"] = s.wireBare(of, of.Version)
			}
		}
	}
	return out
}

func (s *Server) wireBare(m *Message, v Version) obj {
	mentions := []any{}
	for _, u := range v.Mentions {
		mentions = append(mentions, s.wireUser(u))
	}
	files := []any{}
	for _, a := range v.Attachments {
		files = append(files, s.wireAttachment(a, m.Ephemeral != ""))
	}
	out := obj{"id": m.ID, "channel_id": m.Channel, "type": m.Type, "content": v.Content, "author": s.wireAuthor(m), "timestamp": stamp(Time(m.ID)), "edited_timestamp": nil,
		"tts": false, "pinned": false, "mention_everyone": v.Everyone, "mentions": mentions, "mention_roles": list(v.MentionRoles), "attachments": files,
		"embeds": orEmpty(v.Embeds), "components": orEmpty(v.Components), "flags": v.Flags}
	if !m.Edited.IsZero() {
		out["edited_timestamp"] = stamp(m.Edited)
	}
	if m.Webhook != "" {
		out["webhook_id"] = m.Webhook
	}
	if m.Webhook == s.opt.AppID {
		out["application_id"] = s.opt.AppID
	}
	if m.poll != nil {
		out["poll"] = m.poll
	}
	if m.snapshot != nil {
		out["message_snapshots"] = []any{obj{"message": m.snapshot}}
	}
	if m.nonceJSON != nil {
		out["nonce"] = m.nonceJSON
	}
	if r := m.Reference; r != nil {
		ref := obj{"type": r.Kind, "channel_id": r.Channel}
		if r.Message != "" {
			ref["message_id"] = r.Message
		}
		if r.Guild != "" {
			ref["guild_id"] = r.Guild
		}
		out["message_reference"] = ref
	}
	if c := s.channels[m.Thread]; c != nil && !c.deleted {
		out["thread"] = s.wireChannel(c)
	}
	s.wireCause(m, out)
	return out
}

// wireSnapshot is a message as it is forwarded: https://docs.discord.com/developers/resources/message#message-snapshot-object
func (s *Server) wireSnapshot(m *Message) obj {
	whole, out := s.wireBare(m, m.Version), obj{}
	for _, k := range []string{"type", "content", "embeds", "attachments", "timestamp", "edited_timestamp", "flags", "mentions", "mention_roles", "components"} {
		out[k] = whole[k]
	}
	return out
}

// wireCause says which interaction a message came of.
func (s *Server) wireCause(m *Message, out obj) {
	if m.cause == "" {
		return
	}
	meta := obj{"id": m.cause, "type": m.kind, "user": s.wireUser(m.by), "authorizing_integration_owners": s.owners(m.Guild)}
	switch m.kind {
	case kindComponent:
		meta["interacted_message_id"] = m.on
	case kindModal:
		meta["triggering_interaction_metadata"] = obj{"id": m.cause, "type": kindComponent, "user": s.wireUser(m.by), "authorizing_integration_owners": s.owners(m.Guild), "interacted_message_id": cmp.Or(m.on, m.ID)}
	}
	out["interaction_metadata"] = meta
}

func (s *Server) owners(in string) obj { return obj{"0": cmp.Or(in, "0")} }

func orEmpty(v []any) []any {
	if v == nil {
		return []any{}
	}
	return v
}

func (s *Server) wireAttachment(a Attachment, ephemeral bool) obj {
	at := s.signedURL(a.URL)
	out := obj{"id": a.ID, "filename": a.Name, "size": a.Size, "url": at, "proxy_url": at, "content_type": a.Type}
	if a.Description != "" {
		out["description"] = a.Description
	}
	if ephemeral {
		out["ephemeral"] = true
	}
	return out
}

// wireGuildCreate is the data of GUILD_CREATE.
func (s *Server) wireGuildCreate(g *guild) obj {
	out := s.wireGuild(g)
	channels, threads, members := []any{}, []any{}, []any{s.wireMember(g, s.opt.BotUser, true)}
	for _, c := range s.inOrder() {
		switch {
		case c.Guild != g.ID || !s.sees(c):
		case !c.Thread():
			channels = append(channels, s.wireChannel(c))
		case !c.Archived:
			threads = append(threads, s.wireChannel(c))
		}
	}
	for k, v := range (obj{"joined_at": "2025-01-01T00:00:00.000000+00:00", "large": false, "unavailable": false, "member_count": len(g.members), "channels": channels, "threads": threads,
		"members": members, "presences": []any{}, "voice_states": []any{}, "stage_instances": []any{}, "guild_scheduled_events": []any{}, "soundboard_sounds": []any{}}) {
		out[k] = v
	}
	return out
}

func (s *Server) wireGuild(g *guild) obj {
	roles := []any{}
	for _, r := range g.roles {
		roles = append(roles, s.wireRole(g, r))
	}
	out := obj{"id": g.ID, "name": g.Name, "owner_id": cmp.Or(g.Owner, "700000000000000001"), "roles": roles, "emojis": []any{}, "stickers": []any{}, "features": []any{},
		"afk_timeout": 300, "system_channel_flags": 0, "widget_enabled": false, "verification_level": 0, "default_message_notifications": 0, "mfa_level": 0,
		"explicit_content_filter": 0, "max_members": 500000, "max_stage_video_channel_users": 50, "max_video_channel_users": 25, "premium_tier": 0,
		"premium_subscription_count": 0, "preferred_locale": "en-US", "premium_progress_bar_enabled": false, "nsfw": false, "nsfw_level": 0, "region": "deprecated"}
	for _, k := range []string{"icon", "description", "home_header", "splash", "discovery_splash", "banner", "application_id", "afk_channel_id", "system_channel_id", "widget_channel_id",
		"max_presences", "vanity_url_code", "rules_channel_id", "safety_alerts_channel_id", "public_updates_channel_id", "incidents_data"} {
		out[k] = nil
	}
	return out
}
