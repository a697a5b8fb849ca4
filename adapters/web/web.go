// Package web is the local chat surface: a page for people and an HTTP API with server-sent events for programs.
//
// Its words. A chat is named by a random id; whoever knows it may read, post and stop
// there. A message is the API form of what was said or of a turn's one message. A stream is one open connection of events. A panel is one
// view of the settings, drawn for one person. A command is what begins with "/" and a word of ours: it is answered to whoever typed it and
// never becomes a message.
//
// Start reading at routes.go. fold.go makes messages and events of a chat's log, form.go and callform.go give them
// their JSON, decide.go is the way to the engine, guard.go says what gets in, package session who asks. It may import core,
// adapters/surface and the packages below it. A new answer of the API is a route here and a handler beside what it is about; a new field is one of a form.
//
// Its invariants.
//   - Nothing shown here is stored here: a message is what the chat's log says, with the live frames that [Server.Edit] broadcasts, which
//     may be lost.
//   - Identity is the session key (an Authorization header, or the page's HttpOnly SameSite=Strict cookie), never a field of a body. Who may
//     decide is the engine's answer; a panel's token has no authority.
//   - A request whose Host or Origin is not ours is refused before anything reads it (DNS rebinding). Where session keys are configured,
//     and on any listener that is not loopback, nobody gets a session without a configured key. Where none is needed no proxy may stand
//     before us.
//   - A configured key is never a cookie: signing in with one opens a session, which ends by time, by signing out, or with its key.
//   - What a server wants of one person (a form, an address) is told to that person alone: no message and no event holds it.
//   - Text of people, models and tools reaches the page as data and becomes DOM by textContent; Markdown becomes a tree here
//     ([markdown.Parse]).
//   - Every error is {"error":{"code","message"}} with a sentence that helps.
//
// It leaves out: transport security (put a proxy in front) and accounts.
package web

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/adapters/web/frames"
	"github.com/nodhq/nod/adapters/web/inbox"
	"github.com/nodhq/nod/adapters/web/push"
	"github.com/nodhq/nod/adapters/web/session"
	"github.com/nodhq/nod/adapters/web/signin"
	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/agent/attach"
	"github.com/nodhq/nod/core/backoff"
	"github.com/nodhq/nod/core/chat"
)

// Platform is the name of this surface in [chat.ID] and [chat.User].
const Platform = session.Platform

// Config is what [New] needs. Engine, Settings, Log and Shelf are required.
type Config struct {
	// Listen is where the handler is served, as in "127.0.0.1:8080". It only tells whether that is loopback; empty counts as not.
	Listen   string
	Engine   Engine
	Settings surface.Settings
	Log      Log
	Shelf    Shelf
	Files    attach.Blobs // keeps what people attach; nil: nothing is taken

	// AdminKeys are valid bearers of administrators ([AdminUser]). Spaces are trimmed and empty entries never match.
	AdminKeys []string
	// SessionKeys open sessions, and once there is one none opens without; they are not bearers of anything else.
	SessionKeys []session.Key
	// SignIn lets people in for whom a provider or a platform vouches. With it nobody gives themselves a name: each of SessionKeys has one.
	SignIn signin.Doors
	// Surfaces are all of them by name, to lead to what waits there ([Linker]), and to say who signed in by one ([session.Members]), whose door needs
	// it; the map may be filled later.
	Surfaces map[string]agent.Platform
	// Hosts are host names that requests may name besides localhost. On a listener that is not loopback an empty list takes every host.
	Hosts []string

	Push *http.Client // to the push services of people's devices; nil: [push.HTTPClient]

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
	loopback  bool
	sessions  *session.Sessions
	newChats  *rate.Limiter
	chats     *sessionCache
	waiting   *inbox.List
	push      *push.Sender
	frames    *frames.Frames
	noticed   chan chat.ID // in which something waits, or no longer
	page      page
	uploads   chan struct{}        // places of this process
	uploading map[string]*uploader // by user key
	handler   http.Handler

	life    context.Context // of streams
	end     context.CancelFunc
	mu      sync.Mutex
	open    map[string]int // streams per user key
	streams sync.WaitGroup
}

