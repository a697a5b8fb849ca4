package pin

import (
	"encoding/json"
	"path"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// What lets run is sure, what asks needs no more than a doubt; of everything else it is said which of the two it is.
// R154 R155
func TestConditions(t *testing.T) {
	const neither, perhaps, surely = 0, 1, 2
	method := Condition{"method": {"GET", "HEAD"}}
	docs, notes, up := Condition{"path": {"/srv/docs/**"}}, Condition{"path": {"docs/**"}}, Condition{"path": {"/etc/passwd"}}
	rm := Condition{"command": {"rm *"}}
	for _, c := range []struct {
		when Condition
		args string
		want int
	}{
		{method, `{"method":"GET"}`, surely},
		{method, `{"method":"HEAD","body":"x"}`, surely},
		{method, `{"method":"POST"}`, neither},
		{method, `{"method":"get"}`, perhaps},
		{method, `{"method":"GET "}`, perhaps},
		{method, `{"method":" POST"}`, perhaps},
		{method, `{"method":"PO\u200bST"}`, perhaps},
		{method, `{"method":"ＰＯＳＴ"}`, perhaps},
		{method, `{"method":"POST\u0000"}`, perhaps},
		{method, `{"method":"a\\b"}`, perhaps},
		{method, `{"method":""}`, perhaps},
		{method, `{"method":"a  b"}`, perhaps},
		{method, `{"method":"$M"}`, perhaps},
		{method, `{"method":"a..b"}`, perhaps},
		{method, `{"method":"/x"}`, perhaps},
		{method, `{}`, perhaps},
		{method, `{"method":null}`, perhaps},
		{method, `{"method":["GET"]}`, perhaps},
		{method, `{"method":true}`, perhaps},
		{method, `{"Method":"POST"}`, perhaps},
		{method, `{"method":"GET","Method":"POST"}`, perhaps},
		{method, `{"method":"GET","method":"GET"}`, perhaps},
		{method, `nonsense`, perhaps},

		{docs, `{"path":"/srv/docs/a/b.md"}`, surely},
		{docs, `{"path":"/srv/docs"}`, surely},
		{docs, `{"path":"/srv/docsx"}`, neither},
		{docs, `{"path":"/etc/passwd"}`, neither},
		{docs, `{"path":"/srv"}`, perhaps}, // what happens to it happens to what is in it
		{docs, `{"path":"/SRV/Docs/a"}`, perhaps},
		{docs, `{"path":"/srv/docs/../x"}`, perhaps},
		{docs, `{"path":"/srv/x/../docs"}`, perhaps},
		{docs, `{"path":"/srv/docs/"}`, perhaps},
		{docs, `{"path":"/srv//docs/a"}`, perhaps},
		{docs, `{"path":"\\srv\\docs\\a"}`, perhaps},
		{docs, `{"path":"C:\\x"}`, perhaps},
		{docs, `{"path":"srv/docs/a"}`, perhaps},
		{docs, `{"path":"file:///etc/x"}`, perhaps},
		{docs, `{"path":"/sr%76/docs/a"}`, perhaps},
		{docs, `{"path":"/srv/döcs/a"}`, perhaps},
		{docs, `{"path":"/srv/other/döcs"}`, neither},
		{docs, `{"path":"~/docs"}`, perhaps},
		{notes, `{"path":"docs/a"}`, surely},
		{notes, `{"path":"./docs/a"}`, perhaps},
		{notes, `{"path":"other/a"}`, neither},
		{Condition{"path": {"/srv/döcs/**"}}, `{"path":"/srv/docs/a"}`, perhaps},
		{Condition{"path": {`C:\srv/**`}}, `{"path":"C:\\srv\\a"}`, perhaps},
		{Condition{"path": {"a//b"}}, `{"path":"c/d"}`, perhaps},
		{up, `{"path":"/etc/passwd"}`, surely},
		{up, `{"path":"/etc/hosts"}`, neither},
		{up, `{"path":"/etc/passwd/x"}`, neither},
		{up, `{"path":"/etc"}`, perhaps},
		{up, `{"path":"/etc/./passwd"}`, perhaps},

		{rm, `{"command":"rm -rf x"}`, perhaps}, // a beginning is never sure
		{rm, `{"command":"rm *"}`, perhaps},
		{rm, `{"command":"rm"}`, perhaps},
		{rm, `{"command":"RM x"}`, perhaps},
		{rm, `{"command":"ls -la /tmp/x"}`, neither},
		{rm, `{"command":"rmdir x"}`, neither},
		{rm, `{"command":"r"}`, neither},
		{rm, `{"command":"ls; rm x"}`, perhaps},
		{rm, `{"command":"ls\nrm x"}`, perhaps},
		{rm, `{"command":"$(rm x)"}`, perhaps},
		{rm, `{"command":" rm x"}`, perhaps},
		{rm, `{"command":"git  status"}`, perhaps},

		{Condition{"method": {"GET"}, "path": {"/srv/docs/**"}}, `{"method":"GET","path":"/srv/docs/a"}`, surely},
		{Condition{"method": {"GET"}, "path": {"/srv/docs/**"}}, `{"method":"GET","path":"/etc/a"}`, neither},
		{Condition{"method": {"GET"}, "path": {"/srv/docs/**"}}, `{"method":"GET"}`, perhaps},
		{Condition{"mail.to": {"ana"}}, `{"mail":{"to":"ana"}}`, surely},
		{Condition{"channel": {"#prod"}}, `{"channel":"#test"}`, neither},
		{Condition{"channel": {"#prod"}}, `{"channel":"#Prod"}`, perhaps},
		{Condition{"x": {`a\b`}}, `{"x":"a\\b"}`, perhaps},
		{Condition{"x": {}}, `{"x":"a"}`, neither},
		{Condition{}, `{}`, perhaps},
	} {
		got := neither
		if c.when.Perhaps([]byte(c.args)) {
			got = perhaps
		}
		if c.when.Surely([]byte(c.args)) {
			got += surely - perhaps
		}
		if got != c.want {
			t.Errorf("%s of %s: %d, want %d", c.when, c.args, got, c.want)
		}
	}
}

// What cannot be judged, or would let more run than it reads like, is no value. No error shows one.
func TestValuesCheck(t *testing.T) {
	for _, c := range []struct {
		path   string
		values Values
		asks   bool
		want   string
	}{
		{"method", Values{"GET", "HEAD"}, false, ""},
		{"mail.to", Values{"#a b!"}, false, ""},
		{"path", Values{"/srv/docs/**", "docs/**"}, false, ""},
		{"command", Values{"rm *", "git push*"}, true, ""},
		{"", Values{"x"}, true, "the name of an argument"},
		{"a..b", Values{"x"}, true, "the name of an argument"},
		{".", Values{"x"}, true, "the name of an argument"},
		{"a", nil, true, "at most 20"},
		{"a", make(Values, 21), true, "at most 20"},
		{"a", Values{""}, true, "plain text"},
		{"a", Values{"hunter2 "}, true, "plain text"},
		{"a", Values{"hunter2\u200b"}, true, "plain text"},
		{"a", Values{`hunter2\x`}, true, "plain text"},
		{"a", Values{"hunter2/../x"}, true, "plain text"},
		{"a", Values{"hunter*2"}, true, "plain text"},
		{"a", Values{strings.Repeat("x", 257)}, true, "plain text"},
		{"a", Values{"hunter2*"}, false, "a beginning says too little"},
		{"a", Values{"*"}, true, "beginning of plain letters"},
		{"a", Values{"hunter2;*"}, true, "beginning of plain letters"},
		{"a", Values{"h*nter2*"}, true, "beginning of plain letters"},
		{"a", Values{"/**"}, false, "plain path before the /**"},
		{"a", Values{"/hunter2/*/**"}, true, "plain path before the /**"},
		{"a", Values{"/hunter2/../**"}, false, "plain path before the /**"},
		{"a", Values{`C:\hunter2/**`}, false, "plain path before the /**"},
	} {
		err := c.values.Check(c.path, c.asks)
		if (err == nil) != (c.want == "") || err != nil && (!strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "nter2")) {
			t.Errorf("%s: %q: %v, want %q", c.path, c.values, err, c.want)
		}
	}
}

