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
	begins  = regexp.MustCompile(`^[a-zA-Z_]`).MatchString // else Gemini refuses the whole request
	plain   = regexp.MustCompile(`^[a-zA-Z0-9_-]+$`).MatchString
	unclean = regexp.MustCompile(`[^a-zA-Z0-9-]+`) // and runs of "_": a hashed alias never holds "__"
	digits  = base32.NewEncoding("abcdefghijklmnopqrstuvwxyz234567").WithPadding(base32.NoPadding)
)

// Alias is the name under which a model knows a tool: always the same, never that of another tool, and matching
// ^[a-zA-Z_][a-zA-Z0-9_-]{0,63}$. It is "server__name" where that can be read back in one way only. Every other pair becomes a readable beginning
// and 128 bits of its hash; such an alias holds no "__", so the two forms never meet.
func Alias(server, name string) string {
	joined := server + "__" + name
	if begins(joined) && plain(server) && plain(name) && len(joined) <= maxName && strings.Index(joined, "__") == len(server) {
		return joined
	}
	length := binary.BigEndian.AppendUint64(nil, uint64(len(server))) // so that no two pairs are the same bytes
	hash := sha256.Sum256(append(length, server+name...))
	sum := digits.EncodeToString(hash[:16])
	head := unclean.ReplaceAllString(server+"_"+name, "_")
	if !begins(head) {
		head = "_" + head
	}
	return head[:min(len(head), maxName-1-len(sum))] + "-" + sum
}

// historyName is the name of a call in a later request. A name that the model invented stays as it wrote it, if a server would take it.
func historyName(server, name string) string {
	if server == "" && len(name) <= maxName && plain(name) {
		return name
	}
	return Alias(server, name)
}

// byAlias maps aliases back, and gives the offered tools without those that are listed twice.
func byAlias(offered []agent.ToolSpec) (map[string]permission.Tool, []agent.ToolSpec) {
	names, kept := make(map[string]permission.Tool, len(offered)), make([]agent.ToolSpec, 0, len(offered))
	for _, spec := range offered {
		alias := Alias(spec.Tool.Server, spec.Tool.Name)
		if _, twice := names[alias]; !twice {
			names[alias], kept = spec.Tool, append(kept, spec)
		}
	}
	return names, kept
}
