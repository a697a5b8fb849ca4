package main

import (
	"cmp"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/nodhq/nod/cmd/bot/config"
	"github.com/nodhq/nod/cmd/bot/parts"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
)

// Each recipe of docs/recipes.md is a configuration, and the calls that it names go as it says.
func TestRecipes(t *testing.T) {
	data, err := os.ReadFile("../../docs/recipes.md")
	if err != nil {
		t.Fatal(err)
	}
	first, rest, _ := strings.Cut(string(data), "\n## ")
	servers, recipes := shown(first), strings.Split(rest, "\n## ")
	if len(recipes) != 14 {
		t.Errorf("%d recipes, want fourteen", len(recipes))
	}
	for _, recipe := range recipes {
		name, rest, _ := strings.Cut(recipe, "\n")
		t.Run(name, func(t *testing.T) {
			text := shown(rest)
			if !strings.HasPrefix(text, "mcp:") {
				text = servers + text
			}
			env := map[string]string{"HOME": "/home/ana"}
			c, err := config.Parse("recipes.md", []byte(text), func(k string) (string, bool) { v, ok := env[k]; return v, ok })
			if err != nil {
				t.Fatalf("%v in\n%s", err, text)
			}
			says := regexp.MustCompile("(?m)^\\| `(\\w+)/(\\w+)`(?: with `(.*)`)?(?: in `(.*)`)? \\| (.*) \\|$").FindAllStringSubmatch(rest, -1)
			for _, line := range says {
				if !comesTo(t, parts.Operators(c).AskingWhere(true), permission.Tool{Server: line[1], Name: line[2], Definition: "d1"}, cmp.Or(line[3], "{}"), cmp.Or(line[4], "slack:T00000000:C1"), line[5]) {
					t.Errorf("%s/%s %s %s: it does not come to %q", line[1], line[2], line[3], line[4], line[5])
				}
			}
			if len(says) == 0 {
				t.Error("it says of no call what becomes of it")
			}
		})
	}
}

// shown is the first configuration that stands in a text.
func shown(text string) string {
	_, text, _ = strings.Cut(text, "```yaml\n")
	text, _, _ = strings.Cut(text, "```")
	return text
}

// comesTo rules a call of Ana's in a channel of Slack, where Ben is too.
func comesTo(t *testing.T, policy permission.Policy, tool permission.Tool, args, in, says string) bool {
	t.Helper()
	policy.Installed = true
	at, err := permission.ParsePlace(in)
	if err != nil {
		t.Error(err)
	}
	ana, ben := chat.User{Platform: "slack", Workspace: at.Workspace, Key: "U1"}, chat.User{Platform: "slack", Workspace: at.Workspace, Key: "U2"}
	req := permission.Request{Chat: chat.ID{Platform: "slack", Workspace: at.Workspace, Key: "1"}, Channel: chat.Channel(in), Requester: ana, Present: []chat.User{ana, ben}, Tool: tool,
		Source: permission.SourceMCP, Args: []byte(args)}
	switch tool.Server {
	case "files":
		reads, closed := strings.HasPrefix(tool.Name, "read"), false
		req.Hints = permission.Hints{ReadOnly: &reads, OpenWorld: &closed}
	case "workbench":
		req.Source = permission.SourceWorkbench
	}
	r := permission.Evaluate(policy, nil, req, time.Now())
	may := func(u chat.User, groups ...chat.User) bool {
		return permission.MayDecide(policy.Knowing(u, groups), req, r.Level, u) == nil
	}
	asks := r.Verdict == permission.Ask && r.Level != permission.LevelAdmin
	switch says {
	case "runs":
		return r.Verdict == permission.Allow
	case "is refused":
		return r.Verdict == permission.Forbid
	case "asks an admin":
		return r.Verdict == permission.Ask && r.Level == permission.LevelAdmin && !may(ana) && may(chat.User{Platform: "slack", Workspace: "T00000000", Key: "U00000001"})
	case "asks":
		return asks && may(ana) && r.Approvals < 2 && r.ChatGrant
	case "asks each time":
		return asks && !r.ChatGrant
	case "asks two people":
		return asks && r.Approvals == 2 && may(ana) && may(ben)
	case "asks somebody else":
		return asks && !may(ana) && may(ben)
	case "asks the group":
		return asks && !may(ana) && !may(ben) && may(ben, chat.User{Platform: "slack", Workspace: "T00000000", Key: "&S00000002"}) && r.Timeout == 2*time.Hour
	case "asks, and waits":
		return asks && r.Timeout == 0
	}
	t.Errorf("%q is nothing that this test knows", says)
	return false
}