func TestConditionsSay(t *testing.T) {
	for want, c := range map[string]Condition{
		`method is "GET" or "HEAD" and path is "/srv/docs/**"`: {"path": {"/srv/docs/**"}, "method": {"GET", "HEAD"}},
		`api_key is a value that is not shown`:                 {"api_key": {"hunter2"}},
		`"a b" is "x\u{200B}"`:                                 {"a b": {"x\u200b"}},
	} {
		if got := c.String(); got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	if got := (Condition{"a": {strings.Repeat("x", 300)}}).String(); len([]rune(got)) > maxProposal {
		t.Errorf("%d characters", len([]rune(got)))
	}
}

// judged holds a condition against a second reading of its argument, which cleans paths and folds case as a careless server would.
func judged(t interface{ Fatalf(string, ...any) }, args []byte, value string) {
	c := Condition{"a": {value}}
	surely, perhaps := c.Surely(args), c.Perhaps(args)
	var read map[string]any
	_ = json.Unmarshal(args, &read)
	is, isText := read["a"].(string)
	switch {
	case surely && !perhaps:
		t.Fatalf("%q of %s: sure, and not even perhaps", value, args)
	case !isText && (surely || !perhaps):
		t.Fatalf("%q of %s: it is no text", value, args)
	case surely && (strings.ContainsAny(is, "\\\x00\u200b\n") || strings.Contains(is, "..")):
		t.Fatalf("%q of %q: sure of what is read in two ways", value, is)
	case perhaps:
		return
	}
	is, value = strings.ToLower(path.Clean(strings.TrimSpace(is))), strings.ToLower(value)
	dir, below := strings.CutSuffix(value, "/**")
	begin, begins := strings.CutSuffix(value, "*")
	if is == value || below && (is == dir || strings.HasPrefix(is, dir+"/")) || begins && !below && strings.HasPrefix(is, begin) {
		t.Fatalf("%q of %q: a careless reader takes it for one", value, is)
	}
}

func TestConditionsHoldForACarelessReader(t *testing.T) {
	drawText := rapid.Map(rapid.SliceOfN(rapid.SampledFrom([]string{"/", "srv", "docs", "DOCS", "x", "..", ".", " ", "rm", "\\", "\u200b", ";", "é", "GET", "\x00", "C:"}), 0, 6),
		func(parts []string) string { return strings.Join(parts, "") })
	rapid.Check(t, func(t *rapid.T) {
		value := rapid.SampledFrom([]string{"/srv/docs/**", "docs/**", "GET", "rm *", "/srv/x", "x"}).Draw(t, "value")
		args, _ := json.Marshal(map[string]any{"a": drawText.Draw(t, "a")})
		judged(t, args, value)
	})
}

// Whatever arguments come: what lets run is sure, and what nobody is asked about is another call for everybody.
func FuzzConditions(f *testing.F) {
	for _, value := range []string{"/srv/docs/**", "GET", "rm *"} {
		for _, is := range []string{"/srv/docs/a", "get", "rm x", "/srv/docs/../x", "a\\b", ""} {
			args, _ := json.Marshal(map[string]string{"a": is})
			f.Add(args, value)
		}
	}
	f.Add([]byte(`{"a":7,"A":"x"}`), "x")
	f.Fuzz(func(t *testing.T, args []byte, value string) {
		if (Values{value}).Check("a", true) == nil {
			judged(t, args, value)
		}
	})
}
