package discord

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	maxBehind = 4096
	maxTodo   = 100  // of one room
	maxMarked = 8192 // rooms whose marks are known here, those used last
	// marksApart is how often a mark moves for messages that are not for us: each costs a write, and saves a message from being
	// fetched that is not for us then either.
	marksApart = 30 * time.Second
)

// rooms are how far each room was read. The zero value is ready.
type rooms struct {
	mu     sync.Mutex
	late   map[string]*lagging
	marks  recent[mark]
	frozen int // how often a new session began whose marks are not read yet
	began  int
	change chan struct{} // closed when something may be to do

	moments map[string]string // of each shard: what its last session may not have brought is after it
	read    time.Time         // when those were read
	moved   []moved           // servers told before that
}

// moved is a room whose newest message a server told when a session began.
type moved struct{ room, newest, shard string }

type mark struct {
	id string
	at time.Time // when it was written
}

// lagging is a room that is behind: nothing is taken there as it comes, but fetched in order.
type lagging struct {
	room string

	after   string // everything up to this is taken; empty: nothing has to be fetched
	seen    int    // messages that were left to be fetched
	todo    []func(context.Context) error
	rank    string // rooms with newer marks go first
	due     time.Time
	try     int
	working bool
}

// changed is closed at the next change. Callers hold mu.
func (r *rooms) changed() <-chan struct{} {
	if r.change == nil {
		r.change = make(chan struct{})
	}
	return r.change
}

func (r *rooms) signal() {
	if r.change != nil {
		close(r.change)
		r.change = nil
	}
}

// lag is the entry of a room that is behind, which it is from now on; nil where there are too many.
func (r *rooms) lag(room string) *lagging {
	if l := r.late[room]; l != nil {
		return l
	}
	if len(r.late) >= maxBehind {
		return nil
	}
	if r.late == nil {
		r.late = map[string]*lagging{}
	}
	l := &lagging{room: room}
	r.late[room] = l
	r.signal()
	return l
}

// behind: a message was not recorded, and is to be fetched.
func (r *rooms) behind(room, id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if l := r.lag(room); l != nil {
		l.from(justBefore(id))
	}
}

// from: what is after id is not all taken.
func (l *lagging) from(id string) {
	if l.after == "" || older(id, l.after) {
		l.after = id
	}
	l.rank = cmp.Or(l.rank, id)
	l.seen++
}

// deferred reports whether a message is to be fetched in its turn instead of being taken now.
func (r *rooms) deferred(room, id string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	l := r.late[room]
	if l == nil && r.frozen == r.began {
		return false
	}
	if l == nil {
		if l = r.lag(room); l == nil {
			return false
		}
	}
	if l.after != "" && !older(l.after, id) {
		return true // it was fetched before it came
	}
	if l.after == "" {
		l.from(justBefore(id))
	} else {
		l.seen++
	}
	if l.try == 0 {
		l.rank = maxRank // somebody waits there
	}
	return true
}

// maxRank goes before every mark.
const maxRank = "99999999999999999999"

// later keeps what is to be done about a message of a room that is behind. It reports false where the room is not. An empty
// message stands for the room itself.
func (r *rooms) later(room, message string, do func(context.Context) error) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	l := r.late[room]
	if l == nil {
		return false
	}
	if message != "" && l.after != "" && older(l.after, message) {
		return true
	}
	l.keep(do)
	return true
}

func (l *lagging) keep(do func(context.Context) error) {
	if len(l.todo) < maxTodo {
		l.todo = append(l.todo, do)
		l.seen++
	}
}

// redo has something tried again.
func (r *rooms) redo(room string, do func(context.Context) error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if l := r.lag(room); l != nil {
		l.keep(do)
	}
}

// advance reports whether a room's mark is to be written now.
func (r *rooms) advance(room, id string, taken bool, now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	was, known := r.marks.get(room)
	switch {
	case r.late[room] != nil || r.frozen != r.began:
		return false
	case known && !older(was.id, id):
		return false
	case !taken && (!known || now.Sub(was.at) < marksApart):
		return false
	}
	r.marks.put(maxMarked, room, mark{id, now})
	return true
}

// marked reports whether a room has a mark that is known here.
func (r *rooms) marked(room string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, ok := r.marks.get(room)
	return ok
}

func (r *rooms) forget(room string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.marks.drop(room)
}

