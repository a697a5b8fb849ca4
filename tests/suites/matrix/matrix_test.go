package matrix

import (
	"errors"
	"slices"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/tests/harness"
)

// surface is a set of doors.
type surface interface {
	// speaker begins a chat.
	speaker() speak
	// knock tries a cell on a scene. other is a chat where somebody is asked too. say is what the person was told.
	knock(c cell, s, other *scene, r role) (say string, err error)
	// mute: this person cannot be told anything, or there is nothing to tell.
	mute(cell, role) bool
}

// matrix runs the cells of one rule on one surface.
type matrix struct {
	*house
	surface
	town  town
	roles []role
	count *count
	rule  rule
	other *scene
	// admins are more of them, of another surface.
	admins []chat.User
	photo  string // of the other chat
}

func openMatrix(h *house, n *count, r rule, w town, roles []role, d surface) *matrix {
	m := &matrix{house: h, surface: d, town: w, roles: roles, count: n, rule: r}
	m.open()
	return m
}

// open makes the other chat.
func (m *matrix) open() {
	m.other = m.scene(awaiting, user, "guest") // other numbers in its log than in those of the scenes
	m.photo = m.other.photo()
}

// quiet: in the chat next door nothing happened all the time.
func (m *matrix) quiet() {
	m.Helper()
	if got := m.other.fresh(); got != m.photo {
		m.Errorf("the other chat changed: %s\nit was %s", got, m.photo)
	}
}

// scene makes a chat. Those who had a role have used it there.
func (m *matrix) scene(st stage, l level, extra ...string) *scene {
	m.Helper()
	before, now := policies(m.town, m.rule)
	before.Admins, now.Admins = append(before.Admins, m.admins...), append(now.Admins, m.admins...)
	m.set(before)
	asker, guests := "ana", append([]string{"paul"}, extra...)
	if st == foreign {
		asker = "xena"
	}
	if m.rule == byParticipants && m.town.platform == paperTown.platform {
		guests = append(guests, "petra")
	}
	s := m.house.stage(st, l, deciderOf(m.town, m.rule, l), asker, guests, m.speaker())
	if st == awaiting || st == batch {
		m.once(s, l)
	}
	m.set(now)
	return s
}

// once is what people did with a role that they lost since: while they had it, it counted.
func (m *matrix) once(s *scene, l level) {
	m.Helper()
	had := []string{"fay", "fern"}
	if m.rule == byListed && l == user {
		had = append(had, "finn", "fred")
	}
	for _, name := range had {
		env := chat.Envelope{Chat: s.id, User: m.town.one(name), Name: name}
		if g, ok := lost[name]; ok {
			env.Groups = []chat.User{m.town.group(g)}
		}
		s.click(chat.Clicked{Envelope: env, Choice: chat.Extend, Token: s.token})
	}
}

// stage tries cells of a stage: first those that must be refused, on one scene, then each other on one of its own.
func (m *matrix) stage(l level, st stage, cells []cell) {
	m.Helper()
	var yes []cell
	s := m.scene(st, l)
	photo := s.photo()
	for _, c := range harness.Thinned(cells, cell.String) {
		if r := m.role(c); mayBe(c, r) {
			yes = append(yes, c)
		} else if photo = m.refuse(c, r, s, photo); m.Failed() {
			return
		}
	}
	if now := s.fresh(); now != photo {
		m.Errorf("the log did not change, and the session did: %s\nit was %s", now, photo)
	}
	for i, c := range yes {
		if i > 0 { // the first one on the scene that the others were refused on: its card is alive
			s = m.scene(st, l)
		}
		if !m.accept(c, m.role(c), s) {
			return
		}
	}
}

func (m *matrix) role(c cell) role {
	r := roleNamed(c.Role, m.roles)
	r.granter = r.user == deciderOf(m.town, m.rule, c.Level)
	return r
}

