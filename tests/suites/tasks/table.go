package tasks

import (
	"fmt"
	"strings"
)

// Count is what a person had to do for one task, or for all.
type Count struct {
	Prompts  int // times that nod stopped to ask: the questions of one reply stand in one list
	Cards    int // questions shown
	Clicks   int // answers given, with the best button that was offered
	Confirms int // of those answers, the ones that had to be confirmed: a second click
	Words    int // on the cards, in sight
}

// Column is one way of working: what it is called, and how it went, by task.
type Column struct {
	Name  string
	Tasks map[string]Count
}

func sum(of map[string]Count) (all Count) {
	for _, c := range of {
		all = Count{all.Prompts + c.Prompts, all.Cards + c.Cards, all.Clicks + c.Clicks, all.Confirms + c.Confirms, all.Words + c.Words}
	}
	return all
}

// The ways of working that are measured.
const (
	Defaults = "defaults"
	Accepted = "servers accepted"
	Servers  = "servers accepted, allowed for the chat"
	Grants   = "allow for this chat"
)

// begin stands before the part of docs/tasks.md that the test writes, and end after it.
const (
	begin = "<!-- from here on made by `make update` -->\n"
	end   = "<!-- to here -->\n"
)

// Put replaces the table in a page.
func Put(page string, columns []Column) (string, error) {
	before, rest, found := strings.Cut(page, begin)
	_, after, ends := strings.Cut(rest, end)
	if !found || !ends {
		return "", fmt.Errorf("the page lacks the lines %q and %q", begin, end)
	}
	return before + begin + table(columns) + end + after, nil
}

// table has a row for each task, and for each way of working how it was before and how it is now.
func table(columns []Column) string {
	var b strings.Builder
	row := func(first string, cell func(of map[string]Count) string) {
		cells := []string{first}
		for _, c := range columns {
			before := "–" // a way of working that there was not
			if was := Before[c.Name]; was != nil {
				before = cell(was)
			}
			cells = append(cells, before, cell(c.Tasks))
		}
		b.WriteString("| " + strings.Join(cells, " | ") + " |\n")
	}
	b.WriteString("\n| Task (calls) |")
	for _, c := range columns {
		b.WriteString(" " + c.Name + ": before | now |")
	}
	b.WriteString("\n|---|" + strings.Repeat("--:|", 2*len(columns)) + "\n")
	for _, t := range All {
		row(fmt.Sprintf("%s (%d)", t.Name, len(t.Calls())), func(of map[string]Count) string { return of[t.Name].short() })
	}
	row("**All**", func(of map[string]Count) string { return "**" + sum(of).short() + "**" })
	row("Questions in those prompts", func(of map[string]Count) string { return fmt.Sprint(sum(of).Cards) })
	row("Clicks to confirm, besides", func(of map[string]Count) string { return fmt.Sprint(sum(of).Confirms) })
	b.WriteString("\n")
	return b.String()
}

func (c Count) short() string { return fmt.Sprintf("%d / %d / %d", c.Prompts, c.Clicks, c.Words) }
