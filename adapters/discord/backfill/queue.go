package backfill

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/nodhq/nod/adapters/discord/ids"
)

const (
	maxBehind = 4096
	maxTasks  = 100  // of one room
	maxMarked = 8192 // rooms whose marks are known here, those used last
	// marksApart is how often a mark moves for messages that are not for us: each costs a write, and saves a message from being
	// fetched that is not for us then either.
	marksApart = 30 * time.Second
)

// queue holds the rooms that are behind, and how far each room was read.
type queue struct {
	mu        sync.Mutex
	behind    map[string]*backlog
	marks     *lru.Cache[string, mark]
	suspended int           // how often a new session began; while it is ahead of resumed, nothing is taken as it comes
	resumed   int           // for how many of those the marks were read
	change    chan struct{} // closed when something may be to do
	turns     int           // that rooms have had

	moments map[string]string // of each shard: what its last session may not have brought is after it
	read    time.Time         // when those were read
	early   []newest          // what servers told before that
}

func newQueue() *queue {
	marks, _ := lru.New[string, mark](maxMarked) // it fails for a size below one only
	return &queue{behind: map[string]*backlog{}, marks: marks}
}

// newest is a room's newest message, as its server told when a session began. moment is the place of its shard's moment.
type newest struct{ room, message, moment string }

type mark struct {
	id string
	at time.Time // when it was written
}

// backlog is what is to be done in a room that is behind: nothing is taken there as it comes, but fetched in order.
type backlog struct {
	room string

	after   string // everything up to this is taken; empty: nothing has to be fetched
	version int    // counts what came, so that who works on it sees that more did
	tasks   []func(context.Context) error
	rank    string // rooms with newer marks go first
	due     time.Time
	try     int
	working bool
}

// changed is closed at the next change. Callers hold mu.
func (q *queue) changed() <-chan struct{} {
	if q.change == nil {
		q.change = make(chan struct{})
	}
	return q.change
}

func (q *queue) signal() {
	if q.change != nil {
		close(q.change)
		q.change = nil
	}
}

// entry is the backlog of a room that is behind, which it is from now on; nil where there are too many.
func (q *queue) entry(room string) *backlog {
	if l := q.behind[room]; l != nil {
		return l
	}
	if len(q.behind) >= maxBehind {
		return nil
	}
	l := &backlog{room: room}
	q.behind[room] = l
	q.signal()
	return l
}

// Add has a message fetched that was not recorded.
func (q *queue) Add(room, id string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if l := q.entry(room); l != nil {
		l.fetchFrom(ids.Before(id))
	}
}

// fetchFrom has what is after id fetched.
func (l *backlog) fetchFrom(id string) {
	if l.after == "" || ids.Older(id, l.after) {
		l.after = id
	}
	l.rank = cmp.Or(l.rank, id)
	l.version++
}

// Defer reports whether a message is to be fetched in its turn instead of being taken now.
func (q *queue) Defer(room, id string) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	l := q.behind[room]
	if l == nil && q.resumed == q.suspended {
		return false
	}
	if l == nil {
		if l = q.entry(room); l == nil {
			return false
		}
	}
	if l.after != "" && !ids.Older(l.after, id) {
		return true // it was fetched before it came
	}
	if l.after == "" {
		l.fetchFrom(ids.Before(id))
	} else {
		l.version++
	}
	if l.try == 0 {
		l.rank = maxRank // somebody waits there
	}
	return true
}

// maxRank goes before every mark.
const maxRank = "99999999999999999999"

// DeferTask keeps what is to be done about a message of a room that is behind. It reports false where the room is not. An empty
// message stands for the room itself.
func (q *queue) DeferTask(room, message string, do func(context.Context) error) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	l := q.behind[room]
	if l == nil {
		return false
	}
	if message != "" && l.after != "" && ids.Older(l.after, message) {
		return true
	}
	l.addTask(do)
	return true
}

func (l *backlog) addTask(do func(context.Context) error) {
	if len(l.tasks) < maxTasks {
		l.tasks = append(l.tasks, do)
		l.version++
	}
}

// Retry has something tried again.
func (q *queue) Retry(room string, do func(context.Context) error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if l := q.entry(room); l != nil {
		l.addTask(do)
	}
}

// advance reports whether a room's mark is to be written now.
func (q *queue) advance(room, id string, taken bool, now time.Time) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	was, known := q.marks.Get(room)
	switch {
	case q.behind[room] != nil || q.resumed != q.suspended:
		return false
	case known && !ids.Older(was.id, id):
		return false
	case !taken && (!known || now.Sub(was.at) < marksApart):
		return false
	}
	q.marks.Add(room, mark{id, now})
	return true
}

// Marked reports whether a room has a mark that is known here.
func (q *queue) Marked(room string) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	_, ok := q.marks.Get(room)
	return ok
}

func (q *queue) forget(room string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.marks.Remove(room)
}

// suspend notes that something may have been missed anywhere: nothing is taken as it comes until the marks are read.
func (q *queue) suspend() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.suspended++
	q.signal()
}

// awaitSuspension waits until marks are to be read. ok is false when ctx ended.
func (q *queue) awaitSuspension(ctx context.Context) (asked int, ok bool) {
	for {
		q.mu.Lock()
		asked, ok = q.suspended, q.suspended != q.resumed
		changed := q.changed()
		q.mu.Unlock()
		if ctx.Err() != nil {
			return 0, false
		}
		if ok {
			return asked, true
		}
		select {
		case <-changed:
		case <-ctx.Done():
		}
	}
}

