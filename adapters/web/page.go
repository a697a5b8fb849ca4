package web

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path"
	"reflect"
	"strings"
	"time"

	"github.com/nodhq/nod/core/text"
)

//go:embed assets
var assets embed.FS

// The pages. Each is a shell; what stands in it comes through the API.
const (
	pageChat     = "page.html"
	pageSettings = "settings.html"
)

// page is what the browser gets before it asks the API for anything.
type page struct {
	shells map[string]shell
	files  map[string][]byte
	common pageData // its Tag names this build's assets, so that a browser never mixes two builds
}

type pageData struct {
	Product, Banner, Tag string
	SignedIn             bool
	NeedsKey             bool
	Name                 string
	Admin                bool
	Chat, ChatPath       string // the second as it stands in an address
	Page                 string // where to go on after signing in: empty for the chat, or "settings"
	Suggestions          []string
	Ends                 string // when the session ends if it is not used any more
	Problem              string
}

func newPage(c Config) (page, error) {
	p := page{files: map[string][]byte{}, common: pageData{Product: text.Product, Banner: c.Banner, Suggestions: c.Suggestions}}
	sum := sha256.New()
	entries, _ := assets.ReadDir("assets") // embedded, so it is there
	for _, e := range entries {
		b, _ := assets.ReadFile("assets/" + e.Name())
		p.files[e.Name()] = b
		sum.Write(b)
	}
	p.common.Tag = hex.EncodeToString(sum.Sum(nil))[:12]
	p.shells = map[string]shell{}
	for _, name := range []string{pageChat, pageSettings} {
		var err error
		if p.shells[name], err = parseShell(string(p.files[name]), pageData{}); err != nil {
			return p, fmt.Errorf("web: %s: %w", name, err)
		}
	}
	return p, nil
}

func (p page) write(w http.ResponseWriter, status int, shell string, d pageData) {
	d.Product, d.Banner, d.Tag, d.Suggestions = p.common.Product, p.common.Banner, p.common.Tag, p.common.Suggestions
	d.ChatPath = url.PathEscape(d.Chat)
	var b strings.Builder
	p.shells[shell].fill(&b, reflect.ValueOf(d), "")
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, b.String())
}

// signInPage writes the page of somebody who is not signed in.
func (s *Server) signInPage(w http.ResponseWriter, status int, d pageData) {
	d.NeedsKey = s.needsKey()
	s.page.write(w, status, pageChat, d)
}

var kinds = map[string]string{".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml"}

func (p page) asset(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("file")
	b, kind := p.files[name], kinds[path.Ext(name)]
	if b == nil || kind == "" {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", kind)
	w.Header().Set("ETag", `"`+p.common.Tag+`"`)
	w.Header().Set("Cache-Control", "no-cache")
	if r.URL.Query().Get("v") == p.common.Tag {
		w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(b))
}

// shell writes a page, or the door before it.
func (s *Server) shell(w http.ResponseWriter, r *http.Request, name string) {
	d := pageData{NeedsKey: s.needsKey(), Chat: r.PathValue("chat")}
	if name == pageSettings {
		d.Page = "settings"
	}
	p, err := s.who(r.Context(), browserKey(r))
	switch {
	case errors.Is(err, unauthorized):
		d.Name = "you"
		if browserKey(r).key != "" {
			d.Problem = saySessionEnded
		}
		s.signInPage(w, http.StatusOK, d)
	case err != nil:
		d.Problem = s.asProblem(r, err).Message
		s.signInPage(w, http.StatusServiceUnavailable, d)
	default:
		d.SignedIn, d.Name, d.Admin = true, p.name, p.admin
		if !p.ends.IsZero() {
			d.Ends = p.ends.UTC().Format(time.RFC3339)
		}
		s.page.write(w, http.StatusOK, name, d)
	}
}

// postSignIn opens a session for a browser. A key that its owner pastes is an admin's, one that opens sessions, or that of an earlier
// session. A configured key never becomes the cookie: a session of its own does.
func (s *Server) postSignIn(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, 8<<10)
	if err := r.ParseForm(); err != nil {
		s.signInPage(w, http.StatusBadRequest, pageData{Problem: "The form did not arrive whole. Please try again."})
		return
	}
	name, id, settings := strings.ToValidUTF8(r.PostFormValue("name"), ""), r.PostFormValue("chat"), r.PostFormValue("page")
	key, err := s.signIn(r.Context(), name, strings.TrimSpace(r.PostFormValue("key")))
	if err != nil {
		p := s.asProblem(r, err)
		s.signInPage(w, p.Status, pageData{Name: name, Problem: p.Message, Chat: id, Page: settings})
		return
	}
	setCookie(w, r, key, int(sessionLife.Seconds()))
	to := ""
	p, err := s.who(r.Context(), presented{key: key})
	if settings == "settings" || err == nil && p.admin && id == "" { // an admin begins where there is something to administer
		to = "/settings"
	}
	if chatKey(id) {
		to += "/c/" + id
	}
	http.Redirect(w, r, cmp.Or(to, "/"), http.StatusSeeOther)
}

func (s *Server) signIn(ctx context.Context, name, key string) (string, error) {
	unknown := problem{Status: http.StatusForbidden, Code: "forbidden", Message: "This key is not known here. Look for a missing character."}
	if strings.HasPrefix(key, sessionStart) {
		_, err := s.who(ctx, presented{key: key})
		if errors.Is(err, unauthorized) {
			err = unknown
		}
		return key, err
	}
	by, err := s.mayOpenSession(key)
	switch {
	case err != nil && key == "", errors.Is(err, tooManyGuesses):
		return "", err
	case err != nil, key != "" && by.opener == "":
		return "", unknown
	}
	fresh, _, err := s.openSession(ctx, by, name, by.admin)
	return fresh, err
}
