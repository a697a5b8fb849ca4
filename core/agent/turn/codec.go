package turn

import (
	"encoding/json"
	"errors"
	"fmt"
)

// Version is the version of stored events, but for what an earlier release would fold to something else: such a [Changed] has
// version 2 to 4, and such a [Said] 2 or 3. A replica refuses what is newer than itself: it neither drives nor decides such a chat.
const Version = 1

// sessionVersion is the version of a stored session. Version 2 keeps the kinds of results and notes where version 1 had their words;
// versions 3 to 5 are those of settings which an earlier release would lose a part of.
const sessionVersion = 5

// ErrVersion marks a stored event or session that this build does not know.
var ErrVersion = errors.New("written by a newer version")

type stored[D any] struct {
	V    int    `json:"v,omitempty"` // nothing is version 1
	Kind string `json:"k"`
	Data D      `json:"e"`
}

// Encode gives the stored bytes of an event.
func Encode(e Event) ([]byte, error) {
	v := 0
	switch ev := e.(type) {
	case Changed:
		v = ev.Changes.Version()
	case Said:
		switch {
		case ev.Earlier != nil:
			v = 3
		case ev.Forget > 0:
			v = 2
		}
	default:
	}
	return json.Marshal(stored[Event]{v, e.Kind(), e})
}

// Decode reads what Encode wrote, in this version or an older one. It returns ErrVersion for what it does not
// know; it never panics.
func Decode(b []byte) (Event, error) {
	var s stored[json.RawMessage]
	if err := json.Unmarshal(b, &s); err != nil {
		return nil, fmt.Errorf("stored event: %w", err)
	}
	read, known := decoders[s.Kind]
	newest := map[string]int{Changed{}.Kind(): 4, Said{}.Kind(): 3}[s.Kind]
	if !known || s.V > max(newest, Version) {
		return nil, fmt.Errorf("event %q version %d: %w", s.Kind, s.V, ErrVersion)
	}
	e, err := read(s.Data)
	if err != nil {
		return nil, fmt.Errorf("stored event %q: %w", s.Kind, err)
	}
	return e, nil
}

var decoders = map[string]func([]byte) (Event, error){
	"said": read[Said], "edited": read[Edited], "deleted": read[Deleted], "shown": read[Shown],
	"replied": read[Replied], "ruled": read[Ruled], "decided": read[Decided], "withdrawn": read[Withdrawn],
	"extended": read[Extended], "expired": read[Expired], "reopened": read[Reopened], "started": read[Started],
	"finished": read[Finished], "abandoned": read[Abandoned], "resolved": read[Resolved], "revoked": read[Revoked],
	"mode_set": read[ModeSet], "reset": read[Reset], "stopped": read[StopAsked], "ended": read[Ended],
	"amended": read[Amended], "ticked": read[Ticked], "revealed": read[Revealed], "wanted": read[Elicited],
	"filled": read[Filled], "changed": read[Changed], "posted": read[Posted], "removed": read[Removed],
	"rated":      read[Rated],
	"files_read": read[FilesRead], "earlier_read": read[EarlierRead], "preview_started": read[PreviewStarted], "previewed": read[Previewed],
}

func read[E Event](b []byte) (Event, error) {
	var e E
	err := json.Unmarshal(b, &e)
	return e, err
}

// EncodeSession gives the stored bytes of a snapshot's session.
func EncodeSession(s Session) ([]byte, error) {
	v := 2
	if s.Settings != nil {
		v = 1 + s.Settings.Version()
	}
	return json.Marshal(stored[Session]{v, "session", s})
}

// DecodeSession reads what EncodeSession wrote.
func DecodeSession(b []byte) (Session, error) {
	var st stored[json.RawMessage]
	var s Session
	if err := json.Unmarshal(b, &st); err != nil {
		return s, fmt.Errorf("stored session: %w", err)
	}
	if st.Kind != "session" || st.V > sessionVersion {
		return s, fmt.Errorf("session version %d: %w", st.V, ErrVersion)
	}
	err := json.Unmarshal(st.Data, &s)
	if spoke := s.Turn != nil || s.Last != nil; spoke && s.Began.IsZero() && len(s.People) > 0 { // stored before it was kept
		s.Began = s.People[0].User
	}
	return s, err
}
