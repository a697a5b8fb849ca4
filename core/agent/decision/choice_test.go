package decision

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/core/text"
)

var (
	here = chat.ID{Platform: "test", Key: "room"}
	ana  = chat.User{Platform: "test", Key: "ana"}
	ben  = chat.User{Platform: "test", Key: "ben"}
	boss = chat.User{Platform: "test", Key: "boss"}
	eve  = chat.User{Platform: "test", Key: "u-eve"}
	team = chat.User{Platform: "test", Key: chat.GroupPrefix + "team"}
	noon = time.Date(2026, 3, 4, 12, 0, 0, 0, time.UTC)
)

// board is a session in which every kind of thing lies that a click can be about.
func board() turn.Session {
	call := func(id string, status turn.Status) turn.ToolCall {
		return turn.ToolCall{
			ID: turn.CallID(id), Asking: turn.Asking{Ask: turn.AskID("a-" + id), Asks: []turn.AskID{turn.AskID("a-" + id)}, Asked: true, Deadline: noon, Seen: &turn.Showing{At: noon}, Ruling: permission.Ruling{Verdict: permission.Ask, ChatGrant: true, Remember: true}}, Status: status, Tool: permission.Tool{Server: "files", Name: "move"}, Args: json.RawMessage(`{"to":"b"}`), Digest: "d-" + permission.Digest(id),
		}
	}
	decided := call("allowed", turn.Allowed)
	decided.Choice, decided.By, decided.Name, decided.DecidedAt = chat.AllowOnce, ana, "Ana", noon
	started := call("running", turn.Running)
	started.Choice, started.By, started.StartedAt = chat.AllowOnce, ana, noon
	started.Elicitation = &turn.ElicitationState{Ask: "w", Seen: &turn.Showing{At: noon}, Request: turn.Elicitation{Kind: turn.ElicitationForm, Fields: []turn.FormField{{Name: "who", Type: "string", Required: true}}}}
	parked := call("parked", turn.Awaiting)
	parked.Deadline = time.Time{}
	settled := call("settled", turn.Unknown)
	settled.Result = &turn.Result{}
	again := call("again", turn.Lapsed)
	again.Reasked = true
	old := call("old", turn.Awaiting)
	gone := call("gone", turn.Lapsed)
	gone.EndedAt = noon
	return turn.Session{
		Chat:   here,
		Turn:   &turn.Turn{ID: "t1", Requester: ana, Shown: "m1", Step: 1, Calls: []turn.ToolCall{call("open", turn.Awaiting), decided, started, parked, settled, call("unknown", turn.Unknown), again, call("lapsed", turn.Lapsed), {ID: "new", Status: turn.Proposed}}},
		Last:   &turn.Turn{ID: "t0", Requester: ben, Calls: []turn.ToolCall{old, call("late", turn.Lapsed), call("undone", turn.Allowed)}, End: turn.Answered},
		Lapsed: []turn.LapsedCall{{Call: gone, Requester: ana}},
		Grants: []permission.Grant{{ID: "g1", By: ana, Name: "Ana"}, {ID: "g2", By: ana, Name: "Ana"}},
		Began:  ana, People: []turn.Person{{User: ana, Name: "Ana"}, {User: ben}},
	}
}

// judge judges by a policy, of the one tool of [board].
func judge(p permission.Policy) Judge {
	return Judge{
		Policy: p, Now: time.Now(), Mint: rand.Text,
		NameOf: func(s turn.Session, u chat.User) string { return s.NameOf(u) },
		Tools: func() ([]Tool, error) {
			return []Tool{{Tool: permission.Tool{Server: "files", Name: "move"}}}, nil
		},
	}
}

func ruled() permission.Policy {
	return permission.Policy{Installed: true, Admins: []chat.User{boss}}
}

// masked makes the first call one of which the card masks a part, saw adds that somebody looked at it, in an asking.
func masked(s *turn.Session) { s.Turn.Calls[0].Args = json.RawMessage(`{"password":"hunter2"}`) }

func saw(ask turn.AskID, by chat.User) func(*turn.Session) {
	return func(s *turn.Session) {
		masked(s)
		s.Turn.Calls[0].Revealed = []turn.Reveal{{Ask: ask, By: by}}
	}
}

// sample has a tool's server want a word of the model, as it could in logs of earlier versions.
func sample(s *turn.Session) {
	s.Turn.Calls[2].Elicitation = &turn.ElicitationState{Ask: "w", Request: turn.Elicitation{Kind: "sample", Prompt: json.RawMessage(`{"password":"hunter2"}`)}}
}

// Only of whom it is on record that they looked is shown what a card masks, and it is all of it.
func TestWhoIsShownWhatIsMasked(t *testing.T) {
	s := board()
	saw("a-open", ana)(&s)
	if _, err := Unmask(s, chat.Clicked{Token: "a-open", Choice: chat.Reveal, Envelope: chat.Envelope{User: ben}}, noon); err == nil {
		t.Error("Ben is shown it")
	}
	out, err := Unmask(s, chat.Clicked{Token: "a-open", Choice: chat.Reveal, Envelope: chat.Envelope{User: ana}}, noon)
	if err != nil || len(out) != 1 || out[0].Call != "open" || !strings.Contains(out[0].Hidden.Parts[1].Text, "hunter2") {
		t.Errorf("%+v, %v", out, err)
	}
}

// Which of several calls is masked stands on no button: the answer names it.
func TestWhichOfAllIsMasked(t *testing.T) {
	s := board()
	masked(&s)
	in := chat.Clicked{Token: turn.BatchToken(turn.OpenAsks(s)), Choice: chat.ApproveAll, Envelope: chat.Envelope{User: ana, Chat: here}}
	if _, err := judge(ruled()).Answer(s, in); err == nil || !strings.Contains(err.Error(), "Run move from files: Part of this call is hidden") {
		t.Error(err)
	}
	huge(&s)
	if _, err := judge(ruled()).Answer(s, in); err == nil || strings.Contains(err.Error(), "is hidden") {
		t.Error(err)
	}
}

