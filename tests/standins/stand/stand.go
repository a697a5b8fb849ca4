// Package stand is what the stand-ins of platforms have in common: a [Signal] that something happened, [Faults] that are planned for calls, the
// [Journal] of calls, the listener, and the [Page] on which a developer is everybody.
//
// It knows no platform and nothing of nod; the tests' harness uses its Signal, too. What two stand-ins do in the same way goes here, and what a
// platform says or refuses into the stand-in that is it.
package stand

import (
	"context"
	"math"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
)

// Signal tells everybody who waits that something happened. The zero value works.
type Signal struct {
	mu   sync.Mutex
	next chan struct{}
}

// Changed is closed at the next thing that happens here.
func (s *Signal) Changed() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.next == nil {
		s.next = make(chan struct{})
	}
	return s.next
}

// Fire wakes everybody.
func (s *Signal) Fire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.next != nil {
		close(s.next)
		s.next = nil
	}
}

// Wait returns when is holds, asking again whenever something happened here, or with the context's error.
func (s *Signal) Wait(ctx context.Context, is func() bool) error {
	for {
		next := s.Changed() // before is: nothing that happens in between is missed
		if is() {
			return nil
		}
		select {
		case <-next:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Faults are what goes wrong with calls (C), by method; a fault (F) says how. The zero value is nothing.
type Faults[C, F any] struct {
	mu    sync.Mutex
	plans map[string][]*plan[C, F]
}

// plan is a fault for some calls.
type plan[C, F any] struct {
	left  int
	fault F
	when  func(C) *F
}

// Fail makes the next n calls of a method fail; "" is any method.
func (s *Faults[C, F]) Fail(method string, n int, f F) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.plans == nil {
		s.plans = map[string][]*plan[C, F]{}
	}
	s.plans[method] = append(s.plans[method], &plan[C, F]{left: n, fault: f})
}

// FailWhen asks for each call of a method ("" is any) whether it should fail, instead of all that was planned; nil for f ends that.
func (s *Faults[C, F]) FailWhen(method string, f func(C) *F) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.plans == nil {
		s.plans = map[string][]*plan[C, F]{}
	}
	s.plans[method] = nil
	if f != nil {
		s.plans[method] = []*plan[C, F]{{left: math.MaxInt, when: f}}
	}
}

// FaultOf is what goes wrong with a call; nil where it works.
func (s *Faults[C, F]) FaultOf(method string, call C) *F {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, key := range []string{method, ""} {
		for len(s.plans[key]) > 0 {
			p := s.plans[key][0]
			if p.left <= 0 {
				s.plans[key] = s.plans[key][1:]
				continue
			}
			if p.when == nil {
				p.left--
				return &p.fault
			}
			if f := p.when(call); f != nil {
				return f
			}
			break
		}
	}
	return nil
}

// Journal is the calls so far in the order they were answered. The zero value is empty.
type Journal[C interface {
	Called() (method string, ok bool)
}] struct {
	mu    sync.Mutex
	calls []C
}

// Calls are all of them, or those of some methods.
func (j *Journal[C]) Calls(methods ...string) []C {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(j.calls), func(c C) bool {
		method, _ := c.Called()
		return len(methods) > 0 && !slices.Contains(methods, method)
	})
}

// Count is how many calls of a method succeeded.
func (j *Journal[C]) Count(method string) (n int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, c := range j.calls {
		if m, ok := c.Called(); ok && m == method {
			n++
		}
	}
	return n
}

// Forget empties the journal.
func (j *Journal[C]) Forget() {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.calls = nil
}

// Record notes a call.
func (j *Journal[C]) Record(c C) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.calls = append(j.calls, c)
}

// Listen makes a server that does not serve yet, at an address, or where there is room. It panics if it cannot listen.
func Listen(address string, h http.Handler) *httptest.Server {
	s := httptest.NewUnstartedServer(h)
	if address != "" {
		l, err := net.Listen("tcp", address)
		if err != nil {
			panic("a stand-in: " + err.Error())
		}
		_ = s.Listener.Close() // the one it made on its own
		s.Listener = l
	}
	return s
}

// Beside serves what is not the platform's own by h: a page of a program's own, for a developer to look at.
func Beside(s *httptest.Server, own func(path string) bool, h http.Handler) {
	api := s.Config.Handler
	s.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if own(r.URL.Path) {
			api.ServeHTTP(w, r)
			return
		}
		h.ServeHTTP(w, r)
	})
}
