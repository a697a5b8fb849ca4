package settings

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/agent/decision"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/text"
)

// command is one thing that can be typed after "/nod permissions".
type command struct {
	verb  string
	usage string // what stands after it
	says  string
	do    func(*request, context.Context, []string) ([]string, error)
}

// commands are all of them, in the order of the help.
func commands() []command {
	return []command{
		{"show", "", text.HelpShow, (*request).showCommand},
		{"mode", "always | never | tool", text.HelpMode, (*request).modeCommand},
		{"pending", "", text.HelpPending, (*request).pendingCommand},
		{"revoke", "<number> | all", text.HelpRevoke, (*request).revokeCommand},
		{"remembered", "[<server> <tool> allow | deny | ask]", text.HelpRemembered, (*request).rememberedCommand},
		{"forget", "<number> | all", text.HelpForget, (*request).forgetCommand},
		{"why", "<server> <tool>", text.HelpWhy, (*request).whyCommand},
		{"whoami", "", text.HelpWhoami, (*request).whoamiCommand},
		{"server", "<server> [<field> <value> | always | never | default]", text.HelpServer, (*request).serverCommand},
		{"tool", "<server> <tool> [<field> <value> | always | never | default]", text.HelpTool, (*request).toolCommand},
		{"set", "[<field> <value>]", text.HelpSet, (*request).setCommand},
		{"tools", "[enable | disable <server> [<tool>]]", text.HelpTools, (*request).toolsCommand},
		{"accept", "<server> [<tool>]", text.HelpAccept, (*request).acceptCommand},
		{"templates", "", text.HelpTemplates, (*request).templatesCommand},
		{"apply", "<template> [yes]", text.HelpApply, (*request).applyCommand},
		{"history", "[<count>] [<kind>]", text.HelpHistory, (*request).historyCommand},
		{"stats", "", text.HelpStats, (*request).statsCommand},
		{"digest", "", text.HelpDigest, (*request).digestCommand},
		{"halt", "", text.HelpHalt, (*request).haltCommand},
		{"resume", "", text.HelpResume, (*request).resumeCommand},
		{"export", "", text.HelpExport, (*request).exportCommand},
	}
}

// maxWords bounds the words of one command.
const maxWords = 200

// Permissions does one "/nod permissions …" (or halt, resume, why, whoami, tools) and returns what to tell the person, in lines of plain
// text that may hold untrusted words. No words is an overview. What is refused is told in the lines, with what to type instead; an error
// says that nothing is known to be done.
func (s *Settings) Permissions(ctx context.Context, env chat.Envelope, words []string) ([]string, error) {
	if env.User.IsZero() {
		return []string{text.WhoAreYou()}, nil
	}
	if len(words) > maxWords {
		return []string{text.TooLongFill(MaxFill)}, nil
	}
	q, err := s.newRequest(ctx, env, viewHome)
	if err != nil {
		return nil, err
	}
	if len(words) > 0 && strings.EqualFold(words[0], "permissions") {
		words = words[1:]
	}
	if len(words) == 0 {
		return q.showCommand(ctx, nil)
	}
	verb, args := strings.ToLower(words[0]), words[1:]
	if verb == "help" {
		return help(), nil
	}
	all := commands()
	i := slices.IndexFunc(all, func(c command) bool { return c.verb == verb })
	if i < 0 {
		return append([]string{text.NoSuchCommand(shown(words[0]))}, help()...), nil
	}
	lines, err := all[i].do(q, ctx, args)
	var no *decision.Refusal
	switch {
	case errors.Is(err, errUsage):
		return []string{text.Usage(all[i].verb, all[i].usage)}, nil
	case errors.Is(err, agent.ErrUnchanged):
		return []string{text.NothingToChange}, nil
	case errors.As(err, &no):
		return []string{no.Say}, nil
	}
	return lines, err
}

// errUsage says that the words of a command were not understood.
var errUsage = errors.New("usage")

func help() []string {
	lines := []string{text.HelpHead}
	for _, c := range commands() {
		lines = append(lines, text.HelpLine(c.verb, c.usage, c.says))
	}
	return lines
}

// run does the action that a command names, and says what came of it.
func (q *request) run(ctx context.Context, a action) ([]string, error) {
	done, err := a.do(ctx, q, "")
	if err != nil {
		return nil, err
	}
	return []string{done.Say}, nil
}

// mustAdmin refuses who is none. An action looks again; this is for what is only shown.
func (q *request) mustAdmin() error {
	if q.admin {
		return nil
	}
	return agent.OnlyForAdmins(text.OnlyAdminsSee, q.policy)
}

// serverNamed finds a server by its name.
func (q *request) serverNamed(ctx context.Context, name string) (server, error) {
	all, err := q.servers(ctx)
	if err != nil {
		return server{}, err
	}
	var names []string
	for _, s := range all {
		if s.name == name {
			return s, nil
		}
		names = append(names, shown(s.name))
	}
	return server{}, &decision.Refusal{Code: decision.RefusedUnknown, Say: text.NoSuchServer(shown(name), few(names))}
}

// toolNamed finds a tool by its names.
func (q *request) toolNamed(ctx context.Context, srv, tool string) (toolEntry, error) {
	s, err := q.serverNamed(ctx, srv)
	if err != nil {
		return toolEntry{}, err
	}
	var names []string
	for _, k := range s.tools {
		if k.tool().Name == tool {
			return k, nil
		}
		names = append(names, shown(k.tool().Name))
	}
	return toolEntry{}, &decision.Refusal{Code: decision.RefusedUnknown, Say: text.NoSuchToolOf(shown(tool), shown(srv), few(names))}
}

// few are the first of many names, with how many more there are.
func few(names []string) []string {
	if len(names) <= 12 {
		return names
	}
	return append(slices.Clip(names[:12]), text.AndMore(len(names)-12))
}
