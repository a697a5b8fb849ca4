package main

import (
	"encoding/json"
	"fmt"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// The environment tells a test binary which mutant is awake, and where to write which ones it came by.
const (
	envMutant = "NOD_MUTANT"
	envReach  = "NOD_MUTANT_REACH"
)

// everyone is the number that wakes all mutants.
const everyone = -1

// asker is the function that a woven condition calls: whether the mutant of that number is awake.
const asker = "nodMutant"

// askerSource is compiled into every woven package.
const askerSource = `package %s

import (
	"os"
	"strconv"
	"sync/atomic"
)

var (
	nodMutantAwake, _ = strconv.Atoi(os.Getenv("` + envMutant + `"))
	nodMutantReach    = os.Getenv("` + envReach + `")
	nodMutantReached  [%d]atomic.Bool
)

func ` + asker + `(n int) bool {
	if nodMutantReach != "" && !nodMutantReached[n].Swap(true) {
		f, err := os.OpenFile(nodMutantReach, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
		if err != nil {
			panic(err)
		}
		_, _ = f.WriteString(strconv.Itoa(n) + "\n")
		_ = f.Close()
	}
	return n == nodMutantAwake || nodMutantAwake == %d
}
`

// woven is one file with its mutants in it, all asleep. Mutant i has the number i+1: 0 wakes none. Lines stay where they are.
func woven(src []byte, ms []Mutant, number func(i int) int) []byte {
	opens, closes := map[int][]string{}, map[int][]string{}
	order := make([]int, len(ms))
	for i := range ms {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { // what is around something opens before it
		if d := ms[a].from - ms[b].from; d != 0 {
			return d
		}
		return ms[b].to - ms[a].to
	})
	for _, i := range order {
		before := ms[i].before
		if strings.Contains(before, "%d") {
			before = fmt.Sprintf(before, number(i))
		}
		opens[ms[i].from] = append(opens[ms[i].from], before)
		closes[ms[i].to] = append([]string{ms[i].after}, closes[ms[i].to]...) // and closes after it
	}
	var out []byte
	for at := range len(src) + 1 {
		out = append(out, strings.Join(closes[at], "")+strings.Join(opens[at], "")...)
		if at < len(src) {
			out = append(out, src[at])
		}
	}
	return out
}

// overlay writes the mutated files of ms to dir and returns the file that go's -overlay reads. The checkout is not written to.
func overlay(dir string, ms []Mutant) (string, error) {
	replace := map[string]string{}
	write := func(real string, text []byte) error {
		mutated := filepath.Join(dir, fmt.Sprintf("%d_%s", len(replace), filepath.Base(real)))
		replace[real] = mutated
		return os.WriteFile(mutated, text, 0o600)
	}
	byFile := map[string][]int{}
	for i, m := range ms {
		byFile[m.path] = append(byFile[m.path], i)
	}
	for file, at := range byFile {
		src, err := os.ReadFile(file)
		if err != nil {
			return "", err
		}
		var of []Mutant
		for _, i := range at {
			of = append(of, ms[i])
		}
		if strings.HasSuffix(file, ".lua") {
			if err := write(file, padded(src, scriptRoom)); err != nil {
				return "", err
			}
			continue
		}
		if err := write(file, woven(src, of, func(i int) int { return at[i] + 1 })); err != nil {
			return "", err
		}
		helper := filepath.Join(filepath.Dir(file), "nod_mutant.go")
		if _, done := replace[helper]; done {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), file, src, parser.PackageClauseOnly)
		if err != nil {
			return "", err
		}
		if err := write(helper, fmt.Appendf(nil, askerSource, f.Name.Name, len(ms)+1, everyone)); err != nil {
			return "", err
		}
	}
	b, err := json.Marshal(map[string]map[string]string{"Replace": replace})
	if err != nil {
		return "", err
	}
	name := filepath.Join(dir, "overlay.json")
	return name, os.WriteFile(name, b, 0o600)
}
