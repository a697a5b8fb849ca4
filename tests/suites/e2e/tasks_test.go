package e2e

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/nodhq/nod/tests/harness/need"
	"github.com/nodhq/nod/tests/suites/tasks"
)

var updateTasks = flag.Bool("update-tasks", false, "write docs/tasks.md: what twenty tasks ask")

const tasksPage = "../../../docs/tasks.md"

// way is one way of working with the bot.
type way struct {
	name string
	// admin is what an admin did before the first task, if anything.
	admin func(t testing.TB, admin *person, servers []string)
	// grants: Ana allows for the chat wherever that is offered, and does everything in one chat; else once, each task in a chat of its own.
	grants bool
	// servers: Ana allows everything of a server for the chat where its next replies would ask, too. Messages to people she allows one by one.
	servers bool
}

var ways = []way{
	{name: tasks.Defaults},
	{name: tasks.Accepted, admin: acceptServers},
	{name: tasks.Servers, admin: acceptServers, servers: true},
	{name: tasks.Grants, grants: true},
}

// acceptServers is what a new admin does once for each server, to accept it: one click for each group of its tools.
// Nothing here may let anything run unasked but what a server calls a read.
func acceptServers(t testing.TB, admin *person, servers []string) {
	t.Helper()
	for _, server := range servers {
		for tries := 0; tries < 50; tries++ {
			panel := admin.panel("?view=install:" + server)
			token := panel.begins("Let ", "Accept as they are now")
			if token == "" {
				break
			}
			status, no := admin.call("POST", "/api/v1/settings", map[string]string{"view": panel.View, "token": token}, nil)
			if status != http.StatusOK && no.Code != "unknown" { // that: the tools changed since the panel was drawn, so it is looked at again
				t.Fatalf("accepting %s: %d %+v", server, status, no)
			}
		}
	}
}

// begins is the token of the first act whose label begins so.
func (v panelForm) begins(labels ...string) string {
	for _, s := range v.Sections {
		for _, r := range s.Rows {
			for _, a := range r.Acts {
				if slices.ContainsFunc(labels, func(l string) bool { return strings.HasPrefix(a.Label, l) }) {
					return a.Token
				}
			}
		}
	}
	return ""
}

// Twenty tasks of a team, with real servers: how often nod asks, and that it never asks too little.
func TestTasks(t *testing.T) {
	t.Parallel()
	need.Program(t, "git", "git")
	servers := map[string]string{"files": "mcp-server-filesystem", "memory": "mcp-server-memory", "think": "mcp-server-sequential-thinking", "git": "git-mcp-server"}
	for name, bin := range servers {
		servers[name] = node(t, bin)
	}
	columns, ends := make([]tasks.Column, len(ways)), make([]map[string]string, len(ways))
	t.Run("ways", func(t *testing.T) {
		for i, w := range ways {
			t.Run(w.name, func(t *testing.T) {
				t.Parallel()
				columns[i], ends[i] = measure(t, w, servers)
			})
		}
	})
	if t.Failed() {
		return
	}
	for i := range ways {
		for _, task := range tasks.All {
			if ends[i][task.Name] != ends[0][task.Name] {
				t.Errorf("%s ends otherwise with %s:\n%s\nand with %s:\n%s", task.Name, ways[i].name, ends[i][task.Name], ways[0].name, ends[0][task.Name])
			}
		}
	}
	was, err := os.ReadFile(tasksPage)
	if err != nil {
		t.Fatal(err)
	}
	page, err := tasks.Put(string(was), columns)
	if err != nil {
		t.Fatal(err)
	}
	switch {
	case page == string(was):
	case *updateTasks:
		if err := os.WriteFile(tasksPage, []byte(page), 0o644); err != nil { //nolint:gosec // a page for everybody
			t.Fatal(err)
		}
	default:
		t.Errorf("docs/tasks.md says something else; look at what changed, and write it with `make update`:\n%s", page)
	}
}

// worker is a person at work in a world.
type worker struct {
	way
	ana    *person
	world  tasks.World
	hosted *tasks.Hosted
	one    *room // of all tasks, with grants

	granted map[string]bool // tools that she allowed for that chat
}