// Arguments come as the tool's schema has them, whatever is in it.
func TestPropertiesInOrder(t *testing.T) {
	for schema, want := range map[string]string{
		`{"type":"object","properties":{"source":{"a":1},"destination":true,"a":[]}}`: "source destination a",
		`{"properties":{}}`: "", `{}`: "", `[]`: "", ``: "", `{"properties":[1]}`: "", `{"properties":null}`: "", `{"properties":"x"}`: "",
	} {
		if got := strings.Join(properties(json.RawMessage(schema)), " "); got != want {
			t.Errorf("%s: %q", schema, got)
		}
	}
}

// What a click comes to, by what it is about and who clicks: an event, or the refusal that fits.
func TestWhatAClickComesTo(t *testing.T) {
	no := func(code RefusalCode) any { return code }
	all := turn.BatchToken(turn.OpenAsks(board()))
	for name, c := range map[string]struct {
		in   chat.Clicked
		s    func(*turn.Session)
		p    func(*permission.Policy)
		want any // a RefusalCode, or the kinds of the events
	}{
		"nothing named":                  {in: chat.Clicked{Choice: chat.AllowOnce}, want: no(RefusedUnknown)},
		"another asking":                 {in: chat.Clicked{Token: "a-none", Choice: chat.AllowOnce}, want: no(RefusedUnknown)},
		"allow":                          {in: chat.Clicked{Token: "a-open", Choice: chat.AllowOnce}, want: "decided"},
		"allow, on its message":          {in: chat.Clicked{Token: "a-open", Choice: chat.AllowOnce, Message: "m1"}, want: "decided"},
		"allow, on another message":      {in: chat.Clicked{Token: "a-open", Choice: chat.AllowOnce, Message: "m0"}, want: no(RefusedUnknown)},
		"allow, nothing shown yet":       {in: chat.Clicked{Token: "a-open", Choice: chat.AllowOnce, Message: "m0"}, s: func(s *turn.Session) { s.Turn.Shown = "" }, want: "decided"},
		"allow, not seen as is known":    {in: chat.Clicked{Token: "a-open", Choice: chat.AllowOnce, Message: "m0"}, s: func(s *turn.Session) { s.Turn.Calls[0].Seen = nil }, want: "decided"},
		"again, lapsed, on any message":  {in: chat.Clicked{Token: "a-gone", Choice: chat.AskAgain, Message: "m0"}, want: "reopened"},
		"deny":                           {in: chat.Clicked{Token: "a-open", Choice: chat.DenyReason}, want: "decided"},
		"allow, somebody else":           {in: chat.Clicked{Token: "a-open", Choice: chat.AllowOnce, Envelope: chat.Envelope{User: ben}}, want: no(RefusedNotYours)},
		"allow, decided":                 {in: chat.Clicked{Token: "a-allowed", Choice: chat.AllowOnce}, want: no(RefusedDecided)},
		"allow, lapsed":                  {in: chat.Clicked{Token: "a-lapsed", Choice: chat.AllowOnce}, want: no(RefusedExpired)},
		"allow, lapsed and left":         {in: chat.Clicked{Token: "a-gone", Choice: chat.AllowOnce}, want: no(RefusedExpired)},
		"allow, left, somebody else":     {in: chat.Clicked{Token: "a-gone", Choice: chat.AllowOnce, Envelope: chat.Envelope{User: ben}}, want: no(RefusedNotYours)},
		"allow, cannot be shown":         {in: chat.Clicked{Token: "a-open", Choice: chat.AllowOnce}, s: huge, want: no(RefusedNotOffered)},
		"deny, cannot be shown":          {in: chat.Clicked{Token: "a-open", Choice: chat.Deny}, s: huge, want: "decided"},
		"allow twice":                    {in: chat.Clicked{Token: "a-open", Choice: chat.AllowOnce}, s: voted, want: no(RefusedDecided)},
		"allow, under another name":      {in: chat.Clicked{Token: "a-open", Choice: chat.AllowOnce, Envelope: chat.Envelope{User: eve}}, s: adamVoted, p: anyone, want: no(RefusedNotYours)},
		"approve all, under another":     {in: chat.Clicked{Token: all, Choice: chat.ApproveAll, Envelope: chat.Envelope{User: eve}}, s: adamVoted, p: anyone, want: no(RefusedNotYours)},
		"allow, after a name":            {in: chat.Clicked{Token: "a-open", Choice: chat.AllowOnce, Envelope: chat.Envelope{User: ben}}, s: adamVoted, p: anyone, want: "decided"},
		"deny, under another name":       {in: chat.Clicked{Token: "a-open", Choice: chat.Deny, Envelope: chat.Envelope{User: eve}}, s: adamVoted, p: anyone, want: "decided"},
		"deny after allowing":            {in: chat.Clicked{Token: "a-open", Choice: chat.Deny}, s: voted, want: "decided"},
		"for this chat":                  {in: chat.Clicked{Token: "a-open", Choice: chat.AllowChat}, want: "decided decided"},
		"for this chat, not offered":     {in: chat.Clicked{Token: "a-open", Choice: chat.AllowChat}, s: func(s *turn.Session) { s.Turn.Calls[0].Ruling.ChatGrant = false }, want: no(RefusedNotOffered)},
		"no such choice":                 {in: chat.Clicked{Token: "a-open", Choice: "dance"}, want: no(RefusedNotOffered)},
		"remember":                       {in: chat.Clicked{Token: "a-open", Choice: chat.Remember}, want: "ticked"},
		"remember, not offered":          {in: chat.Clicked{Token: "a-open", Choice: chat.Remember}, s: func(s *turn.Session) { s.Turn.Calls[0].Ruling.Remember = false }, want: no(RefusedNotOffered)},
		"remember, decided":              {in: chat.Clicked{Token: "a-allowed", Choice: chat.Remember}, want: no(RefusedDecided)},
		"remember, of an ended turn":     {in: chat.Clicked{Token: "a-old", Choice: chat.Remember, Envelope: chat.Envelope{User: boss}}, want: no(RefusedNotOffered)},
		"remember, lapsed and left":      {in: chat.Clicked{Token: "a-gone", Choice: chat.Remember}, want: no(RefusedExpired)},
		"undo":                           {in: chat.Clicked{Token: "a-allowed", Choice: chat.Undo}, want: "withdrawn"},
		"undo, started":                  {in: chat.Clicked{Token: "a-running", Choice: chat.Undo}, want: no(RefusedTooLate)},
		"undo, nothing decided":          {in: chat.Clicked{Token: "a-open", Choice: chat.Undo}, want: no(RefusedTooLate)},
		"undo, of an ended turn":         {in: chat.Clicked{Token: "a-undone", Choice: chat.Undo, Envelope: chat.Envelope{User: boss}}, s: func(s *turn.Session) { s.Last.Calls[2].Choice = chat.AllowOnce }, want: no(RefusedTooLate)},
		"more time":                      {in: chat.Clicked{Token: "a-open", Choice: chat.Extend}, want: "extended"},
		"more time, unknown":             {in: chat.Clicked{Token: "a-unknown", Choice: chat.Extend}, want: "extended"},
		"more time, parked":              {in: chat.Clicked{Token: "a-parked", Choice: chat.Extend}, want: no(RefusedNotOffered)},
		"more time, settled":             {in: chat.Clicked{Token: "a-settled", Choice: chat.Extend}, want: no(RefusedNotOffered)},
		"more time, decided":             {in: chat.Clicked{Token: "a-allowed", Choice: chat.Extend}, want: no(RefusedDecided)},
		"more time, left":                {in: chat.Clicked{Token: "a-gone", Choice: chat.Extend}, s: func(s *turn.Session) { s.Lapsed[0].Call.Status = turn.Awaiting }, want: no(RefusedNotOffered)},
		"ask again":                      {in: chat.Clicked{Token: "a-lapsed", Choice: chat.AskAgain}, want: "reopened"},
		"ask again, twice":               {in: chat.Clicked{Token: "a-again", Choice: chat.AskAgain}, want: no(RefusedNotOffered)},
		"ask again, open":                {in: chat.Clicked{Token: "a-open", Choice: chat.AskAgain}, want: no(RefusedNotOffered)},
		"ask again, of an ended turn":    {in: chat.Clicked{Token: "a-late", Choice: chat.AskAgain, Envelope: chat.Envelope{User: boss}}, want: no(RefusedNotOffered)},
		"ask again, of one that is kept": {in: chat.Clicked{Token: "a-late", Choice: chat.AskAgain, Envelope: chat.Envelope{User: boss}}, s: func(s *turn.Session) { s.Lapsed[0].Call = s.Last.Calls[1] }, want: "reopened"},
		"it happened":                    {in: chat.Clicked{Token: "a-unknown", Choice: chat.Happened}, want: "resolved"},
		"it happened, known":             {in: chat.Clicked{Token: "a-open", Choice: chat.Happened}, want: no(RefusedNotOffered)},
		"it happened, settled":           {in: chat.Clicked{Token: "a-settled", Choice: chat.Happened}, want: no(RefusedNotOffered)},
		"stop":                           {in: chat.Clicked{Choice: chat.Stop}, want: "stopped"},
		"stop this turn":                 {in: chat.Clicked{Token: "t1", Choice: chat.Stop}, want: "stopped"},
		"stop another turn":              {in: chat.Clicked{Token: "t0", Choice: chat.Stop}, want: no(RefusedStopped)},
		"stop, no turn":                  {in: chat.Clicked{Choice: chat.Stop}, s: func(s *turn.Session) { s.Turn = nil }, want: no(RefusedStopped)},
		"stop, stopped":                  {in: chat.Clicked{Choice: chat.Stop}, s: func(s *turn.Session) { s.Turn.Stopped = &turn.Person{User: ana} }, want: no(RefusedStopped)},
		"stop, a group":                  {in: chat.Clicked{Choice: chat.Stop, Envelope: chat.Envelope{User: team}}, want: no(RefusedNotYours)},
		"revoke":                         {in: chat.Clicked{Token: "g1", Choice: chat.Revoke}, want: "revoked"},
		"revoke, an admin":               {in: chat.Clicked{Token: "*", Choice: chat.Revoke, Envelope: chat.Envelope{User: boss}}, want: "revoked"},
		"revoke, somebody else":          {in: chat.Clicked{Token: "g1", Choice: chat.Revoke, Envelope: chat.Envelope{User: ben}}, want: no(RefusedNotYours)},
		"revoke, a group":                {in: chat.Clicked{Token: "g1", Choice: chat.Revoke, Envelope: chat.Envelope{User: team}}, s: func(s *turn.Session) { s.Grants[0].By = team }, want: no(RefusedNotYours)},
		"revoke, none":                   {in: chat.Clicked{Token: "g9", Choice: chat.Revoke}, want: no(RefusedUnknown)},
		"approve all":                    {in: chat.Clicked{Token: all, Choice: chat.ApproveAll}, want: "decided decided"},
		"approve all, on its message":    {in: chat.Clicked{Token: all, Choice: chat.ApproveAll, Message: "m1"}, want: "decided decided"},
		"approve all, another message":   {in: chat.Clicked{Token: all, Choice: chat.ApproveAll, Message: "m0"}, want: no(RefusedUnknown)},
		"deny all, nothing shown":        {in: chat.Clicked{Token: all, Choice: chat.DenyAll, Message: "m0"}, s: func(s *turn.Session) { s.Turn.Shown = "" }, want: "decided decided"},
		"approve all, others than shown": {in: chat.Clicked{Token: "all-0", Choice: chat.ApproveAll}, want: no(RefusedUnknown)},
		"approve all, none open":         {in: chat.Clicked{Token: turn.BatchToken(nil), Choice: chat.ApproveAll}, s: func(s *turn.Session) { s.Turn = nil }, want: no(RefusedUnknown)},
		"approve all, somebody else":     {in: chat.Clicked{Token: all, Choice: chat.ApproveAll, Envelope: chat.Envelope{User: ben}}, want: no(RefusedNotYours)},
		"approve all, one voted for":     {in: chat.Clicked{Token: all, Choice: chat.ApproveAll}, s: voted, want: "decided"},
		"approve all, one too big":       {in: chat.Clicked{Token: all, Choice: chat.ApproveAll}, s: huge, want: no(RefusedNotOffered)},
		"approve all, all voted for": {in: chat.Clicked{Token: all, Choice: chat.ApproveAll}, s: func(s *turn.Session) {
			voted(s)
			s.Turn.Calls[3].Votes = s.Turn.Calls[0].Votes
		}, want: no(RefusedDecided)},
		"session":                      {in: chat.Clicked{Token: "a-open", Choice: chat.AllowSession}, want: "decided decided mode_set"},
		"session, on its message":      {in: chat.Clicked{Token: "a-open", Choice: chat.AllowSession, Message: "m1"}, want: "decided decided mode_set"},
		"session, on another message":  {in: chat.Clicked{Token: "a-open", Choice: chat.AllowSession, Message: "m0"}, want: no(RefusedUnknown)},
		"session, nothing shown":       {in: chat.Clicked{Token: "a-open", Choice: chat.AllowSession, Message: "m0"}, s: func(s *turn.Session) { s.Turn.Shown = "" }, want: "decided decided mode_set"},
		"session, none such":           {in: chat.Clicked{Token: "a-none", Choice: chat.AllowSession}, want: no(RefusedUnknown)},
		"session, decided":             {in: chat.Clicked{Token: "a-allowed", Choice: chat.AllowSession}, want: no(RefusedDecided)},
		"session, lapsed and left":     {in: chat.Clicked{Token: "a-gone", Choice: chat.AllowSession, Message: "m0"}, want: no(RefusedExpired)},
		"session, of an ended turn":    {in: chat.Clicked{Token: "a-old", Choice: chat.AllowSession, Envelope: chat.Envelope{User: boss}}, want: no(RefusedNotOffered)},
		"session, changed":             {in: chat.Clicked{Token: "a-open", Choice: chat.AllowSession}, s: func(s *turn.Session) { s.Turn.Calls[0].Ruling.Changed = true }, want: no(RefusedNotOffered)},
		"session, strict and always":   {in: chat.Clicked{Token: "a-open", Choice: chat.AllowSession}, s: func(s *turn.Session) { s.Mode = permission.ModeAlways }, p: func(p *permission.Policy) { p.Strict = true }, want: no(RefusedNotOffered)},
		"session, strict":              {in: chat.Clicked{Token: "a-open", Choice: chat.AllowSession}, p: func(p *permission.Policy) { p.Strict = true }, want: "decided decided mode_set"},
		"session, always":              {in: chat.Clicked{Token: "a-open", Choice: chat.AllowSession}, s: func(s *turn.Session) { s.Mode = permission.ModeAlways }, want: "decided decided mode_set"},
		"session, not theirs":          {in: chat.Clicked{Token: "a-open", Choice: chat.AllowSession}, s: func(s *turn.Session) { s.Began = ben }, want: no(RefusedNotYours)},
		"session, may not decide":      {in: chat.Clicked{Token: "a-open", Choice: chat.AllowSession, Envelope: chat.Envelope{User: ben}}, s: func(s *turn.Session) { s.Began = ben }, want: no(RefusedNotYours)},
		"session, one for admins":      {in: chat.Clicked{Token: "a-open", Choice: chat.AllowSession, Envelope: chat.Envelope{User: boss}}, s: func(s *turn.Session) { s.Turn.Calls[3].Ruling.Level = permission.LevelAdmin }, want: "decided mode_set"},
		"session, another one changed": {in: chat.Clicked{Token: "a-open", Choice: chat.AllowSession}, s: func(s *turn.Session) { s.Turn.Calls[3].Ruling.Changed = true }, want: "decided mode_set"},
		"session, one too big":         {in: chat.Clicked{Token: "a-parked", Choice: chat.AllowSession}, s: huge, want: "decided mode_set"},
		"allow, left, and never asked": {in: chat.Clicked{Token: "a-gone", Choice: chat.AllowOnce}, s: func(s *turn.Session) { s.Lapsed[0].Call.Status = turn.Awaiting }, want: no(RefusedNotOffered)},
		"remember, no turn":            {in: chat.Clicked{Token: "a-gone", Choice: chat.Remember}, s: noTurn, want: no(RefusedNotOffered)},
		"session, no turn":             {in: chat.Clicked{Token: "a-gone", Choice: chat.AllowSession}, s: noTurn, want: no(RefusedNotOffered)},
		"session, one for others": {in: chat.Clicked{Token: "a-open", Choice: chat.AllowSession}, s: func(s *turn.Session) { s.Turn.Calls[3].Tool.Name = "copy" }, p: func(p *permission.Policy) {
			p.Servers = map[string]permission.ServerSettings{"files": {Tools: map[string]permission.ToolSettings{"copy": {Rights: permission.Rights{RequesterMayApprove: new(false)}}}}}
		}, want: "decided mode_set"},
		"allow, masked":                 {in: chat.Clicked{Token: "a-open", Choice: chat.AllowOnce}, s: masked, want: no(RefusedHidden)},
		"allow, masked by its ruling":   {in: chat.Clicked{Token: "a-open", Choice: chat.AllowOnce}, s: func(s *turn.Session) { s.Turn.Calls[0].Ruling.Masked = true }, want: no(RefusedHidden)},
		"allow, seen":                   {in: chat.Clicked{Token: "a-open", Choice: chat.AllowOnce}, s: saw("a-open", ana), want: "decided"},
		"allow, seen by another":        {in: chat.Clicked{Token: "a-open", Choice: chat.AllowOnce}, s: saw("a-open", ben), want: no(RefusedHidden)},
		"allow, seen in another asking": {in: chat.Clicked{Token: "a-open", Choice: chat.AllowOnce}, s: saw("a-before", ana), want: no(RefusedHidden)},
		"deny, masked":                  {in: chat.Clicked{Token: "a-open", Choice: chat.Deny}, s: masked, want: "decided"},
		"for this chat, seen":           {in: chat.Clicked{Token: "a-open", Choice: chat.AllowChat}, s: saw("a-open", ana), want: no(RefusedNotOffered)},
		"remember, masked":              {in: chat.Clicked{Token: "a-open", Choice: chat.Remember}, s: masked, want: no(RefusedNotOffered)},
		"approve all, one masked":       {in: chat.Clicked{Token: all, Choice: chat.ApproveAll}, s: masked, want: no(RefusedHidden)},
		"approve all, seen":             {in: chat.Clicked{Token: all, Choice: chat.ApproveAll}, s: saw("a-open", ana), want: "decided decided"},
		"session, another one masked":   {in: chat.Clicked{Token: "a-parked", Choice: chat.AllowSession}, s: masked, want: "decided mode_set"},
		"edit, masked":                  {in: chat.Clicked{Token: "a-open", Choice: chat.Edit, Args: "{}"}, s: masked, want: no(RefusedNotOffered)},
		"rate":                          {in: chat.Clicked{Token: "t0", Choice: chat.Good}, want: "rated"},
		"rate, one long over":           {in: chat.Clicked{Token: "t-before", Choice: chat.Bad, Envelope: chat.Envelope{User: ben}}, want: "rated"},
		"rate, the same again":          {in: chat.Clicked{Token: "t0", Choice: chat.Good}, s: func(s *turn.Session) { s.Ratings = []turn.Rated{{Turn: "t0", Good: true, By: ana}} }, want: ""},
		"rate, otherwise than before":   {in: chat.Clicked{Token: "t0", Choice: chat.Bad}, s: func(s *turn.Session) { s.Ratings = []turn.Rated{{Turn: "t0", Good: true, By: ana}} }, want: "rated"},
		"rate, while it is open":        {in: chat.Clicked{Token: "t1", Choice: chat.Good}, want: no(RefusedNotOffered)},
		"rate nothing":                  {in: chat.Clicked{Choice: chat.Good}, want: no(RefusedNotOffered)},
		"rate, nobody":                  {in: chat.Clicked{Token: "t0", Choice: chat.Good, Envelope: chat.Envelope{User: team}}, want: no(RefusedNotYours)},
		"look":                          {in: chat.Clicked{Token: "a-open", Choice: chat.Reveal}, s: masked, want: "revealed"},
		"look, on another message":      {in: chat.Clicked{Token: "a-open", Choice: chat.Reveal, Message: "m0"}, s: masked, want: no(RefusedUnknown)},
		"look again":                    {in: chat.Clicked{Token: "a-open", Choice: chat.Reveal}, s: saw("a-open", ana), want: ""},
		"look, somebody else":           {in: chat.Clicked{Token: "a-open", Choice: chat.Reveal, Envelope: chat.Envelope{User: ben}}, s: masked, want: no(RefusedNotYours)},
		"look, nothing masked":          {in: chat.Clicked{Token: "a-open", Choice: chat.Reveal}, want: no(RefusedNotOffered)},
		"look, decided":                 {in: chat.Clicked{Token: "a-allowed", Choice: chat.Reveal}, want: no(RefusedDecided)},
		"look, of an ended turn":        {in: chat.Clicked{Token: "a-old", Choice: chat.Reveal, Envelope: chat.Envelope{User: boss}}, s: func(s *turn.Session) { s.Last.Calls[0].Ruling.Masked = true }, want: no(RefusedNotOffered)},
		"look, lapsed and left":         {in: chat.Clicked{Token: "a-gone", Choice: chat.Reveal}, want: no(RefusedExpired)},
		"look, too big":                 {in: chat.Clicked{Token: "a-open", Choice: chat.Reveal}, s: func(s *turn.Session) { huge(s); s.Turn.Calls[0].Ruling.Masked = true }, want: no(RefusedNotOffered)},
		"sample, answered":              {in: chat.Clicked{Token: "w", Choice: chat.Answer}, s: sample, want: no(RefusedNotOffered)},
		"sample, declined":              {in: chat.Clicked{Token: "w", Choice: chat.Decline}, s: sample, want: "filled"},
		"sample, look":                  {in: chat.Clicked{Token: "w", Choice: chat.Reveal}, s: sample, want: no(RefusedNotOffered)},
		"sample, no such choice":        {in: chat.Clicked{Token: "w", Choice: chat.AllowOnce}, s: sample, want: no(RefusedUnknown)},
		"form, look":                    {in: chat.Clicked{Token: "w", Choice: chat.Reveal}, want: no(RefusedNotOffered)},
		"ask from now":                  {in: chat.Clicked{Choice: chat.AskFor, Envelope: chat.Envelope{User: ben}}, s: func(s *turn.Session) { s.Mode = permission.ModeNever }, want: "mode_set"},
		"ask from now, it asks":         {in: chat.Clicked{Choice: chat.AskFor}, want: no(RefusedNotOffered)},
		"ask from now, a group":         {in: chat.Clicked{Choice: chat.AskFor, Envelope: chat.Envelope{User: team}}, s: func(s *turn.Session) { s.Mode = permission.ModeNever }, want: no(RefusedNotYours)},
		"fill":                          {in: chat.Clicked{Token: "w", Choice: chat.Answer, Fields: map[string]string{"who": "Ana"}}, want: "filled"},
		"fill, on its message":          {in: chat.Clicked{Token: "w", Choice: chat.Decline, Message: "m1"}, want: "filled"},
		"fill, on another message":      {in: chat.Clicked{Token: "w", Choice: chat.Decline, Message: "m0"}, want: no(RefusedUnknown)},
		"fill, nothing shown":           {in: chat.Clicked{Token: "w", Choice: chat.Decline, Message: "m0"}, s: func(s *turn.Session) { s.Turn.Shown = "" }, want: "filled"},
		"fill, left out":                {in: chat.Clicked{Token: "w", Choice: chat.Answer}, want: no(RefusedArguments)},
		"decline, left out":             {in: chat.Clicked{Token: "w", Choice: chat.Decline}, want: "filled"},
		"fill, another":                 {in: chat.Clicked{Token: "v", Choice: chat.Decline}, want: no(RefusedExpired)},
		"fill, an admin":                {in: chat.Clicked{Token: "w", Choice: chat.Decline, Envelope: chat.Envelope{User: boss}}, want: no(RefusedNotYours)},
		"fill, a group":                 {in: chat.Clicked{Token: "w", Choice: chat.Decline, Envelope: chat.Envelope{User: team}}, s: func(s *turn.Session) { s.Turn.Requester = team }, want: no(RefusedNotYours)},
	} {
		t.Run(name, func(t *testing.T) {
			s, p, in := board(), ruled(), c.in
			if c.s != nil {
				c.s(&s)
			}
			if c.p != nil {
				c.p(&p)
			}
			if in.Chat = here; in.User.IsZero() {
				in.User = ana
			}
			events, err := judge(p).Answer(s, in)
			var refused *Refusal
			if code, ok := c.want.(RefusalCode); ok {
				if !errors.As(err, &refused) || refused.Code != code || refused.Say == "" || len(events) != 0 {
					t.Fatalf("%v, %v (%+v); want %s", events, err, refused, code)
				}
				return
			}
			var kinds []string
			for _, ev := range events {
				kinds = append(kinds, ev.Kind())
			}
			if err != nil || strings.Join(kinds, " ") != c.want {
				t.Errorf("%v, %v; want %v", kinds, err, c.want)
			}
		})
	}
}

