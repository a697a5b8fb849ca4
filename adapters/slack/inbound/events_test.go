package inbound

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/nodhq/nod/adapters/slack/blocks"
	"github.com/nodhq/nod/adapters/surface"
)

var testSelf = Self{Team: "T1", User: "UBOT", Bot: "BBOT", URL: "https://acme.slack.com/"}

// meanings is what each payload under testdata/inbound says to the bot. nil: nothing.
func meanings() map[string]Meaning {
	root, first := blocks.Place{Team: "T1", Channel: "C1", Thread: "1700000000.000001"}, blocks.Place{Team: "T1", Channel: "C1", Thread: "1700000001.000100"}
	mention := MessagePosted{Thread: first, TS: "1700000001.000100", User: "UANA", Home: "T1", Text: "<@UBOT> read notes.txt", Mentioned: true, Answerable: true}
	twin := mention
	twin.Answerable = false
	direct := MessagePosted{Thread: blocks.Place{Team: "T1", Channel: "D1", Thread: first.Thread}, TS: first.Thread, User: "UANA", Home: "T1", Text: "hi", Direct: true, Answerable: true}
	upload := direct
	upload.Text, upload.Message.Files = "", LooseList[file]{{ID: "F1", Type: "application/pdf", Name: "report.pdf", Size: 12}}
	reply := MessagePosted{Thread: root, TS: first.Thread, User: "UANA", Home: "T1", Text: "and now delete it", Reply: true, Answerable: true}
	broadcast, inThread := reply, reply
	broadcast.Text = "for all"
	inThread.Text, inThread.Mentioned = "and <@UBOT|nod>, you too", true
	lunch, group, shared := twin, twin, mention
	lunch.Text, lunch.Mentioned, lunch.Answerable = "lunch?", false, true
	group.Thread.Channel, group.Text, group.Mentioned, group.Answerable = "G1", "hi all", false, true
	shared.User, shared.Home, shared.Text = "UEXT", "T9", "<@UBOT> hi"
	deploy, cron := mention, twin
	deploy.User, deploy.Text, deploy.Program = "UDEPLOY", "<@UBOT> deployed", []string{"BDEPLOY", "A2", "UDEPLOY"}
	beside := deploy
	beside.Answerable = false
	cron.User, cron.Text, cron.Program = "", "<@UBOT> tick", []string{"BCRON"}
	return map[string]Meaning{
		"app_mention": mention, "strange_block": twin, "message_with_mention": twin, "app_mention_in_thread": inThread,
		"message_in_channel": lunch, "message_in_thread": reply, "thread_broadcast": broadcast,
		"message_im": direct, "message_mpim": group, "file_share": upload, "shared_channel": shared,

		"own_message": nil, "own_message_without_user": nil, "other_bot": beside, "other_bot_mentions": deploy, "bot_message": cron,
		"slackbot": nil, "me_message": nil, "channel_join": nil,

		"edited":   MessageEdited{root, first.Thread, "1700000009.000200", "UANA", "T1", "<@UBOT> read todo.txt"},
		"unfurled": nil, "unfurled_after_edit": nil, "edited_by_other": nil, "own_update": nil,

		"deleted": MessageDeleted{root, first.Thread}, "deleted_own": MessageDeleted{root, "1700000002.000100"}, "deleted_unknown": MessageDeleted{first, first.Thread},
		"deleted_other_bot": nil, "deleted_root": MessageDeleted{root, root.Thread},

		"channel_archive": ChannelClosed{"C1", "Ev08MFMKH6"}, "channel_archive_message": ChannelClosed{"C1", "Ev08MFMKH6"}, "group_archive": ChannelClosed{"G1", "Ev08MFMKH6"},
		"channel_deleted": ChannelClosed{"C1", "Ev08MFMKH6"}, "channel_left": ChannelClosed{"C1", "Ev08MFMKH6"}, "bot_left": ChannelClosed{"C1", "Ev08MFMKH6"}, "somebody_left": nil,

		"agent_session_stopped":    StopPressed{root, "UANA", "1783536983.783769"},
		"app_home_opened_messages": ConversationOpened{"D1", ""}, "app_home_opened_home": HomeOpened{"UANA", `{"v":1,"view":"grants"}`, "1231232323.12321312", "1515449522000016"}, "assistant_thread_started": ConversationOpened{"D1", root.Thread},

		"channel_rename": nil, "team_join": nil, "other_workspace": nil, "app_rate_limited": nil, "bad_timestamp": nil, "no_channel": nil,
	}
}

