package e2e

import (
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The numbers are those of what happened, docs/metrics.md names each of them and no other, and nobody can be found in them.
func TestMetrics(t *testing.T) {
	t.Parallel()
	llm := startLLM(t)
	box, _ := toolbox(t)
	env := llm.env()
	env["ADMIN_SESSION_KEYS"] = bossKey
	b := start(t, settings{yaml: box + "metrics: {listen: \"127.0.0.1:0\"}\n", env: env})
	at := regexp.MustCompile(`url=(http://\S+/metrics)`)
	until(t, "it says where its metrics are", func() bool { return at.MatchString(b.out.String()) })
	url := at.FindStringSubmatch(b.out.String())[1]
	ana := b.session("Ana Secret")
	r := ana.room()
	r.mustClick(r.ask(`call box__write {"path":"hidden-path"}`).RequestID, "allow_once")
	r.idle()
	r.mustClick(r.ask(`call box__write {"path":"hidden-path"}`).RequestID, "deny")
	r.idle()
	if page := scrape(t, url); !strings.Contains(page, "nod_chats_waiting{surface=\"web\"} 0\n") {
		t.Errorf("that nothing waits is not served:\n%s", page)
	}
	waits := ana.room()
	waits.ask(`call box__write {"path":"hidden-path"}`)

	page := scrape(t, url)
	for _, want := range []string{
		`nod_messages_total{surface="web"} 3`, `nod_turns_total{surface="web",why="answered"} 2`, `nod_rulings_total{verdict="ask"} 3`,
		`nod_decisions_total{surface="web",choice="allow_once"} 1`, `nod_decisions_total{surface="web",choice="deny"} 1`,
		`nod_decide_seconds_count{surface="web"} 2`, `nod_tool_calls_total{server="box",result="ok"} 1`, `nod_tool_call_seconds_count{server="box"} 1`,
		`nod_model_replies_total{result="ok"} 5`, `nod_chats_waiting{surface="web"} 1`, `nod_unknown_total 0`,
	} {
		if !strings.Contains(page, want+"\n") {
			t.Errorf("%s is not in what is served:\n%s", want, page)
		}
	}
	for _, hidden := range []string{"Ana", "hidden", ana.user, r.id, ana.key} {
		if strings.Contains(page, hidden) {
			t.Errorf("%q is in the metrics", hidden)
		}
	}
	// What people put into words is a change of the settings, too.
	boss(b).command("", "tool", "box", "write", "message", "Is it hidden?")
	boss(b).command("", "hold", "web::"+r.id, "hidden dispute")
	b.logs(t,
		`msg="setting changed" change="box/write: message = …" by=`,
		`msg="setting changed" change="a hold on web::`,
		`level=INFO msg="setting changed" change="admins are to be told of the tools of box" by=nod surface=nod`,
		`level=INFO msg="call ruled" chat=`+"web::"+r.id+` verdict=ask tool=box/write rule=`,
		`level=INFO msg="call decided" chat=`+"web::"+r.id+` choice=allow_once tool=box/write by=`+ana.user+` surface=web`,
		`level=INFO msg="call decided" chat=`+"web::"+r.id+` choice=deny tool=box/write by=`,
		`level=INFO msg="tool called" chat=`+"web::"+r.id+` tool=box/write result=ok took=`,
		`level=INFO msg="turn over" chat=`+"web::"+r.id+` why=answered`,
	)
	log := b.out.String()
	for _, hidden := range []string{"Ana", "hidden", ana.key, "level=DEBUG"} {
		if strings.Contains(log, hidden) {
			t.Errorf("%q is in the log:\n%s", hidden, log)
		}
	}
	types := map[string]string{} // which Datadog, Google's and OpenTelemetry's collectors go by
	for _, m := range regexp.MustCompile(`(?m)^# TYPE (\S+) (\w+)$`).FindAllStringSubmatch(page, -1) {
		if types[m[1]] != "" {
			t.Errorf("%s has its type twice", m[1])
		}
		types[m[1]] = m[2]
	}
	for _, m := range regexp.MustCompile(`(?m)^(nod_\w+?)(?:_bucket|_sum|_count)?[{ ]`).FindAllStringSubmatch(page, -1) {
		if types[m[1]] == "" || strings.HasSuffix(m[1], "_total") != (types[m[1]] == "counter") {
			t.Errorf("%s is a %q", m[1], types[m[1]])
		}
	}
	named := countedOf(t)
	for _, m := range regexp.MustCompile(`(?m)^(nod_[a-z_]+?)(_bucket|_sum|_count)?[{ ]`).FindAllStringSubmatch(page, -1) {
		if named[m[1]] == nil {
			t.Errorf("%s is served, and not in docs/metrics.md", m[1])
		}
	}
	if strings.Contains(scrape(t, b.addr+"/metrics"), "nod_") {
		t.Error("the numbers are where people chat, too")
	}
}

// countedOf are the metrics of docs/metrics.md with their labels.
func countedOf(t *testing.T) map[string][]string {
	t.Helper()
	named := map[string][]string{}
	for _, m := range regexp.MustCompile("(?m)^\\| `(nod_[a-z_]+)` \\| (.*?) ?\\|").FindAllStringSubmatch(readPage(t, "metrics.md"), -1) {
		named[m[1]] = append([]string{"le"}, regexp.MustCompile(`\w+`).FindAllString(m[2], -1)...)
	}
	return named
}

// What the alerts and the dashboard ask for is counted, with those labels.
func TestQueries(t *testing.T) {
	t.Parallel()
	named, text := countedOf(t), strings.ReplaceAll(deployed(t, "alerts.yaml")+deployed(t, "grafana.json"), `\"`, `"`)
	queries := regexp.MustCompile(`(?m)(?:"expr": "(.*?)", "legendFormat"|expr: (.*)$)`).FindAllStringSubmatch(text, -1)
	if len(queries) < 20 {
		t.Fatalf("only %d queries found", len(queries))
	}
	for _, q := range queries {
		query := q[1] + q[2]
		var may []string
		for _, m := range regexp.MustCompile(`(nod_[a-z_]+?)(?:_bucket)?[^a-z_]`).FindAllStringSubmatch(query, -1) {
			if named[m[1]] == nil {
				t.Errorf("%s is not counted: %s", m[1], query)
			}
			may = append(may, named[m[1]]...)
		}
		for _, m := range regexp.MustCompile(`by \(([^)]*)\)|(\w+)=`).FindAllStringSubmatch(query, -1) {
			for _, label := range strings.Split(m[1]+m[2], ", ") {
				if !slices.Contains(may, label) {
					t.Errorf("there is no label %q: %s", label, query)
				}
			}
		}
		if len(may) == 0 || strings.Count(query, "(") != strings.Count(query, ")") {
			t.Errorf("no query: %s", query)
		}
	}
}

func scrape(t *testing.T, url string) string {
	t.Helper()
	res, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	page, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(page)
}