func huge(s *turn.Session) {
	s.Turn.Calls[0].Args = json.RawMessage(`{"to":"` + strings.Repeat("x", 1<<20) + `"}`)
}

func noTurn(s *turn.Session) {
	s.Turn = nil
	s.Lapsed[0].Call.Status = turn.Awaiting
}

func voted(s *turn.Session) {
	s.Turn.Calls[0].Ruling.Approvals = 2
	s.Turn.Calls[0].Votes = []turn.Vote{{By: ben, At: noon}, {By: ana, At: noon.Add(time.Minute)}}
}

// When it starts, two names that people gave themselves are not two people, whatever an older version counted.
func TestSelfNamedAreOneAtTheStart(t *testing.T) {
	p := permission.Policy{Installed: true, Approvers: permission.Approvers{Rule: permission.ApproversAnyone}, Rights: permission.Rights{MinApprovals: new(permission.People(2))}}
	for _, c := range []struct {
		by, vote chat.User
		may      bool
	}{{eve, chat.User{Platform: "test", Key: "u-adam"}, false}, {eve, ben, true}, {ana, eve, true}} {
		call := turn.ToolCall{Decision: turn.Decision{By: c.by}, Votes: []turn.Vote{{By: c.vote}, {By: c.by}}}
		if got := stillAllowed(p, permission.Request{Chat: here, Requester: ana}, permission.LevelUser, call); got != c.may {
			t.Errorf("%s and %s: %v", c.by, c.vote, got)
		}
	}
}

