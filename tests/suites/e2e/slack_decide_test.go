package e2e

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/nodhq/nod/core/text"
	"github.com/nodhq/nod/tests/standins/fakeslack"
)

// What can be done with an ask. Every click reaches a random one of two replicas.
// R105/approve_all R105/deny_all R174/undo
func TestSlackDecisions(t *testing.T) {
	t.Parallel()
	stories(t, officeSettings{replicas: 2}, map[string]story{
		"not theirs": notTheirs, "already decided": alreadyDecided, "undo": undo, "approve all": approveAll, "deny all": denyAll, "elsewhere": buttonOfElsewhere,
	})
}

// One after the other: a person has one modal open.
// R71/details R91/details R96/details R123/deny C16/details
func TestSlackForms(t *testing.T) {
	t.Parallel()
	o := openOffice(t, officeSettings{replicas: 2, via: signed})
	for _, x := range []struct {
		name string
		tell story
	}{{"deny", denyWithReason}, {"edit", editArguments}, {"details", viewDetails}, {"late", lateForm}, {"expired", expiredTrigger}} {
		t.Run(x.name, func(t *testing.T) { x.tell(t, o.in(t)) })
	}
}

// R99/allow_for_chat R173/allow_for_chat
func TestSlackGrants(t *testing.T) {
	t.Parallel()
	stories(t, officeSettings{}, map[string]story{"allow for chat": allowForChat})
}

// write is an order of one call whose arguments are this test's own.
func write(t *testing.T) (order, args string) {
	args = fmt.Sprintf(`{"path":%q}`, strings.ReplaceAll(t.Name(), "/", "."))
	return "call box__write " + args, args
}

// Who may not decide is told so alone, and the card stays as it is.
func notTheirs(t *testing.T, o *office) {
	order, args := write(t)
	th := o.mention(t, order)
	ts := th.asking(1)
	before := len(th.now(ts).Versions)
	for who, says := range map[string]string{
		ben:   "Only Ana (who asked) or an admin can decide this.",
		guest: "Guests of this workspace cannot decide here",
		xena:  "People of other organisations cannot decide here",
		gone:  "Only active members can decide",
	} {
		for _, what := range []string{"Allow once", "Allow for this chat", "Deny"} {
			th.click(who, ts, what)
		}
		th.told(who, says)
	}
	if got := th.now(ts); len(got.Versions) != before || o.wrote(t, args) != 0 {
		t.Errorf("clicks of others changed something: ran %d times: %s", o.wrote(t, args), th)
	}
	if all := th.turns(); len(all) != 1 {
		t.Errorf("a refusal stands in the thread: %s", th)
	}
	th.click(admin, ts, "Allow once")
	th.done(ts, "gave: written", "allowed once by @Ada")
	if n := o.wrote(t, args); n != 1 {
		t.Errorf("it ran %d times", n)
	}
}

// A click on what the person still had on their screen, after somebody else decided.
func alreadyDecided(t *testing.T, o *office) {
	order, args := write(t)
	th := o.mention(t, order)
	ts := th.asking(1)
	asked := len(th.now(ts).Versions) - 1
	th.click(ana, ts, "Deny")
	th.done(ts, "was denied")
	for _, user := range []string{admin, ana} {
		th.clickOld(user, ts, asked, "Allow once")
		th.told(user, "Already denied by Ana at ")
	}
	if n := o.wrote(t, args); n != 0 {
		t.Errorf("denied, and it ran %d times", n)
	}
}

// A reason goes through a modal to the model, and stands on the message.
func denyWithReason(t *testing.T, o *office) {
	order, args := write(t)
	th := o.mention(t, order)
	ts := th.asking(1)
	th.click(ana, ts, "Deny with a reason…")
	v := th.view(ana, 1)
	if got := seenBlocks(v.Blocks); !strings.Contains(got, "write of box") {
		t.Errorf("the modal does not say what is denied: %s", got)
	}
	const reason = "not on a <Friday> & never at \"five\""
	th.submit(ana, v, map[string]string{"reason": reason})
	th.view(ana, 0)
	shown := th.done(ts, "was denied")
	if !strings.Contains(shown, reason) || !strings.Contains(shown, "denied by @Ana") {
		t.Errorf("the message does not show the reason: %s", shown)
	}
	if !o.modelRead("Reason: " + reason) {
		t.Error("the model was not told the reason")
	}
	if n := o.wrote(t, args); n != 0 {
		t.Errorf("denied, and it ran %d times", n)
	}
}

