package web

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/agent/decision"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
)

// bot is a stand-in for everything behind this surface: a log, a shelf, and an engine that behaves like the real
// one as far as a surface can see. Its model understands a few words; its tools run at once.
type bot struct {
	mu       sync.Mutex
	clock    time.Time
	tick     time.Duration // added to the clock by each entry
	n        int
	logs     map[chat.ID][]turn.Entry
	watch    map[chat.ID][]chan struct{}
	live     map[chat.ID][]chan []byte
	deaf     int    // how many of those who want to listen are refused
	down     string // the way of the store that answers an error
	downAs   error  // errDown if nil
	hit      bool   // somebody came that way
	sought   []string
	sessions map[string][]byte
	lists    map[string][]chat.Listed
	people   map[string][]byte
	forgets  error // what keeping and finding of people answers
	once     map[string]bool
	pushes   map[string][]byte
	pushKey  string
	admins   []chat.User
	fail     error           // what Accept answers
	hold     bool            // tools do not finish
	shown    map[string]bool // who is shown what waits anywhere
	notices  func(turn.Session)
	refused  map[string]bool // who is told that they may not decide; who really may not is the engine's to say (tests/suites/e2e)
	accepted map[chat.Delivery]bool
	ran      []string
	timeout  time.Duration
	wants    *turn.Elicitation // what a tool's server wants while it runs
	office                     // the settings
}

var epoch = time.Date(2026, 3, 14, 14, 2, 0, 0, time.UTC)

func newBot() *bot {
	return &bot{clock: epoch, tick: time.Second, logs: map[chat.ID][]turn.Entry{}, watch: map[chat.ID][]chan struct{}{}, live: map[chat.ID][]chan []byte{},
		sessions: map[string][]byte{}, lists: map[string][]chat.Listed{}, people: map[string][]byte{}, once: map[string]bool{}, pushes: map[string][]byte{}, accepted: map[chat.Delivery]bool{}, timeout: time.Minute}
}

// out is the error of a way of the store.
func (b *bot) out(way string) error {
	if b.down != way {
		return nil
	}
	b.hit = true
	return cmp.Or(b.downAs, errDown)
}

func (b *bot) id(prefix string) string { b.n++; return fmt.Sprintf("%s%d", prefix, b.n) }

func (b *bot) fold(id chat.ID) turn.Session { return turn.Fold(turn.New(id), b.logs[id]) }

func (b *bot) append(id chat.ID, evs ...turn.Event) turn.Session {
	for _, e := range evs {
		b.clock = b.clock.Add(b.tick)
		seq := uint64(len(b.logs[id]) + 1)
		b.logs[id] = append(b.logs[id], turn.Entry{Seq: seq, Op: fmt.Sprintf("op%d", seq), At: b.clock, Event: e})
	}
	for _, c := range b.watch[id] {
		select {
		case c <- struct{}{}:
		default:
		}
	}
	if b.notices != nil {
		b.notices(b.fold(id))
	}
	return b.fold(id)
}

// --- agent's inbox ---

func (b *bot) Accept(_ context.Context, in chat.Inbound) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.fail != nil {
		return b.fail
	}
	e := in.From()
	if b.accepted[e.Delivery] {
		return nil
	}
	b.accepted[e.Delivery] = true
	switch in := in.(type) {
	case chat.Said:
		b.append(e.Chat, turn.Said{Delivery: e.Delivery, Message: in.Message, By: e.User, Name: e.Name, Text: in.Text, Unattended: in.Unattended})
		b.drive(e.Chat)
	case chat.Commanded:
		if in.Verb == "reset" {
			b.append(e.Chat, turn.Reset{Rev: b.fold(e.Chat).ResetRev + 1, By: e.User, Name: e.Name})
		}
	}
	return nil
}

