// Package web is the local chat surface: a page for people and an HTTP API with server-sent events for programs.
//
// Its words. A session is a bearer key with a person behind it. A chat is named by a random id; whoever knows it
// may read, post and stop there. A message is the API form of what was said or of a turn's one message.
// A stream is one open connection of server-sent events. A panel is one view of the settings, drawn for one person. A command
// is what begins with "/" and a word of ours: it is answered to whoever typed it and never becomes a message.
//
// Its invariants.
//   - Nothing shown here is stored here: every message is derived from the chat's log ([fold]), and a message that
//     still moves is the log's plus the live frames that [Server.Edit] broadcasts. A missed frame does no harm.
//   - Identity is the session key (an Authorization header, or the page's HttpOnly SameSite=Strict cookie), never a
//     field of a body. Keys are 256 random bits and are stored hashed. Who may decide is the engine's answer.
//   - A request whose Host or Origin is not ours is refused before anything reads it: on a loopback listener
//     only localhost, 127.0.0.1 and [::1] are, and [Config.Hosts] (DNS rebinding). Where session keys are configured, and on any listener
//     that is not loopback, nobody gets a session without a configured key. Where none is needed no proxy may stand before us.
//   - A configured key is never a cookie: signing in with one opens a session, which ends by time, by signing out, or with its key.
//   - What a server wants of one person (a form, an address) is told to that person alone: no message and no event holds it.
//   - A panel's token has no authority: the engine looks anew at what this person may do.
//   - Text of people, models and tools reaches the page as data and becomes DOM by textContent; Markdown is
//     parsed here, into a tree that has no raw HTML and no images ([markdown.Parse]).
//   - Every error is {"error":{"code","message"}} with a sentence that helps.
//
// It leaves out: transport security (put a proxy in front), accounts, and uploads.
package web

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/nodhq/nod/core/chat"
)

// Platform is the name of this surface in [chat.ID] and [chat.User].
const Platform = "web"

// Config is what [New] needs. Engine, Settings, Log and Shelf are required.
type Config struct {
	// Listen is the address the handler will be served on, as in "127.0.0.1:8080". It only tells whether the listener is
	// loopback; empty counts as not loopback.
	Listen   string
	Engine   Engine
	Settings Settings
	Log      Log
	Shelf    Shelf

	// AdminKeys are valid bearers of administrators ([AdminUser]). Spaces are trimmed and empty entries never match.
	AdminKeys []string
	// SessionKeys open sessions, and once there is one none opens without; they are not bearers of anything else.
	SessionKeys []SessionKey
	// Hosts are host names that requests may name besides localhost, as behind a proxy. On a listener that is not loopback an empty list
	// takes every host.
	Hosts []string

	Product     string   // the name on the page; "nod" if empty
	Banner      string   // a line over every chat, such as that this is the scripted demo
	Suggestions []string // what an empty chat proposes to say

	Heartbeat time.Duration // between comments on a silent stream; 15 s if zero
	Patience  time.Duration // how long a stream's reader may take for one write before it is dropped; 10 s if zero
	Streams   int           // open streams per person; 16 if zero
	Logger    *slog.Logger  // causes of internal errors; discarded if nil

	Now func() time.Time // the clock of sessions; time.Now if nil
}

// Server is the surface. Make it with [New]; it is safe for concurrent use.
type Server struct {
	Config
	loopback bool
	keys     keyring
	reserved map[string]bool // names that nobody may give themselves, plain
	wrong    *rate.Limiter   // wrong keys
	opens    *rate.Limiter   // new sessions
	begins   *rate.Limiter   // new chats
	chats    *sessionCache
	page     page
	handler  http.Handler

	stop    chan struct{} // closed when streams must end
	stopped sync.Once
	mu      sync.Mutex
	open    map[string]int // streams per user key
	streams sync.WaitGroup
	ended   bool
}

