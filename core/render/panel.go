package render

// Panel is one view of the settings: what a person may see and change. Surfaces draw it privately for that one person; it holds no
// state of its own. Every text in it may hold untrusted words (names of servers, tools, people) and is escaped by whoever draws it.
type Panel struct {
	View     string // which view this is: given back with every act, opaque to surfaces, at most 200 graphic ASCII characters
	Title    string
	Banner   []Line // what everybody should see first: that everything is halted, that this chat never asks
	Tabs     []Act  // the other views (ActGo); the one that is open has Current set
	Sections []Section
	News     int // for admins: how many tools are new or changed, and wait for their word
}

// Section is a part of a panel with a heading.
type Section struct {
	Title string
	Note  string // a sentence below the heading
	Rows  []PanelRow
	Empty string // what stands there instead of rows where there are none
}

// PanelRow is one line of a section with what can be done about it.
type PanelRow struct {
	Line    Line
	Details []Line // quieter lines below
	Acts    []Act
}

// ActKind is what an act does when it is chosen.
type ActKind uint8

// The kinds of acts.
const (
	ActDo   ActKind = iota // does something: a button
	ActGo                  // opens another view: a link or button. Token is empty and View says where
	ActPick                // one of Options: a select
	ActFill                // a form with one text
	ActLink                // opens Link, a message on the same platform, where the surface can
)

// Act is something that a person can do in a panel. A token is opaque, at most 40 graphic ASCII characters, and has no authority: the
// engine makes the panel again for whoever acts and looks whether it offers that.
type Act struct {
	Kind    ActKind
	Token   string
	View    string // of ActGo
	Label   string
	Hint    string // accessible name or tooltip; empty: the label
	Options []Option
	Current bool   // of a tab: it is open
	Value   string // of ActFill: what stands there now
	Max     int    // of ActFill: characters
	Like    string // of ActFill: an example
	Confirm string // said before, if not empty; a person then has to confirm
	Style   Style
	Link    ChatLink // of ActLink
}

// Option is one choice of an ActPick.
type Option struct {
	Token   string
	Label   string
	Current bool
}

// ChatLink names a message for a surface to link to. Chat and Message are the stored forms.
type ChatLink struct{ Chat, Message string }
