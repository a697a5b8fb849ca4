package surface

import (
	"errors"
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
