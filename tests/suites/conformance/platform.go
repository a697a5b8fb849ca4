package conformance

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/render"
)

// Who is one of the two people that the suite lets do things.
type Who int

// The people.
const (
	Ana Who = iota
	Ben
)

// OpenPlatform makes an adapter over a stand-in of its platform, not running yet. What reaches the adapter goes to in, what it
// logs to log. There is nothing else: whoever keeps another log or inbox is not checked.
type OpenPlatform func(t *testing.T, in *Inbox, log *slog.Logger) Surface

// Surface is one adapter with the levers of the stand-in that it speaks to. A nil lever needs a reason in Without, by the
// lever's name: that is a declared exception, and a case that needs the lever ends there.
//
// Levers are what people and the platform do; none of them asks the adapter anything. They may be called from any goroutine.
type Surface struct {
	Platform agent.Platform
	// Run is the adapter at work, until ctx ends.
	Run func(context.Context) error
	// Ready returns when what people do reaches the adapter.
	Ready func(context.Context) error
	// Closing returns when Run, whose context has ended, takes nothing any more. nil: that is at once.
	Closing func(context.Context) error
	// Over, unless nil, is told that the case is over before Run's context ends: what is still on its way need not arrive.
	Over func()
	// Close ends the stand-in, after Run has ended. No goroutine may be left then.
	Close func()
	// People are Ana and Ben as the platform vouches for them.
	People [2]chat.User
	// Budget is how long the platform waits for an acknowledgement.
	Budget time.Duration
	// Unhurried: nobody waits for the acknowledgement of a message, only for that of a click.
	Unhurried bool
	// Once: a click that was not acknowledged does not come again.
	Once bool
	// Fetches: whoever looks at a message, or the platform when one is made, fetches what is linked in it.
	Fetches bool
	// Secrets are strings that no error and no log line may hold: tokens, keys, addresses that are capabilities. They are asked
	// for at the end of a case.
	Secrets func() []string
	// Without says why a lever is nil.
	Without map[string]string

	// Say writes to the bot: in a chat, or with a zero ID so that a new chat begins.
	Say func(by Who, in chat.ID, text string) *Delivered
	// SayDirect is Say where only that person and the bot are. With a zero ID a conversation begins there, or goes on where a person
	// has but one.
	SayDirect func(by Who, in chat.ID, text string) *Delivered
	// SayBot lets another bot write the same, as loudly as a person would have to for the bot to listen.
	SayBot func(in chat.ID, text string) *Delivered
	// Edit changes what a person wrote, Delete takes it back.
	Edit   func(in chat.ID, ref chat.MessageRef, text string) *Delivered
	Delete func(in chat.ID, ref chat.MessageRef) *Delivered
	// Press presses a button that stands on a message.
	Press func(by Who, in chat.ID, ref chat.MessageRef, b Button) *Delivered
	// Submit presses a button that opens a form, fills it in with one text and sends it.
	Submit func(by Who, in chat.ID, ref chat.MessageRef, b Button, words string) *Delivered
	// Details presses a button that shows details, and gives all that this person then sees and can open: every page, every file.
	Details func(ctx context.Context, by Who, in chat.ID, ref chat.MessageRef, b Button) (Shown, error)
	// SayAs and PressAs are Say and Press by somebody who fills in another's identity wherever a sender could.
	SayAs   func(by, as Who, in chat.ID, text string) *Delivered
	PressAs func(by, as Who, in chat.ID, ref chat.MessageRef, b Button) *Delivered
	// Pass sends through the adapter something that means nothing to it, and returns when it was acknowledged: what the
	// adapter did before, in this chat or with a zero ID in general, has then arrived.
	Pass func(ctx context.Context, in chat.ID) error
	// Retry lets the platform's time pass until it has sent again what was not acknowledged.
	Retry func()
	// Forgeries are requests that anybody could make up, each with something else wrong; and genuine ones, which show that
	// nothing else is.
	Forgeries func(by Who, text string) []Forgery

	// Messages are what stands in a chat of the bot's, in order; Look is one of them; Seen is what only this person saw of it.
	Messages func(in chat.ID) []Shown
	Look     func(in chat.ID, ref chat.MessageRef) (Shown, bool)
	Seen     func(by Who, in chat.ID) []Shown
	// Wait returns when is holds, looking again whenever something happened at the stand-in.
	Wait func(ctx context.Context, is func() bool) error
	// LinkTo is the address that leads to a message.
	LinkTo func(in chat.ID, ref chat.MessageRef) string
	// Refusals are what the platform has refused of the adapter's so far, in its words.
	Refusals func() []string
	// Trouble makes the next call of the adapter's that posts (an empty ref) or edits go wrong. After is what the platform says
	// about when to come again, with Busy.
	Trouble func(m Mishap, in chat.ID, ref chat.MessageRef, after time.Duration)
	// Havoc makes the next n calls of the adapter's go wrong, whatever they are; none with zero.
	Havoc func(n int, m Mishap)
	// Lockout makes the platform refuse the adapter's credentials. It is called before Run.
	Lockout func()
}

