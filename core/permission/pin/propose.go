package pin

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/nodhq/nod/core/permission/canonical"
	"github.com/nodhq/nod/core/text"
)

// Proposal is a narrower grant that a card may offer: "only for these values".
type Proposal struct {
	Pins  []Pin
	Label string // what it grants, at most 150 characters, whole: what does not fit is not proposed
	Dir   string // the directory that paths are pinned below, or "". It is as untrusted as the arguments
}

const (
	maxProposed = 64 << 10 // bytes of arguments: longer ones no card offers to allow (core/render's MaxArgs)
	maxProposal = 150      // characters of a label
	longText    = 200      // characters of free text from which its exact value is of no use to a later call
)

// Propose finds useful pins for a call's arguments, in whatever order their keys stand, at most two, the narrowest first:
//
//   - Every argument as it is now. Only free text (content, body, message …) of more than 200 characters or several lines is left
//     open, and the label says so.
//   - Where arguments are paths: all of them below the directory that they share, any free text, every other argument as it is now. The
//     directory of a path is the path itself; the one above only for a tool that works on files, and of what is clearly a file.
//
// Both say that there are no other arguments, cover the call itself, and pass [Check]. Nothing is proposed for arguments that have no
// canonical form, are empty, or only free text; that have a secret's name (its value would stand in the label), hidden characters in what
// would be pinned, or two names that differ only in case; nor what takes more than 150 characters to say. No directory is
// proposed that is the root or right below it (a relative one needs one element), nor for a call that names a link.
// Whether a name means a path, a text or a link is judged by its words; what is not known is pinned as it is.
//
// Values whose form alone says secret are core/render's to know: a card that masks anything in its arguments must not offer these.
func Propose(tool string, args json.RawMessage) (out []Proposal) {
	call, ok := argumentsOf(args)
	if !ok {
		return nil
	}
	propose := func(pins []Pin, dir string) {
		if pins == nil {
			return
		}
		// \u{ stands for a hidden character. The limit of the label keeps all those of Check, too.
		if label := proposalLabel(pins); utf8.RuneCountInString(label) <= maxProposal && !strings.Contains(label, `\u{`) {
			out = append(out, Proposal{Pins: pins, Label: label, Dir: dir})
		}
	}
	propose(call.exact(), "")
	propose(call.below(worksOnFiles(tool)))
	return out
}

// arguments are the members of a call's arguments.
type arguments struct {
	names  []string // sorted
	values map[string]json.RawMessage
}

// argumentsOf reads arguments about which anything can be proposed.
func argumentsOf(args json.RawMessage) (a arguments, ok bool) {
	sorted, err := canonical.Arguments(args)
	if len(args) > maxProposed || err != nil || json.Unmarshal(sorted, &a.values) != nil {
		return a, false
	}
	a.names = slices.Sorted(maps.Keys(a.values))
	for _, n := range a.names {
		if twin(a.values, n) || namesSecret(n, a.values[n]) {
			return a, false
		}
	}
	return a, true
}

// exact pins everything but long free text. Nothing left to pin: nil.
func (a arguments) exact() (pins []Pin) {
	for _, n := range a.names {
		if !(isText(n) && isLong(a.values[n])) {
			pins = append(pins, Pin{Path: pathTo(n), Value: a.values[n]})
		}
	}
	return a.closed(pins)
}

// below pins paths to the directory they share. Where there is none to be proposed: nil.
func (a arguments) below(files bool) (pins []Pin, dir string) {
	var paths, others []Pin
	var shared place
	longest := 0 // of the paths that are, or may be, directories themselves: what they share must not be above one
	for _, n := range a.names {
		if linkWords.HasAny(text.NameWords(n)) {
			return nil, ""
		}
		at, whole, is := a.path(n, files)
		if whole {
			longest = max(longest, len(at.elems))
		}
		_, isString := jsonText(a.values[n])
		switch {
		case is && len(paths) > 0 && at.root != shared.root:
			return nil, "" // of another form than the others
		case is && len(paths) > 0:
			shared.elems = common(shared.elems, at.elems)
			paths = append(paths, Pin{Path: pathTo(n), Match: MatchUnder})
		case is:
			shared = at
			paths = append(paths, Pin{Path: pathTo(n), Match: MatchUnder})
		case !(isString && isText(n)):
			others = append(others, Pin{Path: pathTo(n), Value: a.values[n]})
		}
	}
	least := 2
	if shared.root == "" {
		least = 1
	}
	if len(shared.elems) < max(least, longest) {
		return nil, ""
	}
	for i := range paths {
		paths[i].Value = textOf(shared.String())
	}
	return a.closed(append(paths, others...)), shared.String()
}

