package text

import "fmt"

// HelpDigest says what the command "digest" does.
const HelpDigest = "the last week in numbers; admins"

// DigestTitle is the heading of the digest.
func DigestTitle(days int) string {
	return fmt.Sprintf("The last %s days, over every chat", Number(days))
}

// DigestEmpty stands where nothing happened.
func DigestEmpty(days int) string {
	return fmt.Sprintf("Nothing happened in the last %s days.", Number(days))
}

// DigestDangerous counts runs of tools whose risk is dangerous, and how many of them no person was asked about.
func DigestDangerous(runs, unasked int) string {
	return fmt.Sprintf("Runs of dangerous tools: %s · unasked: %s", Number(runs), Number(unasked))
}

// DigestLooser counts what took caution away or changed the rules.
func DigestLooser(grants, never, settings int) string {
	return fmt.Sprintf("Permissions given for more than one call: %s · chats set to “never ask”: %s · changes of settings: %s", Number(grants), Number(never), Number(settings))
}

// DigestTools counts what servers said anew about their tools, and how often somebody halted everything.
func DigestTools(seen, halts int) string {
	return fmt.Sprintf("New or changed tools: %s · halts: %s", Number(seen), Number(halts))
}
