package fakediscord

import (
	"slices"
)

// allowed is what a message may mention. https://docs.discord.com/developers/resources/message#allowed-mentions-object
type allowed struct {
	users, roles, everyone bool
	someUsers, someRoles   []string
	replied                bool
}

func (a allowed) user(id string) bool { return a.users || slices.Contains(a.someUsers, id) }
func (a allowed) role(id string) bool { return a.roles || slices.Contains(a.someRoles, id) }

// allowedMentions checks allowed_mentions. Without them everything is parsed, and who is answered is mentioned.
func (c *checker) allowedMentions(o obj) (a allowed) {
	in, there := o["allowed_mentions"]
	if !there || in == nil {
		return allowed{users: true, roles: true, everyone: true, replied: true}
	}
	c.in("allowed_mentions", func() {
		m, ok := c.object(in)
		if !ok {
			return
		}
		for i, v := range c.list(m, "parse", 0, 3, false) {
			switch v {
			case "users":
				a.users = true
			case "roles":
				a.roles = true
			case "everyone":
				a.everyone = true
			default:
				c.in("parse", func() {
					c.in(string(rune('0'+i)), func() { c.no("BASE_TYPE_CHOICES", "Value must be one of ('users', 'everyone', 'roles').") })
				})
			}
		}
		a.someUsers, a.someRoles = c.ids100(m, "users", a.users), c.ids100(m, "roles", a.roles)
		a.replied = c.bool(m, "replied_user")
	})
	return a
}

// ids100 checks a list of IDs, which contradicts parsing all of them.
func (c *checker) ids100(m obj, k string, all bool) []string {
	list := c.list(m, k, 0, MaxMentions, false)
	var out []string
	c.in(k, func() {
		c.each(list, func(v any) {
			c.id(v)
			id, _ := v.(string)
			if slices.Contains(out, id) {
				c.no("SET_TYPE_ALREADY_CONTAINS_VALUE", "The set already contains this value")
			}
			out = append(out, id)
		})
		if all && len(list) > 0 {
			c.no("MESSAGE_ALLOWED_MENTIONS_PARSE_EXCLUSIVE", "parse:[\"%s\"] and %s: [ids...] are mutually exclusive.", k, k)
		}
	})
	return out
}
