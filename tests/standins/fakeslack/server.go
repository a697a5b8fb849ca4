package fakeslack

import (
	"cmp"
	"context"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"time"

	"github.com/nodhq/nod/tests/standins/stand"
)

// Options say what workspace the app is installed in. The zero value is an ordinary one without rate limits.
type Options struct {
	Team       string   // workspace ID. Empty: "T0FAKE"
	TeamName   string   // Empty: "Acme"
	Enterprise string   // organisation ID on Enterprise Grid. Empty: none
	AppID      string   // Empty: "A0FAKE"
	BotUser    string   // the bot's user ID. Empty: "U0BOT"
	BotID      string   // Empty: "B0BOT"
	BotName    string   // Empty: "nod"
	Scopes     []string // of the bot token. nil: all that any method needs
	AppScopes  []string // of the app token. nil: connections:write
	Events     []string // that the app subscribed to. nil: all

	Clock Clock // nil: the real time
	// Tiers are the calls a minute of each method (see [Floors]). A method that is not there is unlimited, and so is all when nil.
	Tiers map[string]int
	// PostsPerChannel bounds chat.postMessage to so many a second and channel. 0: unlimited
	PostsPerChannel int
	// PostsAtOnce is how many a channel takes at once before that counts: "short bursts >1 allowed", says the page, and names no number
	PostsAtOnce int
	// Latency is what a call of a method takes, waited for by the Clock before anything is looked at. nil: nothing
	Latency func(method string) time.Duration

	// NoEcho: the app gets no events of its own messages and edits. Slack does send those.
	NoEcho bool
	// Undescribed hears of each call granted that Slack's own clients would not send (package spec). nil: they are not compared
	Undescribed func(fault ...any)
	// Lean keeps only the last version of each message and no form values in the journal: for benchmarks.
	Lean bool
	// PingEvery is how often sockets are pinged, in real time. 0: 5 s
	PingEvery time.Duration
	// Seed decides which connection gets what. 0: random
	Seed uint64
	// Listen is an address such as "127.0.0.1:8091". Empty: any port of loopback
	Listen string
	// BotToken, AppToken and SigningSecret replace the made-up ones.
	BotToken, AppToken, SigningSecret string
}

// Server is the stand-in. Make one with [New], and [Server.Close] it.
type Server struct {
	stand.Signal // fires at whatever happens here
	stand.Faults[Call, Fault]
	stand.Journal[Call]

	opt   Options
	clock Clock
	http  *httptest.Server
	base  string // without a slash at the end
	ctx   context.Context
	stop  context.CancelFunc
	work  sync.WaitGroup // deliveries over HTTP, pings, readers

	mu       sync.Mutex
	rng      *rand.Rand
	counter  int64     // for IDs
	lastTS   time.Time // timestamps are unique
	users    map[string]*User
	groups   map[string]*UserGroup
	channels map[string]*channel
	dms      map[string]string // person → their conversation with the bot
	triggers map[string]*trigger
	links    map[string]*responseLink
	ephs     map[string][]*Ephemeral // person → what only they were shown
	modals   map[string][]*View      // person → stack, the visible one last
	homes    map[string]*View
	sessions map[[2]string]*Session // channel, thread
	files    map[string]*File
	signIn   stand.OAuth
	uploads  map[string]*upload

	home     *Server           // of the app's own workspace, where this is another
	hosted   []*Server         // the app's other workspaces
	token    string            // the bot's; empty: the app is not installed
	dead     map[string]string // tokens that were, with what they are refused with
	installs installs

	windows    map[string]*window
	revocation string // what the bot token is refused with; empty: it is not
	sockets    []*socket
	opened     int             // sockets, ever
	tickets    map[string]bool // websocket addresses not used yet
	refuse     bool
	hold       bool
	outbox     []map[string]any // events of what a call did, sent when it is over
	held       []*Delivery
	twice      int // deliveries to come that are written twice
	loseAcks   int // acknowledgements to come that get lost
	endpoint   Endpoints
	sent       []*Delivery
	waiting    map[string]*Attempt // by envelope
	acks       map[string]int      // by envelope, of any kind
	closed     bool
	delivery   *http.Client // of signed HTTP
}

