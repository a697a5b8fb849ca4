package agent

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/core/render"
)

const yes = "yes"

// modeCommand sets how this chat asks. To turn asking off takes a second word (C3).
func (l *looking) modeCommand(ctx context.Context, args []string) ([]string, error) {
	if !l.hasChat() {
		return []string{render.PanelNoChat}, nil
	}
	if len(args) == 0 {
		return []string{render.ModeIs(l.here.Mode.Label()), render.ModeUsage()}, nil
	}
	mode, err := permission.ParseMode(args[0])
	confirmed := len(args) == 2 && strings.EqualFold(args[1], yes)
	switch {
	case err != nil, len(args) > 1 && !confirmed:
		return []string{render.ModeUsage()}, nil
	case mode == permission.ModeNever && !mayRelax(l.policy, l.here, l.env.User):
		return nil, &Refusal{Code: RefusedNotYours, Say: render.OnlyOwnerOrAdmin()}
	case mode == permission.ModeNever && !confirmed:
		return []string{render.ConfirmNeverMode, render.TypeYes("mode never")}, nil
	}
	return did(ctx, l.setMode(mode), "")
}

func (l *looking) revokeCommand(ctx context.Context, args []string) ([]string, error) {
	grants := l.grantsHere()
	if len(args) != 1 {
		return append(l.grantLines(), render.Usage("revoke", "<number> | all")), nil
	}
	var ids []permission.GrantID
	if strings.EqualFold(args[0], "all") {
		for _, g := range grants {
			if l.mayRevoke(g) {
				ids = append(ids, g.ID)
			}
		}
		if len(ids) == 0 {
			return []string{render.NothingToRevoke(len(grants))}, nil
		}
	} else {
		n, err := strconv.Atoi(args[0])
		if err != nil || n < 1 || n > len(grants) {
			return append([]string{render.NoSuchNumber(clipped(args[0], 20))}, l.grantLines()...), nil
		}
		ids = append(ids, grants[n-1].ID)
	}
	return did(ctx, l.revoking(l.env.Chat, ids), "")
}

func (l *looking) rememberedCommand(ctx context.Context, args []string) ([]string, error) {
	if len(args) == 0 {
		return l.rememberedLines(), nil
	}
	if len(args) != 3 {
		return nil, errUsage
	}
	choice, err := permission.ParseStanding(args[2])
	if err != nil {
		return nil, errUsage
	}
	k, err := l.toolNamed(ctx, args[0], args[1])
	if err != nil {
		return nil, err
	}
	return did(ctx, l.remembering(k, choice, viewMine), "")
}

func (l *looking) rememberedLines() []string {
	mine := l.settings.Of(l.env.User)
	if len(mine) == 0 {
		return []string{render.PanelMineNone}
	}
	var out []string
	for i, r := range mine {
		if i == maxPanelRows {
			return append(out, render.AndMore(len(mine)-i))
		}
		out = append(out, strconv.Itoa(i+1)+". "+render.RememberedLine(r.Choice.String(), shown(r.Tool.Name), shown(r.Tool.Server), clipped(r.Limits(), 300)))
	}
	return out
}

func (l *looking) forgetCommand(ctx context.Context, args []string) ([]string, error) {
	mine := l.settings.Of(l.env.User)
	if len(args) != 1 {
		return append(l.rememberedLines(), render.Usage("forget", "<number> | all")), nil
	}
	var ids []string
	if strings.EqualFold(args[0], "all") {
		for _, r := range mine {
			ids = append(ids, r.ID)
		}
		if len(ids) == 0 {
			return []string{render.PanelMineNone}, nil
		}
	} else {
		n, err := strconv.Atoi(args[0])
		if err != nil || n < 1 || n > len(mine) {
			return append([]string{render.NoSuchNumber(clipped(args[0], 20))}, l.rememberedLines()...), nil
		}
		ids = append(ids, mine[n-1].ID)
	}
	return did(ctx, l.forgetting(ids...), "")
}

// assign sets one field from words: "<field> <value…>", or for what asks the bare "always", "never" or "default" of R3 and R4.
func (l *looking) assign(ctx context.Context, at permission.Setting, args []string) ([]string, error) {
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
		return l.fieldLines(at), nil
	}
	value := strings.TrimSpace(strings.Join(args[1:], " "))
	says := value
	switch {
	case at.Field == "ask" && strings.EqualFold(value, permission.Inherit.String()):
		value = permission.Inherit.String()
		if l.base.Setting(at).Value == value {
			value = "" // the configuration says the same
		}
	case strings.EqualFold(value, "default"):
		value, says = "", ""
	}
	return did(ctx, l.setting(at, value, says), "")
}

