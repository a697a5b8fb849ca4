package discord

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/bwmarrin/discordgo"

	"github.com/nodhq/nod/adapters/discord/inbound"

	"github.com/nodhq/nod/adapters/discord/ids"
	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/tests/standins/fakediscord"
)

func TestAMentionBeginsAThread(t *testing.T) {
	p := newParlor(t)
	id := p.ask("read the notes, <@" + p.ben + ">")
	got := onlyOne[chat.Said](p)
	if got.Chat != p.in(id) || got.Text != "read the notes, @Ben" || got.User != p.user(p.ana) || got.Name != "Ana" ||
		got.Delivery != chat.Delivery("m:"+p.general+":"+id) || got.Context != nil || string(got.Channel) != "discord:"+p.Guild()+":"+p.general {
		t.Errorf("%+v", got)
	}
	if !slices.Contains(got.Groups, ids.Role(p.Guild(), p.Guild())) {
		t.Errorf("groups: %v", got.Groups)
	}
	ref, err := p.a.Post(p.ctx, got.Chat, "key", inWords("hello")) // makes the thread, which is named after the question
	if err != nil {
		t.Fatal(err)
	}
	if c, ok := p.Channel(id); !ok || c.Parent != p.general || !strings.HasPrefix(c.Name, "read the notes") {
		t.Errorf("%+v", c)
	}
	if n := len(p.Calls(fakediscord.GetMessage)); n != 0 {
		t.Errorf("the thread was not expected: its message was looked at %d times", n)
	}
	if _, ok := p.Message(id, string(ref)); !ok {
		t.Error("the answer does not stand in the thread")
	}
	p.Post(fakediscord.Post{User: p.ana, Channel: id}) // there is nothing to be read in it, and that is not for want of the intent
	p.Say(p.ana, id, "and then?")                      // no mention: the thread is followed
	p.until("it is heard", func() bool { return len(p.ledger.texts()) == 2 })
	if in := p.ledger.got()[1].(chat.Said); in.Chat != got.Chat || in.User.Key != p.ana || p.heard(in) != nil || in.Channel != got.Channel {
		t.Errorf("%+v", in)
	}
	p.close()
	if said := texts(p.Mine(id)); strings.Contains(said, sayDeaf) {
		t.Error(said, p.log)
	}
}

func TestWhatIsNotForTheBotStaysOut(t *testing.T) {
	p := newParlor(t)
	robot := p.AddUser(fakediscord.User{Name: "robot", Bot: true})
	thread := p.CreateThread(p.ben, p.general, "", "people among themselves")
	mine := p.ask("one")
	for _, x := range []fakediscord.Post{
		{User: p.ana, Text: "not for the bot"},
		{User: p.ana, Text: "`" + p.BotUser() + "`"},
		{User: robot, Text: p.bot() + " I am a bot"},
		{Webhook: "deploy", Text: p.bot() + " I am a webhook"},
		{User: p.ana, Type: 6, Text: p.bot() + " pinned a message"},
		{User: p.ana, Type: 21, Text: p.bot() + " a thread's first"},
		{User: p.ana, Channel: thread, Text: "in a thread that the bot was never called to"},
	} {
		if x.Channel == "" {
			x.Channel = p.general
		}
		p.Post(x)
	}
	p.event("MESSAGE_CREATE", map[string]any{"id": "900", "channel_id": p.general, "guild_id": p.Guild(), "content": "mine",
		"author": map[string]any{"id": p.BotUser()}, "mentions": []any{map[string]any{"id": p.BotUser()}}})
	p.event("MESSAGE_CREATE", map[string]any{"id": "901", "channel_id": p.general, "content": "nobody's"})
	p.event("MESSAGE_CREATE", map[string]any{"id": "902", "channel_id": p.general, "guild_id": p.Guild(), "content": "a webhook's", "webhook_id": "5",
		"author": map[string]any{"id": "5", "username": "hook"}, "mentions": []any{map[string]any{"id": p.BotUser()}}})
	p.event("MESSAGE_CREATE", map[string]any{"id": "903", "channel_id": p.general, "guild_id": "31", "content": "calls a role that cannot be read",
		"author": map[string]any{"id": p.ana}, "mention_roles": []any{nil}})
	p.event("MESSAGE_CREATE", map[string]any{"id": "904", "channel_id": "../5", "content": "in no room", "author": map[string]any{"id": p.ana}})
	p.event("MESSAGE_CREATE", map[string]any{"id": "x", "channel_id": p.OpenDM(p.ana), "content": "no message", "author": map[string]any{"id": p.ana}})
	p.settled(p.general)
	p.settled(thread)
	p.close() // all that was taken is done
	if got := onlyOne[chat.Said](p); string(got.Message) != mine {
		t.Errorf("%+v", got)
	}
	if len(p.ledger.asked()) != 1 {
		t.Errorf("%+v", p.ledger.asked())
	}
}

