package agent

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/nodhq/nod/core/agent/decision"
	"github.com/nodhq/nod/core/agent/groups"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/core/text"
)

// Own is the platform of chats that are nod's own: nobody talks in them, and no surface shows them.
const Own = "nod"

// SettingsChat is where the settings' log stands: a log as that of a conversation, with the same chain, of what people changed.
var SettingsChat = chat.ID{Platform: Own, Key: "settings"}

// Settings are what people set, as the log stands now.
func (e *Engine) Settings(ctx context.Context) (permission.Settings, error) {
	f, err := e.readSettings(ctx)
	if err != nil {
		return permission.Settings{}, err
	}
	return f.settings(), nil
}

func (e *Engine) readSettings(ctx context.Context) (fold, error) {
	was := e.settled.Load()
	f, err := e.refresh(ctx, SettingsChat)
	if err != nil {
		return fold{}, fmt.Errorf("read the settings: %w", err)
	}
	if e.settled.CompareAndSwap(was, &f) { // what was asked for before a change was heard of takes nothing back
		e.heard(settingsOf(f.s))
	}
	return f, nil
}

// knownSettings are the settings as this process read them last, unless a write has told since that they moved on. What is judged by them
// counts only if the log says, as it takes it, that they are what there is: else they are read each time.
func (e *Engine) knownSettings(ctx context.Context) (fold, error) {
	c, can := e.Log.(Checker)
	if f := e.settled.Load(); f != nil && can && c.ChecksSettings() {
		return *f, nil
	}
	return e.readSettings(ctx)
}

// toldOfSettings forgets what is known of the settings where the log says that they stand elsewhere.
func (e *Engine) toldOfSettings(at *Head) {
	if f := e.settled.Load(); f != nil && at != nil && (f.head.Seq != at.Seq || f.head.Tip != at.Tip) {
		e.settled.CompareAndSwap(f, nil)
	}
}

// configured is the operator's policy.
func (e *Engine) configured(ctx context.Context) (permission.Policy, error) {
	base, err := e.Policies.Policy(ctx)
	if err != nil {
		return permission.Policy{}, fmt.Errorf("read the policy: %w", err)
	}
	return base, nil
}

// settings are what a fold of their log comes to, under the name of that very log.
func (f fold) settings() permission.Settings {
	s := settingsOf(f.s)
	s.Head = fmt.Sprintf("%d.%s.%s", f.head.Seq, f.head.Tip, f.head.Roll)
	return s
}

// SettingsAt are the settings after these entries of their log, the first of which is its first.
func SettingsAt(entries []turn.Entry) permission.Settings {
	return settingsOf(turn.Fold(turn.New(SettingsChat), entries))
}

func settingsOf(s turn.Session) permission.Settings {
	if s.Settings == nil {
		return permission.Settings{}
	}
	return *s.Settings
}

// mergedPolicy is the operator's policy with the settings over it, made once for each revision of the one and each head of the other's log.
type mergedPolicy struct {
	base, head string
	policy     permission.Policy
}

func (e *Engine) merge(base permission.Policy, s permission.Settings) permission.Policy {
	m := e.merged.Load() // without a revision it is never known to be the same
	if m == nil || base.Revision == "" || m.base != base.Revision || m.head != s.Head {
		m = &mergedPolicy{base.Revision, s.Head, s.Over(base)}
		e.merged.Store(m)
	}
	return m.policy
}

// Rules are what decides at one moment: the operator's configuration, what people set, and the policy that the two come to.
type Rules struct {
	Configured permission.Policy
	Settings   permission.Settings
	Policy     permission.Policy // everywhere: what a chat has of it says [permission.Policy.In]

	head Head // of the settings' log
}

// Rules are read from the log: without it nothing is decided.
func (e *Engine) Rules(ctx context.Context) (Rules, error) {
	return e.rulesBy(ctx, nil, e.readSettings)
}

// knownRules are the rules by the settings that are known (see knownSettings): a change takes effect with the next call of every replica all
// the same, because what was judged by others is not recorded.
func (e *Engine) knownRules(ctx context.Context, specs []ToolSpec) (Rules, error) {
	return e.rulesBy(ctx, specs, e.knownSettings)
}

