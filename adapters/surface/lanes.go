package surface

import "sync"

// What one process works on at once.
const (
	MaxAtOnce  = 32   // deliveries in work: each waits for Redis or the platform most of its time
	MaxWaiting = 1000 // deliveries taken and not done; one more is left to the platform to send again
)

// Lanes runs deliveries: those of one lane (a thread, a message's buttons) one after the other in the order they came, those of
// different lanes side by side. Putting something in never blocks, so whoever drains a socket never stops.
//
// The zero value is closed and takes nothing.
type Lanes struct {
	mu      sync.Mutex
	opened  bool
	lanes   map[string][]func() // what waits, and first what runs
	ready   []string            // lanes with something to run that nobody runs
	taken   int
	running int
	idle    chan struct{} // closed when nothing runs any more after Close
}

// Open lets things in.
func (q *Lanes) Open() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.opened, q.lanes, q.idle = true, map[string][]func(){}, make(chan struct{})
}

// Close lets nothing in any more, and returns when all that was taken is done.
func (q *Lanes) Close() {
	q.mu.Lock()
	if !q.opened {
		q.mu.Unlock()
		return
	}
	q.opened = false
	if q.running == 0 {
		close(q.idle)
	}
	idle := q.idle
	q.mu.Unlock()
	<-idle
}

// Put takes a piece of work, which is then certainly run, or reports that it does not.
func (q *Lanes) Put(lane string, work func()) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.opened || q.taken >= MaxWaiting {
		return false
	}
	q.taken++
	q.lanes[lane] = append(q.lanes[lane], work)
	if len(q.lanes[lane]) > 1 {
		return true
	}
	q.ready = append(q.ready, lane)
	if q.running < MaxAtOnce {
		q.running++
		go q.run()
	}
	return true
}

// Taken is how many pieces of work wait or run.
func (q *Lanes) Taken() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.taken
}

// run works until no lane is ready.
func (q *Lanes) run() {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.ready) > 0 {
		lane := q.ready[0]
		q.ready = q.ready[1:]
		work := q.lanes[lane][0]
		q.mu.Unlock()
		work()
		q.mu.Lock()
		q.taken--
		if q.lanes[lane] = q.lanes[lane][1:]; len(q.lanes[lane]) > 0 {
			q.ready = append(q.ready, lane)
		} else {
			delete(q.lanes, lane)
		}
	}
	q.running--
	if q.running == 0 && !q.opened {
		close(q.idle)
	}
}