// fieldLines are what can be set there and how it stands.
func (l *looking) fieldLines(at permission.Setting) []string {
	out := []string{render.FieldsOf(shown(at.Where()))}
	for _, f := range at.Fields() {
		at.Field = f.Name
		like := f.Like
		if f.Words != nil {
			like = strings.Join(f.Words, " | ")
		}
		out = append(out, "  "+render.FieldLine(f.Name, clipped(l.valueLabel(at, l.policy.Setting(at).Value), 120), like))
	}
	return out
}

func (l *looking) serverCommand(ctx context.Context, args []string) ([]string, error) {
	if len(args) == 0 {
		return nil, errUsage
	}
	s, err := l.serverNamed(ctx, args[0])
	if err != nil {
		return nil, err
	}
	return l.assign(ctx, permission.Setting{Server: s.name}, args[1:])
}

func (l *looking) toolCommand(ctx context.Context, args []string) ([]string, error) {
	if len(args) < 2 {
		return nil, errUsage
	}
	k, err := l.toolNamed(ctx, args[0], args[1])
	if err != nil {
		return nil, err
	}
	return l.assign(ctx, permission.Setting{Server: k.tool().Server, Tool: k.tool().Name}, args[2:])
}

func (l *looking) setCommand(ctx context.Context, args []string) ([]string, error) {
	return l.assign(ctx, permission.Setting{}, args)
}

// toolsCommand lists the tools, or enables and disables (R11).
func (l *looking) toolsCommand(ctx context.Context, args []string) ([]string, error) {
	if len(args) == 0 {
		return l.toolLines(ctx)
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
	s, err := l.serverNamed(ctx, args[1])
	if err != nil {
		return nil, err
	}
	at := permission.Setting{Server: s.name}
	if len(args) == 3 {
		k, err := l.toolNamed(ctx, args[1], args[2])
		if err != nil {
			return nil, err
		}
		at.Tool = k.tool().Name
	}
	return l.assign(ctx, at, []string{"enabled", value})
}

// acceptCommand says that somebody looked at a server's tools, or at one, as they are now.
func (l *looking) acceptCommand(ctx context.Context, args []string) ([]string, error) {
	if len(args) < 1 || len(args) > 2 {
		return nil, errUsage
	}
	s, err := l.serverNamed(ctx, args[0])
	if err != nil {
		return nil, err
	}
	var changes []permission.Change
	n := 0
	for _, k := range s.tools {
		if !k.offered || len(args) == 2 && k.tool().Name != args[1] {
			continue
		}
		if more := accepting(k); len(more) > 0 {
			changes = append(changes, more...)
			n++
		}
	}
	if len(args) == 2 {
		if _, err := l.toolNamed(ctx, args[0], args[1]); err != nil {
			return nil, err
		}
	}
	return did(ctx, l.change(viewHome, "", render.NowAccepted(n), changes...), "")
}

// applyCommand shows what a template would change, and does it with a second word.
func (l *looking) applyCommand(ctx context.Context, args []string) ([]string, error) {
	if len(args) == 0 {
		return l.templatesCommand(ctx, nil)
	}
	t, ok := permission.FindTemplate(strings.ToLower(args[0]))
	if !ok {
		var names []string
		for _, x := range permission.Templates() {
			names = append(names, x.Name)
		}
		return []string{render.NoSuchTemplate(shown(args[0]), names)}, nil
	}
	changes, err := l.applying(ctx, t)
	if err != nil {
		return nil, err
	}
	if len(changes) == 0 {
		return []string{render.NothingToChange}, nil
	}
	if len(args) == 2 && strings.EqualFold(args[1], yes) {
		return did(ctx, l.change(viewTemplates, "template "+t.Name, render.NowApplied(t.Title, len(changes)), changes...), "")
	}
	out := append([]string{t.Says, render.ChangesCount(len(changes))}, indented(l.preview(changes))...)
	return append(out, render.TypeYes("apply "+t.Name)), nil
}

func indented(all []string) []string {
	var out []string
	for i, x := range all {
		if i == maxPanelRows {
			return append(out, "  "+render.AndMore(len(all)-i))
		}
		out = append(out, "  "+x)
	}
	return out
}

func (l *looking) haltCommand(ctx context.Context, _ []string) ([]string, error) {
	return did(ctx, l.halting(true), "")
}

func (l *looking) resumeCommand(ctx context.Context, _ []string) ([]string, error) {
	return did(ctx, l.halting(false), "")
}
