package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"

	"github.com/nodhq/nod/cmd/bot/command"
	"github.com/nodhq/nod/cmd/bot/config"
	"github.com/nodhq/nod/cmd/bot/parts"
	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/agent/person"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/state"
)

var ben = chat.User{Platform: "slack", Workspace: "T1", Key: "UBEN"}

// put appends blind.
func (k kept) put(id chat.ID, op string, e turn.Event) {
	k.t.Helper()
	_, _, head, err := k.store.Load(k.t.Context(), id)
	if err == nil {
		_, err = k.store.Append(k.t.Context(), agent.Write{Chat: id, Known: head, Events: []agent.Keyed{{Op: agent.OpID(op), Event: e}}})
	}
	if err != nil {
		k.t.Fatal(err)
	}
}

// people fills a store: Nina's own chat "one", a chat of hers with Ben, one of Ben's alone, one of his with her, what she set, and what the page keeps of her.
func (k kept) people() {
	k.t.Helper()
	k.asks("one", "write_file", chat.AllowOnce)
	shared, his, asked := chat.ID{Platform: "slack", Workspace: "T1", Key: "C1/1"}, chat.ID{Platform: "slack", Workspace: "T1", Key: "C1/2"}, chat.ID{Platform: "slack", Workspace: "T1", Key: "C1/3"}
	file := chat.File{Name: "salary.txt", Type: "text/plain", Size: 12, Handle: "F1"}
	k.put(shared, "1", turn.Said{Delivery: "1", By: nina, Name: "Nina", Text: "Nina's words", Files: []chat.File{file}})
	k.put(shared, "2", turn.Said{Delivery: "2", By: ben, Name: "Ben", Text: "Ben's words", Context: []chat.Quote{{By: nina, Name: "Nina R.", Text: "Nina was quoted"}}})
	k.put(his, "1", turn.Said{Delivery: "1", By: ben, Name: "Ben", Text: "Ben alone"})
	k.put(asked, "1", turn.Said{Delivery: "1", By: ben, Name: "Ben", Text: "Ben asks"})
	k.put(asked, "2", turn.Said{Delivery: "2", By: nina, Name: "Nina", Text: "Nina joins"})
	k.put(agent.SettingsChat, "s1", turn.Changed{By: nina, Name: "Nina", Surface: "web", Changes: permission.Changes{
		permission.Remembered{ID: "r1", By: nina, Tool: permission.Tool{Server: "files", Name: "read_file"}, Choice: permission.StandAllow},
		permission.Setting{Field: "approvers", Value: "web::nina, slack:T1:UBEN, web::set"}}})
	ctx := k.t.Context()
	if err := k.store.PutChat(ctx, nina.Key, "one", "Nina's title", time.Unix(1e9, 0)); err != nil {
		k.t.Fatal(err)
	}
	if err := k.store.PutChat(ctx, ben.String(), "two", "Ben's title", time.Unix(1e9, 0)); err != nil {
		k.t.Fatal(err)
	}
	if err := errors.Join(k.store.PutPerson(ctx, nina.Key, []byte(`{"groups":["hr"]}`)), k.store.PutPerson(ctx, "told", []byte(`{}`)), k.store.PutChat(ctx, "listed", "x", "", time.Unix(1e9, 0))); err != nil {
		k.t.Fatal(err)
	}
	for hash, session := range map[string]string{"h1": `{"user":"nina","name":"Nina","opener":"0123abcd"}`, "h2": `{"user":"other","name":"Other"}`,
		"h3": `{"user":"UBEN","of":"slack","place":"T1","name":"Ben"}`, "h4": `{"user":"UBEN"}`} {
		if _, err := k.store.OpenSession(ctx, hash, []byte(session), 10); err != nil {
			k.t.Fatal(err)
		}
	}
}

// exported is what nod person export prints, as far as tests look.
type exported struct {
	Person string        `json:"person"`
	Chats  []person.Chat `json:"chats"`
	Names  []string      `json:"names"`
	Page   struct {
		Chats    []chat.Listed  `json:"chats"`
		Provider map[string]any `json:"provider"`
		Sessions []any          `json:"sessions"`
	} `json:"page"`
	Settings      []string `json:"settings"`
	Configuration []string `json:"configuration"`
	NotLookedAt   []string `json:"not_looked_at"`
}

