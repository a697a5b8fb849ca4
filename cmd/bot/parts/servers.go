package parts

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/nodhq/nod/adapters/demo"
	"github.com/nodhq/nod/adapters/mcp"
	"github.com/nodhq/nod/adapters/mcp/child"
	"github.com/nodhq/nod/adapters/mcp/confine"
	"github.com/nodhq/nod/cmd/bot/config"
	"github.com/nodhq/nod/core/permission"
)

// Server is an MCP server of the configuration, as the adapter takes it. A program has a directory of its own, and bounds unless its entry
// says otherwise.
func Server(c config.Config, name string) mcp.Server {
	s := c.MCP.Servers[name]
	m := mcp.Server{
		Command: config.RevealAll(s.Command), Secrets: config.Hidden(s.Command), Env: config.RevealMap(s.Env), Dir: s.Dir, URL: s.URL.Reveal(), Headers: config.RevealMap(s.Headers),
		Transport: string(s.Type), Timeout: s.Timeout, ConnectTimeout: s.ConnectTimeout, Shared: s.Shared, Trusted: s.Trusted, Description: s.Description, Icon: s.Icon,
		Preview: s.Preview,
	}
	if s.User != "" {
		if uid, gid, err := config.UserID(s.User); err == nil { // it was looked up when the configuration was checked
			m.User = &child.User{UID: uid, GID: gid}
		}
	}
	if len(s.Command) == 0 || !s.Confine {
		return m
	}
	m.Home = filepath.Join(c.DataDir, "servers", name)
	m.Bounds = &confine.Bounds{Keep: ownFiles(c), Ports: openPorts(c)}
	for _, p := range s.Paths {
		if p.ReadOnly {
			m.Bounds.Read = append(m.Bounds.Read, p.Path)
		} else {
			m.Bounds.Write = append(m.Bounds.Write, p.Path)
		}
	}
	return m
}

// ownFiles are the files that no server may have.
func ownFiles(c config.Config) []string {
	return slices.DeleteFunc([]string{c.DataDir, c.File, c.Audit.SignWith}, func(path string) bool { return path == "" })
}

// openPorts are the ports behind which a program could decide without knowing a secret: the page that wants no key, and a Redis that wants no
// password.
func openPorts(c config.Config) (ports []uint16) {
	add := func(port string) {
		if n, _ := strconv.ParseUint(port, 10, 16); n > 0 {
			ports = append(ports, uint16(n))
		}
	}
	if _, port, _ := net.SplitHostPort(c.Listen); c.OpenPage() {
		add(port)
	}
	u, _ := url.Parse(c.Redis.URL.Reveal()) // it was looked at when the configuration was checked
	more := u.Query()
	if secret, _ := u.User.Password(); u.Host != "" && secret == "" { // of Sentinels it is theirs: whom they call the primary is believed
		for _, host := range append(more["addr"], u.Host) {
			add(cmp.Or((&url.URL{Host: host}).Port(), "6379"))
		}
	}
	if more.Has("master_name") && more.Get("password") == "" {
		add("6379") // where the primary is, only they know
	}
	return ports
}

// Confinement is what can be said of how the servers' programs are kept apart from nod, where [confine.Able] says so: one line that is well or
// not, and remarks.
func Confinement(c config.Config, able func() (int, error)) (fine bool, say string, remarks []string) {
	var free, as []string
	programs := 0
	for _, name := range slices.Sorted(maps.Keys(c.MCP.Servers)) {
		s := c.MCP.Servers[name]
		if len(s.Command) == 0 {
			continue
		}
		programs++
		if !s.Confine {
			free = append(free, name)
		}
		if s.User == "" && os.Geteuid() == 0 {
			as = append(as, name)
		}
	}
	if programs == 0 {
		return true, "", nil
	}
	version, err := able()
	switch {
	case err != nil:
		say = fmt.Sprintf("MCP servers are not confined, because %v: a program that is started as one can read and write whatever its user can, data_dir and the configuration included", err)
	case version < 6:
		say = fmt.Sprintf("MCP servers are confined to their own directory and their paths (Landlock %d), but this kernel does not keep them from ending nod", version)
	default:
		fine, say = true, fmt.Sprintf("MCP servers are confined to their own directory and their paths (Landlock %d)", version)
	}
	if len(free) > 0 {
		remarks = append(remarks, "not confined, because their entries say confine: false: "+strings.Join(free, ", "))
	}
	if len(as) > 0 {
		remarks = append(remarks, "run as root, because nod does and their entries name no user: "+strings.Join(as, ", "))
	}
	if err == nil {
		if seen := confine.Exposed(ownFiles(c)...); len(seen) > 0 {
			remarks = append(remarks, strings.Join(seen, " and ")+" can be read by every MCP server, because system files stand there: move it elsewhere")
		}
	}
	if ports := openPorts(c); len(ports) > 0 && version < 4 { // 0 with an error
		remarks = append(remarks, fmt.Sprintf("their programs can reach the page without a key or Redis without a password, at port %v: set web.session_keys, and a password in Redis", ports))
	}
	return fine, say, remarks
}

// openDataDir lets servers that are other users reach their own directories below data_dir: they may pass through it, and read nothing of it.
func openDataDir(c config.Config) error {
	for _, s := range c.MCP.Servers {
		if s.User == "" || !s.Confine {
			continue
		}
		err := os.MkdirAll(c.DataDir, 0o711)
		info, none := os.Stat(c.DataDir)
		if err = errors.Join(err, none); err != nil {
			return err
		}
		return os.Chmod(c.DataDir, info.Mode()|0o011)
	}
	return nil
}

// OpenServers makes the tool servers, with the built-in workbench where it is offered. version is this program's, for the servers' logs.
func OpenServers(c config.Config, version string, mark Mark, log *slog.Logger) (*mcp.Servers, error) {
	servers := map[string]mcp.Server{}
	if c.OffersWorkbench() {
		workbench, err := demo.Connect(filepath.Join(c.DataDir, "workspace"), !c.Demo())
		if err != nil {
			return nil, err
		}
		servers[config.Workbench] = mcp.Server{
			InProcess: workbench, Source: permission.SourceWorkbench, Metadata: demo.Metadata(), Preview: demo.Preview, Trusted: true,
			Description: "nod's own tools: a clock, a calculator, and files of nod's own.", Icon: "⚒",
		}
	}
	for name := range c.MCP.Servers {
		servers[name] = Server(c, name)
	}
	for name, s := range servers {
		s.Mark = mark
		s.Named = slices.Sorted(maps.Keys(c.ToolRules(name)))
		servers[name] = s
	}
	if err := openDataDir(c); err != nil {
		return nil, fmt.Errorf("open data_dir to servers that are other users: %w", err)
	}
	fine, say, remarks := Confinement(c, confine.Able)
	if fine && say != "" {
		log.Info(say)
	} else if say != "" {
		log.Warn(say)
	}
	for _, r := range remarks {
		log.Warn("MCP servers: " + r)
	}
	return mcp.New(mcp.Config{Servers: servers, Log: log, Version: version})
}
