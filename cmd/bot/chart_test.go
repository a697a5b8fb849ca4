package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"text/template"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v4"

	"github.com/nodhq/nod/cmd/bot/config"
)

const chart = "../../deploy/helm/nod"

// chartOf makes the chart's manifests as Helm does, by kind. Helm's own module is a thousand files of Kubernetes; the chart uses Go's templates and the few
// functions below, which here do what they do there. `make chart` asks Helm itself.
func chartOf(t *testing.T, change func(values map[string]any)) (map[string]map[string]any, error) {
	t.Helper()
	values := map[string]any{}
	readYAML(t, filepath.Join(chart, "values.yaml"), &values)
	if change != nil {
		change(values)
	}
	schema, err := jsonschema.NewCompiler().Compile(filepath.Join(chart, "values.schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := schema.Validate(values); err != nil {
		return nil, err
	}
	about := map[string]any{}
	readYAML(t, filepath.Join(chart, "Chart.yaml"), &about)
	all := template.New("chart").Option("missingkey=error")
	all.Funcs(template.FuncMap{
		"include": func(name string, data any) (string, error) {
			var b strings.Builder
			err := all.ExecuteTemplate(&b, name, data)
			return b.String(), err
		},
		"toYaml": func(v any) (string, error) {
			var b strings.Builder
			enc := yaml.NewEncoder(&b)
			enc.SetIndent(2)
			err := errors.Join(enc.Encode(v), enc.Close())
			return strings.TrimSuffix(b.String(), "\n"), err
		},
		"nindent": func(n int, s string) string {
			return "\n" + strings.Repeat(" ", n) + strings.ReplaceAll(s, "\n", "\n"+strings.Repeat(" ", n))
		},
		"quote":     func(v any) string { return fmt.Sprintf("%q", fmt.Sprint(v)) },
		"toJson":    func(v any) (string, error) { b, err := json.Marshal(v); return string(b), err },
		"trimAll":   func(cut, s string) string { return strings.Trim(s, cut) },
		"int":       func(v any) int { n, _ := v.(int); return n },
		"sha256sum": func(s string) string { sum := sha256.Sum256([]byte(s)); return hex.EncodeToString(sum[:]) },
		"required": func(say string, v any) (any, error) {
			if v == nil || v == "" {
				return nil, errors.New(say)
			}
			return v, nil
		},
	})
	files, err := filepath.Glob(filepath.Join(chart, "templates", "*"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := all.ParseFiles(files...); err != nil {
		t.Fatal(err)
	}
	out := map[string]map[string]any{}
	for _, file := range files {
		var b bytes.Buffer
		if err := all.ExecuteTemplate(&b, filepath.Base(file), map[string]any{
			"Values": values, "Chart": map[string]any{"Name": about["name"], "Version": about["version"]}, "Release": map[string]any{"Name": "bot", "Service": "Helm"}}); err != nil {
			return nil, err
		}
		var manifest map[string]any
		if err := yaml.Unmarshal(b.Bytes(), &manifest); err != nil {
			t.Fatalf("%s: %v\n%s", file, err, b.String())
		}
		if kind, is := manifest["kind"].(string); is {
			out[kind] = manifest
		}
	}
	return out, nil
}

func readYAML(t *testing.T, file string, into any) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err == nil {
		err = yaml.Unmarshal(data, into)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// What these tests look at is what Helm itself renders: testdata/helm.yaml, written by make chart.
func TestChartIsHelms(t *testing.T) {
	want, err := chartOf(t, func(v map[string]any) { v["serviceMonitor"].(map[string]any)["enabled"] = true })
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join("testdata", "helm.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	is := map[string]map[string]any{}
	for text := range strings.SplitSeq(string(data), "\n---\n") {
		var manifest map[string]any
		if err := yaml.Unmarshal([]byte(text+"\n"), &manifest); err != nil {
			t.Fatal(err)
		}
		is[manifest["kind"].(string)] = manifest
	}
	if diff := cmp.Diff(want, is); diff != "" {
		t.Error(diff)
	}
}

// faults are the fields of a manifest that Kubernetes does not know, or of another type than it wants. testdata/kubernetes.json has its types, as
// client-go 0.34.1 does (applyconfigurations/internal).
func faults(types map[string]any, form, v any, at string) (out []string) {
	if name, is := form.(string); is && types[name] != nil {
		form = types[name]
	}
	if v == nil { // the same as none
		return nil
	}
	wrong := []string{fmt.Sprintf("%s is %T, want %v", at, v, form)}
	switch form := form.(type) {
	case []any:
		list, is := v.([]any)
		if !is {
			return wrong
		}
		for i, x := range list {
			out = append(out, faults(types, form[0], x, fmt.Sprintf("%s[%d]", at, i))...)
		}
	case map[string]any:
		m, is := v.(map[string]any)
		if !is {
			return wrong
		}
		for name, x := range m {
			field, known := form[name]
			if any := form["*"]; any != nil {
				field, known = any, true
			}
			if !known {
				out = append(out, at+"."+name+" is no field")
				continue
			}
			out = append(out, faults(types, field, x, at+"."+name)...)
		}
	case string:
		_, text := v.(string)
		_, number := v.(int)
		_, truth := v.(bool)
		if form == "string" && !text || form == "numeric" && !number || form == "boolean" && !truth || form == "untyped" && !text && !number {
			return wrong
		}
	}
	return out
}

// The chart renders to what Kubernetes takes, and the replicas that come of it are careful: nobody's root, a root file system that nothing writes, no
// credentials but by reference, doors that are shut, and a configuration that nod takes.
func TestChart(t *testing.T) {
	data, err := os.ReadFile("testdata/kubernetes.json")
	if err != nil {
		t.Fatal(err)
	}
	var types map[string]any
	if err := json.Unmarshal(data, &types); err != nil {
		t.Fatal(err)
	}
	peer := []any{map[string]any{"podSelector": map[string]any{"matchLabels": map[string]any{"app": "proxy"}}}}
	for name, x := range map[string]struct {
		change func(map[string]any)
		kinds  int
	}{
		"as it comes": {nil, 5},
		"one replica": {func(v map[string]any) { v["replicas"] = 1 }, 4},
		"all of it": {func(v map[string]any) {
			v["serviceMonitor"].(map[string]any)["enabled"] = true
			policy := v["networkPolicy"].(map[string]any)
			policy["from"], policy["metricsFrom"] = peer, peer
			policy["egress"] = []any{map[string]any{"to": peer, "ports": []any{map[string]any{"port": 8000}}}}
			v["nodeSelector"], v["tolerations"] = map[string]any{"disk": "ssd"}, []any{map[string]any{"key": "spot", "operator": "Exists"}}
		}, 6},
		"no policy": {func(v map[string]any) { v["networkPolicy"].(map[string]any)["enabled"] = false }, 4},
	} {
		t.Run(name, func(t *testing.T) {
			all, err := chartOf(t, x.change)
			if err != nil || len(all) != x.kinds {
				t.Fatalf("%d kinds, want %d; %v", len(all), x.kinds, err)
			}
			for kind, m := range all {
				if kind == "ServiceMonitor" { // Prometheus' operator's
					continue
				}
				for _, fault := range faults(types, kind, m, kind) {
					t.Error(fault)
				}
			}
			if b := all["PodDisruptionBudget"]; b != nil && under(b, "spec", "unhealthyPodEvictionPolicy") != "AlwaysAllow" {
				t.Error("a node cannot be drained while no replica is ready")
			}
			pod := under(all["Deployment"], "spec", "template")
			if got, want := fmt.Sprint(under(all["Service"], "spec", "selector")), fmt.Sprint(under(all["Deployment"], "spec", "selector", "matchLabels")); got != want {
				t.Errorf("the service is for %s, the replicas are %s", got, want)
			}
			for name, value := range under(all["Service"], "spec", "selector").(map[string]any) {
				if under(pod, "metadata", "labels", name) != value {
					t.Errorf("replicas have no label %s: %s", name, value)
				}
			}
			careful(t, under(pod, "spec"))
			starts(t, under(pod, "spec"), under(all["ConfigMap"], "data", "nod.yaml").(string))
		})
	}
	for name, x := range map[string]struct {
		change func(map[string]any)
		says   string
	}{
		"a misspelt value":        {func(v map[string]any) { v["networkpolicy"] = map[string]any{"enabled": false} }, "networkpolicy"},
		"one level down":          {func(v map[string]any) { v["networkPolicy"].(map[string]any)["form"] = peer }, "form"},
		"text for a number":       {func(v map[string]any) { v["replicas"] = "two" }, "/replicas"},
		"a stop within its sleep": {func(v map[string]any) { v["terminationGracePeriodSeconds"] = 4 }, "/terminationGracePeriodSeconds"},
		"a number for Prometheus": {func(v map[string]any) { v["serviceMonitor"].(map[string]any)["interval"] = 30 }, "/serviceMonitor/interval"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := chartOf(t, x.change); err == nil || !strings.Contains(err.Error(), x.says) {
				t.Errorf("Helm says %v", err)
			}
		})
	}
	for _, value := range []string{"secret", "auditSecret"} {
		if _, err := chartOf(t, func(v map[string]any) { v[value] = "" }); err == nil || !strings.Contains(err.Error(), value+": the name of") {
			t.Errorf("without %s: %v", value, err)
		}
	}
	all, err := chartOf(t, func(v map[string]any) {
		v["image"].(map[string]any)["tag"], v["imagePullSecrets"] = 20261126.0, []any{map[string]any{"name": "registry"}} // as Helm reads a number
		monitor := v["serviceMonitor"].(map[string]any)
		monitor["enabled"], monitor["labels"] = true, map[string]any{"release": "prometheus"}
	})
	if err != nil {
		t.Fatal(err)
	}
	pod := under(all["Deployment"], "spec", "template", "spec")
	if image := under(under(pod, "containers").([]any)[0], "image"); image != "nod:20261126" || under(pod, "imagePullSecrets") == nil {
		t.Errorf("it is %s, fetched with %v", image, under(pod, "imagePullSecrets"))
	}
	if under(all["ServiceMonitor"], "metadata", "labels", "release") != "prometheus" {
		t.Errorf("Prometheus does not find %v", all["ServiceMonitor"])
	}
	if open := under(all["NetworkPolicy"], "spec", "ingress"); open != nil {
		t.Errorf("who nobody named may come in: %v", open)
	}
}

// under is what stands at a path of a manifest.
func under(v any, path ...string) any {
	for _, name := range path {
		m, _ := v.(map[string]any)
		v = m[name]
	}
	return v
}

func careful(t *testing.T, pod any) {
	t.Helper()
	for _, name := range []string{"runAsUser", "runAsGroup", "fsGroup"} {
		if n := under(pod, "securityContext", name); n != nil {
			t.Errorf("%s is %v, which OpenShift refuses: a namespace there has numbers of its own", name, n)
		}
	}
	for _, v := range under(pod, "volumes").([]any) {
		if mode := under(v, "secret", "defaultMode"); mode != nil {
			t.Errorf("nod, which is nobody of its group, cannot read %v", v)
		}
	}
	box := under(pod, "containers").([]any)[0]
	for _, x := range []struct {
		what string
		is   any
		want string
	}{
		{"runAsNonRoot", under(pod, "securityContext", "runAsNonRoot"), "true"},
		{"the service account's token", under(pod, "automountServiceAccountToken"), "false"},
		{"readOnlyRootFilesystem", under(box, "securityContext", "readOnlyRootFilesystem"), "true"},
		{"privileges", under(box, "securityContext", "allowPrivilegeEscalation"), "false"},
		{"capabilities", under(box, "securityContext", "capabilities", "drop"), "[ALL]"},
		{"liveness", under(box, "livenessProbe", "httpGet", "path"), "/healthz"},
		{"readiness", under(box, "readinessProbe", "httpGet", "path"), "/readyz"},
		{"who reaps orphans", under(pod, "shareProcessNamespace"), "true"},
		{"where a replica that stops at once says why", under(box, "terminationMessagePolicy"), "FallbackToLogsOnError"},
		{"the time for proxies to learn of a stop", under(box, "lifecycle", "preStop", "sleep", "seconds"), "5"},
		{"variables", under(box, "envFrom"), "[map[secretRef:map[name:nod]]]"},
	} {
		if fmt.Sprint(x.is) != x.want {
			t.Errorf("%s: %v, want %s", x.what, x.is, x.want)
		}
	}
}

// starts wants nod to take a configuration with the replicas' variables and those of their secret, to stay with it, and its metrics where the chart looks for them.
func starts(t *testing.T, pod any, text string) {
	t.Helper()
	env := map[string]string{"REDIS_URL": "redis://redis:6379/0", "SLACK_BOT_TOKEN": "xoxb-k", "SLACK_APP_TOKEN": "xapp-k", "OPENAI_API_KEY": "k", "OPENAI_MODEL": "m"}
	var needs any
	for _, v := range under(under(pod, "containers").([]any)[0], "env").([]any) {
		if name := under(v, "name").(string); name == "REDIS_URL" {
			needs = under(v, "valueFrom", "secretKeyRef")
		} else {
			env[name] = under(v, "value").(string)
		}
	}
	if got := fmt.Sprint(needs); got != "map[key:REDIS_URL name:nod]" {
		t.Errorf("a replica whose secret has no REDIS_URL starts, with chats of its own, which end with it: %s", got)
	}
	c, err := config.Parse("nod.yaml", []byte(text), func(k string) (string, bool) { v, ok := env[k]; return v, ok })
	if err != nil || c.Metrics.Listen != ":9464" || c.Listen != ":8080" {
		t.Errorf("%v; it must listen on IPv6 as well as on IPv4, and does at %q, for metrics at %q:\n%s", err, c.Listen, c.Metrics.Listen, text)
	}
	c.Redis, c.DataDir, c.Audit.SignWith = config.Redis{}, t.TempDir(), ""
	b, err := wire(t.Context(), c, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatalf("a replica stops at once: %v", err)
	}
	b.close()
}
