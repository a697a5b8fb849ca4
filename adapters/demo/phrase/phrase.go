// Package phrase reads the few sentences that the scripted demo understands.
//
// Its words. A [Command] is one thing asked for. [Parse] splits a message into commands: "read a.txt and list
// files" is two of them.
//
// Invariants. Parse is pure and total: every message gives at least one command, and what is not understood is an
// [Unknown] command that holds the words as they were. Verbs are read in any case; names, texts and expressions
// keep theirs. A message is split only where a known verb follows and what stands before is complete, so "write
// salt and pepper to list.txt" stays one command.
package phrase

import (
	"regexp"
	"slices"
	"strings"
)

// Verb is what a command wants.
type Verb string

// The verbs. Unknown is the zero value.
const (
	Unknown   Verb = ""
	Help      Verb = "help"
	Time      Verb = "time"
	Calculate Verb = "calculate"
	List      Verb = "list"
	Read      Verb = "read"
	Write     Verb = "write"
	Create    Verb = "create"
	Delete    Verb = "delete"
)

// Command is one thing asked for.
type Command struct {
	Verb Verb
	Path string // of List (empty: the top), Read, Write, Create, Delete
	Text string // what Write writes, the expression of Calculate, the words of Unknown
}

// A form is one way to say a verb. starts tells that a command begins here; whole matches a complete one, with what it is about in the groups
// path and text.
type form struct {
	verb          Verb
	starts, whole *regexp.Regexp
}

func newForm(verb Verb, starts, rest string) form {
	return form{verb, regexp.MustCompile(`(?is)^(?:` + starts + `)(?:\s|[?!.]*$)`), regexp.MustCompile(`(?is)^(?:` + starts + `)` + rest + `$`)}
}

var forms = []form{
	newForm(Time, `what time is it(?: now)?|what(?:'s|’s| is) the (?:time|date)|time|date`, `(?:\s+(?:now|today|is it))?`),
	newForm(Calculate, `calculate|compute|calc`, `\s+(?P<text>\S.*)`),
	newForm(Calculate, `what(?:'s|’s| is)`, `\s+(?P<text>[-+−(\d.][-+*/%^().,\d\s×÷−·eE_]*)`),
	newForm(List, `(?:list|show)(?: me)?(?: all)?(?: the)?(?: my)? files|list(?: the)? director(?:y|ies)|list|ls`, `(?:\s+(?:in|of|under)\s+(?P<path>\S.*))?`),
	newForm(List, `list(?: the)? director(?:y|ies)|list|ls`, `\s+(?P<path>\S.*)`),
	newForm(Write, `write|save`, `\s+(?P<text>\S.*)\s+(?:in)?to\s+(?:the file\s+)?(?P<path>\S.*)`),
	newForm(Create, `(?:create|make)(?: a| the)?(?: new)? (?:directory|folder)|mkdir`, `\s+(?:(?:named|called)\s+)?(?P<path>\S.*)`),
	newForm(Read, `read|open|show`, `\s+(?:the file\s+)?(?P<path>\S.*)`),
	newForm(Delete, `delete|remove|rm`, `\s+(?:the file\s+)?(?P<path>\S.*)`),
	newForm(Help, `help|what can you do|hello|hi|hey`, `(?:\s+(?:me|there|nod))?`),
}

var (
	mention = regexp.MustCompile(`^(?:(?:<@[!&]?[^>\s]+>|@[\pL\pN._-]+|(?i:nod)[,:])[,:]?\s+)*`)
	polite  = regexp.MustCompile(`(?i)^(?:(?:please|then|and|also|(?:can|could|would) you(?: please)?)\s+)*`)
	trailer = regexp.MustCompile(`(?i)(?:[\s,]+please)?[\s?!.]*$`)
	joint   = regexp.MustCompile(`(?i)(?:\s*[,;]\s*|\s+)(?:and\s+then|and|then)\s+|\s*[,;\n]\s*`)
)

// Limit is the most commands that one message can hold; the rest is [Unknown]. It is also the most places tried
// to end one command, so that a message made to be tedious stays cheap.
const Limit = 16

// Parse reads a message.
func Parse(message string) []Command {
	rest := strings.TrimSpace(message)
	rest = rest[len(mention.FindString(rest)):]
	var out []Command
	for rest != "" && len(out) < Limit {
		head, tail := rest, ""
		tries := 0
		for _, at := range joint.FindAllStringIndex(rest, -1) {
			if !starts(rest[at[1]:]) {
				continue
			}
			if parseOne(rest[:at[0]]).Verb != Unknown {
				head, tail = rest[:at[0]], rest[at[1]:]
				break
			}
			if tries++; tries == Limit {
				break
			}
		}
		out = append(out, parseOne(head))
		rest = strings.TrimSpace(tail)
	}
	if rest != "" || len(out) == 0 {
		out = append(out, Command{Text: rest})
	}
	return out
}

// starts reports whether a command begins here.
func starts(s string) bool {
	s = withoutPolite(s)
	return slices.ContainsFunc(forms, func(f form) bool { return f.starts.MatchString(s) })
}

// parseOne reads a single command.
func parseOne(s string) Command {
	s = withoutPolite(strings.TrimSpace(s))
	bare := s[:trailer.FindStringIndex(s)[0]]
	for _, f := range forms {
		m := f.whole.FindStringSubmatch(bare)
		if m == nil {
			continue
		}
		c := Command{Verb: f.verb}
		if i := f.whole.SubexpIndex("path"); i >= 0 {
			c.Path = unquote(m[i])
		}
		if i := f.whole.SubexpIndex("text"); i >= 0 {
			c.Text = strings.TrimRight(strings.TrimSpace(m[i]), "= ")
			if f.verb == Write {
				c.Text = unquote(m[i])
			}
		}
		if !strings.ContainsAny(c.Path, "\n\r") {
			return c
		}
	}
	return Command{Text: s}
}

func withoutPolite(s string) string { return s[len(polite.FindString(s)):] }

var quotes = map[string]string{`"`: `"`, `'`: `'`, "`": "`", "“": "”", "‘": "’", "«": "»"}

// unquote takes one pair of quotation marks off.
func unquote(s string) string {
	s = strings.TrimSpace(s)
	for open, end := range quotes {
		if len(s) >= len(open)+len(end) && strings.HasPrefix(s, open) && strings.HasSuffix(s, end) {
			return s[len(open) : len(s)-len(end)]
		}
	}
	return s
}