// Edited arguments are another call: a new digest, asked for anew, run with the new bytes, and the model is told.
func editArguments(t *testing.T, o *office) {
	order, args := write(t)
	th := o.mention(t, order)
	ts := th.asking(1)
	digest := digestOn(t, th, ts, "View details")
	asked := len(th.now(ts).Versions) - 1
	th.click(ana, ts, "Edit arguments…")
	v := th.view(ana, 1)
	if got := seenBlocks(v.Blocks); !strings.Contains(got, strings.Trim(args, "{}")[len(`"path":`):]) {
		t.Errorf("the modal does not hold the arguments: %s", got)
	}
	// What the tool does not take stays in the form, with the reason.
	for wrong, says := range map[string]string{`{"path":7}`: "path", `{"path":`: "", `{"path":"a","path":"b"}`: "path", args: "nothing was changed"} {
		th.submit(ana, v, map[string]string{"args": wrong})
		th.until("the form says what is wrong with "+wrong, func() bool {
			open := th.Views(ana)
			return len(open) == 1 && open[0].Errors["args"] != "" && strings.Contains(open[0].Errors["args"], says)
		})
	}
	changed := strings.Replace(args, `"}`, `.changed"}`, 1)
	th.submit(ana, v, map[string]string{"args": "  " + changed + "\n"})
	th.view(ana, 0)
	shown := th.says(ts, "arguments changed by Ana")
	th.ask(ts, "Allow once", 1)
	if n := len(o.ran(t, "write")); n != 0 && o.wrote(t, changed)+o.wrote(t, args) != 0 {
		t.Fatalf("an edit ran something: %s", shown)
	}
	if got := digestOn(t, th, ts, "View details"); got == digest {
		t.Errorf("the digest is the same: %s", got)
	}
	// The buttons of the call as it was are no yes to the new one.
	th.clickOld(ana, ts, asked, "Allow once")
	th.told(ana, "This button is not (or no longer) open here.")
	th.click(ana, ts, "Allow once")
	th.done(ts, "gave: ", "written", "arguments changed by Ana")
	if old, fresh := o.wrote(t, args), o.wrote(t, changed); old != 0 || fresh != 1 {
		t.Errorf("it ran %d times as the model wrote it, and %d times as Ana did", old, fresh)
	}
	if !o.modelRead("Ana changed the arguments of this call before it was decided. It is not the call you wrote; these are the arguments in force: " + changed) {
		t.Error("the model was not told of the edit")
	}
}

// digestOn is the digest of the one call that is asked about, as its details have it, which a button opens.
func digestOn(t *testing.T, th *thread, ts, button string) string {
	t.Helper()
	th.click(ana, ts, button)
	v := th.view(ana, 1)
	digest := regexp.MustCompile(`\b[0-9a-f]{64}\b`).FindString(seenBlocks(v.Blocks))
	if digest == "" {
		t.Fatalf("no digest in the details: %s", seenBlocks(v.Blocks))
	}
	th.CloseView(ana, v.ID)
	th.view(ana, 0)
	return digest
}

// All of a call is in a modal, page by page; anybody in the channel may look.
func viewDetails(t *testing.T, o *office) {
	var text strings.Builder
	for i := range 1500 {
		fmt.Fprintf(&text, "word%04d ", i)
	}
	args := fmt.Sprintf(`{"path":"details","text":%q}`, strings.TrimSpace(text.String()))
	th := o.mention(t, "call box__write "+args)
	ts := th.answer(1)
	th.ask(ts, "Deny", 1)
	th.click(ben, ts, "Show arguments")
	v := th.view(ben, 1)
	all, pages := "", 0
	for page := ""; ; pages++ {
		now := seenBlocks(v.Blocks)
		if now == page {
			t.Fatalf("turning the page changed nothing: %s", now)
		}
		page, all = now, all+now
		next := ""
		for _, b := range th.ViewButtons(v.ID) {
			if strings.Contains(b.Text, "Next") {
				next = b.Text
			}
		}
		if next == "" {
			break
		}
		d, err := th.ClickInView(ben, v.ID, next)
		if err != nil {
			t.Fatal(err)
		}
		th.acked(t, d)
		hash := v.Hash
		th.until("the page is turned", func() bool { v = th.Views(ben)[0]; return v.Hash != hash })
	}
	if pages < 1 {
		t.Errorf("%d characters of arguments on one page", len(args))
	}
	for _, want := range []string{"word0000", "word0750", "word1499", "SHA-256", digestOn(t, th, ts, "Show arguments")} {
		if !strings.Contains(all, want) {
			t.Errorf("the details have no %q", want)
		}
	}
	th.click(ana, ts, "Deny")
	th.done(ts, "was denied")
}

