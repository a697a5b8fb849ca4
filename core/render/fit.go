package render

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/text"
)

// Fit brings a message within limits. At or above [Floor] the result always keeps them; below it, Fit does
// what it can. It never fails, never changes its argument (the result may share memory with it), and a message that keeps the
// limits comes back as it is.
//
// No ask is ever dropped, nor a choice of one: the first asks keep their cards, those for which there is no
// room become waiting steps with View details, counted in a note, and follow in a later message. While that
// is so, Approve all is taken away: it would allow calls whose arguments nobody was shown. Surplus choices of a
// card move behind ⋯.
//
// Whatever is cut is replaced by words with its size, and reachable by a View details choice on the ask, the
// step or the message. What goes first: details of older steps, then older steps as a whole, then what a
// server says about itself, then arguments, then long texts. Untrusted words go to a quarter of their worth
// before any argument is shortened, so that nobody can push arguments out of sight by talking much.
func Fit(m Message, l Limits) Message {
	if Within(m, l) {
		return m
	}
	l = l.finite()
	cards := min(Measure(m).Asks, l.Asks, max(1, l.Blocks-4)) // beside one text, one note, and the two that Fit may add
	for d := (draft{from: m, limits: l}).withCards(cards); ; d = d.withCards(d.cards - 1) {
		out, ok := d.degrade()
		if ok || d.cards <= 1 {
			return out
		}
	}
}

// draft is a message on its way into limits: which blocks stay, and how long their parts may be. Parts are
// always cut from the originals, so that the size of what is left out is exact. Its methods replace slices and
// never write into those of the message.
type draft struct {
	from    Message
	limits  Limits
	cards   int // asks that keep their card
	blocks  []Block
	choices []Choice
	waiting int    // asks without one
	folded  []Step // oldest first
	at      int    // where their note stands, as an index into blocks
	kept    []Choice
	lost    int // buttons that are not shown
	caps
	memo *memo
}

// memo remembers cuts of one Fit, because its searches ask for the same ones again and again.
type memo struct {
	args  map[[2]int]Args // by the ask's place among the asks, and the cap
	texts map[textCut]string
}

type textCut struct {
	text string
	cap  int
}

// remembered is what is known for a key, or else what is made for it.
func remembered[K comparable, V any](known map[K]V, key K, made func() V) V {
	v, ok := known[key]
	if !ok {
		v = made()
		known[key] = v
	}
	return v
}

// caps are how many characters parts may have.
type caps struct {
	details int // this many of the newest steps keep their details whole
	server  int // what a server says about itself and its tool
	args    int
	texts   int
	all     int // every other part
}

// withCards starts over from the message, with so many cards.
func (d draft) withCards(n int) draft {
	d = draft{from: d.from, limits: d.limits, cards: n, choices: d.from.Choices, memo: &memo{map[[2]int]Args{}, map[textCut]string{}}}
	whole := min(d.limits.Chars, d.limits.Bytes)
	d.caps = caps{details: len(d.from.Blocks), server: whole, args: min(d.limits.Args, whole), texts: min(d.limits.Text, whole), all: whole}
	last, end := 0, Ask{} // the last ask that keeps its card; the last one of all, on which stands what is the same for all
	for _, b := range d.from.Blocks {
		if a, ok := b.(Ask); ok {
			end = a
			if n--; n >= 0 {
				last = len(d.blocks)
			} else {
				d.waiting++
				b = Step{Call: a.Call, State: StepWaiting, Title: strings.TrimSuffix(a.Question, "?"), Tool: a.Tool, Server: a.Server,
					Choices: []Choice{NewChoice(chat.ViewDetail, a.Token)}, follows: true}
			}
		}
		d.blocks = append(d.blocks, b)
	}
	if d.waiting > 0 {
		a := d.blocks[last].(Ask)
		a.Warning, a.Review = cmp.Or(a.Warning, end.Warning), cmp.Or(a.Review, end.Review)
		if len(a.Footer) == 0 {
			a.Footer = end.Footer
		}
		d.blocks[last] = a
	}
	return d
}

// stage is one kind of degradation: the draft with its measure set to k. Smaller is shorter; it starts at from
// and may go down to to.
type stage struct {
	from, to int
	set      func(d draft, k int) draft
}

func (d draft) stages() []stage {
	steps := d.steps()
	server := func(d draft, k int) draft { d.server = min(d.server, k); return d }
	args := func(d draft, k int) draft { d.args = min(d.args, k); return d }
	texts := func(d draft, k int) draft { d.texts = min(d.texts, k); return d }
	keep := func(d draft, k int) draft { d.keepSteps(k); return d }
	long := min(d.all, Measure(d.from).Bytes)
	return []stage{
		{steps, 0, func(d draft, k int) draft { d.details = k; return d }},
		{steps, min(steps, 3), keep},
		{long, 160, server},
		{long, 600, args},
		{long, 400, texts},
		{160, minCut, server},
		{600, 200, args},
		{400, 100, texts},
		{3, 0, keep},
		{1, 0, func(d draft, k int) draft {
			if k == 0 {
				d.merge()
			}
			return d
		}},
		{long, minCut, func(d draft, k int) draft {
			d.all = min(d.all, k)
			return server(args(texts(d, k), k), k)
		}},
	}
}

