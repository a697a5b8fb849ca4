package demo

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/text"
)

type ending struct{ begins, say string }

// endings are how a call ended otherwise than well, by how its result's words begin: the scripted model reads what a real one reads. Only what
// the bot itself writes (core/text's results) counts: a file that says "denied" is no denial, which is why a success is never read for words.
var endings = []ending{
	{"Tool execution denied by user.", "{denial}, so {kept}.{reason}"},
	{"Not allowed: ", "I am not allowed to {doing} here, so {kept}."},
	{"Tool execution timed out: ", "I wanted to {doing}, but nobody answered in time, so {kept}. Ask again from the message if you still want it."},
	{text.ResultCancelled, "The turn was stopped before I could {doing}, so {kept}."},
	{"Outcome unknown; ", "I was interrupted while trying to {doing}. Nobody can say whether it happened; I will not repeat it by myself."},
	{"", "I could not {doing}: {brief}"},
}

// summary is the last reply of a turn: one paragraph for each call.
func summary(calls []turn.TalkCall) string {
	var out []string
	for _, c := range calls {
		out = append(out, paragraph(c))
	}
	return strings.Join(out, "\n\n")
}

func paragraph(c turn.TalkCall) string {
	a := act{doing: "call {of}", did: "{block}", kept: "it was not run"}
	for _, known := range acts {
		if known.tool == c.Name {
			a = known
		}
	}
	result := strings.TrimSpace(c.Result.Text)
	say := a.did
	if strings.HasPrefix(result, text.ResultHappened) {
		say = "I was interrupted while trying to {doing}. A person says that it happened, so I will not repeat it."
	} else if c.Result.IsError {
		i := slices.IndexFunc(endings, func(e ending) bool { return strings.HasPrefix(result, e.begins) })
		say = endings[i].say
	}
	var args arguments
	_ = json.Unmarshal(c.Args, &args) // arguments that do not read give empty names
	of := code(args.Path)
	switch {
	case a.tool == "":
		of = code(c.Name)
	case a.tool == "calculator":
		of = code(args.Expression)
	case a.tool == "list_directory" && (args.Path == "" || args.Path == "."):
		of = "the workspace"
	}
	say = strings.NewReplacer("{doing}", a.doing, "{kept}", a.kept).Replace(say)
	return strings.NewReplacer("{of}", of, "{result}", result, "{block}", fence(result), "{brief}", brief(result),
		"{denial}", denial(c.Result), "{reason}", reason(result)).Replace(say)
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

// reason is the denier's own words, as a sentence, if there are any.
func reason(text string) string {
	_, after, ok := strings.Cut(text, "Reason: ")
	if !ok {
		return ""
	}
	after, _, _ = strings.Cut(after, " Do not retry")
	return " The reason given: “" + strings.TrimRight(brief(after), ".") + "”."
}

// fence is somebody's text as a code block that it cannot end.
func fence(s string) string {
	bar := "```"
	for strings.Contains(s, bar) {
		bar += "`"
	}
	return bar + "\n" + s + "\n" + bar
}