func TestMeaningOfRealPayloads(t *testing.T) {
	t.Parallel()
	want := meanings()
	files, err := filepath.Glob("../testdata/inbound/*.json")
	if err != nil || len(files) != len(want) {
		t.Fatalf("%d payloads, %d expectations, err %v", len(files), len(want), err)
	}
	for _, f := range files {
		name := strings.TrimSuffix(filepath.Base(f), ".json")
		t.Run(name, func(t *testing.T) {
			raw, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			e, err := DecodeEvent(raw)
			if err != nil {
				t.Fatal(err)
			}
			w, ok := want[name]
			if !ok {
				t.Fatalf("no expectation for %s", f)
			}
			got := MeaningOf(e, testSelf)
			if s, ok := got.(MessagePosted); ok { // of the message itself, what is read later
				s.Message = Message{Files: s.Message.Files}
				got = s
			}
			if !reflect.DeepEqual(got, w) {
				t.Errorf("got  %#v\nwant %#v", got, w)
			}
		})
	}
}

// What a payload says once one thing in it is different.
func TestMeaningOfOtherPayloads(t *testing.T) {
	t.Parallel()
	all := meanings()
	posted := func(of string, change func(*MessagePosted)) Meaning {
		m := all[of].(MessagePosted)
		change(&m)
		return m
	}
	for name, c := range map[string]struct {
		of      string
		changes map[string]any
		want    Meaning
	}{
		"Stop, of no thread":                      {"agent_session_stopped", map[string]any{"event.thread_ts": ""}, nil},
		"Stop, of no channel":                     {"agent_session_stopped", map[string]any{"event.channel": ""}, nil},
		"the conversation, without its channel":   {"app_home_opened_messages", map[string]any{"event.channel": ""}, nil},
		"the About tab":                           {"app_home_opened_home", map[string]any{"event.tab": "about"}, nil},
		"the Home tab of nobody":                  {"app_home_opened_home", map[string]any{"event.user": ""}, nil},
		"no workspace is named":                   {"app_mention", map[string]any{"authorizations": nil, "team_id": ""}, all["app_mention"]},
		"their workspace, in a shared channel":    {"app_mention", map[string]any{"authorizations": nil, "team_id": "T9", "is_ext_shared_channel": true}, all["app_mention"]},
		"another workspace, for nobody":           {"app_mention", map[string]any{"authorizations": nil, "team_id": "T9"}, nil},
		"a shared channel, for another app":       {"app_mention", map[string]any{"authorizations": []any{map[string]any{"team_id": "T9"}}, "team_id": "T9", "is_ext_shared_channel": true}, nil},
		"a mention by nobody":                     {"app_mention", map[string]any{"event.user": ""}, nil},
		"a mention sent for an app":               {"app_mention", map[string]any{"event.app_id": "A2"}, nil},
		"a mention by the bot":                    {"app_mention", map[string]any{"event.user": "UBOT"}, nil},
		"a mention in the bot's own message":      {"own_message", map[string]any{"event.text": "<@UBOT> hi"}, nil},
		"a program that does not name the bot":    {"other_bot", map[string]any{"event.text": "deployed"}, nil},
		"a program changes a channel's topic":     {"other_bot_mentions", map[string]any{"event.subtype": "channel_topic"}, nil},
		"a mention with a name in it":             {"message_with_mention", map[string]any{"event.text": "<@UBOT|nod> hi"}, posted("message_with_mention", func(m *MessagePosted) { m.Text = "<@UBOT|nod> hi" })},
		"a mention that only its blocks have":     {"app_mention", map[string]any{"event.text": "hi"}, posted("app_mention", func(m *MessagePosted) { m.Text = "hi" })},
		"a mention in what is quoted":             {"app_mention", map[string]any{"event.text": "hi", "event.attachments": []any{map[string]any{"text": "ask UBOT"}}}, posted("app_mention", func(m *MessagePosted) { m.Text, m.Mentioned = "hi", false })},
		"a mention to the bot alone":              {"message_im", map[string]any{"event.text": "<@UBOT> hi"}, posted("message_im", func(m *MessagePosted) { m.Text, m.Mentioned = "<@UBOT> hi", true })},
		"a reply to no message":                   {"message_in_thread", map[string]any{"event.thread_ts": "yesterday"}, nil},
		"a reply of no time":                      {"message_in_thread", map[string]any{"event.ts": "yesterday"}, nil},
		"an edit of nothing":                      {"edited", map[string]any{"event.message": nil}, nil},
		"an edit whose old text is not told":      {"edited", map[string]any{"event.previous_message": nil}, all["edited"]},
		"an edit of no time":                      {"edited", map[string]any{"event.message.ts": "yesterday"}, nil},
		"an edit by the bot":                      {"edited", map[string]any{"event.message.user": "UBOT", "event.message.edited.user": "UBOT"}, nil},
		"a first message deleted, it is not told": {"deleted_root", map[string]any{"event.previous_message": nil}, nil},
		"a program's first message deleted":       {"deleted_root", map[string]any{"event.previous_message.bot_id": "BDEPLOY"}, nil},
		"deleted, at no time":                     {"deleted", map[string]any{"event.deleted_ts": "yesterday"}, nil},
	} {
		got := MeaningOf(changed(t, c.of, c.changes), testSelf)
		if s, ok := got.(MessagePosted); ok {
			s.Message = Message{}
			got = s
		}
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: got %#v\nwant %#v", name, got, c.want)
		}
	}
	unnamed := testSelf
	unnamed.Bot = ""
	if MeaningOf(changed(t, "message_im", nil), unnamed) == nil {
		t.Error("a bot whose bot ID is not known takes people's messages for its own")
	}
}

