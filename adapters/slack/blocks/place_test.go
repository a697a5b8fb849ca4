package blocks

import (
	"testing"

	"github.com/nodhq/nod/core/chat"
)

// What is stored of a chat is read back as the same thread, and nothing else is taken for one.
func FuzzPlace(f *testing.F) {
	f.Add("slack", "T1", "C1/1700000000.000001")
	f.Add("slack", "", "C1/D2/1.1")
	f.Add("web", "T:1", "C%1/1.0\n")
	f.Fuzz(func(t *testing.T, platform, workspace, key string) {
		id := chat.ID{Platform: platform, Workspace: workspace, Key: key}
		p, ok := PlaceOf(id)
		if !ok {
			return
		}
		if platform != Platform || p.Chat() != id {
			t.Fatalf("%#v is read as %+v, which is %#v", id, p, p.Chat())
		}
		if back, err := chat.ParseID(id.String()); err != nil || back != id {
			t.Fatalf("%#v is stored as %q and read back as %#v, %v", id, id, back, err)
		}
	})
}
