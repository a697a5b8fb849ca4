package settings

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/nodhq/nod/core/agent/decision"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/core/text"
)

// command is one thing that can be typed after "/nod permissions".
type command struct {
	verb  string
	usage string // what stands after it
	says  string
	do    func(*request, context.Context, []string) ([]string, error)
}

const numberOrAll = "<number> | all"

// commands are all of them, in the order of the help.
var commands = []command{
	{"show", "", text.HelpShow, (*request).showCommand},
	{"mode", "always | never | tool", text.HelpMode, (*request).modeCommand},
	{"pending", "", text.HelpPending, (*request).pendingCommand},
	{"revoke", numberOrAll, text.HelpRevoke, (*request).revokeCommand},
	{"remembered", "[<server> <tool> allow | deny | ask]", text.HelpRemembered, (*request).rememberedCommand},
	{"forget", numberOrAll, text.HelpForget, (*request).forgetCommand},
	{"why", "[-in <place>] <server> <tool> [{\"argument\": …}]", text.HelpWhy, (*request).whyCommand},
	{"whoami", "", text.HelpWhoami, (*request).whoamiCommand},
	{"server", "<server> [<field> <value> | always | never | default]", text.HelpServer, assigns(1)},
	{"tool", "<server> <tool> [<field> <value> | always | never | default]", text.HelpTool, assigns(2)},
	{"set", "[<field> <value>]", text.HelpSet, assigns(0)},
	{"tools", "[enable | disable <server> [<tool>]]", text.HelpTools, (*request).toolsCommand},
	{"accept", "<server> [<tool> | reads]", text.HelpAccept, (*request).acceptCommand},
	{"templates", "", text.HelpTemplates, (*request).templatesCommand},
	{"apply", "<template> [yes]", text.HelpApply, (*request).applyCommand},
	{"history", "[<count>] [<kind>]", text.HelpHistory, (*request).historyCommand},
	{"stats", "", text.HelpStats, (*request).statsCommand},
	{"digest", "", text.HelpDigest, (*request).digestCommand},
	{"halt", "", text.HelpHalt, does(setHalt(true))},
	{"resume", "", text.HelpResume, does(setHalt(false))},
	{"hold", "[<chat or person> <why> | release <chat or person>]", text.HelpHold, (*request).holdCommand},
	{"export", "", text.HelpExport, (*request).exportCommand},
}

// does is a command that does one action, whatever stands after it.
func does(a action) func(*request, context.Context, []string) ([]string, error) {
	return func(q *request, ctx context.Context, _ []string) ([]string, error) { return q.run(ctx, a) }
}

// assigns is a command that sets a field of what so many names stand for: everything, a server, or a tool.
func assigns(names int) func(*request, context.Context, []string) ([]string, error) {
	return func(q *request, ctx context.Context, args []string) ([]string, error) {
		return q.assign(ctx, names, args)
	}
}

// maxWords bounds the words of one command.
const maxWords = 200

// Permissions does one "/nod permissions …" (or halt, resume, why, whoami, tools) and returns what to tell the person, in lines of plain
// text that may hold untrusted words. No words is an overview. What is refused is told in the lines, with what to type instead; an error
// says that nothing is known to be done.
func (s *Settings) Permissions(ctx context.Context, env chat.Envelope, words []string) ([]string, error) {
	if env.User.IsZero() {
		return []string{text.WhoAreYou}, nil
	}
	if len(words) > maxWords {
		return []string{text.TooLongFill(MaxFill)}, nil
	}
	q, err := s.newRequest(ctx, env)
	if err != nil {
		return nil, err
	}
	if len(words) > 0 && strings.EqualFold(words[0], "permissions") {
		words = words[1:]
	}
	verb, args := "show", []string(nil)
	if len(words) > 0 {
		verb, args = strings.ToLower(words[0]), words[1:]
	}
	if verb == "help" {
		return help(), nil
	}
	i := slices.IndexFunc(commands, func(c command) bool { return c.verb == verb })
	if i < 0 {
		return append([]string{text.NoSuchCommand(sanitize(words[0]))}, help()...), nil
	}
	lines, err := commands[i].do(q, ctx, args)
	if q.err != nil { // what the command made without it says nothing
		return nil, q.err
	}
	no, refused := errors.AsType[*decision.Refusal](err)
	switch {
	case errors.Is(err, errUsage):
		return []string{text.Usage(verb, commands[i].usage)}, nil
	case refused:
		return []string{no.Say}, nil
	}
	return lines, err
}

// errUsage says that the words of a command were not understood.
var errUsage = errors.New("usage")

func help() []string {
	lines := []string{text.HelpHead}
	for _, c := range commands {
		lines = append(lines, text.HelpLine(c.verb, c.usage, c.says))
	}
	return lines
}

