package web

import (
	"bytes"
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"path"
	"reflect"
	"strings"
	"time"
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
	shells      map[string]shell
	files       map[string][]byte
	tag         string // names this build's assets, so that a browser never mixes two builds
	product     string
	banner      string
	suggestions []string
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
	Problem              string
}

func newPage(c Config) (page, error) {
	p := page{files: map[string][]byte{}, product: c.Product, banner: c.Banner, suggestions: c.Suggestions}
	sum := sha256.New()
	entries, err := fs.ReadDir(assets, "assets")
	if err != nil {
		return p, fmt.Errorf("web: embedded assets: %w", err)
	}
	for _, e := range entries {
		b, err := assets.ReadFile("assets/" + e.Name())
		if err != nil {
			return p, fmt.Errorf("web: embedded assets: %w", err)
		}
		p.files[e.Name()] = b
		sum.Write(b)
	}
	p.tag = hex.EncodeToString(sum.Sum(nil))[:12]
	p.shells = map[string]shell{}
	for _, name := range []string{pageChat, pageSettings} {
		if p.shells[name], err = parseShell(string(p.files[name]), pageData{}); err != nil {
			return p, fmt.Errorf("web: %s: %w", name, err)
		}
	}
	return p, nil
}

// door is the page of somebody who is not signed in.
func (p page) door(w http.ResponseWriter, status int, d pageData) { p.write(w, status, pageChat, d) }

func (p page) write(w http.ResponseWriter, status int, shell string, d pageData) {
	d.Product, d.Banner, d.Tag, d.Suggestions = p.product, p.banner, p.tag, p.suggestions
	d.ChatPath = url.PathEscape(d.Chat)
	var b strings.Builder
	p.shells[shell].fill(&b, reflect.ValueOf(d), "")
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, b.String())
}

var kinds = map[string]string{".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml"}

func (p page) asset(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("file")
	b, ok := p.files[name]
	kind := kinds[path.Ext(name)]
	if !ok || kind == "" {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", kind)
	w.Header().Set("ETag", `"`+p.tag+`"`)
	w.Header().Set("Cache-Control", "no-cache")
	if r.URL.Query().Get("v") == p.tag {
		w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	http.ServeContent(w, r, name, time.Time{}, bytes.NewReader(b))
}

func (s *Server) getPage(w http.ResponseWriter, r *http.Request) { s.shell(w, r, pageChat) }

// shell writes a page, or the door before it.
func (s *Server) shell(w http.ResponseWriter, r *http.Request, name string) {
	d := pageData{NeedsKey: s.needsKey(), Chat: r.PathValue("chat")}
	if name == pageSettings {
		d.Page = "settings"
	}
	p, ok, err := s.who(r.Context(), presented{cookieKey(r), true})
	switch {
	case err != nil:
		d.Problem = s.asProblem(r, err).Message
		s.page.door(w, http.StatusServiceUnavailable, d)
	case !ok:
		d.Name = "you"
		s.page.door(w, http.StatusOK, d)
	default:
		d.SignedIn, d.Name, d.Admin = true, p.name, p.admin
		s.page.write(w, http.StatusOK, name, d)
	}
}

// postSignIn opens a session for a browser. A key that its owner pastes is an admin's, one that opens sessions, or that of an earlier
// session. A configured key never becomes the cookie: a session of its own does.
func (s *Server) postSignIn(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, 8<<10)
	if err := r.ParseForm(); err != nil {
		s.page.door(w, http.StatusBadRequest, pageData{NeedsKey: s.needsKey(), Problem: "The form did not arrive whole. Please try again."})
		return
	}
	name := strings.ToValidUTF8(r.PostFormValue("name"), "")
	key, err := s.signIn(r.Context(), name, strings.TrimSpace(r.PostFormValue("key")))
	if err != nil {
		p := s.asProblem(r, err)
		s.page.door(w, p.Status, pageData{NeedsKey: s.needsKey(), Name: name, Problem: p.Message, Chat: r.PostFormValue("chat"), Page: r.PostFormValue("page")})
		return
	}
	s.welcome(w, r, key)
}

func (s *Server) signIn(ctx context.Context, name, key string) (string, error) {
	unknown := problem{Status: http.StatusForbidden, Code: "forbidden", Message: "This key is not known here. Look for a missing character."}
	if strings.HasPrefix(key, sessionStart) {
		if _, known, err := s.who(ctx, presented{key: key}); err != nil || known {
			return key, err
		}
		return "", unknown
	}
	by, err := s.mayOpenSession(key)
	switch {
	case err != nil && key == "", errors.Is(err, tooManyGuesses):
		return "", err
	case err != nil, key != "" && by.finger == "":
		return "", unknown
	}
	fresh, _, err := s.openSession(ctx, by, name, by.admin)
	return fresh, err
}

func (s *Server) welcome(w http.ResponseWriter, r *http.Request, key string) {
	setCookie(w, r, key, int(sessionLife.Seconds()))
	to := "/"
	if r.PostFormValue("page") == "settings" {
		to = "/settings"
	}
	if chat := r.PostFormValue("chat"); chatKey(chat) {
		to = strings.TrimSuffix(to, "/") + "/c/" + chat
	}
	http.Redirect(w, r, to, http.StatusSeeOther)
}
