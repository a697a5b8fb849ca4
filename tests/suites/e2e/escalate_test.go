package e2e

import (
	"strings"
	"testing"

	"github.com/nodhq/nod/tests/standins/fakeslack"
)

// A question that whoever asked leaves alone goes to the group on call: they are mentioned in the thread, the card names them, and one of them
// decides that call, and nothing more. Until then they could not.
func TestSlackEscalates(t *testing.T) {
	t.Parallel()
	o := openOffice(t, officeSettings{yaml: "approvals: {escalate: {after: 1s, to: ['slack:T0FAKE:&S0ONCALL']}}\n"})
	o.AddUserGroup(fakeslack.UserGroup{ID: "S0ONCALL", Handle: "oncall", Users: []string{ben}})
	order, args := write(t)
	th := o.mention(t, order)
	ts := th.asking(1)
	th.says(ts, "Ana or @oncall can answer")
	told := func() (says string) {
		for _, m := range th.answers() {
			if s := seen(m.Version); !m.Deleted && strings.Contains(s, "Nobody answered within 1 s, so you may, too.") {
				says += s
			}
		}
		return says
	}
	th.until("they are told", func() bool { return strings.Contains(told(), "@oncall, a tool call waits for your answer") })
	th.click(ben, ts, "Allow for this chat")
	th.told(ben, "because nobody did in time")
	th.click(ben, ts, "Allow once")
	th.done(ts, "gave: written", "Ben")
	if n := o.wrote(t, args); n != 1 {
		t.Errorf("it ran %d times", n)
	}
	th.until("what told them is gone", func() bool { return told() == "" })
}
