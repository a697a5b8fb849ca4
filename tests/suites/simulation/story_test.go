package simulation

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/core/render"
	"github.com/nodhq/nod/core/text"
	. "github.com/nodhq/nod/tests/harness"
)

const (
	lease    = 20 * time.Second
	askFor   = 90 * time.Second // an ask's time
	patience = 3 * time.Second  // of a platform, until it delivers again
)

var (
	eve   = chat.User{Platform: Room.Platform, Workspace: Room.Workspace, Key: "eve"} // she asks for nothing and may decide nothing
	third = chat.ID{Platform: Room.Platform, Workspace: Room.Workspace, Key: "third"}
	chats = []chat.ID{Room, Other, third}
)

// story is one seed: who says and presses what, and what breaks meanwhile. What follows from the seed is drawn from rng, in the goroutine that tells the
// story; whoever goes on beside it has a source of their own from there.
type story struct {
	*World
	seed  uint64
	rng   *rand.Rand
	redis *redis
	began time.Time
	beside,
	patients sync.WaitGroup

	mu       sync.Mutex
	calm     bool // no faults any more
	halted   bool // or reset: what was said may not be heard
	told     []string
	alive    []*Replica
	said     []*said
	clicks   []*click
	stops    []*stopped
	settings []*setting
	halts    []*halt
	wanted   []*want
	accounts map[string]chat.User // who signed in at which address of a tool's server
	booked   []booking
	versions []*version
	pages    *pages // nil: nobody signs in on the page
	doomed   string // the replica that dies next
	silent   bool   // nobody answers what servers ask while nothing breaks
	inbounds []chat.Inbound
	troubled map[string]*rand.Rand // the platform's, the tools' and the model's sources
	rates    map[string]float64
}

type said struct {
	n         int
	message   chat.MessageRef
	chat      chat.ID
	by        chat.User
	at        time.Time // of the first attempt to deliver it
	delivered bool
}

type click struct {
	on     button
	by     chat.User
	choice chat.Choice
	at     time.Time
	taken  time.Time // when it was known to be taken; zero: that is not known
	args   string    // with Edit, or what was filled in
}

type stopped struct {
	chat  chat.ID
	ended time.Time // of the last attempt; zero: there will be more
}

type setting struct {
	tool  string
	ask   string
	at    time.Time
	taken time.Time
}

// button is a button with what stood above it.
type button struct {
	Button
	call turn.CallID
	args string // as they were shown
	says string // of a server that asks
	kind render.AskKind
}

// newStory begins one. In a smooth one nothing breaks by itself.
func newStory(t *testing.T, seed uint64, smooth bool) *story {
	s := &story{seed: seed, rng: rand.New(rand.NewPCG(seed, 1)), began: time.Now(), troubled: map[string]*rand.Rand{}, rates: map[string]float64{}, accounts: map[string]chat.User{}}
	t.Cleanup(func() { <-time.After(2 * time.Second) }) // at last: the library tries once a second to reach what it could not reach
	for i, who := range []string{"platform", "model", "tools"} {
		s.troubled[who] = rand.New(rand.NewPCG(seed, uint64(i)+2)) //nolint:gosec // a story
		s.rates[who] = []float64{0, 0.05, 0.2, 0.4}[s.rng.IntN(4)]
	}
	rate := []float64{0, 0.01, 0.04, 0.1}[s.rng.IntN(4)]
	if s.calm = smooth; smooth {
		rate = 0
	}
	s.redis = newRedis(rand.New(rand.NewPCG(seed, 9)), rate, s.tell) //nolint:gosec // a story
	t.Cleanup(s.redis.mini.Close)
	s.silent = !smooth && s.rng.IntN(4) == 0
	s.redis.ahead = time.Duration(s.rng.IntN(int(2*time.Hour))) - time.Hour // the replicas' clocks are as far behind
	s.redis.quiet++
	s.World = New(t, Options{
		Parallel: true, Bubble: true, Replicas: 2 + s.rng.IntN(2), Lease: lease, Sweep: lease / 2, Drain: lease, Beside: seed%2 == 0, Teller: true,
		Backend: s.redis.backend(),
	})
	s.redis.locked(func() { s.redis.quiet-- })
	s.alive = slices.Clone(s.Replicas)
	s.Tools.In(third)
	s.SetPolicy(func(p *permission.Policy, files map[string]permission.ToolSettings) { p.Timeout = askFor })
	s.World.Platform.Trouble(s.platform)
	s.World.Platform.Earlier(s.before)
	s.Model.When("do ", s.reply(0), s.reply(1), s.reply(2), s.reply(3))
	for _, name := range []string{"read", "touch", "write", "send", "drop"} {
		s.Tools.Put(Tool{Server: "files", Name: name, Stubborn: name == "send", Run: s.work})
	}
	for _, name := range []string{"asks", "books"} {
		s.Tools.Put(Tool{Server: "files", Name: name, Run: s.wants})
	}
	s.opensPages(smooth)
	return s
}

