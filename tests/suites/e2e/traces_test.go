package e2e

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/nodhq/nod/tests/standins/fakecollector"
	"github.com/nodhq/nod/tests/standins/mcpserver"
)

// A turn is one trace, whichever replicas had a part in it, with the time that people took. Nobody can be found in it, and what opens the collector
// is shown nowhere.
func TestTraces(t *testing.T) {
	t.Parallel()
	to, env := fakecollector.Start(t), startLLM(t).env()
	box, ledger := toolbox(t)
	env["OTEL_EXPORTER_OTLP_ENDPOINT"], env["OTEL_EXPORTER_OTLP_HEADERS"], env["OTEL_BSP_SCHEDULE_DELAY"] = to.URL, "authorization=Bearer%20opens-it", "50"
	env["OTEL_EXPORTER_OTLP_TIMEOUT"], env["OTEL_BSP_EXPORT_TIMEOUT"] = "60000", "60000" // on a slow machine, too
	_, a, b := replicas(t, box, "3s", env)
	ana := a.session("Ana Secret")
	r := ana.room()
	atB := r.as(ana.at(b))
	const chat = "chat fake"
	has := func(names ...string) func() bool {
		return func() bool {
			return !slices.ContainsFunc(names, func(name string) bool { return len(to.Named(name)) == 0 })
		}
	}
	ask := r.ask(`call box__write {"path":"hidden-path"}`)
	until(t, "what A did is at the collector", has("take message", "post message", chat))
	a.kill()
	atB.mustClick(ask.RequestID, "allow_once")
	atB.idle()
	until(t, "the turn is at the collector", has("turn", "ask", "execute_tool write"))
	first := to.Spans()

	// Dead while it runs a call: who takes over tells of the run, and what people said became of it.
	a.start()
	r = ana.at(a).room()
	atB = r.as(ana.at(b))
	r.mustClick(r.ask(`call box__slow {}`).RequestID, "allow_once")
	until(t, "the tool has begun", func() bool { return ledger.Count("slow", "began") == 1 })
	until(t, "the click is at the collector", func() bool { return len(to.Named("ask")) == 2 })
	a.kill()
	c := atB.until("B asks what happened", func(c chatForm) bool { return c.last().block("ask", "").Kind == "outcome" })
	atB.mustClick(c.last().block("ask", "").RequestID, "leave")
	atB.idle()
	until(t, "the second turn is at the collector", func() bool { return len(to.Named("turn")) == 2 })

	turn := one(t, first, "turn")
	atA, byB := one(t, first, "take message").Resource["service.instance.id"], turn.Resource["service.instance.id"]
	for _, s := range first {
		if s.Trace != turn.Trace || s.ID != turn.ID && s.Parent != turn.ID {
			t.Errorf("not of the turn %s %s: %+v", turn.Trace, turn.ID, s)
		}
	}
	if atA == byB || turn.Parent != "" || turn.Attributes["nod.end"] != "answered" || turn.Attributes["nod.surface"] != "web" || turn.Attributes["nod.steps"] != 2 {
		t.Errorf("%+v", turn)
	}
	wait, call := one(t, first, "ask"), one(t, first, "execute_tool write") // whether it was seen may not be on record when A dies
	if wait.Attributes["nod.choice"] != "allow_once" || wait.Attributes["nod.surface"] != "web" || wait.Attributes["nod.seen"] == nil || wait.Attributes["gen_ai.tool.name"] != "write" {
		t.Errorf("%+v", wait)
	}
	if call.Failed || call.Kind != 3 || call.Attributes["nod.server"] != "box" || one(t, first, "take over").Resource["service.instance.id"] != byB {
		t.Errorf("%+v", call)
	}
	replies := slices.DeleteFunc(first, func(s fakecollector.Span) bool { return s.Name != chat })
	if len(replies) != 2 || replies[0].Resource["service.instance.id"] != atA || replies[1].Resource["service.instance.id"] != byB || replies[0].Attributes["gen_ai.usage.input_tokens"] == 0 {
		t.Errorf("%+v", replies)
	}
	if lost := one(t, to.Spans(), "execute_tool slow"); lost.Attributes["error.type"] != "unknown" || lost.Resource["service.instance.id"] != byB {
		t.Errorf("%+v", lost)
	}
	if all := to.Named("ask"); len(all) != 3 || all[2].Attributes["nod.choice"] != "leave" {
		t.Errorf("%+v", all)
	}
	page := readPage(t, "metrics.md")
	for _, s := range to.Spans() {
		for name := range s.Attributes {
			if !strings.Contains(page, "`"+name+"`") && !strings.HasPrefix(name, "gen_ai.") {
				t.Errorf("%s is sent, and not in docs/metrics.md", name)
			}
		}
		if kind, _, _ := strings.Cut(s.Name, " fake"); !strings.Contains(page, "`"+strings.TrimSuffix(strings.TrimSuffix(kind, " write"), " slow")) {
			t.Errorf("%q is sent, and not in docs/metrics.md", s.Name)
		}
	}
	for _, hidden := range []string{"Ana", "hidden-path", ana.user, ana.key, r.id, "box__write {"} {
		if strings.Contains(to.Raw(), hidden) {
			t.Errorf("%q is in the traces", hidden)
		}
	}
	for _, h := range to.Headers() {
		if h.Get("Authorization") != "Bearer opens-it" {
			t.Errorf("headers %v", h)
		}
	}
	if _, printed := a.run("config", "print"); strings.Contains(printed+a.out.String()+b.out.String(), "opens-it") {
		t.Error("what opens the collector is shown")
	}
}

