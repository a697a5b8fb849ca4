package fakeslack

import (
	"cmp"
	"encoding/json"
	"slices"
)

// parseView reads and checks a view that the app sent.
func parseView(raw json.RawMessage, kind string) (*View, *refusal) {
	if bad := checkView(raw, kind); bad != nil {
		return nil, bad
	}
	type text struct {
		Text string `json:"text"`
	}
	var v struct {
		Type            string          `json:"type"`
		Title           text            `json:"title"`
		Submit          text            `json:"submit"`
		Close           text            `json:"close"`
		Blocks          json.RawMessage `json:"blocks"`
		PrivateMetadata string          `json:"private_metadata"`
		CallbackID      string          `json:"callback_id"`
		ExternalID      string          `json:"external_id"`
		NotifyOnClose   bool            `json:"notify_on_close"`
		ClearOnClose    bool            `json:"clear_on_close"`
	}
	_ = json.Unmarshal(raw, &v) // it was checked
	return &View{Type: v.Type, Title: v.Title.Text, Submit: v.Submit.Text, Close: v.Close.Text, Blocks: v.Blocks, PrivateMetadata: v.PrivateMetadata,
		CallbackID: v.CallbackID, ExternalID: v.ExternalID, NotifyOnClose: v.NotifyOnClose, ClearOnClose: v.ClearOnClose}, nil
}

// show puts a modal in front of a person: on top of another, or as a stack of its own. s.mu is held.
func (s *Server) show(user string, v, on *View) {
	v.ID, v.User = s.id("V"), user
	v.Root = v.ID
	stack := []*View(nil)
	if on != nil {
		v.Root, v.Previous = on.Root, on.ID
		stack = s.modals[user]
	}
	s.rehash(v)
	s.modals[user] = append(slices.Clone(stack), v)
	s.Fire()
}

// replace gives a view another content. s.mu is held.
func (s *Server) replace(v, next *View) {
	next.ID, next.User, next.Root, next.Previous, next.version = v.ID, v.User, v.Root, v.Previous, v.version
	next.ExternalID = cmp.Or(next.ExternalID, v.ExternalID)
	*v = *next
	s.rehash(v)
	s.Fire()
}

func (s *Server) rehash(v *View) {
	v.version++
	v.Hash = timestamp(s.clock.Now()) + "." + made(v.ID+string(rune('a'+v.version)))
}

// wireView is a view as Slack gives it out. s.mu is held.
func (s *Server) wireView(v *View) map[string]any {
	text := func(t string) any {
		if t == "" {
			return nil
		}
		return map[string]any{"type": "plain_text", "text": escape(t), "emoji": true}
	}
	return map[string]any{
		"id": v.ID, "team_id": s.opt.Team, "type": v.Type, "blocks": v.rewritten(), "private_metadata": v.PrivateMetadata, "callback_id": v.CallbackID,
		"state": map[string]any{"values": map[string]any{}}, "hash": v.Hash, "title": text(v.Title), "close": text(v.Close), "submit": text(v.Submit),
		"clear_on_close": v.ClearOnClose, "notify_on_close": v.NotifyOnClose, "previous_view_id": v.Previous, "root_view_id": v.Root, "app_id": s.opt.AppID,
		"external_id": v.ExternalID, "app_installed_team_id": s.opt.Team, "bot_id": s.opt.BotID,
	}
}

func openView(s *Server, in values) (map[string]any, *refusal) {
	v, bad := parseView(json.RawMessage(in.Get("view")), "modal")
	if bad != nil {
		return nil, bad
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	t, bad := s.redeem(in.Get("trigger_id"))
	if bad != nil {
		return nil, bad
	}
	s.show(t.user, v, nil)
	return map[string]any{"view": s.wireView(v)}, nil
}

func pushView(s *Server, in values) (map[string]any, *refusal) {
	v, bad := parseView(json.RawMessage(in.Get("view")), "modal")
	if bad != nil {
		return nil, bad
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	t, bad := s.redeem(in.Get("trigger_id"))
	if bad != nil {
		return nil, bad
	}
	stack := s.modals[t.user]
	switch {
	case t.view == "" || len(stack) == 0:
		return no("not_found")
	case len(stack) >= MaxViews:
		return no("push_limit_reached")
	}
	s.show(t.user, v, stack[len(stack)-1])
	return map[string]any{"view": s.wireView(v)}, nil
}

func updateView(s *Server, in values) (map[string]any, *refusal) {
	next, bad := parseView(json.RawMessage(in.Get("view")), "")
	if bad != nil {
		return nil, bad
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	v := s.view(in.Get("view_id"))
	if id := in.Get("external_id"); v == nil && id != "" {
		for _, stack := range s.modals {
			for _, x := range stack {
				if x.ExternalID == id {
					v = x
				}
			}
		}
	}
	switch {
	case v == nil:
		return no("not_found")
	case in.Get("hash") != "" && in.Get("hash") != v.Hash:
		return no("hash_conflict")
	case next.Type != v.Type:
		return no("view_type_mismatch")
	}
	s.replace(v, next)
	return map[string]any{"view": s.wireView(v)}, nil
}

func publishView(s *Server, in values) (map[string]any, *refusal) {
	next, bad := parseView(json.RawMessage(in.Get("view")), "home")
	if bad != nil {
		return nil, bad
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	user := in.Get("user_id")
	if s.users[user] == nil {
		return no("user_not_found")
	}
	v := s.homes[user]
	switch {
	case v == nil:
		v = &View{ID: s.id("V"), User: user}
		v.Root = v.ID
		s.homes[user] = v
	case in.Get("hash") != "" && in.Get("hash") != v.Hash:
		return no("hash_conflict")
	}
	s.replace(v, next)
	return map[string]any{"view": s.wireView(v)}, nil
}
