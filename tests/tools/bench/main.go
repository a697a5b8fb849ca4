// Bench measures rows of the performance table. P1 to P4, P12, P14, P17 and P18 are what the budget of a workspace is for: the real engine, the
// real Slack adapter and client, a real redis-server and a real MCP server over HTTP, against the stand-in Slack at its documented
// floors, with a model that writes at a given pace. The others are what the program takes of a machine: it runs built, in a process of its own, and
// everything around it answers at once, but in P7 to P9.
//
//	go run ./tests/tools/bench [-run P2] [-quick] [-replicas 1,4] [-v]
//
// Its words. A [world] is one of everything, with one or several replicas; deliveries go round over them. A [reader] is a person in a
// thread, who sees each version of each message when Slack has it. A token is a word that the model writes; it is visible from the
// first version that shows it.
//
// Realistic: Slack takes 80 ms, the first token comes after 400 ms and each further one after 10 ms (12.5 ms in P2 and P14). Numbers
// of one run compare with each other; absolute times depend on the machine. Nothing here is an assertion.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
)

// bench is how it was called.
type bench struct {
	only     []string // rows; empty: all
	replicas []int
	quick    bool
	verbose  bool
	out      io.Writer
}

// row is one line of the table.
type row struct {
	name, what, must, reach string
	got                     map[int]string // by replicas
}

// measured is what a scenario found for one number of replicas, by row.
type measured map[string]string

// scenario is one run in a world of its own. It fills one or more rows.
type scenario struct {
	rows []string
	run  func(context.Context, *bench, int) (measured, error)
}

func (b *bench) rows() []row {
	return []row{
		{name: "P1", what: "p99 of max(click → decision, last token → final), 40 turns at 1/s, tier floors", must: "0.4 s", reach: "0.1 s"},
		{name: "P2", what: "mean token lag, 8 answers × 2,000 tokens at 80 tok/s, tier floors", must: "3 s", reach: "2.5 s"},
		{name: "P3", what: "429s in P1 / P2 (share of chat.update's floor used in P2)", must: "0 / 0", reach: "0 / 0 (≥ 90 %)"},
		{name: "P4", what: "approval turns a minute that the floors allow (binding method, its calls a turn)", must: "50", reach: "70"},
		{name: "P5", what: "approval turns per second of one processor, 50 chats, everything else answers at once (the program itself; turns/s by the clock)", must: "350 where a floor does 765", reach: "700"},
		{name: "P6", what: "processor time of 1,000 turns (same), and by that of a program that does the least", must: "4 s where the least is 2.2 (1.8 ×)", reach: "1.1 ×"},
		{name: "P7", what: "50 chats, realistic: a mention's or click's acknowledgement, durable before it, p99 (the floor's)", must: "27 ms", reach: "13 ms"},
		{name: "P8", what: "same: from the mention to the first post, without what the model and Slack take, p50 (the floor's)", must: "18 ms", reach: "6 ms"},
		{name: "P9", what: "same: from the click to the decision on the card, without what Slack takes, p50 (the floor's)", must: "7 ms", reach: "4 ms"},
		{name: "P10", what: "resident memory of the program, idle, with 10,000 pending asks", must: "50 MB", reach: "40 MB"},
		{name: "P11", what: "Redis bytes in and out of a turn, of turns 97 to 128 of one chat", must: "20 KB", reach: "4 KB"},
		{name: "P12", what: "Redis round trips of a turn in P1, the edit budget's among them (of an idle second, taken off) / of one turn alone, looks at the settings with them", must: "8", reach: "6"},
		{name: "P13", what: "Redis bytes that a pending ask holds, with everything (same)", must: "1,500", reach: "1,000"},
		{name: "P14", what: "Slack calls (chat.*, and others) and bytes for one 2,000-token answer (mean lag, want ≤ 0.6 s)", must: "27, 300 KB", reach: "27"},
		{name: "P15", what: "from the start of the program to the first event that it acknowledges, median of five; size, stripped", must: "60 ms; 42 MB", reach: "20 ms; 30 MB"},
		{name: "P16", what: "runs of the tool for a double click, of 200", must: "1.00", reach: ""},
		{name: "P17", what: "70 asks in 2 s: cards shown with ≥ 90 % of their time left, last card, last click → decision, 429s", must: "70, 6 s, 0.2 s", reach: "70"},
		{name: "P18", what: "8 mentions at once in a channel: last first sign, last first post, 429s (that ask; that answer)", must: "0.3 s, 4 s, 0", reach: "0.3 s, 4 s, 0"},
		{name: "P20", what: "the page, of the last replica: bytes into Redis for an answer of 20 KB / of 1 MB in 20 s each that the first one gives, by its text", must: "3 × / 3 ×", reach: ""},
		{name: "P22", what: "turns 481 to 512 of a chat by turns 33 to 64: commands, bytes, processor time, time", must: "1.2 each", reach: "1"},
		{name: "P19", what: "all replicas killed with 10,000 pending asks and 1,000 overdue: ready, first click → decision then, overdue ones settled (processor time of one)", must: "1 s together, 500/s", reach: ""},
		{name: "P23", what: "two opposite clicks on each of those 10,000: how many count", must: "10,000 of 10,000", reach: ""},
		{name: "P24", what: "10,000 events, each 1–4 times, shuffled, to three replicas, 5 % of answers cut: lost, twice", must: "0, 0", reach: ""},
		{name: "P25", what: "320 mentions in 9 s, each to its end: acknowledged p99, leases lost", must: "1 s, 0", reach: ""},
		{name: "P26", what: "100,000 sleeping chats by none: a start, bytes of a second of nothing, of a question with its reminder", must: "1 each", reach: ""},
	}
}

