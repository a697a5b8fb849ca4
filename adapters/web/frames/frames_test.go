package frames

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"github.com/nodhq/nod/core/chat"
)

var (
	here  = chat.ID{Platform: "web", Key: "c-1"}
	wants = chat.ID{Platform: "web", Key: "~frames"}
)

// shelf is what the replicas have in common.
type shelf struct {
	mu    sync.Mutex
	ears  map[chat.ID][]chan []byte
	bytes map[chat.ID]int
	sent  map[chat.ID]int // times
	lose  func(chat.ID) bool
	down  error
}

func newShelf() *shelf {
	return &shelf{ears: map[chat.ID][]chan []byte{}, bytes: map[chat.ID]int{}, sent: map[chat.ID]int{}, lose: func(chat.ID) bool { return false }}
}

func (s *shelf) PublishLive(_ context.Context, id chat.ID, b []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.bytes[id] += len(b)
	s.sent[id]++
	if s.down != nil || s.lose(id) {
		return s.down
	}
	for _, ear := range s.ears[id] {
		ear <- b
	}
	return nil
}

// told is how much was sent there so far, and how often.
func (s *shelf) told(id chat.ID) (bytes, times int) {
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.bytes[id], s.sent[id]
}

func (s *shelf) Live(ctx context.Context, id chat.ID) (<-chan []byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.down != nil {
		return nil, s.down
	}
	ear := make(chan []byte, 1000)
	s.ears[id] = append(s.ears[id], ear)
	context.AfterFunc(ctx, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.ears[id] = slices.DeleteFunc(s.ears[id], func(c chan []byte) bool { return c == ear })
		close(ear)
	})
	return ear, nil
}

// replica is one process, which runs until the test ends.
func replica(t *testing.T, s *shelf) *Frames {
	t.Helper()
	f := New(s, wants)
	said, err := s.Live(t.Context(), wants)
	if err != nil {
		t.Fatal(err)
	}
	var running sync.WaitGroup
	running.Go(func() { f.Run(t.Context(), said) })
	t.Cleanup(running.Wait)
	return f
}

// page is somebody who follows a chat. seen is what it showed, the last at its end.
type page struct {
	t *testing.T
	*Reader
	seen []string
}

func open(t *testing.T, f *Frames) *page {
	t.Helper()
	r, err := f.Follow(t.Context(), here)
	if err != nil {
		t.Fatal(err)
	}
	return &page{t: t, Reader: r}
}

// look takes in all that came, and says what stands there.
func (p *page) look() string {
	p.t.Helper()
	for {
		synctest.Wait()
		select {
		case b := <-p.Own:
			p.seen = append(p.seen, string(b))
		case b := <-p.Heard:
			if b := p.Read(p.t.Context(), b); b != nil {
				p.seen = append(p.seen, string(b))
			}
		default:
			if len(p.seen) == 0 {
				return ""
			}
			return p.seen[len(p.seen)-1]
		}
	}
}

func show(t *testing.T, f *Frames, text string) {
	t.Helper()
	if err := f.Show(t.Context(), here, []byte(text)); err != nil {
		t.Fatal(err)
	}
	synctest.Wait()
}

// frame is a message with so many words.
func frame(words int) string {
	return `{"blocks":[{"markdown":"` + strings.Repeat("wörd ", words) + `"}],"choices":[]}`
}

// grow shows a message that grows by ten words a second, to a page that looks at each.
func grow(t *testing.T, f *Frames, p *page, words int) {
	t.Helper()
	for i := range words {
		show(t, f, frame(i))
		time.Sleep(100 * time.Millisecond)
		p.look()
	}
}

func TestAPageOfTheSameReplicaSeesTheNewestAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf()
		f := replica(t, s)
		early := open(t, f)
		for i := range 10 {
			show(t, f, frame(i))
			if i%2 == 0 && early.look() != frame(i) {
				t.Errorf("after %d words: %q", i, early.look())
			}
		}
		if early.look() != frame(9) || len(early.seen) != 6 {
			t.Errorf("the newest of what was not taken is shown: %q", early.seen)
		}
		if late := open(t, f); late.look() != frame(9) {
			t.Errorf("who comes later sees %q", late.look())
		}
		f.Forget(here)
		if late := open(t, f); late.look() != "" {
			t.Errorf("who comes when it is over sees %q", late.look())
		}
	})
}