// degrade runs the stages until the message fits, each as little as will do.
func (d draft) degrade() (Message, bool) {
	d.labels()
	d.fewerChoices(d.limits.Choices)
	d.fewerBlocks(d.limits.Blocks)
	m := d.message()
	for _, s := range d.stages() {
		if Within(m, d.limits) {
			return m, true
		}
		k := search(s.to, max(s.to, s.from), func(k int) bool { return Within(s.set(d, k).message(), d.limits) })
		d = s.set(d, k)
		m = d.message()
	}
	return m, Within(m, d.limits)
}

// message is the draft as it stands, with the notes that say what is not there.
func (d draft) message() Message {
	m := d.from
	m.Blocks = make([]Block, 0, len(d.blocks)+2)
	short, cut := d.steps()-d.details, d.lost > 0 || len(d.folded) > 0 || d.waiting > 0
	asks := 0
	for i, b := range d.blocks {
		if i == d.at && len(d.folded) > 0 {
			m.Blocks = append(m.Blocks, d.foldNote())
		}
		c := d.caps
		switch b.(type) {
		case Step:
			if short--; short < 0 {
				c.details = c.all
			} else {
				c.details = minCut
			}
		case Ask:
			asks++
		default: // without details of its own
		}
		b, less := d.capBlock(b, c, asks-1)
		m.Blocks, cut = append(m.Blocks, b), cut || less
	}
	if d.at >= len(d.blocks) && len(d.folded) > 0 {
		m.Blocks = append(m.Blocks, d.foldNote())
	}
	m.Choices = d.choices
	var say []string
	if d.waiting > 0 {
		say = append(say, text.MoreWait(d.waiting))
		if slices.ContainsFunc(m.Choices, isApproveAll) {
			say = append(say, text.ApproveAllLater)
			m.Choices = slices.DeleteFunc(slices.Clone(m.Choices), isApproveAll)
		}
	}
	if d.lost > 0 {
		say = append(say, text.ButtonsHidden(d.lost))
	}
	if say != nil {
		m.Blocks = append(m.Blocks, Note{Line: Line{Plain(strings.Join(say, " · "))}})
	}
	if cut {
		m.Choices = withView(m.Choices, d.token())
	}
	return m
}

// capBlock cuts the parts of a block; ask is the place of a card among the cards. less reports that the message has to have a View details
// for it, because the block has none of its own.
func (d draft) capBlock(b Block, c caps, ask int) (out Block, less bool) {
	switch b := b.(type) {
	case Step:
		n := b
		n.Title, n.Server, n.Detail = shortened(b.Title, c.all), shortened(b.Server, c.all), cutLine(b.Detail, c.details)
		less = n.Title != b.Title || n.Server != b.Server || !slices.Equal(n.Detail, b.Detail)
		if less && d.from.Token == "" && n.Call != "" {
			n.Choices, less = withView(n.Choices, n.Call), false
		}
		return n, less
	case Ask:
		return capAsk(b, c, ask, d.memo), false
	case Text:
		n := b
		n.Markdown = remembered(d.memo.texts, textCut{b.Markdown, c.texts}, func() string { return cutMarkdown(b.Markdown, c.texts) })
		return n, n != b
	case Code:
		n := Code{Language: shortened(b.Language, c.all)}
		n.Source, _ = shorten(b.Source, c.texts, 1, "\n")
		return n, n != b
	case Note:
		n := b
		n.Line = cutLine(b.Line, c.all)
		return n, !slices.Equal(n.Line, b.Line)
	}
	return b, false
}

func isApproveAll(c Choice) bool { return c.Choice == chat.ApproveAll }

func (d draft) steps() (n int) {
	for _, b := range d.blocks {
		if _, ok := b.(Step); ok {
			n++
		}
	}
	return n
}

func (d draft) foldNote() Note {
	n := map[string]int{}
	var order []string
	for _, s := range d.folded {
		mark := Mark(s.State)
		if n[mark]++; n[mark] == 1 {
			order = append(order, mark)
		}
	}
	for i, mark := range order {
		order[i] = strconv.Itoa(n[mark]) + " " + mark
	}
	return Note{Line: Line{Plain(text.EarlierSteps(len(d.folded), strings.Join(order, " · ")))}, Choices: d.kept}
}

// token is what a View details of the whole message carries.
func (d draft) token() string {
	token := d.from.Token
	for _, b := range d.from.Blocks {
		switch b := b.(type) {
		case Step:
			token = cmp.Or(token, b.Call)
		case Ask:
			token = cmp.Or(token, b.Token)
		default: // nothing to name
		}
	}
	return token
}

func hasView(cs []Choice) bool {
	return slices.ContainsFunc(cs, func(c Choice) bool { return c.Choice == chat.ViewDetail })
}

func withView(cs []Choice, token string) []Choice {
	if hasView(cs) {
		return cs
	}
	return append(cs[:len(cs):len(cs)], NewChoice(chat.ViewDetail, token))
}

func (d *draft) labels() {
	n := d.limits.Label
	d.choices = shortLabels(d.choices, n)
	for i, b := range d.blocks {
		shown, behind := choicesOf(b)
		d.blocks[i] = withChoices(b, shortLabels(shown, n), shortLabels(behind, n))
	}
}

// shortLabels cuts labels; the whole label becomes the hint, before the one that was there.
func shortLabels(cs []Choice, n int) []Choice {
	out := cs
	for i, c := range cs {
		if utf8.RuneCountInString(c.Label) <= n {
			continue
		}
		if c.Hint != "" {
			c.Hint = " (" + c.Hint + ")"
		}
		c.Hint = c.Label + c.Hint
		c.Label = text.Head(c.Label, n-1)
		out = slices.Clone(out)
		out[i] = c
	}
	return out
}
