package settings

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/nodhq/nod/core/agent/decision"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/core/text"
)

const yes = "yes"

// modeCommand sets how this chat asks. To turn asking off takes a second word (C3).
func (q *request) modeCommand(ctx context.Context, args []string) ([]string, error) {
	if !q.hasChat() {
		return []string{text.PanelNoChat}, nil
	}
	if len(args) == 0 {
		return []string{text.ModeIs(q.here.Mode.Label()), text.ModeUsage()}, nil
	}
	mode, err := permission.ParseMode(args[0])
	confirmed := len(args) == 2 && strings.EqualFold(args[1], yes)
	switch {
	case err != nil, len(args) > 1 && !confirmed:
		return []string{text.ModeUsage()}, nil
	case mode == permission.ModeNever && !decision.MayRelax(q.policy, q.here, q.env.User):
		return nil, &decision.Refusal{Code: decision.RefusedNotYours, Say: text.OnlyOwnerOrAdmin()}
	case mode == permission.ModeNever && !confirmed:
		return []string{text.ConfirmNeverMode, text.TypeYes("mode never")}, nil
	}
	return q.run(ctx, setMode{mode})
}

func (q *request) revokeCommand(ctx context.Context, args []string) ([]string, error) {
	grants := q.grantsHere()
	if len(args) != 1 {
		return append(q.grantLines(), text.Usage("revoke", "<number> | all")), nil
	}
	var ids []permission.GrantID
	if strings.EqualFold(args[0], "all") {
		for _, g := range grants {
			if q.mayRevoke(g) {
				ids = append(ids, g.ID)
			}
		}
		if len(ids) == 0 {
			return []string{text.NothingToRevoke(len(grants))}, nil
		}
	} else {
		n, err := strconv.Atoi(args[0])
		if err != nil || n < 1 || n > len(grants) {
			return append([]string{text.NoSuchNumber(text.Clip(args[0], 20))}, q.grantLines()...), nil
		}
		ids = append(ids, grants[n-1].ID)
	}
	return q.run(ctx, revoke{q.env.Chat, ids})
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
	k, err := q.toolNamed(ctx, args[0], args[1])
	if err != nil {
		return nil, err
	}
	return q.run(ctx, remember{k, choice, viewMine})
}

func (q *request) rememberedLines() []string {
	mine := q.settings.Of(q.env.User)
	if len(mine) == 0 {
		return []string{text.PanelMineNone}
	}
	var out []string
	for i, r := range mine {
		if i == maxPanelRows {
			return append(out, text.AndMore(len(mine)-i))
		}
		out = append(out, strconv.Itoa(i+1)+". "+text.RememberedLine(r.Choice.String(), shown(r.Tool.Name), shown(r.Tool.Server), text.Clip(r.Limits(), 300)))
	}
	return out
}

func (q *request) forgetCommand(ctx context.Context, args []string) ([]string, error) {
	mine := q.settings.Of(q.env.User)
	if len(args) != 1 {
		return append(q.rememberedLines(), text.Usage("forget", "<number> | all")), nil
	}
	var ids []string
	if strings.EqualFold(args[0], "all") {
		for _, r := range mine {
			ids = append(ids, r.ID)
		}
		if len(ids) == 0 {
			return []string{text.PanelMineNone}, nil
		}
	} else {
		n, err := strconv.Atoi(args[0])
		if err != nil || n < 1 || n > len(mine) {
			return append([]string{text.NoSuchNumber(text.Clip(args[0], 20))}, q.rememberedLines()...), nil
		}
		ids = append(ids, mine[n-1].ID)
	}
	return q.run(ctx, forget{ids, viewMine})
}

