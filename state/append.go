package state

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/state/packed"
)

// Append performs one Write in one round trip, or in that of another one. A repeated fact or choice is known by its operation for 24 hours,
// whatever Known; what is written under a Lease by its operation and Known, for ever.
//
// Known without a Roll is allowed; then the write carries no link of the chain and Written.Head has no Roll.
//
// A snapshot counts when it is a fold up to Known (Snapshot.Head equals Known) or up to the head after this
// write (any other Snapshot.Head, the zero one included) and Known was the head.
func (s *Store) Append(ctx context.Context, w agent.Write) (agent.Written, error) {
	f, err := s.form(w)
	if err != nil {
		return agent.Written{}, err
	}
	before := time.Now() // a lease counts from before the request that got it
	run := s.write
	if w.Patient {
		run = s.ride
	}
	res, err := run(ctx, f.call)
	if err != nil && !errors.Is(err, agent.ErrNotDurable) {
		return agent.Written{}, err
	}
	out, readErr := s.written(w, f, res, before)
	if readErr != nil {
		return out, readErr
	}
	return out, err
}

// form is a Write as its script takes it.
type form struct {
	call   call
	class  turn.Class
	nonce  string
	rows   []row        // as they are stored, but for their place and stamp
	events []turn.Event // as readers will see them
}

// nonceArg is where the script's arguments hold the nonce.
const nonceArg = 14

var classNames = [...]string{0: "none", turn.Fact: "fact", turn.Choice: "choice", turn.Work: "work"}

func (s *Store) form(w agent.Write) (f form, err error) {
	if f.class, err = classOf(w); err != nil {
		return f, err
	}
	k := keysOf(w.Chat)
	rules, judged := k.head, "" // where a script sees one slot alone, it does not look at the settings
	if !s.slots {
		rules = keysOf(agent.SettingsChat).head
		if w.Judged != nil {
			judged = utoa(w.Judged.Seq) + " " + escape(string(w.Judged.Tip))
		}
	}
	keys := []string{k.head, k.log, k.snap, k.due, k.asks, rules}
	link := "-" // only the first event says what the write follows on
	if f.class >= turn.Choice && w.Known.Seq > 0 {
		link = linkOf(w.Known)
	}
	var tail []string
	for _, e := range w.Events {
		r, ev, err := encode(w.Chat, e)
		if err != nil {
			return f, err
		}
		r.link, link = link, "-"
		r.code = s.opt.Audit.sign(w.Chat, r)
		f.rows, f.events = append(f.rows, r), append(f.events, ev)
		if w.Lease.Token == 0 { // else its place in the log tells a repeat
			keys = append(keys, k.op(e.Op))
		}
		ids := turn.Indexed(e.Event, s.opt.ByCall == nil || s.opt.ByCall(w.Chat))
		ids = slices.DeleteFunc(ids, func(id string) bool { return id == "" })
		tail = append(tail, r.op, r.signedLink(), string(r.event), strconv.Itoa(len(ids)))
		tail = append(tail, ids...)
		f.call.Sure = f.call.Sure || turn.MustSurvive(e.Event)
	}
	at, snap, err := snapshotOf(w)
	if err != nil {
		return f, err
	}
	f.nonce = strconv.FormatUint(rand.Uint64()>>1, 10) // Redis keeps a decimal of this size in 8 bytes
	args := []string{
		classNames[f.class], utoa(w.Known.Seq), escape(string(w.Known.Tip)), s.opt.Audit.sealHead(w.Chat, w.Known),
		millis(opTTL), millis(s.retentionOf(w.Chat)), millis(s.opt.Lease), w.Lease.Owner, utoa(w.Lease.Token), w.Claim,
		flag(w.Release), wakeMillis(w.Wake), at, snap,
		f.nonce, flag(f.call.Sure), w.Chat.String(), watchChannel(w.Chat), wakePrefix,
		judged, strconv.Itoa(len(w.Events)),
	}
	f.call.Script, f.call.Keys, f.call.Args = appendScript.Script, keys, append(args, tail...)
	f.call.again = func(args []string) []string {
		args = slices.Clone(args)
		args[nonceArg] = "~" + f.nonce
		return args
	}
	return f, nil
}

// ChecksSettings implements [agent.Checker].
func (s *Store) ChecksSettings() bool { return !s.slots }

// oneServer reports whether a script may look at keys of several slots. A Cluster does not let it, and some servers that do not call
// themselves one.
func (s *Store) oneServer(ctx context.Context) bool {
	near, far := keysOf(agent.SettingsChat), keysNamed("")
	_, err := s.ask(ctx, loadScript, []string{near.head, far.log, far.snap})
	return err == nil
}

// classOf is the strictest class of a Write's events, once it is certain that the Write can be taken at all.
func classOf(w agent.Write) (class turn.Class, err error) {
	if w.Chat.IsZero() {
		return 0, errors.New("append: no chat is named")
	}
	ops := map[agent.OpID]bool{}
	for _, e := range w.Events {
		switch {
		case e.Op == "" || ops[e.Op]:
			return 0, fmt.Errorf("append: every event needs an operation of its own, %q is empty or repeated", e.Op)
		case e.Event == nil:
			return 0, fmt.Errorf("append: operation %q brings no event", e.Op)
		}
		ops[e.Op] = true
		class = max(class, turn.ClassOf(e.Event))
	}
	if class == turn.Work && (w.Lease.Token == 0 || w.Lease.Owner == "" || w.Lease.Chat != w.Chat) {
		return 0, fmt.Errorf("append: work needs the lease of its chat: %w", agent.ErrFenced)
	}
	return class, nil
}

