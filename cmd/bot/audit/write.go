package audit

import (
	"encoding/csv"
	"encoding/json"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/nodhq/nod/cmd/bot/command"
	"github.com/nodhq/nod/core/agent/audit"
	"github.com/nodhq/nod/core/text"
)

// recordWriter prints records in one form. end prints what is still held back; writing may go on after it.
type recordWriter interface {
	write(audit.Record) error
	end() error
}

func newRecordWriter(out io.Writer, form string) recordWriter {
	switch form {
	case "csv":
		return &csvRecords{w: csv.NewWriter(out)}
	case "text":
		return textRecords{out}
	}
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	return jsonRecords{enc}
}

type jsonRecords struct{ *json.Encoder }

func (j jsonRecords) write(r audit.Record) error { return j.Encode(r) }
func (j jsonRecords) end() error                 { return nil }

// column is a column of the CSV form, in the order and by the names of the JSON form.
type column struct {
	name string
	of   func(audit.Record) string
}

var columns = []column{
	{"chat", func(r audit.Record) string { return r.Chat }},
	{"seq", func(r audit.Record) string { return strconv.FormatUint(r.Seq, 10) }},
	{"at", func(r audit.Record) string { return r.At.UTC().Format(time.RFC3339Nano) }},
	{"kind", func(r audit.Record) string { return r.Kind }},
	{"outcome", func(r audit.Record) string { return r.Outcome }},
	{"by", func(r audit.Record) string { return user(r.By.IsZero(), r.By.String()) }},
	{"name", func(r audit.Record) string { return r.Name }},
	{"surface", func(r audit.Record) string { return r.Surface }},
	{"requester", func(r audit.Record) string { return user(r.Requester.IsZero(), r.Requester.String()) }},
	{"turn", func(r audit.Record) string { return string(r.Turn) }},
	{"call", func(r audit.Record) string { return string(r.Call) }},
	{"ask", func(r audit.Record) string { return string(r.Ask) }},
	{"run", func(r audit.Record) string { return string(r.Run) }},
	{"server", func(r audit.Record) string { return r.Server }},
	{"tool", func(r audit.Record) string { return r.Tool }},
	{"def", func(r audit.Record) string { return string(r.Definition) }},
	{"access", func(r audit.Record) string { return r.Access }},
	{"risk", func(r audit.Record) string { return r.Risk }},
	{"level", func(r audit.Record) string { return r.Level }},
	{"choice", func(r audit.Record) string { return r.Choice }},
	{"rule", func(r audit.Record) string { return r.Rule }},
	{"why", func(r audit.Record) string { return r.Why }},
	{"grant", func(r audit.Record) string { return string(r.Grant) }},
	{"digest", func(r audit.Record) string { return string(r.Digest) }},
	{"args", func(r audit.Record) string { return r.Args }},
	{"redacted", func(r audit.Record) string { return digits(r.Redacted) }},
	{"ms", func(r audit.Record) string { return digits(int(r.MS)) }},
	{"note", func(r audit.Record) string { return r.Note }},
}

func user(nobody bool, name string) string {
	if nobody {
		return ""
	}
	return name
}

func digits(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

type csvRecords struct {
	w     *csv.Writer
	begun bool
}

func (c *csvRecords) head() error {
	if c.begun {
		return nil
	}
	c.begun = true
	var row []string
	for _, x := range columns {
		row = append(row, x.name)
	}
	return c.w.Write(row)
}

func (c *csvRecords) write(r audit.Record) error {
	if err := c.head(); err != nil {
		return err
	}
	row := make([]string, len(columns))
	for i, x := range columns {
		row[i] = cell(x.of(r))
	}
	return c.w.Write(row)
}

func (c *csvRecords) end() error {
	err := c.head()
	c.w.Flush()
	if err == nil {
		err = c.w.Error()
	}
	return err
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

// textRecords is the form for people at a terminal: one line for each record.
type textRecords struct{ out io.Writer }

func (t textRecords) end() error { return nil }

const textArgs = 160 // characters of arguments on a line

func (t textRecords) write(r audit.Record) error {
	what := r.Tool
	if r.Server != "" {
		what = r.Server + "/" + r.Tool
	}
	parts := []string{r.At.UTC().Format("2006-01-02 15:04:05Z"), r.Kind + " " + r.Outcome}
	for _, x := range []struct{ before, value string }{
		{"by ", r.Name}, {"", user(r.By.IsZero(), r.By.String())}, {"", strings.TrimSuffix(what, "/")}, {"", text.Shorten(r.Args, textArgs)},
		{"choice ", r.Choice}, {"rule ", r.Rule}, {"grant ", string(r.Grant)}, {"note ", r.Note}, {"chat ", r.Chat + " #" + strconv.FormatUint(r.Seq, 10)},
	} {
		if x.value != "" {
			parts = append(parts, x.before+command.OneLine(x.value))
		}
	}
	if r.MS > 0 {
		parts = append(parts, text.Took(time.Duration(r.MS)*time.Millisecond))
	}
	_, err := io.WriteString(t.out, strings.Join(parts, "  ")+"\n")
	return err
}
