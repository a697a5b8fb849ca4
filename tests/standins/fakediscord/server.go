package fakediscord

import (
	"cmp"
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/nodhq/nod/tests/standins/fakeslack"
	"github.com/nodhq/nod/tests/standins/stand"
)

// Options say what application the bot is. The zero value is an ordinary one in one guild, without rate limits.
type Options struct {
	AppID     string // the application's ID. Empty: "900000000000000001"
	BotUser   string // the bot's user ID, which is another one for old applications. Empty: "900000000000000002"
	BotName   string // Empty: "nod"
	Token     string // Empty: a made-up one
	Guild     string // the ID of the first guild. Empty: "800000000000000001"
	GuildName string // Empty: "Acme"

	NoContent   bool       // the MESSAGE_CONTENT intent is not switched on
	Members     bool       // the GUILD_MEMBERS intent is switched on
	Permissions Permission // of the bot wherever nothing is denied. 0: [DefaultPermissions]

	Clock  Clock  // nil: the real time
	Limits Limits // zero: none; [Documented]: Discord's
	// Latency is what a call of a method takes, waited for by the Clock before anything is looked at. nil: nothing
	Latency func(method string) time.Duration

	Heartbeat      time.Duration // heartbeat_interval, in real time. 0: 41.25 s
	ResumeFor      time.Duration // how long a lost session can be resumed. Not documented; 0: 3 min
	MaxConcurrency int           // IDENTIFYs at a time, by shard % MaxConcurrency. 0: 1
	SessionStarts  int           // IDENTIFYs a day. 0: 1000
	Shards         int           // what GET /gateway/bot recommends. 0: 1
	MaxGuilds      int           // guilds a shard may hold. 0: 2500

	// Lean keeps only the last version of each message and no bodies in the journal: for benchmarks.
	Lean bool
	// Listen is an address such as "127.0.0.1:8092". Empty: any port of loopback
	Listen string
	// Undescribed hears of each call and answer that Discord's own description of its API has no place for. nil: they are not compared
	Undescribed func(fault ...any)
}

// Server is the stand-in. Make one with [New], and [Server.Close] it.
type Server struct {
	stand.Signal // fires at whatever happens here
	stand.Faults[Call, Fault]
	stand.Journal[Call]

	opt    Options
	clock  Clock
	key    ed25519.PrivateKey
	http   *httptest.Server
	host   string
	ctx    context.Context
	stop   context.CancelFunc
	work   sync.WaitGroup // sockets and deliveries over HTTP
	out    *http.Client   // of signed HTTP
	closed bool

	mu        sync.Mutex
	last      uint64 // snowflake
	reset     bool   // the token was reset
	noContent bool
	users     map[string]*User
	guilds    map[string]*guild
	order     []string // guilds
	channels  map[string]*channel
	dms       map[string]string // person → their DM with the bot
	noDMs     map[string]bool
	hidden    []*Message // ephemeral ones
	nonces    map[string]*Message
	commands  map[string][]obj // by guild, "" is global
	files     map[string][]byte
	answers   map[string]http.HandlerFunc // in their place

	interactions map[string]*interaction // by ID
	tokens       map[string]*interaction
	endpoint     string
	sent         []*Delivery
	modals       map[string][]*Modal

	refused  []Refusal
	versions map[string]int
	windows  map[string]*window

	sockets    []*socket
	sessions   map[string]*session
	identifies []Identify
	dials      []string
	silence    Silence
	greetings  map[Moment][]Greeting
	signIn     stand.OAuth
	bearers    map[string]string // whose tokens they are that people signed in with
	twice      int
}

type obj = map[string]any