func TestWhoCallsTheBot(t *testing.T) {
	own := ""
	p := newParlor(t, func(p *parlor, c *Config) { c.Conversation = InChannel })
	own = "777"
	p.event("GUILD_ROLE_CREATE", map[string]any{"guild_id": p.Guild(), "role": map[string]any{"id": own, "name": "nod", "tags": map[string]any{"bot_id": p.BotUser()}}})
	p.event("GUILD_ROLE_CREATE", map[string]any{"guild_id": p.Guild(), "role": map[string]any{"id": "778", "name": "crew", "tags": map[string]any{"bot_id": "5"}}})
	ref, err := p.a.Post(p.ctx, ids.Place{Guild: p.Guild(), Channel: p.general, Thread: ""}.Chat(), "key", inWords("I am here"))
	if err != nil {
		t.Fatal(err)
	}
	p.Reply(p.ana, p.general, string(ref), "a reply")
	p.Post(fakediscord.Post{User: p.ana, Channel: p.general, To: string(ref), NoPing: true, Text: "a reply that does not notify"})
	other := p.Say(p.ben, p.general, "of people")
	p.Reply(p.ana, p.general, other, "a reply to somebody else")
	for i, role := range []string{"778", own} {
		p.event("MESSAGE_CREATE", map[string]any{"id": fmt.Sprint(910 + i), "channel_id": p.general, "guild_id": p.Guild(), "mention_roles": []any{role},
			"content": "<@&" + role + "> do it", "author": map[string]any{"id": p.ana, "username": "ana"}, "member": map[string]any{"roles": []any{}}})
	}
	p.settled(p.general)
	got := p.ledger.texts()
	slices.Sort(got) // what is given here directly comes before what takes the way over the connection
	if !slices.Equal(got, []string{"a reply", "a reply that does not notify", "do it"}) {
		t.Errorf("taken: %q", got)
	}
	for _, in := range p.ledger.got() {
		if in.From().Chat != (ids.Place{Guild: p.Guild(), Channel: p.general, Thread: ""}).Chat() {
			t.Errorf("the chat is %v", in.From().Chat)
		}
	}
}

