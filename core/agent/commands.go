package agent

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/render"
)

// command is one thing that can be typed after "/nod permissions".
type typed struct {
	verb  string
	usage string // what stands after it
	says  string
	do    func(*looking, context.Context, []string) ([]string, error)
}

// commands are all of them, in the order of the help.
func commands() []typed {
	return []typed{
		{"show", "", render.HelpShow, (*looking).showCommand},
		{"mode", "always | never | tool", render.HelpMode, (*looking).modeCommand},
		{"pending", "", render.HelpPending, (*looking).pendingCommand},
		{"revoke", "<number> | all", render.HelpRevoke, (*looking).revokeCommand},
		{"remembered", "[<server> <tool> allow | deny | ask]", render.HelpRemembered, (*looking).rememberedCommand},
		{"forget", "<number> | all", render.HelpForget, (*looking).forgetCommand},
		{"why", "<server> <tool>", render.HelpWhy, (*looking).whyCommand},
		{"whoami", "", render.HelpWhoami, (*looking).whoamiCommand},
		{"server", "<server> [<field> <value> | always | never | default]", render.HelpServer, (*looking).serverCommand},
		{"tool", "<server> <tool> [<field> <value> | always | never | default]", render.HelpTool, (*looking).toolCommand},
		{"set", "[<field> <value>]", render.HelpSet, (*looking).setCommand},
		{"tools", "[enable | disable <server> [<tool>]]", render.HelpTools, (*looking).toolsCommand},
		{"accept", "<server> [<tool>]", render.HelpAccept, (*looking).acceptCommand},
		{"templates", "", render.HelpTemplates, (*looking).templatesCommand},
		{"apply", "<template> [yes]", render.HelpApply, (*looking).applyCommand},
		{"history", "[<count>] [<kind>]", render.HelpHistory, (*looking).historyCommand},
		{"stats", "", render.HelpStats, (*looking).statsCommand},
		{"digest", "", render.HelpDigest, (*looking).digestCommand},
		{"halt", "", render.HelpHalt, (*looking).haltCommand},
		{"resume", "", render.HelpResume, (*looking).resumeCommand},
		{"export", "", render.HelpExport, (*looking).exportCommand},
	}
}

// maxWords bounds what one command is looked at.
const maxWords = 200

// Permissions does one "/nod permissions …" (or halt, resume, why, whoami, tools) and returns what to tell the person, in lines of plain
// text that may hold untrusted words. No words is an overview. What is refused is told in the lines, with what to type instead; an error
// says that nothing is known to be done.
func (e *Engine) Permissions(ctx context.Context, env chat.Envelope, words []string) ([]string, error) {
	if env.User.IsZero() {
		return []string{render.WhoAreYou()}, nil
	}
	if len(words) > maxWords {
		return []string{render.TooLongFill(MaxFill)}, nil
	}
	l, err := e.look(ctx, env, viewHome)
	if err != nil {
		return nil, err
	}
	if len(words) > 0 && strings.EqualFold(words[0], "permissions") {
		words = words[1:]
	}
	if len(words) == 0 {
		return l.showCommand(ctx, nil)
	}
	verb, args := strings.ToLower(words[0]), words[1:]
	if verb == "help" {
		return help(), nil
	}
	all := commands()
	i := slices.IndexFunc(all, func(c typed) bool { return c.verb == verb })
	if i < 0 {
		return append([]string{render.NoSuchCommand(shown(words[0]))}, help()...), nil
	}
	lines, err := all[i].do(l, ctx, args)
	var no *Refusal
	switch {
	case errors.Is(err, errUsage):
		return []string{render.Usage(all[i].verb, all[i].usage)}, nil
	case errors.Is(err, ErrUnchanged):
		return []string{render.NothingToChange}, nil
	case errors.As(err, &no):
		return []string{no.Say}, nil
	}
	return lines, err
}

// errUsage says that the words of a command were not understood.
var errUsage = errors.New("usage")

func help() []string {
	lines := []string{render.HelpHead}
	for _, c := range commands() {
		lines = append(lines, render.HelpLine(c.verb, c.usage, c.says))
	}
	return lines
}

// did is what a deed that a command did tells.
func did(ctx context.Context, d deed, text string) ([]string, error) {
	done, err := d(ctx, text)
	if err != nil {
		return nil, err
	}
	return []string{done.Say}, nil
}

// mustAdmin refuses whoever is none. Deeds look again; this is for what is only shown.
func (l *looking) mustAdmin() error {
	if l.admin {
		return nil
	}
	return notAdminFor(render.OnlyAdminsSee, l.policy)
}

// serverNamed finds a server by its name.
func (l *looking) serverNamed(ctx context.Context, name string) (server, error) {
	all, err := l.servers(ctx)
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
	return server{}, &Refusal{Code: RefusedUnknown, Say: render.NoSuchServer(shown(name), few(names))}
}

// toolNamed finds a tool by its names.
func (l *looking) toolNamed(ctx context.Context, srv, tool string) (known, error) {
	s, err := l.serverNamed(ctx, srv)
	if err != nil {
		return known{}, err
	}
	var names []string
	for _, k := range s.tools {
		if k.tool().Name == tool {
			return k, nil
		}
		names = append(names, shown(k.tool().Name))
	}
	return known{}, &Refusal{Code: RefusedUnknown, Say: render.NoSuchToolOf(shown(tool), shown(srv), few(names))}
}

// few are the first of many names, with how many more there are.
func few(names []string) []string {
	if len(names) <= 12 {
		return names
	}
	return append(slices.Clip(names[:12]), render.AndMore(len(names)-12))
}