func (b *bot) Decide(_ context.Context, in chat.Clicked) ([]decision.Outcome, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.fold(in.Chat)
	out := decision.Outcome{Chat: in.Chat, Ask: turn.AskID(in.Token), Choice: in.Choice, By: in.User, Name: in.Name}
	b.clicked = append(b.clicked, in)
	switch in.Choice {
	case chat.AskFor:
		b.append(in.Chat, turn.ModeSet{Mode: permission.ModeTool, Rev: s.ModeRev + 1, By: in.User, Name: in.Name})
		return []decision.Outcome{out}, nil
	case chat.Answer, chat.Decline:
		if err := b.fill(s, in); err != nil {
			return nil, err
		}
		b.drive(in.Chat)
		return []decision.Outcome{out}, nil
	case chat.Stop:
		if no := b.refusal(in); no != nil {
			return nil, no
		}
		if s.Turn == nil || in.Token != string(s.Turn.ID) {
			return nil, &decision.Refusal{Code: decision.RefusedStopped, Say: "There is nothing to stop."}
		}
		b.append(in.Chat, turn.StopAsked{Turn: s.Turn.ID, By: in.User, Name: in.Name})
		b.append(in.Chat, turn.Ended{Turn: s.Turn.ID, Why: turn.WasStopped})
		return []decision.Outcome{out}, nil
	case chat.Revoke:
		b.append(in.Chat, turn.Revoked{Grants: []permission.GrantID{permission.GrantID(in.Token)}, By: in.User, Name: in.Name})
		return []decision.Outcome{out}, nil
	case chat.ApproveAll, chat.DenyAll:
		if in.Token != turn.BatchToken(turn.OpenAsks(s)) || len(turn.OpenAsks(s)) == 0 {
			return nil, &decision.Refusal{Code: decision.RefusedUnknown, Say: "The requests changed meanwhile. Look again."}
		}
		var outs []decision.Outcome
		for _, c := range turn.OpenAsks(s) {
			one := in
			one.Token, one.Choice = string(c.Ask), chat.Deny
			if in.Choice == chat.ApproveAll {
				one.Choice = chat.AllowOnce
			}
			o, err := b.one(s, one)
			if err != nil {
				return nil, err
			}
			outs = append(outs, o)
		}
		b.drive(in.Chat)
		return outs, nil
	}
	o, err := b.one(s, in)
	if err != nil {
		return nil, err
	}
	b.drive(in.Chat)
	return []decision.Outcome{o}, nil
}

func (b *bot) Refuses(_ context.Context, in chat.Clicked) *decision.Refusal {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.refusal(in)
}

// Sees stands for the engine's rule: who asked, and whom the test names.
func (b *bot) Sees(_ context.Context, by chat.Envelope) (func(turn.Session, turn.ToolCall) bool, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.out("Sees"); err != nil {
		return nil, err
	}
	named := b.shown[by.User.String()]
	return func(s turn.Session, c turn.ToolCall) bool { return named || s.RequesterOf(c.ID) == by.User }, nil
}

func (b *bot) refusal(in chat.Clicked) *decision.Refusal {
	if !b.refused[in.User.String()] {
		return nil
	}
	return &decision.Refusal{Code: decision.RefusedNotYours, Say: "Only somebody else can decide this."}
}

func (b *bot) one(s turn.Session, in chat.Clicked) (decision.Outcome, error) {
	out := decision.Outcome{Chat: in.Chat, Ask: turn.AskID(in.Token), Choice: in.Choice, By: in.User, Name: in.Name, At: b.clock.Add(b.tick)}
	for _, t := range []*turn.Turn{s.Turn, s.Last} {
		if t == nil {
			continue
		}
		for _, c := range t.Calls {
			if !slices.Contains(c.Asks, turn.AskID(in.Token)) {
				continue
			}
			out.Call = c.ID
			if no := b.refusal(in); no != nil {
				return out, no
			}
			switch {
			case in.Choice == chat.AskAgain && c.Status == turn.Lapsed:
				b.append(in.Chat, turn.Reopened{Ask: c.Ask, By: in.User, Name: in.Name, Next: turn.AskID(b.id("ask")), NextCall: turn.CallID(b.id("call"))})
				return out, nil
			case c.Status == turn.Lapsed:
				return out, &decision.Refusal{Code: decision.RefusedExpired, Say: "This ask expired at 14:03. Ask again from the message.", At: c.EndedAt}
			case in.Choice == chat.Extend && c.Status == turn.Awaiting:
				b.append(in.Chat, turn.Extended{Ask: c.Ask, By: in.User, Name: in.Name, Until: c.Deadline.Add(5 * time.Minute)})
				return out, nil
			case in.Choice == chat.Undo && turn.CanUndo(s, c):
				b.append(in.Chat, turn.Withdrawn{Ask: c.Ask, By: in.User, Name: in.Name, Next: turn.AskID(b.id("ask"))})
				return out, nil
			case in.Choice == chat.Undo:
				return out, &decision.Refusal{Code: decision.RefusedTooLate, Say: "Too late: it started at 14:02:07."}
			case c.Status == turn.Unknown && !c.Settled():
				b.append(in.Chat, turn.Resolved{Ask: c.Ask, Answer: in.Choice, By: in.User, Name: in.Name, Next: turn.AskID(b.id("ask"))})
				return out, nil
			case c.Status != turn.Awaiting:
				return out, &decision.Refusal{Code: decision.RefusedDecided, Say: "Already " + string(c.Choice) + " by " + c.Name + ".", By: c.By, Name: c.Name, Choice: c.Choice, At: c.DecidedAt}
			case in.Choice == chat.Remember && turn.CanRemember(c) && !b.forgetful:
				b.append(in.Chat, turn.Ticked{Ask: c.Ask, By: in.User, Name: in.Name, On: c.Ticked == nil || c.Ticked.User != in.User})
				return out, nil
			case in.Choice == chat.AllowSession && turn.OffersSession(c):
				b.append(in.Chat, turn.ModeSet{Mode: permission.ModeNever, Rev: s.ModeRev + 1, By: in.User, Name: in.Name})
				in.Choice = chat.AllowOnce
			case in.Choice != chat.AllowOnce && in.Choice != chat.Deny && !turn.Offers(c, in.Choice):
				return out, &decision.Refusal{Code: decision.RefusedNotOffered, Say: "This request does not offer that choice."}
			}
			d := turn.Decided{Ask: c.Ask, Digest: c.Digest, Choice: in.Choice, By: in.User, Name: in.Name, Surface: Platform, Reason: in.Reason}
			if g, ok := turn.GrantFor(s, c, in.Choice, []permission.Tool{c.Tool}, in.Uses); ok {
				g.ID, g.By, g.Name, g.At = permission.GrantID(b.id("grant")), in.User, in.Name, b.clock
				d.Grant = &g
			}
			b.append(in.Chat, d)
			return out, nil
		}
	}
	return out, &decision.Refusal{Code: decision.RefusedUnknown, Say: "There is no such request here."}
}

