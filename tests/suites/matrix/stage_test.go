package matrix

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
)

// stage is how an ask stands.
type stage string

const (
	awaiting  stage = "open"
	parked    stage = "open without a deadline"
	single    stage = "open, grants withheld"
	tooBig    stage = "open, too big to show"
	foreign   stage = "open, asked for by somebody of another workspace"
	batch     stage = "open, with two others"
	stale     stage = "open, with one less than the batch's token says"
	allowed   stage = "allowed and not started"
	denied    stage = "denied, while another is open"
	expired   stage = "expired, while another is open"
	lapsed    stage = "expired, its turn over"
	asked     stage = "expired, and asked for again"
	reopened  stage = "undone: the old token"
	edited    stage = "edited: the old token"
	running   stage = "running"
	done      stage = "done"
	unknown   stage = "of unknown outcome"
	resolved  stage = "of unknown outcome, and answered"
	cancelled stage = "cancelled by a stop"
	granted   stage = "done, with a grant"
)

// plan is how a chat gets to a stage. Everything goes through the engine's own doors.
type plan struct {
	tools  string // what the model calls; the ask in question is the first one's
	wait   turn.Status
	then   func(*scene) // what people do until it stands there
	stands func(turn.Session) bool
}

var plans = map[stage]plan{
	awaiting: {tools: "write", wait: turn.Awaiting},
	parked:   {tools: "parked", wait: turn.Awaiting},
	single:   {tools: "single", wait: turn.Awaiting},
	tooBig:   {tools: "big", wait: turn.Awaiting},
	foreign:  {tools: "write", wait: turn.Awaiting},
	batch:    {tools: "write send drop", wait: turn.Awaiting},
	stale:    {tools: "write send drop", wait: turn.Awaiting, then: func(s *scene) { s.decide(chat.Deny, s.tokenOf("drop")) }},
	allowed:  {tools: "write send", wait: turn.Awaiting, then: first(chat.AllowOnce)},
	denied:   {tools: "write send", wait: turn.Awaiting, then: first(chat.Deny)},
	expired:  {tools: "brief send", wait: turn.Lapsed},
	lapsed:   {tools: "brief", stands: over},
	asked:    {tools: "brief", stands: over, then: func(s *scene) { s.again() }},
	reopened: {tools: "write send", wait: turn.Awaiting, then: func(s *scene) { first(chat.AllowOnce)(s); s.decide(chat.Undo, s.token) }},
	edited:   {tools: "write", wait: turn.Awaiting, then: func(s *scene) { s.edit() }},
	running:  {tools: "hold", wait: turn.Awaiting, then: func(s *scene) { first(chat.AllowOnce)(s); s.until(turn.Running); s.sees("hold") }},
	done:     {tools: "write", wait: turn.Awaiting, then: func(s *scene) { first(chat.AllowOnce)(s); s.over() }},
	unknown:  {tools: "lost", wait: turn.Awaiting, then: func(s *scene) { first(chat.AllowOnce)(s); s.until(turn.Unknown); s.retake() }},
	resolved: {tools: "lost", wait: turn.Awaiting, then: func(s *scene) {
		first(chat.AllowOnce)(s)
		s.until(turn.Unknown)
		s.retake()
		first(chat.Leave)(s)
		s.over()
	}},
	cancelled: {tools: "write send", wait: turn.Awaiting, then: func(s *scene) { s.decide(chat.Stop, ""); s.over() }},
	granted:   {tools: "write", wait: turn.Awaiting, then: func(s *scene) { first(chat.AllowChat)(s); s.over() }},
}

func first(c chat.Choice) func(*scene) { return func(s *scene) { s.decide(c, s.token) } }

func over(s turn.Session) bool { return s.Turn == nil && s.Last != nil && len(s.Last.Calls) > 0 }

// scene is a chat that was brought to a stage.
type scene struct {
	h       *house
	id      chat.ID
	name    string // in orders, arguments and the ledger
	prefix  string // of its tools
	decider chat.User

	token   string // of the ask in question
	all     string // of the batch
	turn    string
	grant   string // "*" where there is none
	message chat.MessageRef
	ran     []string // so far
	film    film
}

