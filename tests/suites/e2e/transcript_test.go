package e2e

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
)

// One scenario, told on every surface: the same people say and press the same, the same model answers, the same tools run, and what the
// bot shows and tells is compared word by word, with the same expectation for all of them.
//
// A scenario is a transcript in testdata/transcripts, to be read like a play. Its lines:
//
//	# words for the reader
//	Ana says: write it down                 the first is to the bot, and opens the chat; the next ones go on in it
//	Ana commands: mode always               about settings; on Discord with "/", on Slack after a mention
//	Ada commands, until it says WORD: …     again and again, for what a server tells in its own time
//	Ana starts over                         what was said and allowed in the chat counts no longer
//	Ana presses Allow once                  and confirms it where that is asked for; on the bot's newest message; with several of that label: "the 2nd Allow once"
//	Ben presses the old Allow once          on the message as it was at the last "bot asks", which Ben still has on the screen
//	Ana fills in Deny with a reason…: why   a form that a button opens
//	at once: Ana presses Deny, Ada presses Allow once
//	Ben is told: Only Ana …                 in private, all of it
//	one of Ana, Ada is told: Already
//	model: says WORDS                       the model's next answer; "says 300 words" is a long one
//	model: calls write {"path":"a"} and write {"path":"b"}
//	model reads: WORDS                      they stand in what the model was sent
//	tool ran: write {"path":"a"}            waits for it ("and" joins several); all that ran so far is what these lines say
//	tool ran just if allowed: write {…}     if, and only if, the bot's newest message says that it was allowed
//	no tool ran                             nothing since the last such line
//	bot asks:  bot shows:  message 1 shows: the bot's newest message, or its first, becomes just what is indented below;
//	or:                                     or what is indented here
//
// Ana asks; Ben is another member; Ada is an administrator. On the web people are sessions.
//
// What is compared is what a message says, in a fixed order, and not how it is laid out: words of the model, steps with mark, tool, server
// and outcome, cards with what they ask, arguments and answers, quiet lines, other buttons. Not compared are times and how long
// things took, and what a surface offers for looking at details, which each does in its own way.
//
// With -update-transcripts what the web shows is written into the transcripts, to be read and committed.

var updateTranscripts = flag.Bool("update-transcripts", false, "write what the bot shows on the web into the transcripts")

// The surfaces and how to open them. One bot tells all transcripts of its surface, one after another: the model's answers are queued.
var surfaces = []struct {
	name string
	open func(testing.TB) surface
	bots int // between which the transcripts are divided: five edits in five seconds are all that Discord takes
}{{"web", openWeb, 1}, {"Slack", openSlack, 1}, {"Discord", openDiscord, 4}}

// transcriptYAML is the configuration on every surface. A call of the tool mutable expires soon, others do not while the test runs.
const transcriptYAML = `
approvals: {timeout: 1h, nudge_after: 1h}
permissions:
  servers:
    box:
      tools:
        echo: {ask: never}
        mutable: {timeout: 10s}
`

// R2/.*/mode_always R2/.*/mode_never R42/.*/reset R43/.*/remember R79/.*/allow_once R80/.*/allow_once R81/.*/allow_once
// R87/.*/allow_once R94/.*/allow_once R104/.*/two_calls_each R105/.*/two_calls_all R106/.*/approve_session R124/.*/deny
// R124/.*/deny_reason R125/.*/deny R125/.*/expired R125/.*/remember R141/.*/allow_once R141/.*/deny R149/.*/mode_always
// R173/.*/revoke R174/.*/undo
func TestTranscripts(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob(filepath.Join("testdata", "transcripts", "*.txt"))
	if err != nil || len(files) < 10 {
		t.Fatalf("%d transcripts: %v", len(files), err)
	}
	for _, s := range surfaces {
		if *updateTranscripts && s.name != "web" {
			continue
		}
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			var beside sync.WaitGroup
			defer beside.Wait()
			for part := range slices.Chunk(files, (len(files)-1)/s.bots+1) {
				on := s.open(t)
				tellFile(t, on, filepath.Join("testdata", "accepted.txt"))
				beside.Go(func() {
					for _, file := range part {
						name := strings.TrimSuffix(filepath.Base(file), ".txt")
						if !t.Run(name, func(t *testing.T) { tellFile(t, on, file) }) {
							return // what it leaves in the bot (a halt) would fail the others, two minutes each
						}
					}
				})
			}
		})
	}
}

