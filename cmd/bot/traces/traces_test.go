package traces_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nodhq/nod/cmd/bot/traces"
	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/tests/standins/fakecollector"
)

var room = chat.ID{Platform: "web", Key: "room"}

// lines is a log that hands on each line as it is written.
type lines chan string

func (l lines) Write(p []byte) (int, error) {
	l <- string(p)
	return len(p), nil
}

func open(t *testing.T, env map[string]string, log lines) *traces.Traces {
	t.Helper()
	t.Setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "60000") // on a slow machine, too
	t.Setenv("OTEL_BSP_EXPORT_TIMEOUT", "60000")
	for k, v := range env {
		t.Setenv(k, v)
	}
	tr, err := traces.New("v0", slog.New(slog.NewTextHandler(log, nil)))
	if err != nil || tr == nil {
		t.Fatalf("%v, %v", tr, err)
	}
	t.Cleanup(func() {
		ended, cancel := context.WithCancel(context.Background())
		cancel()
		_ = tr.Close(ended)
	})
	return tr
}

// from waits for what comes, as long as only a broken program lets it.
func from[T any](t *testing.T, ch <-chan T) (got T) {
	t.Helper()
	select {
	case got = <-ch:
	case <-time.After(time.Minute):
		t.Fatal("it never came")
	}
	return got
}

