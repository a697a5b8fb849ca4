package slack

import (
	"fmt"
	"strings"
	"testing"

	"github.com/nodhq/nod/adapters/slack/blocks"
	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/tests/standins/fakeslack"
)

// texts are the messages that were taken, in order.
func texts(l *ledger) (all []string) {
	for _, in := range l.got() {
		if s, ok := in.(chat.Said); ok {
			all = append(all, s.Text)
		}
	}
	return all
}

func TestOwnMessagesAndOtherBotsStayOut(t *testing.T) {
	sc := newScene(t, overSocket).connected()
	sc.slack.Say("UOTHER", "C1", "", "<@UBOT> I am a bot")
	sc.slack.Send(map[string]any{"type": "app_mention", "user": "UOTHER", "channel": "C1", "text": "<@UBOT> I am a bot without a bot_id", "ts": "1700000001.000100"})
	sc.slack.Say("UANA", "C1", "", "not for the bot")
	for i, file := range []string{"own_message", "other_bot", "other_bot_mentions", "bot_message", "slackbot", "me_message", "channel_join", "own_update", "other_workspace"} {
		id := fmt.Sprint("own", i)
		sc.raw(sc.envelope(id, "events_api", file, nil))
		sc.until(file+" is acknowledged", func() bool { return sc.slack.Acks(id) == 1 })
	}
	sc.quiet()
	if got := sc.ledger.asked(); len(got) != 0 {
		t.Errorf("taken: %+v", got)
	}
}

func TestAThreadIsFollowedOnceTheBotWasMentionedThere(t *testing.T) {
	sc := newScene(t, overSocket, func(_ *scene, c *Config) {
		c.Channels = map[string]surface.Follow{"C1": surface.FollowThread, "C2": surface.FollowMention}
	}).connected()
	here := sc.slack.Say("UANA", "C1", "", "<@UBOT> one")
	sc.quiet()
	there := sc.slack.Say("UANA", "C2", "", "<@UBOT> two")
	strange := sc.slack.Say("UANA", "C1", "", "a thread of people")
	sc.quiet()
	for _, x := range []struct{ who, channel, thread, text string }{
		{"UANA", "C1", here, "three"},               // followed
		{"UANA", "C2", there, "not heard"},          // only mentions there
		{"UANA", "C1", strange, "nor this"},         // the bot was never mentioned in it
		{"UANA", "C1", "", "nor this in a channel"}, // no thread
		{"UBEN", "C2", there, "<@UBOT> four"},
	} {
		sc.slack.Say(x.who, x.channel, x.thread, x.text)
		sc.quiet()
	}
	sc.ledger.set(func() { sc.ledger.knows = func(chat.ID) (bool, error) { return false, errDown } })
	sc.slack.Say("UANA", "C2", there, "nor this, whatever is the matter")
	sc.quiet()
	if got := texts(sc.ledger); strings.Join(got, ",") != "one,two,three,four" {
		t.Errorf("taken: %q", got)
	}
	if got := sc.ledger.got()[2].(chat.Said); got.Chat != (blocks.Place{Team: "T1", Channel: "C1", Thread: here}).Chat() || got.User.Key != "UANA" || got.Context != nil || got.Channel != "slack:T1:C1" {
		t.Errorf("%+v", got)
	}
}

func TestPeopleWhoTalkToEachOtherAreLeftAlone(t *testing.T) {
	sc := newScene(t, overSocket).connected()
	th := sc.slack.Say("UANA", "C1", "", "<@UBOT> one")
	sc.quiet()
	for _, x := range [][2]string{
		{"UBEN", "thanks, on it"},                                  // not his thread
		{"UANA", "<@UBEN> can you look?"},                          // to somebody else
		{"UANA", "<@UBEN|ben> please"},                             //
		{"UANA", "<!subteam^S1|@oncall> fyi"},                      //
		{"UANA", "<!here> anyone?"},                                //
		{"UANA", "two"},                                            // to nod
		{"UBEN", "<@UBOT> three, and <@UANA> decides"},             // called
		{"UANA", "four: 2 < 3, <https://a.example|not a mention>"}, // names nobody
	} {
		sc.slack.Say(x[0], "C1", th, x[1])
		sc.quiet()
	}
	if got := texts(sc.ledger); len(got) != 4 || got[1] != "two" || !strings.HasPrefix(got[2], "three") || !strings.HasPrefix(got[3], "four") {
		t.Errorf("taken: %q", got)
	}
}