// measure does all tasks in one way, and gives the counts and how each task ended.
func measure(t *testing.T, w way, servers map[string]string) (tasks.Column, map[string]string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "nod") // a short path: what a card says of arguments does not depend on it
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if dir, err = filepath.EvalSymlinks(dir); err != nil {
		t.Fatal(err)
	}
	x := &worker{way: w, hosted: &tasks.Hosted{}, granted: map[string]bool{}}
	if x.world, err = tasks.Seed(dir); err != nil {
		t.Fatal(err)
	}
	llm := startLLM(t)
	yaml, names := tasksYAML(t, x, servers)
	b := start(t, settings{yaml: yaml, env: llm.env("ADMIN_SESSION_KEYS=" + bossKey)})
	until(t, "all servers are connected", func() bool {
		return !slices.ContainsFunc(names, func(name string) bool { return !strings.Contains(b.out.String(), "msg=connected mcp_server="+name+" ") })
	})
	if w.admin != nil {
		w.admin(t, boss(b), names)
	}
	x.ana = b.session("Ana")
	if w.grants {
		x.one = x.ana.room()
	}
	column, ends := tasks.Column{Name: w.name, Tasks: map[string]tasks.Count{}}, map[string]string{}
	var mu sync.Mutex
	t.Run("tasks", func(t *testing.T) {
		for _, task := range tasks.All {
			t.Run(task.Slug(), func(t *testing.T) {
				if !w.grants {
					t.Parallel()
				}
				count, end := x.do(t, task)
				mu.Lock()
				defer mu.Unlock()
				column.Tasks[task.Name], ends[task.Name] = count, end
			})
		}
	})
	x.reachesOut(t)
	llm.healthy()
	return column, ends
}

// reachesOut: what only reads, and reaches the open world to do so, is asked about in every way of working.
func (x *worker) reachesOut(t *testing.T) {
	t.Helper()
	r := x.one
	if r == nil {
		r = x.ana.room()
	}
	r.say(`call web__fetch {"url":"https://example.org/?q=what+is+read+here"}`)
	c := r.until("the fetch asks, or is over", settled)
	if n := x.hosted.Fetched(); n != 0 || len(c.Pending) != 1 {
		t.Errorf("%d addresses were fetched, and nobody allowed it: %s", n, c)
		return
	}
	r.mustClick(c.Pending[0].RequestID, "deny")
	r.idle()
}

// tasksYAML is a configuration with all servers as they come, and their names. One session of each is enough, because none keeps anything for whoever
// talks to it.
func tasksYAML(t *testing.T, x *worker, servers map[string]string) (string, []string) {
	t.Helper()
	var b strings.Builder
	names := []string{"files", "memory", "think", "git"}
	fmt.Fprintf(&b, "mcp:\n  servers:\n    files: {command: [%q, %q], paths: [%q], shared: true}\n", servers["files"], x.world.Dir, x.world.Dir)
	fmt.Fprintf(&b, "    memory: {command: [%q], env: {MEMORY_FILE_PATH: %q}, paths: [%q], shared: true}\n", servers["memory"], x.world.Memory(), filepath.Dir(x.world.Memory()))
	fmt.Fprintf(&b, "    think: {command: [%q], shared: true}\n", servers["think"])
	fmt.Fprintf(&b, "    git: {command: [%q], env: {GIT_SIGN_COMMITS: 'false', GIT_CONFIG_NOSYSTEM: '1', MCP_LOG_LEVEL: error}, paths: [%q], shared: true}\n", servers["git"], x.world.Dir)
	hosted := x.hosted.Servers()
	for _, name := range slices.Sorted(maps.Keys(hosted)) {
		handler := hosted[name]
		at := httptest.NewServer(handler)
		t.Cleanup(at.Close)
		t.Cleanup(at.CloseClientConnections) // first: a stream stays open
		fmt.Fprintf(&b, "    %s: {url: %q, shared: true}\n", name, at.URL+"/mcp")
		names = append(names, name)
	}
	return b.String(), names
}

// taskCard is what this measurement reads of an ask on the page.
type taskCard struct {
	pendingForm
	calls   []string // that it is about: one, or reads that are asked together
	all     allForm  // what answers those together
	words   int
	choices map[string]bool // all that it offers, and whether that has to be confirmed
}

