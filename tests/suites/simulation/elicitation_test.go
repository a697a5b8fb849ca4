package simulation

import (
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/render"
	. "github.com/nodhq/nod/tests/harness"
)

// want is one time that a server asked for something while its tool ran.
type want struct {
	says string // unlike any other's
	args string // of the call
	at   string // the address where the person has to sign in; empty: it is a form
	fill turn.Fill
	err  error
	left bool // the server went on without waiting
}

// wants is a tool whose server asks the person for something while it runs.
func (s *story) wants(in Invocation) (turn.Result, error) {
	s.reaches(in)
	kind, wait := s.befalls("tools", 4)
	ask := func() *want {
		s.mu.Lock()
		x := &want{says: "Which (" + itoa(len(s.wanted)) + ")?", args: in.Args}
		e := turn.Elicitation{Kind: turn.ElicitationForm, Message: x.says, Fields: []turn.FormField{{Name: "branch", Type: "string"}}}
		if in.Name == "books" {
			x.at = accounts + itoa(len(s.wanted))
			e = turn.Elicitation{Kind: turn.ElicitationURL, Message: x.says, URL: x.at}
		}
		s.wanted = append(s.wanted, x)
		s.mu.Unlock()
		s.tell("the server of %s asks: %s", in.Args, x.says)
		fill, err := in.Ask(e)
		s.tell("the server that asked %s hears %s %s, %v", x.says, fill.Action, fill.Content, err)
		s.mu.Lock()
		defer s.mu.Unlock()
		x.fill, x.err = fill, err
		return x
	}
	switch kind {
	case 1: // it does not wait for the answer
		s.mu.Lock()
		n := len(s.wanted)
		s.mu.Unlock()
		s.patients.Go(func() { ask() })
		<-time.After(wait)
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, x := range s.wanted[n:] {
			x.left = x.left || x.args == in.Args
		}
		return turn.Result{Text: "nobody said which", IsError: true}, nil
	case 2: // it asks once more
		ask()
	case 3:
		ask()
		return turn.Result{}, errors.New("the server died (simulated)")
	}
	x := ask()
	if x.at != "" {
		return s.books(x), x.err
	}
	return turn.Result{Text: "asks ok: " + string(x.fill.Content)}, x.err
}

// judgeElicitations: what a server heard is what its person said, once, and what a person said reached the server, or the message says that the call
// was broken off.
func (s *story) judgeElicitations() {
	used := map[*click]bool{}
	for _, x := range s.wanted {
		var choice chat.Choice
		switch x.fill.Action {
		case turn.FillAccept:
			choice = chat.Answer
		case turn.FillDecline:
			choice = chat.Decline
		default:
			continue
		}
		i := slices.IndexFunc(s.clicks, func(c *click) bool {
			return c.choice == choice && !c.taken.IsZero() && c.on.says == x.says && s.asked(x, c.by) && !s.late(c) &&
				(choice == chat.Decline || x.at != "" || filled(x.fill) == c.args)
		})
		switch {
		case i < 0:
			s.Errorf("the server that asked %q heard %s %s, which nobody said who was asked", x.says, x.fill.Action, x.fill.Content)
		case used[s.clicks[i]]:
			s.Errorf("the answer to %q was given on twice", x.says)
		default:
			used[s.clicks[i]] = true
		}
	}
	for _, c := range s.clicks {
		if c.choice != chat.Answer && c.choice != chat.Decline || c.taken.IsZero() || used[c] {
			continue
		}
		if !slices.ContainsFunc(s.wanted, func(x *want) bool { return x.says == c.on.says && x.left }) && !s.brokenOff(c) {
			s.Errorf("%s said %s %q to %q, and neither did its server hear it nor is anybody told", c.by.Key, c.choice, c.args, c.on.says)
		}
	}
}

// late reports whether somebody answered when that could certainly not count any more: the turn was stopped, or the time for it was over.
func (s *story) late(c *click) bool {
	if slices.ContainsFunc(s.clicks, func(y *click) bool {
		return y.choice == chat.Stop && y.on.Message == c.on.Message && !y.taken.IsZero() && y.taken.Before(c.at)
	}) {
		return true
	}
	var first time.Time // that it was seen
	for _, m := range s.World.Platform.Messages(c.on.Chat) {
		for _, v := range m.Versions {
			asks := slices.ContainsFunc(v.View.Blocks, func(b render.Block) bool { a, is := b.(render.Ask); return is && a.Says == c.on.says })
			if asks && (first.IsZero() || v.At.Before(first)) {
				first = v.At
			}
		}
	}
	return c.at.Sub(first) > askFor+2*lease // a card counts as seen once that is on record
}

func filled(f turn.Fill) string {
	var v struct{ Branch string }
	_ = json.Unmarshal(f.Content, &v) // else it is nobody's
	return v.Branch
}

// asked reports whether a call is certainly not somebody else's. Whose one with changed arguments is does not show.
func (s *story) asked(x *want, by chat.User) bool {
	var v struct{ N string }
	_ = json.Unmarshal([]byte(x.args), &v)
	number, _, _ := strings.Cut(v.N, ".")
	n, err := strconv.Atoi(number)
	return err != nil || s.said[n].by == by
}

// brokenOff reports whether people were told that the call which asked was broken off.
func (s *story) brokenOff(c *click) bool {
	for _, m := range s.World.Platform.Messages(c.on.Chat) {
		for _, v := range m.Versions {
			for _, b := range v.View.Blocks {
				switch b := b.(type) {
				case render.Ask:
					if turn.CallID(b.Call) == c.on.call && b.Kind == render.AskOutcome {
						return true
					}
				case render.Step:
					if turn.CallID(b.Call) == c.on.call && slices.Contains([]render.StepState{render.StepUnknown, render.StepCancelled, render.StepFailed}, b.State) {
						return true
					}
				default:
				}
			}
		}
	}
	return false
}
