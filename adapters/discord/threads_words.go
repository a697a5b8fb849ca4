package discord

import "github.com/nodhq/nod/core/render"

// What people read of sending, ready to be translated. It is plain text.
const (
	sayThread = "A conversation with " + render.Product // the name of a thread whose first message has no words
	// sayElsewhere stands where an answer for one person found no private way.
	sayElsewhere = "There is an answer for you that only you should see, but your direct messages are closed for " + render.Product +
		". Allow direct messages from members of this server, then try again."
)

// sayLacking: perm is as Discord's settings name it.
func sayLacking(perm string) string {
	return render.Product + " cannot answer you where you wrote to it: its role lacks the permission “" + perm + "” there. " +
		"Somebody who runs the server can grant it in the channel's settings. Then write again."
}
