package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/nodhq/nod/adapters/mcp/oneline"
	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/core/text"
)

// Servers is every configured MCP server. All methods are safe for concurrent use.
type Servers struct {
	byName   map[string]*server
	names    []string      // sorted
	patience time.Duration // of List

	life    context.Context // until Close
	stop    context.CancelFunc
	mu      sync.Mutex
	started bool
	runs    sync.WaitGroup
}

var _ agent.Tools = (*Servers)(nil)

// New checks the configuration. It connects to nothing: Start does. The error names every wrong field.
func New(cfg Config) (*Servers, error) { return newServers(cfg, usualPace) }

func newServers(cfg Config, p pace) (*Servers, error) {
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	log := cmp.Or(cfg.Log, slog.New(slog.DiscardHandler))
	m := &Servers{byName: map[string]*server{}, names: sorted(cfg.Servers), patience: p.await}
	m.life, m.stop = context.WithCancel(context.Background())
	for name, sc := range cfg.Servers {
		m.byName[name] = &server{
			name: name, cfg: sc, pace: p,
			timeout:        cmp.Or(sc.Timeout, defaultTimeout),
			connectTimeout: cmp.Or(sc.ConnectTimeout, defaultConnectTimeout),
			hello:          mcp.Implementation{Name: text.Product, Version: cmp.Or(cfg.Version, "dev")},
			log:            log.With("mcp_server", name),
			clean:          cleaner(sc),
			wake:           make(chan struct{}, 1),
			change:         make(chan struct{}),
			chatConns:      map[chat.ID]*chatConn{},
		}
	}
	return m, nil
}

// Start begins to connect to every server and keeps them connected until Close. A server that cannot be reached is no error: List says so.
func (m *Servers) Start() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.started || m.life.Err() != nil {
		return
	}
	m.started = true
	for _, s := range m.byName {
		m.runs.Go(func() { s.run(m.life) })
	}
}

// Close disconnects every server and ends every child process. Calls under way get an unknown outcome, so close after whatever calls. It
// returns when no goroutine and no process is left: some seconds, for a child that does not listen.
func (m *Servers) Close() error {
	m.mu.Lock() // whoever starts has started, or does not any more
	m.stop()
	m.mu.Unlock()
	m.runs.Wait()
	return nil
}

// Ready waits until every server is connected or has failed once, so that a first turn does not miss the tools of one that is merely
// starting: at most the longest ConnectTimeout. An error is that of ctx.
func (m *Servers) Ready(ctx context.Context) error {
	m.mu.Lock()
	started := m.started
	m.mu.Unlock()
	if !started {
		return nil
	}
	for _, name := range m.names {
		if err := m.byName[name].tried(ctx); err != nil {
			return err
		}
	}
	return nil
}

// List implements [agent.Tools]. It waits for servers that were never tried, or were lost just now, but not for long: what starts slowly must
// not hold up every chat. Else it answers at once. A server with unusable tools has a fault that names them. Callers own the slices, not the schemas.
func (m *Servers) List(ctx context.Context) ([]agent.ToolSpec, []agent.ServerFault, error) {
	soon, stop := context.WithTimeout(ctx, m.patience)
	defer stop()
	if _ = m.Ready(soon); ctx.Err() != nil {
		return nil, nil, fmt.Errorf("listing tools: %w", ctx.Err())
	}
	lists := make([][]agent.ToolSpec, len(m.names))
	var faults []agent.ServerFault
	for i, name := range m.names {
		var fault string
		lists[i], fault = m.byName[name].state()
		if fault != "" {
			faults = append(faults, agent.ServerFault{Server: name, Say: fault})
		}
	}
	return slices.Concat(lists...), faults, nil
}

// Check implements [agent.Tools].
func (m *Servers) Check(_ context.Context, tool permission.Tool, args json.RawMessage) error {
	s := m.byName[tool.Server]
	if s == nil {
		return fmt.Errorf("there is no server %q", oneline.Brief(tool.Server, 60))
	}
	return s.check(tool, args)
}

func sorted[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