func tellFile(t *testing.T, on surface, file string) {
	p := readPlay(t, file)
	perform(t, on, p)
	if *updateTranscripts && !t.Failed() {
		if err := os.WriteFile(file, []byte(p.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// play is a transcript as it was read.
type play struct{ lines []line }

// line is one line of it, with the indented ones below.
type line struct {
	at    string // file:number
	text  string
	below []string
	do    func(*stage, []string) // nil: nothing is done
	args  []string
}

// verbs are what lines can say.
var verbs = []struct {
	form *regexp.Regexp
	do   func(*stage, []string)
}{
	{regexp.MustCompile(`^$|^#|^model: (?:says|calls) .+$`), nil}, // the model's answers are queued before
	{regexp.MustCompile(`^(Ana|Ben|Ada) says: (.+)$`), (*stage).says},
	{regexp.MustCompile(`^(Ana|Ben|Ada) commands: (.+)$`), (*stage).commands},
	{regexp.MustCompile(`^(Ana|Ben|Ada) commands, until it says (.+?): (.+)$`), (*stage).commandsUntil},
	{regexp.MustCompile(`^(Ana|Ben|Ada) starts over$`), (*stage).startsOver},
	{regexp.MustCompile(`^(Ana|Ben|Ada) presses (the old )?(?:the (\d)\w\w )?(.+)$`), (*stage).presses},
	{regexp.MustCompile(`^(Ana|Ben|Ada) fills in (.+?): (.+)$`), (*stage).fillsIn},
	{regexp.MustCompile(`^at once: (Ana|Ben|Ada) presses (.+), (Ana|Ben|Ada) presses (.+)$`), (*stage).atOnce},
	{regexp.MustCompile(`^(Ana|Ben|Ada) is told: (.+)$`), (*stage).isTold},
	{regexp.MustCompile(`^one of (Ana|Ben|Ada), (Ana|Ben|Ada) is told: (.+)$`), (*stage).oneIsTold},
	{regexp.MustCompile(`^model reads: (.+)$`), (*stage).modelReads},
	{regexp.MustCompile(`^tool ran: (\w+ \{.*\})$`), (*stage).toolRan},
	{regexp.MustCompile(`^tool ran just if allowed: (\w+ \{.*\})$`), (*stage).ranIfAllowed},
	{regexp.MustCompile(`^no tool ran$`), (*stage).noToolRan},
	{regexp.MustCompile(`^(?:bot (shows|asks)|message (\d) shows):$`), (*stage).shows},
	{regexp.MustCompile(`^or:$`), nil}, // read with the line above
}

// readPlay reads a transcript and refuses what it does not understand.
func readPlay(t testing.TB, file string) *play {
	t.Helper()
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	p := &play{}
	for i, text := range strings.Split(strings.TrimSuffix(string(raw), "\n"), "\n") {
		at := fmt.Sprintf("%s:%d", file, i+1)
		if below, ok := strings.CutPrefix(text, "  "); ok && len(p.lines) > 0 {
			last := &p.lines[len(p.lines)-1]
			last.below = append(last.below, below)
			continue
		}
		l := line{at: at, text: text}
		understood := false
		for _, v := range verbs {
			if m := v.form.FindStringSubmatch(text); m != nil {
				l.do, l.args, understood = v.do, m[1:], true
				break
			}
		}
		if !understood {
			t.Fatalf("%s: not understood: %s", at, text)
		}
		p.lines = append(p.lines, l)
	}
	return p
}

func (p *play) String() string {
	var out strings.Builder
	for _, l := range p.lines {
		out.WriteString(l.text + "\n")
		for _, b := range l.below {
			out.WriteString("  " + b + "\n")
		}
	}
	return out.String()
}
