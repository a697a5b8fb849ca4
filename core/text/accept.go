package text

// Sentences with which an admin accepts a server's tools, group by group, and takes that back.
const (
	GroupReads    = "Only read"
	GroupReach    = "Only read, and reach out into the world"
	GroupChanges  = "Change things"
	GroupDestroys = "May destroy"
	GroupUnknown  = "Nobody says what they do"

	GroupReadsNote = "So their server says, or an admin. Accepted, they run without asking, as they are now. What becomes another tool, or says anything else, asks again."
	GroupReachNote = "So their server says. What a read sends out may carry something away: accepted, they go on asking."
	GroupAsksNote  = "Accepting says that you looked. Whether they ask stays as it says below."
)

func GroupTitle(does string, n int) string { return does + " (" + Number(n) + ")" }

func LabelAcceptReads(n int) string {
	return "Let " + Count(n, "tool") + " run without asking"
}

func LabelAcceptGroup(n int) string { return "Accept as they are now (" + Number(n) + ")" }

func NowAcceptedReads(n int) string {
	return "Accepted: " + Count(n, "tool") + " that only " + either(n == 1, "reads runs", "read run") + " without asking from now on."
}

func ReadsUnasked(n int) string {
	return Count(n, "tool") + either(n == 1, " runs", " run") + " without asking: an admin accepted that " + either(n == 1, "it only reads.", "they only read.")
}

func ReadsAllowed(server string, n int) string {
	return "Reads of " + server + " were asked about and allowed " + Number(n) + " of " + Number(n) + " times: let them run without asking?"
}

const (
	LabelAskReads = "Ask about them again"
	NowAsksReads  = "They ask again from now on. They stay accepted as they are."
)
