package surface

import (
	"errors"
	"reflect"
	"testing"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/render"
)

var errRefused = errors.New("refused")

// drawLevels makes renditions that are their own level.
func drawLevels(m render.Message) Renditions[int] {
	as := func(_ render.Message, p string) string { return p }
	return Encoder[string, int]{Draw: func(render.Message) string { return "" }, Plain: as, Text: as, Write: func(level int, _ string) int { return level }}.Renditions(m)
}

func TestRenditionsAreTriedUntilOneIsTaken(t *testing.T) {
	ask := render.Message{Blocks: []render.Block{render.Ask{}}}
	for _, c := range []struct {
		m          render.Message
		from, want int
		taken      bool
	}{
		{render.Message{}, LevelFull, LevelFull, true}, {render.Message{}, LevelHalf, LevelText, true}, {ask, LevelPlain, LevelPlain, true},
		{render.Message{}, LevelFull, LevelText + 1, false}, {ask, LevelFull, LevelText, false},
	} {
		tried := []int{}
		got, err := drawLevels(c.m).Send(c.from, func(level int) error {
			if tried = append(tried, level); level == c.want {
				return nil
			}
			return errRefused
		}, func(_ int, err error) bool { return errors.Is(err, errRefused) })
		pe, none := errors.AsType[*agent.PlatformError](err)
		if c.taken && (err != nil || got != c.want || len(tried) != c.want-c.from+1) || !c.taken && (!none || pe.Kind != agent.FaultForbidden || !errors.Is(err, errRefused)) {
			t.Errorf("%+v: %d, %v after %d", c, got, err, tried)
		}
	}
	other := errors.New("no network")
	if _, err := drawLevels(ask).Send(LevelFull, func(int) error { return other }, func(int, error) bool { return false }); !errors.Is(err, other) {
		t.Errorf("%v", err)
	}
}

// What is looked at and then sent is drawn once.
func TestTheLastRenditionIsKept(t *testing.T) {
	drawn := 0
	kept := Renditions[int](func(level int) (int, bool) {
		drawn++
		return level, level != LevelHalf
	}).Kept()
	for _, level := range []int{LevelFull, LevelFull, LevelHalf, LevelHalf, LevelFull} {
		if got, ok := kept(level); got != level || ok == (level == LevelHalf) {
			t.Errorf("level %d: %d, %v", level, got, ok)
		}
	}
	if drawn != 3 {
		t.Errorf("drawn %d times", drawn)
	}
}

// A message that is posted notifies nobody but who has no name: such a one only the platform knows.
func TestQuietly(t *testing.T) {
	t.Parallel()
	ana, nameless := render.Person{Name: "Ana"}, render.Person{}
	line := render.Line{render.Strong("for"), ana, nameless}
	m := render.Message{Blocks: []render.Block{render.Step{Detail: line}, render.Note{Line: line}, render.Ask{Facts: line, Footer: line}, render.Text{}}}
	quiet := render.Line{render.Strong("for"), render.Plain("Ana"), nameless}
	want := []render.Block{render.Step{Detail: quiet}, render.Note{Line: quiet}, render.Ask{Facts: quiet, Footer: quiet}, render.Text{}}
	if got := Quietly(m).Blocks; !reflect.DeepEqual(got, want) || line[1] != ana {
		t.Errorf("%+v", got)
	}
}

func TestWhatAMessageHas(t *testing.T) {
	t.Parallel()
	one, two := render.Step{Title: "one"}, render.Step{Title: "two"}
	if got := StepsAt([]render.Block{one, two, render.Note{}, one}); !reflect.DeepEqual(got, []render.Step{one, two}) {
		t.Errorf("%+v", got)
	}
	for s, want := range map[render.State]bool{render.Working: false, render.Waiting: false, render.Done: true, render.Failed: true, render.Stopped: true} {
		if Ends(render.Message{State: s}) != want {
			t.Errorf("%s: %v", s, !want)
		}
	}
}
