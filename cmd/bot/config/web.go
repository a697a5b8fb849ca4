package config

import (
	"fmt"
	"net"
	"regexp"
	"slices"
	"strings"

	"github.com/nodhq/nod/core/chat"
)

// minKey is how many bytes a key of the web chat has at least: what openssl rand -hex 16 prints has 32.
const minKey = 16

// sayShortKey never says how long the key is.
const sayShortKey = "this key could be guessed: want at least 16 bytes, such as openssl rand -hex 32 prints"

// reservedStart begins the keys of sessions, which the bot makes itself.
const reservedStart = "nod_"

var personName = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9 ._@-]{0,38}[A-Za-z0-9])?$`)

func keyProblem(k Secret) string {
	switch key := k.Reveal(); {
	case len(key) < minKey:
		return sayShortKey
	case strings.HasPrefix(key, reservedStart):
		return "a key cannot begin with " + reservedStart + ": those of sessions do"
	}
	return ""
}

// checkWeb looks at the keys of the web chat, at the names that it is reached under, and at whether people can be told apart there.
func (c *Config) checkWeb(r *report) {
	for _, k := range c.AdminSessionKeys {
		if say := keyProblem(k); say != "" {
			r.found = append(r.found, Problem{File: "ADMIN_SESSION_KEYS", Say: say}) // which one cannot be said without quoting it
			break
		}
	}
	names := map[string]string{}
	for i, k := range c.Web.SessionKeys {
		field := fmt.Sprintf("web.session_keys[%d]", i)
		if say := keyProblem(k.Key); say != "" && k.Key != Mask && !r.has(field) { // what Write printed is a configuration, too
			r.add(field, "%s", say)
		}
		plain := strings.ToLower(k.Name)
		switch other, known := names[plain]; {
		case k.Name == "":
		case !personName.MatchString(k.Name):
			r.add(field+".name", "want a name of letters, digits, spaces, . _ @ and -, at most 40")
		case plain == "admin", plain == "nod", strings.HasPrefix(plain, "admin-"), strings.HasPrefix(plain, chat.SelfNamedPrefix):
			r.add(field+".name", "this name is the bot's own; choose another")
		case known && other != k.Name:
			r.add(field+".name", "%q stands here in another case, too; one person has one name", other)
		default:
			names[plain] = k.Name
		}
	}
	for i, h := range c.Web.Hosts {
		if field := fmt.Sprintf("web.hosts[%d]", i); !hostName.MatchString(strings.ToLower(h)) && net.ParseIP(h) == nil && !r.has(field) {
			r.add(field, "want a host's name as in nod.example.org, without https:// and without a port")
		}
	}
	if host, _, err := net.SplitHostPort(c.Listen); err == nil && len(c.Web.Hosts) > 0 && loopback(host) && len(c.Web.SessionKeys) == 0 && c.Web.Enabled {
		r.add("web.hosts", "whoever reaches these names could open a session: set web.session_keys")
	}
	if field := c.needsPeople(); field != "" && c.Web.Enabled && !c.Slack.Enabled() && !c.Discord.Enabled() && len(names) == 0 && len(c.AdminSessionKeys) == 0 {
		r.add(field, "%s, so nothing could be approved: %s", sayNobodyApart, sayNameKeys)
	}
}

const (
	sayNobodyApart = "on the web page one person cannot be told from another"
	sayNameKeys    = "give each person a key that names them under web.session_keys, as in {name: ana, key: …}"
)

// needsPeople names the first field that wants people who are different from each other, or "".
func (c *Config) needsPeople() string {
	wants := func(field string, n *int, own *bool) string {
		switch {
		case n != nil && *n > 1:
			return field + "min_approvals"
		case own != nil && !*own:
			return field + "requester_may_approve"
		}
		return ""
	}
	a := c.Approvals
	if f := wants("approvals.", &a.MinApprovals, &a.RequesterMayApprove); f != "" {
		return f
	}
	for name, s := range sorted(c.Permissions.Servers) {
		field := join("permissions.servers", name)
		if f := wants(field+".", s.MinApprovals, s.RequesterMayApprove); f != "" {
			return f
		}
		for tool, t := range sorted(s.Tools) {
			if f := wants(join(field+".tools", tool)+".", t.MinApprovals, t.RequesterMayApprove); f != "" {
				return f
			}
		}
	}
	return ""
}

// webWarnings are about what works on the page, but not for everybody.
func (c *Config) webWarnings() (out []string) {
	if !c.Web.Enabled {
		return nil
	}
	field := c.needsPeople()
	for i, k := range c.Web.SessionKeys {
		if field != "" && k.Name == "" {
			return append(out, fmt.Sprintf("web.session_keys[%d] names nobody: whoever signs in with it counts as one and the same person for %s", i, field))
		}
	}
	if field != "" && len(c.Web.SessionKeys) == 0 {
		out = append(out, fmt.Sprintf("%s: %s, so there only an admin's key counts beside whoever asked; %s", field, sayNobodyApart, sayNameKeys))
	}
	for _, u := range slices.Concat(c.Admins, c.Approvals.Approvers.Users, c.listed()) {
		if u.Platform == "web" && !strings.HasPrefix(u.Key, "admin-") && !slices.ContainsFunc(c.Web.SessionKeys, func(k SessionKey) bool { return k.Name == u.Key }) {
			out = append(out, fmt.Sprintf("%s is nobody: no key under web.session_keys has that name", u))
		}
	}
	return out
}