func (o *Options) fill() {
	o.AppID, o.BotUser, o.BotName = cmp.Or(o.AppID, "900000000000000001"), cmp.Or(o.BotUser, "900000000000000002"), cmp.Or(o.BotName, "nod")
	o.Token = cmp.Or(o.Token, "fake.discord.bot-token")
	o.Guild, o.GuildName = cmp.Or(o.Guild, "800000000000000001"), cmp.Or(o.GuildName, "Acme")
	o.Permissions = cmp.Or(o.Permissions, DefaultPermissions)
	o.Heartbeat, o.ResumeFor = cmp.Or(o.Heartbeat, 41250*time.Millisecond), cmp.Or(o.ResumeFor, 3*time.Minute)
	o.MaxConcurrency, o.SessionStarts = cmp.Or(o.MaxConcurrency, 1), cmp.Or(o.SessionStarts, 1000)
	o.Shards, o.MaxGuilds = cmp.Or(o.Shards, 1), cmp.Or(o.MaxGuilds, 2500)
	if o.Clock == nil {
		o.Clock = fakeslack.Wall{}
	}
}

// New starts a Discord with one guild, the bot in it and nobody else. It panics if it cannot listen.
func New(o Options) *Server {
	o.fill()
	seed := sha256.Sum256([]byte("fakediscord " + o.AppID))
	s := &Server{
		opt: o, clock: o.Clock, key: ed25519.NewKeyFromSeed(seed[:]), noContent: o.NoContent,
		users: map[string]*User{}, guilds: map[string]*guild{}, channels: map[string]*channel{}, dms: map[string]string{}, noDMs: map[string]bool{},
		nonces: map[string]*Message{}, commands: map[string][]obj{}, files: map[string][]byte{}, answers: map[string]http.HandlerFunc{}, interactions: map[string]*interaction{},
		tokens: map[string]*interaction{}, modals: map[string][]*Modal{}, versions: map[string]int{},
		windows: map[string]*window{}, sessions: map[string]*session{}, greetings: map[Moment][]Greeting{},
		out: &http.Client{Transport: &http.Transport{}},
	}
	s.signIn.ID, s.signIn.Secret = o.AppID, ClientSecret
	s.ctx, s.stop = context.WithCancel(context.Background())
	s.users[o.BotUser] = &User{ID: o.BotUser, Name: o.BotName, Bot: true}
	s.http = stand.Listen(o.Listen, s.routes())
	s.host = s.http.Listener.Addr().String() // before it serves: handlers read it
	s.AddGuild(Guild{ID: o.Guild, Name: o.GuildName})
	s.http.Start()
	return s
}

// Close ends all connections and waits for what the server has running.
func (s *Server) Close() {
	s.mu.Lock()
	s.closed = true
	sockets := slices.Clone(s.sockets)
	for _, d := range s.sent {
		d.disarm()
	}
	s.mu.Unlock()
	s.stop()
	for _, c := range sockets {
		c.abort()
	}
	s.http.CloseClientConnections()
	s.http.Close()
	s.work.Wait()
	s.out.CloseIdleConnections()
}

// Base is the address in front of "/api/v10".
func (s *Server) Base() string { return "http://" + s.host }

// URL is the same as [Server.Base]: clients put "/api/v10/…" behind it.
func (s *Server) URL() string { return s.Base() }

// Token is the bot's, without "Bot ".
func (s *Server) Token() string { return s.opt.Token }

// AppID, BotUser and Guild are who the bot is, and its first guild.
func (s *Server) AppID() string   { return s.opt.AppID }
func (s *Server) BotUser() string { return s.opt.BotUser }
func (s *Server) Guild() string   { return s.opt.Guild }

// PublicKey is what signed interactions are verified with, in hexadecimal.
func (s *Server) PublicKey() string {
	return hex.EncodeToString(s.key.Public().(ed25519.PublicKey))
}

// Handle adds a page of a program's own to the server, for a developer to look at.
func (s *Server) Handle(h http.Handler) {
	stand.Beside(s.http, func(path string) bool {
		return slices.ContainsFunc([]string{"/api/", "/gateway", "/resume", "/attachments/", "/oauth2/"}, func(of string) bool { return strings.HasPrefix(path, of) })
	}, h)
}

// sleep waits by the clock.
func (s *Server) sleep(d time.Duration) {
	if d <= 0 {
		return
	}
	over := make(chan struct{})
	stop := s.clock.AfterFunc(d, func() { close(over) })
	defer stop()
	select {
	case <-over:
	case <-s.ctx.Done():
	}
}