// Endpoints are the addresses of signed HTTP delivery.
type Endpoints struct{ Events, Interactivity, Commands string }

// New starts a workspace with the bot in it and nobody else. It panics if it cannot listen.
func New(o Options) *Server {
	o.Team, o.TeamName = cmp.Or(o.Team, "T0FAKE"), cmp.Or(o.TeamName, "Acme")
	o.AppID, o.BotUser, o.BotID, o.BotName = cmp.Or(o.AppID, "A0FAKE"), cmp.Or(o.BotUser, "U0BOT"), cmp.Or(o.BotID, "B0BOT"), cmp.Or(o.BotName, "nod")
	o.BotToken = cmp.Or(o.BotToken, "xoxb-fake-bot-token")
	o.AppToken = cmp.Or(o.AppToken, "xapp-fake-app-token")
	o.SigningSecret = cmp.Or(o.SigningSecret, "fake-signing-secret")
	o.PingEvery = cmp.Or(o.PingEvery, 5*time.Second)
	if o.Clock == nil {
		o.Clock = Wall{}
	}
	if o.Seed == 0 {
		o.Seed = rand.Uint64()
	}
	s := &Server{
		opt: o, clock: o.Clock, rng: rand.New(rand.NewPCG(o.Seed, o.Seed)),
		users: map[string]*User{}, groups: map[string]*UserGroup{}, channels: map[string]*channel{}, dms: map[string]string{}, triggers: map[string]*trigger{},
		links: map[string]*responseLink{}, ephs: map[string][]*Ephemeral{}, modals: map[string][]*View{}, homes: map[string]*View{},
		sessions: map[[2]string]*Session{},
		files:    map[string]*File{}, uploads: map[string]*upload{}, windows: map[string]*window{},
		dead: map[string]string{}, token: o.BotToken, tickets: map[string]bool{}, waiting: map[string]*Attempt{}, acks: map[string]int{}, delivery: &http.Client{Transport: &http.Transport{}},
	}
	s.signIn.ID, s.signIn.Secret = ClientID, ClientSecret
	s.ctx, s.stop = context.WithCancel(context.Background())
	s.users[o.BotUser] = &User{ID: o.BotUser, Name: o.BotName, Team: o.Team, Bot: true}
	s.http = stand.Listen(o.Listen, s.routes())
	s.base = "http://" + s.http.Listener.Addr().String() // before it serves: handlers read it
	s.http.Start()
	return s
}

// Close ends all connections and waits for what the server has running.
func (s *Server) Close() {
	s.mu.Lock()
	s.closed = true
	sockets := slices.Clone(s.sockets)
	for _, a := range s.waiting {
		a.disarm()
	}
	s.mu.Unlock()
	s.stop()
	for _, c := range sockets {
		_ = c.conn.Close()
	}
	s.http.CloseClientConnections()
	s.http.Close()
	s.work.Wait()
	s.delivery.CloseIdleConnections()
}

// URL is the base of the Web API; it ends in "/api/".
func (s *Server) URL() string { return s.base + "/api/" }

// BotToken is the xoxb- token that the Web API takes; empty where the app is not installed.
func (s *Server) BotToken() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.token
}

// AppToken is the xapp- token that apps.connections.open takes.
func (s *Server) AppToken() string { return s.opt.AppToken }

// SigningSecret is what HTTP deliveries are signed with.
func (s *Server) SigningSecret() string { return s.opt.SigningSecret }

// Team, BotUser and BotID are who the app is.
func (s *Server) Team() string    { return s.opt.Team }
func (s *Server) BotUser() string { return s.opt.BotUser }
func (s *Server) BotID() string   { return s.opt.BotID }

// Handle adds a page of a program's own to the server, for a developer to look at.
func (s *Server) Handle(h http.Handler) {
	stand.Beside(s.http, owned, h)
}
