package pin

import (
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/nodhq/nod/core/text"
)

// maxPlace is the longest path that is compared, in bytes: PATH_MAX of Linux. A longer one is refused or cut by systems.
const maxPlace = 4096

// under reports whether a path is the directory or stands below it: what people write as "/srv/a/**". It compares text and
// asks no file system, so it says yes only where no reader of the text could come out above the directory:
//
//   - Both are of one form, written alike: "/srv/a", "docs/a" (relative), `C:\a`, "C:/a", "file:///srv/a". Absolute and relative
//     never mix, nor do two drives, nor "C:" and "c:". Shares (`\\host\x`, "//host/x") are of no form.
//   - Whole elements are compared, byte for byte: not case folded, not normalized ("é" as one code point is not "e" with an accent).
//   - Elements are made of letters, digits, their marks, spaces and ._-+@=,() alone, so that no server, shell or URL reads
//     something else: no other separator, no "%2e", "~", "$HOME", "*", "{a,b}", ":", no control or hidden character.
//   - No element is empty ("//", or a "/" at the end, which follows a link), begins with a space or ends with a space or dot (so
//     neither "." nor ".."; Windows drops them, and makes ".. ." the parent), or names a device of Windows ("nul.txt").
//   - The directory is below the root: under "/", `C:\` or "" nothing is.
//
// Links it cannot see: "/srv/a/x" may lead to /etc. A pin promises text, and the proposal's label says so; the server, which opens the
// file, resolves links against the roots that its operator gave it. [Propose] proposes no directory for a call that names a link.
func under(dir, path string) bool {
	d, ok := placeOf(dir)
	p, _ := placeOf(path) // what is no path has no elements, and a directory has some
	return ok && d.root == p.root && len(p.elems) >= len(d.elems) && slices.Equal(p.elems[:len(d.elems)], d.elems)
}

// place is a path taken apart.
type place struct {
	root  string // "/", `C:\`, "C:/", "file:///", or "" for a relative one
	sep   string
	elems []string // at least one
}

func (p place) String() string { return p.root + strings.Join(p.elems, p.sep) }

// placeOf reads a path. What could be read in two ways is none: the zero place, and false.
func placeOf(path string) (place, bool) {
	if len(path) > maxPlace {
		return place{}, false
	}
	p := place{root: rootForm.FindString(path), sep: "/"}
	if strings.HasSuffix(p.root, `\`) {
		p.sep = `\`
	}
	p.elems = strings.Split(path[len(p.root):], p.sep)
	for _, e := range p.elems {
		if !plainElement(e) {
			return place{}, false
		}
	}
	// A relative path that begins with a sign may be an option ("-r") or a file to be read ("@x").
	if first := []rune(p.elems[0])[0]; p.root == "" && first != '.' && first != '_' && !unicode.IsLetter(first) && !unicode.IsDigit(first) {
		return place{}, false
	}
	return p, true
}

// rootForm is the root of an absolute path.
var rootForm = regexp.MustCompile(`^(?:file:///|/|[A-Za-z]:[/\\])`)

// plainElement reports whether every reader takes an element for the same ordinary name.
func plainElement(e string) bool {
	if e == "" || strings.HasPrefix(e, " ") || strings.HasSuffix(e, " ") || strings.HasSuffix(e, ".") || device.MatchString(e) {
		return false
	}
	for i, r := range e {
		if hidden(r) || !plainRune(r, i == 0) {
			return false
		}
	}
	return true
}

// overlays are marks that draw a stroke through a letter. Tables that squeeze Unicode into Windows' code pages turn some into slashes.
var overlays = &unicode.RangeTable{R16: []unicode.Range16{{Lo: 0x0334, Hi: 0x0338, Stride: 1}, {Lo: 0x20D0, Hi: 0x20FF, Stride: 1}}}

func plainRune(r rune, first bool) bool {
	switch {
	case r < unicode.MaxASCII:
		return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9' || strings.ContainsRune(" ._-+@=,()", r)
	case unicode.In(r, unicode.Mn, unicode.Mc): // a mark that stands first would change the separator before it
		return !first && !unicode.Is(overlays, r)
	}
	return unicode.In(r, unicode.L, unicode.Nd)
}

// device is a name that Windows takes for a device, in whatever directory and with whatever ending.
// (Naming Files, Paths, and Namespaces: learn.microsoft.com/windows/win32/fileio/naming-a-file.)
var device = regexp.MustCompile(`(?i)^(?:con|prn|aux|nul|com[0-9]|lpt[0-9]) *(?:\.|$)`)

// hidden is [text.Hidden], and newline and tab, too: they stand in no path and, in canonical JSON, nowhere raw.
func hidden(r rune) bool { return text.Hidden(r) || r == '\n' || r == '\t' }