func TestAPageOfAnotherReplicaSeesItGrow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf()
		a, b := replica(t, s), replica(t, s)
		p := open(t, b)
		grow(t, a, p, 300)
		_, n := s.told(here)
		if _, asked := s.told(wants); len(p.seen) < 90 || n > int(30*time.Second/often)+2 || asked > int(30*time.Second/askAgain)+2 {
			t.Errorf("it saw %d frames in 30 s, of %d that were sent, and asked %d times", len(p.seen), n, asked)
		}
		time.Sleep(often)
		if p.look() != frame(299) {
			t.Errorf("the last one did not come: %q", p.look())
		}
		if late := open(t, b); late.look() != frame(299) {
			t.Errorf("who comes later sees %q", late.look())
		}
	})
}

func TestTheNextTurnIsSeenToGrowFromItsBeginning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf()
		a, b := replica(t, s), replica(t, s)
		p := open(t, b)
		for range 3 {
			p.seen = nil
			grow(t, a, p, 20)
			if len(p.seen) < 7 {
				t.Errorf("of the two seconds of a turn it saw %d frames", len(p.seen))
			}
			a.Forget(here)
		}
	})
}

// What a replica shows is asked for anew, and forgotten when nobody asks.
func TestNobodyIsToldMuchWhoDoesNotShowIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf()
		a, b := replica(t, s), replica(t, s)
		write := func() (sent int) {
			before, times := s.told(here)
			for i := range 600 {
				show(t, a, frame(i*6))
				time.Sleep(100 * time.Millisecond)
			}
			all, n := s.told(here)
			if n -= times; n > int(time.Minute/seldom)+2 {
				t.Errorf("%d frames are sent that nobody shows", n)
			}
			return all - before
		}
		text := len(frame(600 * 6))
		if sent := write(); sent > 2*text {
			t.Errorf("%d bytes are sent for %d that nobody shows", sent, text)
		}
		ctx, leave := context.WithCancel(t.Context())
		if _, err := b.Follow(ctx, here); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		d, _ := a.drawn.Get(here)
		if !d.until.After(time.Now()) {
			t.Error("that another replica shows it was not heard")
		}
		leave()
		synctest.Wait()
		if len(b.readers) > 0 {
			t.Error("who left is still shown what comes")
		}
		time.Sleep(wanted)
		if sent := write(); sent > 3*text { // it begins with a whole one
			t.Errorf("%d bytes are sent for %d that nobody shows any more", sent, text)
		}
	})
}

func TestALostFrameIsMadeUpFor(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf()
		a, b := replica(t, s), replica(t, s)
		p := open(t, b)
		draw := rand.New(rand.NewPCG(1, 2))
		for i := range 400 {
			s.mu.Lock()
			s.lose = func(chat.ID) bool { return i < 390 && draw.IntN(3) == 0 } // the last second is a good one
			s.mu.Unlock()
			show(t, a, frame(i))
			time.Sleep(often)
			p.look()
		}
		if got := p.look(); got != frame(399) {
			t.Errorf("at the end: %q", got)
		}
		for _, seen := range p.seen {
			if !strings.HasPrefix(seen, frame(0)[:24]) || !strings.HasSuffix(seen, frame(0)[24:]) || strings.Trim(seen[24:len(seen)-len(frame(0)[24:])], "wörd ") != "" {
				t.Fatalf("a frame that nobody drew: %q", seen)
			}
		}
		if len(p.seen) < 100 {
			t.Errorf("it saw %d frames", len(p.seen))
		}
	})
}