// Delivered is something that a person did, on its way.
type Delivered struct {
	Message chat.MessageRef // that the platform gave it; empty where it is no message
	// Acked reports whether the platform has by now an acknowledgement of all of it.
	Acked func() bool
	// Taken returns when all of it was acknowledged.
	Taken func(context.Context) error
	// Again delivers the very same once more.
	Again func()
}

// Forgery is a request to the adapter. Send returns the answer's verdict.
type Forgery struct {
	Name    string
	Genuine bool
	Send    func(context.Context) (refused bool, err error)
}

// Shown is a message as the stand-in holds it, read as the platform's own client would.
type Shown struct {
	Ref      chat.MessageRef
	Text     string // all that can be read, without the buttons
	Buttons  []Button
	Opened   bool     // the details of a call, which its View details opens, have whatever its card offers
	Mentions []string // keys of people who are notified or could be; "everyone" for whatever notifies many
	Silent   []string // those of Mentions who are only drawn as named, and are not notified
	Links    []Link
	Images   []string // addresses that are fetched when somebody looks
	Previews bool     // links are fetched for a preview
}

// Button is something that can be pressed, wherever it stands.
type Button struct {
	Label  string
	Choice chat.Choice // what it carries
	Token  string
	Key    string // for the stand-in
}

// Link is a live link. Label is what a person reads of it.
type Link struct{ Label, URL string }

// Mishap is what goes wrong with a call.
type Mishap string

// The mishaps.
const (
	Busy      Mishap = "busy"      // too many calls
	Down      Mishap = "down"      // the service is out of order; nothing was done
	Cut       Mishap = "cut"       // the connection broke; nothing was done
	Lost      Mishap = "lost"      // it was done, but the answer is lost
	Gone      Mishap = "gone"      // the message, or to post, the chat is no more
	Forbidden Mishap = "forbidden" // the bot may not write there any more
)

// Platform says what an [agent.Platform] and the adapter around it must do. The list is DESIGN.md, section 8.
func Platform(t *testing.T, open OpenPlatform) { platform(stages{t, open, false}) }

func platform(s stages) {
	s.run("what a person says arrives whole", saidArrives)
	s.run("a delivery's name is stable", stableDeliveries)
	s.run("it is acknowledged only after Accept", ackAfterAccept)
	s.run("Accept gets a deadline inside the budget", insideBudget)
	s.run("what was not recorded comes again", comesAgain)
	s.run("a click that was not recorded is not silent", clickNotRecorded)
	s.run("a forged request gives nothing and a refusal", forged)
	s.run("a user named in the payload is ignored", forgedUser)
	s.run("own messages and other bots stay out", botsStayOut)
	s.run("an edit is never a new message", editIsNoMessage)
	s.run("identifiers survive", identifiers)

	s.run("a post is one message and an edit changes it", postAndEdit)
	s.run("an edit in the middle of a click lands on its message", editedMeanwhile)
	s.run("a key posts once", postsOnce)
	s.slow("a chat of somebody else's is not written to", foreignChats)
	s.slow("any fitted message is accepted with its choices", fitted)
	s.run("a button's token comes back", tokens)
	s.slow("any token comes back", anyToken)
	s.run("a form brings its words and its token", forms)
	s.slow("untrusted text stays text", inert)
	s.slow("an address that nobody brought is not alive", nothingFetched)
	s.run("a post calls nobody by name", quiet)
	s.run("trouble is told apart", trouble)

	s.run("a direct message is a chat like another", direct)
	s.run("details are whole and decide nothing", details)
	s.run("a whisper is heard by one person", whispers)
	s.run("a note notifies and leads to the message", annotates)
	s.run("a note is taken away, twice too", removes)
	s.run("a lost post is found", seeks)

	s.run("no secret is told in trouble", discreetInTrouble)
	s.cold("refused credentials end Run", deadline, lockout)
	s.run("the end waits for what was taken", endWaits)
}

// PlatformAtOnce is [Platform] with its cases beside each other, for a surface that takes long to close and keeps nothing outside it. Goroutines are
// looked for once all cases are over.
func PlatformAtOnce(t *testing.T, open OpenPlatform) {
	before := goleak.IgnoreCurrent()
	t.Cleanup(func() {
		if err := goleak.Find(before); err != nil {
			t.Error(err)
		}
	})
	platform(stages{t, open, true})
}

// stages runs named cases, each on a surface of its own.
type stages struct {
	t      *testing.T
	open   OpenPlatform
	atOnce bool
}

// stage is one case at work.
type stage struct {
	*testing.T
	Surface
	ctx   context.Context
	in    *Inbox
	log   *logbook
	end   func() error // ends Run and gives its error
	begun bool

	mu   sync.Mutex
	said []string // errors of the adapter
}

func (s stages) run(name string, test func(*stage)) {
	s.cold(name, deadline, func(p *stage) { p.start(); test(p) })
}

// slow has time to look for the smallest example of what fails.
func (s stages) slow(name string, test func(*stage)) {
	s.cold(name, 10*deadline, func(p *stage) { p.start(); test(p) })
}

