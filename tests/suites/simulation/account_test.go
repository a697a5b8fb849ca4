package simulation

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	. "github.com/nodhq/nod/tests/harness"
)

// accounts is where people sign in at a tool's server. Whoever has the whole address can.
const accounts = "https://accounts.example/sign-in?state="

// booking is what the server did in somebody's name.
type booking struct {
	x  *want
	as chat.User
}

// books is what the server does once it hears that the person has signed in: it acts in the name of whoever did at that address.
func (s *story) books(x *want) turn.Result {
	s.mu.Lock()
	defer s.mu.Unlock()
	as, signedIn := s.accounts[x.at]
	if x.fill.Action != turn.FillAccept || !signedIn {
		return turn.Result{Text: "nobody signed in", IsError: true}
	}
	s.booked = append(s.booked, booking{x, as})
	return turn.Result{Text: "booked"}
}

// leadsTo is the address behind a button, if it leads to one.
func (s *story) leadsTo(b button) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := slices.IndexFunc(s.wanted, func(x *want) bool { return x.says == b.says }); i >= 0 {
		return s.wanted[i].at
	}
	return ""
}

// opens has somebody sign in at the address that stands behind a button. A surface shows it to the person whose turn it is, and to nobody else.
func (s *story) opens(r *Replica, by chat.User, b button) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	session, err := r.Engine.Session(ctx, b.Chat)
	if err != nil {
		return
	}
	c, open := session.FindElicitation(turn.AskID(b.Token))
	if !open || session.Turn.Requester != by || c.Elicitation.Request.URL == "" {
		return
	}
	s.tell("%s signs in for %q", by.Key, c.Elicitation.Request.Message)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.accounts[c.Elicitation.Request.URL] = by
}

// judgeAccounts: a server acted in nobody's name but that of the person who asked, once for each time that they signed in, and where they do that
// nobody else was told: neither in a chat, nor the model, nor the logs.
func (s *story) judgeAccounts() {
	used := map[string]bool{}
	for _, b := range s.booked {
		if !s.asked(b.x, b.as) {
			s.Errorf("the server acted as %s for the call with %s", b.as.Key, b.x.args)
		}
		if used[b.x.at] {
			s.Errorf("the sign-in for %q was used twice", b.x.says)
		}
		used[b.x.at] = true
	}
	if s.Logged(accounts) {
		s.Errorf("an address where somebody signs in stands in a log")
	}
	for _, h := range s.Model.Heard() {
		for _, u := range h.Talk {
			if strings.Contains(fmt.Sprint(u), accounts) {
				s.Errorf("the model was told where somebody signs in: %v", u)
			}
		}
	}
	for _, id := range chats {
		for _, m := range s.World.Platform.Messages(id) {
			for _, v := range m.Versions {
				if say := fmt.Sprintf("%+v", v.View); strings.Contains(say, accounts) {
					s.Errorf("a message in %s tells everybody where somebody signs in:\n%s", id.Key, say)
				}
			}
		}
	}
}
