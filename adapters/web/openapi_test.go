package web

import (
	"bytes"
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	gotoken "go/token"
	"go/types"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v4"

	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/text"
	"github.com/nodhq/nod/tests/standins/fakepush"
)

var updateOpenAPI = flag.Bool("update-openapi", false, "write the schemas of docs/openapi.yaml")

const (
	openAPI    = "../../docs/openapi.yaml"
	ofTheTypes = "-update-openapi\n" // ends the line below which the schemas are made of our types
)

// described is docs/openapi.yaml as this package's tests hold it against what the server really answers. Fields may be added to any answer, which
// the page says; here one that is not described is a fault.
var described = sync.OnceValues(func() (*description, error) {
	written, err := os.ReadFile(openAPI)
	if err != nil {
		return nil, err
	}
	var loaded any
	if err := yaml.Unmarshal(written, &loaded); err != nil {
		return nil, err
	}
	b, err := json.Marshal(loaded)
	if err != nil {
		return nil, err
	}
	d := &description{compiler: jsonschema.NewCompiler(), seen: map[string]bool{}}
	if d.doc, err = jsonschema.UnmarshalJSON(bytes.NewReader(b)); err != nil {
		return nil, err
	}
	strict(d.doc)
	d.compiler.AssertFormat()
	return d, d.compiler.AddResource("openapi.json", d.doc)
})

// strict closes every object that lists what may stand in it.
func strict(v any) {
	switch v := v.(type) {
	case []any:
		for _, x := range v {
			strict(x)
		}
	case map[string]any:
		_, lists := v["properties"].(map[string]any)
		if _, more := v["$ref"]; lists && !more && v["type"] == "object" {
			v["additionalProperties"] = false
		}
		for _, x := range v {
			strict(x)
		}
	}
}

type description struct {
	mu       sync.Mutex
	compiler *jsonschema.Compiler
	doc      any
	seen     map[string]bool // operation and status of what was checked
}

// at is what stands at a place of the document, with the place, following references.
func (d *description) at(path ...string) (any, string) {
	v, place := d.doc, "openapi.json#"
	for _, name := range path {
		m, _ := v.(map[string]any)
		v, place = m[name], place+"/"+strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
		if m, is := v.(map[string]any); is {
			if ref, is := m["$ref"].(string); is && len(m) == 1 {
				return d.at(strings.Split(strings.TrimPrefix(ref, "#/"), "/")...)
			}
		}
	}
	return v, place
}

func (d *description) validate(place string, body []byte) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	schema, err := d.compiler.Compile(place)
	if err != nil {
		return err
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(body))
	if err != nil {
		return err
	}
	return schema.Validate(v)
}

// operation finds the path of the document that a request's path is one of.
func (d *description) operation(r *http.Request) (path string) {
	all, _ := d.at("paths")
	m, _ := all.(map[string]any)
	for _, p := range slices.Sorted(maps.Keys(m)) {
		form := regexp.MustCompile("^" + regexp.MustCompile(`\{\w+\}`).ReplaceAllString(p, `[^/]+`) + "$")
		item, _ := m[p].(map[string]any)
		if item[strings.ToLower(r.Method)] != nil && form.MatchString(r.URL.EscapedPath()) && (path == "" || strings.Contains(path, "{")) {
			path = p
		}
	}
	return path
}