// assign sets one field from words: "<field> <value…>", or for what asks the bare "always", "never" or "default" of R3 and R4.
func (q *request) assign(ctx context.Context, at permission.Setting, args []string) ([]string, error) {
	at.Field = ""
	if len(args) == 1 {
		if p, err := permission.ParsePrompt(args[0]); err == nil && at.Server != "" {
			at.Field, args = "ask", []string{"ask", p.String()}
		}
	}
	if len(args) > 0 {
		at.Field = strings.ToLower(args[0])
	}
	i := slices.IndexFunc(at.Fields(), func(f permission.Field) bool { return f.Name == at.Field })
	if i < 0 || len(args) < 2 {
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
	return q.run(ctx, q.set(at, value, says))
}

// fieldLines are what can be set there and how it stands.
func (q *request) fieldLines(at permission.Setting) []string {
	out := []string{text.FieldsOf(shown(at.Where()))}
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

func (q *request) serverCommand(ctx context.Context, args []string) ([]string, error) {
	if len(args) == 0 {
		return nil, errUsage
	}
	s, err := q.serverNamed(ctx, args[0])
	if err != nil {
		return nil, err
	}
	return q.assign(ctx, permission.Setting{Server: s.name}, args[1:])
}

func (q *request) toolCommand(ctx context.Context, args []string) ([]string, error) {
	if len(args) < 2 {
		return nil, errUsage
	}
	k, err := q.toolNamed(ctx, args[0], args[1])
	if err != nil {
		return nil, err
	}
	return q.assign(ctx, permission.Setting{Server: k.tool().Server, Tool: k.tool().Name}, args[2:])
}

func (q *request) setCommand(ctx context.Context, args []string) ([]string, error) {
	return q.assign(ctx, permission.Setting{}, args)
}

// toolsCommand lists the tools, or enables and disables (R11).
func (q *request) toolsCommand(ctx context.Context, args []string) ([]string, error) {
	if len(args) == 0 {
		return q.toolLines(ctx)
	}
	if len(args) < 2 || len(args) > 3 {
		return nil, errUsage
	}
	var value string
	switch strings.ToLower(args[0]) {
	case "enable":
		value = "true"
	case "disable":
		value = "false"
	default:
		return nil, errUsage
	}
	s, err := q.serverNamed(ctx, args[1])
	if err != nil {
		return nil, err
	}
	at := permission.Setting{Server: s.name}
	if len(args) == 3 {
		k, err := q.toolNamed(ctx, args[1], args[2])
		if err != nil {
			return nil, err
		}
		at.Tool = k.tool().Name
	}
	return q.assign(ctx, at, []string{"enabled", value})
}

// acceptCommand says that somebody looked at a server's tools, or at one, as they are now.
func (q *request) acceptCommand(ctx context.Context, args []string) ([]string, error) {
	if len(args) < 1 || len(args) > 2 {
		return nil, errUsage
	}
	s, err := q.serverNamed(ctx, args[0])
	if err != nil {
		return nil, err
	}
	var changes []permission.Change
	n := 0
	for _, k := range s.tools {
		if !k.offered || len(args) == 2 && k.tool().Name != args[1] {
			continue
		}
		if more := k.accept(); len(more) > 0 {
			changes = append(changes, more...)
			n++
		}
	}
	if len(args) == 2 {
		if _, err := q.toolNamed(ctx, args[0], args[1]); err != nil {
			return nil, err
		}
	}
	return q.run(ctx, adminChange{changes: changes, say: text.NowAccepted(n), view: viewHome})
}

// applyCommand shows what a template would change, and does it with a second word.
func (q *request) applyCommand(ctx context.Context, args []string) ([]string, error) {
	if len(args) == 0 {
		return q.templatesCommand(ctx, nil)
	}
	t, ok := permission.FindTemplate(strings.ToLower(args[0]))
	if !ok {
		var names []string
		for _, x := range permission.Templates() {
			names = append(names, x.Name)
		}
		return []string{text.NoSuchTemplate(shown(args[0]), names)}, nil
	}
	changes, err := q.changesOf(ctx, t)
	if err != nil {
		return nil, err
	}
	if len(changes) == 0 {
		return []string{text.NothingToChange}, nil
	}
	if len(args) == 2 && strings.EqualFold(args[1], yes) {
		return q.run(ctx, apply(t, changes))
	}
	out := append([]string{t.Says, text.ChangesCount(len(changes))}, indented(q.preview(changes))...)
	return append(out, text.TypeYes("apply "+t.Name)), nil
}

func indented(all []string) []string {
	var out []string
	for i, x := range all {
		if i == maxPanelRows {
			return append(out, "  "+text.AndMore(len(all)-i))
		}
		out = append(out, "  "+x)
	}
	return out
}

func (q *request) haltCommand(ctx context.Context, _ []string) ([]string, error) {
	return q.run(ctx, setHalt(true))
}

func (q *request) resumeCommand(ctx context.Context, _ []string) ([]string, error) {
	return q.run(ctx, setHalt(false))
}
