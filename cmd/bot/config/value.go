package config

import (
	"cmp"
	"encoding"
	"errors"
	"fmt"
	"log/slog"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/core/text"
)

// Getenv looks a variable up: os.LookupEnv, or a table in a test.
type Getenv func(name string) (value string, set bool)

var (
	variable = regexp.MustCompile(`\$\$\{|\$\{(?:[A-Za-z_][A-Za-z0-9_]{0,127}\})?`)
	// optional are the variables that mean empty where they are not set: those that the bot reads itself, so that one file serves with and
	// without Slack, Discord or a model's key. Everything else must be set where it is named.
	optional = regexp.MustCompile(`^(SLACK_|DISCORD_|OPENAI_|NOD_|BOT_)|^(REDIS_URL|ADMIN_SESSION_KEYS)$`)

	// asInShells is how a variable is written elsewhere.
	asInShells = regexp.MustCompile(`^\$[A-Z_][A-Z0-9_]*$`)

	errVariable = errors.New("a variable is written ${NAME}, and a literal ${ is written $${")
)

// expand replaces ${NAME} by the variable and $${ by ${. A lone $ stays. used reports that a variable's value went in.
// A value is not expanded again, so what stands in a variable can name no other.
func expand(s string, env Getenv) (out string, used bool, err error) {
	out = variable.ReplaceAllStringFunc(s, func(found string) string {
		if found == "$${" {
			return "${"
		}
		name, whole := strings.CutSuffix(found[2:], "}")
		if !whole {
			err = cmp.Or(err, errVariable)
			return ""
		}
		v, set := env(name)
		v = strings.TrimSpace(v)
		if !set && !optional.MatchString(name) {
			err = cmp.Or(err, fmt.Errorf("the environment variable %s is not set", name))
		}
		used = used || v != ""
		return v
	})
	return out, used, err
}

// EscapeVariables keeps ${ of a text from being a variable when it is read.
func EscapeVariables(s string) string { return strings.ReplaceAll(s, "${", "$${") }

// The closed sets of texts. Their zero values are no words: each field of such a type is given a default, or must be set, or is optional.
type (
	Transport    string // a kind of connection
	Follow       string // which messages of a thread are meant for the bot
	Conversation string // where a conversation that begins in a channel goes on
	LogLevel     string // the least that is logged
)

// Level implements [slog.Leveler].
func (l LogLevel) Level() slog.Level {
	var level slog.Level
	_ = level.UnmarshalText([]byte(l)) // it is one of the words, or "", which is Info too
	return level
}

// The words.
const (
	Stdio Transport = "stdio"
	HTTP  Transport = "http"
	SSE   Transport = "sse"

	FollowRequester Follow = "requester" // those of whom it works for, once the bot was mentioned there
	FollowThread    Follow = "thread"    // those of everybody
	FollowMention   Follow = "mention"   // only those that mention it

	InThread  Conversation = "thread"  // a thread on the message that mentions the bot
	InChannel Conversation = "channel" // the channel itself, as one chat
)

var words = map[reflect.Type][]string{
	reflect.TypeFor[Follow]():       {string(FollowRequester), string(FollowThread), string(FollowMention)},
	reflect.TypeFor[Conversation](): {string(InThread), string(InChannel)},
	reflect.TypeFor[Transport]():    {string(Stdio), string(HTTP), string(SSE)},
	reflect.TypeFor[LogLevel]():     {"debug", "info", "warn", "error"},
}

