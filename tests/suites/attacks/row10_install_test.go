package attacks

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/nodhq/nod/adapters/slack/install"
	"github.com/nodhq/nod/tests/standins/fakeslack"
)

// installed is what one case stores.
type installed map[string]string

func (i installed) Installs(context.Context) (map[string]string, error) { return i, nil }

func (i installed) Install(_ context.Context, workspace, sealed string) error {
	i[workspace] = sealed
	return nil
}

func (i installed) Reinstall(context.Context, string, string, string) error { return nil }

// installDoor is where workspaces of the stand-in install the bot.
func (w *world) installDoor(t *testing.T) (*install.Door, installed, *httptest.Server) {
	t.Helper()
	is := installed{}
	d := must(install.New(install.Config{
		ClientID: fakeslack.ClientID, ClientSecret: fakeslack.ClientSecret, Page: pageOutside, Workspaces: []string{w.slack.Team()}, Keys: []string{"a-key-of-the-operators"},
		Scopes: []string{"chat:write"}, Store: is,
	}, w.slack.URL(), http.DefaultClient, slog.New(slog.DiscardHandler)))(t)
	w.slack.Redirect(pageOutside + install.PathReturn)
	s := httptest.NewServer(d.Handler())
	t.Cleanup(s.Close)
	return d, is, s
}

// goes asks for an address with a cookie, and follows nothing.
func goes(t *testing.T, address string, cookie *http.Cookie) (*http.Response, string) {
	t.Helper()
	r := must(http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil))(t)
	if cookie != nil {
		r.AddCookie(cookie)
	}
	res := must(http.DefaultTransport.RoundTrip(r))(t)
	defer res.Body.Close()
	return res, string(must(io.ReadAll(res.Body))(t))
}

// installing is row 10 where somebody comes back from Slack: a state that is forged, or another browser's, installs nothing, and a callback that
// comes again gives no second token. A token that is put under another workspace's name opens for nobody.
func installing() (out []attack) {
	type visit struct {
		page     *httptest.Server
		cookie   *http.Cookie
		back     url.Values
		theirs   *http.Cookie // the cookie of another browser, which began too
		theirsAt string       // and its state
	}
	arrive := func(t *testing.T, page *httptest.Server) (*http.Cookie, url.Values) {
		res, _ := goes(t, page.URL+install.PathBegin, nil)
		agreed, _ := goes(t, res.Header.Get("Location")+"&team=T0FAKE&as="+inSlack[ana], nil)
		return res.Cookies()[0], must(url.Parse(agreed.Header.Get("Location")))(t).Query()
	}
	for name, bend := range map[string]func(*visit){
		"install-no-cookie":        func(v *visit) { v.cookie = nil },
		"install-anothers-cookie":  func(v *visit) { v.cookie = v.theirs },
		"install-anothers-state":   func(v *visit) { v.back.Set("state", v.theirsAt) },
		"install-no-state":         func(v *visit) { v.back.Del("state") },
		"install-state-cut":        func(v *visit) { v.back.Set("state", v.back.Get("state")[:20]) },
		"install-state-later":      func(v *visit) { v.back.Set("state", "AAAAAP"+v.back.Get("state")[6:]) },
		"install-state-of-zeros":   func(v *visit) { v.back.Set("state", strings.Repeat("A", len(v.back.Get("state")))) },
		"install-no-code":          func(v *visit) { v.back.Del("code") },
		"install-a-code-of-theirs": func(v *visit) { v.back.Set("code", "0123456789ABCDEF") },
	} {
		out = append(out, on(10, "slack", name, func(t *testing.T, w *world) {
			_, is, page := w.installDoor(t)
			v := visit{page: page}
			v.cookie, v.back = arrive(t, page)
			theirs, back := arrive(t, page)
			v.theirs, v.theirsAt = theirs, back.Get("state")
			bend(&v)
			if res, said := goes(t, page.URL+install.PathReturn+"?"+v.back.Encode(), v.cookie); res.StatusCode < 400 {
				t.Errorf("status %d: %s", res.StatusCode, said)
			}
			if len(is) > 0 {
				t.Errorf("%d workspaces have nod", len(is))
			}
		}))
	}
	out = append(out, on(10, "slack", "install-twice", func(t *testing.T, w *world) {
		d, is, page := w.installDoor(t)
		cookie, back := arrive(t, page)
		if res, said := goes(t, page.URL+install.PathReturn+"?"+back.Encode(), cookie); res.StatusCode != http.StatusOK {
			t.Fatalf("status %d: %s", res.StatusCode, said)
		}
		first := is["T0FAKE"]
		if res, _ := goes(t, page.URL+install.PathReturn+"?"+back.Encode(), cookie); res.StatusCode < 400 {
			t.Errorf("the second time: status %d", res.StatusCode)
		}
		if is["T0FAKE"] != first {
			t.Error("it was installed a second time")
		}
		if _, _, err := d.Open("T0OTHER", first); err == nil {
			t.Error("a workspace's token opens under another one's name")
		}
	}))
	return out
}
