package render

// Details is everything about one call, or one turn, with nothing cut: what View details opens. A surface pages it.
type Details struct {
	Title string
	Parts []Part
}

// Part is one piece of the details.
type Part struct {
	Name string
	Text string // untrusted; with nothing hidden in it, except in Markdown
	Form Form
}

// Form is how a part is to be drawn.
type Form uint8

// The forms.
const (
	FormPlain    Form = iota // words
	FormCode                 // preformatted: JSON, a digest, a tool's answer
	FormMarkdown             // what the model wrote
)
