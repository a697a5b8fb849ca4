package fakediscord

import (
	"maps"
	"strings"
)

// settle makes of components as they were sent what Discord stores: each with an id of its own and with its defaults.
// https://docs.discord.com/developers/components/reference#anatomy-of-a-component
func settle(list []any) []any {
	used, next := map[int]bool{}, 0
	walk(list, func(c obj) { used[integer(c["id"])] = true })
	number := func() int {
		next++
		for used[next] {
			next++
		}
		return next
	}
	return settleAll(list, number)
}

// settled is what Discord stores of components that a test puts there; those of a kind from the future stay as they are, on purpose.
func settled(list []any) []any {
	known := true
	walk(list, func(c obj) {
		_, odd := c["id"].(string)
		known = known && !odd && integer(c["type"]) > 0 && integer(c["type"]) < fromTheFuture
	})
	if !known {
		return list
	}
	return settle(list)
}

// fromTheFuture is the first kind of a component that no client can know.
const fromTheFuture = 90

func settleAll(list []any, number func() int) []any {
	out := make([]any, 0, len(list))
	for _, e := range list {
		in, ok := e.(obj)
		if !ok {
			continue
		}
		c := maps.Clone(in)
		maps.DeleteFunc(c, func(_ string, v any) bool { return v == nil })
		if integer(c["id"]) == 0 {
			c["id"] = number()
		}
		c["type"] = integer(c["type"])
		defaults(c)
		if inner, ok := c["components"].([]any); ok {
			c["components"] = settleAll(inner, number)
		}
		if a, ok := c["accessory"]; ok {
			c["accessory"] = settleAll([]any{a}, number)[0]
		}
		out = append(out, c)
	}
	return out
}

func defaults(c obj) {
	miss := func(k string, v any) {
		if _, ok := c[k]; !ok {
			c[k] = v
		}
	}
	switch integer(c["type"]) {
	case kindSelect, kindUsers, kindRoles, kindMentions, kindChannels:
		miss("min_values", 1)
		miss("max_values", 1)
	case kindSeparator:
		miss("spacing", 1)
		miss("divider", true)
	case kindContainer:
		miss("accent_color", nil)
		miss("spoiler", false)
	case kindThumbnail:
		miss("description", nil)
		miss("spoiler", false)
	case kindFile:
		miss("spoiler", false)
		miss("name", nil)
		miss("size", nil)
	case kindGallery:
		items, _ := c["items"].([]any)
		var out []any
		for _, e := range items {
			if o, ok := e.(obj); ok {
				o = maps.Clone(o)
				if _, ok := o["description"]; !ok {
					o["description"] = nil
				}
				if _, ok := o["spoiler"]; !ok {
					o["spoiler"] = false
				}
				out = append(out, o)
			}
		}
		c["items"] = out
	}
}

// unfurl gives every medium its address. s.mu is held.
func (s *Server) unfurl(list []any, files []Attachment) {
	medium := func(o obj, k string) {
		m, _ := o[k].(obj)
		u := str(m, "url")
		full := obj{"id": s.id(), "url": u, "proxy_url": u, "width": 0, "height": 0, "content_type": nil, "flags": 0, "loading_state": 0}
		for _, a := range files {
			if "attachment://"+a.Name == u || a.URL == u {
				full["url"], full["proxy_url"], full["content_type"], full["attachment_id"] = a.URL, a.URL, a.Type, a.ID
				if integer(o["type"]) == kindFile {
					o["name"], o["size"] = a.Name, a.Size
				}
			}
		}
		o[k] = full
	}
	walk(list, func(c obj) {
		switch integer(c["type"]) {
		case kindThumbnail:
			medium(c, "media")
		case kindFile:
			medium(c, "file")
		case kindGallery:
			items, _ := c["items"].([]any)
			for _, e := range items {
				medium(e.(obj), "media")
			}
		}
	})
}

// texts are all that a version may mention somebody in.
func (v Version) texts() string {
	var b strings.Builder
	b.WriteString(v.Content)
	walk(v.Components, func(c obj) {
		if integer(c["type"]) == kindText {
			b.WriteString("\n" + str(c, "content"))
		}
	})
	return b.String()
}

// compose makes the version that a draft says: with its files stored and its mentions found. s.mu is held.
func (s *Server) compose(c *channel, d *draft, via string) Version {
	v := d.Version
	v.Via = via
	for _, a := range d.uploads {
		a.ID = s.id()
		path := "/attachments/" + c.ID + "/" + a.ID + "/" + a.Name
		a.URL = s.Base() + path
		v.Attachments = append(v.Attachments, a)
	}
	s.unfurl(v.Components, v.Attachments)
	v.Mentions, v.MentionRoles, v.Everyone = s.mentioned(c, v.texts(), d.allowed)
	if !s.may(c, MentionEveryone) {
		v.Everyone = false
		if g := s.guilds[c.Guild]; g != nil {
			v.MentionRoles = keepIf(v.MentionRoles, func(id string) bool {
				for _, r := range g.roles {
					if r.ID == id {
						return r.Mentionable
					}
				}
				return false
			})
		}
	}
	return v
}

func keepIf(in []string, is func(string) bool) []string {
	var out []string
	for _, v := range in {
		if is(v) {
			out = append(out, v)
		}
	}
	return out
}
