package doctor

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/tests/suites/conformance"
)

func TestDoctorOfSessionStarts(t *testing.T) {
	for name, tt := range map[string]struct {
		shards, remaining, total, set int
		mark                          surface.Mark
		words                         []string
	}{
		"none left":        {1, 0, 1000, 0, surface.Wrong, []string{"0 of 1000", "1h0m0s", "resets the token"}},
		"too few":          {16, 15, 1000, 0, surface.Wrong, []string{"needs 16"}},
		"too few, as set":  {1, 3, 1000, 4, surface.Wrong, []string{"needs 4"}},
		"few":              {1, 49, 1000, 0, surface.Doubtful, []string{"49 of 1000", "resets the token"}},
		"enough":           {1, 50, 1000, 0, surface.Fine, []string{"one shard"}},
		"of few":           {1, 5, 10, 0, surface.Fine, []string{"5 of 10"}},
		"fewer than wants": {4, 900, 1000, 2, surface.Doubtful, []string{"recommends 4", "4011"}},
		"more than wants":  {4, 900, 1000, 8, surface.Fine, []string{"8 shards"}},
	} {
		t.Run(name, func(t *testing.T) {
			c := newClinic(t)
			c.answers["/gateway/bot"] = fmt.Sprintf(`{"url":"SOCKET","shards":%d,"session_start_limit":{"total":%d,"remaining":%d,"reset_after":3600000,"max_concurrency":1}}`, tt.shards, tt.total, tt.remaining)
			conf := c.config()
			conf.Shards = tt.set
			conformance.WantFinding(t, diagnosed(t, t.Context(), conf), "Discord: session starts", tt.mark, tt.words...)
		})
	}
}

func TestDoctorOfTheGateway(t *testing.T) {
	for first, tt := range map[string]struct {
		mark surface.Mark
		word string
	}{
		`{"op":10,"d":{"heartbeat_interval":45000}}`: {surface.Fine, "45s"},
		`{"op":11,"d":{"heartbeat_interval":45000}}`: {surface.Wrong, "does not say hello"},
		`{"op":9,"d":false}`:                         {surface.Wrong, "does not say hello"},
		`{"op":10,"d":{}}`:                           {surface.Wrong, "does not say hello"},
		`{"d":{"heartbeat_interval":45000}}`:         {surface.Wrong, "does not say hello"},
		`no JSON`:                                    {surface.Wrong, "does not say hello"},
		strings.Repeat("x", maxHello+1):              {surface.Wrong, "does not say hello"},
	} {
		c := newClinic(t)
		c.first = first
		conformance.WantFinding(t, diagnosed(t, t.Context(), c.config()), "Discord: gateway", tt.mark, tt.word)
	}
	for answer, word := range map[string]string{
		`{"url":"https://h","shards":1,"session_start_limit":{"total":1000,"remaining":1000}}`:          "names no address",
		`{"url":"ws://127.0.0.1:1/","shards":1,"session_start_limit":{"total":1000,"remaining":1000}}`:  "refused",
		`{"url":"SOCKETx","shards":1,"session_start_limit":{"total":1000,"remaining":1000}}`:            "answered 400",
		`{"url":"wss://127.0.0.1:1/","shards":1,"session_start_limit":{"total":1000,"remaining":1000}}`: "refused",
		`{"url":"ws:///x","shards":1,"session_start_limit":{"total":1000,"remaining":1000}}`:            "names no address",
		`{"url":"ws://[::1","shards":1,"session_start_limit":{"total":1000,"remaining":1000}}`:          "names no address",
		`500 {"message":"500","code":0}`: "500",
	} {
		c := newClinic(t)
		c.answers["/gateway/bot"] = answer
		conformance.WantFinding(t, diagnosed(t, t.Context(), c.config()), "Discord: gateway", surface.Wrong, word)
	}
}

// A gateway that stays silent does not hold the doctor longer than its context.
func TestDoctorOfASilentGateway(t *testing.T) {
	c := newClinic(t)
	c.first = ""
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-c.joined; cancel() }()
	conformance.WantFinding(t, diagnosed(t, ctx, c.config()), "Discord: gateway", surface.Wrong, "says nothing")
}