// holds wants an answer to be one that the document describes, and its request, if it was taken, too.
func (d *description) holds(t *testing.T, r *http.Request, sent []byte, status int, kind string, body []byte) {
	t.Helper()
	method, path := strings.ToLower(r.Method), d.operation(r)
	if path == "" {
		if status != http.StatusNotFound && strings.HasPrefix(r.URL.Path, "/api/v1/") {
			t.Errorf("%s %s answers %d and is not described", r.Method, r.URL.Path, status)
		}
		return
	}
	where := r.Method + " " + path
	code := fmt.Sprint(status)
	answer, place := d.at("paths", path, method, "responses", code)
	if answer == nil && status >= http.StatusBadRequest {
		code = "default"
		answer, place = d.at("paths", path, method, "responses", code)
	}
	content, _ := answer.(map[string]any)["content"].(map[string]any)
	kind, _, _ = strings.Cut(kind, ";")
	if content[kind] == nil {
		t.Errorf("%s answers %d with %q, which is not described", where, status, kind)
		return
	}
	d.mu.Lock()
	d.seen[where+" "+code] = true
	d.mu.Unlock()
	if kind == "application/json" {
		if err := d.validate(place+"/content/application~1json/schema", body); err != nil {
			t.Errorf("%s answers %d: %v\n%s", where, status, err, body)
		}
	}
	if _, place = d.at("paths", path, method, "requestBody", "content", "application/json"); status < http.StatusBadRequest && len(sent) > 0 && !strings.HasSuffix(path, "/files") {
		if err := d.validate(place+"/schema", sent); err != nil {
			t.Errorf("%s takes what is not described: %v\n%s", where, err, sent)
		}
	}
}

