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

// A form is one way to say a verb. starts tells that a command begins here; whole matches a complete one.
type form struct {
	verb   Verb
	starts *regexp.Regexp
	whole  *regexp.Regexp
	path   string // names of the groups of whole
	text   string
}

func says(verb Verb, starts, rest, path, text string) form {
	return form{verb, regexp.MustCompile(`(?is)^(?:` + starts + `)(?:\s|[?!.]*$)`), regexp.MustCompile(`(?is)^(?:` + starts + `)` + rest + `$`), path, text}
}

var forms = []form{
	says(Time, `what time is it(?: now)?|what(?:'s|’s| is) the (?:time|date)|time|date`, `(?:\s+(?:now|today|is it))?`, "", ""),
	says(Calculate, `calculate|compute|calc`, `\s+(?P<text>\S.*)`, "", "text"),
	says(Calculate, `what(?:'s|’s| is)`, `\s+(?P<text>[-+−(\d.][-+*/%^().,\d\s×÷−·eE_]*)`, "", "text"),
	says(List, `(?:list|show)(?: me)?(?: all)?(?: the)?(?: my)? files|list(?: the)? director(?:y|ies)|list|ls`, `(?:\s+(?:in|of|under)\s+(?P<path>\S.*))?`, "path", ""),
	says(List, `list(?: the)? director(?:y|ies)|list|ls`, `\s+(?P<path>\S.*)`, "path", ""),
	says(Write, `write|save`, `\s+(?P<text>\S.*)\s+(?:in)?to\s+(?:the file\s+)?(?P<path>\S.*)`, "path", "text"),
	says(Create, `(?:create|make)(?: a| the)?(?: new)? (?:directory|folder)|mkdir`, `\s+(?:(?:named|called)\s+)?(?P<path>\S.*)`, "path", ""),
	says(Read, `read|open|show`, `\s+(?:the file\s+)?(?P<path>\S.*)`, "path", ""),
	says(Delete, `delete|remove|rm`, `\s+(?:the file\s+)?(?P<path>\S.*)`, "path", ""),
	says(Help, `help|what can you do|hello|hi|hey`, `(?:\s+(?:me|there|nod))?`, "", ""),
}

var (
	mention = regexp.MustCompile(`^(?:<@[!&]?[^>\s]+>|@[\pL\pN._-]+|(?i:nod)[,:])[,:]?\s+`)
	polite  = regexp.MustCompile(`(?i)^(?:please|then|and|also|(?:can|could|would) you(?: please)?)\s+`)
	trailer = regexp.MustCompile(`(?i)(?:[\s,]+please)?[\s?!.]*$`)
	joint   = regexp.MustCompile(`(?i)(?:\s*[,;]\s*|\s+)(?:and\s+then|and|then)\s+|\s*[,;\n]\s*`)
)

// Limit is the most commands that one message can hold; the rest is [Unknown]. It is also the most places tried
// to end one command, so that a message made to be tedious stays cheap.
const Limit = 16

// Parse reads a message.
func Parse(message string) []Command {
	rest := strings.TrimSpace(message)
	for {
		cut := mention.FindStringIndex(rest)
		if cut == nil {
			break
		}
		rest = strings.TrimSpace(rest[cut[1]:])
	}
	var out []Command
	for rest != "" && len(out) < Limit {
		head, tail := rest, ""
		tries := 0
		for _, at := range joint.FindAllStringIndex(rest, -1) {
			if !starts(rest[at[1]:]) {
				continue
			}
			if one(rest[:at[0]]).Verb != Unknown {
				head, tail = rest[:at[0]], rest[at[1]:]
				break
			}
			if tries++; tries == Limit {
				break
			}
		}
		out = append(out, one(head))
		rest = strings.TrimSpace(tail)
	}
	if rest != "" || len(out) == 0 {
		out = append(out, Command{Text: rest})
	}
	return out
}

// starts reports whether a command begins here.
func starts(s string) bool {
	s = civil(s)
	for _, f := range forms {
		if f.starts.MatchString(s) {
			return true
		}
	}
	return false
}

// one reads a single command.
func one(s string) Command {
	s = civil(strings.TrimSpace(s))
	bare := s[:trailer.FindStringIndex(s)[0]]
	for _, f := range forms {
		m := f.whole.FindStringSubmatch(bare)
		if m == nil {
			continue
		}
		c := Command{Verb: f.verb}
		if f.path != "" {
			c.Path = unquote(m[f.whole.SubexpIndex(f.path)])
			if strings.ContainsAny(c.Path, "\n\r") {
				continue
			}
		}
		if f.text != "" {
			c.Text = strings.TrimSpace(m[f.whole.SubexpIndex(f.text)])
			if f.verb == Write {
				c.Text = unquote(c.Text)
			} else {
				c.Text = strings.TrimRight(c.Text, "= ")
			}
		}
		return c
	}
	return Command{Text: s}
}

func civil(s string) string {
	for {
		cut := polite.FindStringIndex(s)
		if cut == nil {
			return s
		}
		s = s[cut[1]:]
	}
}

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
