package replicas

import (
	"slices"
	"testing"
	"time"

	"github.com/nodhq/nod/core/permission"
	. "github.com/nodhq/nod/tests/harness"
)

// R161, a crash: the replica that set about telling the admins of a server's tools dies before it has. Another one does it later, and an admin
// who was told all the same is not told twice.
func TestWhoDiesTellingIsFollowed(t *testing.T) {
	for name, lost := range map[string]bool{"before it is sent": false, "after it is sent": true} {
		t.Run(name, func(t *testing.T) {
			w, clock := clocked(t, Options{Teller: true})
			said, died := w.Latch(), w.Latch()
			w.Model.When("hello", Says("Hello."))
			w.Until("Root was told of the first server", func() bool { return told(w, "files") })
			w.Platform.Trouble(func(op Op) Trouble {
				if op.Chat != DM(Root) {
					return Trouble{}
				}
				<-said.C()
				w.Replicas[0].Kill()
				died.Open()
				return Transient(lost)
			})
			w.Tools.Put(Tool{Server: "mail", Name: "post"})
			w.Say(w.Replicas[0], Ana, "hello")
			said.Open()
			<-died.C()
			w.Platform.Trouble(nil)
			w.Start()
			told := func(server string) bool {
				s, err := w.Replicas[1].Engine.Settings(w.Context())
				if err != nil {
					t.Fatal(err)
				}
				return slices.ContainsFunc(s.Told, func(x permission.Told) bool { return x.Server == server && x.Sent })
			}
			looks := func(server string) { // somebody says something, and what is new makes nod look whom to tell
				w.Tools.Put(Tool{Server: server, Name: "post"})
				n := len(w.Platform.Messages(Room))
				w.Say(w.Replicas[1], Ana, "hello")
				w.Until("it is answered", func() bool { return len(w.Platform.Messages(Room)) > n })
				w.Until("Root was told of "+server, func() bool { return told(server) })
			}
			clock(time.Minute)
			looks("early")
			if told("mail") {
				t.Error("another replica tells at once: the first may be at it still")
			}
			clock(2*time.Minute + time.Second)
			looks("late")
			w.Until("Root was told of what the dead replica did not tell", func() bool { return told("mail") })
			equal(t, "cards", len(cardsOf(w, Root, "mail")), 1)
		})
	}
}