// The model and MCP servers learn which trace their requests belong to only where the operator says so.
func TestTracesPropagate(t *testing.T) {
	t.Parallel()
	for _, on := range []bool{false, true} {
		to, llm, ledger := fakecollector.Start(t), startLLM(t), mcpserver.OpenLedger(filepath.Join(t.TempDir(), "ledger"))
		var mu sync.Mutex
		told := map[string]bool{}
		hear := func(r *http.Request) {
			mu.Lock()
			defer mu.Unlock()
			told[r.Header.Get("Traceparent")] = true
		}
		at, err := url.Parse(llm.url)
		if err != nil {
			t.Fatal(err)
		}
		model := httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
			hear(r.In)
			r.SetURL(&url.URL{Scheme: at.Scheme, Host: at.Host})
		}})
		t.Cleanup(model.Close)
		box := mcpserver.New("box", ledger).ServeHTTP(t)
		box.Intercept(func(_ http.ResponseWriter, r *http.Request) bool { hear(r); return false })
		b := start(t, settings{yaml: fmt.Sprintf("mcp: {servers: {box: {url: %q}}}\ntraces: {propagate: %v}\n", box.URL, on),
			env: llm.env("OPENAI_BASE_URL="+model.URL+at.Path, "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT="+to.URL+"/v1/traces")})
		r := b.session("Ana").room()
		r.mustClick(r.ask(`call box__write {"path":"a"}`).RequestID, "allow_once")
		r.idle()
		if code := b.terminate(); code != 0 { // it hands over what it has
			t.Errorf("it ended with %d", code)
		}
		calls := append(to.Named("chat fake"), to.Named("execute_tool write")...)
		if len(calls) != 3 {
			t.Errorf("%d calls: %+v", len(calls), to.Spans())
		}
		mu.Lock()
		for _, s := range calls {
			if says := "00-" + s.Trace + "-" + s.ID + "-01"; told[says] != on {
				t.Errorf("propagate %v: %s of %s in %v", on, says, s.Name, told)
			}
		}
		if len(told) > 1 != on {
			t.Errorf("propagate %v: told %v", on, told)
		}
		mu.Unlock()
	}
}

// one is the one span of that name.
func one(t *testing.T, in []fakecollector.Span, name string) (s fakecollector.Span) {
	t.Helper()
	n := 0
	for _, x := range in {
		if x.Name == name {
			s, n = x, n+1
		}
	}
	if n != 1 {
		t.Errorf("%d spans %q in %+v", n, name, in)
	}
	return s
}