// rulesBy are the rules once what servers say of these tools is recorded, where it is new.
func (e *Engine) rulesBy(ctx context.Context, specs []ToolSpec, settings func(context.Context) (fold, error)) (Rules, error) {
	base, err := e.configured(ctx)
	if err != nil {
		return Rules{}, err
	}
	f, err := settings(ctx)
	if err == nil {
		f, err = e.observe(ctx, base, f, specs)
	}
	if err != nil {
		return Rules{}, err
	}
	s := f.settings()
	return Rules{base, s, e.merge(base, s), f.head}, nil
}

// Policy is what holds now: the policy of [Engine.Rules].
func (e *Engine) Policy(ctx context.Context) (permission.Policy, error) {
	r, err := e.Rules(ctx)
	return r.Policy, err
}

// policyIn is the policy as it holds in a chat: where something can be posted beside a message, asks reach people by a notification.
func (e *Engine) policyIn(s turn.Session, p permission.Policy) permission.Policy {
	_, notifies := e.Platforms[s.Chat.Platform].(Annotator)
	return p.In(s.Chat, s.Channel).AskingWhere(notifies)
}

// ErrUnchanged says that a change would have no effect.
var ErrUnchanged = errors.New("nothing would change by that")

// Change records changes of the settings: all of them, or none. build makes them from the settings as they are; who may make them is
// build's to say, with a [*decision.Refusal]. Changes that have no effect are left out; where none is left the error is [ErrUnchanged].
func (e *Engine) Change(ctx context.Context, by chat.Envelope, note string, build func(permission.Policy, permission.Settings) ([]permission.Change, error)) (permission.Settings, error) {
	base, err := e.configured(ctx)
	if err != nil {
		return permission.Settings{}, err
	}
	from := by
	by.Chat = SettingsChat
	unsure := false
	f, made, _, err := e.choose(ctx, by, nil, func(s turn.Session) ([]turn.Event, error) {
		now := settingsOf(s)
		var policy permission.Policy
		policy, unsure = e.WithGroups(ctx, now.Over(base), from)
		changes, err := build(policy, now)
		if err != nil {
			return nil, err
		}
		ev := turn.Changed{Changes: changes, By: by.User, Name: by.Name, Surface: cmp.Or(by.On(), Own), Note: note}
		effects := ev.Effects(s.Settings, e.Now())
		ev.Changes = nil
		for _, x := range effects {
			ev.Changes, now = append(ev.Changes, x.Change), x.Now
		}
		if len(effects) == 0 {
			return nil, nil
		}
		if err := now.Over(base).Validate(); err != nil {
			return nil, &decision.Refusal{Code: decision.RefusedArguments, Say: text.BadSetting(err.Error())}
		}
		return []turn.Event{ev}, nil
	})
	if err != nil {
		return permission.Settings{}, decision.Unsure(err, unsure)
	}
	now := f.settings()
	e.settled.Store(&f)
	e.heard(now)
	if len(made) == 0 {
		return now, ErrUnchanged
	}
	return now, nil
}

// ChangeAsAdmin is Change by somebody who has to be an admin.
func (e *Engine) ChangeAsAdmin(ctx context.Context, by chat.Envelope, note string, changes ...permission.Change) (permission.Settings, error) {
	return e.Change(ctx, by, note, func(p permission.Policy, _ permission.Settings) ([]permission.Change, error) {
		if !p.IsAdmin(by.User) {
			return nil, decision.OnlyForAdmins(text.OnlyAdmins, p)
		}
		for _, c := range changes {
			if set, ok := c.(permission.Setting); ok {
				if err := set.Check(); err != nil {
					return nil, &decision.Refusal{Code: decision.RefusedArguments, Say: text.BadSetting(err.Error())}
				}
			}
		}
		return changes, nil
	})
}

// groups asks the platforms which groups people belong to.
func (e *Engine) groups() groups.Asker {
	return groups.Asker{On: func(platform string) any { return e.Platforms[platform] }, Logger: e.Logger}
}

// WithGroups is the policy with the groups of whoever acts. unsure: it is not known which they are.
func (e *Engine) WithGroups(ctx context.Context, policy permission.Policy, by chat.Envelope) (_ permission.Policy, unsure bool) {
	return e.groups().Acting(ctx, policy, by)
}

// NameOf is what people call somebody, or a group, in a chat.
func (e *Engine) NameOf(s turn.Session, u chat.User) string {
	return e.groups().NameOf(s, u)
}