// run does the action that a command names, and says what came of it.
func (q *request) run(ctx context.Context, a action) ([]string, error) {
	done, err := q.do(ctx, a, "")
	return []string{done.Say}, err
}

// mustAdmin refuses who is none. An action looks again; this is for what is only shown.
func (q *request) mustAdmin() error {
	if q.admin {
		return nil
	}
	return decision.OnlyForAdmins(text.OnlyAdminsSee, q.policy)
}

// named finds a server by its name, or with a second one a tool of it.
func (q *request) named(ctx context.Context, names []string) (s server, k toolEntry, err error) {
	var known []string
	all := q.servers(ctx)
	i := slices.IndexFunc(all, func(s server) bool { return s.name == names[0] })
	if i < 0 {
		for _, s := range all {
			known = append(known, sanitize(s.name))
		}
		return s, k, &decision.Refusal{Code: decision.RefusedUnknown, Say: text.NoSuchServer(sanitize(names[0]), few(known))}
	}
	if len(names) == 1 {
		return all[i], k, nil
	}
	k, found := all[i].tool(names[1])
	if !found {
		for _, k := range all[i].tools {
			known = append(known, sanitize(k.tool().Name))
		}
		return s, k, &decision.Refusal{Code: decision.RefusedUnknown, Say: text.NoSuchToolOf(sanitize(names[1]), sanitize(names[0]), few(known))}
	}
	return all[i], k, nil
}

// few are the first of many names, with how many more there are.
func few(names []string) []string {
	if len(names) <= 12 {
		return names
	}
	return append(slices.Clip(names[:12]), text.AndMore(len(names)-12))
}

const yes = "yes"

// confirmed reports whether a command ends with the word that confirms it.
func confirmed(args []string) bool { return len(args) == 2 && strings.EqualFold(args[1], yes) }

// modeCommand sets how this chat asks. To turn asking off takes a second word (C3).
func (q *request) modeCommand(ctx context.Context, args []string) ([]string, error) {
	if !q.hasChat() {
		return []string{text.PanelNoChat}, nil
	}
	if len(args) == 0 {
		return []string{text.ModeIs(q.here.Mode.Label()), text.ModeUsage}, nil
	}
	mode, err := permission.ParseMode(args[0])
	switch {
	case err != nil, len(args) > 1 && !confirmed(args):
		return []string{text.ModeUsage}, nil
	case mode == permission.ModeNever && !decision.MayRelax(q.policy, q.here, q.env.User):
		return nil, &decision.Refusal{Code: decision.RefusedNotYours, Say: text.OnlyOwnerOrAdmin}
	case mode == permission.ModeNever && !confirmed(args):
		return []string{text.ConfirmNeverMode, text.TypeYes("mode never")}, nil
	}
	return q.run(ctx, setMode(mode))
}

// choose reads "<number> | all" of a command that ends something in a numbered list: one of it, or those that "all" means. Where that is
// nothing, says tells why.
func choose[T any](verb string, args []string, list, all []T, listed []string, none string) (chosen []T, says []string) {
	if len(args) != 1 {
		return nil, append(listed, text.Usage(verb, numberOrAll))
	}
	if strings.EqualFold(args[0], "all") {
		if len(all) == 0 {
			return nil, []string{none}
		}
		return all, nil
	}
	n, _ := strconv.Atoi(args[0]) // what is no number is 0, or too many
	if n < 1 || n > len(list) {
		return nil, append([]string{text.NoSuchNumber(text.Clip(args[0], 20))}, listed...)
	}
	return list[n-1 : n], nil
}

func (q *request) revokeCommand(ctx context.Context, args []string) ([]string, error) {
	grants, mine := q.grantsHere()
	var list []action
	for _, g := range grants {
		list = append(list, revoke(q.env.Chat, g.ID))
	}
	for _, r := range q.inChannels() { // each by its number: "all" is of this chat
		list = append(list, q.end(r))
	}
	chosen, says := choose("revoke", args, list, []action{revoke(q.env.Chat, mine...)}[:min(len(mine), 1)], q.grantLines(), text.NothingToRevoke(len(grants)))
	if len(chosen) == 0 {
		return says, nil
	}
	return q.run(ctx, chosen[0])
}

func (q *request) forgetCommand(ctx context.Context, args []string) ([]string, error) {
	ids := idsOf(q.settings.Of(q.env.User))
	chosen, says := choose("forget", args, ids, ids, q.rememberedLines(), text.PanelMineNone)
	if len(chosen) == 0 {
		return says, nil
	}
	return q.run(ctx, forget(viewMine, chosen...))
}

func (q *request) rememberedCommand(ctx context.Context, args []string) ([]string, error) {
	if len(args) == 0 {
		return q.rememberedLines(), nil
	}
	if len(args) != 3 {
		return nil, errUsage
	}
	choice, err := permission.ParseStanding(args[2])
	if err != nil {
		return nil, errUsage
	}
	_, k, err := q.named(ctx, args[:2])
	if err != nil {
		return nil, err
	}
	return q.run(ctx, remember(k, choice, viewMine))
}

