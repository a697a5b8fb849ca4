package main

import (
	"fmt"
	"os"
	"strings"
)

const page = "docs/requirements.md"

func main() {
	text, err := os.ReadFile(page)
	if err == nil {
		err = printWithTests(string(text))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "requirements:", err)
		os.Exit(1)
	}
}

// printWithTests prints the document of the module in the working directory with the tests behind each row.
func printWithTests(text string) error {
	repo, err := Open(".")
	if err != nil {
		return err
	}
	marks, err := repo.Marks()
	if err != nil {
		return err
	}
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		switch m := rowForm.FindStringSubmatch(line); {
		case m != nil:
			var tests []string
			for _, x := range marks[m[1]] {
				tests = append(tests, "`"+x.String()+"`")
			}
			line += " " + strings.Join(tests, ", ") + " |"
		case strings.HasPrefix(line, "| |"):
			line += " Shown by |"
		case strings.HasPrefix(line, "|---"):
			line += "---|"
		}
		fmt.Println(line)
	}
	return nil
}