// While another call of the reply waits, a decision can be taken back.
func undo(t *testing.T, o *office) {
	order, args := write(t)
	second := strings.Replace(args, `"}`, `.second"}`, 1)
	th := o.mention(t, order+" and call box__write "+second)
	ts := th.answer(1)
	th.ask(ts, "Allow once", 2)
	th.press(ana, ts, th.nth(ts, "Allow once", 0))
	th.ask(ts, "Undo", 1)
	th.press(ben, ts, th.nth(ts, "Undo", 0))
	th.told(ben, "Only Ana")
	th.click(ana, ts, "Undo")
	th.ask(ts, "Allow once", 2)
	th.press(ana, ts, th.nth(ts, "Deny", 0))
	th.ask(ts, "Undo", 1)
	th.click(ana, ts, "Allow once")
	th.done(ts, "was denied", "gave: written")
	if first, other := o.wrote(t, args), o.wrote(t, second); first != 0 || other != 1 {
		t.Errorf("the one taken back ran %d times, the other %d times", first, other)
	}
}

func threeCalls(t *testing.T, o *office) (th *thread, ts string, args []string) {
	order, one := write(t)
	args = []string{one}
	for _, n := range []string{".2", ".3"} {
		args = append(args, strings.Replace(one, `"}`, n+`"}`, 1))
		order += " and call box__write " + args[len(args)-1]
	}
	th = o.mention(t, order)
	ts = th.answer(1)
	th.ask(ts, "Allow once", 3)
	th.says(ts, "3 of 3 need approval")
	return th, ts, args
}

func approveAll(t *testing.T, o *office) {
	th, ts, args := threeCalls(t, o)
	th.click(ben, ts, "Approve all (3)…")
	th.told(ben, "Only Ana")
	old := len(th.now(ts).Versions) - 1
	th.press(ana, ts, th.nth(ts, "Deny", 1))
	th.ask(ts, "Approve all (2)…", 1)
	th.clickOld(ana, ts, old, "Approve all (3)…") // it was drawn for other calls
	th.told(ana, "nothing was decided")
	th.click(ana, ts, "Approve all (2)…")
	th.done(ts, "gave: written", "was denied")
	for i, want := range []int{1, 0, 1} {
		if n := o.wrote(t, args[i]); n != want {
			t.Errorf("call %d ran %d times, want %d", i+1, n, want)
		}
	}
	// Each was allowed once: no grant came of it.
	th.say(ana, "call box__write "+args[0])
	next := th.asking(2)
	th.click(ana, next, "Deny")
	th.done(next, "was denied")
}

func denyAll(t *testing.T, o *office) {
	th, ts, args := threeCalls(t, o)
	th.click(ana, ts, "Deny all (3)")
	th.done(ts, "was denied")
	for i := range args {
		if n := o.wrote(t, args[i]); n != 0 {
			t.Errorf("denied, and call %d ran %d times", i+1, n)
		}
	}
}

// A grant is for the chat and for whoever gave it, and can be revoked.
func allowForChat(t *testing.T, o *office) {
	order, args := write(t)
	th := o.mention(t, order)
	ts := th.asking(1)
	th.click(ana, ts, "Allow for this chat")
	th.done(ts, "gave: written", "write of box is allowed in this chat for Ana's requests")
	th.say(ana, order)
	second := th.answer(2)
	th.done(second, "gave: written")
	if n := o.wrote(t, args); n != 2 {
		t.Errorf("with a grant it ran %d times", n)
	}
	th.say(ben, o.me(order)) // somebody else's request is asked for
	third := th.asking(3)
	th.click(ben, third, "Deny")
	th.done(third, "was denied")
	other := o.mention(t, order) // and another chat's
	at := other.asking(1)
	other.click(ana, at, "Deny")
	other.done(at, "was denied")
	th.click(ana, ts, "Revoke")
	th.say(ana, o.me(order)) // nod answered Ben last
	fourth := th.asking(4)
	th.click(ana, fourth, "Deny")
	th.done(fourth, "was denied")
	if n := o.wrote(t, args); n != 2 {
		t.Errorf("it ran %d times", n)
	}
}

// A button counts on its own message alone, whoever copies it to another.
func buttonOfElsewhere(t *testing.T, o *office) {
	order, args := write(t)
	th := o.mention(t, order)
	ts := th.asking(1)
	allow := th.nth(ts, "Allow once", 0)
	other := o.mention(t, "say nothing")
	at := other.answer(1)
	other.done(at, "nothing")
	other.press(ana, at, allow)
	other.told(ana, "This button is not (or no longer) open here.")
	versions := len(th.now(ts).Versions)
	th.click(ana, ts, "+5 min")
	th.until("it is edited, so it is on record where it stands", func() bool { return len(th.now(ts).Versions) > versions })
	beside := th.say(ben, "a message of a person") // in the same thread
	th.press(ana, beside, allow)
	th.told(ana, "This button is not (or no longer) open here.")
	forged := allow
	forged.Value = "made-up"
	th.press(ana, ts, forged)
	th.told(ana, "This button is not (or no longer) open here.")
	if n := o.wrote(t, args); n != 0 {
		t.Errorf("it ran %d times", n)
	}
	th.click(ana, ts, "Allow once")
	th.done(ts, "gave: written")
}

