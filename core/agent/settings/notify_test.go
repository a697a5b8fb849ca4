package settings

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/permission"
)

func TestParseAnalysisIsStrict(t *testing.T) {
	t.Parallel()
	good := `{"access":"write","risk":"dangerous","admin":true,"reason":"It deletes files."}`
	a, err := parseAnalysis(" " + good + "\n")
	if err != nil || a.Access != permission.Write || a.Risk != permission.Dangerous || !a.Level || a.Reason != "It deletes files." {
		t.Errorf("%+v, %v", a, err)
	}
	for name, text := range map[string]string{
		"empty": "", "prose": "It looks safe to me.", "fenced": "```json\n" + good + "\n```", "two": good + good, "behind": good + " done",
		"unknown field": `{"access":"read","risk":"safe","admin":false,"reason":"","allow":true}`,
		"missing":       `{"access":"read","risk":"safe","reason":""}`,
		"no access":     `{"risk":"safe","admin":false,"reason":""}`,
		"no risk":       `{"access":"read","admin":false,"reason":""}`,
		"no reason":     `{"access":"read","risk":"safe","admin":false}`,
		"all":           `{"access":"all","risk":"safe","admin":false,"reason":""}`,
		"unclassified":  `{"access":"unclassified","risk":"safe","admin":false,"reason":""}`,
		"risk":          `{"access":"read","risk":"none","admin":false,"reason":""}`,
		"a list":        `[` + good + `]`,
		"a number":      `{"access":1,"risk":"safe","admin":false,"reason":""}`,
	} {
		if a, err := parseAnalysis(text); err == nil {
			t.Errorf("%s: taken as %+v", name, a)
		}
	}
}

// What somebody else recorded before is no news for the log, and neither is what was begun when the program ends.
func TestWhatIsLoggedOfARecord(t *testing.T) {
	t.Parallel()
	ended, end := context.WithCancel(t.Context())
	end()
	for name, x := range map[string]struct {
		ctx    context.Context
		err    error
		logged bool
	}{
		"new": {t.Context(), nil, false}, "on record": {t.Context(), agent.ErrUnchanged, false},
		"no store": {t.Context(), errors.New("gone"), true}, "the end": {ended, errors.New("gone"), false},
	} {
		var out strings.Builder
		s := &Settings{Config{Engine: holding{unchanged: x.err}, Logger: slog.New(slog.NewTextHandler(&out, nil))}}
		if is := s.record(x.ctx, permission.Told{}, "it could not be recorded"); is != (x.err == nil) || (out.Len() > 0) != x.logged {
			t.Errorf("%s: recorded %v, logged %q", name, is, out.String())
		}
	}
}