// Whom nod works for is heard without a mention: whoever it answers now or whose message waits, else whoever it answered last.
func TestWhomTheBotWorksFor(t *testing.T) {
	ben := chat.User{Platform: Platform, Workspace: "T1", Key: "UBEN"}
	for name, x := range map[string]struct {
		follow surface.Follow
		stands turn.Session // of a chat that Ana began
		heard  string
	}{
		"nothing was asked yet":    {"", turn.Session{}, "UANA"},
		"it answers Ben":           {"", turn.Session{Turn: &turn.Turn{Requester: ben}, Last: &turn.Turn{Requester: ana}}, "UBEN"},
		"and Ana's message waits":  {"", turn.Session{Turn: &turn.Turn{Requester: ben}, Waiting: []turn.Said{{By: ana}}}, "UANA UBEN"},
		"it answered Ben last":     {"", turn.Session{Last: &turn.Turn{Requester: ben}}, "UBEN"},
		"it answered an alert":     {"", turn.Session{Last: &turn.Turn{}}, ""},
		"it takes the thread":      {surface.FollowThread, turn.Session{Last: &turn.Turn{Requester: ben}}, "UANA UBEN UEXT"},
		"it takes only mentions":   {surface.FollowMention, turn.Session{Last: &turn.Turn{Requester: ben}}, ""},
		"nobody knows what it may": {"everything", turn.Session{Last: &turn.Turn{Requester: ben}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			sc := newScene(t, overSocket, func(_ *scene, c *Config) { c.Follow = x.follow }).connected()
			th := sc.slack.Say("UBEN", "C1", "", "the disk is full")
			p := blocks.Place{Team: "T1", Channel: "C1", Thread: th}
			x.stands.Chat, x.stands.Began = p.Chat(), ana
			sc.ledger.set(func() { sc.ledger.sessions[p.Chat()] = x.stands })
			for _, who := range []string{"UANA", "UBEN", "UEXT"} {
				sc.slack.Say(who, "C1", th, "and then?")
				sc.slack.Say(who, "C1", th, "<@UGONE> and then?")
				sc.quiet()
			}
			var heard []string
			for _, in := range sc.ledger.got() {
				heard = append(heard, in.From().User.Key)
			}
			if got := strings.Join(heard, " "); got != x.heard {
				t.Errorf("heard: %q, not %q", got, x.heard)
			}
			sc.slack.Say("UEXT", "C1", th, "<@UBOT> and now?")
			sc.quiet()
			if got := texts(sc.ledger); len(got) != len(heard)+1 {
				t.Errorf("a mention was not taken: %q", got)
			}
		})
	}
}

// Who decides says so with a click. Their words in the thread are theirs, and come with the next message to the bot.
func TestWordsOfWhoeverDecidesAreNotForTheBot(t *testing.T) {
	sc := newScene(t, overSocket).connected()
	th := sc.slack.Say("UANA", "C1", "", "<@UBOT> clean it up")
	sc.quiet()
	id := sc.asks(blocks.Place{Team: "T1", Channel: "C1", Thread: th}, ana, "a")
	sc.ledger.set(func() { sc.ledger.sessions[id].Turn.Said = []turn.Said{{By: ana, Message: chat.MessageRef(th)}} })
	sc.slack.Say("UBEN", "C1", th, "yes, go, but only db1")
	sc.slack.Say("UANA", "C1", th, "what he says")
	sc.quiet()
	got := sc.ledger.got()
	said, ok := got[len(got)-1].(chat.Said)
	if !ok || len(got) != 2 || said.User != ana || !strings.HasSuffix(quoted(sc.heard(said)), "Ben: yes, go, but only db1") {
		t.Errorf("%+v", got)
	}
}