// film is what the newest photo of a scene was made from, so that the next one reads only what is new.
type film struct {
	still string // of the session
	head  agent.Head
	did   string
}

// speak says something in a scene's chat, and says which that is.
type speak func(who, text string) chat.ID

// stage brings a new chat to a stage. before are said first, by people in the order of their coming; asker says what makes the model call.
func (h *house) stage(st stage, l level, decider chat.User, asker string, before []string, say speak) *scene {
	h.Helper()
	var id chat.ID
	s := &scene{h: h, name: fmt.Sprintf("s%d", h.fresh()), decider: decider}
	if l == admin {
		s.prefix = adminTool
	}
	for i, u := range before {
		id = say(u, "hello")
		h.until(id, "a greeting is answered", func(x turn.Session) bool {
			return x.Turn == nil && x.Last != nil && x.Last.Shown != "" && len(x.People) == i+1
		})
	}
	p := plans[st]
	id = say(asker, "#"+s.name+" "+s.prefix+strings.ReplaceAll(p.tools, " ", " "+s.prefix))
	s.id = id
	n := len(strings.Fields(p.tools))
	x := h.until(id, "it is asked", func(x turn.Session) bool {
		if p.stands != nil {
			return p.stands(x) && x.Last.Shown != ""
		}
		return x.Turn != nil && x.Turn.Shown != "" && len(x.Turn.Calls) == n && x.Turn.Calls[0].Status == p.wait && x.Turn.Calls[n-1].Status == turn.Awaiting || n == 1 && p.wait == turn.Lapsed && over(x)
	})
	s.take(x)
	if p.then != nil {
		p.then(s)
	}
	// Before it is on record that a card was seen, and where, a click on another message may be one that was faster than the log: it counts.
	x = h.until(id, "what waits was seen", func(x turn.Session) bool { return !x.Turn.Unseen() })
	if st != stale && st != asked { // there the batch's token is an old one
		s.all = turn.BatchToken(turn.OpenAsks(x))
	}
	if x.Turn != nil {
		s.turn = string(x.Turn.ID)
	}
	for _, g := range x.Grants {
		s.grant = string(g.ID)
	}
	s.ran = h.ran(s.name)
	return s
}

// take notes what the ask in question is called.
func (s *scene) take(x turn.Session) {
	t := x.Turn
	if t == nil {
		t = x.Last
	}
	s.token, s.message, s.turn = string(t.Calls[0].Ask), t.Shown, string(t.ID)
	s.all, s.grant = turn.BatchToken(turn.OpenAsks(x)), "*"
}

// retake notes its new asking.
func (s *scene) retake() { s.token = string(s.first().Ask) }

// first is the call in question as it stands.
func (s *scene) first() turn.ToolCall {
	x := s.h.session(s.id)
	t := x.Turn
	if t == nil {
		t = x.Last
	}
	return t.Calls[0]
}

func (s *scene) tokenOf(tool string) string {
	for _, c := range s.h.session(s.id).Turn.Calls {
		if c.Tool.Name == s.prefix+tool {
			return string(c.Ask)
		}
	}
	s.h.Fatalf("%s asks for no %s", s.name, tool)
	return ""
}

// decide is a decision on the way to the stage.
func (s *scene) decide(c chat.Choice, token string) {
	s.h.Helper()
	s.click(chat.Clicked{Envelope: chat.Envelope{Chat: s.id, User: s.decider, Name: "Dee"}, Choice: c, Token: token})
}

func (s *scene) click(in chat.Clicked) {
	s.h.Helper()
	if _, err := s.h.engine.Decide(s.h.Context(), in); err != nil {
		s.h.Fatalf("on the way to a stage, %s is refused: %v", in.Choice, err)
	}
}

func (s *scene) edit() {
	s.h.Helper()
	s.click(chat.Clicked{Envelope: chat.Envelope{Chat: s.id, User: s.decider, Name: "Dee"}, Choice: chat.Edit, Token: s.token, Args: s.changed("way")})
	s.anew()
}

// anew waits until the call in question is asked for under another token.
func (s *scene) anew() {
	s.h.Helper()
	s.h.until(s.id, "it is asked for anew", func(x turn.Session) bool {
		return x.Turn != nil && x.Turn.Calls[0].Status == turn.Awaiting && string(x.Turn.Calls[0].Ask) != s.token
	})
}