// Who fills in a form for too long is told in the form.
func lateForm(t *testing.T, o *office) {
	order, args := write(t)
	th := o.mention(t, order)
	ts := th.asking(1)
	th.click(ana, ts, "Deny with a reason…")
	reason := th.view(ana, 1)
	th.click(admin, ts, "Edit arguments…")
	edit := th.view(admin, 1)
	th.click(admin, ts, "Allow once")
	th.done(ts, "gave: written")
	for _, x := range []struct {
		user, block, value string
		view               fakeslack.View
	}{{ana, "reason", "too late", reason}, {admin, "args", `{"path":"other"}`, edit}} {
		th.submit(x.user, x.view, map[string]string{x.block: x.value})
		th.until("the form says that it is too late", func() bool {
			open := th.Views(x.user)
			return len(open) == 1 && strings.Contains(open[0].Errors[x.block], "Already allowed once by Ada")
		})
	}
	if n := o.wrote(t, args); n != 1 || len(o.ran(t, "write")) == 0 {
		t.Errorf("it ran %d times", n)
	}
}

// Slack gives three seconds to open a form. Who waited longer is told to click again.
func expiredTrigger(t *testing.T, o *office) {
	order, _ := write(t)
	th := o.mention(t, order)
	ts := th.asking(1)
	// Only in this channel: others open forms, too.
	o.FailWhen("views.open", func(c fakeslack.Call) *fakeslack.Fault {
		if strings.Contains(c.Values.Get("view"), th.channel) {
			return &fakeslack.Fault{Error: "expired_trigger_id"}
		}
		return nil
	})
	for _, what := range []string{"Deny with a reason…", "View details"} {
		before := len(th.Ephemerals(admin))
		th.click(admin, ts, what)
		th.until("Ada is told", func() bool { return len(th.Ephemerals(admin)) > before })
		th.told(admin, "Slack closed the window for opening this form. Click again.")
	}
	o.FailWhen("views.open", nil)
	th.click(admin, ts, "Deny")
	th.done(ts, "was denied")
}

// Who rates an answer is on record, and everybody's last word counts.
func TestSlackFeedback(t *testing.T) {
	t.Parallel()
	o := openOffice(t, officeSettings{replicas: 1, slack: ", feedback: true"})
	th := o.mention(t, "hello")
	ts := th.answer(1)
	th.until("the answer can be rated", func() bool { return count(th.buttons(ts), text.LabelGood) == 1 })
	th.click(ana, ts, text.LabelBad)
	th.told(ana, text.LabelBad)
	th.click(ana, ts, text.LabelGood)
	th.told(ana, text.LabelGood)
	o.bots[0].terminate()
	_, records := o.bots[0].run("audit", "tail", "--kind", "feedback", "--format", "jsonl")
	bad, good := strings.Index(records, `"outcome":"bad"`), strings.Index(records, `"outcome":"good"`)
	if bad < 0 || good < bad || strings.Count(records, `"by":"slack:`+o.Team()+":"+ana+`"`) != 2 {
		t.Errorf("the audit says %s", records)
	}
}

// Reads that are asked about as one have the row that every call has: its details show each of them, and offer what the row does.
func TestSlackReadsTogether(t *testing.T) {
	t.Parallel()
	o := openOffice(t, officeSettings{yaml: "permissions: {servers: {box: {tools: {echo: {ask: always, access: read}}}}}\n"})
	order, args := write(t)
	th := o.mention(t, `call box__echo {"text":"one"} and call box__echo {"text":"two"} and `+order)
	ts := th.answer(1)
	th.ask(ts, "Allow these 2", 1)
	th.ask(ts, text.LabelDetails, 2)
	th.press(ana, ts, th.nth(ts, text.LabelDetails, 0))
	v := th.view(ana, 1)
	got := seenBlocks(v.Blocks)
	for _, want := range []string{"1: Echo “one”", "2: Echo “two”", `"text": "two"`, "Allow for this chat", "Allow these 2"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in the details:\n%s", want, got)
		}
	}
	if strings.Contains(got, args) {
		t.Errorf("the details of the reads hold the write:\n%s", got)
	}
	if _, err := o.ClickInView(ana, v.ID, "Allow these 2"); err != nil {
		t.Fatal(err)
	}
	th.ask(ts, "Allow these 2", 0)
	th.ask(ts, "Allow once", 1)
}
