// Package person is the commands nod person and nod hold: they print what is kept about one person (export), delete what can be deleted (delete),
// and keep a chat or a person's chats from being dropped (hold).
//
// All walk all chats. What a chat's log holds about somebody is derived in core/agent/person; which of it goes, and why the rest stays, is
// decided in delete.go and explained in docs/decisions/0023; what a hold is, in core/agent. Start at [Commands].
package person

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/nodhq/nod/cmd/bot/command"
	"github.com/nodhq/nod/cmd/bot/config"
	"github.com/nodhq/nod/cmd/bot/parts"
	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/agent/person"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/core/text"
	"github.com/nodhq/nod/state"
)

// run is one run of a command about a person.
type run struct {
	command.Process
	out     string
	yes     bool
	config  config.Config
	log     *slog.Logger
	store   *state.Store
	who     chat.User
	broken  int // logs that do not hold, or cannot be read
	names   map[string]bool
	instead string               // what else does where a bot runs on the embedded store
	seen    map[chat.User]string // everybody, and what they were called last
}

// Commands is nod person. Codes: 0 done; 1 nothing is kept about that person, or something could not be read; 2 the command line or the
// configuration is wrong.
func Commands(p *command.Process) *cobra.Command {
	r := run{}
	export := p.Command("export PERSON", "print all that is kept about a person, as JSON; nod may run meanwhile", func(p command.Process, words []string) int {
		return r.about(p, words[0], parts.OpenToRead, (*run).export)
	})
	export.Flags().StringVarP(&r.out, "o", "o", "", "write to `FILE`, which is new and which only its owner may read")
	remove := p.Command("delete PERSON", "print what would be deleted of a person, and what stays and why; with -yes, delete it", func(p command.Process, words []string) int {
		open := parts.OpenToRead
		if r.yes {
			open = parts.OpenToWrite
		}
		return r.about(p, words[0], open, (*run).remove)
	})
	remove.Flags().BoolVar(&r.yes, "yes", false, "do it")
	for _, c := range []*cobra.Command{export, remove} {
		c.Long = strings.ToUpper(c.Short[:1]) + c.Short[1:] + ".\nPERSON is written as in the configuration: slack:T1:U9, discord::1234, web::ana."
	}
	return command.Group("person", "what is kept about one person", export, remove)
}

// opener opens the store.
type opener func(context.Context, config.Config, *slog.Logger) (*state.Store, error)

// about does something about the person that is named.
func (r run) about(p command.Process, who string, open opener, do func(*run, context.Context) error) int {
	return r.do(p, open, func(r *run, ctx context.Context) (err error) {
		if r.who, err = chat.ParseUser(who); err == nil {
			return do(r, ctx)
		}
		if err = r.each(ctx, func(chat.ID, person.Chat, uint64) error { return nil }); err == nil {
			err = command.Mistake(fmt.Errorf("%q is no person: write them as the configuration does, such as slack:T1:U9 or web::ana%s", who, r.meant(who)))
		}
		return err
	})
}

func (r run) do(p command.Process, open opener, do func(*run, context.Context) error) int {
	r.Process, r.names, r.seen = p, map[string]bool{}, map[chat.User]string{}
	c, ok := p.Load()
	if !ok {
		return command.Usage
	}
	ctx, release := p.Context()
	defer release()
	r.config, r.log = c, slog.New(slog.NewTextHandler(p.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})) // what went well needs no words
	var err error
	if r.store, err = open(ctx, c, r.log); err == nil {
		defer func() { _ = r.store.Close() }()
		err = do(&r, ctx)
	}
	if err = parts.InUse(c, err, "stop it first"+r.instead); err == nil && r.broken > 0 {
		return command.Fail
	}
	return p.End(err)
}

// each gives what every chat holds about the person, in the order of the chats' names, and notes who else there is. A log that does not hold is
// named, and what was read of it up to there counts.
func (r *run) each(ctx context.Context, take func(id chat.ID, c person.Chat, seq uint64) error) error {
	n := 0
	err := r.store.EachChat(ctx, func(id chat.ID) error {
		if n++; n%1000 == 0 {
			fmt.Fprintf(r.Stderr, "person: %d chats so far\n", n)
		}
		of, head, err := r.read(ctx, id)
		if err = r.report(err); err != nil {
			return err
		}
		maps.Copy(r.seen, of.Names)
		c, names, ok := of.Chat(time.Now())
		for _, name := range names {
			r.names[name] = true
		}
		if !ok {
			return nil
		}
		return take(id, c, head.Seq)
	})
	return r.report(err)
}

