package inbound

import (
	"testing"

	"github.com/bwmarrin/discordgo"

	"github.com/nodhq/nod/core/chat"
)

// read is a message of a person, with the given fields in the place of its own, as the bot 11 gets it.
func read(t *testing.T, fields string) *Message {
	t.Helper()
	m := new(Message)
	if err := Decode([]byte(`{"author":{"id":"1","username":"ana"},`+fields+`}`), m); err != nil {
		t.Fatal(err)
	}
	return m
}

// Whose words a message is decides who may act with it, and whether anybody is answered at all.
func TestWhoseWordsItIs(t *testing.T) {
	t.Parallel()
	const names = `"mentions":[{"id":"11"}],"content":"<@11> hi"`
	for what, x := range map[string]struct{ fields, by string }{
		"a person's":                        {names, "person"},
		"a person's answer":                 {`"type":19,` + names, "person"},
		"what Discord says of a person":     {`"type":7,` + names, ""},
		"an account of Discord's own":       {`"author":{"id":"5","system":true},` + names, ""},
		"the bot's own":                     {`"author":{"id":"11","bot":true},` + names, ""},
		"a hook's":                          {`"webhook_id":"6","author":{"id":"6"},` + names, "program"},
		"a bot's":                           {`"author":{"id":"5","bot":true},` + names, "program"},
		"a bot's, written as bots did once": {`"author":{"id":"5","bot":true},"mentions":[{"id":"11"}],"content":"<@!11> hi"`, "program"},
		"a bot's answer to a command":       {`"type":20,"author":{"id":"5","bot":true},` + names, ""},
		"a bot's that only answers":         {`"type":19,"author":{"id":"5","bot":true},"mentions":[{"id":"11"}],"content":"hi"`, ""},
		"a bot's in a code block":           {`"author":{"id":"5","bot":true},"content":"<@11>"`, ""},
		"nobody's":                          {`"author":null,` + names, ""},
		"of an author that is no user":      {`"author":{"id":"x"},` + names, ""},
	} {
		m, by := read(t, x.fields), ""
		if m.ByPerson("11") {
			by += "person"
		}
		if m.ByProgram("11") {
			by += "program"
		}
		if by != x.by {
			t.Errorf("%s is of %q", what, by)
		}
	}
}

// In a thread that the bot follows it leaves people alone who talk to each other.
func TestWhomAMessageIsFor(t *testing.T) {
	t.Parallel()
	for fields, want := range map[string]struct{ answers, others bool }{
		`"content":"hi"`:                                        {},
		`"mention_everyone":true`:                               {others: true},
		`"mention_roles":["5"]`:                                 {others: true},
		`"mentions":[{"id":"2"}]`:                               {others: true},
		`"mentions":[{"id":"1"},{"id":"11"}]`:                   {},
		`"type":19,"referenced_message":{"author":{"id":"11"}}`: {answers: true},
		`"type":19,"referenced_message":{"author":{"id":"1"}}`:  {},
		`"type":19,"referenced_message":{"author":{"id":"2"}}`:  {others: true},
		`"type":19,"referenced_message":{"author":null}`:        {},
		`"type":19,"referenced_message":null`:                   {}, // what was answered is no more
	} {
		if m := read(t, fields); m.RepliesTo("11") != want.answers || m.NamesOthers("11") != want.others {
			t.Errorf("%s: %v, %v", fields, m.RepliesTo("11"), m.NamesOthers("11"))
		}
	}
}

// Where all messages look empty the bot says that it may not read them; what holds anything does not look so.
func TestWhatIsEmpty(t *testing.T) {
	t.Parallel()
	for fields, want := range map[string]bool{
		`"embeds":[{"title":"x"}]`: true, `"content":"x"`: false, `"attachments":[{"id":"1"}]`: false, `"sticker_items":[{"name":"x"}]`: false,
		`"message_snapshots":[{}]`: false, `"poll":{}`: false,
	} {
		if read(t, fields).IsEmpty() != want {
			t.Errorf("%s: %v", fields, !want)
		}
	}
}

