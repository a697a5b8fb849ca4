package config

import (
	"fmt"
	"maps"
	"net"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
)

// The bounds of single fields.
const (
	minKeep     = 24 * time.Hour // shorter keeps no audit worth the name
	minLease    = time.Second    // below it a slow renewal loses chats
	maxMaxSteps = 1000
)

var (
	serverName = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,64}$`)
	envName    = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
	headerName = regexp.MustCompile("^[A-Za-z0-9!#$%&'*+.^_`|~-]+$")
)

// check looks at values and at what fields say together.
func (c *Config) check(r *report) {
	c.checkListen(r)
	c.checkWeb(r)
	if c.DataDir == "" {
		r.add("data_dir", "is empty; the embedded state and the demo's files need a directory")
	}
	checkURL(r, "redis.url", c.Redis.URL, "redis", "rediss", "unix")
	checkURL(r, "model.base_url", c.Model.BaseURL, "http", "https")
	if !c.Model.BaseURL.IsZero() && c.Model.Name == "" {
		r.add("model.base_url", "a server needs a model: set model.name (OPENAI_MODEL)")
	}
	if c.Model.MaxSteps < 1 || c.Model.MaxSteps > maxMaxSteps {
		r.add("model.max_steps", "want 1 to %d", maxMaxSteps)
	}
	if c.Model.ContextTokens < 0 {
		r.add("model.context_tokens", "cannot be negative; 0 leaves it to the bot")
	}
	for name, s := range sorted(c.MCP.Servers) {
		s.check(r, name)
		c.checkPaths(r, name, s)
	}
	if a := c.Approvals.Approvers; a.Rule == permission.ApproversListed && len(a.Users) == 0 && !r.has("approvals.approvers") {
		r.add("approvals.approvers", "the list is empty, so nobody but an admin could decide; %v", errApprovers)
	}
	checkApprovals(r, "approvals.min_approvals", &c.Approvals.MinApprovals)
	if k := time.Duration(c.Audit.Keep); k < 0 || k > 0 && k < minKeep {
		r.add("audit.keep", "want at least %s, or park to keep it for ever", spellDuration(minKeep))
	}
	for name, s := range sorted(c.Permissions.Servers) {
		field := join("permissions.servers", name)
		checkApprovals(r, field+".min_approvals", s.MinApprovals)
		checkApprovers(r, field+".approvers", s.Approvers)
		for tool, t := range sorted(s.Tools) {
			checkApprovals(r, join(field+".tools", tool)+".min_approvals", t.MinApprovals)
			checkApprovers(r, join(field+".tools", tool)+".approvers", t.Approvers)
			// permission's own error quotes the template, which may hold a variable's value.
			if permission.CheckMessage(t.Message) != nil {
				r.add(join(join("permissions.servers", name)+".tools", tool)+".message", "what stands in {{ }} must be an argument, such as {{.args.path}}")
			}
		}
		c.checkRuled(r, name)
	}
	c.checkPeople(r)
	c.Reputation.check(r)
	c.Slack.check(r)
	c.Discord.check(r)
	if c.Lease < minLease {
		r.add("lease", "want at least %s", spellDuration(minLease))
	}
}

// checkApprovals bounds how many people one call may need.
func checkApprovals(r *report, field string, n *int) {
	if n != nil && (*n < 1 || *n > 20) {
		r.add(field, "want a number of people from 1 to 20")
	}
}

func checkApprovers(r *report, field string, a *permission.Approvers) {
	if a != nil && a.Rule == permission.ApproversListed && len(a.Users) == 0 && !r.has(field) {
		r.add(field, "the list is empty, so nobody but an admin could decide; %v", errApprovers)
	}
}

func (c *Config) checkListen(r *report) {
	host, port, err := net.SplitHostPort(c.Listen)
	if err != nil {
		r.add("listen", "want host:port, such as 127.0.0.1:8080")
		return
	}
	if n, err := strconv.Atoi(port); err != nil || n < 0 || n > 65535 {
		r.add("listen", "the port must be a number from 0 to 65535")
		return
	}
	if c.Web.Enabled && !loopback(host) && !c.HasSessionKeys() {
		r.add("listen", "%s", NeedsKeys)
	}
}

// NeedsKeys is said where the web chat would be open to a network.
const NeedsKeys = "others can reach this address: set web.session_keys or ADMIN_SESSION_KEYS, or web.enabled: false"

// HasSessionKeys reports whether the web chat has keys that keep strangers from opening a session.
func (c Config) HasSessionKeys() bool { return len(c.Web.SessionKeys)+len(c.AdminSessionKeys) > 0 }

