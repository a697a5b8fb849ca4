package prompt

import (
	"context"
	"time"

	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/text"
)

// Person is what one person may ask of the model, on all replicas together. All who only say who they are count as one. Nobody is asked of
// a program: it has no person, and no limit.
type Person struct {
	Meter        Meter // wanted where there is a limit
	TurnsPerHour int   // that may begin; 0: any number
	TokensPerDay int   // that the model may read and write; 0: any number
}

// Meter counts for all replicas.
type Meter interface {
	// CountTurn counts a turn of somebody that begins, once however often it is asked; or says which limit they are over, and counts nothing. 0: no limit.
	CountTurn(ctx context.Context, who chat.User, turn string, turnsPerHour, tokensPerDay int) (Over, error)
	// CountTokens counts what a reply took.
	CountTokens(ctx context.Context, who chat.User, tokens int) error
}

// Over is a limit that somebody is over. The zero Over is none.
type Over struct {
	Tokens bool // that of tokens, not of turns
	Until  time.Time
}

// Over says why a turn may not begin to ask the model: whoever asked is over a limit. One that has begun goes on to its end, whatever it takes:
// what came of an approved call must reach the model. While nobody can count, nobody is refused.
func (l *Limits) Over(ctx context.Context, s turn.Session) (say string) {
	t, p := s.Turn, l.Person
	if p.TurnsPerHour+p.TokensPerDay == 0 || t.Step > 0 || t.Requester.IsZero() {
		return ""
	}
	over, err := p.Meter.CountTurn(ctx, t.Requester.Person(), s.Chat.String()+"/"+string(t.ID), p.TurnsPerHour, p.TokensPerDay)
	switch {
	case err != nil:
		l.Logger.Warn("a turn of a person could not be counted; it goes on", "chat", s.Chat, "err", err)
		return ""
	case over.Until.IsZero():
		return ""
	case over.Tokens:
		return text.OverTokens(p.TokensPerDay, over.Until)
	}
	return text.OverTurns(p.TurnsPerHour, over.Until)
}

// Used counts what a reply took, also one that failed or that nobody waits for any more.
func (l *Limits) Used(ctx context.Context, s turn.Session, u turn.Usage) {
	who, tokens := s.Turn.Requester, u.Input+u.Output
	if l.Person.TokensPerDay == 0 || who.IsZero() || tokens <= 0 {
		return
	}
	if err := l.Person.Meter.CountTokens(context.WithoutCancel(ctx), who.Person(), tokens); err != nil {
		l.Logger.Warn("tokens of a person could not be counted", "chat", s.Chat, "tokens", tokens, "err", err)
	}
}
