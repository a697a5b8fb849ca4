package config

import (
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/nodhq/nod/adapters/mcp/confine"
)

// checkPaths looks at where a server's program may go.
func (c *Config) checkPaths(r *report, name string, s Server) {
	field := join("mcp.servers", name)
	for i, p := range s.Paths {
		c.checkPath(r, field+".paths["+strconv.Itoa(i)+"]", p.Path)
	}
	if s.Dir != "" {
		c.checkPath(r, field+".dir", s.Dir)
	}
	if len(s.Paths) > 0 && !s.Confine {
		r.add(field+".paths", "without confine the program may go everywhere, so these mean nothing: leave out one of them")
	}
	if s.User != "" {
		if _, _, err := UserID(s.User); err != nil {
			r.add(field+".user", "%v", err)
		}
	}
}

// checkPath refuses what would open nod's own files to a server.
func (c *Config) checkPath(r *report, field, path string) {
	switch {
	case !filepath.IsAbs(path):
		r.add(field, "want a whole path, such as /srv/data")
	case confine.Within(c.DataDir, path), confine.Within(path, c.DataDir), c.File != "" && confine.Within(c.File, path):
		r.add(field, "would open data_dir or this configuration, which no server may reach; name something else, or only a part")
	}
}

// ungranted warns of commands that name a path which their program may not reach: it would most likely fail without saying why.
func (c Config) ungranted() (out []string) {
	for name, s := range sorted(c.MCP.Servers) {
		for _, arg := range s.Command[min(1, len(s.Command)):] {
			path := arg.Reveal()
			if !s.Confine || !filepath.IsAbs(path) || arg.String() != path || slices.ContainsFunc(s.Paths, func(p Path) bool { return confine.Within(path, p.Path) }) ||
				s.Dir != "" && confine.Within(path, s.Dir) {
				continue
			}
			if _, err := os.Stat(path); err == nil && !confine.Within(path, "/usr") && !confine.Within(path, c.DataDir) && path != c.File {
				out = append(out, fmt.Sprintf("mcp.servers.%s: the command names %s, which the program cannot reach: add it to paths, such as paths: [%s]", name, path, path))
			}
		}
	}
	return out
}

// UserID finds a user of this machine: a name, a uid, or uid:gid.
func UserID(s string) (uid, gid uint32, err error) {
	if runtime.GOOS == "windows" {
		return 0, 0, fmt.Errorf("a program cannot be given another user on this system")
	}
	if u, g, ok := strings.Cut(s, ":"); ok {
		a, err1 := strconv.ParseUint(u, 10, 32)
		b, err2 := strconv.ParseUint(g, 10, 32)
		if err1 != nil || err2 != nil {
			return 0, 0, fmt.Errorf("want a user's name, a uid, or uid:gid, both numbers")
		}
		return uint32(a), uint32(b), nil
	}
	known, err := user.Lookup(s)
	if err != nil {
		known, err = user.LookupId(s)
	}
	if err != nil {
		if n, err := strconv.ParseUint(s, 10, 32); err == nil { // a number needs no entry
			return uint32(n), uint32(n), nil
		}
		return 0, 0, fmt.Errorf("there is no such user on this machine")
	}
	a, err1 := strconv.ParseUint(known.Uid, 10, 32)
	b, err2 := strconv.ParseUint(known.Gid, 10, 32)
	if err1 != nil || err2 != nil {
		return 0, 0, fmt.Errorf("this user has no number")
	}
	return uint32(a), uint32(b), nil
}