func TestSlacksOwnVoiceStartsNothing(t *testing.T) {
	sc := newScene(t, overSocket).connected()
	dm := sc.slack.DM("UANA")
	for _, user := range []string{"USLACK", "USLACKBOT", "UNOBODY"} { // users.info: user_not_found
		sc.slack.Send(map[string]any{"type": "message", "user": user, "channel": dm, "channel_type": "im", "text": "<@UANA> archived the channel <#C9|old>", "ts": "1700000001.000100"})
		sc.slack.Send(map[string]any{"type": "app_mention", "user": user, "channel": "C1", "text": "<@UBOT> was mentioned", "ts": "1700000001.000200"})
	}
	sc.quiet()
	sc.slack.Fail("users.info", 1, fakeslack.Fault{Status: 500})
	sc.slack.Say("UBEN", "C1", "", "<@UBOT> hello") // who cannot be looked up is a person all the same
	sc.quiet()
	if got := texts(sc.ledger); strings.Join(got, ",") != "hello" {
		t.Errorf("taken: %q", got)
	}
}

func TestFollowDefaultsToRequesterAndAnUnknownWordListensToLess(t *testing.T) {
	t.Parallel()
	a := &Adapter{Config: Config{Channels: map[string]surface.Follow{"C1": "everything", "C2": ""}}}
	if a.follow("C9") != surface.FollowRequester || a.follow("C2") != surface.FollowRequester || a.follow("C1").Unmentioned() {
		t.Errorf("%q %q %q", a.follow("C9"), a.follow("C2"), a.follow("C1"))
	}
	a.Follow = surface.FollowMention
	if a.follow("C2") != surface.FollowMention {
		t.Error("an empty setting of a channel is not the default")
	}
}

func TestInADirectConversationEveryMessageIsForTheBot(t *testing.T) {
	sc := newScene(t, overSocket).connected()
	dm, root := sc.dm("first")
	sc.quiet()
	sc.slack.Say("UANA", dm, root, "second")
	sc.quiet() // chats keep their own order only
	sc.slack.Say("UANA", dm, "", "another chat")
	sc.quiet()
	got := sc.ledger.got()
	if len(got) != 3 || got[0].From().Chat != got[1].From().Chat || got[0].From().Chat == got[2].From().Chat {
		t.Fatalf("%+v", got)
	}
	if n := len(sc.slack.Calls("conversations.replies")); n > 0 {
		t.Errorf("%d looks at what was said to nobody else", n)
	}
	if _, err := sc.a.Post(sc.ctx, got[0].From().Chat, "key", finished("an answer")); err != nil { // which makes the thread a session
		t.Fatal(err)
	}
	sc.until("the thread has a title", func() bool { s, ok := sc.slack.Session(dm, root); return ok && s.Title == "first" })
}

func TestWhatCannotBeTakenIsAnsweredPrivately(t *testing.T) {
	sc := newScene(t, overSocket).connected()
	sc.slack.Say("UANA", "C1", "", "<@UBOT>")
	sc.until("there is help", func() bool { return len(sc.told("UANA")) == 1 })
	sc.ledger.set(func() { sc.ledger.fail = func(chat.Inbound) error { return agent.ErrTooLong } })
	sc.slack.Say("UANA", "C1", "", "<@UBOT> "+strings.Repeat("x", agent.MaxText+1))
	sc.until("it is said that it is too long", func() bool { return len(sc.told("UANA")) == 2 })
	sc.ledger.set(func() { sc.ledger.fail = func(chat.Inbound) error { return agent.ErrFull } })
	sc.slack.Say("UANA", "C1", "", "<@UBOT> one more")
	sc.until("it is said that too many wait", func() bool { return len(sc.told("UANA")) == 3 })
	sc.quiet()
	sc.stop()
	<-sc.ended // all that was to be answered is
	sc.ended <- nil
	told := sc.told("UANA")
	if len(told) != 3 || !strings.Contains(told[0], "each thread is one chat") || !strings.Contains(told[0], "asks people before it changes anything") || !strings.Contains(told[0], "“What can you do here?”") || !strings.Contains(told[1], "65 KiB") || !strings.Contains(told[2], "100 messages") {
		t.Errorf("told: %q", told)
	}
	if len(sc.ledger.got()) != 0 || len(sc.told("UBEN")) != 0 {
		t.Error("it was taken, or somebody else was told")
	}
}