// read reads a chat's log, as far as it holds.
func (r *run) read(ctx context.Context, id chat.ID) (*person.Reader, agent.Head, error) {
	of := person.NewReader(id, r.who)
	head, err := r.store.Walk(ctx, id, func(e turn.Entry, _ agent.Head) error {
		of.Take(e)
		return ctx.Err()
	})
	return of, head, err
}

// report names a log that does not hold, and lets the walk go on.
func (r *run) report(err error) error {
	if errors.Is(err, state.ErrBroken) || errors.Is(err, agent.ErrVersion) {
		r.broken++
		fmt.Fprintln(r.Stderr, "broken:", err)
		return nil
	}
	return err
}

// meant says who may be meant by what nobody is called.
func (r *run) meant(said string) string {
	var known []string
	for u, name := range r.seen {
		switch {
		case strings.EqualFold(said, name), strings.EqualFold(said, u.Key):
			return fmt.Sprintf("; did you mean %s (%s)?", u, text.OneLine(name))
		case u.Key != "":
			known = append(known, u.String())
		}
	}
	slices.Sort(known)
	return config.Suggest(said, known)
}

// page is what the page keeps of somebody who signs in there.
type page struct {
	Chats    []chat.Listed   `json:"chats,omitempty"`    // their list, with the titles
	Provider json.RawMessage `json:"provider,omitempty"` // what it said of them: groups, and until when that counts
	Sessions []session       `json:"sessions,omitempty"`

	hashes []string // of the sessions' keys
}

// session is one as the page stores it, without what opened it.
type session struct {
	User   string    `json:"user"`
	Of     string    `json:"of,omitempty"`
	Place  string    `json:"place,omitempty"`
	Name   string    `json:"name,omitempty"`
	Admin  bool      `json:"admin,omitempty"`
	Opened time.Time `json:"opened,omitzero"`
	Seen   time.Time `json:"seen,omitzero"`
	Device string    `json:"device,omitempty"` // the push service by which its browser is notified: the address and the keys are secrets
}

func (p page) none() bool {
	return len(p.Chats) == 0 && len(p.Provider) == 0 && len(p.Sessions) == 0
}

// shelf is the name under which the page keeps what is theirs, also of people who sign in by their platform.
func (r *run) shelf() string {
	if r.who.Platform == "web" {
		return r.who.Key
	}
	return r.who.String()
}

func (r *run) page(ctx context.Context) (page, error) {
	chats, noChats := r.store.Chats(ctx, r.shelf())
	provider, noProvider := r.store.Person(ctx, r.shelf())
	p := page{Chats: chats, Provider: provider}
	all, noSessions := r.store.Sessions(ctx)
	devices, noDevices := r.store.Pushes(ctx)
	for _, hash := range slices.Sorted(maps.Keys(all)) {
		var x session
		if json.Unmarshal(all[hash], &x) == nil && (chat.User{Platform: cmp.Or(x.Of, "web"), Workspace: x.Place, Key: x.User}) == r.who {
			var device struct{ Endpoint string }
			if json.Unmarshal(devices[hash], &device) == nil {
				if at, err := url.Parse(device.Endpoint); err == nil {
					x.Device = at.Host
				}
			}
			p.Sessions, p.hashes = append(p.Sessions, x), append(p.hashes, hash)
		}
	}
	return p, cmp.Or(noChats, noProvider, noSessions, noDevices)
}

// named reports whether a list, or a line of the configuration, has the person in it.
func (r *run) named(in string) bool {
	return slices.Contains(strings.FieldsFunc(in, func(c rune) bool { return strings.ContainsRune(" ,[]\"'\n", c) }), r.who.String())
}

