package render

import "strconv"

// Sentences about what servers say of their tools, and about what people are told besides.

// Labels of an installation card.
const (
	LabelAcceptTools = "Accept as they are"
	LabelEditTools   = "Look at each…"
	InstallNew       = "new"
	InstallMeans     = "Accepting says that somebody looked at these definitions. Until then every tool asks, whatever its server says about it. " +
		"Should a definition change later, what was allowed for it no longer counts, and you are told."
)

// InstallHeader stands over a server's tools.
func InstallHeader(server string) string {
	return "The server " + server + " has tools that no admin has accepted"
}

// InstallChanged answers a click on an installation card whose tools changed since.
func InstallChanged() string {
	return "These tools changed since this message was written, or are gone. Nothing was accepted. Look at them in the settings."
}

// InstallAccepted confirms it.
func InstallAccepted() string { return "Accepted: these tools count as they are now." }

// ToolLine is what holds for a tool and why.
func ToolLine(access, accessFrom, risk, riskFrom, approval, approvalFrom string) string {
	return access + " (" + accessFrom + ") · " + risk + " (" + riskFrom + ") · " + approval + " (" + approvalFrom + ")"
}

// NotRemembered is told when a decision counts but could not be remembered.
func NotRemembered() string {
	return "Your decision counts, but it could not be remembered for later. Tick the box again the next time."
}

// YouAllowed answers a second click of somebody whose word counts already.
func YouAllowed(have, need int) string {
	return "You allowed this already. " + strconv.Itoa(have) + " of " + strconv.Itoa(need) + " people have; it needs somebody else."
}

// WantOver answers somebody who fills in what is not asked for any more.
func WantOver() string { return "This is not asked for any more. Nothing was sent." }