// assign sets one field of what so many names stand for: "<field> <value…>", or for what asks the bare "always", "never" or "default" of
// R3 and R4.
func (q *request) assign(ctx context.Context, names int, args []string) ([]string, error) {
	if len(args) < names {
		return nil, errUsage
	}
	var at permission.Setting
	if names > 0 {
		s, k, err := q.named(ctx, args[:names])
		if err != nil {
			return nil, err
		}
		at.Server, at.Tool = s.name, k.tool().Name
	}
	args = args[names:]
	if len(args) == 1 {
		if p, err := permission.ParsePrompt(args[0]); err == nil { // which "everything" has no field for
			args = []string{"ask", p.String()}
		}
	}
	if len(args) > 0 {
		at.Field = strings.ToLower(args[0])
	}
	known := slices.ContainsFunc(at.Fields(), func(f permission.Field) bool { return f.Name == at.Field })
	if !known || len(args) < 2 {
		return q.fieldLines(at), nil
	}
	value := strings.TrimSpace(strings.Join(args[1:], " "))
	says := value
	switch {
	case at.Field == "ask" && strings.EqualFold(value, permission.Inherit.String()):
		value = permission.Inherit.String()
		if q.configured.Setting(at).Value == value {
			value = "" // the configuration says the same
		}
	case strings.EqualFold(value, "default"):
		value, says = "", ""
	}
	return q.run(ctx, set(at, value, says, viewHome))
}

// fieldLines are what can be set there and how it stands.
func (q *request) fieldLines(at permission.Setting) []string {
	out := []string{text.FieldsOf(sanitize(at.Where()))}
	for _, f := range at.Fields() {
		at.Field = f.Name
		like := f.Like
		if f.Words != nil {
			like = strings.Join(f.Words, " | ")
		}
		out = append(out, "  "+text.FieldLine(f.Name, text.Clip(valueLabel(at, q.policy.Setting(at).Value), 120), like))
	}
	return out
}

// toolsCommand lists the tools, or enables and disables (R11): then it is the same as for a server or a tool.
func (q *request) toolsCommand(ctx context.Context, args []string) ([]string, error) {
	if len(args) == 0 {
		return q.toolLines(ctx), nil
	}
	value, known := map[string]string{"enable": "true", "disable": "false"}[strings.ToLower(args[0])]
	if !known || len(args) < 2 || len(args) > 3 {
		return nil, errUsage
	}
	return q.assign(ctx, len(args)-1, slices.Concat(args[1:], []string{"enabled", value}))
}

// acceptCommand says that somebody looked at a server's tools, or at one, as they are now; with "reads", that those which only read may run
// unasked.
func (q *request) acceptCommand(ctx context.Context, args []string) ([]string, error) {
	if len(args) < 1 || len(args) > 2 {
		return nil, errUsage
	}
	s, _, err := q.named(ctx, args[:1])
	reads := false
	if err == nil && len(args) == 2 {
		_, isTool := s.tool(args[1])
		if reads = strings.EqualFold(args[1], "reads") && !isTool; !reads {
			var k toolEntry
			_, k, err = q.named(ctx, args)
			s.tools = []toolEntry{k}
		}
	}
	if err != nil {
		return nil, err
	}
	var changes []permission.Change
	var names []string
	for _, k := range s.tools {
		if reads && k.does != permission.DoesRead {
			continue
		}
		if more := k.accept(reads); k.offered && len(more) > 0 {
			changes, names = append(changes, more...), append(names, sanitize(k.tool().Name))
		}
	}
	lines, err := q.run(ctx, accept(reads, changes, len(names), viewHome))
	if err == nil && len(names) > 0 {
		lines = append(lines, text.TheseTools(few(names)))
	}
	return lines, err
}

// applyCommand shows what a template would change, and does it with a second word.
func (q *request) applyCommand(ctx context.Context, args []string) ([]string, error) {
	if len(args) == 0 {
		return q.templatesCommand(ctx, nil)
	}
	t, ok := permission.FindTemplate(strings.ToLower(args[0]), q.policy.Templates...)
	if !ok {
		var names []string
		for _, x := range permission.Templates(q.policy.Templates...) {
			names = append(names, x.Name)
		}
		return []string{text.NoSuchTemplate(sanitize(args[0]), names)}, nil
	}
	changes, says := q.preview(ctx, t)
	switch {
	case len(changes) == 0:
		return []string{text.NothingToChange}, nil
	case confirmed(args):
		return q.run(ctx, apply(t, changes))
	}
	out := append([]string{t.Says, text.ChangesCount(len(changes))}, listed(says, "  ", false)...)
	return append(out, text.TypeYes("apply "+t.Name)), nil
}