func TestPlaces(t *testing.T) {
	p := newParlor(t, func(p *parlor, c *Config) {
		talk := p.AddChannel(fakediscord.Channel{ID: "4001", Name: "talk"})
		c.Channels = map[string]Channel{talk: {Conversation: InChannel}, "4002": {Follow: surface.FollowMention}}
		p.AddChannel(fakediscord.Channel{ID: "4002", Name: "quiet"})
		p.AddChannel(fakediscord.Channel{ID: "4003", Name: "voice", Kind: 2})
		p.AddChannel(fakediscord.Channel{ID: "4004", Name: "forum", Kind: fakediscord.Forum})
	})
	g := p.Guild()
	inTalk := p.CreateThread(p.ana, "4001", "", "a thread of the talk")
	inQuiet := p.CreateThread(p.ana, "4002", "", "a thread of the quiet")
	post := p.CreateThread(p.ana, "4004", "", "a post")
	for _, x := range []struct {
		room string
		want ids.Place
	}{
		{"4001", ids.Place{Guild: g, Channel: "4001", Thread: ""}},
		{"4003", ids.Place{Guild: g, Channel: "4003", Thread: ""}}, // no threads in a voice channel
		{inTalk, ids.Place{Guild: g, Channel: "4001", Thread: inTalk}},
		{inQuiet, ids.Place{Guild: g, Channel: "4002", Thread: inQuiet}},
		{post, ids.Place{Guild: g, Channel: "4004", Thread: post}},
	} {
		id := p.Say(p.ana, x.room, p.bot()+" hello")
		p.until("it is taken", func() bool { return p.tookMessage(id) })
		got := p.ledger.got()
		if last := got[len(got)-1].From().Chat; last != x.want.Chat() {
			t.Errorf("in %s the chat is %v, not %v", x.room, last, x.want.Chat())
		}
		if _, err := p.a.Post(p.ctx, x.want.Chat(), chat.PostKey(id), inWords("hello")); err != nil {
			t.Error(err)
		}
	}
	p.event("MESSAGE_CREATE", map[string]any{"id": post, "channel_id": post, "guild_id": g, "content": "what a post of a forum begins with",
		"author": map[string]any{"id": p.ana}, "mentions": []any{map[string]any{"id": p.BotUser()}}})
	p.until("it is taken", func() bool { return p.tookMessage(post) })
	if _, err := p.a.Post(p.ctx, ids.Place{Guild: g, Channel: "4004", Thread: post}.Chat(), "first", inWords("hello")); err != nil || len(p.Calls(fakediscord.StartThreadOn)) != 0 {
		t.Error("a thread is made where there is one:", err)
	}
	n := len(p.ledger.got())
	p.Say(p.ana, inQuiet, "without a mention") // only mentions there
	p.Say(p.ana, "4001", "without a mention")  // a channel is not followed
	p.settled(inQuiet)
	p.settled("4001")
	if got := p.ledger.got(); len(got) != n {
		t.Errorf("taken: %+v", got[n:])
	}
}

// What is not known just now is asked again, and nobody has to say it twice.
func TestAnOutageLosesNothingThatWasSaid(t *testing.T) {
	p := newParlor(t)
	thread := p.ask("one")
	if _, err := p.a.Post(p.ctx, p.in(thread), "own", inWords("yes?")); err != nil {
		t.Fatal(err)
	}
	p.settled(thread)
	p.a.in.channels.byID.Remove(thread) // as after a start, of an old thread
	id := p.Say(p.ana, thread, "in a thread that nobody told of")
	p.until("it is taken", func() bool { return p.tookMessage(id) })
	for what, x := range map[string]struct{ breaks, mends func() }{
		"is the chat known":   {func() { p.ledger.set(func() { p.ledger.down = errDown }) }, func() { p.ledger.set(func() { p.ledger.down = nil }) }},
		"how the chat stands": {func() { p.ledger.set(func() { p.ledger.unread = errDown }) }, func() { p.ledger.set(func() { p.ledger.unread = nil }) }},
		"where the message stands": {func() {
			p.a.in.channels.byID.Remove(thread)
			p.Fail(fakediscord.GetChannel, 1, fakediscord.Fault{Status: 502})
		}, func() {}},
	} {
		x.breaks()
		id := p.Say(p.ana, thread, "while it is not known "+what)
		p.until("it is not recorded", func() bool { return strings.Contains(p.log.String(), what) })
		x.mends()
		p.until("it is taken: "+what, func() bool { return p.tookMessage(id) && p.behind() == 0 })
	}
	for _, in := range p.ledger.got() {
		if in.From().Chat != p.in(thread) {
			t.Errorf("%+v", in)
		}
	}
}

