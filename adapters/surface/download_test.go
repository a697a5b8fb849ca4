package surface

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/nodhq/nod/core/agent/attach"
	"github.com/nodhq/nod/core/agent/turn"
)

// Nobody is there: the error holds no address, which may let anybody in.
func TestADownloadThatFailsTellsNoAddress(t *testing.T) {
	const secret = "s3cret"
	data, _, err := Download(t.Context(), HTTPClient(&http.Client{Transport: &http.Transport{}}), "http://127.0.0.1:1/"+secret, "Bearer "+secret, Hosts{Standin: "http://127.0.0.1:1/"}, 9)
	if data != nil || err == nil || strings.Contains(err.Error(), secret) {
		t.Errorf("%q, %v", data, err)
	}
}

func TestWhatADownloadSays(t *testing.T) {
	t.Parallel()
	const most = 9
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		code, body := http.StatusOK, ""
		_, _ = fmt.Sscanf(r.URL.Path, "/%d/%s", &code, &body)
		w.Header().Set("Content-Type", "text/x")
		if r.Header.Get("Authorization") != "Bearer t" {
			code = http.StatusTeapot
		}
		if body == "broken" {
			w.Header().Set("Content-Length", "8")
		}
		w.Header().Set("Location", "/200/led")
		w.WriteHeader(code)
		_, _ = w.Write([]byte(body))
	}))
	t.Cleanup(site.Close)
	const transient = turn.WhyUnread("it may work later")
	for path, want := range map[string]turn.WhyUnread{
		"/200/ninebytes": "", "/200/tenbytes..": turn.UnreadTooBig, "/200/broken": transient, "/404/": turn.UnreadGone, "/410/": turn.UnreadGone,
		"/401/": turn.UnreadForbidden, "/403/": turn.UnreadForbidden, "/302/": turn.UnreadForbidden, "/300/": turn.UnreadForbidden, "/399/": turn.UnreadForbidden,
		"/400/": transient, "/500/": transient, "/206/part": transient, "@evil.test/": turn.UnreadElsewhere, "/%zz": turn.UnreadElsewhere,
	} {
		data, kind, err := Download(t.Context(), HTTPClient(site.Client()), site.URL+path, "Bearer t", Hosts{Standin: site.URL}, most)
		why := transient
		if no, ok := errors.AsType[*attach.Error](err); ok {
			why = no.Why
		} else if err == nil {
			why = ""
		}
		if why != want || (err == nil) != (string(data) == "ninebytes" && kind == "text/x") || err != nil && data != nil {
			t.Errorf("%s: %q, %s, %v", path, data, kind, err)
		}
	}
}