// drive does what the real engine would until somebody has to answer.
func (b *bot) drive(id chat.ID) {
	for {
		s := b.fold(id)
		t := s.Turn
		switch {
		case t == nil:
			return
		case t.Shown == "":
			b.append(id, turn.Shown{Turn: t.ID, Message: chat.MessageRef("post-" + string(t.ID))})
			continue
		case t.Step == 0:
			text, calls := b.answer(t.Said[len(t.Said)-1].Text)
			b.append(id, turn.Replied{Turn: t.ID, Text: text, Calls: calls, Usage: turn.Usage{Input: 100, Output: 20}})
			if len(calls) == 0 {
				b.append(id, turn.Ended{Turn: t.ID, Why: turn.Answered})
			}
			continue
		}
		moved := false
		for _, c := range t.Calls {
			if c.Status == turn.Proposed {
				b.append(id, b.rule(s, c))
				moved = true
			}
		}
		if moved {
			continue
		}
		for _, c := range t.Calls {
			if c.Status == turn.Allowed && len(turn.Waits(s)) == 0 {
				run := turn.RunID(b.id("run"))
				b.append(id, turn.Started{Call: c.ID, Run: run, Ask: c.Ask, Digest: c.Digest, Grant: c.Ruling.Grant, Token: 1})
				if b.hold {
					return
				}
				if b.wants != nil {
					b.append(id, turn.Elicited{Call: c.ID, Run: run, Ask: turn.AskID(b.id("want")), Request: *b.wants, Wait: b.timeout})
					b.wants = nil
					return
				}
				b.ran = append(b.ran, c.Tool.Name+string(c.Args))
				b.append(id, turn.Finished{Call: c.ID, Run: run, Result: turn.Result{Text: "done: " + c.Tool.Name}})
				moved = true
				break
			}
		}
		if moved {
			continue
		}
		if slices.ContainsFunc(t.Calls, func(c turn.ToolCall) bool { return !c.Settled() }) {
			return
		}
		b.append(id, turn.Replied{Turn: t.ID, Step: t.Step, Text: closing(t), Usage: turn.Usage{Input: 50, Output: 10}})
		b.append(id, turn.Ended{Turn: t.ID, Why: turn.Answered})
	}
}

func closing(t *turn.Turn) string {
	for _, c := range t.Calls {
		switch c.Status {
		case turn.Denied:
			return "Understood: I left it alone."
		case turn.Lapsed:
			return "Nobody answered in time, so I did nothing."
		}
	}
	return "**Done.** Everything is written."
}

