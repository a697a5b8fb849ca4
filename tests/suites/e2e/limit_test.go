package e2e

import (
	"regexp"
	"strings"
	"testing"
)

// Who has begun as many turns as one person may is told so on the page, under whatever name they type; the numbers count it.
func TestLimitOfOnePerson(t *testing.T) {
	t.Parallel()
	b := start(t, settings{yaml: "limits: {person: {turns_per_hour: 1}}\nmetrics: {listen: \"127.0.0.1:0\"}\n"})
	r := b.session("Ana").room()
	r.say("calculate 6*7")
	if c := r.idle(); c.last().End.Why != "answered" {
		t.Errorf("the first turn: %s", c)
	}
	again := b.session("Ben").room()
	again.say("calculate 6*7")
	if c := again.idle(); c.last().End.Why != "limit" || c.last().State != "stopped" || !strings.Contains(c.String(), "one person may begin 1 turn an hour") {
		t.Errorf("the second turn: %s", c)
	}
	at := regexp.MustCompile(`url=(http://\S+/metrics)`)
	until(t, "it says where its metrics are", func() bool { return at.MatchString(b.out.String()) })
	page := scrape(t, at.FindStringSubmatch(b.out.String())[1])
	for _, why := range []string{"answered", "limit"} {
		if !strings.Contains(page, `nod_turns_total{surface="web",why="`+why+`"} 1`+"\n") {
			t.Errorf("%s is not counted:\n%s", why, page)
		}
	}
}
