package surface

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/text"
)

// Command is what a person may type after the bot's name.
type Command struct {
	Verb string // stop, reset, mode, help, pending; settings, whose Args are the words for [Settings.Permissions] as they were typed
	Args []string
}

// VerbSettings is the verb of everything that [Settings.Permissions] does.
const VerbSettings = "settings"

// The texts that are commands, in lower case and with one space between words. "permissions" goes on with a word that means something there.
var (
	chatCommand     = regexp.MustCompile(`^(stop|reset|help|pending|mode( always| never| never yes| tool)?)$`)
	settingsCommand = regexp.MustCompile(`^(halt|resume|whoami|history|stats|tools( (enable|disable)( .*)?)?|` +
		`permissions( (show|mode|server|tool|set|why|whoami|history|stats|digest|revoke|remembered|forget|templates|apply|` +
		`pending|accept|halt|resume|export|servers|tools|help)( .*)?)?)$`)
)

// ParseCommand reads a command. Only a text that is nothing else is one: "stop the server" is a message.
func ParseCommand(text string) (c Command, ok bool) {
	words := strings.Fields(text)
	lower := strings.ToLower(strings.Join(words, " "))
	switch {
	case settingsCommand.MatchString(lower):
		if strings.EqualFold(words[0], "permissions") {
			words = words[1:]
		}
		return Command{VerbSettings, words}, true
	case chatCommand.MatchString(lower):
		words = strings.Fields(lower)
		return Command{words[0], append([]string(nil), words[1:]...)}, true
	}
	return Command{}, false
}

// LooseString is a string where a platform may have something else: of a number it is the digits, of an object the id in it, of anything else
// nothing. Decoding it never fails.
type LooseString string

func (l *LooseString) UnmarshalJSON(b []byte) error {
	var o struct {
		ID LooseString `json:"id"`
	}
	switch {
	case b[0] == '"':
		return json.Unmarshal(b, (*string)(l))
	case b[0] <= '9': // a digit or a minus: nothing else in JSON begins that low
		*l = LooseString(b)
	default:
		_ = json.Unmarshal(b, &o)
		*l = o.ID
	}
	return nil
}

// ForBot reports whether a message in a thread is for the bot although it does not mention it. One that names somebody else never is:
// there people talk to each other.
func ForBot(f Follow, s turn.Session, by chat.User, namesOthers bool) bool {
	switch {
	case namesOthers || by.IsZero():
		return false
	case f == FollowRequester:
		return worksFor(s, by)
	}
	return f == FollowThread
}

// worksFor: whom the bot answers now, whose message waits, or, where it does nothing, whom it answered last.
func worksFor(s turn.Session, by chat.User) bool {
	requester := s.Began
	if t := cmp.Or(s.Turn, s.Last); t != nil {
		requester = t.Requester
	}
	return by == requester || slices.ContainsFunc(s.Waiting, func(w turn.Said) bool { return w.By == by })
}

// How many chats one program (a bot, a workflow, a webhook) begins within how long.
const (
	MaxBegun    = 10
	BegunWithin = 10 * time.Minute
)

// Programs counts the chats that programs begin: two that answer each other in ever new places come to an end. The zero value is ready.
type Programs struct {
	mu    sync.Mutex
	begun map[string][]time.Time // by program, of which the operator listed a few
}

// MayBegin reports whether a program may begin one more chat, and counts it.
func (p *Programs) MayBegin(program string, now time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	lately := slices.DeleteFunc(p.begun[program], func(at time.Time) bool { return now.Sub(at) >= BegunWithin })
	may := len(lately) < MaxBegun
	if may {
		lately = append(lately, now)
	}
	if p.begun == nil {
		p.begun = map[string][]time.Time{}
	}
	p.begun[program] = lately
	return may
}

// Earlier is how far back a chat has not taken what people said, which is to its newest message in the order that newer says, which has any
// message newer than none; nil where its session does not hold one. What was not read before a turn ended is still to be read.
func Earlier(s turn.Session, newer func(a, b chat.MessageRef) bool) (e *chat.Earlier) {
	var last chat.MessageRef
	look := func(said []turn.Said, over bool) {
		for _, m := range said {
			if !newer(m.Message, last) {
				continue
			}
			if last, e = m.Message, &(chat.Earlier{Since: m.Message}); over && m.Earlier != nil {
				e = m.Earlier
			}
		}
	}
	look(s.Waiting, false)
	for _, t := range s.Turns() {
		look(t.Said, t.End != "")
	}
	return e
}

