package config

import (
	"encoding"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/nodhq/nod/core/permission"
)

// Two closed sets have members that a file cannot say: all is an access of grants, and unclassified and listed are what no word
// and a list of people mean.
var (
	errAccess    = errors.New("want read or write")
	errApprovers = errors.New("want requester, participants, anyone or a list of people")
)

// parseWord reads a member of one of permission's closed sets. Its error lists the set, and does not quote what was read as
// permission's own does: it may be a variable's value.
func parseWord(into encoding.TextUnmarshaler, s string) error {
	err := into.UnmarshalText([]byte(s))
	switch x := into.(type) {
	case *permission.Access:
		if err != nil || *x != permission.Read && *x != permission.Write {
			return errAccess
		}
	case *permission.ApproverRule:
		if err != nil || *x == permission.ApproversListed {
			return errApprovers
		}
	}
	var unknown *permission.ParseError
	if !errors.As(err, &unknown) {
		return err
	}
	last := len(unknown.Want) - 1
	return fmt.Errorf("want %s or %s", strings.Join(unknown.Want[:last], ", "), unknown.Want[last])
}

const park = "park"

var errDuration = errors.New("want a duration with its unit, such as 60s or 5m")

func parseDuration(s string) (time.Duration, error) {
	d, err := time.ParseDuration(s)
	if err != nil {
		return 0, errDuration // the library's error quotes its input
	}
	if d < 0 {
		return 0, errors.New("a duration cannot be negative")
	}
	return d, nil
}

// spellDuration writes 60s rather than 1m0s, as people write it.
func spellDuration(d time.Duration) string {
	if d <= 2*time.Minute && d%time.Second == 0 {
		return strconv.Itoa(int(d/time.Second)) + "s"
	}
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

func parseTimeout(s string) (Timeout, error) {
	if s == park {
		return 0, nil
	}
	d, err := parseDuration(s)
	if err != nil {
		return 0, fmt.Errorf("%w, or %s for no end", errDuration, park)
	}
	if d == 0 {
		return 0, fmt.Errorf("want more than 0s, or %s for no end", park)
	}
	return Timeout(d), nil
}

func (t Timeout) String() string {
	if t == 0 {
		return park
	}
	return spellDuration(time.Duration(t))
}

// maxReplicas is more than anybody runs: a larger number is a slip that would block every write.
const maxReplicas = 16

func parseDurability(s string) (Durability, error) {
	switch n, ok := strings.CutPrefix(s, "replicas="); {
	case s == "local":
		return Durability{}, nil
	case s == "fsync":
		return Durability{Fsync: true}, nil
	case ok:
		if n, err := strconv.Atoi(n); err == nil && n >= 1 && n <= maxReplicas {
			return Durability{Replicas: n}, nil
		}
	}
	return Durability{}, fmt.Errorf("want local, fsync or replicas=N with N from 1 to %d", maxReplicas)
}

func (d Durability) String() string {
	switch {
	case d.Fsync:
		return "fsync"
	case d.Replicas > 0:
		return "replicas=" + strconv.Itoa(d.Replicas)
	}
	return "local"
}

func parseFollow(s string) (Follow, error) {
	switch f := Follow(s); f {
	case FollowThread, FollowMention:
		return f, nil
	}
	return "", fmt.Errorf("want %s or %s", FollowThread, FollowMention)
}

func parseConversation(s string) (Conversation, error) {
	switch c := Conversation(s); c {
	case InThread, InChannel:
		return c, nil
	}
	return "", fmt.Errorf("want %s or %s", InThread, InChannel)
}

// parseTransport takes the names that other programs have for it, too.
func parseTransport(s string) (Transport, error) {
	switch s {
	case "stdio":
		return Stdio, nil
	case "http", "streamable-http", "streamableHttp", "streamable_http":
		return HTTP, nil
	case "sse":
		return SSE, nil
	}
	return "", errors.New("want stdio, http or sse")
}