// do does one task, answering whatever asks, and gives what that took and how it ended.
func (x *worker) do(t *testing.T, task tasks.Task) (n tasks.Count, end string) {
	t.Helper()
	r := x.one
	if r == nil {
		r = x.ana.room()
	}
	r = &room{&person{t: t, b: r.b, key: r.key, user: r.user}, r.id}
	watch := &oracle{t: t, worker: x, task: task, clicked: map[string]bool{}, asked: map[string]bool{}, allowed: map[string]bool{}}
	watch.state = watch.now()
	r.say(task.Words(x.world.Of(task)))
	for {
		c := r.until("the task goes on", settled)
		watch.look(c)
		if c.State == "idle" {
			return n, watch.end(c)
		}
		cards, all := r.cards(c)
		before := n.Cards
		for _, k := range cards {
			if !watch.known(k) {
				n.Cards++
				n.Words += k.words
			}
		}
		if n.Cards > before {
			n.Prompts++ // what one reply asks stands in one list
		}
		n.Clicks++
		k := cards[0]
		confirm, standing := k.choices["allow_chat"]
		later := writesLater(task, c, k.ServerName)
		switch {
		case x.servers && k.ServerName != "slack" && len(later) > 0:
			choice := "allow_server"
			if !slices.ContainsFunc(later, func(tool string) bool { return tool != k.ToolName }) {
				choice = "allow_chat" // which also does for a tool that may destroy
			}
			if k.choices[choice] {
				n.Confirms++
			}
			watch.allowed[k.ServerName] = true
			r.mustClick(k.RequestID, choice)
		case x.grants && standing:
			if confirm {
				n.Confirms++
			}
			x.granted[k.ServerName+" "+k.ToolName] = true
			r.mustClick(k.RequestID, "allow_chat")
		case !x.grants && len(cards) > 1 && all.Token != "":
			if all.Confirm != "" {
				n.Confirms++
			}
			for _, k := range cards {
				watch.allow(k)
			}
			if status, no := r.call("POST", r.path("/clicks"), map[string]string{"token": all.Token, "choice": "approve_all"}, nil); status != http.StatusOK {
				t.Fatalf("approve all: %d %+v", status, no)
			}
		case k.all.Token != "":
			watch.allow(k)
			if status, no := r.call("POST", r.path("/clicks"), map[string]string{"token": k.all.Token, "choice": "approve_all"}, nil); status != http.StatusOK {
				t.Fatalf("allow these: %d %+v", status, no)
			}
		default:
			watch.allow(k)
			r.mustClick(k.RequestID, "allow_once")
		}
	}
}

// writesLater are the tools of that server that later replies of the task write with.
func writesLater(task tasks.Task, c chatForm, server string) (tools []string) {
	for _, k := range task.Calls()[len(c.last().ToolCalls):] {
		if k.Server == server && !k.Reads {
			tools = append(tools, k.Tool)
		}
	}
	return tools
}

// settled: it is over, or a person must answer and all that this reply asks is asked.
func settled(c chatForm) bool {
	if c.State == "idle" {
		return c.Queued == 0 && c.last().End != nil
	}
	return len(c.Pending) > 0 && !slices.ContainsFunc(c.last().ToolCalls, func(k callForm) bool { return k.Status == "proposed" })
}

// allForm is the button that answers all cards.
type allForm struct{ Choice, Token, Confirm string }

// cards are the open asks as they look, and the button for all of them, where there is one.
func (r *room) cards(c chatForm) (open []taskCard, all allForm) {
	r.t.Helper()
	var raw struct {
		Messages []struct {
			Blocks  []map[string]any
			Choices []allForm
		}
	}
	if status, no := r.call("GET", r.path(""), nil, &raw); status != http.StatusOK {
		r.t.Fatalf("GET: %d %+v", status, no)
	}
	m := raw.Messages[len(raw.Messages)-1]
	if i := slices.IndexFunc(m.Choices, func(c allForm) bool { return c.Choice == "approve_all" }); i >= 0 {
		all = m.Choices[i]
	}
	for _, b := range m.Blocks {
		i := slices.IndexFunc(c.Pending, func(p pendingForm) bool { return b["type"] == "ask" && b["request_id"] == p.RequestID })
		if i < 0 {
			continue
		}
		k := taskCard{pendingForm: c.Pending[i], calls: []string{c.Pending[i].ToolCallID}, words: inSight(b), choices: map[string]bool{}}
		for _, list := range []string{"choices", "more"} {
			offered, _ := b[list].([]any)
			for _, c := range offered {
				c := c.(map[string]any)
				k.choices[fmt.Sprint(c["choice"])] = c["confirm"] != nil
				if c["choice"] == "approve_all" {
					k.all.Token, _ = c["token"].(string)
				}
			}
		}
		open = append(open, k)
	}
	for _, p := range c.Pending { // each has a card, or stands with others of its tool on one
		i := slices.IndexFunc(open, func(k taskCard) bool {
			return k.RequestID == p.RequestID || k.all.Token != "" && k.ServerName == p.ServerName && k.ToolName == p.ToolName
		})
		if i < 0 {
			r.t.Fatalf("the ask of %s has no card: %s", p.ToolName, c)
		}
		if open[i].RequestID != p.RequestID {
			open[i].calls = append(open[i].calls, p.ToolCallID)
		}
	}
	return open, all
}

// unseen are the fields of an ask that are no words, or that stand behind a fold, a button or a pointer.
var unseen = strings.Fields("type tool_call_id request_id kind state choice token style toggle icon user time expires_at digest json edit server_name more hint confirm mark tool_name")