// adamVoted: somebody allowed the first call under a name they gave themselves. eve may be them.
func adamVoted(s *turn.Session) {
	s.Turn.Calls[0].Ruling.Approvals = 2
	s.Turn.Calls[0].Votes = []turn.Vote{{By: chat.User{Platform: "test", Key: "u-adam"}, At: noon}}
}

func anyone(p *permission.Policy) { p.Approvers.Rule = permission.ApproversAnyone }

// What an event of a click says.
func TestWhatAClickWrites(t *testing.T) {
	one := func(in chat.Clicked, change func(*turn.Session)) turn.Event {
		t.Helper()
		s := board()
		if change != nil {
			change(&s)
		}
		if in.Chat = here; in.User.IsZero() {
			in.User = ana
		}
		events, err := judge(ruled()).Answer(s, in)
		if err != nil || len(events) == 0 {
			t.Fatalf("%+v: %v, %v", in, events, err)
		}
		return events[0]
	}
	for choice, want := range map[chat.Choice]chat.Choice{chat.AllowOnce: chat.AllowOnce, chat.Deny: chat.Deny, chat.DenyReason: chat.Deny, chat.AllowChat: chat.AllowChat} {
		ev := one(chat.Clicked{Token: "a-open", Choice: choice}, nil).(turn.Decided)
		if ev.Choice != want || (ev.Grant != nil) != (choice == chat.AllowChat) || ev.By != ana || ev.Digest != "d-open" {
			t.Errorf("%s: %+v", choice, ev)
		}
	}
	for choice, want := range map[chat.Choice]chat.Choice{chat.ApproveAll: chat.AllowOnce, chat.DenyAll: chat.Deny} {
		if ev := one(chat.Clicked{Token: turn.BatchToken(turn.OpenAsks(board())), Choice: choice}, nil).(turn.Decided); ev.Choice != want {
			t.Errorf("%s: %+v", choice, ev)
		}
	}
	for choice, want := range map[chat.Choice]string{chat.Answer: turn.FillAccept, chat.Decline: turn.FillDecline} {
		if ev := one(chat.Clicked{Token: "w", Choice: choice, Fields: map[string]string{"who": "x"}}, nil).(turn.Filled); ev.Fill.Action != want {
			t.Errorf("%s: %+v", choice, ev)
		}
	}
	for _, c := range []struct {
		who  *turn.Person
		want bool
	}{{nil, true}, {&turn.Person{User: ana}, false}, {&turn.Person{User: ben}, true}} {
		ev := one(chat.Clicked{Token: "a-open", Choice: chat.Remember}, func(s *turn.Session) { s.Turn.Calls[0].Ticked = c.who }).(turn.Ticked)
		if ev.On != c.want {
			t.Errorf("ticked by %v: %+v", c.who, ev)
		}
	}
	if ev := one(chat.Clicked{Token: "g2", Choice: chat.Revoke}, nil).(turn.Revoked); !reflect.DeepEqual(ev.Grants, []permission.GrantID{"g2"}) {
		t.Errorf("%+v", ev)
	}
	if ev := one(chat.Clicked{Token: "*", Choice: chat.Revoke}, nil).(turn.Revoked); len(ev.Grants) != 2 {
		t.Errorf("%+v", ev)
	}
}