// tells wants an event of a stream to be one that the document describes.
func tells(t *testing.T, path string, h heard) {
	t.Helper()
	d, err := described()
	if err != nil {
		t.Fatal(err)
	}
	_, place := d.at("paths", path, "get", "responses", "200", "content", "text/event-stream", "x-events", h.name)
	data, err := json.Marshal(h.data)
	if err == nil {
		err = d.validate(place, data)
	}
	if err != nil {
		t.Errorf("event %q: %v\n%s", h.name, err, data)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.seen[h.name] = true
}

// Every route of the server is in docs/openapi.yaml and the other way round, every type of ours stands there as it is, and each answer, each body
// that is taken and each event of the stories below is as described there.
// R127 R167
func TestOpenAPI(t *testing.T) {
	want, err := ofTypes()
	if err != nil {
		t.Fatal(err)
	}
	written, err := os.ReadFile(openAPI)
	if err != nil {
		t.Fatal(err)
	}
	byHand, generated, ok := strings.Cut(string(written), ofTheTypes)
	if *updateOpenAPI {
		if err := os.WriteFile(openAPI, []byte(byHand+ofTheTypes+want), 0o600); err != nil {
			t.Fatal(err)
		}
	} else if !ok || generated != want {
		t.Fatal("docs/openapi.yaml is not what the types say: go test ./adapters/web -run OpenAPI -update-openapi, and read the difference")
	}
	d, err := described()
	if err != nil {
		t.Fatal(err)
	}
	routes, err := os.ReadFile("routes.go")
	if err != nil {
		t.Fatal(err)
	}
	var there, told []string
	for _, m := range regexp.MustCompile(`"((?:GET|POST|PUT|PATCH|DELETE) /api/v1/[^"]*)"`).FindAllSubmatch(routes, -1) {
		there = append(there, string(m[1]))
	}
	paths, _ := d.at("paths")
	for path, item := range paths.(map[string]any) {
		for method := range item.(map[string]any) {
			if method != "parameters" {
				told = append(told, strings.ToUpper(method)+" "+path)
			}
		}
	}
	slices.Sort(there)
	slices.Sort(told)
	if !slices.Equal(there, told) || len(there) < 20 {
		t.Fatalf("the routes are\n%q, described are\n%q", there, told)
	}
	story(t)
	for _, route := range there {
		for _, code := range d.codes(route) {
			if !d.seen[route+" "+code] {
				t.Errorf("nothing here made %s answer %s", route, code)
			}
		}
	}
	for _, path := range []string{chatEvents, inboxEvents} {
		events, _ := d.at("paths", path, "get", "responses", "200", "content", "text/event-stream", "x-events")
		for name := range events.(map[string]any) {
			if !d.seen[name] {
				t.Errorf("nothing here made the event %s", name)
			}
		}
	}
}

// story goes through every route: each answers what it should, and refuses who has no session. Client and reader hold what they get against the page.
func story(t *testing.T) {
	b, _, _, ana, id := takesFiles(t)
	c := &client{t: t, url: ana.url}
	for _, route := range strings.Fields(`GET/sessions DELETE/sessions DELETE/sessions/x GET/chats POST/chats GET/chats/x POST/chats/x/messages POST/chats/x/files GET/chats/x/files/x
		POST/chats/x/stop GET/chats/x/events POST/chats/x/asks POST/chats/x/clicks POST/tools/approve POST/asks/x GET/asks/x/why GET/chats/x/details/x GET/asks/x/want GET/asks/x/details GET/inbox GET/inbox/events POST/inbox/clicks GET/push POST/push DELETE/push GET/settings
		POST/settings POST/permissions`) {
		method, path, _ := strings.Cut(route, "/")
		c.fails(http.StatusUnauthorized, "unauthorized", method, "/api/v1/"+path, nil)
	}
	c.fails(http.StatusBadRequest, "name_taken", "POST", "/api/v1/sessions", map[string]string{"name": "nod"})

	at := "/api/v1/chats/" + id
	r := ana.stream(chatEvents, id, "", "?patches")
	picture := ana.ok(http.StatusCreated, "POST", at+"/files?name=dot.png", "\x89PNG\r\n\x1a\n")
	ana.ok(http.StatusAccepted, "POST", at+"/messages", map[string]any{"text": "write hello", "files": []any{picture}, "delivery": "d1"})
	r.until("approval_required")
	ask := ana.ask(id)
	ana.ok(http.StatusOK, "GET", at+"?nodes", nil)
	ana.ok(http.StatusOK, "GET", "/api/v1/chats?q=hello", nil)
	ana.ok(http.StatusOK, "GET", "/api/v1/asks/"+ask.RequestID+"/why", nil)
	ana.ok(http.StatusOK, "GET", at+"/details/"+ask.ToolCallID, nil)
	ana.ok(http.StatusOK, "GET", "/api/v1/asks/"+ask.RequestID+"/details", nil)
	ana.ok(http.StatusOK, "GET", "/api/v1/inbox", nil)
	ana.follow().until("inbox")
	ana.ok(http.StatusOK, "POST", "/api/v1/inbox/clicks", map[string]string{"token": ask.RequestID, "choice": "extend"})
	key, _ := ana.ok(http.StatusOK, "GET", "/api/v1/push", nil)["key"].(string)
	ana.ok(http.StatusOK, "POST", "/api/v1/push", fakepush.Start(t).Subscribe(key).Form())
	ana.ok(http.StatusOK, "DELETE", "/api/v1/push", nil)
	b.wants = &turn.Elicitation{Kind: turn.ElicitationForm, Message: "How many?", Fields: []turn.FormField{{Name: "n", Type: "integer", Required: true}}}
	ana.ok(http.StatusOK, "POST", "/api/v1/tools/approve", map[string]any{"tool_call_id": ask.ToolCallID, "approved": true, "scope": "chat"})
	r.until("permission_granted")
	wanted := ana.look(id).Messages[1]
	for _, block := range wanted.Blocks {
		if block.Kind == "input" {
			ana.ok(http.StatusOK, "GET", "/api/v1/asks/"+block.RequestID+"/want", nil)
			ana.ok(http.StatusOK, "POST", "/api/v1/asks/"+block.RequestID, map[string]any{"choice": "decline"})
		}
	}
	r.until("turn_done")
	ana.ok(http.StatusOK, "POST", at+"/clicks", map[string]any{"choice": "revoke", "token": ana.look(id).Grants[0].ID})
	for _, end := range []struct {
		event string
		by    func()
	}{
		{"permission_denied", func() {
			ana.ok(http.StatusOK, "POST", at+"/asks", map[string]any{"choice": "deny", "reason": "not now"})
		}},
		{"permission_expired", func() { b.expire(webChat(id)) }},
		{"permission_cancelled", func() { ana.ok(http.StatusAccepted, "POST", at+"/stop", nil) }},
	} {
		ana.say(id, "three")
		r.until("approval_required")
		end.by()
		r.until(end.event)
	}
	ana.look(id)
	ana.ok(http.StatusOK, "POST", at+"/messages", map[string]string{"text": "/permissions"})
	ana.ok(http.StatusOK, "GET", "/api/v1/settings?view=tools", nil)
	c.with(masterKey).ok(http.StatusOK, "POST", "/api/v1/settings", map[string]string{"view": "overview", "token": "halt", "chat": id})
	ana.ok(http.StatusOK, "POST", "/api/v1/permissions", map[string]any{"words": []string{"show"}})
	sessions, _ := ana.ok(http.StatusOK, "GET", "/api/v1/sessions", nil)["sessions"].([]any)
	own, _ := sessions[0].(map[string]any)
	ana.as("Ben").ok(http.StatusOK, "DELETE", "/api/v1/sessions", nil)
	res, err := http.DefaultClient.Do(ana.request("GET", at+"/files/"+picture["file"].(string), nil))
	if err != nil {
		t.Fatal(err)
	}
	asDescribed(t, res, nil)
	if err := res.Body.Close(); err != nil {
		t.Error(err)
	}
	ana.ok(http.StatusOK, "DELETE", "/api/v1/sessions/"+own["id"].(string), nil)
}

// codes are the answers that the document has for a route.
func (d *description) codes(route string) []string {
	method, path, _ := strings.Cut(route, " ")
	all, _ := d.at("paths", path, strings.ToLower(method), "responses")
	m, _ := all.(map[string]any)
	return slices.Sorted(maps.Keys(m))
}

// asDescribed is what client and reader say of every answer.
func asDescribed(t *testing.T, res *http.Response, body []byte) {
	t.Helper()
	d, err := described()
	if err != nil {
		t.Fatal(err)
	}
	var sent []byte
	if get := res.Request.GetBody; get != nil {
		r, err := get()
		if err == nil {
			sent, err = io.ReadAll(r)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	d.holds(t, res.Request, sent, res.StatusCode, res.Header.Get("Content-Type"), body)
}

// ofTypes describes the types that docs/openapi.yaml names, and those that they name: a field as its tag says, with its comment. "a | b" at the
// beginning of a comment are all values that there are.
func ofTypes() (string, error) {
	written, err := os.ReadFile(openAPI)
	if err != nil {
		return "", err
	}
	byHand, _, _ := strings.Cut(string(written), ofTheTypes)
	g := generator{types: map[string]*ast.StructType{}, requests: map[string]bool{}, out: map[string]string{}}
	if err := g.parse("."); err != nil {
		return "", err
	}
	g.out["ChoiceName"] = enum(text.ChoicesOf(text.APIAsk))
	g.out["ScopeName"] = enum(each(scopes, func(x namedScope) string { return x.name }))
	g.refs(byHand)
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(g.out)) {
		fmt.Fprintf(&b, "    %s:%s\n", name, g.out[name])
	}
	return b.String(), nil
}

func enum[S any](values []S) string { return " {enum: " + flow(values) + "}" }

// flow is a value as YAML on one line.
func flow(v any) string {
	b, _ := json.Marshal(v) // words and maps of them always marshal
	return string(b)
}

type generator struct {
	types    map[string]*ast.StructType // by the name that the page has for it
	requests map[string]bool            // those in which nothing has to be
	out      map[string]string
}

// parse finds the types of the package, of markdown's tree and of package chat, and the bodies that handlers read.
func (g generator) parse(dir string) error {
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	names = append(names, "markdown/markdown.go", "../../core/chat/chat.go")
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(gotoken.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			return err
		}
		handler := ""
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				handler = n.Name.Name
			case *ast.TypeSpec:
				if s, is := n.Type.(*ast.StructType); is && f.Name.Name == "chat" {
					g.types["chat."+n.Name.Name] = s // to be embedded
				} else if is {
					g.types[nameOf(n.Name.Name)] = s
				}
			case *ast.ValueSpec:
				if s, is := n.Type.(*ast.StructType); is && n.Names[0].Name == "body" {
					name := nameOf(strings.TrimPrefix(handler, "read")) // readAnswer reads what two handlers take
					g.types[name], g.requests[name] = s, true
				}
			}
			return true
		})
	}
	return err
}

