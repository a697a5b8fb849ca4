package render

import (
	"cmp"
	"unicode/utf8"

	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/text"
)

// Size is what [Limits] limit, measured.
type Size struct {
	Chars   int // code points of everything a surface draws by default
	Bytes   int // the same in UTF-8
	Blocks  int
	Text    int // the longest Text or Code
	Args    int // the longest arguments of one ask: its JSON, its rows or its diff, whichever is longest
	Label   int // the longest label of any button, those behind ⋯ too
	Asks    int
	Choices int // buttons outside ⋯
}

// Measure counts a message. Chars and Bytes are the sum of what a surface draws without being asked:
//
//   - Text.Markdown; Code.Language and Source;
//   - Step.Title, Server and Detail; Note.Line;
//   - of an Ask: Header, Run, Question, Says, the arguments with the line under them ([Args.Say]), Facts, Footer, Warning and Review.
//     Arguments count as their JSON, their rows or their diff, whichever is longest: a surface draws one of them;
//   - a span counts its text, a Person the name (without one, the key), a Time 20.
//
// Not counted: labels and hints of buttons (platforms limit these by themselves, see Limits.Label), identifiers,
// Ask.Tool and Server.Name (Header and Run already say them), marks and everything else that an adapter adds.
func Measure(m Message) Size {
	z := Size{Blocks: len(m.Blocks)}
	z.choices(m.Choices, nil)
	for _, b := range m.Blocks {
		z.choices(choicesOf(b))
		switch b := b.(type) {
		case Text:
			z.Text = max(z.Text, z.add(extentOf(b.Markdown)))
		case Code:
			z.Text = max(z.Text, z.add(extentOf(b.Source)))
			z.add(extentOf(b.Language))
		case Step:
			z.add(extentOf(b.Title, b.Server))
			z.add(lineExtent(b.Detail))
		case Note:
			z.add(lineExtent(b.Line))
		case Ask:
			z.Asks++
			z.add(extentOf(b.Header, b.Run, b.Question, b.Says, b.Warning, b.Review, b.Args.Say()))
			z.add(lineExtent(b.Facts))
			z.add(lineExtent(b.Footer))
			rows, whole, diff := rowsExtent(b.Args.Rows), extentOf(b.Args.JSON), extentOf(b.Args.Diff)
			z.Args = max(z.Args, z.add(extent{max(rows.chars, whole.chars, diff.chars), max(rows.bytes, whole.bytes, diff.bytes)}))
		}
	}
	return z
}

// Within reports whether a message keeps every limit.
func Within(m Message, l Limits) bool {
	z, l := Measure(m), l.finite()
	return z.Chars <= l.Chars && z.Bytes <= l.Bytes && z.Blocks <= l.Blocks && z.Text <= l.Text &&
		z.Args <= l.Args && z.Label <= l.Label && z.Asks <= l.Asks && z.Choices <= l.Choices
}

// finite is the limits with a number that nothing reaches for none.
func (l Limits) finite() Limits {
	for _, n := range []*int{&l.Chars, &l.Bytes, &l.Blocks, &l.Text, &l.Args, &l.Label, &l.Asks, &l.Choices} {
		if *n <= 0 {
			*n = 1 << 30
		}
	}
	return l
}

// add counts a part, and returns its characters.
func (z *Size) add(x extent) int {
	z.Chars += x.chars
	z.Bytes += x.bytes
	return x.chars
}

func (z *Size) choices(shown, behind []Choice) {
	z.Choices += len(shown)
	for _, cs := range [][]Choice{shown, behind} {
		for _, c := range cs {
			z.Label = max(z.Label, utf8.RuneCountInString(c.Label))
		}
	}
}

// extent is how long a text is.
type extent struct{ chars, bytes int }

func extentOf(texts ...string) (x extent) {
	for _, s := range texts {
		x.chars += utf8.RuneCountInString(s)
		x.bytes += len(s)
	}
	return x
}

func rowsExtent(rows []Row) (x extent) {
	for _, r := range rows {
		x = x.plus(extentOf(r.Name, r.Value))
	}
	return x
}

func lineExtent(l Line) (x extent) {
	for _, s := range l {
		x = x.plus(extentOf(spanText(s)))
	}
	return x
}

func (x extent) plus(y extent) extent { return extent{x.chars + y.chars, x.bytes + y.bytes} }

// spanText is a span as it counts. A time counts as it is written out.
func spanText(s Span) string {
	switch s := s.(type) {
	case Plain:
		return string(s)
	case Strong:
		return string(s)
	case Person:
		return cmp.Or(s.Name, s.User.Key)
	case Time:
		return "2026-10-09 14:02 UTC"
	case Channel:
		if id, err := chat.ParseID(string(s)); err == nil {
			return text.ChannelOf(id.Key, id.Platform)
		}
		return string(s)
	}
	return ""
}