// inSight counts the words of a card that the page shows without a click.
func inSight(v any) (n int) {
	switch v := v.(type) {
	case string:
		return len(strings.Fields(v))
	case []any:
		for _, x := range v {
			n += inSight(x)
		}
	case map[string]any:
		for name, x := range v {
			if !slices.Contains(unseen, name) {
				n += inSight(x)
			}
		}
	}
	return n
}

// oracle holds what happens against what was allowed. It believes no annotation: that a call only reads is the task's own word.
type oracle struct {
	*worker
	t       *testing.T
	task    tasks.Task
	clicked map[string]bool // calls that a person allowed
	allowed map[string]bool // servers that a person allowed to write in this chat
	asked   map[string]bool // calls that were asked about, with their arguments
	seen    map[string]bool // asks
	state   string          // of the task's files
	ran     int             // allowed calls that may have changed it
}

// allow: a person allowed all calls of a card.
func (o *oracle) allow(k taskCard) {
	for _, id := range k.calls {
		o.clicked[id] = true
	}
}

func (o *oracle) now() string {
	o.t.Helper()
	s, err := o.world.State(o.task)
	if err != nil {
		o.t.Fatal(err)
	}
	return s
}

// known says whether a card was seen before. The same call in a second card is what nobody should have to answer.
func (o *oracle) known(k taskCard) bool {
	o.t.Helper()
	if o.seen[k.RequestID] {
		return true
	}
	if o.seen == nil {
		o.seen = map[string]bool{}
	}
	o.seen[k.RequestID] = true
	call := k.ServerName + " " + k.ToolName + " " + string(k.Arguments)
	if o.asked[call] {
		o.t.Errorf("it asks twice for %s", call)
	}
	o.asked[call] = true
	return false
}

// look: nothing happened that nobody allowed.
func (o *oracle) look(c chatForm) {
	o.t.Helper()
	ran, did, calls := 0, o.hosted.Did(), o.task.Calls()
	for i, k := range c.last().ToolCalls {
		if i >= len(calls) || k.Tool != calls[i].Tool {
			o.t.Fatalf("call %d is %s: %s", i, k.Tool, c)
		}
		begun := slices.Contains([]string{"allowed", "running", "done", "failed", "unknown"}, k.Status)
		allowed := o.clicked[k.ID] || o.allowed[k.Server] || o.granted[k.Server+" "+k.Tool]
		switch {
		case calls[i].Reads:
		case begun && !allowed:
			o.t.Errorf("%s of %s ran, and nobody allowed it: %s", k.Tool, k.Server, c)
		case allowed:
			ran++
		case slices.Contains(did, o.line(calls[i])):
			o.t.Errorf("%s of %s happened, and nobody allowed it: %s", k.Tool, k.Server, c)
		}
	}
	if now := o.now(); now != o.state {
		if ran == o.ran {
			o.t.Errorf("files changed, and nobody allowed it:\n%s\n%s", o.state, now)
		}
		o.state = now
	}
	if c.State != "idle" {
		o.ran = 0 // what is allowed now may happen until the next look
		for i, k := range c.last().ToolCalls {
			if i < len(calls) && !calls[i].Reads && k.Status == "done" {
				o.ran++
			}
		}
	}
}

// line is a call in the record of the stand-ins.
func (o *oracle) line(c tasks.Call) string {
	return c.Server + " " + c.Tool + " " + c.JSON(o.world.Of(o.task))
}

// end is how the task ended, without what is another in every run. All its calls went well, each once.
func (o *oracle) end(c chatForm) string {
	o.t.Helper()
	did, calls := o.hosted.Did(), o.task.Calls()
	if got := c.last().ToolCalls; len(got) != len(calls) || c.last().End.Why != "answered" {
		o.t.Fatalf("%d of %d calls, and it is over: %s", len(got), len(calls), c)
	}
	out := []string{o.state}
	for i, k := range c.last().ToolCalls {
		if k.Status != "done" || k.Result.IsError {
			o.t.Errorf("%s is %s: %s", k.Tool, k.Status, k.Result.Content)
		}
		n := 0
		for _, d := range did {
			if d == o.line(calls[i]) {
				n++
			}
		}
		hosted := calls[i].Server == "github" || calls[i].Server == "slack"
		if want := hosted && !calls[i].Reads; want && n != 1 || !want && n != 0 {
			o.t.Errorf("%s happened %d times", o.line(calls[i]), n)
		}
		var same any
		if json.Unmarshal(k.Arguments, &same) != nil || k.Result.Content == "" {
			o.t.Errorf("%s: %s gave %q", k.Tool, k.Arguments, k.Result.Content)
		}
		out = append(out, o.world.Plain(k.Result.Content))
	}
	return strings.Join(out, "\n")
}