func TestEditsAndDeletions(t *testing.T) {
	sc := newScene(t, overSocket).connected()
	ts := sc.slack.Say("UANA", "C1", "", "<@UBOT> one")
	sc.quiet()
	strange := sc.slack.Say("UANA", "C1", "", "not for the bot")
	sc.slack.EditMessage("C1", strange, "still not")
	sc.slack.EditMessage("C1", strange, "<@UBOT> now it is") // the mention comes as an event, but an edit begins nothing
	sc.slack.DeleteMessage("C1", strange)
	sc.slack.EditMessage("C1", ts, "<@UBOT> two &amp; three")
	sc.quiet()
	edit, ok := sc.ledger.got()[1].(chat.Edited)
	if !ok || edit.Text != "two & three" || edit.Message != chat.MessageRef(ts) || edit.User != ana || edit.Chat != (blocks.Place{Team: "T1", Channel: "C1", Thread: ts}).Chat() {
		t.Fatalf("%+v", sc.ledger.got())
	}
	all := sc.slack.Deliveries()
	sc.slack.Redeliver(all[len(all)-1], false)
	sc.until("it was taken again", func() bool { return len(sc.ledger.asked()) == 4 })
	sc.slack.EditMessage("C1", ts, "<@UBOT> four")
	sc.quiet()
	sc.slack.DeleteMessage("C1", ts)
	sc.quiet()
	got := sc.ledger.got()
	if len(got) != 4 {
		t.Fatalf("taken: %+v", got)
	}
	if e, ok := got[2].(chat.Edited); !ok || e.Text != "four" || e.Delivery == edit.Delivery {
		t.Errorf("%+v", got[2])
	}
	if d, ok := got[3].(chat.Deleted); !ok || d.Message != chat.MessageRef(ts) || d.Chat != edit.Chat || d.All {
		t.Errorf("%+v", got[3])
	}
}

// What would be no better if it came again is not asked for again.
func TestAnEditThatCannotBeTaken(t *testing.T) {
	sc := newScene(t, overSocket).connected()
	ts := sc.slack.Say("UANA", "C1", "", "<@UBOT> one")
	sc.quiet()
	for i, no := range []error{agent.ErrTooLong, agent.ErrNotText, agent.ErrEmpty, agent.ErrFull} {
		sc.ledger.set(func() { sc.ledger.fail = func(chat.Inbound) error { return no } })
		sc.slack.EditMessage("C1", ts, fmt.Sprint("<@UBOT> two ", i))
		sc.until("it is looked at", func() bool { return len(sc.ledger.asked()) == i+3 })
	}
	sc.quiet()
	if strings.Contains(sc.log.String(), "is not acknowledged") {
		t.Errorf("the log:\n%s", sc.log)
	}
}

// The bot's own message goes: the chat is found by the thread that it stood in.
func TestADeletedMessageOfTheBotsOwn(t *testing.T) {
	sc := newScene(t, overSocket).connected()
	ts := sc.slack.Say("UANA", "C1", "", "<@UBOT> one")
	sc.quiet()
	ref, err := sc.a.Post(sc.ctx, blocks.Place{Team: "T1", Channel: "C1", Thread: ts}.Chat(), "key", finished("an answer"))
	if err != nil {
		t.Fatal(err)
	}
	sc.quiet()
	sc.slack.DeleteMessage("C1", string(ref))
	sc.quiet()
	got := sc.ledger.got()
	if d, ok := got[len(got)-1].(chat.Deleted); !ok || d.Message != ref || d.Chat != (blocks.Place{Team: "T1", Channel: "C1", Thread: ts}).Chat() || len(got) != 2 {
		t.Errorf("%+v", got)
	}
}

func TestAChannelThatIsGoneEndsWhatWaitsThere(t *testing.T) {
	for name, end := range map[string]func(*scene){
		"archived": func(sc *scene) { sc.slack.Archive("UANA", "C1") },
		"left": func(sc *scene) {
			sc.slack.Send(map[string]any{"type": "member_left_channel", "user": "UBOT", "channel": "C1", "channel_type": "C", "team": "T1", "event_ts": "1700000009.000200"})
		},
	} {
		t.Run(name, func(t *testing.T) {
			sc := newScene(t, overSocket).connected()
			one := sc.asks(blocks.Place{Team: "T1", Channel: "C1", Thread: "1700000001.000001"}, ana, "a")
			two := sc.asks(blocks.Place{Team: "T1", Channel: "C1", Thread: "1700000002.000001"}, ana, "b")
			sc.asks(blocks.Place{Team: "T1", Channel: "C2", Thread: "1700000003.000001"}, ana, "c")
			sc.asks(blocks.Place{Team: "T1", Channel: "C1", Thread: "1700000004.000001"}, ana)
			end(sc)
			sc.quiet()
			got := sc.ledger.got()
			var chats []chat.ID
			for _, in := range got {
				if d, ok := in.(chat.Deleted); ok && d.All && d.Message == "" {
					chats = append(chats, d.Chat)
				}
			}
			if len(got) != 2 || len(chats) != 2 || chats[0] != one || chats[1] != two {
				t.Errorf("%+v", got)
			}
		})
	}
}