// What is imported of a conversation in which the bot is called for the first time.
const (
	MaxQuotes = 50
	MaxQuoted = 16 << 10 // bytes of text over all quotes
)

// FitQuotes shows what hides in quotes, and keeps the first quote and the newest ones that there is room for, and says where how many are left out. left is how many
// were left out before, between the first and the others; negative: nobody knows how many.
func FitQuotes(all []chat.Quote, left int) []chat.Quote {
	if len(all) == 0 {
		return nil
	}
	for i := range all {
		all[i].Text = text.Prose(all[i].Text)
	}
	first, rest := all[0], all[1:]
	share := MaxQuoted
	if len(rest) > 0 {
		share /= 2
	}
	first.Text = CutText(first.Text, share)
	room, from := MaxQuoted-len(first.Text), len(rest)
	if from > 0 { // the newest is there in any case
		rest[from-1].Text = CutText(rest[from-1].Text, room)
	}
	for from > 0 && len(rest[from-1].Text) <= room {
		from--
		room -= len(rest[from].Text)
	}
	out := []chat.Quote{first}
	switch {
	case left < 0:
		out = append(out, chat.Quote{Name: text.Product, Text: "[messages of this thread are left out here]"})
	case left+from > 0:
		out = append(out, chat.Quote{Name: text.Product, Text: fmt.Sprintf("[%d messages of this thread are left out here]", left+from)})
	}
	return append(out, rest[from:]...)
}

// CutText is s, or what of it fits into n bytes and how much more there is.
func CutText(s string, n int) string {
	if len(s) <= n {
		return s
	}
	const words = 48 // room to say so
	head := text.HeadBytes(s, max(n-words, 0))
	return fmt.Sprintf("%s [… %d more bytes left out]", head, len(s)-len(head))
}

// What one process works on at once.
const (
	MaxAtOnce  = 32   // deliveries in work: each waits for Redis or the platform most of its time
	MaxWaiting = 1000 // deliveries taken and not done; one more is left to the platform to send again
	MaxInLane  = 100  // of these in one lane: a flood in one place leaves the others theirs
)

// Lanes runs deliveries: those of one lane (a thread, a message's buttons) one after the other in the order they came, those of
// different lanes side by side. Putting something in never blocks, so whoever drains a socket never stops.
//
// The zero value is closed and takes nothing.
type Lanes struct {
	mu     sync.Mutex
	opened bool
	taken  int
	lanes  map[string][]func() // what waits, and first what runs
	slots  chan struct{}       // one for each that runs
	work   sync.WaitGroup
}

// Open lets things in.
func (q *Lanes) Open() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.opened, q.lanes, q.slots = true, map[string][]func(){}, make(chan struct{}, MaxAtOnce)
}

// Close lets nothing in any more, and returns when all that was taken is done.
func (q *Lanes) Close() {
	q.mu.Lock()
	q.opened = false
	q.mu.Unlock()
	q.work.Wait()
}

// Put takes a piece of work, which is then certainly run, or reports that it does not.
func (q *Lanes) Put(lane string, work func()) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.opened || q.taken >= MaxWaiting || len(q.lanes[lane]) >= MaxInLane {
		return false
	}
	q.taken++
	q.lanes[lane] = append(q.lanes[lane], work)
	if len(q.lanes[lane]) == 1 {
		q.work.Go(func() { q.run(lane) })
	}
	return true
}

// Taken is how many pieces of work wait or run.
func (q *Lanes) Taken() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.taken
}

// run works until a lane is empty.
func (q *Lanes) run(lane string) {
	for waiting := true; waiting; {
		q.slots <- struct{}{}
		q.mu.Lock()
		work := q.lanes[lane][0]
		q.mu.Unlock()
		work()
		<-q.slots
		q.mu.Lock()
		q.taken--
		q.lanes[lane] = q.lanes[lane][1:]
		if waiting = len(q.lanes[lane]) > 0; !waiting {
			delete(q.lanes, lane)
		}
		q.mu.Unlock()
	}
}