// setValue parses text into a single value. expanded says that a variable's value is in it. Its errors never quote the text.
func setValue(v reflect.Value, written string, expanded bool) error {
	switch p := v.Addr().Interface().(type) {
	case *Secret:
		*p = Secret(strings.TrimSpace(written))
		return nil
	case *[]Secret: // from the environment: a comma list. An empty key must never match
		*p = nil
		for s := range strings.SplitSeq(written, ",") {
			if s = strings.TrimSpace(s); s != "" {
				*p = append(*p, Secret(s))
			}
		}
		return nil
	case *Text:
		switch *p = (Text{written, written}); {
		case strings.Contains(written, "://"):
			*p = URL(written)
		case expanded:
			p.shown = Mask
		}
		return nil
	case *Timeout:
		return assign(p, written, parseTimeout)
	case *Durability:
		return assign(p, written, parseDurability)
	case *time.Duration:
		return assign(p, written, parseDuration)
	case *chat.User:
		return assign(p, written, parseUser)
	case *permission.Place:
		return assign(p, written, ParsePlace)
	case *Transport:
		if slices.Contains([]string{"streamable-http", "streamableHttp", "streamable_http"}, written) { // as other programs have it
			written = string(HTTP)
		}
	case encoding.TextUnmarshaler:
		return parseWord(p, written)
	}
	switch v.Kind() {
	case reflect.String:
		if set := words[v.Type()]; set != nil && !slices.Contains(set, written) {
			return wantOneOf(set)
		}
		v.SetString(written)
	case reflect.Bool:
		if written != "true" && written != "false" {
			return errors.New("want true or false")
		}
		v.SetBool(written == "true")
	case reflect.Int:
		n, err := strconv.Atoi(written)
		if err != nil {
			return errors.New("want a whole number")
		}
		v.SetInt(int64(n))
	default:
		return errors.New("this kind of field cannot be read from text")
	}
	return nil
}

func assign[T any](p *T, written string, parse func(string) (T, error)) error {
	x, err := parse(written)
	if err == nil {
		*p = x
	}
	return err
}

func wantOneOf(set []string) error { return errors.New("want " + text.OneOf(set)) }

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
		if *x != permission.Read && *x != permission.Write {
			return errAccess
		}
	case *permission.ApproverRule:
		if err != nil || *x == permission.ApproversListed {
			return errApprovers
		}
	}
	if unknown, ok := errors.AsType[*permission.ParseError](err); ok {
		return wantOneOf(unknown.Want)
	}
	return err
}

// IDs of what is no channel have another form: a direct message is none.
var placeForm = regexp.MustCompile(`^(web|slack(:[TE][A-Z0-9]+(:[CG][A-Z0-9]+)?)?|discord(:[0-9]{1,20}){0,2})$`)

// ParsePlace reads a place, by IDs.
func ParsePlace(s string) (permission.Place, error) {
	if s = strings.TrimSpace(s); !placeForm.MatchString(s) {
		return permission.Place{}, errors.New("want IDs, not names: a channel as slack:T1:C1 or discord:100:200, a workspace or server as slack:T1 or discord:100, or slack, discord or web; " +
			"Slack shows a channel's ID at the end of its details, Discord has Copy Channel ID in developer mode. Direct messages are in their workspace")
	}
	return permission.ParsePlace(s)
}

func parseUser(s string) (chat.User, error) {
	u, err := chat.ParseUser(strings.TrimSpace(s))
	switch {
	case err != nil:
		return u, errors.New("want platform:workspace:key, such as slack:T1:U1")
	case u.Platform != "slack" && u.Platform != "discord" && u.Platform != "web":
		return u, errors.New("the platform must be slack, discord or web, as in slack:T1:U1")
	case u.IsGroup():
		return u, groupProblem(u)
	}
	return u, nil
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
	for _, zero := range []string{"m0s", "h0m"} {
		if strings.HasSuffix(s, zero) {
			s = s[:len(s)-2]
		}
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
	if d < time.Second { // 30ms for 30m would deny everything at once
		return 0, fmt.Errorf("want at least 1s, or %s for no end", park)
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
	replicas, ok := strings.CutPrefix(s, "replicas=")
	n, _ := strconv.Atoi(replicas)
	switch {
	case s == "local", s == "fsync":
		return Durability(s), nil
	case ok && n >= 1 && n <= maxReplicas:
		return Durability("replicas=" + strconv.Itoa(n)), nil
	}
	return "", fmt.Errorf("want local, fsync or replicas=N with N from 1 to %d", maxReplicas)
}