// tell notes what happened, for whoever reads about a seed that failed.
func (s *story) tell(format string, a ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.told = append(s.told, fmt.Sprintf("%8.3f  ", time.Since(s.began).Seconds())+fmt.Sprintf(format, a...))
}

// befalls draws from the source of one of those beside the story.
func (s *story) befalls(who string, kinds int) (kind int, wait time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.troubled[who]
	wait = time.Duration(r.IntN(int(8 * time.Second)))
	if kind = 1 + r.IntN(kinds); s.calm || r.Float64() >= s.rates[who] {
		return 0, 0
	}
	return kind, wait
}

func after(d time.Duration) <-chan struct{} {
	ch := make(chan struct{})
	time.AfterFunc(d, func() { close(ch) })
	return ch
}

// platform is what befalls posts and edits.
func (s *story) platform(op Op) Trouble {
	if op.Chat == DM(Root) {
		return s.tells(op)
	}
	kind, wait := s.befalls("platform", 6)
	switch kind {
	case 1:
		return Busy(wait)
	case 2:
		return Transient(false)
	case 3:
		return Transient(true)
	case 4:
		return Trouble{Until: after(wait)}
	case 5:
		return Trouble{Late: after(wait)}
	case 6:
		t := Transient(!op.Post) // a post that takes effect after who sent it is gone is beyond anybody
		t.Until = after(wait)
		return t
	}
	return Trouble{}
}

// leans reports whether people said something before a message.
func (x *said) leans() bool { return x.n%2 == 1 }

// told is what they said.
func told(before chat.MessageRef) string { return "said before " + string(before) }

