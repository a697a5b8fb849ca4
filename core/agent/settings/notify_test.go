package settings

import (
	"testing"

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
