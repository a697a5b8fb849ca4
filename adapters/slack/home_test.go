package slack

import (
	"strings"
	"testing"

	"github.com/nodhq/nod/tests/standins/fakeslack"
)

// home waits until the Home tab has words.
func (sc *scene) home(user, words string) fakeslack.View {
	sc.t.Helper()
	var v fakeslack.View
	sc.until("the Home tab says "+words, func() bool {
		var ok bool
		v, ok = sc.slack.Home(user)
		return ok && strings.Contains(string(v.Blocks), words)
	})
	return v
}

// atHome presses something on the Home tab.
func (sc *scene) atHome(user, what string) {
	sc.t.Helper()
	v, _ := sc.slack.Home(user)
	d, err := sc.slack.ClickInView(user, v.ID, what)
	if err != nil {
		sc.t.Fatal(err)
	}
	if _, err := d.Wait(sc.ctx); err != nil {
		sc.t.Fatal(err)
	}
}

func TestTheHomeTab(t *testing.T) {
	sc, b := boarded(t)
	sc.slack.OpenHome("UANA")
	sc.home("UANA", "Waiting for me")
	sc.atHome("UANA", "Grants")
	sc.home("UANA", "Grants in this chat")
	sc.atHome("UANA", "Revoke")
	v := sc.home("UANA", "Revoked: write_file of files.")
	if got := b.acted(); len(got) != 1 || got[0].env.User != ana || !got[0].env.Chat.IsZero() || got[0].view != "grants" {
		t.Errorf("%+v", got)
	}
	if v.Type != "home" || v.CallbackID != "nod:panel" {
		t.Errorf("%+v", v)
	}
	looked := len(b.seen())
	sc.slack.OpenHome("UANA") // they come back to where they were, as it is now
	sc.until("it is read again", func() bool { return len(b.seen()) == looked+1 })
	if last := b.seen()[looked]; last.view != "grants" || last.env.User != ana || last.env.Delivery == "" {
		t.Errorf("%+v", last)
	}
	sc.until("it is drawn again", func() bool { now, _ := sc.slack.Home("UANA"); return now.Hash != v.Hash })
	if _, ok := sc.slack.Home("UBEN"); ok {
		t.Error("Ben has Ana's")
	}
	if len(sc.slack.Views("UANA")) != 0 || len(sc.told("UANA")) != 0 {
		t.Error("something else opened")
	}
	if strings.Contains(sc.log.String(), "level=WARN") {
		t.Errorf("the log:\n%s", sc.log)
	}
}

func TestAFormOnTheHomeTab(t *testing.T) {
	sc, b := boarded(t)
	sc.slack.OpenHome("UANA")
	sc.home("UANA", "Waiting for me")
	sc.atHome("UANA", "Change note…")
	sc.until("the form is open", func() bool { return len(sc.slack.Views("UANA")) == 1 })
	if _, err := sc.slack.SubmitView("UANA", sc.slack.Views("UANA")[0].ID, map[string]string{"text": "Ours"}); err != nil {
		t.Fatal(err)
	}
	sc.home("UANA", "The note is kept.")
	sc.until("the form is closed", func() bool { return len(sc.slack.Views("UANA")) == 0 })
	if len(b.acted()) != 1 {
		t.Errorf("%+v", b.acted())
	}
}

func TestAHomeTabThatWasDrawnMeanwhile(t *testing.T) {
	sc, b := boarded(t)
	sc.slack.OpenHome("UANA")
	sc.home("UANA", "Waiting for me")
	sc.slack.Fail("views.publish", 1, fakeslack.Fault{Error: "hash_conflict"})
	looked := len(b.seen())
	sc.atHome("UANA", "Grants")
	sc.home("UANA", "Grants in this chat")
	if got := len(b.seen()) - looked; got != 2 {
		t.Errorf("read %d times", got)
	}
	sc.slack.Fail("views.publish", 9, fakeslack.Fault{Error: "hash_conflict"})
	sc.atHome("UANA", "Overview")
	sc.until("it is given up", func() bool { return strings.Contains(sc.log.String(), "a Home tab was not drawn") })
}

// Without settings the Home tab is left as it is.
func TestAHomeTabWithoutSettings(t *testing.T) {
	sc := newScene(t, overSocket).connected()
	sc.slack.OpenHome("UANA")
	sc.quiet()
	sc.slash("UANA", "C1", "help")
	if n := sc.slack.Count("views.publish"); n != 0 {
		t.Errorf("%d calls", n)
	}
}

// Where the metadata is not ours, the first view is drawn.
func TestAHomeTabOfAnOlderVersion(t *testing.T) {
	sc, b := boarded(t)
	sc.slack.Send(map[string]any{"type": "app_home_opened", "user": "UANA", "channel": "D0UANA", "tab": "home", "event_ts": "1.1", "view": map[string]any{"private_metadata": `{"v":0}`}})
	sc.home("UANA", "Waiting for me")
	if got := b.seen(); got[0].view != "" {
		t.Errorf("%+v", got)
	}
}