// What no attempt mends is given up, and keeps nothing waiting behind it.
func TestWhatIsHopelessIsGivenUp(t *testing.T) {
	p := newParlor(t)
	id := p.ask("one")
	p.ledger.set(func() { p.ledger.fail = func(chat.Inbound) error { return agent.ErrTooLong } })
	p.Say(p.ana, p.general, p.bot()+" hello")
	p.EditMessage(p.general, id, p.bot()+" two")
	p.event("MESSAGE_CREATE", map[string]any{"id": "905", "channel_id": "4999", "guild_id": p.Guild(), "content": "where nod may not look",
		"author": map[string]any{"id": p.ana}, "mentions": []any{map[string]any{"id": p.BotUser()}}})
	p.event("MESSAGE_DELETE", map[string]any{"id": "905", "channel_id": "4999", "guild_id": p.Guild()})
	p.until("two are given up", func() bool { return strings.Count(p.log.String(), "was not taken") == 2 })
	p.close() // all that was taken is done
	if log := p.log.String(); p.behind() != 0 || strings.Contains(log, "not recorded") {
		t.Error(log)
	}
}

func TestDirectMessagesAreOneChat(t *testing.T) {
	p := newParlor(t)
	dm := p.OpenDM(p.ana)
	p.Say(p.ana, dm, "hello")
	p.Say(p.ana, dm, "again")
	p.until("both are taken", func() bool { return len(p.ledger.got()) == 2 })
	if got := p.marks.of(""); got != "" {
		t.Errorf("nowhere was read up to %q: %s", got, p.log)
	}
	for _, in := range p.ledger.got() {
		e := in.From()
		if e.Chat != (ids.Place{Guild: "", Channel: dm, Thread: ""}).Chat() || e.User != ids.Person("", p.ana) || e.Groups != nil || in.(chat.Said).Earlier != nil {
			t.Errorf("%+v", in)
		}
	}
}

func TestFollowDefaultsToRequesterAndAnUnknownWordListensToLess(t *testing.T) {
	t.Parallel()
	a := &Adapter{Config: Config{Channels: map[string]Channel{"1": {Follow: "everything"}, "2": {}, "3": {Follow: surface.FollowMention}}}}
	at := func(channel, thread string) surface.Follow {
		return a.follow(ids.Place{Guild: "9", Channel: channel, Thread: thread})
	}
	if at("7", "8") != surface.FollowRequester || at("2", "8") != surface.FollowRequester || at("1", "8").Unmentioned() || at("2", "3") != surface.FollowMention {
		t.Errorf("%q %q %q %q", at("7", "8"), at("2", "8"), at("1", "8"), at("2", "3"))
	}
	a.Follow = surface.FollowMention
	if at("2", "8") != surface.FollowMention {
		t.Error("an empty setting of a channel is not the default")
	}
}

func TestConversationDefaultsToThread(t *testing.T) {
	t.Parallel()
	a := &Adapter{Config: Config{Channels: map[string]Channel{"1": {Conversation: InChannel}, "2": {}, "3": {Conversation: "elsewhere"}}}}
	for id, want := range map[string]string{"1": "", "2": "5", "3": "5", "9": "5"} {
		if got := a.placeIn(inbound.Channel{ID: id, Type: discordgo.ChannelTypeGuildText}, "8", "5"); got != (ids.Place{Guild: "8", Channel: id, Thread: want}) {
			t.Errorf("%s: %+v", id, got)
		}
	}
}

