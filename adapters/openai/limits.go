package openai

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/permission"
)

// limits is what a service turned out to take of the tools, learned from refusals: one tool that it does not like must not cost the others.
type limits struct {
	without atomic.Bool  // it takes none
	most    atomic.Int64 // 0: not known
	mu      sync.Mutex
	refused map[permission.Tool]bool
}

// fit is the tools that the service takes, and sentences for people about the others. Tools that this talk used come first.
func (l *limits) fit(offered []agent.ToolSpec, talk []turn.Utterance) (sent []agent.ToolSpec, faults []string) {
	if l.without.Load() && len(offered) > 0 {
		return nil, []string{"This model takes no tools: it can only talk."}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	sent = make([]agent.ToolSpec, 0, len(offered))
	for _, t := range offered {
		if !l.refused[t.Tool] {
			sent = append(sent, t)
			continue
		}
		faults = append(faults, fmt.Sprintf("The model's service refuses the definition of %s, so this tool is left out.", Alias(t.Tool.Server, t.Tool.Name)))
	}
	if most := int(l.most.Load()); most > 0 && len(sent) > most {
		faults = append(faults, fmt.Sprintf("The model's service takes %d tools at most, so %d are left out. Switch off what is not needed (enabled: false).", most, len(sent)-most))
		sent = first(sent, talk, most)
	}
	return sent, faults
}

// first picks n tools: those that the talk used, then as many of each server as there is room for, in the order of the list.
func first(all []agent.ToolSpec, talk []turn.Utterance, n int) []agent.ToolSpec {
	used := map[string]bool{}
	for _, u := range talk {
		for _, c := range u.Calls {
			used[Alias(c.Server, c.Name)] = true
		}
	}
	rank, of := make(map[permission.Tool]int, len(all)), map[string]int{}
	for _, t := range all {
		of[t.Tool.Server]++
		if rank[t.Tool] = of[t.Tool.Server]; used[Alias(t.Tool.Server, t.Tool.Name)] {
			rank[t.Tool] = 0
		}
	}
	ranked := slices.Clone(all)
	slices.SortStableFunc(ranked, func(a, b agent.ToolSpec) int { return rank[a.Tool] - rank[b.Tool] })
	fits := map[permission.Tool]bool{}
	for _, t := range ranked[:n] {
		fits[t.Tool] = true
	}
	return slices.DeleteFunc(slices.Clone(all), func(t agent.ToolSpec) bool { return !fits[t.Tool] })
}

// usualMost is how many tools OpenAI takes: https://platform.openai.com/docs/api-reference/chat/create (tools).
const usualMost = 128

var counts = regexp.MustCompile(`(?i)(?:maximum|at most|limit|up to|more than)[^0-9\]]{0,30}(\d{1,5})`)

// fewer learns from a refusal of n tools how many the service takes, and reports whether that is fewer.
func (l *limits) fewer(said string, n int) bool {
	most := usualMost
	if m := counts.FindStringSubmatch(said); m != nil {
		most, _ = strconv.Atoi(m[1]) // digits only
	}
	if most <= 0 || most >= n {
		return false
	}
	l.most.Store(int64(most))
	return true
}

// indexed is a tool's place in a refusal. Gemini has all of them in its one "tool", as function declarations.
var indexed = regexp.MustCompile(`tools(?:\[0\]\.function_declarations)?(?:\[|\.)(\d{1,5})`)

// refuse learns which tool a refusal names, by its name or its place in the request, and reports whether there was one.
func (l *limits) refuse(said string, sent []agent.ToolSpec) bool {
	tool, longest := permission.Tool{}, 0
	for _, t := range sent {
		if alias := Alias(t.Tool.Server, t.Tool.Name); len(alias) > longest && strings.Contains(said, alias) { // one name may be a part of another
			tool, longest = t.Tool, len(alias)
		}
	}
	if m := indexed.FindStringSubmatch(said); longest == 0 && m != nil {
		if i, _ := strconv.Atoi(m[1]); i < len(sent) { // digits only
			tool, longest = sent[i].Tool, 1
		}
	}
	if longest == 0 {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.refused == nil {
		l.refused = map[permission.Tool]bool{}
	}
	l.refused[tool] = true
	return true
}