// refuse tries a cell that must leave no trace.
func (m *matrix) refuse(c cell, r role, s *scene, photo string) string {
	m.Helper()
	ledger := len(m.ran(s.name))
	say, err := m.knock(c, s, m.other, r)
	m.count.add(c, false)
	after := s.photo()
	switch {
	case err != nil:
		m.Errorf("%s: it failed: %v", c, err)
	case after != photo:
		m.Errorf("ACCEPTED, and must not be: %s\nbefore: %s\nafter:  %s", c, photo, after)
	case len(m.ran(s.name)) != ledger:
		m.Errorf("RAN, and must not: %s: %v", c, m.ran(s.name))
	case say == "" && !again(c, r, s) && !m.mute(c, r):
		m.Errorf("refused without a word: %s", c)
	}
	return after
}

// accept tries a cell that must count, and reports whether it did.
func (m *matrix) accept(c cell, r role, s *scene) bool {
	m.Helper()
	was, p := len(s.choices()), pickOf(c.Choice)
	say, err := m.knock(c, s, m.other, r)
	m.count.add(c, true)
	if err != nil || say != "" && c.Choice != chat.Revoke { // which is confirmed
		m.Errorf("REFUSED, and must not be: %s: %q %v", c, say, err)
		return false
	}
	// Discord may acknowledge a click before it is recorded.
	m.until(s.id, "something is recorded of "+c.String(), func(turn.Session) bool { return len(s.choices()) > was })
	made := s.choices()[was:]
	for _, e := range made {
		if many := p.event == "" || c.Choice == chat.ApproveAll || c.Choice == chat.DenyAll; p.event != "" && e.Event.Kind() != p.event || len(made) > 1 && !many {
			m.Errorf("%d events, one of them a %s: %s", len(made), e.Event.Kind(), c)
		}
		if by := byOf(e.Event); by != r.user {
			m.Errorf("recorded as by %v: %s", by, c)
		}
	}
	if p.check != nil {
		if wrong := p.check(s, m.session(s.id)); wrong != "" {
			m.Errorf("%s: %s", c, wrong)
		}
	}
	want := s.ran
	runs, settles := effects(c, s)
	if settles {
		m.settle(s)
		want = append(slices.Clone(want), runs...)
	}
	if got := m.ran(s.name); !slices.Equal(got, want) {
		m.Errorf("the server ran %q, and not %q: %s", got, want, c)
	}
	if got := s.first(); p.leaves != "" && got.Status != p.leaves {
		m.Errorf("the call is %s, and not %s: %s", got.Status, p.leaves, c)
	}
	return !m.Failed()
}

// settle denies whatever else is open, and waits for the end of the turn.
func (m *matrix) settle(s *scene) {
	m.Helper()
	by := m.town.one("root")
	if m.rule == noAdmins {
		by = m.town.one("ana")
	}
	s.settle(by)
}

// byOf is who is recorded for a choice.
func byOf(e turn.Event) chat.User {
	switch e := e.(type) {
	case turn.Decided:
		return e.By
	case turn.Amended:
		return e.By
	case turn.Withdrawn:
		return e.By
	case turn.Extended:
		return e.By
	case turn.Reopened:
		return e.By
	case turn.Resolved:
		return e.By
	case turn.Revoked:
		return e.By
	case turn.ModeSet:
		return e.By
	case turn.StopAsked:
		return e.By
	case turn.Ticked:
		return e.By
	}
	return chat.User{}
}

// prose says every choice in words, as everybody: none of it is a decision (REQUIREMENTS 5.9).
func (m *matrix) prose(l level, st stage, d door) {
	m.Helper()
	s := m.scene(st, l)
	was, before := len(s.choices()), s.first()
	for _, r := range m.roles {
		for _, p := range picks {
			if p.rare {
				continue
			}
			c := cell{d, r.name, m.rule, l, here, st, p.choice}
			if _, err := m.knock(c, s, m.other, r); err != nil && !errors.Is(err, agent.ErrFull) { // what is not taken decides nothing either
				m.Errorf("%s: %v", c, err)
			}
			m.count.add(c, false)
		}
		if now := s.first(); len(s.choices()) != was || now.Status != before.Status || now.Ask != before.Ask || !slices.Equal(m.ran(s.name), s.ran) {
			m.Errorf("words of %s decided: %v, the call is %s", r.name, s.choices()[was:], now.Status)
		}
	}
}