// freeze: something may have been missed anywhere.
func (r *rooms) freeze() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.began++
	r.signal()
}

// awaitFreeze waits until marks are to be read. ok is false when ctx ended.
func (r *rooms) awaitFreeze(ctx context.Context) (asked int, ok bool) {
	for {
		r.mu.Lock()
		asked, ok = r.began, r.began != r.frozen
		changed := r.changed()
		r.mu.Unlock()
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

// tell has rooms fetched that nobody marked, where the session that began lately says that something was written there since the one
// before it.
func (r *rooms) tell(told []moved, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.frozen != r.began {
		if len(r.moved)+len(told) <= maxBehind {
			r.moved = append(r.moved, told...)
		}
		return
	}
	if now.Sub(r.read) < momentsCount {
		r.missed(told)
	}
}

func (r *rooms) missed(told []moved) {
	for _, m := range told {
		since := r.moments[m.shard]
		if _, marked := r.marks.get(m.room); marked || since == "" || !older(since, m.newest) {
			continue
		}
		if l := r.lag(m.room); l != nil {
			l.from(since)
		}
	}
}

// thaw has every marked room fetched, from its mark or oldest on, and lets messages be taken as they come again.
func (r *rooms) thaw(asked int, marks map[string]string, oldest string, now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	order := make([]string, 0, len(marks))
	r.moments, r.read = map[string]string{}, now
	for room, id := range marks {
		if strings.HasPrefix(room, momentPlace) && !older(id, oldest) {
			r.moments[room] = id
		}
		if isSnowflake(room) && isSnowflake(id) {
			order = append(order, room)
		}
	}
	slices.SortFunc(order, func(x, y string) int { return compareIDs(marks[y], marks[x]) })
	for i, room := range order {
		id := marks[room]
		if i < maxMarked {
			r.marks.put(maxMarked, room, mark{id: id})
		}
		if older(id, oldest) {
			id = oldest
		}
		if l := r.lag(room); l != nil {
			l.from(id)
		}
	}
	r.missed(r.moved)
	r.moved = nil
	r.frozen = asked
	r.signal()
}

// next is a room that is behind and due, which the caller works on alone. ok is false when ctx ended.
func (r *rooms) next(ctx context.Context, now func() time.Time) (l *lagging, ok bool) {
	for {
		if ctx.Err() != nil {
			return nil, false
		}
		r.mu.Lock()
		l, wait := r.pick(now())
		if l != nil {
			l.working = true
			r.mu.Unlock()
			return l, true
		}
		changed := r.changed()
		r.mu.Unlock()
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
func (r *rooms) pick(now time.Time) (best *lagging, wait time.Duration) {
	if r.frozen != r.began {
		return nil, 0
	}
	for _, l := range r.late {
		switch d := l.due.Sub(now); {
		case l.working:
		case d > 0:
			if wait == 0 || d < wait {
				wait = d
			}
		case best == nil || older(best.rank, l.rank):
			best = l
		}
	}
	return best, wait
}

// work is what there is to do in a room.
func (r *rooms) work(l *lagging) (after string, seen int, todo []func(context.Context) error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return l.after, l.seen, slices.Clone(l.todo)
}

// took: everything from after up to a message is taken. It reports false where something before that was not recorded after all.
func (r *rooms) took(l *lagging, after, id string, taken bool) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if l.after != after {
		return false
	}
	l.after = id
	if _, known := r.marks.get(l.room); known || taken {
		r.marks.put(maxMarked, l.room, mark{id: id})
	}
	return true
}

// unread: nothing can be fetched in a room. What else there is to do is done all the same.
func (r *rooms) unread(l *lagging) {
	r.mu.Lock()
	defer r.mu.Unlock()
	l.after = ""
	r.marks.drop(l.room)
}

// did: the first of what was to do is done.
func (r *rooms) did(l *lagging) {
	r.mu.Lock()
	defer r.mu.Unlock()
	l.todo = l.todo[1:]
}

// done reports whether nothing came since seen; then the room is not behind any more.
func (r *rooms) done(l *lagging, seen int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if l.seen != seen || r.late[l.room] != l {
		return false
	}
	delete(r.late, l.room)
	return true
}

// back puts a room back that is not done, or lets go of one that is.
func (r *rooms) back(l *lagging, done, progress bool, due time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	l.working = false
	r.signal()
	if done {
		return
	}
	l.due = due
	if l.try++; progress {
		l.try = 0
	}
}