// Whoever drew the chat before does not answer for whoever draws it now.
func TestAnotherReplicaTakesOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf()
		a, b, c := replica(t, s), replica(t, s), replica(t, s)
		p := open(t, c)
		show(t, a, frame(1))
		for i := range 40 {
			s.mu.Lock()
			s.lose = func(id chat.ID) bool { return id == here && i%10 == 5 }
			s.mu.Unlock()
			show(t, b, frame(2+i))
			time.Sleep(askWhole)
			if got := p.look(); i%10 != 5 && got != frame(2+i) {
				t.Errorf("%d: %q", i, got)
			}
		}
		if slices.Contains(p.seen[2:], frame(1)) {
			t.Error("what the first one drew came back")
		}
	})
}

func TestAShelfThatIsDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf()
		f := replica(t, s)
		s.mu.Lock()
		s.down = errors.New("down")
		s.mu.Unlock()
		if _, err := f.Follow(t.Context(), here); !errors.Is(err, s.down) {
			t.Errorf("following: %v", err)
		}
		if err := f.Show(t.Context(), here, []byte("{}")); !errors.Is(err, s.down) {
			t.Errorf("showing: %v", err)
		}
	})
}

func TestWhatCannotBeRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newShelf()
		f := replica(t, s)
		p := open(t, f)
		for _, msg := range []string{"", "{}", "x 1", "x 2 0 0\n{}", "x 1 0 0", f.by + " 1 0 0\nours", "x 2 -1 3\n", "x 2 9 9\n"} {
			if got := p.Read(t.Context(), []byte(msg)); len(got) > 0 {
				t.Errorf("%q: %q", msg, got)
			}
		}
		if got := p.Read(t.Context(), []byte("x 1 0 0\nabc")); string(got) != "abc" {
			t.Errorf("a whole one: %q", got)
		}
		for _, msg := range []string{"x 2 2 2\nlonger than what it changes", "x 2 -1 3\n", "x 2 3 -1\n", "y 2 1 1\nanother's", "x 2 9223372036854775807 1\n"} {
			_ = p.Read(t.Context(), []byte("x 1 0 0\nabc"))
			if got := p.Read(t.Context(), []byte(msg)); got != nil {
				t.Errorf("%q: %q", msg, got)
			}
		}
		show(t, f, "{}")
		for _, said := range []string{"", "x", "x * 0", "x * 0 nowhere", "x * zero web::c-1", f.by + " * 0 " + here.String(), "x y 0 " + here.String()} {
			f.hear(t.Context(), said)
			if d, _ := f.drawn.Get(here); !d.until.IsZero() {
				t.Errorf("%q counts", said)
			}
		}
	})
}

func TestSame(t *testing.T) {
	letters := []string{"a", "b", "é", "ĩ", "ö", "€", "😀", "😁"}
	draw := rand.New(rand.NewPCG(3, 4))
	text := func() []byte {
		var b bytes.Buffer
		for range draw.IntN(9) {
			b.WriteString(letters[draw.IntN(len(letters))])
		}
		return b.Bytes()
	}
	for range 20_000 {
		a, b := text(), text()
		head, tail := Same(a, b)
		if head+tail > min(len(a), len(b)) || string(a[:head])+string(b[head:len(b)-tail])+string(a[len(a)-tail:]) != string(b) {
			t.Fatalf("%q, %q: %d, %d", a, b, head, tail)
		}
		if !utf8.Valid(b[head:len(b)-tail]) || !utf8.Valid(a[:head]) || !utf8.Valid(a[len(a)-tail:]) {
			t.Fatalf("%q, %q: %d, %d parts a character", a, b, head, tail)
		}
		ra, rb := []rune(string(a)), []rune(string(b))
		n := 0
		for n < min(len(ra), len(rb)) && ra[n] == rb[n] {
			n++
		}
		if got := utf8.RuneCount(a[:head]); got != n {
			t.Fatalf("%q, %q have %d characters in common at the beginning, not %d", a, b, n, got)
		}
	}
	if head, tail := Same([]byte("aXb"), []byte("aXcXb")); fmt.Sprint(head, tail) != "2 1" {
		t.Error(head, tail)
	}
}
