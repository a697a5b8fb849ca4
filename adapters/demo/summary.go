package demo

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/text"
)

// outcome is how a call ended, as its result's words tell: the scripted model reads what a real one reads.
type outcome int

const (
	succeeded outcome = iota
	failed
	denied
	forbidden
	unanswered
	cancelled
	unknown
	vouched // a person says that it happened
)

// ended reads a result. Only what the bot itself writes (core/render's Result functions) counts: a file that says "denied" is no
// denial, which is why a success is never read for words and the others are read from their beginning.
func ended(r turn.Result) outcome {
	said := strings.TrimSpace(r.Text)
	switch starts := func(s string) bool { return strings.HasPrefix(said, s) }; {
	case starts(text.ResultHappened()):
		return vouched
	case !r.IsError:
		return succeeded
	case starts("Tool execution denied by user."):
		return denied
	case starts("Not allowed: "):
		return forbidden
	case starts("Tool execution timed out: "):
		return unanswered
	case starts(text.ResultCancelled()):
		return cancelled
	case starts("Outcome unknown; "):
		return unknown
	}
	return failed
}

// A record is a call in words.
type record struct {
	doing string // "write to notes.txt"
	kept  string // what is certain when it was not run: "notes.txt was left as it is"
	did   func(result string) string
}

func recorded(c turn.TalkCall) record {
	var a arguments
	_ = json.Unmarshal(c.Args, &a) // arguments that do not read give empty names
	name := code(a.Path)
	left := name + " was left as it is"
	switch c.Name {
	case "datetime":
		return record{"look at the clock", "I cannot tell the time", func(s string) string { return "It is " + s + "." }}
	case "calculator":
		return record{"calculate " + code(a.Expression), "there is no answer", func(s string) string { return "**" + s + "**" }}
	case "list_directory":
		where := "the workspace"
		if a.Path != "" && a.Path != "." {
			where = name
		}
		return record{"list the files in " + where, "I cannot say what is in " + where, func(s string) string { return "In " + where + ":\n" + fence(s) }}
	case "read_file":
		return record{"read " + name, "I did not look into it", func(s string) string { return name + " says:\n" + fence(s) }}
	case "write_file":
		return record{"write to " + name, left, func(s string) string { return "Done: " + s }}
	case "create_directory":
		return record{"create " + name, "nothing was created", func(s string) string { return "Done: " + s }}
	case "delete_file":
		return record{"delete " + name, left, func(s string) string { return "Done: " + s }}
	}
	return record{"call " + code(c.Name), "it was not run", fence}
}

// summary is the last reply of a turn: one paragraph for each call.
func summary(calls []turn.TalkCall) string {
	var out []string
	for _, c := range calls {
		r := recorded(c)
		text := strings.TrimSpace(c.Result.Text)
		switch ended(c.Result) {
		case succeeded:
			out = append(out, r.did(text))
		case failed:
			out = append(out, fmt.Sprintf("I could not %s: %s", r.doing, brief(text)))
		case denied:
			s := fmt.Sprintf("%s, so %s.", denial(c.Result), r.kept)
			if reason := reason(text); reason != "" {
				s += " The reason given: " + reason + "."
			}
			out = append(out, s)
		case forbidden:
			out = append(out, fmt.Sprintf("I am not allowed to %s here, so %s.", r.doing, r.kept))
		case unanswered:
			out = append(out, fmt.Sprintf("I wanted to %s, but nobody answered in time, so %s. Ask again from the message if you still want it.", r.doing, r.kept))
		case cancelled:
			out = append(out, fmt.Sprintf("The turn was stopped before I could %s, so %s.", r.doing, r.kept))
		case unknown:
			out = append(out, fmt.Sprintf("I was interrupted while trying to %s. Nobody can say whether it happened; I will not repeat it by myself.", r.doing))
		case vouched:
			out = append(out, fmt.Sprintf("I was interrupted while trying to %s. A person says that it happened, so I will not repeat it.", r.doing))
		}
	}
	return strings.Join(out, "\n\n")
}

// denial names who denied where the result does, and nobody where it does not: it need not be the one who asked.
func denial(r turn.Result) string {
	var s struct {
		By string `json:"by"`
	}
	if json.Unmarshal(r.Structured, &s) == nil && s.By != "" {
		return brief(s.By) + " denied it"
	}
	return "It was denied"
}

// reason is the denier's own words, if any.
func reason(text string) string {
	_, after, ok := strings.Cut(text, "Reason: ")
	if !ok {
		return ""
	}
	if before, _, ok := strings.Cut(after, " Do not retry"); ok {
		after = before
	}
	return "“" + strings.TrimRight(brief(after), ".") + "”"
}

// fence is somebody's text as a code block that it cannot end.
func fence(s string) string {
	bar := "```"
	for strings.Contains(s, bar) {
		bar += "`"
	}
	return bar + "\n" + s + "\n" + bar
}
