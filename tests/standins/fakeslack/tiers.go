package fakeslack

import (
	"maps"
	"time"
)

// The documented least calls a minute of each tier. https://docs.slack.dev/apis/web-api/rate-limits
const (
	Tier1 = 1
	Tier2 = 20
	Tier3 = 50
	Tier4 = 100
)

// PostsPerChannelFloor is how many messages a second a channel takes of one app. https://docs.slack.dev/apis/web-api/rate-limits
const PostsPerChannelFloor = 1

var floors = map[string]int{
	"chat.update": Tier3, "chat.delete": Tier3, "chat.getPermalink": 600, "chat.postEphemeral": Tier4,
	"chat.startStream": Tier2, "chat.stopStream": Tier2, "chat.appendStream": Tier4,
	"conversations.info": Tier3, "conversations.replies": Tier3, "conversations.history": Tier3,
	"agents.sessions.setStatus": Tier3, "agents.sessions.rename": Tier3, "apps.connections.open": Tier3,
	"assistant.threads.setTitle": Tier3, "assistant.threads.setSuggestedPrompts": Tier3, "assistant.threads.setStatus": 600,
	"views.open": Tier4, "views.push": Tier4, "views.update": Tier4, "views.publish": Tier4, "users.info": Tier4,
	"usergroups.list":            Tier2,
	"files.getUploadURLExternal": Tier4, "files.completeUploadExternal": Tier4, "reactions.add": Tier3,
}

// Floors are the documented least calls a minute of a workspace and app, by method: what an app may count on. Give it as
// Options.Tiers, with PostsPerChannelFloor.
func Floors() map[string]int { return maps.Clone(floors) }

// window holds the calls of the last while.
type window struct{ at []time.Time }

// take counts a call at now if fewer than n were counted in the time before; else it says how long until one is taken.
func (w *window) take(now time.Time, n int, per time.Duration) (wait time.Duration) {
	old := 0
	for old < len(w.at) && !w.at[old].After(now.Add(-per)) {
		old++
	}
	w.at = w.at[old:]
	if len(w.at) >= n {
		return w.at[len(w.at)-n].Add(per).Sub(now)
	}
	w.at = append(w.at, now)
	return 0
}

// takeBurst is take where a few more may come at once: each that was counted stands until the one before it has gone, and then its part of per.
func (w *window) takeBurst(now time.Time, burst, n int, per time.Duration) (wait time.Duration) {
	apart := per / time.Duration(n)
	for len(w.at) > 0 && !w.at[0].After(now) {
		w.at = w.at[1:]
	}
	if len(w.at) >= burst {
		return w.at[len(w.at)-burst].Sub(now)
	}
	goes := now
	if len(w.at) > 0 {
		goes = w.at[len(w.at)-1]
	}
	w.at = append(w.at, goes.Add(apart))
	return 0
}

// limited counts a call and returns how long the caller must wait, zero if it may go on.
func (s *Server) limited(method, channel string) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := s.clock.Now()
	of := func(key string) *window {
		if s.windows[key] == nil {
			s.windows[key] = &window{}
		}
		return s.windows[key]
	}
	if method == "chat.postMessage" && s.opt.PostsPerChannel > 0 {
		if wait := of(method+" "+channel).takeBurst(now, max(s.opt.PostsAtOnce, s.opt.PostsPerChannel), s.opt.PostsPerChannel, time.Second); wait > 0 {
			return wait
		}
	}
	if n, ok := s.opt.Tiers[method]; ok {
		return of(method).take(now, n, time.Minute)
	}
	return 0
}
