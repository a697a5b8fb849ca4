package fakeslack_test

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/nodhq/nod/tests/standins/fakeslack"
)

// BenchmarkUpdate is what one edit costs the stand-in, and the loopback connection with it.
func BenchmarkUpdate(b *testing.B) {
	s := fakeslack.New(fakeslack.Options{Lean: true, NoEcho: true})
	defer s.Close()
	s.AddChannel(fakeslack.Channel{ID: "C1", Members: []string{s.BotUser()}})
	hc := &http.Client{Transport: &http.Transport{}}
	defer hc.CloseIdleConnections()
	do := func(method string, v url.Values) {
		v.Set("token", s.BotToken())
		res, err := hc.PostForm(s.URL()+method, v)
		if err != nil {
			b.Fatal(err)
		}
		_ = res.Body.Close()
	}
	blocks := "[" + section(long(2000)) + `,{"type":"markdown","text":"` + long(5000) + `"},{"type":"plan","title":"p","tasks":[` + times(10, func(int) string { return task("") }) + `]},` +
		actions(button("a", `,"value":"v"`), button("b", `,"value":"v"`)) + "]"
	do("chat.postMessage", url.Values{"channel": {"C1"}, "text": {"x"}})
	ts := s.Messages("C1", "")[0].TS
	for b.Loop() {
		do("chat.update", url.Values{"channel": {"C1"}, "ts": {ts}, "text": {"x"}, "blocks": {blocks}})
	}
}
