package fakellm

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"github.com/nodhq/nod/adapters/demo/phrase"
)

// reply is what the script answers.
type reply struct {
	text  string
	calls []Call
}

var (
	speaker = regexp.MustCompile(`^[^:\n{}]{1,64}: `)
	hashed  = regexp.MustCompile(`-[a-z2-7]{26}$`)
	ordered = regexp.MustCompile(`(?is)^(keep )?call\s+(\S+)\s*`)
)

// answer reads the last person's words and what came of the calls since.
//
// Beyond the demo's phrases: "call NAME {...}" calls the tool whose name ends so, with these bytes, several joined by " and "; "call … then call …" calls
// what follows once the results of what stands before have come; "keep call NAME {...}" does it again at every step; "say WORDS" just says them.
func answer(b Body) reply {
	last, results, done := "", []Message(nil), 0
	names := map[string]string{}
	for _, m := range b.Messages {
		switch m.Role {
		case "user":
			if m.Pictures > 0 && len(results) > 0 && strings.HasPrefix(*m.Content, "(Note from nod itself") {
				continue // what the tools returned beside their results
			}
			last, results, done = *m.Content, nil, 0
		case "assistant":
			done += min(len(m.ToolCalls), 1)
			for _, c := range m.ToolCalls {
				names[c.ID] = c.Function.Name
			}
		case "tool":
			results = append(results, m)
		}
	}
	words := strings.TrimSpace(last)
	if at := strings.LastIndex(words, "</quoted "); at >= 0 { // quoted messages come first
		if _, after, ok := strings.Cut(words[at:], ">"); ok {
			words = strings.TrimSpace(after)
		}
	}
	for strings.HasPrefix(words, "(Note ") { // an aside of the program, as openings in parentheses are
		_, after, ok := strings.Cut(words, ")\n\n")
		if !ok {
			break
		}
		words = strings.TrimSpace(after)
	}
	words = strings.TrimSpace(words[len(speaker.FindString(words)):])
	keep := strings.HasPrefix(strings.ToLower(words), "keep call")
	if steps := strings.Split(words, " then call "); done > 0 && done < len(steps) && ordered.MatchString(words) && !keep {
		return order(b, "call "+steps[done])
	}
	if len(results) > 0 && !keep {
		var out []string
		for _, r := range results {
			out = append(out, outcome(names[r.ToolCallID], *r.Content))
		}
		return reply{text: strings.Join(out, "\n\n")}
	}
	if say, ok := strings.CutPrefix(words, "say "); ok {
		return reply{text: say}
	}
	if ordered.MatchString(words) {
		return order(b, words)
	}
	return phrased(b, words)
}

// outcome puts a result into words that tell what the model understood.
func outcome(name, text string) string {
	low := strings.ToLower(text)
	switch starts := func(s string) bool { return strings.HasPrefix(low, s) }; {
	case starts("tool execution denied"):
		return name + " was denied, so I did not do it."
	case strings.Contains(low[:min(len(low), 100)], "timed out"):
		return name + " timed out, so it was not done."
	case starts("cancelled"):
		return name + " was cancelled."
	case starts("outcome unknown"):
		return name + " has an unknown outcome; I will not repeat it."
	case strings.Contains(low, "(this is an error result.)"):
		return name + " failed: " + text
	}
	if r := []rune(text); len(r) > 500 {
		text = string(r[:500]) + "…"
	}
	return name + " gave: " + text
}

// order reads "call NAME {...} and call NAME {...}".
func order(b Body, words string) reply {
	var r reply
	for words != "" {
		m := ordered.FindStringSubmatch(words)
		if m == nil {
			break
		}
		rest := words[len(m[0]):]
		args := ""
		if strings.HasPrefix(rest, "{") {
			dec := json.NewDecoder(strings.NewReader(rest))
			var v json.RawMessage
			if dec.Decode(&v) == nil {
				args, rest = string(v), rest[dec.InputOffset():]
			} else { // as it stands, to the end: malformed on purpose
				args, rest = rest, ""
			}
		}
		name := find(b, m[2])
		if name == "" {
			name = m[2] // a tool that was not offered
		}
		c := Call{}
		c.Function.Name, c.Function.Arguments = name, args
		r.calls = append(r.calls, c)
		rest = strings.TrimSpace(rest)
		next, ok := strings.CutPrefix(rest, "and ")
		if !ok {
			break
		}
		words = strings.TrimSpace(next)
	}
	r.text = fmt.Sprintf("Calling %d.", len(r.calls))
	return r
}

// tools that do a verb, by the names that real servers give them.
var doers = map[phrase.Verb][]string{
	phrase.Time:      {"datetime", "get_current_time"},
	phrase.Calculate: {"calculator"},
	phrase.List:      {"list_directory"},
	phrase.Read:      {"read_text_file", "read_file"},
	phrase.Write:     {"write_file"},
	phrase.Create:    {"create_directory"},
	phrase.Delete:    {"delete_file"},
}

// phrased reads the scripted demo's phrases.
func phrased(b Body, words string) reply {
	var r reply
	for _, c := range phrase.Parse(words) {
		if c.Verb == phrase.Unknown || c.Verb == phrase.Help {
			return reply{text: "You said: " + words}
		}
		name := ""
		for _, n := range doers[c.Verb] {
			if name = find(b, n); name != "" {
				break
			}
		}
		if name == "" {
			return reply{text: fmt.Sprintf("No tool for %q was offered.", c.Verb)}
		}
		args := map[string]string{}
		switch c.Verb {
		case phrase.Calculate:
			args["expression"] = c.Text
		case phrase.Write:
			args["path"], args["content"] = c.Path, c.Text
		case phrase.List:
			if args["path"] = c.Path; c.Path == "" {
				args["path"] = "."
			}
		case phrase.Read, phrase.Create, phrase.Delete:
			args["path"] = c.Path
		}
		raw, err := json.Marshal(args)
		if err != nil {
			return reply{text: err.Error()}
		}
		call := Call{}
		call.Function.Name, call.Function.Arguments = name, string(raw)
		r.calls = append(r.calls, call)
	}
	r.text = fmt.Sprintf("I'll do that with %d calls.", len(r.calls))
	return r
}

// find is the offered tool of that name, with or without a server's name before it.
func find(b Body, name string) string {
	for _, exact := range []bool{true, false} {
		for _, t := range b.Tools {
			got := t.Function.Name
			bare := hashed.ReplaceAllString(got, "")
			if exact && got == name || !exact && (strings.HasSuffix(got, "__"+name) || bare != got && strings.HasSuffix(bare, "_"+name)) {
				return got
			}
		}
	}
	return ""
}