// changed is a payload under testdata/inbound with other values at some paths.
func changed(t *testing.T, name string, changes map[string]any) Event {
	t.Helper()
	raw, err := os.ReadFile("../testdata/inbound/" + name + ".json")
	if err != nil {
		t.Fatal(err)
	}
	var payload map[string]any
	if err = json.Unmarshal(raw, &payload); err != nil {
		t.Fatal(err)
	}
	for path, value := range changes {
		at, keys := payload, strings.Split(path, ".")
		for _, k := range keys[:len(keys)-1] {
			at = at[k].(map[string]any)
		}
		at[keys[len(keys)-1]] = value
	}
	raw, err = json.Marshal(payload)
	if err != nil {
		t.Fatal(err)
	}
	e, err := DecodeEvent(raw)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// A mention comes as two events: both have to be the same delivery of the same chat, or the bot answers twice.
func TestMentionAndMessageAreOneDelivery(t *testing.T) {
	t.Parallel()
	all := meanings()
	one, two := all["app_mention"].(MessagePosted), all["message_with_mention"].(MessagePosted)
	if one.Delivery() != two.Delivery() || one.Thread != two.Thread {
		t.Errorf("%v in %v, and %v in %v", one.Delivery(), one.Thread, two.Delivery(), two.Thread)
	}
	if one.Delivery() == all["message_in_thread"].(MessagePosted).Delivery() && one.Thread == all["message_in_thread"].(MessagePosted).Thread {
		t.Error("another message is the same delivery")
	}
	if !one.Answerable || two.Answerable {
		t.Error("just one of the two is to be answered where nothing is recorded")
	}
}

func TestAnEventOfTheWholeOrganisationIsOurs(t *testing.T) {
	t.Parallel()
	e := Event{Type: "event_callback", Team: "T7", Enterprise: "E1"}
	if e.concerns(testSelf) {
		t.Error("an event of another workspace was taken")
	}
	if !e.concerns(Self{Team: "T1", Enterprise: "E1"}) {
		t.Error("an event of the same organisation was not taken")
	}
}

func TestDecodingNamesNothingOfAMessage(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{"", "null", "[]", `"secret"`, `{"type":"secret`, `{"type":17,"x":"secret"}`, `{"event":"secret"}`} {
		e, err := DecodeEvent([]byte(bad))
		if err == nil {
			t.Errorf("%s was decoded: %+v", bad, e)
		} else if strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: the error repeats it: %v", bad, err)
		}
	}
	for bad, want := range map[string]string{`{"type":1234}`: "the payload's type is a number", `{"type":?}`: "the payload is not JSON from byte 9 on"} {
		if _, err := DecodeEvent([]byte(bad)); err == nil || err.Error() != want {
			t.Errorf("%s: %v", bad, err)
		}
	}
}

func FuzzDecodeEvent(f *testing.F) {
	files, _ := filepath.Glob("../testdata/inbound/*.json")
	for _, name := range files {
		raw, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		e, err := DecodeEvent(raw)
		if err != nil {
			return
		}
		_ = e.Lane()
		check := func(p blocks.Place) {
			if back, ok := blocks.PlaceOf(p.Chat()); !ok || back != p || p.Team != testSelf.Team {
				t.Errorf("%+v is no place", p)
			}
		}
		switch m := MeaningOf(e, testSelf).(type) {
		case MessagePosted:
			check(m.Thread)
			if m.User == "" && m.Program == nil || m.User == testSelf.User || !blocks.IsTimestamp(m.TS) {
				t.Errorf("said by nobody, by the bot, or never: %+v", m)
			}
			text := PlainText(WithoutMention(m.Text, testSelf.User), func(string) string { return "" })
			_, _ = surface.ParseCommand(text)
		case MessageEdited:
			check(m.Thread)
		case MessageDeleted:
			check(m.Thread)
		case StopPressed:
			check(m.Thread)
		}
	})
}