func closed(t *testing.T, tr *traces.Traces) {
	t.Helper()
	if err := tr.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func TestOff(t *testing.T) {
	for _, env := range []map[string]string{
		{},
		{"OTEL_EXPORTER_OTLP_HEADERS": "a=b"},
		{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1", "OTEL_SDK_DISABLED": "true"},
		{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://127.0.0.1:1", "OTEL_TRACES_EXPORTER": "none"},
	} {
		t.Run("", func(t *testing.T) {
			for k, v := range env {
				t.Setenv(k, v)
			}
			if tr, err := traces.New("v0", slog.New(slog.DiscardHandler)); tr != nil || err != nil {
				t.Errorf("%v: %v, %v", env, tr, err)
			}
		})
	}
}

// A variable that cannot be right is named, and its value, which may be a secret, is not.
func TestMistakes(t *testing.T) {
	for _, c := range [][2]string{
		{"OTEL_EXPORTER_OTLP_ENDPOINT", "secret:4318"},
		{"OTEL_EXPORTER_OTLP_ENDPOINT", "http:///secret"},
		{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://%secret"},
		{"OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"},
		{"OTEL_EXPORTER_OTLP_TIMEOUT", "secret"},
		{"OTEL_EXPORTER_OTLP_HEADERS", "secret"},
		{"OTEL_EXPORTER_OTLP_TRACES_HEADERS", "a=%secret"},
		{"OTEL_RESOURCE_ATTRIBUTES", "secret"},
	} {
		t.Run(c[0], func(t *testing.T) {
			t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")
			t.Setenv(c[0], c[1])
			tr, err := traces.New("v0", slog.New(slog.DiscardHandler))
			if tr != nil || err == nil || !strings.Contains(err.Error(), c[0]) || strings.Contains(err.Error(), "secret") {
				t.Errorf("%v, %v", tr, err)
			}
		})
	}
}

// Every replica takes part in the same traces, whatever the sampler takes.
func TestSampled(t *testing.T) {
	to := fakecollector.Start(t)
	byReplica := map[string][]string{}
	for replica := range 2 {
		tr := open(t, map[string]string{
			"OTEL_EXPORTER_OTLP_ENDPOINT": to.URL, "OTEL_TRACES_SAMPLER": "parentbased_traceidratio", "OTEL_TRACES_SAMPLER_ARG": "0.5",
			"OTEL_RESOURCE_ATTRIBUTES": fmt.Sprintf("replica=%d", replica), "OTEL_SERVICE_NAME": "their-nod",
		}, nil)
		for i := range 100 {
			tr.Did(agent.ActionPost, room, turn.TurnID(fmt.Sprint("t", i)), time.Now(), nil)
		}
		closed(t, tr)
	}
	for _, s := range to.Spans() {
		replica := s.Resource["replica"].(string)
		byReplica[replica] = append(byReplica[replica], s.Trace)
		if s.Resource["service.name"] != "their-nod" || s.Parent == "" {
			t.Errorf("%+v", s)
		}
	}
	if n := len(byReplica["0"]); n < 20 || n > 80 || !slices.Equal(byReplica["0"], byReplica["1"]) {
		t.Errorf("%d and %d of 100 turns", n, len(byReplica["1"]))
	}
}

// A wait for people is told with how it ended, from when the question was seen.
func TestWaits(t *testing.T) {
	to := fakecollector.Start(t)
	tr := open(t, map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": to.URL}, nil)
	at := time.Unix(1_800_000_000, 0)
	s := turn.New(room)
	s.Turn = &turn.Turn{ID: "t1", Calls: []turn.ToolCall{
		{ID: "c", Tool: permission.Tool{Server: "files", Name: "write"}, Status: turn.Awaiting, Asking: turn.Asking{Ask: "a", AskedAt: at, Seen: &turn.Showing{At: at.Add(time.Second)}}},
		{ID: "d", Tool: permission.Tool{Server: "files", Name: "delete"}, Status: turn.Awaiting, Asking: turn.Asking{Ask: "b", AskedAt: at}},
	}}
	until := at.Add(time.Hour)
	for _, ev := range []turn.Event{
		turn.Decided{Ask: "a", Choice: chat.AllowOnce, Surface: "slack", Name: "Ana"}, turn.Decided{Ask: "b", Choice: chat.Deny}, turn.Expired{Ask: "a"},
		turn.Amended{Ask: "a"}, turn.Resolved{Ask: "a", Answer: chat.Happened}, turn.Filled{Ask: "a", Fill: turn.Fill{Action: turn.FillDecline}}, turn.StopAsked{Turn: "t1"},
		turn.Decided{Ask: "unknown"},
	} {
		tr.Recorded(s, s, []turn.Entry{{Seq: 2, At: until, Event: ev}})
	}
	closed(t, tr)
	var got []string
	for _, s := range to.Named("ask") {
		got = append(got, fmt.Sprint(s.Attributes["gen_ai.tool.name"], " ", s.Attributes["nod.choice"], " ", s.Attributes["nod.surface"], " ", s.Attributes["nod.seen"], " ", s.End.Sub(s.Start)))
	}
	want := []string{
		"write allow_once slack true 59m59s", "delete deny <nil> false 1h0m0s", "write expired <nil> true 59m59s", "write edit <nil> true 59m59s", "write happened <nil> true 59m59s",
		"write decline <nil> true 59m59s", "write stop <nil> true 59m59s", "delete stop <nil> false 1h0m0s",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s", strings.Join(got, "\n"))
	}
}

// Whoever was at work on a turn does not take it over, and what a platform refused is told by its kind.
func TestActions(t *testing.T) {
	to := fakecollector.Start(t)
	tr := open(t, map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": to.URL}, nil)
	tr.Did(agent.ActionTake, room, "t1", time.Now(), nil) // another replica drives it
	tr.Did(agent.ActionTakeOver, room, "t1", time.Now(), nil)
	tr.Did(agent.ActionTakeOver, room, "t1", time.Now(), nil)
	tr.Did(agent.ActionPost, room, "t2", time.Now(), nil)
	tr.Did(agent.ActionTakeOver, room, "t2", time.Now(), nil)
	tr.Did(agent.ActionEdit, room, "t2", time.Now(), &agent.PlatformError{Kind: agent.FaultBusy, Cause: errors.New("hidden")})
	tr.Did(agent.ActionEdit, room, "t2", time.Now(), errors.New("hidden"))
	closed(t, tr)
	var got []string
	for _, s := range to.Spans() {
		got = append(got, fmt.Sprint(s.Name, " ", s.Failed, " ", s.Attributes["error.type"]))
	}
	want := []string{"take message false <nil>", "take over false <nil>", "post message false <nil>", "edit message true rate limited", "edit message true other"}
	if !slices.Equal(got, want) || strings.Contains(to.Raw(), "hidden") {
		t.Errorf("got %q", got)
	}
}

// A collector that is down is told of once, and once when it is back.
func TestCollectorFails(t *testing.T) {
	to, log := fakecollector.Start(t), make(lines, 10)
	status, asked := make(chan int, 1), make(chan struct{}, 10)
	to.Answer(func(w http.ResponseWriter, r *http.Request) bool {
		c := http.StatusOK
		select {
		case c = <-status:
		case <-r.Context().Done():
		}
		if c != http.StatusOK {
			w.WriteHeader(c)
		}
		asked <- struct{}{}
		return c != http.StatusOK
	})
	tr := open(t, map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": to.URL, "OTEL_EXPORTER_OTLP_HEADERS": "authorization=Bearer%20secret", "OTEL_BSP_MAX_EXPORT_BATCH_SIZE": "1"}, log)
	for _, c := range []int{http.StatusInternalServerError, http.StatusBadRequest, http.StatusServiceUnavailable, http.StatusOK} {
		if c != http.StatusOK { // what 503 answers is sent again
			tr.Did(agent.ActionPost, room, "t1", time.Now(), nil)
		}
		status <- c
		from(t, asked)
	}
	if first, then := from(t, log), from(t, log); !strings.Contains(first, "it answers 500") || !strings.Contains(then, "again") || strings.Contains(first+then, "secret") {
		t.Errorf("%s%s", first, then)
	}
	if got := to.Headers()[0].Get("Authorization"); got != "Bearer secret" || len(to.Spans()) != 1 {
		t.Errorf("%q: %+v", got, to.Spans())
	}
}

// What is told of one that cannot be reached does not hold its address, which may have a key in it. It is asked as long as it may take.
func TestUnreachable(t *testing.T) {
	nobody, log := httptest.NewServer(http.NotFoundHandler()), make(lines, 10)
	nobody.Close()
	tr := open(t, map[string]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": nobody.URL + "/secret?key=secret", "OTEL_EXPORTER_OTLP_TIMEOUT": "20", "OTEL_BSP_MAX_EXPORT_BATCH_SIZE": "1"}, log)
	tr.Did(agent.ActionPost, room, "t1", time.Now(), nil)
	if line := from(t, log); !strings.Contains(line, "do not reach") || strings.Contains(line, "secret") {
		t.Error(line)
	}
}

// One that never answers holds nobody up, neither at work nor at the end, and what waits for it is bounded.
func TestCollectorHangs(t *testing.T) {
	to, over := fakecollector.Start(t), make(chan struct{})
	t.Cleanup(func() { close(over) })
	asked := make(chan struct{})
	to.Answer(func(http.ResponseWriter, *http.Request) bool {
		select {
		case asked <- struct{}{}:
		case <-over:
		}
		<-over
		return true
	})
	tr := open(t, map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": to.URL, "OTEL_BSP_MAX_EXPORT_BATCH_SIZE": "1", "OTEL_BSP_MAX_QUEUE_SIZE": "1"}, make(lines, 10))
	tr.Did(agent.ActionPost, room, "t1", time.Now(), nil)
	from(t, asked) // and is at it
	for range 1000 {
		tr.Did(agent.ActionEdit, room, "t1", time.Now(), nil)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := tr.Close(ended); err == nil {
		t.Error("all of it is said to have been taken")
	}
}

// A collector may take some spans and leave others: that is told, and nothing is sent again.
func TestPartlyTaken(t *testing.T) {
	for _, number := range []string{`"3"`, `3`} { // as the specification has a number of 64 bits, and as some collectors write it
		to, log := fakecollector.Start(t), make(lines, 10)
		to.Answer(func(w http.ResponseWriter, _ *http.Request) bool {
			fmt.Fprintf(w, `{"partialSuccess":{"rejectedSpans":%s,"errorMessage":"too old"}}`, number)
			return true
		})
		tr := open(t, map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": to.URL}, log)
		tr.Did(agent.ActionPost, room, "t1", time.Now(), nil)
		closed(t, tr)
		if line := from(t, log); !strings.Contains(line, "it takes 3 spans less") || !strings.Contains(line, "too old") || len(to.Headers()) != 1 {
			t.Errorf("%s after %d requests", line, len(to.Headers()))
		}
	}
}

// The headers are for the collector alone.
func TestRedirected(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("it followed") }))
	defer elsewhere.Close()
	to, log := fakecollector.Start(t), make(lines, 10)
	to.Answer(func(w http.ResponseWriter, r *http.Request) bool {
		http.Redirect(w, r, elsewhere.URL, http.StatusTemporaryRedirect)
		return true
	})
	tr := open(t, map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": to.URL, "OTEL_EXPORTER_OTLP_HEADERS": "x-key=secret"}, log)
	tr.Did(agent.ActionPost, room, "t1", time.Now(), nil)
	closed(t, tr)
	if line := from(t, log); !strings.Contains(line, "it answers 307") {
		t.Error(line)
	}
}
