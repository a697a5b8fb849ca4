package main

import (
	"regexp"
	"strings"
)

// A mutant of a script is one of these:
//
//   - guard: the body of an if or elseif never runs, always: it always does;
//   - operand: one side of an and is always true, of an or always false;
//   - line: a statement that writes is not there.
var (
	luaIf      = regexp.MustCompile(`(?m)\b(?:else)?if (.+?) then\b`)
	luaWrite   = regexp.MustCompile(`(?m)redis\.call\('(?:RPUSH|[HP]?SET|HDEL|Z(?:ADD|REM)|PEXPIRE|PERSIST|PUBLISH)'`)
	luaDefault = regexp.MustCompile(`^or (?:0|''|nil) *(?:[),]|$)`)
	luaFunc    = regexp.MustCompile(`(?m)^local function (\w+)`)
)

// luaMutants finds the guards of a script. It knows the house style: one condition is on one line, and blocks begin at its margin.
func luaMutants(file, path, src string) []Mutant {
	src = blank(src)
	var found []Mutant
	add := func(kind string, from, to int, before, after string) {
		found = append(found, Mutant{
			File: file, Line: 1 + strings.Count(src[:from], "\n"), Func: luaIn(src, from), Kind: kind, Source: src[from:to],
			path: path, from: from, to: to, before: before, after: after,
		})
	}
	for _, at := range luaIf.FindAllStringSubmatchIndex(src, -1) {
		add("guard", at[2], at[3], "false and (", ")")
		add("always", at[2], at[3], "true or (", ")")
	}
	for from := 0; from < len(src); {
		to := from + strings.IndexByte(src[from:]+"\n", '\n')
		for _, o := range luaOperands(src, from, to) {
			if o.and {
				add("operand", o.from, o.to, "(true or (", "))")
			} else {
				add("operand", o.from, o.to, "(false and (", "))")
			}
		}
		from = to + 1
	}
	for _, at := range luaWrite.FindAllStringIndex(src, -1) {
		if to := closing(src, at[0]+len("redis.call")); to > 0 {
			add("line", at[0], to, "local _ = function() return ", " end")
		}
	}
	return found
}

// closing is the offset behind the parenthesis that closes the one at open, or -1.
func closing(src string, open int) int {
	depth, quoted := 0, false
	for i := open; i < len(src); i++ {
		switch c := src[i]; {
		case c == '\'':
			quoted = !quoted
		case quoted:
		case c == '(':
			depth++
		case c == ')':
			if depth--; depth == 0 {
				return i + 1
			}
		}
	}
	return -1
}

// blank is the script with its comments in blanks, so that offsets stay.
func blank(src string) string {
	lines := strings.Split(src, "\n")
	for i, l := range lines {
		if at := strings.Index(l, "--"); at >= 0 {
			lines[i] = l[:at] + strings.Repeat(" ", len(l)-at)
		}
	}
	return strings.Join(lines, "\n")
}

// luaIn is the function around an offset, or the numbered part of the script in whose place no function is.
func luaIn(src string, at int) string {
	name := "main"
	for _, m := range luaFunc.FindAllStringSubmatchIndex(src[:at], -1) {
		end := strings.Index(src[m[0]:], "\nend")
		one := strings.IndexByte(src[m[0]:], '\n') // a function on one line
		if strings.HasSuffix(strings.TrimSpace(src[m[0]:m[0]+one]), " end") {
			end = one
		}
		if m[0]+end > at {
			name = src[m[2]:m[3]]
		}
	}
	return name
}

type luaOperand struct {
	from, to int
	and      bool
}

// luaOperands are the sides of every and and or of one line. An operand reaches to the next and or or, to what is around it, or to
// then, else and the line's end: and binds closer than or, but a side of an or that holds an and is one operand.
func luaOperands(src string, from, to int) []luaOperand {
	var found []luaOperand
	// The stretches within which operators stand: the line, what is in parentheses, and conditions.
	var walk func(from, to int)
	walk = func(from, to int) {
		type op struct {
			at, end int
			and     bool
		}
		var ops []op
		start, quoted := from, false
		flush := func(end int) {
			if len(ops) == 0 {
				return
			}
			ors := false
			for _, o := range ops {
				ors = ors || !o.and
			}
			side := func(a, b int, and bool) {
				for a < b && src[a] == ' ' {
					a++
				}
				for b > a && src[b-1] == ' ' {
					b--
				}
				found = append(found, luaOperand{a, b, and})
			}
			last := start
			group := start // of the sides of or
			inner := 0
			for _, o := range append(ops, op{at: end, end: end}) {
				over := o.at == end
				if inner > 0 || !over && o.and {
					side(last, o.at, true)
				}
				if inner++; over || !o.and {
					if ors {
						side(group, o.at, false)
					}
					inner, group = 0, o.end
				}
				last = o.end
			}
			ops = nil
		}
		for i := from; i < to; i++ {
			rest := src[i:to]
			word := i == from || !isWord(src[i-1])
			switch {
			case src[i] == '\'':
				quoted = !quoted
			case quoted:
			case src[i] == '(':
				end := closing(src, i)
				walk(i+1, end-1)
				i = end - 1
			case src[i] == ',', src[i] == '{', src[i] == '}', src[i] == '=' && src[i-1] == ' ' && src[i+1] == ' ':
				flush(i)
				start = i + 1
			case word && strings.HasPrefix(rest, "and "):
				ops = append(ops, op{i, i + 4, true})
			case word && luaDefault.MatchString(rest): // what stands for nothing is no guard
			case word && strings.HasPrefix(rest, "or "):
				ops = append(ops, op{i, i + 3, false})
			case word && (strings.HasPrefix(rest, "then") || strings.HasPrefix(rest, "return ") || strings.HasPrefix(rest, "else") || strings.HasPrefix(rest, "if ")):
				flush(i)
				for i+1 < to && isWord(src[i+1]) {
					i++
				}
				start = i + 1
			}
		}
		flush(to)
	}
	walk(from, to)
	return found
}

func isWord(b byte) bool {
	return b == '_' || b >= '0' && b <= '9' || b >= 'a' && b <= 'z' || b >= 'A' && b <= 'Z'
}