// closed adds that there are no other arguments, if anything is pinned at all.
func (a arguments) closed(pins []Pin) []Pin {
	if len(pins) == 0 {
		return nil
	}
	return append(pins, Pin{Path: ArgumentNames, Value: listOf(a.names)})
}

// path is the directory of an argument that is a path by its name; is says whether it is, and whole that it is all of the path. A path that
// [under] would not read has no elements, and so shares none with others.
func (a arguments) path(name string, files bool) (at place, whole, is bool) {
	s, ok := jsonText(a.values[name])
	words := text.NameWords(name)
	if !ok || len(words) == 0 {
		return place{}, false, false
	}
	last := words[len(words)-1]
	at, _ = placeOf(s)
	n := len(at.elems)
	switch {
	case !(pathWords[last] || endWords[last] && at.root != ""):
		return place{}, false, false
	case !files, dirWords.HasAny(words):
		return at, true, true
	case n > 0 && (fileWords.HasAny(words) || fileName(at.elems[n-1])):
		at.elems = at.elems[:n-1]
		return at, false, true
	}
	return place{}, true, true // a file or a directory: who knows
}

// worksOnFiles reports whether a tool by its name reads or writes single files, and not directories or repositories.
func worksOnFiles(tool string) bool {
	words := text.NameWords(tool)
	return fileTools.HasAny(words) && !dirWords.HasAny(words) && !dirTools.HasAny(words)
}

// fileName reports whether a name has an ending as files have: letters and digits, one letter at least ("a.txt", "song.mp3", not "v1.2", ".git").
func fileName(name string) bool {
	dot := strings.LastIndexByte(name, '.')
	end := name[dot+1:]
	return dot > 0 && len(end) > 1 && len(end) <= 8 && strings.ContainsFunc(end, unicode.IsLetter) &&
		!strings.ContainsFunc(end, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}

// The words of names. A name is judged by its last word ("source_path", "newContent"), or by any where only caution follows.
var (
	pathWords = text.WordSet("path file filename filepath pathname directory dir folder cwd workdir")
	// Any of these in the name of an argument, or of a tool, and the value is itself a directory.
	dirWords  = text.WordSet("directory directories dir dirs folder folders cwd workdir root repo repository worktree")
	fileWords = text.WordSet("file filename filepath")                           // in the name of an argument: the value is a file
	dirTools  = text.WordSet("list ls tree walk scan search find grep glob git") // tools that take a directory
	fileTools = text.WordSet("file read write edit append create open view cat save put delete remove move copy rename patch replace insert upload download")
	endWords  = text.WordSet("source destination src dst dest target from to root repo repository worktree") // only where the value has a root
	linkWords = text.WordSet("link links symlink symlinks hardlink hardlinks junction linkpath linkname")
	// A patch or an edit is no free text: it names files itself.
	textWords = text.WordSet("content contents body text message description comment note notes summary markdown caption")
	// These make a text a command, whatever its length.
	doingWords = text.WordSet("command cmd query sql script code expression eval shell bash exec prompt patch diff link url path file key id")
)

func isText(name string) bool {
	words := text.NameWords(name)
	return len(words) > 0 && textWords[words[len(words)-1]] && !doingWords.HasAny(words)
}

// isLong reports whether a value is text that no later call will repeat.
func isLong(v json.RawMessage) bool {
	s, _ := jsonText(v)
	return utf8.RuneCountInString(s) > longText || strings.ContainsAny(s, "\n\r")
}

// common is what two lists begin with.
func common(a, b []string) []string {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return a[:n:n]
}

// secretWords and secretPairs are what core/render masks by a name, and more: here a wrong guess costs one proposal.
var (
	secretWords = text.WordSet("password passwords passwd passphrase pwd pass pin otp secret secrets token authorization auth cookie cookies credential credentials " +
		"apikey privatekey secretkey accesskey accesstoken authtoken bearer signature")
	secretPairs = text.WordSet("api private access secret auth signing") // before "key"
)

// namesSecret reports whether a name says that its value is a secret, or a name inside the value does.
func namesSecret(name string, v json.RawMessage) bool {
	words := text.NameWords(name)
	for i, w := range words {
		if secretWords[w] || i > 0 && w == "key" && secretPairs[words[i-1]] {
			return true
		}
	}
	fields, items := canonical.Members(v)
	for n, x := range fields {
		if namesSecret(n, x) {
			return true
		}
	}
	return slices.ContainsFunc(items, func(x json.RawMessage) bool { return namesSecret("", x) })
}
