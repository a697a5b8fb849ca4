package session

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"github.com/nodhq/nod/adapters/web/signin"
	"github.com/nodhq/nod/core/chat"
)

// vouchedFor is what a provider said of somebody, as it is stored.
type vouchedFor struct {
	By     string    `json:"by"` // [signin.Door.ID]
	Groups []string  `json:"groups"`
	Until  time.Time `json:"until"` // it counts
}

// Vouch opens a session for somebody who came in by a door, and keeps their groups.
func (s *Sessions) Vouch(ctx context.Context, door *signin.Door, who signin.Person) (key string, p Person, err error) {
	x := stored{User: chat.VouchedPrefix + who.Key, Name: who.Key, Opener: door.ID()}
	if of := door.Platform; of != "" {
		u := chat.User{Platform: of, Workspace: who.Place, Key: who.Key}
		is, name, no := s.member(ctx, chat.ID{}, u)
		if no != "" {
			s.Logger.Warn("nobody was signed in", "code", "sign_in_not_allowed", "user", u, "told", no)
			return "", p, notMember(no)
		}
		x.User, x.Of, x.Place, who.Names = is.Key, is.Platform, is.Workspace, append([]string{name}, who.Names...)
	}
	for _, name := range who.Names {
		if name = named(name); name != "" && s.mayBeCalled(name) {
			x.Name = name
			break
		}
	}
	if x.Of == "" { // else the platform says their groups whenever they count
		b, _ := json.Marshal(vouchedFor{x.Opener, who.Groups, s.Now().UTC().Add(VouchedLife)}) // texts and times always marshal
		if err := s.Shelf.PutPerson(ctx, x.User, b); err != nil {
			return "", p, err
		}
	}
	return s.keepNew(ctx, x)
}

func notMember(no string) Refused {
	return Refused{http.StatusForbidden, "sign_in_not_allowed", no}
}

// member asks the platform by which somebody signed in who they are in a chat, and whether they still may.
func (s *Sessions) member(ctx context.Context, id chat.ID, u chat.User) (is chat.User, name, no string) {
	if m, ok := s.Surfaces[u.Platform].(Members); ok {
		return m.Member(ctx, id, u)
	}
	return u, "", "The bot is no longer where you signed in. Sign in again."
}

// Groups are those that the provider named when somebody last signed in, for as long as that counts, also if they signed out meanwhile.
func (s *Sessions) Groups(ctx context.Context, _ chat.ID, u chat.User) (of []chat.User, err error) {
	if len(s.Doors) == 0 || !u.Vouched() {
		return nil, nil
	}
	b, err := s.Shelf.Person(ctx, u.Key)
	if err != nil || b == nil {
		return nil, err
	}
	var v vouchedFor
	if err := json.Unmarshal(b, &v); err != nil {
		return nil, err
	}
	if !s.Doors.Know(v.By) || !s.Now().Before(v.Until) {
		return nil, nil
	}
	for _, g := range v.Groups {
		of = append(of, chat.User{Platform: Platform, Key: chat.GroupPrefix + g})
	}
	return of, nil
}
