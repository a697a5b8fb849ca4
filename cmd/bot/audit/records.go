package audit

import (
	"cmp"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/nodhq/nod/cmd/bot/command"
	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/agent/audit"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/text"
	"github.com/nodhq/nod/state"
)

const (
	tailRecords = 50
	followEvery = time.Second
)

// isOfOneLog reports whether an error says something of one chat's log and nothing of the others.
func isOfOneLog(err error) bool {
	return errors.Is(err, state.ErrBroken) || errors.Is(err, agent.ErrVersion)
}

// records gives the records of a chat after an entry, those that the filter takes, up to the first entry that does not hold.
func (a *auditor) records(ctx context.Context, id chat.ID, after uint64, take func(audit.Record) error) (agent.Head, error) {
	fold := audit.NewAuditor(id)
	return a.store.Walk(ctx, id, func(e turn.Entry, _ agent.Head) error {
		for _, r := range fold.Take(e) {
			if r.Seq <= after || !a.only.Match(r) {
				continue
			}
			if err := take(r); err != nil {
				return err
			}
		}
		return ctx.Err()
	})
}

func (a *auditor) export(ctx context.Context) error {
	w := newRecordWriter(a.Stdout, cmp.Or(a.format, "jsonl"))
	if _, err := a.chats(ctx, func(id chat.ID) error {
		_, err := a.records(ctx, id, 0, w.write)
		return err
	}); err != nil {
		return err
	}
	return w.end()
}

