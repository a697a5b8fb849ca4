package web

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/nodhq/nod/adapters/web/signin"
	"github.com/nodhq/nod/core/agent/groups"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/text"
)

var (
	_ groups.Groups = (*Server)(nil)
	_ groups.Names  = (*Server)(nil)
)

// vouchedFor is what a provider said of somebody, as it is stored.
type vouchedFor struct {
	By     string    `json:"by"` // [signin.Door.ID]
	Groups []string  `json:"groups"`
	Until  time.Time `json:"until"` // it counts
}

// getSignIn sends a browser to the provider, the first where none is named. It is no form: policyCSP lets none lead elsewhere.
func (s *Server) getSignIn(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	d := pageData{Page: q.Get("page"), Chat: q.Get("chat")}
	door := s.SignIn[0]
	if q.Has("with") {
		door = s.SignIn.Of(q.Get("with"))
	}
	if door == nil {
		http.NotFound(w, r)
		return
	}
	to, cookie, err := door.Begin(r.Context(), landing(d.Page, d.Chat))
	if err != nil {
		s.notSignedIn(w, r, d, err)
		return
	}
	http.SetCookie(w, s.flowCookie(cookie, int(signin.Life.Seconds())))
	w.Header().Set("Cache-Control", "no-store")
	http.Redirect(w, r, to, http.StatusFound)
}

// getSignedIn opens a session for somebody who comes back from the provider. A redirect would still count as the provider's, and the browser
// would keep the session's cookie to itself (SameSite=Strict): a page of ours leads on.
func (s *Server) getSignedIn(w http.ResponseWriter, r *http.Request) {
	cookie := ""
	if c, err := r.Cookie(s.flowCookie("", 0).Name); err == nil {
		cookie = c.Value
	}
	door, who, err := s.SignIn.Finish(r.Context(), cookie, r.URL.Query(), s.Shelf.Once)
	var key string
	if err == nil {
		key, err = s.openVouched(r.Context(), door, who)
	}
	if err != nil {
		s.notSignedIn(w, r, pageData{}, err)
		return
	}
	http.SetCookie(w, s.flowCookie("", -1))
	setCookie(w, r, key, int(vouchedLife.Seconds()))
	s.signInPage(w, http.StatusOK, pageData{To: who.To})
}

func (s *Server) openVouched(ctx context.Context, door *signin.Door, who signin.Person) (key string, err error) {
	now := s.Now().UTC()
	x := session{User: chat.VouchedPrefix + who.Key, Name: who.Key, Opener: door.ID(), Opened: now, Seen: now}
	if of := door.Platform; of != "" {
		u := chat.User{Platform: of, Workspace: who.Place, Key: who.Key}
		is, name, no := s.member(ctx, chat.ID{}, u)
		if no != "" {
			s.Logger.Warn("nobody was signed in", "code", "sign_in_not_allowed", "user", u, "told", no)
			return "", notMember(no)
		}
		x.User, x.Of, x.Place, who.Names = is.Key, is.Platform, is.Workspace, append([]string{name}, who.Names...)
	}
	for _, name := range who.Names {
		if name = cut(text.Prose(name), maxName); name != "" && s.mayBeCalled(name) {
			x.Name = name
			break
		}
	}
	if x.Of != "" { // whose groups the platform says whenever they count
		return s.keepNew(ctx, x)
	}
	b, _ := json.Marshal(vouchedFor{x.Opener, who.Groups, now.Add(vouchedLife)}) // texts and times always marshal
	if err := s.Shelf.PutPerson(ctx, x.User, b); err != nil {
		return "", err
	}
	return s.keepNew(ctx, x)
}

func notMember(no string) problem {
	return problem{Status: http.StatusForbidden, Code: "sign_in_not_allowed", Message: no}
}

// member asks the platform by which somebody signed in who they are in a chat, and whether they still may.
func (s *Server) member(ctx context.Context, id chat.ID, u chat.User) (is chat.User, name, no string) {
	if m, ok := s.Surfaces[u.Platform].(Members); ok {
		return m.Member(ctx, id, u)
	}
	return u, "", "The bot is no longer where you signed in. Sign in again."
}

// in is p in a chat: who signed in by a platform is asked after there, as whoever clicks there is. The zero chat is none.
func (s *Server) in(ctx context.Context, id chat.ID, p person) (person, error) {
	if p.user.Platform == Platform {
		return p, nil
	}
	is, _, no := s.member(ctx, id, p.user)
	if no != "" {
		return p, notMember(no)
	}
	p.user = is
	return p, nil
}

// notSignedIn shows why, and logs more.
func (s *Server) notSignedIn(w http.ResponseWriter, r *http.Request, d pageData, err error) {
	if no, ok := errors.AsType[*signin.Refused](err); ok {
		status := http.StatusForbidden
		if no.Down {
			status = http.StatusServiceUnavailable
		}
		s.Logger.Warn("nobody was signed in", "code", no.Code, "err", no)
		err = problem{Status: status, Code: no.Code, Message: no.Say}
	}
	p := s.asProblem(r, err)
	d.Problem = p.Message
	s.signInPage(w, p.Status, d)
}

// flowCookie holds a sign-in on its way. It comes back with the browser from another site, which a Strict one would not.
func (s *Server) flowCookie(value string, age int) *http.Cookie {
	c := &http.Cookie{Name: "nod_signin", Value: value, Path: "/", MaxAge: age, HttpOnly: true, SameSite: http.SameSiteLaxMode, Secure: s.SignIn[0].Secure()}
	if c.Secure {
		c.Name = "__Host-" + c.Name
	}
	return c
}

// Groups are those that the provider named when somebody last signed in, for as long as that counts, also if they signed out meanwhile.
func (s *Server) Groups(ctx context.Context, _ chat.ID, u chat.User) (of []chat.User, err error) {
	if len(s.SignIn) == 0 || !u.Vouched() {
		return nil, nil
	}
	b, err := s.Shelf.Person(ctx, u.Key)
	if err != nil || b == nil {
		return nil, err
	}
	var v vouchedFor
	if err := json.Unmarshal(b, &v); err != nil {
		return nil, err
	}
	if !s.SignIn.Know(v.By) || !s.Now().Before(v.Until) {
		return nil, nil
	}
	for _, g := range v.Groups {
		of = append(of, chat.User{Platform: Platform, Key: chat.GroupPrefix + g})
	}
	return of, nil
}

// GroupName is as it is configured.
func (s *Server) GroupName(_ chat.ID, u chat.User) string {
	return strings.TrimPrefix(u.Key, chat.GroupPrefix)
}