// cold leaves it to the case to start. Afterwards every case is looked at for goroutines and secrets.
func (s stages) cold(name string, within time.Duration, test func(*stage)) {
	s.t.Run(name, func(t *testing.T) {
		before := goleak.IgnoreCurrent()
		if s.atOnce {
			t.Parallel()
		}
		ctx, cancel := context.WithTimeout(t.Context(), within)
		defer cancel()
		p := &stage{T: t, ctx: ctx, in: newInbox(), log: &logbook{}}
		p.Surface = s.open(t, p.in, slog.New(p.log))
		defer func() {
			p.in.Hold(nil)
			if p.begun {
				if p.Over != nil {
					p.Over()
				}
				if err := p.end(); err != nil {
					t.Errorf("Run ended with %v", err)
				}
			}
			p.discreet()
			p.Close()
			if s.atOnce {
				return
			}
			if err := goleak.Find(before); err != nil {
				t.Error(err)
			}
		}()
		test(p)
	})
}

// start runs the adapter and waits until people reach it.
func (p *stage) start() {
	p.Helper()
	p.launch()
	if err := p.Ready(p.ctx); err != nil {
		p.Fatalf("not ready: %v", err)
	}
}

func (p *stage) launch() {
	ctx, cancel := context.WithCancel(p.ctx)
	ended := make(chan struct{})
	var err error
	go func() { err = p.Surface.Run(ctx); close(ended) }()
	p.begun = true
	p.end = func() error {
		cancel()
		select {
		case <-ended:
			p.note(err)
			return err
		case <-time.After(deadline): // only of an adapter that hangs
			return errors.New("it has not ended")
		}
	}
}

// discreet looks for secrets in all that the adapter logged and returned.
func (p *stage) discreet() {
	p.Helper()
	p.mu.Lock()
	said := strings.Join(p.said, "\n")
	p.mu.Unlock()
	logged := p.log.String()
	for _, s := range p.Secrets() {
		for where, text := range map[string]string{"a log line": logged, "an error": said} {
			if at := strings.Index(text, s); s != "" && at >= 0 {
				p.Errorf("a secret is in %s: …%q…", where, text[max(0, at-120):at+4])
			}
		}
	}
}

// note keeps an error to be looked at in the end, and gives it back.
func (p *stage) note(err error) error {
	if err != nil {
		p.mu.Lock()
		defer p.mu.Unlock()
		for e := err; e != nil; e = errors.Unwrap(e) { // a cause may say what its wrapper does not
			p.said = append(p.said, e.Error())
		}
	}
	return err
}

// needs reports whether a lever is there. One that is missing on purpose ends the case, with its reason in the log: it is not a
// skip, because no machine has what it needs.
func (p *stage) needs(lever string, there bool) bool {
	p.Helper()
	if there {
		return true
	}
	why := p.Without[lever]
	if why == "" {
		p.Fatalf("the surface has no %s and does not say why in Without", lever)
	}
	p.Logf("declared: without %s: %s", lever, why)
	return false
}

func (p *stage) must(err error) {
	p.Helper()
	if p.note(err) != nil {
		p.Fatal(err)
	}
}

// passed waits until what the adapter did before has arrived.
func (p *stage) passed(in chat.ID) {
	p.Helper()
	p.must(p.Pass(p.ctx, in))
}

// chat begins one, by Ana, and gives the message that began it.
func (p *stage) chat(text string) chat.Said {
	p.Helper()
	d := p.Say(Ana, chat.ID{}, text)
	p.must(d.Taken(p.ctx))
	return take[chat.Said](p, "the message that begins a chat", func(s chat.Said) bool { return s.Message == d.Message })
}

func (p *stage) post(in chat.ID, key chat.PostKey, m render.Message) chat.MessageRef {
	p.Helper()
	ref, err := p.Platform.Post(p.ctx, in, key, m)
	p.must(err)
	if ref == "" {
		p.Fatal("Post gave no reference")
	}
	return ref
}

// shown is the message of the bot's with that reference.
func (p *stage) shown(in chat.ID, ref chat.MessageRef) Shown {
	p.Helper()
	if m, ok := p.Look(in, ref); ok {
		return m
	}
	p.Fatalf("no message %q of the bot's stands in the chat", ref)
	panic("unreachable")
}

// take waits for an inbound of a kind that is recorded.
func take[T chat.Inbound](p *stage, what string, is func(T) bool) T {
	p.Helper()
	var got T
	if !p.in.wait(p.ctx, func(all []Taking) bool {
		for _, c := range all {
			if x, ok := c.Inbound.(T); ok && c.Done && c.Err == nil && is(x) {
				got = x
				return true
			}
		}
		return false
	}) {
		p.Fatalf("%s: nothing came; recorded are %+v", what, p.in.All())
	}
	return got
}

func of[T chat.Inbound](all []Taking) (out []T) {
	for _, c := range all {
		if x, ok := c.Inbound.(T); ok {
			out = append(out, x)
		}
	}
	return out
}
