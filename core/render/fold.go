package render

import (
	"slices"
	"strings"

	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/text"
)

// cardChoices is how many buttons a card keeps outside ⋯ when there are too many, View details apart.
const cardChoices = 4

// fewerChoices brings the buttons within n: surplus ones of cards move behind ⋯, then those of steps and
// notes go, the oldest first.
func (d *draft) fewerChoices(n int) {
	over := func() bool {
		z := len(d.choices) + 1 // View details of the message
		for _, b := range d.blocks {
			shown, _ := choicesOf(b)
			z += len(shown)
			if _, ask := b.(Ask); ask && !hasView(shown) {
				z++
			}
		}
		return z > n
	}
	for i := len(d.blocks) - 1; i >= 0 && over(); i-- {
		if a, ok := d.blocks[i].(Ask); ok {
			d.blocks[i] = fewerOnCard(a)
		}
	}
	for i := 0; i < len(d.blocks) && over(); i++ {
		if _, ask := d.blocks[i].(Ask); ask { // thinned above
			continue
		}
		shown, _ := choicesOf(d.blocks[i])
		d.lost += len(shown)
		d.blocks[i] = withChoices(d.blocks[i], nil, nil)
	}
}

// fewerOnCard moves surplus choices behind ⋯. Deny stays first of all, then the other answers.
func fewerOnCard(a Ask) Ask {
	weight := func(c Choice) int {
		switch c.Choice {
		case chat.Deny:
			return 0
		case chat.AllowChat, chat.AllowOnce, chat.Happened, chat.RunAgain, chat.Leave:
			return 1
		case chat.ViewDetail:
			return 3
		}
		return 2
	}
	stays := map[int]bool{}
	for w := range 4 {
		for i, c := range a.Choices {
			if weight(c) == w && (len(stays) < cardChoices || c.Choice == chat.ViewDetail) {
				stays[i] = true
			}
		}
	}
	var kept []Choice
	more := slices.Clone(a.More)
	for i, c := range a.Choices {
		if stays[i] {
			kept = append(kept, c)
		} else {
			more = append(more, c)
		}
	}
	a.Choices, a.More = kept, more
	return a
}

// fewerBlocks brings the message within n blocks: older steps first, then texts and notes are joined.
func (d *draft) fewerBlocks(n int) {
	fits := func(d draft) bool { return len(d.message().Blocks) <= n }
	try := func(k int) draft {
		t := *d
		t.keepSteps(k)
		return t
	}
	*d = try(search(0, d.steps(), func(k int) bool { return fits(try(k)) }))
	if !fits(*d) {
		d.merge()
	}
}

// keepSteps folds all but k steps into one note: finished ones before those that run or wait, the oldest first.
func (d *draft) keepSteps(k int) {
	over := d.steps() - k
	fold := map[int]bool{}
	for _, live := range []bool{false, true} {
		for i, b := range d.blocks {
			if s, ok := b.(Step); ok && live == isLive(s.State) && len(fold) < over {
				fold[i] = true
			}
		}
	}
	first := len(d.folded) == 0
	var kept []Block
	for i, b := range d.blocks {
		if !fold[i] {
			kept = append(kept, b)
			continue
		}
		s := b.(Step)
		if s.follows { // it is counted with the questions that follow
			if i < d.at {
				d.at--
			}
			continue
		}
		if first {
			d.at, first = len(kept), false
		} else if i < d.at {
			d.at-- // it stood before the note
		}
		d.folded = append(d.folded[:len(d.folded):len(d.folded)], s)
		for _, c := range s.Choices {
			if c.Choice == chat.ViewDetail {
				continue // the message has one
			}
			if s.Title != "" {
				c.Label += " · " + text.OneLine(s.Title)
			}
			d.kept = append(d.kept[:len(d.kept):len(d.kept)], c)
		}
	}
	d.blocks, d.kept = kept, shortLabels(d.kept, d.limits.Label)
}

func isLive(s StepState) bool {
	return s == StepRunning || s == StepWaiting || s == StepUnknown || s == StepPending
}

// merge joins all texts and code into one text, and all notes into one note. Buttons stay.
func (d *draft) merge() {
	d.keepSteps(0)
	var texts []string
	var note Note
	var asks []Block
	whole := Text{}
	for _, b := range d.blocks {
		switch b := b.(type) {
		case Text:
			texts = append(texts, closed(b.Markdown))
			whole.Cut = whole.Cut || b.Cut
		case Code:
			texts = append(texts, fence(b.Language, b.Source))
		case Note:
			if len(note.Line) > 0 && len(b.Line) > 0 {
				note.Line = append(note.Line, Plain(" · "))
			}
			note.Line = append(note.Line, b.Line...)
			note.Choices = append(note.Choices, b.Choices...)
		case Ask:
			asks = append(asks, b)
		default: // steps were folded above
		}
	}
	d.blocks = nil
	if texts != nil {
		whole.Markdown = strings.Join(texts, "\n\n")
		d.blocks = append(d.blocks, whole)
	}
	d.at = len(d.blocks)
	d.blocks = append(d.blocks, asks...)
	if len(note.Line) > 0 || note.Choices != nil {
		d.blocks = append(d.blocks, note)
	}
}

// capAsk cuts the parts of a card, and gives it View details if it did. The warning is worth more than the rest.
func capAsk(from Ask, c caps, place int, m *memo) Ask {
	a, cut := from, false
	for _, part := range []struct {
		text *string
		cap  int
	}{{&a.Header, c.all}, {&a.Run, c.all}, {&a.Question, c.all}, {&a.Says, c.server}, {&a.Warning, max(200, c.all)}, {&a.Review, max(80, c.all)}} {
		whole := *part.text
		*part.text = shortened(whole, part.cap)
		cut = cut || *part.text != whole
	}
	a.Facts, a.Footer = cutLine(a.Facts, c.all), cutLine(a.Footer, c.all)
	a.Args = remembered(m.args, [2]int{place, c.args}, func() Args { return cutArgs(from.Args, c.args) })
	if !cut && a.Args.JSON == from.Args.JSON && a.Args.Diff == from.Args.Diff && slices.Equal(a.Args.Rows, from.Args.Rows) && slices.Equal(a.Facts, from.Facts) &&
		slices.Equal(a.Footer, from.Footer) {
		return from
	}
	if !hasView(a.Choices) { // behind ⋯ it would be too far away
		a.More = slices.DeleteFunc(slices.Clone(a.More), func(c Choice) bool { return c.Choice == chat.ViewDetail })
	}
	a.Choices = withView(a.Choices, a.Token)
	return a
}