// noteNewest has rooms fetched that nobody marked, where the session that began lately says that something was written there since the one
// before it.
func (q *queue) noteNewest(told []newest, now time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.resumed != q.suspended {
		if len(q.early)+len(told) <= maxBehind {
			q.early = append(q.early, told...)
		}
		return
	}
	if now.Sub(q.read) < momentsCount {
		q.fetchSince(told)
	}
}

func (q *queue) fetchSince(told []newest) {
	for _, m := range told {
		since := q.moments[m.moment]
		if _, marked := q.marks.Get(m.room); marked || since == "" || !ids.Older(since, m.message) {
			continue
		}
		if l := q.entry(m.room); l != nil {
			l.fetchFrom(since)
		}
	}
}

// resume has every marked room fetched, from its mark or oldest on, and lets messages be taken as they come again.
func (q *queue) resume(asked int, marks map[string]string, oldest string, now time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	order := make([]string, 0, len(marks))
	q.moments, q.read = map[string]string{}, now
	for room, id := range marks {
		if strings.HasPrefix(room, momentPlace) && !ids.Older(id, oldest) {
			q.moments[room] = id
		}
		if ids.IsSnowflake(room) && ids.IsSnowflake(id) {
			order = append(order, room)
		}
	}
	slices.SortFunc(order, func(x, y string) int { return ids.Compare(marks[y], marks[x]) })
	for i, room := range order {
		id := marks[room]
		if i < maxMarked {
			q.marks.Add(room, mark{id: id})
		}
		if ids.Older(id, oldest) {
			id = oldest
		}
		if l := q.entry(room); l != nil {
			l.fetchFrom(id)
		}
	}
	q.fetchSince(q.early)
	q.early = nil
	q.resumed = asked
	q.signal()
}

// next is a room that is behind and due, which the caller works on alone. ok is false when ctx ended.
func (q *queue) next(ctx context.Context, now func() time.Time) (l *backlog, ok bool) {
	for {
		if ctx.Err() != nil {
			return nil, false
		}
		q.mu.Lock()
		l, wait := q.pick(now())
		if l != nil {
			l.working = true
			q.mu.Unlock()
			return l, true
		}
		changed := q.changed()
		q.mu.Unlock()
		if wait <= 0 {
			wait = longestWait // for a change: this is only a backstop
		}
		alarm := time.NewTimer(wait)
		select {
		case <-changed:
		case <-alarm.C:
		case <-ctx.Done():
		}
		alarm.Stop()
	}
}

// pick is the room that goes next, or how long to wait for one; neither where nothing is behind. Callers hold mu.
func (q *queue) pick(now time.Time) (best *backlog, wait time.Duration) {
	if q.resumed != q.suspended {
		return nil, 0
	}
	for _, l := range q.behind {
		switch d := l.due.Sub(now); {
		case l.working:
		case d > 0:
			if wait == 0 || d < wait {
				wait = d
			}
		case best == nil || ids.Older(best.rank, l.rank):
			best = l
		}
	}
	return best, wait
}

// look is what there is to do in a room.
func (q *queue) look(l *backlog) (after string, version int, tasks []func(context.Context) error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return l.after, l.version, slices.Clone(l.tasks)
}

// advanceTo notes that everything from after up to a message is taken. It reports false where something before that was not recorded after all.
func (q *queue) advanceTo(l *backlog, after, id string, taken bool) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if l.after != after {
		return false
	}
	l.after = id
	if _, known := q.marks.Get(l.room); known || taken {
		q.marks.Add(l.room, mark{id: id})
	}
	return true
}

// giveUp notes that nothing can be fetched in a room. What else there is to do is done all the same.
func (q *queue) giveUp(l *backlog) {
	q.mu.Lock()
	defer q.mu.Unlock()
	l.after = ""
	q.marks.Remove(l.room)
}

// dropTask notes that the first task is done.
func (q *queue) dropTask(l *backlog) {
	q.mu.Lock()
	defer q.mu.Unlock()
	l.tasks = l.tasks[1:]
}

// finish reports whether nothing came since version; then the room is not behind any more.
func (q *queue) finish(l *backlog, version int) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if l.version != version {
		return false
	}
	delete(q.behind, l.room)
	return true
}

// putBack says that nobody works on a room any more, which is due then if it is not done.
func (q *queue) putBack(l *backlog, progress bool, due time.Time) {
	q.mu.Lock()
	defer q.mu.Unlock()
	l.working = false
	q.turns++
	q.signal()
	l.due = due
	if l.try++; progress {
		l.try = 0
	}
}

// Status is how far catching up is.
type Status struct {
	Sessions int  // of the gateway that began
	Waiting  bool // for the marks: until they are read nothing is taken as it comes
	Behind   int  // rooms
	Working  int  // of those, the ones that are worked on just now
	Turns    int  // that rooms have had so far
}

// Status tells how far catching up is.
func (q *queue) Status() Status {
	q.mu.Lock()
	defer q.mu.Unlock()
	s := Status{Sessions: q.suspended, Waiting: q.suspended != q.resumed, Behind: len(q.behind), Turns: q.turns}
	for _, l := range q.behind {
		if l.working {
			s.Working++
		}
	}
	return s
}

// Recheck has the clock looked at again, for a clock that was moved by hand.
func (q *queue) Recheck() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.signal()
}