// All that is kept about a person is exported beside a bot that runs, and nothing of others.
func TestPersonExport(t *testing.T) {
	for name, at := range keepers(t) {
		t.Run(name, func(t *testing.T) {
			keeper := at()
			k := kept{t: t, store: keeper.opened(t), env: keeper.env}
			k.people()
			k.env["NOD_CONFIG"] = write(t, "admins: [web::nina, web::ninabel, web::named]\nweb: {session_keys: [{name: keyed, key: abcdefghijklmnop}, {name: nina, key: abcdefghijklmnoq}]}\n")
			code, out, errs := try(t, []string{"person", "export", "web::nina"}, k.env, nil)
			var x exported
			if err := json.Unmarshal([]byte(out), &x); err != nil || code != command.OK {
				t.Fatalf("code %d, %v\n%s%s", code, err, out, errs)
			}
			for _, is := range []string{"Nina's words", "Nina was quoted", "salary.txt", "Nina's title", `"hr"`, "Nina R.", "r1", `"outcome": "approved"`, "web::nina", "limits.person", "backups"} {
				if !strings.Contains(out, is) {
					t.Errorf("without %q", is)
				}
			}
			for _, no := range []string{"Ben's words", "Ben alone", "Other", "0123abcd", "s3cret", "ninabel\""} {
				if strings.Contains(out, no) {
					t.Errorf("with %q", no)
				}
			}
			if len(x.Chats) != 4 || len(x.Page.Chats) != 1 || len(x.Page.Sessions) != 1 || len(x.Settings) != 1 || len(x.Configuration) == 0 || len(x.NotLookedAt) == 0 {
				t.Errorf("%s", out)
			}
			for _, c := range x.Chats {
				if c.Chat == "web::one" && (!c.Began || !c.Alone || len(c.Said) != 1 || len(c.Records) < 2) || c.Chat == "slack:T1:C1/1" && (!c.Began || c.Alone) {
					t.Errorf("%+v", c)
				}
			}
			var his exported // who signs in on the page by Slack
			_, out, _ = try(t, []string{"person", "export", ben.String()}, k.env, nil)
			if err := json.Unmarshal([]byte(out), &his); err != nil || len(his.Page.Sessions) != 1 || len(his.Page.Chats) != 1 {
				t.Errorf("%v %s", err, out)
			}

			for key, what := range map[string]string{"other": "goes:  of the page", "told": "goes:  of the page", "listed": "goes:  of the page", "named": "stays: configuration", "keyed": "stays: configuration web.session_keys", "set": "stays: setting"} {
				if out := keeper.does(t, command.OK, "person export web::"+key); !json.Valid([]byte(out)) { // of whom there is one thing, and no chat
					t.Errorf("%s: %s", key, out)
				}
				keeper.does(t, command.OK, "person delete web::"+key, what)
			}

			file := filepath.Join(t.TempDir(), "nina.json")
			code, said, errs := try(t, []string{"person", "export", "web::nina", "-o", file}, k.env, nil)
			info, err := os.Stat(file)
			if code != command.OK || err != nil || info.Mode().Perm() != 0o600 || !strings.Contains(said, "4 chats") {
				t.Errorf("code %d, %v, %s%s", code, err, said, errs)
			}
			for args, want := range map[string]struct {
				code int
				say  string
			}{
				"export web::nina -o " + file: {command.Fail, "nothing is written over"},
				"export web::nina -o /no/dir": {command.Fail, "no such file or directory"},
				"export nina":                 {command.Usage, "did you mean web::nina"},
				"export Ben":                  {command.Usage, "did you mean slack:T1:UBEN (Ben)?"},
				"export slack:T1:UBEM":        {command.Fail, "nothing is kept about slack:T1:UBEM; did you mean slack:T1:UBEN?"},
				"export":                      {command.Usage, "usage: nod person export PERSON"},
			} {
				if code, out, errs := try(t, append([]string{"person"}, strings.Fields(args)...), k.env, nil); code != want.code || out != "" || !strings.Contains(errs, want.say) {
					t.Errorf("%s: code %d, %q, %q", args, code, out, errs)
				}
			}
		})
	}
}