func nameOf(goName string) string {
	goName = strings.TrimSuffix(goName, "Form")
	return strings.ToUpper(goName[:1]) + goName[1:]
}

// refs describes each type that a text names.
func (g generator) refs(said string) {
	for _, m := range regexp.MustCompile(`#/components/schemas/(\w+)`).FindAllStringSubmatch(said, -1) {
		if s := g.types[m[1]]; s != nil && g.out[m[1]] == "" {
			g.out[m[1]] = "\n"
			g.out[m[1]] = g.describe(m[1], s)
			g.refs(g.out[m[1]])
		}
	}
}

var values = regexp.MustCompile(`^([a-z_-]+(?: \| [a-z_-]+)+)`)

func (g generator) describe(of string, s *ast.StructType) string {
	var lines, required []string
	var fields func(s *ast.StructType)
	fields = func(s *ast.StructType) {
		for _, f := range s.Fields.List {
			if len(f.Names) == 0 {
				name := types.ExprString(f.Type)
				fields(cmp.Or(g.types[name], g.types[nameOf(name)]))
				continue
			}
			tag := reflect.StructTag(strings.Trim(f.Tag.Value, "`")).Get("json")
			name, more, _ := strings.Cut(tag, ",")
			if name == "-" {
				continue
			}
			says := strings.TrimSpace(strings.ReplaceAll(f.Comment.Text()+f.Doc.Text(), "\n", " "))
			form := g.form(f.Type, more == "" && !g.requests[of])
			if words := values.FindString(says); words != "" {
				form["enum"], says = strings.Split(words, " | "), strings.TrimPrefix(strings.TrimPrefix(says, words), ": ")
				delete(form, "type")
			}
			if says != "" {
				form["description"] = says
			}
			lines = append(lines, "        "+name+": "+flow(form))
			if more == "" {
				required = append(required, name)
			}
		}
	}
	fields(s)
	head := "\n      type: object\n"
	if len(required) > 0 && !g.requests[of] {
		head += "      required: [" + strings.Join(required, ", ") + "]\n"
	}
	return head + "      properties:\n" + strings.Join(lines, "\n")
}