func (b *bot) answer(text string) (string, []turn.Proposal) {
	call := func(server, name, args string) turn.Proposal {
		return turn.Proposal{ID: turn.CallID(b.id("call")), ModelID: "call_0", Tool: permission.Tool{Server: server, Name: name, Definition: "d1"},
			Args: json.RawMessage(args), Digest: permission.Digest("7f3a9c1e" + strings.Repeat("0", 56))}
	}
	switch {
	case strings.HasPrefix(text, "write"):
		return "I'll write the file.", []turn.Proposal{call("files", "write_file", `{"content":"hello","path":"notes.txt"}`)}
	case strings.HasPrefix(text, "three"):
		return "I'll read first, then write both.", []turn.Proposal{call("files", "read_file", `{"path":"notes.txt"}`),
			call("files", "write_file", `{"content":"bye","path":"b.txt"}`), call("files", "delete_file", `{"path":"old.txt"}`)}
	case strings.HasPrefix(text, "admin"):
		return "", []turn.Proposal{call("system", "shutdown", `{}`)}
	}
	return "Hello! You said: *" + text + "*", nil
}

func (b *bot) rule(s turn.Session, c turn.ToolCall) turn.Ruled {
	r := permission.Ruling{Access: permission.Write, Timeout: b.timeout, ChatGrant: true, Remember: true,
		Scopes:  []permission.Scope{permission.ScopeReads, permission.ScopeWrites, permission.ScopeServer},
		Reasons: []permission.Reason{{Rule: "server", Text: "files asks for writes (tool setting: server default).", Won: true}}}
	switch c.Tool.Name {
	case "read_file":
		r.Verdict, r.Access, r.Approval, r.Risk = permission.Allow, permission.Read, permission.AutoApprove, permission.Safe
	case "delete_file":
		r.Risk, r.Message = permission.Dangerous, "Are you sure you want to delete old.txt?"
	case "shutdown":
		r.Level, r.Approval, r.ChatGrant = permission.LevelAdmin, permission.RequireAuth, false
	default:
		r.Message = "Write hello to notes.txt?"
	}
	for _, g := range s.Grants {
		if g.Tool == c.Tool && g.By == s.Turn.Requester {
			r.Verdict, r.Grant = permission.Allow, g.ID
		}
	}
	return turn.Ruled{Call: c.ID, Ask: turn.AskID(b.id("ask")), Ruling: r, Card: turn.Card{Describes: "Writes a file.", Server: "The team's files", Icon: "📁"}}
}

// expire lets every open ask of a chat run out.
func (b *bot) expire(id chat.ID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, w := range turn.Waits(b.fold(id)) {
		b.clock = w.Deadline
		b.append(id, turn.Expired{Ask: w.Ask})
	}
	b.drive(id)
}

// lose makes the running call's outcome unknown.
func (b *bot) lose(id chat.ID) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, c := range b.fold(id).Turn.Calls {
		if c.Status == turn.Running {
			b.append(id, turn.Abandoned{Call: c.ID, Run: c.Run, Token: 2, Ask: turn.AskID(b.id("ask"))})
		}
	}
}

// --- log ---

func (b *bot) History(_ context.Context, id chat.ID) ([]turn.Entry, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.out("History"); err != nil {
		return nil, err
	}
	return slices.Clone(b.logs[id]), nil
}

func (b *bot) Load(_ context.Context, id chat.ID) (agent.Snapshot, []turn.Entry, agent.Head, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return agent.Snapshot{}, slices.Clone(b.logs[id]), agent.Head{Seq: uint64(len(b.logs[id]))}, nil
}

func (b *bot) Asking(context.Context, func(chat.ID) bool) (ids []chat.ID, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.out("Asking"); err != nil {
		return nil, err
	}
	for id := range b.logs {
		if len(turn.Waits(b.fold(id))) > 0 {
			ids = append(ids, id)
		}
	}
	return ids, nil
}

func (b *bot) Tail(_ context.Context, id chat.ID, known agent.Head) ([]turn.Entry, agent.Head, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.out("Tail"); err != nil {
		return nil, agent.Head{}, err
	}
	l := b.logs[id]
	if known.Seq > uint64(len(l)) || (known.Seq > 0 && l[known.Seq-1].Op != string(known.Tip)) {
		return nil, agent.Head{}, agent.ErrRewound
	}
	head := known
	if n := len(l); n > 0 {
		head = agent.Head{Seq: l[n-1].Seq, Tip: agent.OpID(l[n-1].Op)}
	}
	return slices.Clone(l[known.Seq:]), head, nil
}

func (b *bot) Watch(ctx context.Context, id chat.ID) (<-chan struct{}, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.out("Watch"); err != nil {
		return nil, err
	}
	c := make(chan struct{}, 1)
	b.watch[id] = append(b.watch[id], c)
	context.AfterFunc(ctx, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.watch[id] = slices.DeleteFunc(b.watch[id], func(x chan struct{}) bool { return x == c })
	})
	return c, nil
}