// New checks the configuration and makes the surface. It starts nothing.
func New(c Config) (*Server, error) {
	if c.Engine == nil || c.Settings == nil || c.Log == nil || c.Shelf == nil {
		return nil, errors.New("web: Config needs Engine, Settings, Log and Shelf")
	}
	c.Logger = cmp.Or(c.Logger, slog.New(slog.DiscardHandler))
	c.Heartbeat, c.Patience, c.Streams = cmp.Or(c.Heartbeat, 15*time.Second), cmp.Or(c.Patience, 10*time.Second), cmp.Or(c.Streams, 16)
	if c.Now == nil {
		c.Now = time.Now
	}
	s := &Server{Config: c, loopback: isLoopback(hostOf(c.Listen)), newChats: rate.NewLimiter(beginRate, beginBurst),
		waiting: inbox.New(c.Log, c.Logger), noticed: make(chan chat.ID, 1024),
		chats: newSessionCache(c.Log), uploads: make(chan struct{}, uploadsAtOnce), uploading: map[string]*uploader{}, open: map[string]int{}}
	s.life, s.end = context.WithCancel(context.Background())
	var err error
	if s.sessions, err = session.New(session.Config{Shelf: c.Shelf, Loopback: s.loopback, AdminKeys: c.AdminKeys, Keys: c.SessionKeys, Doors: c.SignIn,
		Surfaces: c.Surfaces, Now: c.Now, Logger: c.Logger}); err != nil {
		return nil, err
	}
	if len(c.SignIn) > 0 {
		s.Hosts = append(slices.Clone(c.Hosts), c.SignIn[0].Host())
	}
	s.page = newPage(c)
	s.frames = frames.New(c.Shelf, framesChat())
	s.push = push.New(push.Config{Shelf: c.Shelf, Load: s.load, Who: s.deviceOf, To: questionsAt, Client: c.Push, Logger: c.Logger})
	if s.handler, err = s.guard(s.routes()); err != nil {
		return nil, err
	}
	return s, nil
}

// Handler serves the page and the API. Serve it with deadlines for headers and bodies, and none for writes: streams have their own.
func (s *Server) Handler() http.Handler { return s.handler }

// Run blocks until ctx ends, then ends every open stream and waits for them: an http.Server's Shutdown would wait for ever.
func (s *Server) Run(ctx context.Context) error {
	for _, door := range s.SignIn {
		s.streams.Go(func() { _ = door.Check(ctx) }) // the log tells what is wrong before anybody signs in
	}
	s.streams.Go(func() { s.push.Run(ctx) })
	s.streams.Go(func() {
		s.frames.Run(ctx, s.subscribe(ctx, framesChat(), "what other replicas show cannot be heard; there an answer grows in steps of seconds"))
	})
	s.tellNoticed(ctx)
	s.mu.Lock() // whoever enters does so before, and is waited for, or hears that it is too late
	s.end()
	s.mu.Unlock()
	s.streams.Wait()
	return nil
}

// subscribe listens to what replicas tell each other until ctx ends, as soon as it can: the store may be away just now.
func (s *Server) subscribe(ctx context.Context, at chat.ID, without string) <-chan []byte {
	for failures := 0; ; failures++ {
		heard, err := s.Shelf.Live(ctx, at)
		if err == nil || ctx.Err() != nil {
			return heard
		}
		s.Logger.Warn(without, "err", err)
		_ = backoff.Wait(ctx, subscribeAgain.After(failures))
	}
}

var subscribeAgain = backoff.Exponential{First: 100 * time.Millisecond, Most: 30 * time.Second}

// hostOf is the host of an address with or without a port, without the brackets of IPv6.
func hostOf(address string) string {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		host = strings.Trim(address, "[]")
	}
	return strings.ToLower(host)
}

func isLoopback(host string) bool {
	return host == "localhost" || net.ParseIP(host).IsLoopback()
}

func webChat(key string) chat.ID { return chat.ID{Platform: Platform, Key: key} }