// before is what befalls whoever asks what was said before a message.
func (s *story) before(ctx context.Context, before chat.MessageRef, _ chat.Earlier) ([]chat.Quote, error) {
	kind, wait := s.befalls("platform", 4)
	switch kind {
	case 1:
		return nil, Busy(wait).Err
	case 2:
		return nil, Transient(false).Err
	case 3, 4:
		select {
		case <-after(wait):
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return []chat.Quote{{Name: "others", Text: told(before)}}, nil
}

// reply is the model's step n of a program: "do 17: write touch | send" is a reply with two calls, and then one with one.
func (s *story) reply(n int) Step {
	return func(h Heard) (agent.Reply, error) {
		last, _ := h.Last()
		number, program, _ := strings.Cut(strings.TrimPrefix(last, "do "), ": ")
		steps := strings.Split(program, " | ")
		kind, wait := s.befalls("model", 3)
		if kind == 1 || kind == 3 {
			select {
			case <-time.After(wait):
			case <-h.Ctx.Done():
				return agent.Reply{}, h.Ctx.Err()
			}
		}
		if kind > 1 {
			h.Stream(agent.Delta{Text: "Let me"})
			return agent.Reply{}, &agent.ModelError{Say: "The model broke off."}
		}
		if n >= len(steps) {
			return Says("That is all.")(h)
		}
		var calls []agent.ReplyCall
		for i, name := range strings.Fields(steps[n]) {
			c := Call(name, fmt.Sprintf(`{"n":"%s.%d.%d"}`, number, n, i))
			c.Server = serverOf(name)
			calls = append(calls, c)
		}
		return Calls(calls...)(h)
	}
}

// work is what a tool does with a call.
func (s *story) work(in Invocation) (turn.Result, error) {
	s.reaches(in)
	done := turn.Result{Text: in.Name + " ok"}
	switch kind, wait := s.befalls("tools", 4); kind {
	case 1: // it takes its time
		select {
		case <-time.After(wait):
		case <-in.Ctx.Done():
			return turn.Result{}, in.Ctx.Err()
		}
	case 2: // it takes far too long, and hears of no cancellation
		<-time.After(wait + 2*lease)
	case 3:
		return turn.Result{}, errors.New("the server died (simulated)")
	case 4:
		return turn.Result{Text: "no such thing", IsError: true}, nil
	}
	return done, nil
}

// some is a replica that was not killed.
func (s *story) some(rng *rand.Rand) *Replica {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.alive[rng.IntN(len(s.alive))]
}

// deliver brings an inbound as a platform does, which delivers again until somebody takes it. It returns what was whispered.
func (s *story) deliver(rng *rand.Rand, in chat.Inbound) (whispered string) {
	return s.attempt(rng, func(ctx context.Context, r *Replica) error { return r.Engine.Accept(ctx, in) }, in.From())
}

func (s *story) attempt(rng *rand.Rand, do func(context.Context, *Replica) error, env chat.Envelope) string {
	for {
		r := s.some(rng)
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		came := make(chan error, 1)
		s.patients.Go(func() {
			err := do(ctx, r)
			if r.Dead() {
				err = errCut
			}
			came <- err
		})
		select {
		case err := <-came:
			cancel()
			if err == nil {
				return s.World.Platform.Whispered(env.Reply.Key)
			}
		case <-ctx.Done():
			cancel()
		}
		<-time.After(time.Duration(200+rng.IntN(3000)) * time.Millisecond)
	}
}

// aside goes on with something beside the story.
func (s *story) aside(f func(rng *rand.Rand)) {
	rng := rand.New(rand.NewPCG(s.rng.Uint64(), 0))
	s.beside.Go(func() { f(rng) })
}

func (s *story) say() {
	by, id := pick(s.rng, []chat.User{Ana, Ben}), pick(s.rng, chats)
	var steps []string
	names := []string{"read", "touch", "write", "write", "send", "drop", "asks"}
	if s.seed%5 != 0 {
		names = append(names, "books")
	}
	if s.installs() {
		names = append(names, "post", "post", "post")
	}
	for range 1 + s.rng.IntN(2) {
		var calls []string
		for range 1 + s.rng.IntN(3) {
			calls = append(calls, pick(s.rng, names))
		}
		steps = append(steps, strings.Join(calls, " "))
	}
	s.says(by, id, fmt.Sprintf("do %d: %s", len(s.said), strings.Join(steps, " | ")))
}

// says has a message delivered, once or twice.
func (s *story) says(by chat.User, id chat.ID, words string) {
	x := &said{n: len(s.said), chat: id, by: by, at: time.Now()}
	env := s.Envelope(id, by)
	in := chat.Said{Envelope: env, Message: chat.MessageRef("p-" + string(env.Delivery)), Text: words}
	if x.message = in.Message; x.leans() {
		in.Earlier = &chat.Earlier{}
	}
	s.mu.Lock()
	s.said, s.inbounds = append(s.said, x), append(s.inbounds, in)
	s.mu.Unlock()
	s.tell("%s says in %s: %s", by.Key, id.Key, words)
	for range 1 + s.rng.IntN(2) { // as Slack does
		s.aside(func(rng *rand.Rand) {
			s.deliver(rng, in)
			s.mu.Lock()
			defer s.mu.Unlock()
			x.delivered = true
		})
	}
}

// buttons are those that people can press: what stands in the messages as they look now, or looked once.
func (s *story) buttons(now bool) (out []button) {
	for _, id := range chats {
		for _, m := range s.World.Platform.Messages(id) {
			if now {
				m.Versions = m.Versions[len(m.Versions)-1:]
			}
			for _, v := range m.Versions {
				out = append(out, buttonsOf(m, v.View)...)
			}
		}
	}
	return out
}

func buttonsOf(m Message, view render.Message) (out []button) {
	put := func(b button, choices ...render.Choice) {
		for _, c := range choices {
			b.Choice, b.Token = c.Choice, c.Token
			b.Chat, b.Message = m.Chat, m.Ref
			out = append(out, b)
		}
	}
	for _, x := range view.Blocks {
		switch x := x.(type) {
		case render.Ask:
			put(button{call: turn.CallID(x.Call), args: x.Args.JSON, says: x.Says, kind: x.Kind, Button: Button{Of: x.Tool}}, slices.Concat(x.Choices, x.More)...)
		case render.Step:
			put(button{call: turn.CallID(x.Call), Button: Button{Of: x.Tool}}, x.Choices...)
		case render.Note:
			put(button{}, x.Choices...)
		default:
		}
	}
	put(button{}, view.Choices...)
	return out
}

// idle are choices that only show something.
var idle = []chat.Choice{chat.ViewDetail, chat.DenyReason, chat.Why, chat.Open, chat.Good, chat.Bad, chat.Accept, chat.Remember, chat.AllowChannel}

// press has somebody press a button.
func (s *story) press(rng *rand.Rand, by chat.User, b button) (whispered string) {
	x := &click{on: b, by: by, choice: b.Choice, at: time.Now()}
	in := chat.Clicked{Envelope: s.Envelope(b.Chat, by), Token: b.Token, Choice: b.Choice, Message: b.Message}
	if b.Choice == chat.Edit {
		x.args = fmt.Sprintf(`{"n":"edited %d"}`, rng.IntN(1000))
		in.Args = x.args
	}
	if b.Choice == chat.Answer {
		x.args = fmt.Sprint("branch ", rng.Uint64())
		in.Fields = map[string]string{"branch": x.args}
		if s.leadsTo(b) != "" && rng.IntN(4) > 0 { // else they say so without having been there
			s.opens(s.some(rng), by, b)
		}
	}
	var stop *stopped
	s.mu.Lock()
	s.clicks, s.inbounds = append(s.clicks, x), append(s.inbounds, in)
	if b.Choice == chat.Stop {
		stop = &stopped{chat: b.Chat}
		s.stops = append(s.stops, stop)
	}
	s.mu.Unlock()
	s.tell("%s presses %s of %s %s in %s", by.Key, b.Choice, b.Of, b.call, b.Chat.Key)
	whispered = s.deliver(rng, in)
	s.mu.Lock()
	defer s.mu.Unlock()
	if whispered == "" {
		x.taken = time.Now()
	}
	if stop != nil {
		stop.ended = time.Now()
	}
	return whispered
}

// clicks has people press what there is: one of them, two at once, or a stranger; sometimes what stood there once.
func (s *story) click() {
	all := slices.DeleteFunc(s.buttons(s.rng.IntN(8) > 0), func(b button) bool { return slices.Contains(idle, b.Choice) })
	if len(all) == 0 {
		return
	}
	b := pick(s.rng, all)
	if b.Choice == chat.Stop && s.rng.IntN(4) > 0 {
		b = pick(s.rng, all)
	}
	by := pick(s.rng, []chat.User{Ana, Ana, Ana, Ben, Ben, Root, eve})
	s.aside(func(rng *rand.Rand) { s.press(rng, by, b) })
	if s.rng.IntN(3) == 0 { // against it
		if i := slices.IndexFunc(all, func(x button) bool { return x.Token == b.Token && x.Choice != b.Choice && x.Choice != chat.Stop }); i >= 0 {
			other := pick(s.rng, []chat.User{by, Ana, Ben})
			s.aside(func(rng *rand.Rand) { s.press(rng, other, all[i]) })
		}
	}
}

// again delivers what was delivered before.
func (s *story) again() {
	s.mu.Lock()
	all := slices.Clone(s.inbounds)
	s.mu.Unlock()
	if len(all) == 0 {
		return
	}
	in := pick(s.rng, all)
	s.aside(func(rng *rand.Rand) { s.deliver(rng, in) })
}

// set has the admin change whether a tool asks.
func (s *story) set() {
	s.sets(pick(s.rng, []string{"read", "touch", "write"}), pick(s.rng, []string{"always", "always", "never"}))
}

// changes is one attempt of an admin at changing something.
func changes(env chat.Envelope, c permission.Change) func(context.Context, *Replica) error {
	return func(ctx context.Context, r *Replica) error {
		_, err := r.Engine.ChangeAsAdmin(ctx, env, "", c)
		if errors.Is(err, agent.ErrUnchanged) {
			err = nil
		}
		return err
	}
}

func serverOf(tool string) string {
	if tool == "post" {
		return "mail"
	}
	return "files"
}

func (s *story) sets(tool, ask string) {
	x := &setting{tool: tool, ask: ask, at: time.Now()}
	s.mu.Lock()
	s.settings = append(s.settings, x)
	s.mu.Unlock()
	s.tell("root sets that %s asks %s", x.tool, x.ask)
	env := s.Envelope(Room, Root)
	s.aside(func(rng *rand.Rand) {
		s.attempt(rng, changes(env, permission.Setting{Server: serverOf(x.tool), Tool: x.tool, Field: "ask", Value: x.ask}), env)
		s.mu.Lock()
		defer s.mu.Unlock()
		x.taken = time.Now()
	})
}

// breaks is something that breaks.
func (s *story) breaks() {
	r := s.some(s.rng)
	switch s.rng.IntN(7) {
	case 0, 1:
		s.killed(r)
	case 2, 3:
		wait := time.Duration(s.rng.IntN(int(3 * lease)))
		s.tell("%s is paused for %v", r.Name, wait)
		r.Gate.Pause()
		time.AfterFunc(wait, r.Gate.Resume)
	case 4:
		s.tell("the connections of %s are cut", r.Name)
		s.redis.cut(r.Name)
	case 5:
		by := time.Duration(s.rng.IntN(int(4*time.Second))) - 2*time.Second
		s.tell("Redis's clock is set by %v", by)
		s.redis.locked(func() { s.redis.ahead += by })
	case 6:
		s.away(time.Duration(s.rng.IntN(int(2 * lease))))
	}
}

// away is that nobody reaches Redis for a while.
func (s *story) away(d time.Duration) {
	s.tell("Redis is away for %v", d)
	s.redis.locked(func() { s.redis.away = later(s.redis.away, time.Now().Add(d)) })
	s.redis.cut("")
}

// killed kills a replica, and starts another one.
func (s *story) killed(r *Replica) {
	var away time.Duration
	s.redis.locked(func() { away = time.Until(s.redis.away) })
	<-time.After(away) // a replica does not start without it
	s.tell("%s is killed", r.Name)
	s.redis.locked(func() { s.redis.dead[r.Name] = true })
	r.Kill()
	s.redis.cut(r.Name)
	s.redis.locked(func() { s.redis.quiet++ })
	fresh := s.Start()
	s.redis.locked(func() { s.redis.quiet-- })
	s.mu.Lock()
	s.alive = append(slices.DeleteFunc(s.alive, func(x *Replica) bool { return x == r }), fresh)
	s.mu.Unlock()
}

func pick[T any](rng *rand.Rand, of []T) T { return of[rng.IntN(len(of))] }

// run tells the story, ends the faults and has people answer what is asked.
func (s *story) run() {
	for range 15 + s.rng.IntN(20) {
		s.dooms()
		switch n := s.rng.IntN(20); {
		case s.installs() && s.rng.IntN(4) == 0:
			s.install()
		case s.pages != nil && s.rng.IntN(4) == 0:
			s.visit()
		case n < 5:
			s.say()
		case n < 14:
			s.click()
		case n < 15:
			s.again()
		case n < 16:
			s.set()
		case n < 17 && s.seed%3 == 0:
			s.halt()
		case n < 17:
			s.set()
		default:
			s.breaks()
		}
		if s.rng.IntN(4) > 0 {
			<-time.After(time.Duration(s.rng.IntN(int(4 * time.Second))))
		}
	}
	s.redis.locked(func() { s.redis.away = time.Time{} })
	for _, r := range s.alive {
		r.Gate.Resume()
	}
	<-time.After(2 * time.Second) // the library repeats for a second what it could not reach
	s.tell("nothing breaks any more")
	s.mu.Lock()
	s.calm = true
	s.mu.Unlock()
	s.redis.locked(func() { s.redis.rate = 0 })
	s.beside.Wait()
	s.afterHalt()
	s.afterPages()
	s.settle()
	s.hears()
}

// rounds is how often people look at what is asked: every two seconds at first. A call that was asked about brings the next step, and that its own calls;
// what a server asks, and nobody answers, takes its time for each of them.
const rounds, soon = 240, 40

// settle has people answer whatever is asked, until nothing is.
func (s *story) settle() {
	<-time.After(3 * lease / 2) // the chats of the dead are taken over
	for n := range rounds {
		if n < soon {
			<-time.After(2 * time.Second)
		} else {
			<-time.After(lease)
		}
		open := false
		for _, id := range chats {
			for _, m := range s.World.Platform.Messages(id) {
				open = s.answer(m) || open
			}
		}
		if !open {
			return
		}
	}
	s.Errorf("after %d rounds there is still something to answer, or at work", rounds)
}

// answer answers one message's first question, and reports whether the message is not final.
func (s *story) answer(m Message) bool {
	if over(m.Now()) {
		return false
	}
	for _, b := range buttonsOf(m, m.Now()) {
		if b.kind == "" || slices.Contains(idle, b.Choice) || b.Choice == chat.Stop || b.Choice == chat.Edit || b.Choice == chat.RunAgain || b.Choice == chat.Extend {
			continue
		}
		if b.kind == render.AskInput && s.silent || b.Choice == chat.Answer && s.rng.IntN(2) == 0 {
			continue
		}
		for _, u := range []chat.User{Ana, Ben, Root} {
			if s.press(s.rng, u, b) == "" {
				return true
			}
		}
	}
	return true
}

// over reports whether a message says the last that it will. One that is posted anew points there and asks nothing.
func over(m render.Message) bool {
	return goesOn(m) || m.State == render.Done || m.State == render.Failed || m.State == render.Stopped
}

func goesOn(m render.Message) bool { return strings.Contains(render.PlainText(m), text.GoesOnBelow) }

func compact(args string) string {
	var b strings.Builder
	var v any
	if json.Unmarshal([]byte(args), &v) != nil {
		return args
	}
	out, _ := json.Marshal(v) //nolint:errchkjson // it was JSON
	b.Write(out)
	return b.String()
}
