// Package tasks is twenty ordinary tasks of a team, each as the calls that a good model makes for it, and the world that they happen in: what the
// measurement of needless questions is made with. tests/suites/e2e runs them through the whole program and its API (TestTasks), where the API's
// client is; docs/tasks.md is the table that comes of it.
//
// The servers are the real ones of npm where these work without a network: filesystem, memory and sequential-thinking of the MCP project,
// and @cyanheads/git-mcp-server on real repositories. GitHub's and Slack's are stood in for, in hosted.go.
package tasks

import (
	"encoding/json"
	"strings"
)

// Call is one call of a tool.
type Call struct {
	Server, Tool string
	Args         map[string]any // in strings {dir} stands for the task's directory
	// Reads is our own word that the call changes nothing and tells nobody anything, whatever its server says of it.
	Reads bool
}

// Task is one task. Each of its replies is what the model calls at once, before it has read what came of it.
type Task struct {
	Name    string
	Replies [][]Call
}

// Slug is the name of the task's directory.
func (t Task) Slug() string { return strings.ReplaceAll(strings.ToLower(t.Name), " ", "-") }

// Calls are all calls of the task, in order.
func (t Task) Calls() (all []Call) {
	for _, r := range t.Replies {
		all = append(all, r...)
	}
	return all
}

// JSON is a call's arguments for a task in that directory.
func (c Call) JSON(dir string) string {
	b, err := json.Marshal(c.Args)
	if err != nil {
		panic(err) // only for values of this package
	}
	return strings.ReplaceAll(string(b), "{dir}", dir)
}

// Words are what the scripted model of tests/standins/fakellm reads the task from.
func (t Task) Words(dir string) string {
	replies := make([]string, 0, len(t.Replies))
	for _, r := range t.Replies {
		calls := make([]string, 0, len(r))
		for _, c := range r {
			calls = append(calls, "call "+c.Server+"__"+c.Tool+" "+c.JSON(dir))
		}
		replies = append(replies, strings.Join(calls, " and "))
	}
	return strings.Join(replies, " then ")
}

type args = map[string]any

func reads(server, tool string, a args) Call  { return Call{server, tool, a, true} }
func writes(server, tool string, a args) Call { return Call{server, tool, a, false} }

// each makes a call of each value.
func each(values []string, call func(string) Call) (all []Call) {
	for _, v := range values {
		all = append(all, call(v))
	}
	return all
}

func readFile(name string) Call {
	return reads("files", "read_text_file", args{"path": "{dir}/" + name})
}
func writeFile(name, content string) Call {
	return writes("files", "write_file", args{"path": "{dir}/" + name, "content": content})
}
func makeDir(name string) Call {
	return writes("files", "create_directory", args{"path": "{dir}/" + name})
}
func move(from, to string) Call {
	return writes("files", "move_file", args{"source": "{dir}/" + from, "destination": "{dir}/" + to})
}
func search(pattern string) Call {
	return reads("files", "search_files", args{"path": "{dir}", "pattern": pattern})
}
func list(name string) Call { return reads("files", "list_directory", args{"path": "{dir}/" + name}) }

// edit replaces text in a file. A dry run only shows what it would do.
func edit(name, was, becomes string, dry bool) Call {
	return Call{"files", "edit_file", args{"path": "{dir}/" + name, "edits": []any{args{"oldText": was, "newText": becomes}}, "dryRun": dry}, dry}
}

// git calls a tool on the task's repository.
func git(tool string, a args, readsOnly bool) Call {
	a["path"] = "{dir}"
	return Call{"git", "git_" + tool, a, readsOnly}
}

// github calls a tool on the team's repository.
func github(tool string, a args, readsOnly bool) Call {
	a["owner"], a["repo"] = "acme", "app"
	return Call{"github", tool, a, readsOnly}
}

func think(n int, thought string) Call {
	return reads("think", "sequentialthinking", args{"thought": thought, "thoughtNumber": n, "totalThoughts": 5, "nextThoughtNeeded": n < 5})
}

func post(channel, words string) Call {
	return writes("slack", "slack_post_message", args{"channel_id": channel, "text": words})
}

func one(c Call) []Call { return []Call{c} }