// Why a call takes no decision any more, in words that fit.
func TestWhyItIsNotOpen(t *testing.T) {
	at := turn.ToolCall{Decision: turn.Decision{DecidedAt: noon, Name: "Ana", By: ana}, Execution: turn.Execution{EndedAt: noon.Add(time.Hour), StartedAt: noon.Add(time.Minute)}, Asking: turn.Asking{Deadline: noon.Add(2 * time.Hour)}}
	with := func(s turn.Status, choice chat.Choice, result *turn.Result) turn.ToolCall {
		c := at
		c.Status, c.Choice, c.Result = s, choice, result
		return c
	}
	for name, c := range map[string]struct {
		c    turn.ToolCall
		want RefusalCode
	}{
		"lapsed":    {with(turn.Lapsed, chat.Deny, nil), RefusedExpired},
		"decided":   {with(turn.Cancelled, chat.AllowOnce, nil), RefusedDecided},
		"cancelled": {with(turn.Cancelled, "", nil), RefusedStopped},
		"open":      {with(turn.Awaiting, "", nil), RefusedNotOffered},
	} {
		if got := notOpen(c.c); got.Code != c.want || got.Say == "" {
			t.Errorf("%s: %+v", name, got)
		}
	}
	for name, c := range map[string]struct {
		c    turn.ToolCall
		want RefusalCode
	}{
		"waiting": {with(turn.Awaiting, chat.Deny, nil), RefusedExpired},
		"unknown": {with(turn.Unknown, chat.Deny, nil), RefusedExpired},
		"settled": {with(turn.Unknown, chat.Deny, &turn.Result{}), RefusedDecided},
		"decided": {with(turn.Allowed, chat.AllowOnce, nil), RefusedDecided},
	} {
		if got := overtaken(c.c); got.Code != c.want {
			t.Errorf("overtaken, %s: %+v", name, got)
		}
	}
	if got := tooLate(at); !got.At.Equal(at.StartedAt) || got.Say != text.TooLate(text.ClockSeconds(at.StartedAt)) {
		t.Errorf("%+v", got)
	}
	if got := tooLate(turn.ToolCall{}); got.Say != text.TooLateToUndo {
		t.Errorf("%+v", got)
	}
}