func TestWithoutTheIntentItIsSaidOncePerThread(t *testing.T) {
	p := newParlor(t, func(p *parlor, _ *Config) { p.AllowContent(false) })
	id := p.ask("hello") // mentions come with their content
	ref, err := p.a.Post(p.ctx, p.in(id), "key", inWords("hello"))
	if err != nil {
		t.Fatal(err)
	}
	p.Say(p.ana, id, "can you read this?")
	p.Say(p.ana, id, "and this?")
	p.settled(id)
	p.until("it is said", func() bool { return strings.Contains(texts(p.Mine(id)), sayDeaf) })
	p.Post(fakediscord.Post{User: p.ana, Channel: id, To: string(ref), NoPing: true, Text: "a reply comes without its words"})
	p.settled(id)
	dm := p.OpenDM(p.ana)
	p.Say(p.ana, dm, "help") // there everything can be read
	p.until("there is help", func() bool { return strings.Contains(texts(p.Mine(dm)), "Write what you want") })
	p.close()
	if got := texts(p.Mine(id)); strings.Count(got, sayDeaf) != 1 {
		t.Errorf("said: %s", got)
	}
	if got := texts(p.Mine(dm)); strings.Count(got, "Here nod can only read messages that mention it") != 1 {
		t.Errorf("told: %s", got)
	}
	if got := onlyOne[chat.Said](p); got.Text != "hello" {
		t.Errorf("%+v", got)
	}
}

// texts is all that messages say.
func texts(all []fakediscord.Message) string {
	var b strings.Builder
	for _, m := range all {
		b.WriteString(m.Text() + "\n")
	}
	return b.String()
}

func TestAMessageThatMakesTheCodeFailIsLeftOut(t *testing.T) {
	p := newParlor(t)
	p.ledger.set(func() {
		p.ledger.fail = func(in chat.Inbound) error {
			if s, ok := in.(chat.Said); ok && s.Text == "boom" {
				panic("boom")
			}
			return nil
		}
	})
	p.Say(p.ana, p.general, p.bot()+" boom")
	p.ask("after it")
	if got := p.ledger.texts(); !slices.Equal(got, []string{"after it"}) {
		t.Errorf("taken: %q", got)
	}
}

func TestOddEventsLoseNothing(t *testing.T) {
	p := newParlor(t)
	base := func(id string) map[string]any {
		return map[string]any{"id": id, "channel_id": p.general, "guild_id": p.Guild(), "type": 0, "content": "<@" + p.BotUser() + "> " + id,
			"author": map[string]any{"id": p.ana, "username": "ana"}, "mentions": []any{map[string]any{"id": p.BotUser()}}}
	}
	odd := []map[string]any{
		{"components": []any{map[string]any{"type": 99, "components": "none", "content": 7}}},
		{"components": "none", "embeds": 3, "attachments": map[string]any{"filename": "x"}, "poll": []any{}, "sticker_items": []any{1, nil, "x"}},
		{"member": "nobody", "message_snapshots": []any{nil, 5, map[string]any{"message": 1}}, "referenced_message": []any{}},
		{"mention_roles": "many", "webhook_id": nil, "edited_timestamp": map[string]any{}, "nonce": map[string]any{"a": 1}, "type": "zero"},
		{"poll": map[string]any{"question": nil}, "author": map[string]any{"id": p.ana, "username": 5, "global_name": []any{}, "bot": "no"}},
	}
	for i, fields := range odd {
		e := base(fmt.Sprint(920 + i))
		for k, v := range fields {
			e[k] = v
		}
		p.event("MESSAGE_CREATE", e)
	}
	for _, raw := range []string{``, `[]`, `null`, `{`, `"x"`, `{"id":{}}`} {
		for _, typ := range []string{"MESSAGE_CREATE", "MESSAGE_UPDATE", "MESSAGE_DELETE", "MESSAGE_DELETE_BULK", "INTERACTION_CREATE", "GUILD_CREATE", "GUILD_DELETE",
			"CHANNEL_UPDATE", "THREAD_DELETE", "THREAD_UPDATE", "GUILD_ROLE_UPDATE", "THREAD_LIST_SYNC", "SOMETHING_NEW"} {
			p.a.event(typ, []byte(raw))
		}
	}
	p.settled(p.general)
	if got := p.ledger.texts(); len(got) != len(odd) || !strings.Contains(p.log.String(), "could not be read and is dropped") {
		t.Errorf("taken: %q; the log:\n%s", got, p.log)
	}
}