// tail prints the newest records, the newest last, and with -follow those to come, until ctx ends. Where the chats stand it asks again and
// again: signals may be lost, and a chat that is new sends none that anybody could wait for.
func (a *auditor) tail(ctx context.Context) error {
	w := newRecordWriter(a.Stdout, cmp.Or(a.format, "text"))
	seen := map[chat.ID]uint64{}
	tick := time.NewTicker(followEvery)
	defer tick.Stop()
	for first, lost := true, false; ; first = false {
		stands, err := a.store.Stands(ctx)
		if first {
			err = a.report(err) // what is broken is told once
		}
		var records []audit.Record
		if err == nil || isOfOneLog(err) {
			records, err = a.since(ctx, stands, seen, first)
		}
		for _, r := range records {
			if err := w.write(r); err != nil {
				return err
			}
		}
		if unwritten := w.end(); unwritten != nil || !a.follow || first && err != nil {
			return cmp.Or(err, unwritten)
		}
		if err != nil && !lost && ctx.Err() == nil { // whoever sends them on is still there when Redis comes back, and misses nothing
			fmt.Fprintln(a.Stderr, "audit: the store cannot be read, and is asked again until it can:", err)
		}
		lost = err != nil
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

// since gives the records of the chats behind the entries that were seen of them, in order, those that it could read also where it fails. At
// first they are the newest of all, and it reads no chat that has been silent for longer than the oldest of them.
func (a *auditor) since(ctx context.Context, stands []state.Stand, seen map[chat.ID]uint64, first bool) (out []audit.Record, err error) {
	most := cmp.Or(a.n, tailRecords)
	if a.n == 0 && !a.only.Since.IsZero() { // whoever goes on after a stop misses none
		most = math.MaxInt
	}
	there := map[chat.ID]bool{}
	for _, s := range stands {
		was := seen[s.Chat]
		seen[s.Chat], there[s.Chat] = s.Seq, true
		switch {
		case s.Seq == was, a.only.Chat != "" && a.only.Chat != s.Chat.String():
			continue
		case s.Seq < was:
			fmt.Fprintf(a.findings, "broken: chat %s: it stood at entry %d and now stands at %d\n", s.Chat, was, s.Seq)
			a.broken++
			continue
		case first && (s.At.Before(a.only.Since) || len(out) == most && s.At.Before(out[0].At)):
			continue
		}
		head, err := a.records(ctx, s.Chat, was, func(r audit.Record) error {
			out = append(out, r)
			return nil
		})
		seen[s.Chat] = max(s.Seq, head.Seq) // what is broken is told once
		if err = a.report(err); err != nil {
			seen[s.Chat] = max(was, head.Seq)
		}
		// What has the same time keeps the order of its log.
		slices.SortStableFunc(out, func(x, y audit.Record) int {
			return cmp.Or(x.At.Compare(y.At), cmp.Compare(x.Chat, y.Chat), cmp.Compare(x.Seq, y.Seq))
		})
		if first {
			out = out[max(0, len(out)-most):]
		}
		if err != nil {
			return out, err
		}
	}
	maps.DeleteFunc(seen, func(id chat.ID, _ uint64) bool { return !there[id] }) // what is gone may begin anew
	return out, nil
}

// recordWriter prints records in one form. end prints what is still held back; writing may go on after it.
type recordWriter struct {
	write func(audit.Record) error
	end   func() error
}

func newRecordWriter(out io.Writer, form string) recordWriter {
	nothing := func() error { return nil }
	switch form {
	case "csv":
		return csvWriter(csv.NewWriter(out))
	case "text":
		return recordWriter{func(r audit.Record) error {
			_, err := io.WriteString(out, textLine(r))
			return err
		}, nothing}
	}
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	return recordWriter{func(r audit.Record) error { return enc.Encode(r) }, nothing}
}

// fieldText is a field's value; empty where there is none.
func fieldText(v reflect.Value) string {
	switch x := v.Interface().(type) {
	case time.Time:
		return x.UTC().Format(time.RFC3339Nano)
	case chat.User:
		return userName(x)
	}
	switch {
	case v.IsZero():
		return ""
	case v.CanInt():
		return strconv.FormatInt(v.Int(), 10)
	case v.CanUint():
		return strconv.FormatUint(v.Uint(), 10)
	}
	return v.String()
}

func userName(u chat.User) string {
	if u.IsZero() {
		return ""
	}
	return u.String()
}

// csvWriter has a column for each field of a record, in the order and by the names of the JSON form.
func csvWriter(w *csv.Writer) recordWriter {
	row := func(of func(reflect.StructField) string) error {
		var cells []string
		for _, f := range reflect.VisibleFields(reflect.TypeFor[audit.Record]()) {
			cells = append(cells, of(f))
		}
		return w.Write(cells)
	}
	head := row(func(f reflect.StructField) string {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		return name
	})
	return recordWriter{
		write: func(r audit.Record) error {
			return row(func(f reflect.StructField) string { return cell(fieldText(reflect.ValueOf(r).FieldByIndex(f.Index))) })
		},
		end: func() error {
			w.Flush()
			return cmp.Or(head, w.Error())
		},
	}
}

// formulas begin what a spreadsheet would compute instead of show: https://owasp.org/www-community/attacks/CSV_Injection
const formulas = "=+-@\t\r\n＝＋－＠"

// cell is a value as a spreadsheet shows it: with an apostrophe before what it would run, and hidden characters visible. Names of
// people, tools and servers, and arguments, come from outside.
func cell(s string) string {
	s, _ = text.Visible(s)
	if at := strings.TrimLeft(s, " "); s != "" && (at == "" || strings.ContainsRune(formulas, []rune(at)[0])) {
		return "'" + s
	}
	return s
}

const textArgs = 160 // characters of arguments on a line

// textLine is the form for people at a terminal.
func textLine(r audit.Record) string {
	what := r.Tool
	if r.Server != "" {
		what = r.Server + "/" + r.Tool
	}
	parts := []string{r.At.UTC().Format("2006-01-02 15:04:05Z"), r.Kind + " " + r.Outcome}
	for _, x := range []struct{ before, value string }{
		{"by ", r.Name}, {"", userName(r.By)}, {"", strings.TrimSuffix(what, "/")}, {"", text.Shorten(r.Args, textArgs)},
		{"choice ", r.Choice}, {"rule ", r.Rule}, {"grant ", string(r.Grant)}, {"note ", r.Note}, {"chat ", r.Chat + " #" + strconv.FormatUint(r.Seq, 10)},
	} {
		if x.value != "" {
			parts = append(parts, x.before+command.OneLine(x.value))
		}
	}
	if r.MS > 0 {
		parts = append(parts, text.Took(time.Duration(r.MS)*time.Millisecond))
	}
	return strings.Join(parts, "  ") + "\n"
}