var scenarios = []scenario{
	{[]string{"P1", "P3", "P4", "P12"}, turns},
	{[]string{"P12"}, oneTurn},
	{[]string{"P2", "P3"}, answers},
	{[]string{"P14"}, single},
	{[]string{"P17"}, asksAtOnce},
	{[]string{"P18"}, mentionsAtOnce},
	{[]string{"P5", "P6"}, unhurried},
	{[]string{"P10", "P13"}, pending},
	{[]string{"P7", "P8", "P9"}, realistic},
	{[]string{"P15"}, shipped},
	{[]string{"P16"}, doubleClicks},
	{[]string{"P20"}, paged},
	{[]string{"P11", "P22"}, growth},
	{[]string{"P19", "P23"}, restart},
	{[]string{"P24"}, events},
	{[]string{"P25"}, mentions},
	{[]string{"P26"}, sleeping},
}

func main() {
	b := bench{out: os.Stdout}
	run, replicas := flag.String("run", "", "rows to measure, such as P2 or P1,P3; all when empty"), flag.String("replicas", "1,4", "numbers of replicas")
	flag.BoolVar(&b.quick, "quick", false, "a fraction of the load: to see that it works, not to compare")
	flag.BoolVar(&b.verbose, "v", false, "what each scenario did")
	flag.Parse()
	if *run != "" {
		b.only = strings.Split(*run, ",")
	}
	for _, n := range strings.Split(*replicas, ",") {
		i, err := strconv.Atoi(n)
		if err != nil || i < 1 {
			fmt.Fprintln(os.Stderr, "bench: -replicas wants numbers such as 1,4")
			os.Exit(2)
		}
		b.replicas = append(b.replicas, i)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := b.measure(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func (b *bench) wants(names ...string) bool {
	return len(b.only) == 0 || slices.ContainsFunc(names, func(n string) bool { return slices.Contains(b.only, n) })
}

// measure runs what is wanted and prints the table, also after an error, as far as it came.
func (b *bench) measure(ctx context.Context) error {
	rows := b.rows()
	var failed error
	for _, s := range scenarios {
		if !b.wants(s.rows...) {
			continue
		}
		for _, n := range b.replicas {
			got, err := s.run(ctx, b, n)
			if err != nil {
				failed = errors.Join(failed, fmt.Errorf("%s with %d replicas: %w", s.rows[0], n, err))
			}
			for i := range rows {
				add(&rows[i], n, got[rows[i].name])
			}
			if ctx.Err() != nil {
				return errors.Join(failed, ctx.Err())
			}
		}
	}
	b.print(rows)
	return failed
}

// add puts what several scenarios say of one row side by side.
func add(r *row, replicas int, got string) {
	if got == "" {
		return
	}
	if r.got == nil {
		r.got = map[int]string{}
	}
	if r.got[replicas] != "" {
		got = r.got[replicas] + " / " + got
	}
	r.got[replicas] = got
}

func (b *bench) print(rows []row) {
	w := tabwriter.NewWriter(b.out, 0, 0, 2, ' ', 0)
	head := "#\tmetric\tmust\treach"
	for _, n := range b.replicas {
		head += fmt.Sprintf("\t%d replica(s)", n)
	}
	fmt.Fprintln(w, head)
	for _, r := range rows {
		if len(r.got) == 0 {
			continue
		}
		line := strings.Join([]string{r.name, r.what, r.must, r.reach}, "\t")
		for _, n := range b.replicas {
			line += "\t" + r.got[n]
		}
		fmt.Fprintln(w, line)
	}
	_ = w.Flush() // the terminal may have gone
}

// say tells what happens, to whoever asked for it.
func (b *bench) say(format string, args ...any) {
	if b.verbose {
		fmt.Fprintf(b.out, format+"\n", args...)
	}
}