// filled is a store with people in it, on which nobody is.
func (k keeper) filled(t *testing.T) {
	t.Helper()
	s, err := k.open()
	if err != nil {
		t.Fatal(err)
	}
	kept{t: t, store: s, env: k.env}.people()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// does runs a command, and gives what it says.
func (k keeper) does(t *testing.T, code int, line string, says ...string) string {
	t.Helper()
	got, out, errs := try(t, strings.Fields(line), k.env, nil)
	if got != code {
		t.Errorf("nod %s: code %d, want %d\n%s%s", line, got, code, out, errs)
	}
	for _, say := range says {
		if !strings.Contains(out+errs, say) {
			t.Errorf("nod %s: without %q\n%s%s", line, say, out, errs)
		}
	}
	return out
}

// A hold on a chat or on a person stands against deletion until it is released, and is on record.
func TestHold(t *testing.T) {
	for name, at := range keepers(t) {
		t.Run(name, func(t *testing.T) {
			k := at()
			k.filled(t)
			k.does(t, command.OK, "hold -list", "Nothing is held.")
			k.does(t, command.OK, "hold web::one -why dispute-7", "On hold: web::one, 1 chat so far")
			k.does(t, command.OK, "hold web::one", "On hold") // again
			if out := k.does(t, command.OK, "hold -list", "web::one, since ", "by cli::", ": dispute-7"); strings.Contains(out, "Nothing") {
				t.Error(out)
			}
			k.does(t, command.OK, "hold web::one -why dispute-8", "On hold: web::one, 1 chat so far")
			k.does(t, command.OK, "hold -list", "web::one, since ", ": dispute-8")
			k.does(t, command.OK, "person delete web::nina", "stays: chat web::one: on hold since ", ": dispute-8", "Nothing was deleted yet")
			k.does(t, command.OK, "person delete web::nina -yes")
			k.does(t, command.OK, "person export web::nina", `"web::one"`)
			k.does(t, command.OK, "hold web::nina", "3 chats so far, and what comes")
			k.does(t, command.OK, "hold web::one -release", "Released: web::one, 1 chat.")
			k.does(t, command.OK, "hold web::one -release", "Nothing is on hold for web::one any more, in 1 chat.") // again: what the first one left
			k.does(t, command.Fail, "hold web::two -release", "there is no hold on web::two")
			k.does(t, command.Fail, "person delete web::nina -yes", "there is a hold on web::nina since ")
			k.does(t, command.OK, "hold web::nina -release", "Released: web::nina, 3 chats.")
			k.held(t)
			out := k.does(t, command.OK, "audit export -chat nod::settings", `"outcome":"held"`, `"outcome":"released"`, "dispute-7")
			if n := strings.Count(out, `"outcome":"held"`); n != 4 {
				t.Errorf("%d holds on record:\n%s", n, out)
			}
			k.does(t, command.OK, "audit verify", "ok: ")
			k.does(t, command.OK, "person delete web::nina -yes", "goes:  chat web::one")
			for _, line := range []string{"hold", "hold -list -release", "hold web::one -list", "hold -list -why x", "hold web::one -release -why x", "hold one"} {
				k.does(t, command.Usage, line, "want ")
			}
		})
	}
}

// held puts a hold on somebody: what they write then, a replica that has heard of it holds.
func (k keeper) held(t *testing.T) {
	t.Helper()
	k.does(t, command.OK, "hold slack:T1:UBEN", "3 chats so far, and what comes")
	s, err := k.open()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	e, err := parts.StillEngine(config.Config{Lease: time.Second}, s, nil, slog.New(slog.DiscardHandler))
	if err == nil {
		_, err = e.Settings(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	for by, want := range map[chat.User]error{ben: state.ErrKept, nina: nil} {
		id := chat.ID{Platform: "web", Key: "new-" + by.Key}
		if err := e.Accept(t.Context(), chat.Said{Envelope: chat.Envelope{Delivery: "d", Chat: id, User: by}, Text: "new"}); err != nil {
			t.Fatal(err)
		}
		if err := s.Erase(t.Context(), id, 1); !errors.Is(err, want) {
			t.Errorf("what %s wrote: %v, want %v", by, err, want)
		}
	}
}

// A replica that has a deleted chat in its memory brings nothing of it back when somebody speaks there again.
func TestDeletedStaysDeleted(t *testing.T) {
	k := keepers(t)["Redis"]()
	s := k.opened(t)
	e, err := parts.StillEngine(config.Config{Lease: time.Second}, s, nil, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	id := chat.ID{Platform: "web", Key: "room"}
	say := func(delivery, words string) string {
		t.Helper()
		if err := e.Accept(t.Context(), chat.Said{Envelope: chat.Envelope{Delivery: chat.Delivery(delivery), Chat: id, User: nina}, Text: words}); err != nil {
			t.Fatal(err)
		}
		session, err := e.Session(t.Context(), id)
		if err != nil {
			t.Fatal(err)
		}
		b, err := turn.EncodeSession(session)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	if before := say("1", "the old words"); !strings.Contains(before, "the old words") {
		t.Fatal(before)
	}
	anchors := filepath.Join(t.TempDir(), "anchors")
	k.does(t, command.OK, "audit anchor -out "+anchors)
	k.does(t, command.OK, "person delete web::nina -yes", "Deleted.")
	k.does(t, command.OK, "audit anchor -out "+anchors)
	if after := say("2", "new words"); strings.Contains(after, "old words") || !strings.Contains(after, "new words") {
		t.Error(after)
	}
	if out := k.does(t, command.OK, "person export web::nina", "new words"); strings.Contains(out, "old words") {
		t.Error(out)
	}
	for range 2 { // the second goes through what the first one anchored of the new chat
		k.does(t, command.OK, "audit verify -anchors "+anchors, "ok: ")
		k.does(t, command.OK, "audit anchor -out "+anchors)
	}
	_, _, head, err := s.Load(t.Context(), id)
	if err == nil {
		err = s.Erase(t.Context(), id, head.Seq) // on no record: that of the first time says nothing of it
	}
	if err != nil {
		t.Fatal(err)
	}
	k.does(t, command.Fail, "audit verify -anchors "+anchors, "broken: chat web::room: entry 1: ")
	k.does(t, command.Fail, "audit anchor -out "+anchors, "broken: chat web::room: it was anchored")
}

// Of a log that does not hold nothing is deleted, for nobody knows who else is in it. Where the settings cannot be read, nobody knows what is held.
func TestPersonOfABrokenLog(t *testing.T) {
	k := onRedis(t)
	k.people()
	is := keeper{env: k.env}
	k.tamper("one", func(_ string, l []string) []string {
		l[3] = strings.Replace(l[3], "nina", "ivan", 1)
		return l
	})
	is.does(t, command.Fail, "person export web::nina", "broken: chat web::one", "Nina's words")
	is.does(t, command.Fail, "person delete web::nina -yes", "not all is deleted; run it again: chat web::one: ")
	is.does(t, command.Fail, "person export web::nina", `"web::one"`)
	k.spoil("web::one")
	is.does(t, command.Fail, "person export web::nina", "broken: chat web::one", "slack:T1:C1/1")
	is.does(t, command.Fail, "person delete web::nina -yes", "broken: chat web::one", "nothing that can be deleted")
	is.does(t, command.Fail, "hold web::nina", "WRONGTYPE")
	k.tamper("settings", func(_ string, l []string) []string { return append(l[:1:1], "2 1 x -\n"+`{"v":9,"k":"new","e":{}}`) })
	for _, line := range []string{"person delete web::nina", "person export web::nina", "hold -list", "hold web::one"} {
		if out := is.does(t, command.Fail, line, "version"); strings.Contains(out, "goes:") || strings.Contains(out, "held") {
			t.Errorf("%s:\n%s", line, out)
		}
	}
	k.env["NOD_CONFIG"] = write(t, "lese: 1s\n")
	is.does(t, command.Usage, "person export web::nina", "there is no such field")
}

// Where something cannot be read, an export is not whole and ends as a failure; nothing is deleted or held, and nothing is said to be.
func TestPersonOfWhatCannotBeRead(t *testing.T) {
	for what, spoil := range map[string]func(kept){
		"WRONGTYPE": func(k kept) { k.spoil("sessions") },
		"NOPERM": func(k kept) {
			k.mini.Server().SetPreHook(func(c *server.Peer, cmd string, args ...string) bool {
				refused := cmd == "LRANGE" && strings.HasSuffix(args[0], "::one")
				if refused {
					c.WriteError("NOPERM not for you")
				}
				return refused
			})
		},
	} {
		k := onRedis(t)
		k.people()
		spoil(k)
		is, file := keeper{env: k.env}, filepath.Join(t.TempDir(), "nina.json")
		for _, line := range []string{"person export web::nina -o " + file, "person delete web::nina", "person delete web::nina -yes"} {
			if out := is.does(t, command.Fail, line, what); out != "" {
				t.Errorf("%s, %s: %s", what, line, out)
			}
		}
		if left, err := os.ReadDir(filepath.Dir(file)); err != nil || len(left) > 0 {
			t.Errorf("%s: %v is left behind, %v", what, left, err)
		}
		if _, err := k.store.Walk(t.Context(), chat.ID{Platform: "slack", Workspace: "T1", Key: "C1/1"}, func(e turn.Entry, _ agent.Head) error {
			if _, stopped := e.Event.(turn.StopAsked); stopped {
				t.Errorf("%s: her turn is stopped", what)
			}
			return nil
		}); err != nil {
			t.Error(err)
		}
		if what == "NOPERM" {
			is.does(t, command.Fail, "hold web::nina", what)
		}
	}
}

// A log that cannot be read keeps no other chat from being held or released, and is named. What is done again once it can be read is done whole.
func TestHoldBesideWhatCannotBeRead(t *testing.T) {
	for what, spoil := range map[string]func(m *miniredis.Miniredis, log string, rows []string) error{
		"a log that does not hold": func(m *miniredis.Miniredis, log string, rows []string) error {
			_, err := m.RPush(log, append([]string{strings.Replace(rows[0], "please", "police", 1)}, rows[1:]...)...)
			return err
		},
		"no log at all": func(m *miniredis.Miniredis, log string, _ []string) error { return m.Set(log, "x") },
	} {
		t.Run(what, func(t *testing.T) {
			k := onRedis(t)
			k.people()
			k.asks("bad", "write_file", chat.Deny) // it is looked at before Nina's "one"
			is, log := keeper{env: k.env}, ""
			for _, name := range k.mini.Keys() {
				if strings.HasSuffix(name, ":log:web::bad") {
					log = name
				}
			}
			rows, err := k.mini.List(log)
			if err != nil {
				t.Fatal(err)
			}
			erase := func(key string, want error) {
				t.Helper()
				if err := k.store.Erase(t.Context(), chat.ID{Platform: "web", Key: key}, 99); !errors.Is(err, want) {
					t.Errorf("%s: %v, want %v", key, err, want)
				}
			}
			k.mini.Del(log)
			if err := spoil(k.mini, log, rows); err != nil {
				t.Fatal(err)
			}
			is.does(t, command.Fail, "hold web::nina", "On hold: web::nina, 3 chats so far", "chat web::bad cannot be read: ", "1 chat could not be read, and may not be on hold: web::bad. Hold one by its own name, or do the same again")
			erase("one", state.ErrKept)
			erase("bad", agent.ErrStale)
			is.does(t, command.OK, "hold web::bad", "On hold: web::bad, 1 chat so far") // whoever is in it
			erase("bad", state.ErrKept)
			is.does(t, command.Fail, "hold web::bad -release", "Released: web::bad, 0 chats.", "1 chat could not be read, and may still be on hold: web::bad. Do ")
			is.does(t, command.Fail, "hold web::nina -release", "Released: web::nina, 3 chats.", "chat web::bad cannot be read: ")
			erase("one", agent.ErrStale)
			erase("bad", state.ErrKept)
			k.mini.Del(log)
			if _, err := k.mini.RPush(log, rows...); err != nil {
				t.Fatal(err)
			}
			is.does(t, command.OK, "hold web::nina -release", "Nothing is on hold for web::nina any more, in 4 chats.")
			erase("bad", agent.ErrStale)
			is.does(t, command.OK, "hold web::nina", "On hold: web::nina, 4 chats so far")
			erase("bad", state.ErrKept)
			for bucket := range 64 { // one of these is where a chat of this name would be
				k.mini.HSet(fmt.Sprintf("nod:{b%02d}:head:no chat", bucket), "seq", "1")
			}
			is.does(t, command.Fail, "hold web::nina", "On hold: web::nina, 4 chats so far", `broken: a key with the name "no chat"`)
		})
	}
}

// A chat with others whose log does not hold keeps nothing from being deleted that is the person's alone.
func TestPersonDeleteBesideABrokenChat(t *testing.T) {
	k := onRedis(t)
	k.people()
	is, shared := keeper{env: k.env}, chat.ID{Platform: "slack", Workspace: "T1", Key: "C1/1"}
	k.put(shared, "3", turn.Said{Delivery: "3", By: nina, Name: "Nina", Text: "more"})
	for _, log := range k.mini.Keys() {
		if strings.HasSuffix(log, ":log:"+shared.String()) {
			if _, err := k.mini.RPush(log, "x"); err != nil { // as another program would
				t.Fatal(err)
			}
		}
	}
	is.does(t, command.Fail, "person delete web::nina -yes", "goes:  chat web::one", "not all is deleted; run it again: chat slack:T1:C1/1: ")
	if left := is.does(t, command.Fail, "person export web::nina", "Nina's words"); strings.Contains(left, "web::one") || strings.Contains(left, `"sessions"`) {
		t.Errorf("what is hers alone is still there:\n%s", left)
	}
}

// What the page keeps of a chat goes with it: where that fails, the next run still finds the chat.
func TestPersonDeleteOfWhatThePageKeepsOfAChat(t *testing.T) {
	k := onRedis(t)
	k.people()
	is, mark := keeper{env: k.env}, ""
	put := func() {
		t.Helper()
		if err := k.store.PutChat(t.Context(), "chat:one", "one", "", time.Unix(1e9, 0)); err != nil {
			t.Fatal(err)
		}
	}
	put()
	for _, name := range k.mini.Keys() {
		if strings.HasSuffix(name, "chat:one") {
			mark = name
		}
	}
	k.mini.Del(mark)
	if err := k.mini.Set(mark, "x"); err != nil { // as another program would
		t.Fatal(err)
	}
	is.does(t, command.Fail, "person delete web::nina -yes", "not all is deleted; run it again: chat web::one: ")
	k.mini.Del(mark)
	put()
	is.does(t, command.OK, "person delete web::nina -yes", "goes:  chat web::one", "Deleted.")
	if k.mini.Exists(mark) {
		t.Error("that there was a chat is still kept")
	}
}

// joins is a terminal on which somebody writes in Nina's chat once it says what goes.
type joins struct {
	bytes.Buffer
	once sync.Once
	do   func()
}

func (j *joins) Write(b []byte) (int, error) {
	j.once.Do(j.do)
	return j.Buffer.Write(b)
}

// Whoever joins a chat while it is to be deleted keeps their words.
func TestPersonDeleteOfAChatThatSomebodyJoins(t *testing.T) {
	k := onRedis(t)
	k.people()
	k.env["HOME"] = "/home/ana"
	one := chat.ID{Platform: "web", Key: "one"}
	out := joins{do: func() { k.put(one, "joins", turn.Said{Delivery: "joins", By: ben, Name: "Ben", Text: "Ben joins"}) }}
	var errs bytes.Buffer
	code := process{args: []string{"person", "delete", "web::nina", "-yes"}, Process: command.Process{Stdout: &out, Stderr: &errs, Exit: func(int) {},
		Env: func(name string) (string, bool) { v, ok := k.env[name]; return v, ok }}}.main()
	if code != command.Fail || !strings.Contains(out.String(), "goes:  chat web::one") || strings.Contains(out.String(), "Deleted.") || !strings.Contains(errs.String(), "chat web::one: somebody else has joined it") {
		t.Errorf("code %d\n%s%s", code, &out, &errs)
	}
	is, anchors := keeper{env: k.env}, filepath.Join(t.TempDir(), "anchors")
	is.does(t, command.OK, "person export "+ben.String(), "Ben joins")
	if err := os.WriteFile(anchors, []byte(`{"chat":"web::one","seq":1,"roll":"r","last":"`+time.Now().Add(-time.Hour).Format(time.RFC3339)+`"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	is.does(t, command.Fail, "audit verify -anchors "+anchors, "broken: chat web::one: entry 1: ") // that it was to be deleted explains nothing
}

// A chat that a bot is at work on is deleted once it is not.
func TestPersonDeleteWaitsForTheBot(t *testing.T) {
	k := keepers(t)["Redis"]()
	s, err := state.Open(t.Context(), state.Options{URL: k.env["REDIS_URL"], Lease: time.Second, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	kept{t: t, store: s, env: k.env}.asks("one", "write_file", chat.AllowOnce)
	_, _, head, err := s.Load(t.Context(), chat.ID{Platform: "web", Key: "one"})
	if err == nil {
		_, err = s.Append(t.Context(), agent.Write{Chat: chat.ID{Platform: "web", Key: "one"}, Known: head, Claim: "bot", Events: []agent.Keyed{{Op: "m", Event: turn.ModeSet{By: nina}}}})
	}
	if err != nil {
		t.Fatal(err)
	}
	k.does(t, command.OK, "person delete web::nina -yes", "Deleted.")
	k.does(t, command.Fail, "person export web::nina", "nothing is kept about web::nina")
}

// What is a person's alone goes, and is gone for the bot that had it; what others need stays, and is named.
func TestPersonDelete(t *testing.T) {
	for name, at := range keepers(t) {
		t.Run(name, func(t *testing.T) {
			k := at()
			k.filled(t)
			k.env["NOD_CONFIG"] = write(t, "admins: [web::nina]\n")
			anchors := filepath.Join(t.TempDir(), "anchors")
			k.does(t, command.OK, "audit anchor -out "+anchors)
			before := k.does(t, command.OK, "person export web::nina")
			plan := k.does(t, command.OK, "person delete web::nina", "Nothing was deleted yet")
			for _, line := range []string{"goes:  chat web::one, with files: 5 entries", "goes:  what they remembered for themselves: 1 choice", "goes:  of the page: their list of 1 chat, 1 session",
				"stays: chat slack:T1:C1/1: others took part", "stays: what they changed in the settings", "stays: setting everything: approvers = web::nina", "stays: configuration "} {
				if !strings.Contains(plan, line) {
					t.Errorf("without %q:\n%s", line, plan)
				}
			}
			if after := k.does(t, command.OK, "person export web::nina"); len(after) != len(before) {
				t.Errorf("looking deleted something:\n%s", after)
			}
			k.does(t, command.OK, "person delete web::nina -yes", "Deleted.")
			after := k.does(t, command.OK, "person export web::nina", "Nina's words")
			for _, gone := range []string{"web::one", "Nina's title", `"hr"`, `"sessions"`, `"remembered": [`} {
				if strings.Contains(after, gone) {
					t.Errorf("%s is still there:\n%s", gone, after)
				}
			}
			k.does(t, command.OK, "audit export -chat slack:T1:C1/1", `"kind":"stop"`) // her turn was open there
			for _, his := range []string{"2", "3"} {
				if out := k.does(t, command.OK, "audit export -chat slack:T1:C1/"+his); strings.Contains(out, `"kind":"stop"`) {
					t.Errorf("somebody else's turn is stopped:\n%s", out)
				}
			}
			out := k.does(t, command.OK, "audit export -chat nod::settings", `"outcome":"erased"`)
			if strings.Contains(out[strings.LastIndex(out[:strings.Index(out, `"erased"`)], "\n")+1:], "nina") {
				t.Errorf("the record of it names who is forgotten:\n%s", out)
			}
			k.does(t, command.OK, "audit verify -anchors "+anchors, "ok: ", "1 anchored chat deleted since, on record")
			k.does(t, command.OK, "person export slack:T1:UBEN", "Ben alone", "Ben's words")
			k.does(t, command.OK, "person delete web::nina", "There is nothing that can be deleted.")
			k.does(t, command.OK, "person delete "+ben.String()+" -yes", "Deleted.") // who signs in on the page by Slack
			if left := k.does(t, command.OK, "person export "+ben.String(), "Ben"); strings.Contains(left, `"sessions"`) || strings.Contains(left, "Ben's title") {
				t.Errorf("what the page keeps of Ben is still there:\n%s", left)
			}
			k.does(t, command.Fail, "person delete web::nino", "did you mean web::nina?")
		})
	}
}