// loopback reports whether only this machine reaches host. A name other than localhost may resolve to anything.
func loopback(host string) bool {
	if host == "localhost" {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

func (s Server) check(r *report, name string) {
	field := join("mcp.servers", name)
	if !serverName.MatchString(name) {
		r.add(field, "want a name of letters, digits, _ . and -, at most 64")
	}
	if name == Workbench {
		r.add(field, "this name is the built-in server's; choose another")
	}
	switch {
	case len(s.Command) > 0 && !s.URL.IsZero():
		r.add(field, "has both a command and a url; a server is one of them")
	case len(s.Command) == 0 && s.URL.IsZero() && !r.has(field+".command") && !r.has(field+".url"):
		r.add(field, "needs a command to start or a url to connect to")
	case len(s.Command) > 0 && strings.TrimSpace(s.Command[0].Reveal()) == "":
		r.add(field+".command", "the program's name is empty")
	}
	if len(s.Command) > 0 && len(s.Headers) > 0 {
		r.add(field+".headers", "only a url has headers; a command has env")
	}
	if !s.URL.IsZero() && len(s.Env) > 0 {
		r.add(field+".env", "only a command has env; a url has headers")
	}
	if !s.URL.IsZero() && (len(s.Paths) > 0 || s.Dir != "" || s.User != "") {
		r.add(field, "only a command has paths, dir and user: a url's program is not started here")
	}
	if s.Type == Stdio && len(s.Command) == 0 || (s.Type == HTTP || s.Type == SSE) && s.URL.IsZero() {
		r.add(field+".type", "stdio goes with a command, http and sse with a url")
	}
	if name := ""; len(s.Command) == 1 {
		if name = s.Command[0].Reveal(); strings.ContainsAny(name, " \t") && !strings.ContainsAny(name, `/\`) {
			r.add(field+".command", "want the program alone, and its arguments in args, or both as a list, such as [npx, -y, some-server]")
		}
	}
	checkURL(r, field+".url", s.URL, "http", "https")
	if s.Timeout <= 0 {
		r.add(field+".timeout", "want more than 0s")
	}
	if s.ConnectTimeout <= 0 {
		r.add(field+".connect_timeout", "want more than 0s")
	}
	for k, v := range sorted(s.Env) {
		if !envName.MatchString(k) {
			r.add(join(field+".env", k), "want a variable's name: letters, digits and _")
		}
		if strings.ContainsRune(v.Reveal(), 0) {
			r.add(join(field+".env", k), "a variable cannot hold a zero byte")
		}
	}
	for k, v := range sorted(s.Headers) {
		if !headerName.MatchString(k) {
			r.add(join(field+".headers", k), "want a header's name, such as Authorization")
		}
		if strings.ContainsAny(v.Reveal(), "\r\n\x00") {
			r.add(join(field+".headers", k), "a header's value is one line")
		}
	}
}

// checkURL wants an absolute URL of one of the schemes. net/url's own errors quote their input, passwords included.
func checkURL(r *report, field string, t Text, schemes ...string) {
	if t.IsZero() {
		return
	}
	u, err := url.Parse(t.Reveal())
	if err != nil || !slices.Contains(schemes, u.Scheme) || u.Opaque != "" || (u.Host == "" && u.Scheme != "unix") {
		last := len(schemes) - 1
		list := schemes[last]
		if last > 0 {
			list = strings.Join(schemes[:last], "://, ") + ":// or " + list
		}
		r.add(field, "want a whole URL that starts with %s://", list)
	}
}

// NobodyIsAdmin is the warning where there is no admin.
const NobodyIsAdmin = "nobody is an admin: a tool that needs one (RequireAuth) cannot be allowed; set admins or ADMIN_SESSION_KEYS"

// Warnings are sentences about what will work, but perhaps not as it was meant.
func (c Config) Warnings() []string {
	var out []string
	if c.Demo() && c.Model.APIKey != "" {
		out = append(out, "a model key is set, but neither model.name nor model.base_url: the scripted demo answers (set OPENAI_MODEL to use the model)")
	}
	out = append(out, c.ungranted()...)
	if len(c.Admins)+len(c.AdminSessionKeys) == 0 {
		out = append(out, NobodyIsAdmin)
	}
	for _, u := range slices.Concat(c.Admins, c.Approvals.Approvers.Users, c.listed()) {
		switch {
		case nobody(u):
			out = append(out, fmt.Sprintf("%s is nobody: Discord's IDs are numbers, as in discord:123456789012345678:234567890123456789 (server and person)", u))
		case u.Platform == "slack" && !c.Slack.Enabled(), u.Platform == "discord" && !c.Discord.Enabled():
			out = append(out, fmt.Sprintf("%s is nobody here: %s is not configured", u, u.Platform))
		}
	}
	out = append(out, c.webWarnings()...)
	if c.Permissions.Mode == permission.ModeNever {
		out = append(out, "permissions.mode is never: people are not asked before tools run, except where an admin is needed")
	}
	return out
}

// listed are the people and groups that servers' and tools' entries name.
func (c Config) listed() (out []chat.User) {
	for _, s := range sorted(c.Permissions.Servers) {
		if s.Approvers != nil {
			out = append(out, s.Approvers.Users...)
		}
		for _, t := range sorted(s.Tools) {
			if t.Approvers != nil {
				out = append(out, t.Approvers.Users...)
			}
		}
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
