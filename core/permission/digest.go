package permission

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"

	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission/canonical"
)

// CallDigest binds what is shown to what runs: the chat, the tool in its definition, and the arguments in their canonical form, in
// whatever order their keys stand. It leaves the call's identifier out, so that the same call asked again has the same digest; the ask
// binds turn and call.
func CallDigest(c chat.ID, t Tool, args []byte) Digest {
	if sorted, err := canonical.Arguments(args); err == nil && len(args) > 0 {
		args = sorted
	}
	return digest("nod/call/1", c.Platform, c.Workspace, c.Key, t.Server, t.Name, string(t.Definition), string(args))
}

// definitionDepth bounds how deep a schema may nest before it is digested as it was written.
const definitionDepth = 512

// DefinitionDigest names one definition of a tool. The order of keys and the spaces of its JSON parts do not matter;
// a part that has no canonical form is taken byte for byte.
func DefinitionDigest(name, title, description string, inputSchema, outputSchema, annotations []byte) Digest {
	fields := []string{name, title, description}
	for _, part := range [][]byte{inputSchema, outputSchema, annotations} {
		form := "absent"
		if len(part) > 0 {
			form = "raw"
			if c, err := canonical.Value(part, definitionDepth); err == nil {
				form, part = "canonical", c
			}
		}
		fields = append(fields, form, string(part))
	}
	return digest("nod/definition/1", fields...)
}

// digest hashes fields, each after its length: no two lists of fields give the same bytes.
func digest(kind string, fields ...string) Digest {
	var b []byte
	for _, f := range append([]string{kind}, fields...) {
		b = append(binary.BigEndian.AppendUint64(b, uint64(len(f))), f...)
	}
	sum := sha256.Sum256(b)
	return Digest(hex.EncodeToString(sum[:]))
}
