package openai

import (
	"crypto/sha256"
	"encoding/base32"
	"encoding/binary"
	"regexp"
	"strings"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/permission"
)

// maxName is the longest function name that models take: https://platform.openai.com/docs/api-reference/chat/create (tools.function.name).
const maxName = 64

var (
	soiled = regexp.MustCompile(`[^a-zA-Z0-9-]+`) // and runs of "_": a hashed alias never holds "__"
	digits = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)
)

// Alias is the name under which a model knows a tool: always the same, never that of another tool, and matching
// ^[a-zA-Z0-9_-]{1,64}$. It is "server__name" where that can be read back in one way only: both parts plain, and
// no "__" before the one that joins them. Every other pair becomes a readable beginning and 128 bits of its hash;
// such an alias holds no "__", so the two forms never meet.
func Alias(server, name string) string {
	joined := server + "__" + name
	if plain(server) && plain(name) && len(joined) <= maxName && strings.Index(joined, "__") == len(server) {
		return joined
	}
	h := sha256.New()
	var n [8]byte
	binary.BigEndian.PutUint64(n[:], uint64(len(server))) // so that no two pairs are the same bytes
	h.Write(n[:])
	h.Write([]byte(server + name))
	sum := digits.EncodeToString(h.Sum(nil)[:16])
	head := soiled.ReplaceAllString(server+"_"+name, "_")
	return head[:min(len(head), maxName-1-len(sum))] + "-" + sum
}

// plain reports whether s matches ^[a-zA-Z0-9_-]+$.
func plain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c != '_' && c != '-' && (c < '0' || c > '9') && (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') {
			return false
		}
	}
	return s != ""
}

// recalled is the name of a call in a later request. A name that the model invented stays as it wrote it, if a server would take it.
func recalled(server, name string) string {
	if server == "" && len(name) <= maxName && plain(name) {
		return name
	}
	return Alias(server, name)
}

// table maps aliases back.
type table map[string]permission.Tool

// tabulate gives the table of the offered tools, and the tools without those that are listed twice.
func tabulate(offered []agent.ToolSpec) (table, []agent.ToolSpec) {
	t, kept := make(table, len(offered)), make([]agent.ToolSpec, 0, len(offered))
	for _, spec := range offered {
		alias := Alias(spec.Tool.Server, spec.Tool.Name)
		if _, twice := t[alias]; twice {
			continue
		}
		t[alias] = spec.Tool
		kept = append(kept, spec)
	}
	return t, kept
}
