package web

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"html"
	"io"
	"maps"
	"net/http"
	"net/url"
	"path"
	"regexp"
	"strings"
	"time"

	"github.com/nodhq/nod/adapters/web/session"
	"github.com/nodhq/nod/adapters/web/signin"
	"github.com/nodhq/nod/core/text"
)

//go:embed assets
var assets embed.FS

// The pages. Each is a shell; what stands in it comes through the API. In place of those below somebody who is not signed in gets
// the first.
const (
	pageDoor     = "door.html"
	pageVouched  = "vouched.html" // instead of it, where a provider says who people are
	pageChat     = "page.html"
	pageSettings = "settings.html"
	pageInbox    = "inbox.html"
)

// page is what the browser gets before it asks the API for anything.
type page struct {
	files  map[string][]byte
	common map[string]string // what stands in every page. Tag names this build's assets, so that a browser never mixes two builds
}

// pageData is what stands in one page besides.
type pageData struct {
	NeedsKey bool
	Name     string
	Admin    bool
	Chat     string
	Page     string // where to go on after signing in: empty for the chat, or "settings"
	Ends     string // when the session ends if it is not used any more
	EndsWhy  string
	Problem  string
	SignIn   string // where to sign in
	Doors    doors
	To       string // leads on there: somebody has, or came by another site's link
	SignOut  string // where to sign out at the provider
	Provider string // its host
}

// doors are by whom people sign in: the provider, as its host, and platforms.
type doors struct {
	provider       string
	slack, discord bool
}

func newPage(c Config) page {
	p := page{files: map[string][]byte{}}
	sum := sha256.New()
	entries, _ := assets.ReadDir("assets") // embedded, so it is there
	head, _ := assets.ReadFile("assets/head.html")
	for _, e := range entries {
		b, _ := assets.ReadFile("assets/" + e.Name())
		b = bytes.Replace(b, []byte("{{head}}\n"), head, 1)
		p.files[e.Name()] = b
		sum.Write(b)
	}
	p.common = map[string]string{"Product": text.Product, "Banner": c.Banner, "Suggestions": strings.Join(c.Suggestions, "\n"),
		"Tag": hex.EncodeToString(sum.Sum(nil))[:12]}
	return p
}

func (p page) write(w http.ResponseWriter, status int, name string, d pageData) {
	values := maps.Clone(p.common)
	maps.Copy(values, map[string]string{"Name": d.Name, "Chat": d.Chat, "ChatPath": url.PathEscape(d.Chat), "Page": d.Page, "Ends": d.Ends, "EndsWhy": d.EndsWhy,
		"Problem": d.Problem, "NeedsKey": yes(d.NeedsKey), "Admin": yes(d.Admin), "SignIn": d.SignIn, "ByProvider": d.Doors.provider, "BySlack": yes(d.Doors.slack), "ByDiscord": yes(d.Doors.discord), "To": d.To, "SignOut": d.SignOut, "Provider": d.Provider})
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, fill(string(p.files[name]), values))
}

func yes(is bool) string {
	if is {
		return "yes"
	}
	return ""
}

// places are {{Name}}, a text escaped for element content and for attributes in double quotes, and {{if Name}} … {{end}} or {{if !Name}} …
// {{end}}, what stands there only if that text is not empty, or is; none within another. html/template does more, and calls methods by names
// that it reads at run time, so that the linker would keep every method of every library: the program would be almost a third larger.
var places = regexp.MustCompile(`(?s)\{\{if (!?)(\w+)\}\}(.*?)\{\{end\}\}|\{\{(\w+)\}\}`)

// fill writes a page with values in its places.
func fill(page string, values map[string]string) string {
	return places.ReplaceAllStringFunc(page, func(place string) string {
		m := places.FindStringSubmatch(place)
		not, condition, then, name := m[1] != "", m[2], m[3], m[4]
		switch {
		case name != "":
			return html.EscapeString(values[name])
		case (values[condition] == "") == not:
			return fill(then, values)
		}
		return ""
	})
}

// signInPage writes the page of somebody who is not signed in.
func (s *Server) signInPage(w http.ResponseWriter, status int, d pageData) {
	d.NeedsKey, d.Name = s.sessions.NeedsKey(), cmp.Or(d.Name, "you")
	if len(s.SignIn) > 0 {
		d.NeedsKey = s.sessions.HasKeys() && d.To == ""
		d.SignIn = s.SignIn[0].Page + "/signin" // under the name that the provider sends people back to, where the cookie is
		if d.To == "" {
			d.Doors.slack, d.Doors.discord = s.SignIn.Of(signin.Slack) != nil, s.SignIn.Of(signin.Discord) != nil
			if door := s.SignIn.Of(""); door != nil {
				d.Doors.provider = door.Provider()
				d.SignOut, d.Provider = door.SignOut()
			}
		}
		s.page.write(w, status, pageVouched, d)
		return
	}
	s.page.write(w, status, pageDoor, d)
}

var kinds = map[string]string{".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml", ".webmanifest": "application/manifest+json"}

func (p page) asset(w http.ResponseWriter, r *http.Request) {
	name := path.Base(r.URL.Path)
	b, kind := p.files[name], kinds[path.Ext(name)]
	if b == nil || kind == "" {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", kind)
	w.Header().Set("ETag", `"`+p.common["Tag"]+`"`)
	w.Header().Set("Cache-Control", "no-cache")
	if r.URL.Query().Get("v") == p.common["Tag"] {
		w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(b))
}

// shell writes a page, or the door before it.
func (s *Server) shell(name string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if s.ledOn(w, r) {
			return
		}
		d := pageData{Chat: r.PathValue("chat"), Page: map[string]string{pageSettings: "settings", pageInbox: "inbox"}[name]}
		key := session.Browser(r)
		p, err := s.sessions.Who(r.Context(), key)
		switch {
		case errors.Is(err, session.Unauthorized):
			if !key.None() {
				d.Problem = saySessionEnded
				if len(s.SignIn) > 0 {
					d.Problem = sayVouchedEnded
				}
			}
			s.signInPage(w, http.StatusOK, d)
		case err != nil:
			d.Problem = s.asProblem(r, err).Message
			s.signInPage(w, http.StatusServiceUnavailable, d)
		default:
			d.Name, d.Admin = p.Name, p.Admin
			if d.EndsWhy = sayEnds; p.Vouched() {
				d.EndsWhy = sayVouchedEnds
			}
			if !p.Ends.IsZero() {
				d.Ends = p.Ends.UTC().Format(time.RFC3339)
			}
			s.page.write(w, http.StatusOK, name, d)
		}
	}
}

// ledOn answers another site's link: it comes without the cookie, which is Strict, and a page of ours leads on with it, as after signing in
// (getSignedIn).
func (s *Server) ledOn(w http.ResponseWriter, r *http.Request) bool {
	if r.Header.Get("Sec-Fetch-Site") != "cross-site" || !session.Browser(r).None() {
		return false
	}
	s.page.write(w, http.StatusOK, pageVouched, pageData{To: r.URL.RequestURI()})
	return true
}

// landing is the page that somebody wanted who had to sign in first.
func landing(page, chat string) (to string) {
	if page == "settings" || page == "inbox" {
		to = "/" + page
	}
	if chatKey(chat) {
		to += "/c/" + chat
	}
	return cmp.Or(to, "/")
}
