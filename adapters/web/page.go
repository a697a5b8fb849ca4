package web

import (
	"bytes"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"html/template"
	"io/fs"
	"net/http"
	"path"
	"strings"
	"time"
)

//go:embed assets
var assets embed.FS

// page is the shell that the browser gets. What is in a chat comes through the API.
type page struct {
	shell       *template.Template
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
	Chat                 string
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
	p.shell, err = template.New("page.html").Parse(string(p.files["page.html"]))
	if err != nil {
		return p, fmt.Errorf("web: page.html: %w", err)
	}
	return p, nil
}

func (p page) write(w http.ResponseWriter, status int, d pageData) {
	d.Product, d.Banner, d.Tag, d.Suggestions = p.product, p.banner, p.tag, p.suggestions
	var b bytes.Buffer
	if err := p.shell.Execute(&b, d); err != nil {
		http.Error(w, "The page could not be made.", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(b.Bytes())
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

func (s *Server) getPage(w http.ResponseWriter, r *http.Request) {
	p, ok, err := s.who(r.Context(), cookieKey(r))
	if err != nil {
		s.page.write(w, http.StatusServiceUnavailable, pageData{NeedsKey: !s.loopback, Problem: s.asProblem(r, err).Message})
		return
	}
	if !ok {
		s.page.write(w, http.StatusOK, pageData{NeedsKey: !s.loopback, Name: "you", Chat: r.PathValue("chat")})
		return
	}
	s.page.write(w, http.StatusOK, pageData{SignedIn: true, Name: p.name, Admin: p.admin, Chat: r.PathValue("chat")})
}

// cookieKey: a page is opened by a browser, which sends the cookie and nothing else.
func cookieKey(r *http.Request) string {
	if c, err := r.Cookie(cookieName); err == nil {
		return c.Value
	}
	return ""
}

// postSignIn opens a session for a browser, or takes a key that its owner pastes: an admin's, an earlier
// session's, or (away from loopback) one that opens sessions.
func (s *Server) postSignIn(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, 8<<10)
	if err := r.ParseForm(); err != nil {
		s.page.write(w, http.StatusBadRequest, pageData{NeedsKey: !s.loopback, Problem: "The form did not arrive whole. Please try again."})
		return
	}
	name, key := strings.ToValidUTF8(r.PostFormValue("name"), ""), strings.TrimSpace(r.PostFormValue("key"))
	again := func(status int, say string) {
		s.page.write(w, status, pageData{NeedsKey: !s.loopback, Name: name, Problem: say})
	}
	if key != "" {
		_, known, err := s.who(r.Context(), key)
		if err != nil {
			again(http.StatusServiceUnavailable, s.asProblem(r, err).Message)
			return
		}
		if known {
			s.welcome(w, r, key)
			return
		}
		if !s.keys.mayOpen(key) {
			again(http.StatusForbidden, "This key is not known here. Look for a missing character.")
			return
		}
	}
	if err := s.mayOpenSession(key); err != nil {
		again(http.StatusUnauthorized, s.asProblem(r, err).Message)
		return
	}
	fresh, _, err := s.openSession(r.Context(), name)
	if err != nil {
		again(http.StatusServiceUnavailable, s.asProblem(r, err).Message)
		return
	}
	s.welcome(w, r, fresh)
}

func (s *Server) welcome(w http.ResponseWriter, r *http.Request, key string) {
	setCookie(w, r, key, 30*24*3600)
	to := "/"
	if chat := r.PostFormValue("chat"); chat != "" && !strings.ContainsAny(chat, "/\\?#%") {
		to = "/c/" + chat
	}
	http.Redirect(w, r, to, http.StatusSeeOther)
}

func (s *Server) postSignOut(w http.ResponseWriter, r *http.Request) {
	setCookie(w, r, "", -1)
	http.Redirect(w, r, "/", http.StatusSeeOther)
}