// form describes a field's type. What always stands there is null where there is nothing.
func (g generator) form(e ast.Expr, always bool) map[string]any {
	switch e := e.(type) {
	case *ast.StarExpr:
		form := g.form(e.X, false)
		if of := form["type"]; always && of != nil {
			form["type"] = []any{of, "null"}
		}
		return form
	case *ast.ArrayType:
		return map[string]any{"type": "array", "items": g.form(e.Elt, false)}
	case *ast.SelectorExpr:
		switch e.Sel.Name {
		case "Time":
			return map[string]any{"type": "string", "format": "date-time"}
		case "RawMessage":
			return map[string]any{}
		}
		return map[string]any{"$ref": "#/components/schemas/" + e.Sel.Name}
	case *ast.Ident:
		switch e.Name {
		case "string":
			return map[string]any{"type": "string"}
		case "bool":
			return map[string]any{"type": "boolean"}
		case "int", "int64", "uint64":
			return map[string]any{"type": "integer"}
		case "float64":
			return map[string]any{"type": "number"}
		case "any": // a call's result
			return map[string]any{"oneOf": []any{map[string]any{"$ref": "#/components/schemas/Result"}, map[string]any{"$ref": "#/components/schemas/Required"}, map[string]any{"type": "null"}}}
		case "fields":
			return map[string]any{"type": "object", "additionalProperties": map[string]any{}}
		}
		return map[string]any{"$ref": "#/components/schemas/" + nameOf(e.Name)}
	}
	panic(fmt.Sprintf("a field of a type that is not described here: %T", e))
}
