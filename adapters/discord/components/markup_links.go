package components

import (
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"unicode"

	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/render"
)

// Links. Discord fetches addresses that stand in a message, whoever wrote them and before anybody clicks: an address is a way out for
// what a model was tricked to put into it. So one is alive only where people, or the operator, brought its host. Any other stands in a
// code span, where neither Discord nor a reader's client makes a link of it.

// hosts says whether an address of a host, in lower case, stays alive.
type hosts func(host string) bool

// or also takes the hosts of a list.
func (h hosts) or(list []string) hosts {
	return func(host string) bool {
		for _, x := range list {
			if strings.EqualFold(x, host) {
				return true
			}
		}
		return h != nil && h(host)
	}
}

// link is an address with the words for it; none: the address says itself. A live one is wrapped in "<>", so that no preview comes.
func link(label, dest string, alive hosts) string {
	label = strings.Join(strings.Fields(surface.OneLine(label)), " ")
	address, host := liveAddress(dest, alive)
	switch {
	case dest == "":
		return literalWords(label)
	case address == "" && (label == "" || label == dest):
		return codeSpan(dest)
	case address == "":
		return literalWords(label) + " (" + codeSpan(dest) + ")"
	case label == "" || label == dest || label == host:
		return "<" + address + ">"
	case !maskable(label, address, host):
		return literalWords(label) + " (<" + address + ">)"
	case !strings.Contains(label, host):
		label += " (" + host + ")"
	}
	return "[" + literalWords(label) + "](<" + address + ">)"
}

// image is words: nothing is fetched for it.
func image(alt, dest string) string {
	if alt = strings.Join(strings.Fields(surface.OneLine(alt)), " "); alt == "" {
		alt = "…"
	}
	where := surface.OneLine(dest)
	if list := render.Hosts(dest); len(list) > 0 {
		where = list[0]
	}
	return literalWords(alt) + " (image: " + literalWords(where) + ")"
}

// liveAddress is dest as an address that Discord and every browser read alike, and its host; empty where it is not one, or is not to
// be alive.
func liveAddress(dest string, alive hosts) (address, host string) {
	list := render.Hosts(dest)
	u, err := url.Parse(dest)
	if err != nil || len(list) == 0 || u.User != nil || (u.Scheme != "https" && u.Scheme != "http") || u.Opaque != "" {
		return "", ""
	}
	// Two readers must agree on the host.
	if host = list[0]; strings.ToLower(strings.TrimRight(u.Hostname(), ".")) != host || strings.Trim(host, hostSigns) != "" || !alive(host) {
		return "", ""
	}
	var b strings.Builder
	for i := range len(dest) {
		if c := dest[i]; c <= ' ' || c >= 0x7F || strings.IndexByte("<>\"`\\^{}|()[]*~", c) >= 0 {
			fmt.Fprintf(&b, "%%%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String(), host
}

const hostSigns = "abcdefghijklmnopqrstuvwxyz0123456789.-_"

var hostLike = regexp.MustCompile(`[\pL\pN_-]+(?:\.[\pL\pN_-]+)*\.\pL{2,}`)

// maskable: Discord makes a link of these words, and they name no other host than the one they lead to. Emoji in the words break the
// link in a TextDisplay (https://github.com/discord/discord-api-docs/issues/7673); brackets end it; an address in them undoes it.
func maskable(label, address, host string) bool {
	if strings.ContainsAny(label, "[]:@") || strings.IndexByte(".,;:!?'", address[len(address)-1]) >= 0 {
		return false
	}
	for _, r := range label {
		if r > 0x2000 && (unicode.IsSymbol(r) || r >= 0x1F000 && r < 0x20000 || r == 0x200D || r == 0xFE0F) || r == '©' || r == '®' {
			return false
		}
	}
	for _, named := range hostLike.FindAllString(label, -1) {
		if strings.ToLower(named) != host {
			return false
		}
	}
	return true
}