// changed are other arguments for the call in question.
func (s *scene) changed(how string) string {
	return fmt.Sprintf(`{"at":%q,"n":0,"changed":%q}`, s.name, how)
}

// again asks once more for what expired, this time with patience.
func (s *scene) again() {
	s.h.Helper()
	s.h.patient()
	s.decide(chat.AskAgain, s.token)
	s.h.until(s.id, "it is asked for again", func(x turn.Session) bool {
		return x.Turn != nil && x.Turn.Shown != "" && len(x.Turn.Calls) == 1 && x.Turn.Calls[0].Status == turn.Awaiting
	})
}

func (s *scene) until(st turn.Status) {
	s.h.Helper()
	s.h.until(s.id, "the call is "+string(st), func(x turn.Session) bool { return x.Turn != nil && x.Turn.Calls[0].Status == st })
}

// settle denies whatever is open or comes to be asked, until the turn is over.
func (s *scene) settle(by chat.User) {
	s.h.Helper()
	for {
		x := s.h.until(s.id, "the turn is over, or something is asked", func(x turn.Session) bool { return over(x) || len(turn.OpenAsks(x)) > 0 })
		if over(x) {
			return
		}
		s.click(chat.Clicked{Envelope: chat.Envelope{Chat: s.id, User: by, Name: "Closer"}, Choice: chat.DenyAll, Token: turn.BatchToken(turn.OpenAsks(x))})
	}
}

func (s *scene) over() {
	s.h.Helper()
	s.h.until(s.id, "the turn is over", over)
}

// sees waits until the server was called.
func (s *scene) sees(tool string) {
	s.h.Helper()
	s.h.until(s.id, "the server is called", func(turn.Session) bool { return slices.Contains(s.h.ran(s.name), s.prefix+tool) })
}

// photo is the chat's session, as bytes, and what people did. When a card was seen, and until when it can be answered since then, is no
// doing of people's, and may come at any moment; what prolongs a question is. A session is the fold of its log: where that has nothing new,
// the photo is the one before, and only a fresh one shows whether the engine keeps another session than that.
func (s *scene) photo() string {
	s.h.Helper()
	entries, head, err := s.h.store.Tail(context.Background(), s.id, s.film.head)
	if err != nil {
		s.h.Fatal(err)
	}
	if len(entries) == 0 && s.film.still != "" {
		return s.film.still + s.film.did
	}
	s.film.head = head
	for _, e := range choicesOf(entries) {
		did, err := json.Marshal(e)
		if err != nil {
			s.h.Fatal(err)
		}
		s.film.did += string(did)
	}
	raw, err := json.Marshal(s.h.session(s.id))
	if err != nil {
		s.h.Fatal(err)
	}
	var all any
	if err := json.Unmarshal(raw, &all); err != nil {
		s.h.Fatal(err)
	}
	still, err := json.Marshal(without(all, "seen", "deadline"))
	if err != nil {
		s.h.Fatal(err)
	}
	s.film.still = string(still)
	return s.film.still + s.film.did
}

// fresh is a photo for which everything is read.
func (s *scene) fresh() string {
	s.film = film{}
	return s.photo()
}

// without drops members of these names, at any depth.
func without(v any, names ...string) any {
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = without(v[i], names...)
		}
	case map[string]any:
		maps.DeleteFunc(v, func(k string, _ any) bool { return slices.Contains(names, k) })
		for k := range v {
			v[k] = without(v[k], names...)
		}
	}
	return v
}

// choices are what people did here, as the log has it.
func (s *scene) choices() []turn.Entry {
	s.h.Helper()
	entries, err := s.h.store.History(context.Background(), s.id)
	if err != nil {
		s.h.Fatal(err)
	}
	return choicesOf(entries)
}

func choicesOf(entries []turn.Entry) (all []turn.Entry) {
	for _, e := range entries {
		if turn.ClassOf(e.Event) == turn.Choice && e.Event.Kind() != (turn.Expired{}).Kind() {
			all = append(all, e)
		}
	}
	return all
}
