package config

import (
	"cmp"
	"fmt"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/nodhq/nod/core/chat"
)

var personName = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9 ._@-]{0,38}[A-Za-z0-9])?$`)

// keyProblem never says how long a key is. What openssl rand -hex 16 prints has 32 bytes. The keys of sessions, which the bot makes itself, begin
// with nod_.
func keyProblem(k Secret) string {
	switch key := k.Reveal(); {
	case key == "":
		return "the key is empty; is its variable set?"
	case len(key) < 16:
		return "this key could be guessed: want at least 16 bytes, such as openssl rand -hex 32 prints"
	case strings.HasPrefix(key, "nod_"):
		return "a key cannot begin with nod_: those of sessions do"
	}
	return ""
}

// checkWeb looks at the keys of the web chat, at the names that it is reached under, and at whether people can be told apart there.
func (c *Config) checkWeb(r *File) {
	whose := map[Secret]string{Mask: Mask} // what Write printed is a configuration, too
	for _, k := range c.AdminSessionKeys {
		whose[k] = "admin" // which is nobody's name
		if wrong := keyProblem(k); wrong != "" {
			r.found = append(r.found, Problem{File: "ADMIN_SESSION_KEYS", Say: wrong}) // which one cannot be said without quoting it
			break
		}
	}
	names, nameless := map[string]string{}, ""
	for i, k := range c.Web.SessionKeys {
		if k == (SessionKey{}) {
			continue
		}
		field, wrong := fmt.Sprintf("web.session_keys[%d]", i), keyProblem(k.Key)
		of, taken := whose[k.Key]
		r.refuse(wrong != "" && of != Mask && !r.Has(field), field, "%s", wrong)
		r.refuse(taken && of != k.Name && of != Mask && !r.Has(field), field, "this key stands above, or in ADMIN_SESSION_KEYS, as somebody else's")
		whose[k.Key] = cmp.Or(of, k.Name)
		plain := strings.ToLower(k.Name)
		switch other, twice := names[plain]; {
		case k.Name == "" && len(c.Web.OIDC) > 0:
			r.Add(field, "with web.oidc nobody names themselves: give the key a name, as in {name: ana, key: …}, or leave it out")
		case k.Name == "":
			nameless = cmp.Or(nameless, field)
		case !personName.MatchString(k.Name):
			r.Add(field+".name", "want a name of letters, digits, spaces, . _ @ and -, at most 40")
		case plain == "admin", plain == "nod", slices.ContainsFunc(ownNames, func(own string) bool { return strings.HasPrefix(plain, own) }):
			r.Add(field+".name", "this name is the bot's own; choose another")
		case twice && other != k.Name:
			r.Add(field+".name", "%q stands here in another case, too; one person has one name", other)
		default:
			names[plain] = k.Name
		}
	}
	c.Web.SessionKeys = slices.DeleteFunc(c.Web.SessionKeys, func(k SessionKey) bool { return k == SessionKey{} }) // which must never match
	for i, h := range c.Web.Hosts {
		field := fmt.Sprintf("web.hosts[%d]", i)
		r.refuse(!hostName.MatchString(strings.ToLower(h)) && net.ParseIP(h) == nil && !r.Has(field), field,
			"want a host's name as in nod.example.org, without https:// and without a port")
	}
	r.refuse(len(c.Web.Hosts) > 0 && c.OpenPage(), "web.hosts", "whoever reaches these names could open a session: set web.session_keys or web.oidc")
	c.checkDoors(r)
	field := c.needsPeople()
	r.refuse(field != "" && c.Web.Enabled && len(c.Web.OIDC) == 0 && !c.Slack.Enabled() && !c.Discord.Enabled() && len(names) == 0 && len(c.AdminSessionKeys) == 0, field,
		"%s, so nothing could be approved: %s", sayNobodyApart, sayNameKeys)
	if nameless != "" && field != "" && c.Web.Enabled {
		r.notes = append(r.notes, r.problemOf(nameless, "names nobody: whoever signs in with it counts as one and the same person for %s", field))
	}
}

// ownNames begin the keys of people whom the bot names itself.
var ownNames = []string{"admin-", chat.SelfNamedPrefix, chat.VouchedPrefix}

// checkDoors wants all that signing in takes.
func (c *Config) checkDoors(r *File) {
	seen := map[string]bool{}
	for i, o := range c.Web.OIDC {
		at := "web.oidc"
		if len(c.Web.OIDC) > 1 {
			at = fmt.Sprintf("web.oidc[%d]", i)
		}
		if o.Issuer == "" {
			r.Add(at+".issuer", "whose sign-in is this? Set the provider's issuer, or leave all of it out")
			continue
		}
		of := o.Platform()
		r.refuse(seen[of], at+".issuer", "one of this kind stands above: people sign in by one provider, by Slack and by Discord")
		seen[of] = true
		o.check(r, at)
		r.refuse(of == "slack" && !c.Slack.Enabled(), at+".issuer", "people of Slack can sign in only where the bot is in Slack: set slack.bot_token (SLACK_BOT_TOKEN) or slack.install")
		r.refuse(of == "discord" && !c.Discord.Enabled(), at+".issuer", "people of Discord can sign in only where the bot is on Discord: set discord.token (DISCORD_TOKEN)")
		r.refuse(o.Page != c.Web.OIDC[0].Page, at+".page_url", "is another than that of web.oidc[0]: there is one page")
		secret, variable := c.SignInSecret(o)
		r.refuse(len(secret.Reveal()) < 16, at, "set %s to the client's secret, which has at least 16 bytes", variable)
	}
}

func (o OIDC) check(r *File, at string) {
	if of := o.Platform(); of == "" {
		r.checkAddress(at+".issuer", o.Issuer, true)
	} else {
		lists := len(o.Scopes)+len(o.Groups)+len(o.Domains) > 0
		r.refuse(lists || o.Claim != "sub" || o.GroupsClaim != "groups", at,
			"claim, groups_claim, scopes, groups and domains are of other providers: who may sign in with %s, and who they are, is %[1]s's to say", of)
	}
	r.refuse(o.Issuer == "discord" && !snowflake.MatchString(o.Server), at+".discord_server",
		"whose members may sign in? Want the server's ID, a number (Developer Mode in your settings, then Copy Server ID)")
	r.refuse(o.Issuer != "discord" && o.Server != "", at+".discord_server", "counts only with issuer: discord")
	r.checkAddress(at+".page_url", o.Page, false)
	r.refuse(o.ClientID == "", at+".client_id", "is empty: the provider shows it where nod is registered")
	r.refuse(o.Claim == "", at+".claim", "is empty: sub is what every provider has")
	r.refuse(o.GroupsClaim == "", at+".groups_claim", "is empty: most providers call it groups")
	for i, d := range o.Domains {
		r.refuse(!hostName.MatchString(strings.ToLower(d)), fmt.Sprintf("%s.domains[%d]", at, i), "want what stands after the @, such as example.org")
	}
	for field, list := range sorted(map[string][]string{"scopes": o.Scopes, "groups": o.Groups}) {
		i := slices.IndexFunc(list, func(s string) bool { return s == "" || field == "scopes" && strings.ContainsAny(s, " \t\"") })
		r.refuse(i >= 0, fmt.Sprintf("%s.%s[%d]", at, field, i), "want one word")
	}
}

// checkAddress wants TLS, but for this machine's own addresses, and nothing that would make one address two.
func (r *File) checkAddress(field, address string, path bool) {
	u, err := url.Parse(address)
	switch {
	case err != nil, u.Host == "", strings.ContainsAny(address, "?#@"), u.Scheme != "https" && (u.Scheme != "http" || !loopback(u.Hostname())):
		r.Add(field, "want an address that begins with https:// (http:// only for this machine's own), without a user or a ?")
	case !path && u.Path != "":
		r.Add(field, "want the address alone, as in https://nod.example.org: no path and no / at its end")
	}
}

const (
	sayNobodyApart = "on the web page one person cannot be told from another"
	sayNameKeys    = "give each person a key that names them under web.session_keys, as in {name: ana, key: …}"
)

// webWarnings are about what works on the page, but not for everybody.
func (c *Config) webWarnings() (out []string) {
	if !c.Web.Enabled {
		return nil
	}
	field := c.needsPeople()
	if field != "" && len(c.Web.SessionKeys) == 0 && len(c.Web.OIDC) == 0 {
		out = append(out, fmt.Sprintf("%s: %s, so there only an admin's key counts beside whoever asked; %s", field, sayNobodyApart, sayNameKeys))
	}
	if field != "" && len(c.Web.OIDC) > 1 {
		out = append(out, fmt.Sprintf("%s: web.oidc has several ways in, and somebody who comes in by two of them counts as two people", field))
	}
	for _, u := range c.people() {
		switch {
		case u.Platform != "web", strings.HasPrefix(u.Key, "admin-"):
		case u.IsGroup(), u.Vouched():
			if _, ok := c.Web.OIDC.Of(""); !ok {
				out = append(out, fmt.Sprintf("%s is nobody: web.oidc names no provider who says who that is", u))
			}
		case !slices.ContainsFunc(c.Web.SessionKeys, func(k SessionKey) bool { return k.Name == u.Key }):
			out = append(out, fmt.Sprintf("%s is nobody: no key under web.session_keys has that name", u))
		}
	}
	return out
}
