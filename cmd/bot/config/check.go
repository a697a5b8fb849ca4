package config

import (
	"crypto/ed25519"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/url"
	"os"
	"os/user"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/nodhq/nod/adapters/mcp/confine"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/core/text"
)

// The bounds of single fields.
const (
	minKeep   = 24 * time.Hour // shorter keeps no audit worth the name
	minLease  = time.Second    // below it a slow renewal loses chats
	mostSteps = 1000
)

var (
	serverName = regexp.MustCompile(`^[A-Za-z0-9_-][A-Za-z0-9_.-]{0,63}$`)
	envName    = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	headerName = regexp.MustCompile("^[A-Za-z0-9!#$%&'*+.^_`|~-]+$")
)

// check looks at values and at what fields say together.
func (c *Config) check(r *File) {
	c.checkWeb(r)
	c.checkListen(r)
	r.refuse(c.DataDir == "", "data_dir", "is empty; the embedded state and the demo's files need a directory")
	r.checkURL("redis.url", c.Redis.URL, "redis://", "rediss://", "unix://")
	r.refuse(strings.HasPrefix(c.Redis.Durability.String(), "replicas") && c.Redis.URL.IsZero() && !r.Has("redis"), "redis.durability",
		"%s is what Redis promises, and there is none: set redis.url (REDIS_URL)", c.Redis.Durability)
	r.checkURL("model.base_url", c.Model.BaseURL, "http://", "https://")
	if u, err := url.Parse(c.Model.BaseURL.Reveal()); err == nil {
		r.refuse(u.User != nil, "model.base_url", "holds a user name or password: use model.api_key instead")
	}
	r.refuse(strings.ContainsAny(c.Model.APIKey.Reveal(), "\r\n\x00"), "model.api_key", "a key is one line")
	r.refuse(!c.Model.BaseURL.IsZero() && c.Model.Name == "", "model.base_url", "a server needs a model: set model.name (OPENAI_MODEL)")
	r.refuse(c.Model.MaxSteps < 1 || c.Model.MaxSteps > mostSteps, "model.max_steps", "want 1 to %d", mostSteps)
	r.refuse(c.Model.ContextTokens < 0, "model.context_tokens", "cannot be negative; 0 leaves it to the bot")
	r.refuse(c.Limits.Person.TurnsPerHour < 0, "limits.person.turns_per_hour", "cannot be negative; 0 is no limit")
	r.refuse(c.Limits.Person.TokensPerDay < 0, "limits.person.tokens_per_day", "cannot be negative; 0 is no limit")
	for name, s := range sorted(c.MCP.Servers) {
		s.check(r, name)
		c.checkPaths(r, name, s)
	}
	keep := time.Duration(c.Audit.Keep)
	r.refuse(c.Grants.ChannelFor < time.Minute, "grants.channel_for", "want at least 1m")
	r.refuse(keep != 0 && keep < minKeep, "audit.keep", "want at least %s, or park to keep it for ever", spellDuration(minKeep))
	r.refuse(c.Audit.ForgetAfter < time.Hour, "audit.forget_after", "want at least 1h")
	c.checkServers(r, "permissions", c.Permissions.Servers)
	c.checkDeciders(r)
	c.checkChannels(r)
	c.Reputation.check(r)
	c.Slack.check(r)
	c.Discord.check(r)
	r.refuse(c.Lease < minLease, "lease", "want at least %s", spellDuration(minLease))
}

// checkServers looks at what is said of servers in a part of the file.
func (c *Config) checkServers(r *File, part string, servers map[string]ServerPolicy) {
	for name, s := range sorted(servers) {
		field := join(part+".servers", name)
		for tool, t := range sorted(s.Tools) { // permission's own error quotes the template, which may hold a variable's value
			r.refuse(permission.CheckMessage(t.Message) != nil, join(field+".tools", tool)+".message",
				"what stands in {{ }} must be an argument, such as {{.args.path}}")
			c.checkRules(r, join(field+".tools", tool)+".rules", t.Rules)
		}
		c.checkRuled(r, field, name)
	}
}