func TestAnArchivedChannelIsSentAgainWhileItCannotBeRecorded(t *testing.T) {
	sc := newScene(t, overSocket).connected()
	sc.asks(blocks.Place{Team: "T1", Channel: "C1", Thread: "1700000001.000001"}, ana, "a")
	sc.ledger.set(func() {
		sc.ledger.unasked = errDown
		sc.ledger.fail = func(chat.Inbound) error { sc.ledger.set(func() { sc.ledger.fail = nil }); return errDown }
	})
	sc.slack.Archive("UANA", "C1")
	sc.until("what waits there could not be read", func() bool { return strings.Contains(sc.log.String(), errDown.Error()) })
	sc.ledger.set(func() { sc.ledger.unasked = nil })
	sc.clock.Advance(fakeslack.AckWithin)
	sc.until("it failed", func() bool { return len(sc.ledger.asked()) == 1 })
	sc.clock.Advance(fakeslack.AckWithin + fakeslack.RetryAfter[1])
	sc.until("it came again", func() bool { return len(sc.ledger.got()) == 1 })
}

func TestTheAgentViewsStopAndGreeting(t *testing.T) {
	sc := newScene(t, overSocket, func(_ *scene, c *Config) { c.Suggestions = []string{"What can you do?"} }).connected()
	ts := sc.slack.Say("UANA", "C1", "", "<@UBOT> one")
	sc.quiet()
	sc.slack.Send(map[string]any{"type": "agent_session_stopped", "channel": "C1", "thread_ts": ts, "user": "UANA", "streaming_message_ts": []string{}, "event_ts": "1783536983.783769"})
	sc.quiet()
	if s, ok := sc.ledger.got()[1].(chat.Commanded); !ok || s.Verb != "stop" || s.User != ana || s.Chat != (blocks.Place{Team: "T1", Channel: "C1", Thread: ts}).Chat() {
		t.Errorf("%+v", sc.ledger.got())
	}
	dm := sc.slack.OpenAgentView("UANA")
	sc.quiet()
	sc.until("prompts are offered", func() bool { return sc.slack.Count("assistant.threads.setSuggestedPrompts") == 1 })
	_ = dm
}

// Where the log cannot say whether a message is for the bot, Slack sends it again.
func TestWhatTheLogCannotSayIsAskedAgain(t *testing.T) {
	knows := func(l *ledger, err error) { l.knows = func(chat.ID) (bool, error) { return false, err } }
	for name, x := range map[string]struct {
		fail          func(*ledger, error)
		who, in, text string
	}{
		"whether it knows the chat":      {knows, "UANA", "the thread", "<@UBOT> two"},
		"whether a program may begin it": {knows, "UOTHER", "", "<@UBOT> two"},
		"how the chat stands":            {func(l *ledger, err error) { l.unread = err }, "UANA", "the thread", "two"},
	} {
		t.Run(name, func(t *testing.T) {
			sc := newScene(t, overSocket, func(_ *scene, c *Config) { c.Bots = []string{"BOTHER"} }).connected()
			th := sc.slack.Say("UANA", "C1", "", "<@UBOT> one")
			sc.quiet()
			if x.in == "" {
				th = ""
			}
			sc.ledger.set(func() { x.fail(sc.ledger, errDown) })
			sc.slack.Say(x.who, "C1", th, x.text)
			sc.until("it failed", func() bool { return strings.Contains(sc.log.String(), errDown.Error()) })
			sc.ledger.set(func() { x.fail(sc.ledger, nil) })
			sc.clock.Advance(fakeslack.AckWithin)
			sc.quiet()
			if got := texts(sc.ledger); strings.Join(got, ",") != "one,two" {
				t.Errorf("taken: %q", got)
			}
		})
	}
}