// What the log made of a click: recorded, or somebody or the deadline was first.
func TestWhatTheLogMadeOfIt(t *testing.T) {
	in := chat.Clicked{Envelope: chat.Envelope{Chat: here, User: ana, Name: "Ana"}, Choice: chat.AllowOnce}
	by := func(choice chat.Choice, u chat.User) func(*turn.Session) {
		return func(s *turn.Session) { s.Turn.Calls[0].Choice, s.Turn.Calls[0].By = choice, u }
	}
	for name, c := range map[string]struct {
		ev   turn.Event
		s    func(*turn.Session)
		call turn.CallID
		want RefusalCode // "" where it is recorded
	}{
		"decided":                     {ev: turn.Decided{Ask: "a-open", Choice: chat.AllowOnce}, s: by(chat.AllowOnce, ana), call: "open"},
		"decided by another":          {ev: turn.Decided{Ask: "a-open", Choice: chat.AllowOnce}, s: by(chat.AllowOnce, ben), want: RefusedExpired},
		"decided otherwise":           {ev: turn.Decided{Ask: "a-open", Choice: chat.AllowOnce}, s: by(chat.Deny, ana), want: RefusedExpired},
		"decided, not there":          {ev: turn.Decided{Ask: "a-none", Choice: chat.AllowOnce}, want: RefusedNotOffered},
		"voted":                       {ev: turn.Decided{Ask: "a-open", Choice: chat.AllowOnce}, s: voted, call: "open"},
		"denied, having voted":        {ev: turn.Decided{Ask: "a-open", Choice: chat.Deny}, s: voted, want: RefusedExpired},
		"somebody else voted":         {ev: turn.Decided{Ask: "a-open", Choice: chat.AllowOnce}, s: func(s *turn.Session) { voted(s); s.Turn.Calls[0].Votes = s.Turn.Calls[0].Votes[:1] }, want: RefusedExpired},
		"amended":                     {ev: turn.Amended{Ask: "a-open", Digest: "d-open"}, call: "open"},
		"amended otherwise":           {ev: turn.Amended{Ask: "a-open", Digest: "d"}, want: RefusedExpired},
		"amended, not there":          {ev: turn.Amended{Ask: "a-none"}, want: RefusedNotOffered},
		"ticked":                      {ev: turn.Ticked{Ask: "a-open"}, call: "open"},
		"ticked, not there":           {ev: turn.Ticked{Ask: "a-none"}},
		"withdrawn":                   {ev: turn.Withdrawn{Next: "a-open"}, call: "open"},
		"withdrawn too late":          {ev: turn.Withdrawn{Next: "a-none"}, want: RefusedTooLate},
		"extended":                    {ev: turn.Extended{Ask: "a-open", Until: noon}, call: "open"},
		"extended too late":           {ev: turn.Extended{Ask: "a-open", Until: noon.Add(1)}, want: RefusedExpired},
		"extended, not there":         {ev: turn.Extended{Ask: "a-none", Until: noon}},
		"reopened":                    {ev: turn.Reopened{Next: "a-open", NextCall: "x"}, call: "open"},
		"reopened, in this turn":      {ev: turn.Reopened{Next: "a-none", NextCall: "parked"}, call: "parked"},
		"reopened, queued":            {ev: turn.Reopened{Next: "a-none", NextCall: "x"}, s: func(s *turn.Session) { s.Waiting = []turn.Said{{}, {Replay: &turn.Replay{Call: "x"}}} }, call: "x"},
		"reopened, queued, no turn":   {ev: turn.Reopened{Next: "a-none", NextCall: "x"}, s: func(s *turn.Session) { s.Turn, s.Waiting = nil, []turn.Said{{Replay: &turn.Replay{Call: "x"}}} }, call: "x"},
		"reopened, another queued":    {ev: turn.Reopened{Next: "a-none", NextCall: "x"}, s: func(s *turn.Session) { s.Waiting = []turn.Said{{}, {Replay: &turn.Replay{Call: "y"}}} }, want: RefusedNotOffered},
		"resolved":                    {ev: turn.Resolved{Ask: "a-unknown", Answer: chat.Leave}, s: func(s *turn.Session) { s.Turn.Calls[5].By, s.Turn.Calls[5].Choice = ana, chat.Leave }, call: "unknown"},
		"resolved by another":         {ev: turn.Resolved{Ask: "a-unknown", Answer: chat.Leave}, s: func(s *turn.Session) { s.Turn.Calls[5].By, s.Turn.Calls[5].Choice = ben, chat.Leave }, want: RefusedExpired},
		"resolved otherwise":          {ev: turn.Resolved{Ask: "a-unknown", Answer: chat.Leave}, s: func(s *turn.Session) { s.Turn.Calls[5].By, s.Turn.Calls[5].Choice = ana, chat.Happened }, want: RefusedExpired},
		"run again":                   {ev: turn.Resolved{Ask: "a-unknown", Answer: chat.RunAgain, Next: "a-open"}, call: "open"},
		"run again, somebody settled": {ev: turn.Resolved{Ask: "a-allowed", Answer: chat.RunAgain, Next: "a-none"}, want: RefusedDecided},
		"filled by them": {ev: turn.Filled{Ask: "w", By: ana}, s: func(s *turn.Session) {
			s.Turn.Calls[2].Elicitation.By, s.Turn.Calls[2].Elicitation.Fill = ana, &turn.Fill{}
		}},
		"filled by another": {ev: turn.Filled{Ask: "w", By: ana}, s: func(s *turn.Session) {
			s.Turn.Calls[2].Elicitation.By, s.Turn.Calls[2].Elicitation.Fill = ben, &turn.Fill{}
		}, want: RefusedExpired},
		"not filled":            {ev: turn.Filled{Ask: "w", By: ana}, s: func(s *turn.Session) { s.Turn.Calls[2].Elicitation.By = ana }, want: RefusedExpired},
		"filled, and over":      {ev: turn.Filled{Ask: "w", By: ana}, s: func(s *turn.Session) { s.Turn = nil }},
		"filled, it wants more": {ev: turn.Filled{Ask: "v", By: ana}},
		"stopped":               {ev: turn.StopAsked{}},
	} {
		s := board()
		if c.s != nil {
			c.s(&s)
		}
		done, err := ReadOutcomes(s, in, []turn.Event{c.ev}, noon)
		var refused *Refusal
		switch {
		case c.want != "":
			if !errors.As(err, &refused) || refused.Code != c.want || len(done) != 0 {
				t.Errorf("%s: %+v, %v (%+v)", name, done, err, refused)
			}
		case err != nil || len(done) != 1 || done[0].Call != c.call || done[0].By != ana || !done[0].At.Equal(noon):
			t.Errorf("%s: %+v, %v", name, done, err)
		}
	}
	some := []turn.Event{turn.Decided{Ask: "a-none"}, turn.Ticked{Ask: "a-open"}}
	if done, err := ReadOutcomes(board(), in, some, noon); err != nil || len(done) != 1 {
		t.Errorf("one of two: %v, %v", done, err)
	}
}

