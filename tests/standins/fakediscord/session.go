package fakediscord

import (
	"encoding/json"
	"slices"
	"strconv"
	"time"
)

// session is what an IDENTIFY starts: its events are numbered and kept, so that it can be resumed.
type session struct {
	id      string
	shard   [2]int
	intents int
	zip     bool
	socket  *socket // nil: lost
	lost    time.Time
	dead    bool
	log     [][]byte // events by sequence number, from 1
}

// Identify is one IDENTIFY as it came.
type Identify struct {
	At      time.Time
	Shard   [2]int
	Intents int
	Refused string // why nothing came of it
}

// Identifies are the IDENTIFYs so far, refused ones too.
func (s *Server) Identifies() []Identify {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.identifies)
}

// Dials are the addresses at which connections to the gateway were opened, with their queries.
func (s *Server) Dials() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.dials)
}

// Session is a session of the gateway.
type Session struct {
	ID        string
	Shard     [2]int
	Intents   int
	Connected bool
	Events    int // so far
}

// Sessions are those that get events, or will if they are resumed in time.
func (s *Server) Sessions() []Session {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []Session
	for _, e := range s.sessions {
		if s.alive(e) {
			out = append(out, Session{e.id, e.shard, e.intents, e.socket != nil, len(e.log)})
		}
	}
	slices.SortFunc(out, func(a, b Session) int { return order(a.ID, b.ID) })
	return out
}

// Connected is how many sessions have a connection.
func (s *Server) Connected() int {
	n := 0
	for _, e := range s.Sessions() {
		if e.Connected {
			n++
		}
	}
	return n
}

// TokenReset reports whether more sessions were started in a day than allowed, whereupon Discord resets the token.
func (s *Server) TokenReset() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.reset
}

// alive reports whether a session can get events. s.mu is held.
func (s *Server) alive(e *session) bool {
	return e != nil && !e.dead && (e.socket != nil || s.clock.Now().Sub(e.lost) <= s.opt.ResumeFor)
}

// end makes a session nothing that could be resumed. s.mu is held.
func (s *Server) end(e *session) {
	if e != nil {
		e.dead = true
		delete(s.sessions, e.id)
		e.log = nil
	}
}

// starts are the IDENTIFYs that are left today, and how long until there are as many as at first. s.mu is held.
func (s *Server) starts() (left int, after time.Duration) {
	w, now := s.window("starts"), s.clock.Now()
	end := w.began.Add(24 * time.Hour)
	if w.n == 0 || !now.Before(end) {
		return s.opt.SessionStarts, 0
	}
	return max(0, s.opt.SessionStarts-w.n), end.Sub(now)
}

// identify starts a session. s.mu is held.
func (c *socket) identify(raw []byte) {
	s := c.s
	var d struct {
		Token    string `json:"token"`
		Intents  *int   `json:"intents"`
		Shard    *[2]int
		Compress bool
	}
	bad := json.Unmarshal(raw, &d) != nil
	shard := [2]int{0, 1}
	if d.Shard != nil {
		shard = *d.Shard
	}
	in := Identify{At: s.clock.Now(), Shard: shard}
	if d.Intents != nil {
		in.Intents = *d.Intents
	}
	g, greeted := s.greeting(OnIdentify)
	code := 0
	switch {
	case bad:
		code = 4002
	case c.told:
		code = 4005
	case d.Token != s.opt.Token && d.Token != "Bot "+s.opt.Token, s.reset:
		code = 4004
	case shard[1] < 1 || shard[0] < 0 || shard[0] >= shard[1]:
		code = 4010
	case s.load(shard) > s.opt.MaxGuilds:
		code = 4011
	case d.Intents == nil || in.Intents&^intentsKnown != 0:
		code = 4013
	case in.Intents&IntentPresences != 0, in.Intents&IntentMembers != 0 && !s.opt.Members, in.Intents&IntentContent != 0 && s.noContent:
		code = 4014
	}
	l := s.opt.Limits.Identify
	slot := "identify " + strconv.Itoa(shard[0]%s.opt.MaxConcurrency)
	wait := false
	if code == 0 && l.N > 0 {
		ok, _, _ := s.window(slot).take(s.clock.Now(), l)
		wait = !ok
	}
	spent := code == 0 && s.spend()
	switch {
	case spent:
		in.Refused = "token reset"
	case code != 0:
		in.Refused = strconv.Itoa(code)
	case wait:
		in.Refused = "max_concurrency"
	case greeted:
		in.Refused = "greeting"
	}
	s.identifies = append(s.identifies, in)
	defer s.Fire()
	switch {
	case spent:
		s.resetToken()
	case code != 0:
		c.close(code)
	case wait:
		c.op(opInvalid, false)
	case greeted:
		c.greet(g)
	default:
		c.begin(shard, in.Intents, d.Compress)
	}
}