func TestWhatIsQuoted(t *testing.T) {
	t.Parallel()
	ana := chat.User{Platform: "discord", Workspace: "8", Key: "1"}
	for fields, want := range map[string]chat.Quote{
		`"content":"hi"`: {By: ana, Name: "ana", Text: "hi"},
		`"content":" "`:  {},
		`"type":23,"content":"hi","author":{"id":"5","bot":true,"username":"robot"}`: {Name: "robot", Text: "hi"},
		`"content":"hi","author":{"id":"6","username":""},"webhook_id":"6"`:          {Name: "a bot", Text: "hi"},
		`"content":"hi","author":null`:                                               {Text: "hi"},
		`"embeds":[{"url":"https://example.com/a","description":"without a title"}]`: {By: ana, Name: "ana", Text: "without a title"},
		`"embeds":[{"type":"rich","title":"written","url":"https://example.com/a"}]`: {By: ana, Name: "ana", Text: "**written** (https://example.com/a)"},
		`"content":"joined","type":7`:                                                {},
	} {
		q, ok := read(t, fields).Quote("8", someNames)
		if ok != (want.Text != "") || ok && q != want {
			t.Errorf("%s: %+v, %v", fields, q, ok)
		}
	}
}

func TestWhatPlacesAre(t *testing.T) {
	t.Parallel()
	for typ, want := range map[discordgo.ChannelType]struct{ thread, threads bool }{
		discordgo.ChannelTypeGuildText: {threads: true}, discordgo.ChannelTypeGuildNews: {threads: true}, discordgo.ChannelTypeGuildVoice: {}, discordgo.ChannelTypeGuildForum: {},
		discordgo.ChannelTypeGuildPublicThread: {thread: true}, discordgo.ChannelTypeGuildPrivateThread: {thread: true}, discordgo.ChannelTypeGuildNewsThread: {thread: true},
	} {
		if c := (Channel{Type: typ}); c.IsThread() != want.thread || c.HasThreads() != want.threads {
			t.Errorf("%d: %v, %v", typ, c.IsThread(), c.HasThreads())
		}
	}
	for c, want := range map[Channel]bool{{Archived: true}: false, {Locked: true}: false, {Archived: true, Locked: true}: true} {
		if c.IsClosed() != want {
			t.Errorf("%+v", c)
		}
	}
}

func TestCommandsOfOthersAreNotOurs(t *testing.T) {
	t.Parallel()
	for data, want := range map[string]string{
		`{"name":"nod","options":[{"name":"ask","options":[{"name":"text","value":" hi "}]}]}`: "ask hi",
		`{"name":"other","options":[{"name":"halt"}]}`:                                         " ",
		`{"name":"nod"}`: " ",
	} {
		in := new(Interaction)
		if err := Decode([]byte(`{"data":`+data+`}`), in); err != nil {
			t.Fatal(err)
		}
		if verb, text := CommandOf(in); verb+" "+text != want {
			t.Errorf("%s: %q %q", data, verb, text)
		}
	}
}

// Nobody acts but the one person whom Discord vouches for.
func TestWhoClicked(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]string{
		`{"user":{"id":"1"}}`:                                  "1",
		`{"guild_id":"8","member":{"user":{"id":"1"}}}`:        "1",
		`{"guild_id":"8","user":{"id":"1"}}`:                   "",
		`{"guild_id":"8","user":{"id":"1"},"member":{}}`:       "",
		`{"user":{"id":"1","bot":true}}`:                       "",
		`{"member":{"user":{"id":"1"}}}`:                       "",
		`{"guild_id":"8","member":{"user":{"id":"<@&1>"}}}`:    "",
		`{"guild_id":[],"user":{"id":"1"},"message":"broken"}`: "1",
		`[]`: "not read", `{"user":`: "not read", ` `: "not read",
	} {
		in := new(Interaction)
		who := "not read"
		if Decode([]byte(raw), in) == nil {
			who = in.By().User.Key
		}
		if who != want {
			t.Errorf("%s: %q", raw, who)
		}
	}
}

func TestInputsOfForms(t *testing.T) {
	t.Parallel()
	deep := Component{CustomID: "deep", Value: "found"}
	for range 2 * maxPieces {
		deep = Component{Components: []Component{deep}}
	}
	of := []Component{{Component: &Component{CustomID: "labelled", Value: "x"}}, {Components: []Component{{CustomID: "in a row", Value: "y"}}}, deep}
	for id, want := range map[string]string{"labelled": "x", "in a row": "y", "deep": "", "none": ""} {
		if got := InputValue(of, id); got != want {
			t.Errorf("%s: %q", id, got)
		}
	}
}