// checkChannels wants each place once: which of two entries counts would be a guess.
func (c *Config) checkChannels(r *File) {
	stands := map[permission.Place]string{}
	for i, l := range c.Permissions.Channels {
		field := fmt.Sprintf("permissions.channels[%d]", i)
		r.refuse(len(l.In) == 0 && !r.Has(field+".in"), field+".in", "want places, such as [slack:T1:C1]")
		for j, at := range l.In {
			of, twice := stands[at]
			r.refuse(twice && at.Platform != "", fmt.Sprintf("%s.in[%d]", field, j), "%s stands in %s, too: put the two together", at, of)
			stands[at] = field
		}
		c.checkLocal(r, field, l)
	}
	for name, t := range sorted(c.Permissions.Templates) {
		field := join("permissions.templates", name)
		_, taken := permission.FindTemplate(name)
		r.refuse(taken || !templateName.MatchString(name), field, "want a name of small letters, digits and -, that none of nod's own has (%s)", "careful, read-only, team, solo")
		r.refuse(len(t.In) > 0, field+".in", "a template is of no place: what is different in one stands in permissions.channels")
		r.refuse(utf8.RuneCountInString(t.Says) > 300, field+".says", "want at most 300 characters")
		l := t.local()
		r.refuse(len(l.Rules) > 0, field, "a template is made of settings: rules on arguments stand in permissions.servers and permissions.channels")
		r.refuse(len(l.Set) == 0 && !r.Has(field), field, "sets nothing")
		c.checkLocal(r, field, t.LocalPolicy)
	}
}

var templateName = regexp.MustCompile(`^[a-z][a-z0-9-]{0,29}$`)

// checkLocal looks at what a place, or a template, says.
func (c *Config) checkLocal(r *File, field string, l LocalPolicy) {
	c.checkServers(r, field, l.Servers)
	for _, x := range l.local().Set {
		r.refuse(x.Check() != nil && !r.Has(field), field, "%s: want timeouts from 1s to 720h, or park, and texts of at most 1000 characters", x.Field)
	}
}

func (c *Config) checkRules(r *File, field string, rules []permission.Rule) {
	r.refuse(len(rules) > permission.MaxRules, field, "want at most %d", permission.MaxRules)
	for i, rule := range rules {
		of := fmt.Sprintf("%s[%d]", field, i)
		if at, err := rule.Check(); err != nil && !r.Has(of) {
			r.Add(join(of, at), "%v", err)
		}
	}
}

// checkRuled wants rules to be of a server that there is: a misspelt name protects nothing.
func (c *Config) checkRuled(r *File, field, name string) {
	if _, ok := c.MCP.Servers[name]; !ok && name != Workbench && !r.Has("mcp") {
		known := append(slices.Sorted(maps.Keys(c.MCP.Servers)), Workbench)
		r.Add(field, "there is no such server under mcp.servers, so these rules would protect nothing%s", Suggest(name, known))
	}
}

func (c *Config) checkListen(r *File) {
	host, ok := r.address("listen", c.Listen, "127.0.0.1:8080")
	r.refuse(ok && c.Web.Enabled && !loopback(host) && !c.Guarded(), "listen", "%s", NeedsKeys)
	if c.Metrics.Listen != "" {
		r.address("metrics.listen", c.Metrics.Listen, "127.0.0.1:9464")
		r.refuse(c.Metrics.Listen == c.Listen && !strings.HasSuffix(c.Listen, ":0"), "metrics.listen", "this is the address of listen: people who chat do not belong here")
	}
}

func (r *File) address(field, value, such string) (host string, ok bool) {
	host, port, err := net.SplitHostPort(value)
	_, noPort := strconv.ParseUint(port, 10, 16)
	switch {
	case err != nil:
		r.Add(field, "want host:port, such as %s", such)
	case noPort != nil:
		r.Add(field, "the port must be a number from 0 to 65535")
	default:
		return host, true
	}
	return "", false
}

// NeedsKeys is said where the web chat would be open to a network.
const NeedsKeys = "others can reach this address: set web.session_keys, web.oidc or ADMIN_SESSION_KEYS, or web.enabled: false"

// Guarded reports whether the web chat has keys, or a provider, that keep strangers from opening a session.
func (c Config) Guarded() bool {
	return len(c.Web.SessionKeys)+len(c.AdminSessionKeys)+len(c.Web.OIDC) > 0
}

// OpenPage reports whether the web chat opens a session for whoever reaches it from this machine: an admin's key keeps nobody out there.
func (c Config) OpenPage() bool {
	host, _, _ := net.SplitHostPort(c.Listen)
	return c.Web.Enabled && loopback(host) && len(c.Web.SessionKeys)+len(c.Web.OIDC) == 0
}

// loopback reports whether only this machine reaches host. A name other than localhost may resolve to anything.
func loopback(host string) bool { return host == "localhost" || net.ParseIP(host).IsLoopback() }

