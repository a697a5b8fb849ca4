package stand

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"html/template"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// lookWithin bounds how long the page waits for a change before it is drawn again.
const lookWithin = 25 * time.Second

// Page shows a platform as one person sees it, and does what they do.
type Page struct {
	Template *template.Template
	Wait     func(ctx context.Context, is func() bool) error // of the stand-in
	Scene    func(url.Values) any                            // what the page shows
	Act      func(url.Values) error                          // what a form says; people's methods may panic at what no person could do
	Keep     []string                                        // what of a form says where the person looks
}

func (p *Page) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name, _, err := net.SplitHostPort(r.Host)
	if err != nil {
		name = r.Host
	}
	if name != "localhost" && net.ParseIP(name) == nil { // a site whose name leads here
		http.Error(w, "ask for it by address", http.StatusForbidden)
		return
	}
	switch {
	case r.URL.Path == "/do" && r.Method == http.MethodPost:
		p.do(w, r)
	case r.URL.Path == "/":
		q := r.URL.Query()
		ctx, cancel := context.WithTimeout(r.Context(), lookWithin)
		defer cancel()
		var html []byte
		var version string
		_ = p.Wait(ctx, func() bool { // until it is not what the browser has; at the latest as it is then
			html, version = p.draw(q)
			return version != q.Get("have")
		})
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Header().Set("X-Version", version)
		_, _ = w.Write(html) // the browser may have gone
	default:
		http.NotFound(w, r)
	}
}

// draw gives the page and what tells it from another.
func (p *Page) draw(q url.Values) (html []byte, version string) {
	var b bytes.Buffer
	if err := p.Template.Execute(&b, p.Scene(q)); err != nil {
		return []byte(err.Error()), "error"
	}
	return b.Bytes(), fmt.Sprintf("%x", sha256.Sum256(b.Bytes()))
}

// do does what a form of the page says, and shows the page again.
func (p *Page) do(w http.ResponseWriter, r *http.Request) {
	_ = r.ParseForm() // what is missing is empty
	if site := r.Header.Get("Sec-Fetch-Site"); site != "" && site != "same-origin" && site != "none" {
		http.Error(w, "from another site", http.StatusForbidden)
		return
	}
	q := url.Values{}
	for _, name := range p.Keep {
		q[name] = r.Form[name]
	}
	if err := p.try(r.Form); err != nil {
		q.Set("problem", err.Error())
	}
	http.Redirect(w, r, "/?"+q.Encode(), http.StatusSeeOther)
}

func (p *Page) try(f url.Values) (err error) {
	defer func() {
		if x := recover(); x != nil {
			err = fmt.Errorf("%v", x)
		}
	}()
	return p.Act(f)
}

// Inputs are what a person entered into a form of the platform.
func Inputs(f url.Values) map[string]string {
	values := map[string]string{}
	for k := range f {
		if id, ok := strings.CutPrefix(k, "in:"); ok {
			values[id] = f.Get(k)
		}
	}
	return values
}