func TestEnclosuresAreNamed(t *testing.T) {
	p := newParlor(t)
	p.event("MESSAGE_CREATE", map[string]any{"id": "930", "channel_id": "5000", "author": map[string]any{"id": p.ana, "username": "ana"},
		"attachments": []any{map[string]any{"filename": "notes.txt"}}, "sticker_items": []any{map[string]any{"name": "wave"}},
		"poll": map[string]any{"question": map[string]any{"text": "which one?"}}, "message_snapshots": []any{map[string]any{"message": map[string]any{"content": "<:hi:12345> from afar"}}}})
	p.until("it is taken", func() bool { return len(p.ledger.got()) == 1 })
	got := onlyOne[chat.Said](p)
	for _, want := range []string{"[file notes.txt]", "[sticker: wave]", "[poll: which one?]"} {
		if !strings.Contains(got.Text, want) {
			t.Errorf("%q is not in %q", want, got.Text)
		}
	}
	if len(got.Context) != 1 || got.Context[0].Text != ":hi: from afar" || !got.Context[0].By.IsZero() {
		t.Errorf("%+v", got.Context)
	}
}

func TestAnEmptyMentionGetsHelp(t *testing.T) {
	p := newParlor(t)
	p.Say(p.ana, p.general, p.bot())
	p.until("there is help", func() bool { return strings.Contains(texts(p.Mine(p.OpenDM(p.ana))), "/nod ask") })
	for _, want := range []string{"asks people before it changes anything", "“What can you do here?”"} {
		if got := texts(p.Mine(p.OpenDM(p.ana))); !strings.Contains(got, want) {
			t.Errorf("the help does not say %s: %s", want, got)
		}
	}
	if len(p.ledger.asked()) != 0 {
		t.Errorf("%+v", p.ledger.asked())
	}
}

func TestARoleIsNamedAsTheGatewayCallsIt(t *testing.T) {
	t.Parallel()
	a, _ := quietAdapter(t)
	a.event("GUILD_ROLE_CREATE", []byte(`{"guild_id":"1","role":{"id":"9","name":"ops"}}`))
	if got := a.GroupName(chat.ID{}, ids.Role("1", "9")); got != "ops" {
		t.Errorf("it is called %q", got)
	}
	for _, no := range []chat.User{ids.Role("1", "8"), ids.Person("1", "9"), {Platform: "slack", Workspace: "1", Key: "&9"}} {
		if got := a.GroupName(chat.ID{}, no); got != "" {
			t.Errorf("%v is called %q", no, got)
		}
	}
}

// Whoever writes to the bot alone for the first time is told what it is, once.
func TestANewcomerIsWelcomedOnce(t *testing.T) {
	p := newParlor(t)
	dm := p.OpenDM(p.ana)
	say := func(words string) {
		id := p.Say(p.ana, dm, words)
		p.until("it is taken", func() bool { return p.tookMessage(id) })
	}
	p.failing(1, func(chat.Said) bool { return true }) // it is recorded the second time
	say("what is in notes.txt?")
	p.until("Ana is welcomed", func() bool { return strings.Contains(p.told(p.ana, dm), surface.SayWelcome) })
	say("and in todo.txt?")
	p.settled(p.general) // Ben asks something there, where nobody is welcomed
	p.Say(p.ana, dm, "help")
	p.until("Ana is helped, which comes after all that", func() bool { return strings.Contains(p.told(p.ana, dm), "Write what you want") })
	p.close()
	welcomed := slices.DeleteFunc(p.Mine(dm), func(m fakediscord.Message) bool { return !strings.Contains(m.Text(), "Welcome. ") })
	if len(welcomed) != 1 || strings.Contains(p.told(p.ben, p.general), "Welcome. ") {
		t.Errorf("welcomed: %+v", welcomed)
	}
}
