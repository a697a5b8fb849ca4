package slack

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/nodhq/nod/adapters/surface"
)

var testSelf = self{Team: "T1", User: "UBOT", Bot: "BBOT", URL: "https://acme.slack.com/"}

// meanings is what each payload under testdata/inbound says to the bot. nil: nothing.
func meanings() map[string]meaning {
	root, first := place{"T1", "C1", "1700000000.000001"}, place{"T1", "C1", "1700000001.000100"}
	mention := spoken{at: first, ts: "1700000001.000100", user: "UANA", home: "T1", text: "<@UBOT> read notes.txt", mentioned: true, answerable: true}
	twin := mention
	twin.answerable = false
	direct := spoken{at: place{"T1", "D1", first.Thread}, ts: first.Thread, user: "UANA", home: "T1", text: "hi", direct: true, answerable: true}
	upload := direct
	upload.text, upload.said.Files = "", lax[file]{{"report.pdf"}}
	reply := spoken{at: root, ts: first.Thread, user: "UANA", home: "T1", text: "and now delete it", reply: true, answerable: true}
	broadcast, inThread := reply, reply
	broadcast.text = "for all"
	inThread.text, inThread.mentioned = "and <@UBOT|nod>, you too", true
	lunch, group, shared := twin, twin, mention
	lunch.text, lunch.mentioned, lunch.answerable = "lunch?", false, true
	group.at.Channel, group.text, group.mentioned, group.answerable = "G1", "hi all", false, true
	shared.user, shared.home, shared.text = "UEXT", "T9", "<@UBOT> hi"
	return map[string]meaning{
		"app_mention": mention, "strange_block": twin, "message_with_mention": twin, "app_mention_in_thread": inThread,
		"message_in_channel": lunch, "message_in_thread": reply, "thread_broadcast": broadcast,
		"message_im": direct, "message_mpim": group, "file_share": upload, "shared_channel": shared,

		"own_message": nil, "own_message_without_user": nil, "other_bot": nil, "other_bot_mentions": nil, "bot_message": nil,
		"slackbot": nil, "me_message": nil, "channel_join": nil,

		"edited":   reworded{root, first.Thread, "1700000009.000200", "UANA", "T1", "<@UBOT> read todo.txt"},
		"unfurled": nil, "unfurled_after_edit": nil, "edited_by_other": nil, "own_update": nil,

		"deleted": removed{root, first.Thread}, "deleted_own": removed{root, "1700000002.000100"}, "deleted_unknown": removed{first, first.Thread},
		"deleted_other_bot": nil, "deleted_root": removed{root, root.Thread},

		"channel_archive": closed{"C1", "Ev08MFMKH6"}, "channel_archive_message": closed{"C1", "Ev08MFMKH6"}, "group_archive": closed{"G1", "Ev08MFMKH6"},
		"channel_deleted": closed{"C1", "Ev08MFMKH6"}, "channel_left": closed{"C1", "Ev08MFMKH6"}, "bot_left": closed{"C1", "Ev08MFMKH6"}, "somebody_left": nil,

		"agent_session_stopped":    halted{root, "UANA", "1783536983.783769"},
		"app_home_opened_messages": greeted{"D1", ""}, "app_home_opened_home": visited{"UANA", `{"v":1,"view":"grants"}`, "1231232323.12321312", "1515449522000016"}, "assistant_thread_started": greeted{"D1", root.Thread},

		"channel_rename": nil, "team_join": nil, "other_workspace": nil, "app_rate_limited": nil, "bad_timestamp": nil, "no_channel": nil,
	}
}

func TestMeaningOfRealPayloads(t *testing.T) {
	t.Parallel()
	want := meanings()
	files, err := filepath.Glob("testdata/inbound/*.json")
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
			e, err := decodeEvent(raw)
			if err != nil {
				t.Fatal(err)
			}
			w, ok := want[name]
			if !ok {
				t.Fatalf("no expectation for %s", f)
			}
			got := meaningOf(e, testSelf)
			if s, ok := got.(spoken); ok { // of the message itself, what is read later
				s.said = said{Files: s.said.Files}
				got = s
			}
			if !reflect.DeepEqual(got, w) {
				t.Errorf("got  %#v\nwant %#v", got, w)
			}
		})
	}
}

// A mention comes as two events: both have to be the same delivery of the same chat, or the bot answers twice.
func TestMentionAndMessageAreOneDelivery(t *testing.T) {
	t.Parallel()
	all := meanings()
	one, two := all["app_mention"].(spoken), all["message_with_mention"].(spoken)
	if one.delivery() != two.delivery() || one.at != two.at {
		t.Errorf("%v in %v, and %v in %v", one.delivery(), one.at, two.delivery(), two.at)
	}
	if one.delivery() == all["message_in_thread"].(spoken).delivery() && one.at == all["message_in_thread"].(spoken).at {
		t.Error("another message is the same delivery")
	}
	if !one.answerable || two.answerable {
		t.Error("just one of the two is to be answered where nothing is recorded")
	}
}

func TestAnEventOfTheWholeOrganisationIsOurs(t *testing.T) {
	t.Parallel()
	e := event{Type: "event_callback", Team: "T7", Enterprise: "E1"}
	if e.concerns(testSelf) {
		t.Error("an event of another workspace was taken")
	}
	if !e.concerns(self{Team: "T1", Enterprise: "E1"}) {
		t.Error("an event of the same organisation was not taken")
	}
}

func TestDecodingNamesNothingOfAMessage(t *testing.T) {
	t.Parallel()
	for _, bad := range []string{"", "null", "[]", `"secret"`, `{"type":"secret`, `{"type":17,"x":"secret"}`, `{"event":"secret"}`} {
		e, err := decodeEvent([]byte(bad))
		if err == nil {
			t.Errorf("%s was decoded: %+v", bad, e)
		} else if strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: the error repeats it: %v", bad, err)
		}
	}
}

func FuzzDecodeEvent(f *testing.F) {
	files, _ := filepath.Glob("testdata/inbound/*.json")
	for _, name := range files {
		raw, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(raw)
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		e, err := decodeEvent(raw)
		if err != nil {
			return
		}
		_ = e.lane()
		check := func(p place) {
			if back, ok := placeOf(p.id()); !ok || back != p || p.Team != testSelf.Team {
				t.Errorf("%+v is no place", p)
			}
		}
		switch m := meaningOf(e, testSelf).(type) {
		case spoken:
			check(m.at)
			if m.user == "" || m.user == testSelf.User || !timestamp.MatchString(m.ts) {
				t.Errorf("said by nobody, by the bot, or never: %+v", m)
			}
			text := readable(addressed(m.text, testSelf.User), func(string) string { return "" })
			_, _ = surface.ParseCommand(text)
		case reworded:
			check(m.at)
		case removed:
			check(m.at)
		case halted:
			check(m.at)
		}
	})
}