// spend takes one of the day's session starts and reports whether there was none left. s.mu is held.
func (s *Server) spend() bool {
	ok, _, _ := s.window("starts").take(s.clock.Now(), Rate{s.opt.SessionStarts, 24 * time.Hour})
	return !ok
}

// resetToken is what happens to who starts too many sessions: https://docs.discord.com/developers/events/gateway#rate-limiting
func (s *Server) resetToken() {
	s.reset = true
	for _, c := range s.sockets {
		s.end(c.session)
		c.close(4004)
	}
}

// load is how many guilds a shard would have.
func (s *Server) load(shard [2]int) int {
	n := 0
	for _, g := range s.order {
		if shardOf(g, shard[1]) == shard[0] {
			n++
		}
	}
	return n
}

// shardOf is the shard that gets a guild's events; DMs ("") are the first one's. https://docs.discord.com/developers/events/gateway#sharding
func shardOf(guild string, shards int) int {
	n, _ := strconv.ParseUint(guild, 10, 64)
	return int((n >> 22) % uint64(shards))
}

func (c *socket) begin(shard [2]int, intents int, zip bool) {
	s := c.s
	e := &session{id: "fake" + s.id(), shard: shard, intents: intents, socket: c, zip: zip}
	s.sessions[e.id] = e
	c.session, c.told, c.zip = e, true, zip
	guilds := []any{}
	for _, g := range s.order {
		if shardOf(g, shard[1]) == shard[0] {
			guilds = append(guilds, obj{"id": g, "unavailable": true})
		}
	}
	s.append(e, "READY", obj{"v": 10, "user": s.wireUser(s.opt.BotUser), "guilds": guilds, "session_id": e.id, "resume_gateway_url": "ws://" + s.host + "/resume",
		"shard": []any{shard[0], shard[1]}, "application": obj{"id": s.opt.AppID, "flags": 0}, "session_type": "normal", "private_channels": []any{}, "presences": []any{},
		"relationships": []any{}, "user_settings": obj{}, "geo_ordered_rtc_regions": []any{}, "_trace": []any{"fake"}})
	if intents&IntentGuilds == 0 {
		return
	}
	for _, id := range s.order {
		if g := s.guilds[id]; shardOf(id, shard[1]) == shard[0] && !g.unavailable {
			s.append(e, "GUILD_CREATE", s.wireGuildCreate(g))
		}
	}
}

// append numbers an event, keeps it and sends it. s.mu is held.
func (s *Server) append(e *session, name string, data any) {
	raw, err := json.Marshal(obj{"op": opDispatch, "t": name, "s": len(e.log) + 1, "d": data})
	if err != nil {
		panic("fakediscord: " + err.Error())
	}
	e.log = append(e.log, raw)
	if e.socket != nil {
		e.socket.event(raw)
	}
}

// dispatch sends an event to every session that is to have it. s.mu is held.
func (s *Server) dispatch(e event) {
	times := 1
	if s.twice > 0 {
		s.twice--
		times = 2
	}
	for range times {
		for _, to := range s.inSessions() {
			if !s.alive(to) || shardOf(e.guild, to.shard[1]) != to.shard[0] || e.intents != 0 && to.intents&e.intents == 0 {
				continue
			}
			data := e.data
			if e.message != nil {
				data = s.forReaders(e.message, data, to.intents&IntentContent != 0)
			}
			s.append(to, e.name, data)
		}
	}
}

func (s *Server) inSessions() []*session {
	out := make([]*session, 0, len(s.sessions))
	for _, e := range s.sessions {
		out = append(out, e)
	}
	return out
}

// resume goes on with a session: everything after seq comes again, then RESUMED.
// https://docs.discord.com/developers/events/gateway#resuming
func (c *socket) resume(raw []byte) {
	s := c.s
	var d struct {
		Token   string `json:"token"`
		Session string `json:"session_id"`
		Seq     *int   `json:"seq"`
	}
	bad := json.Unmarshal(raw, &d) != nil
	e := s.sessions[d.Session]
	defer s.Fire()
	if g, ok := s.greeting(OnResume); ok {
		c.greet(g)
		return
	}
	switch {
	case bad:
		c.close(4002)
		return
	case c.told:
		c.close(4005)
		return
	case d.Token != s.opt.Token && d.Token != "Bot "+s.opt.Token, s.reset:
		c.close(4004)
		return
	case !s.alive(e):
		s.end(e)
		c.op(opInvalid, false)
		return
	case d.Seq == nil || *d.Seq < 0 || *d.Seq > len(e.log):
		s.end(e)
		c.close(4007)
		return
	}
	if old := e.socket; old != nil && old != c {
		old.session = nil
		old.close(4000)
	}
	e.socket, c.session, c.told, c.zip = c, e, true, e.zip
	for _, raw := range e.log[*d.Seq:] {
		c.event(raw)
	}
	s.append(e, "RESUMED", obj{"_trace": []any{"fake"}})
}