func (s Server) check(r *File, name string) {
	field := join("mcp.servers", name)
	isURL, isCommand, program := !s.URL.IsZero(), len(s.Command) > 0, ""
	if isCommand {
		program = s.Command[0].Reveal()
	}
	r.refuse(!serverName.MatchString(name), field, "want a name of letters, digits, _ . and -, at most 64, and no . at its beginning")
	r.refuse(name == Workbench, field, "this name is the built-in server's; choose another")
	switch {
	case isCommand && isURL:
		r.Add(field, "has both a command and a url; a server is one of them")
	case !isCommand && !isURL && !r.Has(field+".command") && !r.Has(field+".url"):
		r.Add(field, "needs a command to start or a url to connect to")
	case isCommand && strings.TrimSpace(program) == "":
		r.Add(field+".command", "the program's name is empty")
	}
	r.refuse(isCommand && len(s.Headers) > 0, field+".headers", "only a url has headers; a command has env")
	r.refuse(isURL && len(s.Env) > 0, field+".env", "only a command has env; a url has headers")
	r.refuse(isURL && (len(s.Paths) > 0 || s.Dir != "" || s.User != ""), field,
		"only a command has paths, dir and user: a url's program is not started here")
	r.refuse(s.Type == Stdio && !isCommand || (s.Type == HTTP || s.Type == SSE) && !isURL, field+".type",
		"stdio goes with a command, http and sse with a url")
	r.refuse(len(s.Command) == 1 && strings.ContainsAny(program, " \t") && !strings.ContainsAny(program, `/\`), field+".command",
		"want the program alone, and its arguments in args, or both as a list, such as [npx, -y, some-server]")
	r.checkURL(field+".url", s.URL, "http://", "https://")
	r.refuse(s.Timeout <= 0, field+".timeout", "want more than 0s")
	r.refuse(s.ConnectTimeout <= 0, field+".connect_timeout", "want more than 0s")
	for k, v := range sorted(s.Env) {
		r.refuse(!envName.MatchString(k), join(field+".env", k), "want a variable's name: letters, digits and _")
		r.refuse(strings.ContainsRune(v.Reveal(), 0), join(field+".env", k), "a variable cannot hold a zero byte")
	}
	for k, v := range sorted(s.Headers) {
		r.refuse(!headerName.MatchString(k), join(field+".headers", k), "want a header's name, such as Authorization")
		r.refuse(strings.ContainsAny(v.Reveal(), "\r\n\x00"), join(field+".headers", k), "a header's value is one line")
	}
}

// checkPaths looks at where a server's program may go.
func (c *Config) checkPaths(r *File, name string, s Server) {
	field := join("mcp.servers", name)
	for i, p := range s.Paths {
		c.checkPath(r, field+".paths["+strconv.Itoa(i)+"]", p.Path)
	}
	if s.Dir != "" {
		c.checkPath(r, field+".dir", s.Dir)
	}
	r.refuse(len(s.Paths) > 0 && !s.Confine, field+".paths",
		"without confine the program may go everywhere, so these mean nothing: leave out one of them")
	if s.User != "" {
		_, _, err := UserID(s.User)
		r.refuse(err != nil, field+".user", "%v", err)
	}
}

// checkPath refuses what would open nod's own files to a server.
func (c *Config) checkPath(r *File, field, path string) {
	switch {
	case !filepath.IsAbs(path):
		r.Add(field, "want a whole path, such as /srv/data")
	case confine.Within(c.DataDir, path), confine.Within(path, c.DataDir), confine.Within(c.File, path), confine.Within(c.Audit.SignWith, path):
		r.Add(field, "would open data_dir, this configuration or the audit's key, which no server may reach; name something else, or only a part")
	}
}

// unreachable warns of commands that name a path which their program may not reach: it would most likely fail without saying why.
func (c Config) unreachable() (out []string) {
	for name, s := range sorted(c.MCP.Servers) {
		if !s.Confine || len(s.Command) == 0 {
			continue
		}
		reached := []string{"/usr", c.DataDir}
		if s.Dir != "" {
			reached = append(reached, s.Dir)
		}
		for _, p := range s.Paths {
			reached = append(reached, p.Path)
		}
		for _, arg := range s.Command[1:] {
			path := arg.Reveal()
			reaches := slices.ContainsFunc(reached, func(of string) bool { return confine.Within(path, of) })
			if _, err := os.Stat(path); err == nil && !reaches && filepath.IsAbs(path) && arg.String() == path && path != c.File {
				out = append(out, fmt.Sprintf("mcp.servers.%s: the command names %s, which the program cannot reach: add it to paths, such as paths: [%s]", name, path, path))
			}
		}
	}
	return out
}

// UserID finds a user of this machine: a name, a uid, or uid:gid.
func UserID(s string) (uid, gid uint32, err error) {
	if runtime.GOOS == "windows" {
		return 0, 0, errors.New("a program cannot be given another user on this system")
	}
	if u, g, ok := strings.Cut(s, ":"); ok {
		return numbers(u, g, "want a user's name, a uid, or uid:gid, both numbers")
	}
	found, err := user.Lookup(s)
	if err != nil {
		found, err = user.LookupId(s)
	}
	if err != nil { // a number needs no entry
		return numbers(s, s, "there is no such user on this machine")
	}
	return numbers(found.Uid, found.Gid, "this user has no number")
}

func numbers(u, g, otherwise string) (uid, gid uint32, err error) {
	a, err1 := strconv.ParseUint(u, 10, 32)
	b, err2 := strconv.ParseUint(g, 10, 32)
	if err1 != nil || err2 != nil {
		return 0, 0, errors.New(otherwise)
	}
	return uint32(a), uint32(b), nil
}

// checkURL wants an absolute URL that starts in one of these ways. net/url's own errors quote their input, passwords included.
func (r *File) checkURL(field string, t Text, starts ...string) {
	if t.IsZero() {
		return
	}
	u, err := url.Parse(t.Reveal())
	known := slices.ContainsFunc(starts, func(start string) bool { return strings.HasPrefix(strings.ToLower(t.Reveal()), start) })
	if err != nil && strings.Contains(t.Reveal(), "@") && known {
		r.Add(field, "is no URL: a password with / ? # or %% in it must be percent-encoded, %%2F for /")
		return
	}
	r.refuse(err != nil || !known || u.Host == "" && u.Scheme != "unix", field,
		"want a whole URL that starts with %s", text.OneOf(starts))
}

// check wants both fields or none: a list whose signature nobody can check says nothing.
func (c Reputation) check(r *File) {
	switch {
	case c.File != "" && c.PublicKey == "":
		r.Add("reputation.file", "the list needs reputation.public_key: without a key nobody can tell whose it is")
	case c.File == "" && c.PublicKey != "":
		r.Add("reputation.public_key", "there is no list: set reputation.file, or leave both out")
	case c.PublicKey != "":
		if _, err := c.Key(); err != nil {
			r.Add("reputation.public_key", "%v", err)
		}
	}
}

// Key reads PublicKey. Its error does not quote it: somebody may have put the private one there.
func (c Reputation) Key() (ed25519.PublicKey, error) {
	b, err := base64.StdEncoding.DecodeString(c.PublicKey)
	if err != nil || len(b) != ed25519.PublicKeySize {
		return nil, fmt.Errorf("want the Ed25519 public key: %d bytes in base64, which are 44 characters", ed25519.PublicKeySize)
	}
	return b, nil
}

// NobodyIsAdmin is the warning where there is no admin.
const NobodyIsAdmin = "nobody is an admin: a tool that needs one (RequireAuth) cannot be allowed; set admins or ADMIN_SESSION_KEYS"

// Warnings are sentences about what will work, but perhaps not as it was meant.
func (c Config) Warnings() []string {
	var out []string
	if c.Demo() && c.Model.APIKey != "" {
		out = append(out, "a model key is set, but neither model.name nor model.base_url: the scripted demo answers (set OPENAI_MODEL to use the model)")
	}
	for _, p := range c.Notes {
		out = append(out, p.String())
	}
	out = append(out, c.unreachable()...)
	if len(c.Admins)+len(c.AdminSessionKeys) == 0 {
		out = append(out, NobodyIsAdmin)
	}
	on := map[string]bool{"slack": c.Slack.Enabled(), "discord": c.Discord.Enabled(), "web": c.Web.Enabled}
	for _, u := range c.people() {
		switch why := impossible(u); {
		case why != "":
			out = append(out, fmt.Sprintf("%s is nobody: %s", u, why))
		case !on[u.Platform]:
			out = append(out, fmt.Sprintf("%s is nobody here: %s is not configured", u, u.Platform))
		}
	}
	if !on["slack"] && !on["discord"] && !on["web"] { // as where the variable of a token is not set
		out = append(out, "nobody can talk with nod: web.enabled is false, and neither Slack nor Discord is configured")
	}
	for _, l := range c.Permissions.Channels {
		for _, at := range l.In {
			if !on[at.Platform] {
				out = append(out, fmt.Sprintf("permissions.channels: nobody talks in %s: %s is not configured", at, at.Platform))
			}
		}
	}
	out = append(out, c.webWarnings()...)
	if c.Permissions.Mode == permission.ModeNever {
		out = append(out, "permissions.mode is never: people are not asked before tools run, except where an admin is needed")
	}
	return out
}

// sorted goes through a map in the order of its keys, so that what is said is the same each time.
func sorted[V any](m map[string]V) func(func(string, V) bool) {
	return func(yield func(string, V) bool) {
		for _, k := range slices.Sorted(maps.Keys(m)) {
			if !yield(k, m[k]) {
				return
			}
		}
	}
}
