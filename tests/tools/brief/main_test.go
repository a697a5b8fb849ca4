package main

import (
	"slices"
	"strings"
	"testing"
)

const events = `{"Action":"start","Package":"p"}
{"Action":"run","Package":"p","Test":"TestA"}
{"Action":"output","Package":"p","Test":"TestA","Output":"=== RUN   TestA\n"}
{"Action":"output","Package":"p","Test":"TestA","Output":"quiet words\n"}
{"Action":"pass","Package":"p","Test":"TestA"}
{"Action":"output","Package":"p","Test":"TestS","Output":"    x_test.go:1: needs redis\n"}
{"Action":"skip","Package":"p","Test":"TestS"}
`

func TestBrief(t *testing.T) {
	for name, tt := range map[string]struct {
		in    string
		code  int
		holds []string
		lacks []string
	}{
		"passing": {events + `{"Action":"output","Package":"p","Output":"ok  \tp\t0.1s\n"}` + "\n" + `{"Action":"pass","Package":"p"}`, 0,
			[]string{"1 packages, 0 of them failed; 1 tests skipped\n", "\n1 passed, 0 failed\n", "skipped: p TestS: x_test.go:1: needs redis"}, []string{"quiet words"}},
		"failing": {events + `{"Action":"output","Package":"p","Test":"TestB","Output":"loud words\n"}
{"Action":"fail","Package":"p","Test":"TestB"}
{"Action":"output","Package":"p","Output":"FAIL\tp\t0.1s\n"}
{"Action":"fail","Package":"p"}`, 1, []string{"loud words\n", "FAIL\tp", "1 passed, 1 failed\n"}, []string{"quiet words"}},
		"does not build": {`{"ImportPath":"q [q.test]","Action":"build-output","Output":"q.go:1: undefined: x\n"}
{"ImportPath":"q [q.test]","Action":"build-fail"}
{"Action":"output","Package":"q","Output":"FAIL\tq [build failed]\n"}
{"Action":"fail","Package":"q","FailedBuild":"q [q.test]"}
` + events, 1, []string{"undefined: x", "FAIL\tq [build failed]", "1 passed, 1 failed\n"}, nil},
		"died": {events + `{"Action":"output","Package":"p","Test":"TestC","Output":"panic: oh\n"}` + "\n" + `{"Action":"fail","Package":"p"}`, 1,
			[]string{"panic: oh", "1 passed, 1 failed\n"}, []string{"quiet words"}},
		"slow": {events + `{"Action":"pass","Package":"m/q","Test":"TestSlow","Elapsed":7.6}
{"Action":"pass","Package":"m/q","Test":"TestSlow/part","Elapsed":7.5}
{"Action":"pass","Package":"m/q","Elapsed":9.2}`, 0, []string{"slowest: q 9 s\n", "slowest: q.TestSlow 8 s\n"}, []string{"part"}},
		"nothing":      {"", 1, []string{"0 passed, 0 failed\n"}, nil},
		"other people": {"go: downloading x\n" + events, 0, []string{"go: downloading x\n"}, nil},
	} {
		var out strings.Builder
		if code := brief(strings.NewReader(tt.in), &out, nil); code != tt.code {
			t.Errorf("%s: exit code %d, want %d", name, code, tt.code)
		}
		for _, s := range tt.holds {
			if !strings.Contains(out.String(), s) {
				t.Errorf("%s: no %q in\n%s", name, s, out.String())
			}
		}
		for _, s := range tt.lacks {
			if strings.Contains(out.String(), s) {
				t.Errorf("%s: %q in\n%s", name, s, out.String())
			}
		}
	}
}

const red = `{"Action":"output","Package":"p","Test":"TestB/part","Output":"loud words\n"}
{"Action":"fail","Package":"p","Test":"TestB/part"}
{"Action":"fail","Package":"p","Test":"TestB"}
`

// A test that passes alone is flaky, and said to be; what proves itself is not tried again.
func TestAgain(t *testing.T) {
	const end = `{"Action":"fail","Package":"p"}` + "\n"
	one := `{"Action":"fail","Package":"p","Test":"Test`
	for what, tt := range map[string]struct {
		in    string
		alone bool
		tried []string
		code  int
		holds string
	}{
		"passes":      {events + red + end, true, []string{"p TestB"}, 75, "mend it: p TestB\n"},
		"fails":       {events + red + end, false, []string{"p TestB"}, 1, "1 passed, 2 failed\n"},
		"nothing":     {events + `{"Action":"pass","Package":"p"}`, true, nil, 0, "1 passed, 0 failed\n"},
		"few":         {one + `X"}` + "\n" + one + `Y"}` + "\n" + one + `Z"}` + "\n" + end, true, []string{"p TestX", "p TestY", "p TestZ"}, 75, "3 passed, 0 failed\n"},
		"many":        {one + `W"}` + "\n" + one + `X"}` + "\n" + one + `Y"}` + "\n" + one + `Z"}` + "\n" + end, true, nil, 1, "0 passed, 4 failed\n"},
		"race":        {events + `{"Action":"output","Package":"p","Test":"TestB","Output":"WARNING: DATA RACE\n"}` + "\n" + red + end, true, nil, 1, "1 passed, 2 failed\n"},
		"panic":       {events + `{"Action":"output","Package":"p","Test":"TestB","Output":"panic: oh\n"}` + "\n" + red + end, true, nil, 1, "1 passed, 2 failed\n"},
		"died":        {events + red + `{"Action":"output","Package":"p","Test":"TestC","Output":"fatal error: oh\n"}` + "\n" + end, true, nil, 1, "1 passed, 2 failed\n"},
		"two, a half": {events + red + end + `{"Action":"fail","Package":"q"}`, true, nil, 1, "1 passed, 2 failed\n"},
	} {
		var out strings.Builder
		var tried []string
		alone := func(n name) bool { tried = append(tried, n.pkg+" "+n.test); return tt.alone }
		if code := brief(strings.NewReader(tt.in), &out, alone); code != tt.code {
			t.Errorf("%s: exit code %d, want %d", what, code, tt.code)
		}
		if !slices.Equal(tried, tt.tried) {
			t.Errorf("%s: ran %q again, want %q", what, tried, tt.tried)
		}
		if !strings.Contains(out.String(), tt.holds) {
			t.Errorf("%s: no %q in\n%s", what, tt.holds, out.String())
		}
		if strings.Contains(tt.in, "loud words") && !strings.Contains(out.String(), "loud words\n") {
			t.Errorf("%s: what the test said is lost", what)
		}
	}
}
