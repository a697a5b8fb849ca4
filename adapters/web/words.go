package web

// The sentences of this surface that a person reads, beyond those of the API's errors and of the page's script.
const (
	sayUndrawable      = "A part of this message cannot be shown here. Update this replica."
	sayNewChat         = "New chat"
	sayEnds            = "Longer if you come back before; 90 days at most"
	sayVouchedEnds     = "Then you sign in again"
	sayVouchedEnded    = "Your session has ended: eight hours after you signed in, with its key, or because you signed out everywhere. Sign in again."
	saySessionEnded    = "Your session has ended: after 30 days without use, after 90 days, with its key, or because you signed out everywhere. Sign in again."
	sayElicitationOver = "This no longer waits for an answer."
	sayNotLinked       = "Careful: this is not an ordinary web address, so it is not linked here."
)
