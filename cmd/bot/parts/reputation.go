package parts

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/tidwall/gjson"
	"github.com/tidwall/sjson"

	"github.com/nodhq/nod/cmd/bot/command"
	"github.com/nodhq/nod/cmd/bot/config"
	"github.com/nodhq/nod/core/agent/settings"
	"github.com/nodhq/nod/core/permission/canonical"
)

// reputationVersion is the one form of the list that this program reads.
const reputationVersion = 1

// reputationList is what others think of servers, by the operator's names for them.
type reputationList struct {
	Version int                   `json:"version"`
	Source  string                `json:"source"`
	Servers map[string]reputation `json:"servers"`
}

type reputation struct {
	Score *int   `json:"score"` // 0 to 100
	Note  string `json:"note"`
}

// Reputations are the list of the configuration, if its signature verifies; nil where there is none.
func Reputations(c config.Config) (settings.Reputations, error) {
	if c.Reputation.File == "" {
		return nil, nil
	}
	key, _ := c.Reputation.Key() // it was read when the configuration was checked
	f, err := os.Open(c.Reputation.File)
	if err != nil {
		return nil, fmt.Errorf("reputation.file: %w", err)
	}
	defer f.Close()
	raw, err := io.ReadAll(io.LimitReader(f, 2<<20)) // what is longer than canonical.Arguments takes is refused there
	if err != nil {
		return nil, fmt.Errorf("reputation.file: %w", err)
	}
	list, err := parseReputation(raw, key)
	if err != nil {
		return nil, fmt.Errorf("reputation.file %s: %w", c.Reputation.File, err)
	}
	return list, nil
}

// parseReputation looks at the signature before anything else. What is signed is the list without its signature in the one form that
// [canonical.Arguments] gives: keys in order, no space, each key once.
func parseReputation(raw []byte, key ed25519.PublicKey) (list reputationList, err error) {
	whole, err := canonical.Arguments(raw) // has no other error
	if why, ok := errors.AsType[*canonical.Error](err); ok {
		return list, fmt.Errorf("%s (at byte %d): want one JSON object in which every key stands once", why.Problem, why.Offset)
	}
	written := gjson.GetBytes(whole, "signature").Str // empty where it is no text
	if written == "" {
		return list, errors.New("it has no signature; one that nobody signed is not used")
	}
	signed, _ := sjson.DeleteBytes(whole, "signature") // it stands there
	signature, err := base64.StdEncoding.DecodeString(written)
	if err != nil || !ed25519.Verify(key, signed, signature) {
		return list, errors.New("its signature is not that of reputation.public_key over what it says: it was changed, or somebody else wrote it; it is not used")
	}
	d := json.NewDecoder(bytes.NewReader(signed))
	d.DisallowUnknownFields()
	if err := d.Decode(&list); err != nil {
		return reputationList{}, fmt.Errorf("it is not a list of reputations: %w", err)
	}
	return list, list.check()
}

func (l reputationList) check() error {
	switch {
	case l.Version != reputationVersion:
		return fmt.Errorf("version: %d is not known here; this program reads %d", l.Version, reputationVersion)
	case l.Source == "":
		return errors.New("source: it does not say whose word it is")
	}
	for name, s := range l.Servers {
		if s.Score == nil || *s.Score < 0 || *s.Score > 100 {
			return fmt.Errorf("servers.%s.score: want a number from 0 to 100", command.OneLine(name))
		}
	}
	return nil
}

var _ settings.Reputations = reputationList{}

// Reputation implements [settings.Reputations].
func (l reputationList) Reputation(server string) (settings.Reputation, bool) {
	r, ok := l.Servers[server]
	if !ok {
		return settings.Reputation{}, false
	}
	say := fmt.Sprintf("%d of 100", *r.Score)
	if r.Note != "" {
		say += ", " + r.Note
	}
	return settings.Reputation{Score: say, Source: l.Source}, true
}
