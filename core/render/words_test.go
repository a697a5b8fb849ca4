package render_test

import (
	"strings"
	"testing"
	"time"

	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/render"
)

// The words that the requirements and UX.md quote, exactly.
func TestExactWords(t *testing.T) {
	for got, want := range map[string]string{
		render.AllowHeader("files"):           "Allow tool call from files?",
		render.RunLine("write_file", "files"): "Run write_file from files",
		render.Warning(""):                    "Malicious MCP Servers or conversation content could potentially trick nod into attempting harmful actions through your installed tools.",
		render.Warning("Kit"):                 "Malicious MCP Servers or conversation content could potentially trick Kit into attempting harmful actions through your installed tools.",
		render.Review:                         "Review each action carefully before approving",
		render.LabelAllowChat:                 "Allow for this chat",
		render.LabelAllowOnce:                 "Allow once",
		render.LabelDeny:                      "Deny",
		render.HintAllowChat:                  "Allow all from this tool",
		render.LabelShowArguments:             "Show arguments",
		render.LabelApproveAll(2):             "Approve all (2)",
		render.LabelDenyAll(2):                "Deny all (2)",
		render.LabelExtend:                    "+5 min",
		render.BatchHeader(2, 3):              "2 of 3 need approval",
		render.BatchHeader(1, 3):              "1 of 3 needs approval",
		render.OnlyCanDecide([]string{"Ana (who asked)", "an admin"}):     "Only Ana (who asked) or an admin can decide this.",
		render.OnlyCanDecide([]string{"Ana", "Ben", "an admin"}):          "Only Ana, Ben or an admin can decide this.",
		render.OnlyCanDecide(nil):                                         "Nobody here can decide this.",
		render.AlreadyDecided(chat.Deny, "Ben", "14:02"):                  "Already denied by Ben at 14:02.",
		render.AlreadyDecided(chat.AllowOnce, "Ben", ""):                  "Already allowed once by Ben.",
		render.AlreadyDecided("made up", "", ""):                          "Already denied.",
		render.TooLate("14:02:07"):                                        "Too late: it started at 14:02:07.",
		render.AskExpired("14:03"):                                        "This ask expired at 14:03. Ask again from the message.",
		render.ShortDigest(strings.Repeat("7f3a", 16)):                    "7f3a7f3a…",
		render.ShortDigest("7f3a"):                                        "7f3a",
		render.Count(1, "more message"):                                   "1 more message",
		render.Count(2, "more message"):                                   "2 more messages",
		render.Number(1234567):                                            "1,234,567",
		render.Number(-1234):                                              "-1,234",
		render.Number(100):                                                "100",
		render.MoreWait(2):                                                "2 more wait for an answer: they follow when these are answered",
		render.EarlierSteps(7, "5 ✓ · 2 ✕"):                               "+7 earlier steps: 5 ✓ · 2 ✕",
		render.Clock(time.Date(2026, 1, 2, 14, 2, 7, 0, time.UTC)):        "14:02 UTC",
		render.ClockSeconds(time.Date(2026, 1, 2, 14, 2, 7, 0, time.UTC)): "14:02:07 UTC",
		render.Clock(time.Time{}):                                         "",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	for d, want := range map[time.Duration]string{
		-1: "0 s", 0: "0 s", time.Millisecond: "0.1 s", 240 * time.Millisecond: "0.2 s", 3900 * time.Millisecond: "3 s", time.Minute: "60 s", 2 * time.Minute: "2 min",
		90 * time.Minute: "90 min", 3 * time.Hour: "3 h", 72 * time.Hour: "3 days",
	} {
		if got := render.Took(d); got != want {
			t.Errorf("%v: %q, want %q", d, got, want)
		}
	}
}

// Three outcomes are three things (R117), and the model is told each in words that cannot be taken for another.
func TestResultWords(t *testing.T) {
	denied := render.ResultDenied("not now")
	if !strings.HasPrefix(denied, "Tool execution denied by user. Reason: not now. Do not retry the same call;") {
		t.Error(denied)
	}
	if got := render.ResultDenied(" "); !strings.HasPrefix(got, "Tool execution denied by user. Do not retry the same call;") {
		t.Error(got)
	}
	timedOut := render.ResultTimedOut(time.Minute)
	if !strings.Contains(timedOut, "timed out: nobody answered") || !strings.Contains(timedOut, "in 60 s") || !strings.Contains(timedOut, "not run") || strings.Contains(strings.ToLower(timedOut), "denied") {
		t.Error(timedOut)
	}
	for _, s := range []string{render.ResultCancelled(), render.ResultUnknown(""), render.ResultUnknown("the connection was lost")} {
		if strings.Contains(s, "denied") || strings.Contains(s, "timed out") {
			t.Error(s)
		}
	}
	if s := render.ResultUnknown("the connection was lost"); !strings.HasPrefix(s, "Outcome unknown; do not repeat.") || !strings.Contains(s, "What is known: the connection was lost.") {
		t.Error(s)
	}
}

// Every state has its own word, and an unknown one is never drawn as done.
func TestMarks(t *testing.T) {
	words := map[string]bool{}
	for s, mark := range map[render.StepState]string{
		render.StepPending: "·", render.StepWaiting: "⚠️", render.StepRunning: "⟳", render.StepDone: "✓", render.StepFailed: "✕", render.StepDenied: "✕",
		render.StepExpired: "⌛", render.StepCancelled: "✕", render.StepUnknown: "❓",
	} {
		if got := render.Mark(s); got != mark {
			t.Errorf("%s: %s", s, got)
		}
		words[render.MarkWord(s)] = true
	}
	if len(words) != 9 || render.Mark("new") != "❓" || render.MarkWord("new") != render.MarkWord(render.StepUnknown) {
		t.Error(words)
	}
}