// What people are called, and who may turn the prompts off.
func TestNamesAndWhoMayRelax(t *testing.T) {
	s := board()
	if s.NameOf(ana) != "Ana" || s.NameOf(ben) != "ben" || s.NameOf(boss) != "boss" {
		t.Error("a name")
	}
	for _, c := range []struct {
		u    chat.User
		s    turn.Session
		want bool
	}{{ana, s, true}, {ben, s, false}, {boss, s, true}, {chat.User{}, s, false}, {chat.User{}, turn.Session{People: []turn.Person{{}}}, false}, {ana, turn.Session{}, false}} {
		if got := MayRelax(ruled(), c.s, c.u); got != c.want {
			t.Errorf("%v may relax: %v", c.u, got)
		}
	}
}

// Away from its chat, what a server wants of the requester is shown to nobody else, whatever they may decide; and a call of another turn is judged
// by who asked for that one.
func TestMaySee(t *testing.T) {
	s := board()
	open, wants, old := s.Turn.Calls[0], s.Turn.Calls[2], s.Last.Calls[0]
	for _, c := range []struct {
		u    chat.User
		call turn.ToolCall
		want bool
	}{{ana, open, true}, {ben, open, false}, {boss, open, true}, {ana, wants, true}, {boss, wants, false}, {team, wants, false}, {chat.User{}, wants, false}, {ben, old, true}, {ana, old, false}} {
		if got := MaySee(ruled(), s, c.call, c.u); got != c.want {
			t.Errorf("%v sees %s: %t", c.u, c.call.ID, got)
		}
	}
	s.Turn.Requester = chat.User{}
	if MaySee(ruled(), s, wants, chat.User{}) {
		t.Error("nobody sees what nobody asked for")
	}
}
