package render

import "unicode/utf8"

// Size is what [Limits] limit, measured.
type Size struct {
	Chars   int // code points of everything a surface draws by default
	Bytes   int // the same in UTF-8
	Blocks  int
	Text    int // the longest Text or Code
	Args    int // the longest arguments of one ask: its JSON or its rows, whichever is longer
	Label   int // the longest label of any button, those behind ⋯ too
	Asks    int
	Choices int // buttons outside ⋯
}

// timeChars is what a [Time] counts: "2026-10-09 14:02 UTC".
const timeChars = 20

// Measure counts a message. Chars and Bytes are the sum of what a surface draws without being asked:
//
//   - Text.Markdown; Code.Language and Source;
//   - Step.Title, Server and Detail; Note.Line;
//   - of an Ask: Header, Run, Server.Description, the facts' symbols and labels, the arguments with the line
//     under them ([Args.Say]), Question, Describes, Impact, Because, Model, Warning, Review and Footer.
//     Arguments count as their JSON or as their rows, whichever is longer: a surface draws one of the two;
//   - a span counts its text, a Person the name (without one, the key), a Time 20.
//
// Not counted: labels and hints of buttons (platforms limit these by themselves, see Limits.Label), identifiers,
// Ask.Tool and Server.Name (Header and Run already say them), marks and everything else that an adapter adds.
func Measure(m Message) Size {
	var z Size
	z.choices(m.Choices)
	z.Blocks = len(m.Blocks)
	for _, b := range m.Blocks {
		switch b := b.(type) {
		case Text:
			z.text(b.Markdown)
		case Code:
			z.text(b.Source)
			z.add(b.Language)
		case Step:
			z.add(b.Title)
			z.add(b.Server)
			z.line(b.Detail)
			z.choices(b.Choices)
		case Note:
			z.line(b.Line)
			z.choices(b.Choices)
		case Ask:
			z.ask(b)
		}
	}
	return z
}

// Within reports whether a message keeps every limit.
func Within(m Message, l Limits) bool {
	z := Measure(m)
	return under(z.Chars, l.Chars) && under(z.Bytes, l.Bytes) && under(z.Blocks, l.Blocks) && under(z.Text, l.Text) &&
		under(z.Args, l.Args) && under(z.Label, l.Label) && under(z.Asks, l.Asks) && under(z.Choices, l.Choices)
}

func under(n, limit int) bool { return limit <= 0 || n <= limit }

func (z *Size) add(s string) int {
	n := utf8.RuneCountInString(s)
	z.Chars += n
	z.Bytes += len(s)
	return n
}

func (z *Size) text(s string) { z.Text = max(z.Text, z.add(s)) }

func (z *Size) line(l Line) {
	c, b := lineSize(l)
	z.Chars += c
	z.Bytes += b
}

func (z *Size) choices(cs []Choice) {
	z.Choices += len(cs)
	z.labels(cs)
}

func (z *Size) labels(cs []Choice) {
	for _, c := range cs {
		z.Label = max(z.Label, utf8.RuneCountInString(c.Label))
	}
}

func (z *Size) ask(a Ask) {
	z.Asks++
	for _, s := range []string{a.Header, a.Run, a.Server.Description, a.Question, a.Describes, a.Impact, a.Model, a.Warning, a.Review, a.Args.Say()} {
		z.add(s)
	}
	for _, f := range a.Facts {
		z.add(f.Symbol)
		z.add(f.Label)
	}
	z.line(a.Because)
	z.line(a.Footer)
	c, b := rowsSize(a.Args.Rows)
	c = max(c, utf8.RuneCountInString(a.Args.JSON))
	z.Args = max(z.Args, c)
	z.Chars += c
	z.Bytes += max(b, len(a.Args.JSON))
	z.choices(a.Choices)
	z.labels(a.More)
}

func rowsSize(rows []Row) (chars, bytes int) {
	for _, r := range rows {
		chars += utf8.RuneCountInString(r.Name) + utf8.RuneCountInString(r.Value)
		bytes += len(r.Name) + len(r.Value)
	}
	return chars, bytes
}

func lineSize(l Line) (chars, bytes int) {
	for _, s := range l {
		c, b := spanSize(s)
		chars, bytes = chars+c, bytes+b
	}
	return chars, bytes
}

func spanSize(s Span) (chars, bytes int) {
	switch s := s.(type) {
	case Plain:
		return utf8.RuneCountInString(string(s)), len(s)
	case Strong:
		return utf8.RuneCountInString(string(s)), len(s)
	case Person:
		n := personName(s)
		return utf8.RuneCountInString(n), len(n)
	case Time:
		return timeChars, timeChars
	}
	return 0, 0
}

func personName(p Person) string {
	if p.Name != "" {
		return p.Name
	}
	return p.User.Key
}