// configured are the lines of the configuration that name the person.
func (r *run) configured() (lines []string, err error) {
	var all strings.Builder
	err = r.config.Write(&all)
	for line := range strings.Lines(all.String()) {
		if r.named(line) {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	for _, k := range r.config.Web.SessionKeys {
		if r.who == (chat.User{Platform: "web", Key: k.Name}) {
			lines = append(lines, "web.session_keys: name: "+k.Name)
		}
	}
	return lines, err
}

// settings are what people set, as their log stands.
func (r *run) settings(ctx context.Context) (permission.Settings, error) {
	snap, tail, _, err := r.store.Load(ctx, agent.SettingsChat)
	if s := turn.Fold(snap.Session, tail).Settings; s != nil {
		return *s, err
	}
	return permission.Settings{}, err
}

// naming are the settings that name the person: as an approver, say.
func (r *run) naming(s permission.Settings) (lines []string) {
	for _, x := range s.Set {
		if r.named(x.Value) {
			lines = append(lines, x.String())
		}
	}
	return lines
}

// elsewhere is what an export does not look at.
var elsewhere = []string{
	"what tools answered in calls made for this person, and what others and the model wrote about them",
	"the bytes of files and pictures beside the chats, and the counts of limits.person, which fade within a day",
	"what Slack, Discord, the model's provider and the tool servers keep themselves",
	"backups, exports and anchors that were made before, nod's own log on standard error, and other people's sessions under the same name",
}

func (r *run) export(ctx context.Context) error {
	n := 0
	write := func(w io.Writer) (err error) {
		n, err = r.document(ctx, w)
		return err
	}
	if r.out == "" {
		return write(r.Stdout)
	}
	if err := command.WriteFile(r.out, false, write); err != nil {
		return err
	}
	fmt.Fprintf(r.Stdout, "%s: %s.\n", r.out, command.Count(n, "chat", "chats"))
	return nil
}

// document prints a document part by part, so that it may be larger than memory, and gives how many chats are in it.
func (r *run) document(ctx context.Context, w io.Writer) (n int, err error) {
	d := document{w: w}
	begin := func() {
		d.field("person", r.who)
		d.field("at", time.Now().UTC().Truncate(time.Second))
		d.open("chats")
	}
	err = r.each(ctx, func(_ chat.ID, c person.Chat, _ uint64) error {
		if n++; n == 1 {
			begin()
		}
		d.item(c)
		return d.err
	})
	if err != nil {
		return n, err
	}
	p, noPage := r.page(ctx)
	inConfig, noConfig := r.configured()
	set, noSettings := r.settings(ctx)
	inSettings := r.naming(set)
	if err = cmp.Or(noPage, noConfig, noSettings); err != nil {
		return n, err
	}
	switch {
	case n == 0 && p.none() && len(inConfig) == 0 && len(inSettings) == 0:
		return n, fmt.Errorf("nothing is kept about %s%s", r.who, r.meant(r.who.String()))
	case n == 0:
		begin()
	}
	d.close()
	d.field("names", slices.Sorted(maps.Keys(r.names)))
	d.field("page", p)
	d.field("settings", append([]string{}, inSettings...))
	d.field("configuration", append([]string{}, inConfig...))
	d.field("not_looked_at", elsewhere)
	d.end()
	return n, d.err
}

// document is one JSON object, written as it comes, for people to read.
type document struct {
	w     io.Writer
	err   error
	after string // what stands before the next part
}

func (d *document) print(s string) {
	if d.err == nil {
		_, d.err = io.WriteString(d.w, s)
	}
}

func (d *document) value(indent string, v any) {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent(indent, "  ")
	if err := enc.Encode(v); err != nil {
		d.err = errors.Join(d.err, err)
	}
	d.print(strings.TrimSuffix(b.String(), "\n"))
}

func (d *document) field(name string, v any) {
	d.key(name)
	d.value("  ", v)
}

func (d *document) key(name string) {
	if d.after == "" {
		d.print("{")
	}
	d.print(fmt.Sprintf("%s\n  %q: ", d.after, name))
	d.after = ","
}

func (d *document) open(name string) {
	d.key(name)
	d.print("[")
	d.after = "\n    "
}

func (d *document) item(v any) {
	d.print(d.after)
	d.value("    ", v)
	d.after = ",\n    "
}

func (d *document) close() {
	d.print("\n  ]")
	d.after = ","
}

func (d *document) end() { d.print("\n}\n") }