func (b *bot) Find(_ context.Context, x string) (chat.ID, bool, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.out("Find"); err != nil {
		return chat.ID{}, false, err
	}
	b.sought = append(b.sought, x)
	for id, l := range b.logs {
		for _, e := range l {
			if slices.Contains(turn.Indexed(e.Event, true), x) {
				return id, true, nil
			}
		}
	}
	return chat.ID{}, false, nil
}

// --- shelf ---

func (b *bot) OpenSession(_ context.Context, hash string, session []byte, max int) (bool, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, ok := b.sessions[hash]; ok || len(b.sessions) >= max {
		return ok, nil
	}
	b.sessions[hash] = session
	return true, nil
}

func (b *bot) KeepSession(_ context.Context, hash string, session []byte) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, ok := b.sessions[hash]; ok {
		b.sessions[hash] = session
	}
	return nil
}

func (b *bot) Session(_ context.Context, hash string) ([]byte, bool, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.out("Session"); err != nil {
		return nil, false, err
	}
	s, ok := b.sessions[hash]
	return s, ok, nil
}

func (b *bot) Sessions(context.Context) (map[string][]byte, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.out("Sessions"); err != nil {
		return nil, err
	}
	return maps.Clone(b.sessions), nil
}

func (b *bot) EndSessions(_ context.Context, _ bool, hashes ...string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.out("EndSessions"); err != nil {
		return err
	}
	for _, h := range hashes {
		delete(b.pushes, h)
		delete(b.sessions, h)
	}
	return nil
}

func (b *bot) DropChats(_ context.Context, user string, keys ...string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.out("DropChats"); err != nil {
		return err
	}
	b.lists[user] = slices.DeleteFunc(b.lists[user], func(l chat.Listed) bool { return slices.Contains(keys, l.Key) })
	return nil
}

func (b *bot) PutChat(_ context.Context, user, key, title string, at time.Time) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.out("PutChat"); err != nil {
		return err
	}
	b.lists[user] = append(slices.DeleteFunc(b.lists[user], func(l chat.Listed) bool { return l.Key == key }), chat.Listed{Key: key, Title: title, At: at})
	return nil
}

func (b *bot) PutPerson(_ context.Context, user string, person []byte) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.people[user] = person
	return b.forgets
}

func (b *bot) Person(_ context.Context, user string) ([]byte, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.people[user], b.forgets
}

func (b *bot) Once(_ context.Context, name string, _ time.Duration) (bool, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	was := b.once[name]
	b.once[name] = true
	return !was, nil
}

func (b *bot) PutPush(_ context.Context, hash string, device []byte) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.out("PutPush"); err != nil {
		return err
	}
	b.pushes[hash] = device
	return nil
}

func (b *bot) DropPush(_ context.Context, hash string, was []byte) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.out("DropPush"); err != nil {
		return err
	}
	if string(b.pushes[hash]) == string(was) {
		delete(b.pushes, hash)
	}
	return nil
}

func (b *bot) Pushes(context.Context) (map[string][]byte, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.out("Pushes"); err != nil {
		return nil, err
	}
	return maps.Clone(b.pushes), nil
}

func (b *bot) PushKey(_ context.Context, fresh string) (string, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.out("PushKey"); err != nil {
		return "", err
	}
	b.pushKey = cmp.Or(b.pushKey, fresh)
	return b.pushKey, nil
}

func (b *bot) Chats(_ context.Context, user string) ([]chat.Listed, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.out("Chats"); err != nil {
		return nil, err
	}
	return slices.Clone(b.lists[user]), nil
}

func (b *bot) PublishLive(_ context.Context, id chat.ID, frame []byte) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, c := range b.live[id] {
		select {
		case c <- frame:
		default:
		}
	}
	return nil
}

func (b *bot) Live(ctx context.Context, id chat.ID) (<-chan []byte, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if err := b.out("Live"); err != nil {
		return nil, err
	}
	if b.deaf > 0 {
		b.deaf--
		return nil, errDown
	}
	c := make(chan []byte, 16)
	b.live[id] = append(b.live[id], c)
	if tell, ok := ctx.Value(listens{}).(func()); ok {
		tell()
	}
	context.AfterFunc(ctx, func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.live[id] = slices.DeleteFunc(b.live[id], func(x chan []byte) bool { return x == c })
	})
	return c, nil
}

var errDown = errors.New("redis at 10.0.0.9 says no")
