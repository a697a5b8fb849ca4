package text_test

import (
	"strings"
	"testing"
	"time"

	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/text"
)

// The words that the requirements and UX.md quote, exactly.
// R69 R70 R72 R73 R89
func TestExactWords(t *testing.T) {
	for got, want := range map[string]string{
		text.AllowHeader("files"):           "Allow tool call from files?",
		text.RunLine("write_file", "files"): "Run write_file from files",
		text.Warning(""):                    "Malicious MCP Servers or conversation content could potentially trick nod into attempting harmful actions through your installed tools.",
		text.Warning("Kit"):                 "Malicious MCP Servers or conversation content could potentially trick Kit into attempting harmful actions through your installed tools.",
		text.Review:                         "Review each action carefully before approving",
		text.LabelAllowChat:                 "Allow for this chat",
		text.LabelAllowOnce:                 "Allow once",
		text.LabelDeny:                      "Deny",
		text.HintAllowChat:                  "Allow all from this tool",
		text.LabelShowArguments:             "Show arguments",
		text.LabelApproveAll(2):             "Approve all (2)…",
		text.LabelDenyAll(2):                "Deny all (2)",
		text.LabelExtend:                    "+5 min",
		text.BatchHeader(2, 3):              "2 of 3 need approval",
		text.BatchHeader(1, 3):              "1 of 3 needs approval",
		text.OnlyCanDecide([]string{"Ana (who asked)", "an admin"}):     "Only Ana (who asked) or an admin can decide this.",
		text.OnlyCanDecide([]string{"Ana", "Ben", "an admin"}):          "Only Ana, Ben or an admin can decide this.",
		text.OnlyCanDecide(nil):                                         "Nobody here can decide this.",
		text.AlreadyDecided(chat.Deny, "Ben", "14:02"):                  "Already denied by Ben at 14:02.",
		text.AlreadyDecided(chat.AllowOnce, "Ben", ""):                  "Already allowed once by Ben.",
		text.AlreadyDecided("made up", "", ""):                          "Already denied.",
		text.TooLate("14:02:07"):                                        "Too late: it started at 14:02:07.",
		text.AskExpired("14:03"):                                        "This ask expired at 14:03. Ask again from the message.",
		text.InstallDone("files", ""):                                   "The tools of files are accepted as they are now",
		text.InstallDone("files", "Ana"):                                "Ana accepted the tools of files as they are now",
		text.ToolsHere(0, 2):                                            "No tools are connected yet.",
		text.RecordLabel("denied", "denied"):                            "denied",
		text.RecordLabel("start", ""):                                   "start",
		text.RecordLabel("start", "failed"):                             "start: failed",
		text.NowHeld("files", 1, true):                                  "Released: files, 1 chat.",
		text.ResultNoSuchTool("x", nil):                                 "There is no tool named \"x\". Nothing was run.",
		text.DifferenceLine("title", "", ""):                            "title is another one in the configuration; what it says of the tool is as it was",
		text.DifferenceLine("title", "", "b"):                           "title is now “b” (it had none)",
		text.DifferenceLine("title", "a", ""):                           "title is gone (it was “a”)",
		text.DifferenceLine("title", "a", "b"):                          "title was “a”, now “b”",
		text.DiffHead(1, 2, 0):                                          "‹1 line goes, 2 lines come, 0 lines stay›",
		text.ConfirmSetting("ask", "never", "files", true):              "Let calls of all tools of files that have no setting of their own run without asking, in every chat, for everybody? Its tools are accepted as they are now. This is dangerous.",
		text.Count(1, "more message"):                                   "1 more message",
		text.Count(2, "more message"):                                   "2 more messages",
		text.Number(1234567):                                            "1,234,567",
		text.Number(-1234):                                              "-1,234",
		text.Number(100):                                                "100",
		text.MoreWait(2):                                                "2 more questions follow in this message when these are answered",
		text.EarlierSteps(7, "5 ✓ · 2 ✕"):                               "+7 earlier steps: 5 ✓ · 2 ✕",
		text.Clock(time.Date(2026, 1, 2, 14, 2, 7, 0, time.UTC)):        "14:02 UTC",
		text.ClockSeconds(time.Date(2026, 1, 2, 14, 2, 7, 0, time.UTC)): "14:02:07 UTC",
		text.Clock(time.Time{}):                                         "",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	for d, want := range map[time.Duration]string{
		-1: "0 s", 0: "0 s", time.Millisecond: "0.1 s", 240 * time.Millisecond: "0.2 s", 3900 * time.Millisecond: "3 s", time.Minute: "60 s", 2 * time.Minute: "2 min",
		90 * time.Minute: "90 min", 3 * time.Hour: "3 h", 72 * time.Hour: "3 days",
	} {
		if got := text.Took(d); got != want {
			t.Errorf("%v: %q, want %q", d, got, want)
		}
	}
}

// Three outcomes are three things (R117), and the model is told each in words that cannot be taken for another.
// R117 C8
func TestResultWords(t *testing.T) {
	denied := text.ResultDenied("not now")
	if !strings.HasPrefix(denied, "Tool execution denied by user. Reason: not now. Do not retry the same call;") {
		t.Error(denied)
	}
	if got := text.ResultDenied(" "); !strings.HasPrefix(got, "Tool execution denied by user. Do not retry the same call;") {
		t.Error(got)
	}
	timedOut := text.ResultTimedOut(time.Minute)
	if !strings.Contains(timedOut, "timed out: nobody answered") || !strings.Contains(timedOut, "in 60 s") || !strings.Contains(timedOut, "not run") || strings.Contains(strings.ToLower(timedOut), "denied") {
		t.Error(timedOut)
	}
	for _, s := range []string{text.ResultCancelled, text.ResultUnknown(""), text.ResultUnknown("the connection was lost")} {
		if strings.Contains(s, "denied") || strings.Contains(s, "timed out") {
			t.Error(s)
		}
	}
	if s := text.ResultUnknown("the connection was lost"); !strings.HasPrefix(s, "Outcome unknown; do not repeat.") || !strings.Contains(s, "What is known: the connection was lost.") {
		t.Error(s)
	}
}