// encode gives an event as it is stored, and as it is read back.
func encode(id chat.ID, e agent.Keyed) (row, turn.Event, error) {
	b, err := turn.Encode(e.Event)
	if err != nil {
		return row{}, nil, fmt.Errorf("append: %s: %w", e.Event.Kind(), err)
	}
	back, err := turn.Decode(b) // one entry that nobody can read would close the chat for ever
	if err != nil {
		return row{}, nil, fmt.Errorf("append: %s could not be read back, so it is not written: %w", e.Event.Kind(), err)
	}
	op := escape(string(e.Op))
	return row{op: op, event: packed.Pack(beside(id, op), b)}, back, nil
}

// written reads the script's reply.
func (s *Store) written(w agent.Write, f form, res any, before time.Time) (agent.Written, error) {
	r, ok := res.([]any)
	if !ok || len(r) != 12 {
		return agent.Written{}, unexpected("append", res)
	}
	status, seq, brought := text(r[0]), number(r[1]), number(r[4])
	out := agent.Written{
		Head:     agent.Head{Seq: seq, Tip: agent.OpID(unescape(text(r[2])))},
		Missing:  text(r[5]) == "1",
		Released: text(r[7]) == "1",
		Holder:   text(r[8]),
		// Our own repeat after a lost reply is no repeat to the caller: it finds the nonce of this very call.
		Repeated: status == "repeat" && strings.TrimPrefix(text(r[9]), "~") != f.nonce,
	}
	if token, barren, owed := given(r[6]); token > 0 {
		out.Lease = agent.Lease{Chat: w.Chat, Owner: w.Claim, Token: token, Until: before.Add(s.opt.Lease), Barren: barren, Owed: owed}
	}
	if !s.slots {
		seq, tip, _ := strings.Cut(text(r[11]), " ")
		out.Settings = &agent.Head{Seq: number(seq), Tip: agent.OpID(unescape(tip))}
	}
	err := map[string]error{"stale": agent.ErrStale, "fenced": agent.ErrFenced, "rewound": agent.ErrRewound, "rules": agent.ErrRules}[status]
	if out.Missing || status == "fenced" || status == "rewound" {
		return out, err
	}

	c := chainFrom(w.Chat, w.Known)
	entries, readErr := c.entries(strs(r[10]))
	for i := 0; readErr == nil && i < int(brought); i++ { // ours did not travel back: put together what the script stored
		ours := f.rows[i]
		ours.seq, ours.stamp = c.head.Seq+1, int64(number(r[3])) //nolint:gosec // a stamp
		if _, readErr = c.next(ours.bytes()); readErr == nil {
			entries = append(entries, ours.with(f.events[i]))
		}
	}
	if readErr == nil && c.head.Seq != seq {
		readErr = c.broken(c.head.Seq+1, "it is missing")
	}
	if readErr != nil {
		if err == nil {
			// What we had to write is written. Whoever loads the chat learns what is wrong with it.
			out.Missing = true
			return out, nil
		}
		return out, readErr
	}
	out.Entries, out.Head = entries, c.head
	return out, err
}

// snapshotOf gives the script's two arguments for a snapshot. Its bytes start with "seq from roll tip\n": the fold
// is up to seq; from and roll are where a reader takes up the chain, because a writer cannot know the stamps, and
// so the roll, of what it is about to write.
func snapshotOf(w agent.Write) (at, stored string, err error) {
	if w.Snapshot == nil {
		return "none", "", nil
	}
	b, err := turn.EncodeSession(w.Snapshot.Session)
	if err != nil {
		return "", "", fmt.Errorf("append: snapshot: %w", err)
	}
	at, seq, tip := "after", w.Known.Seq+uint64(len(w.Events)), w.Known.Tip
	if h := w.Snapshot.Head; h.Seq == w.Known.Seq && h.Tip == w.Known.Tip && h.Seq > 0 {
		at, seq = "known", w.Known.Seq
	} else if n := len(w.Events); n > 0 {
		tip = w.Events[n-1].Op
	}
	if seq == 0 {
		return "none", "", nil // nothing is folded yet
	}
	return at, fmt.Sprintf("%d %d %s %s\n%s", seq, w.Known.Seq, linkOf(w.Known), cmp.Or(escape(string(tip)), "-"), b), nil
}

func utoa(n uint64) string { return strconv.FormatUint(n, 10) }

func millis(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }

// wakeMillis rounds up: a chat that wakes before its deadline finds nothing to do.
func wakeMillis(t time.Time) string {
	if t.IsZero() {
		return "0"
	}
	return strconv.FormatInt(max(t.Add(time.Millisecond-1).UnixMilli(), 1), 10)
}

func flag(b bool) string {
	if b {
		return "1"
	}
	return "0"
}