// New checks the configuration and makes the surface. It starts nothing.
func New(c Config) (*Server, error) {
	switch {
	case c.Engine == nil:
		return nil, errors.New("web: Config.Engine is missing")
	case c.Settings == nil:
		return nil, errors.New("web: Config.Settings is missing")
	case c.Log == nil:
		return nil, errors.New("web: Config.Log is missing")
	case c.Shelf == nil:
		return nil, errors.New("web: Config.Shelf is missing")
	}
	if c.Product == "" {
		c.Product = "nod"
	}
	if c.Heartbeat <= 0 {
		c.Heartbeat = 15 * time.Second
	}
	if c.Patience <= 0 {
		c.Patience = 10 * time.Second
	}
	if c.Streams <= 0 {
		c.Streams = 16
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	s := &Server{Config: c, loopback: isLoopback(c.Listen), keys: newKeyring(c.AdminKeys, c.SessionKeys),
		wrong: rate.NewLimiter(wrongRate, wrongBurst), opens: rate.NewLimiter(openRate, openBurst), begins: rate.NewLimiter(beginRate, beginBurst),
		reserved: map[string]bool{plainName(adminName): true, plainName("nod"): true, plainName(c.Product): true},
		stop:     make(chan struct{}), open: map[string]int{}}
	for _, k := range c.SessionKeys {
		if k.Name != "" {
			s.reserved[plainName(k.Name)] = true
		}
	}
	if !s.loopback && len(s.keys) == 0 {
		return nil, fmt.Errorf("web: %q is not a loopback address, so anybody who reaches it could open a session: "+
			"set web.session_keys or ADMIN_SESSION_KEYS, or listen on 127.0.0.1", c.Listen)
	}
	s.chats = newSessionCache(c.Log)
	var err error
	if s.page, err = newPage(c); err != nil {
		return nil, err
	}
	if s.handler, err = s.routes(); err != nil {
		return nil, err
	}
	return s, nil
}

// Handler serves the page and the API. Serve it with a ReadHeaderTimeout, a deadline for bodies, and without a
// WriteTimeout: each write of a stream has its own deadline.
func (s *Server) Handler() http.Handler { return s.handler }

// Run blocks until ctx ends, then ends every open stream and waits for them. Without it an http.Server's Shutdown
// would wait for streams that never end by themselves.
func (s *Server) Run(ctx context.Context) error {
	<-ctx.Done()
	s.stopped.Do(func() {
		s.mu.Lock()
		s.ended = true
		s.mu.Unlock()
		close(s.stop)
	})
	s.streams.Wait()
	return nil
}

func (s *Server) routes() (http.Handler, error) {
	api := http.NewServeMux()
	handle := func(pattern string, h func(http.ResponseWriter, *http.Request, person) error) {
		api.Handle(pattern, s.signedIn(h))
	}
	api.HandleFunc("POST /api/v1/sessions", s.postSession)
	handle("GET /api/v1/sessions", s.getSessions)
	handle("DELETE /api/v1/sessions", s.deleteSessions)
	handle("DELETE /api/v1/sessions/{session}", s.deleteSession)
	handle("GET /api/v1/chats", s.getChats)
	handle("POST /api/v1/chats", s.postChat)
	handle("GET /api/v1/chats/{chat}", s.getChat)
	handle("POST /api/v1/chats/{chat}/messages", s.postMessage)
	handle("POST /api/v1/chats/{chat}/stop", s.postStop)
	handle("GET /api/v1/chats/{chat}/events", s.getEvents)
	handle("POST /api/v1/chats/{chat}/asks", s.postAsks)
	handle("POST /api/v1/chats/{chat}/clicks", s.postClick)
	handle("POST /api/v1/tools/approve", s.postApprove)
	handle("POST /api/v1/asks/{request}", s.postAsk)
	handle("GET /api/v1/asks/{request}/why", s.getWhy)
	handle("GET /api/v1/asks/{request}/want", s.getWant)
	handle("GET /api/v1/settings", s.getSettings)
	handle("POST /api/v1/settings", s.postSettings)
	handle("POST /api/v1/permissions", s.postPermissions)
	api.HandleFunc("/api/", func(w http.ResponseWriter, r *http.Request) {
		writeProblem(w, problem{Status: http.StatusNotFound, Code: "not_found", Message: "There is nothing at " + r.Method + " " + r.URL.Path + "."})
	})

	api.HandleFunc("GET /{$}", s.getPage)
	api.HandleFunc("GET /c/{chat}", s.getPage)
	api.HandleFunc("GET /settings", s.getSettingsPage)
	api.HandleFunc("GET /settings/c/{chat}", s.getSettingsPage)
	api.HandleFunc("POST /session", s.postSignIn)
	api.HandleFunc("POST /signout", s.postSignOut)
	api.HandleFunc("GET /assets/{file}", s.page.asset)
	api.HandleFunc("GET /favicon.ico", func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/assets/icon.svg", http.StatusFound)
	})

	return s.guard(api)
}

func isLoopback(listen string) bool {
	host, _, err := net.SplitHostPort(listen)
	if err != nil {
		host = strings.Trim(listen, "[]")
	}
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

func webChat(key string) chat.ID { return chat.ID{Platform: Platform, Key: key} }
