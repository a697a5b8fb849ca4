package web

import (
	"html/template"
	"reflect"
	"strings"
	"testing"
)

// A shell gives what html/template gives, for both pages and whatever stands in the values.
func TestShellsAreWhatATemplateGives(t *testing.T) {
	rough := `<script>alert("1")</script> & 'x' {{.Name}} \u202e`
	for _, d := range []pageData{
		{Product: "nod", Tag: "abc", Name: "you"},
		{Product: "nod", Tag: "abc", Name: rough, NeedsKey: true, Problem: rough, Page: "settings", Chat: "c-1", ChatPath: "c-1", Banner: rough},
		{Product: rough, Tag: "abc", SignedIn: true, Name: rough, Admin: true, Banner: rough, Suggestions: []string{"a", rough, ""}},
		{Product: "nod", Tag: "abc", SignedIn: true, Name: "Ana", Chat: "c-1", ChatPath: "c-1"},
	} {
		for _, name := range []string{pageChat, pageSettings} {
			page, err := assets.ReadFile("assets/" + name)
			if err != nil {
				t.Fatal(err)
			}
			var want, got strings.Builder
			if err := template.Must(template.New(name).Parse(string(page))).Execute(&want, d); err != nil {
				t.Fatal(err)
			}
			s, err := parseShell(string(page), d)
			if err != nil {
				t.Fatal(err)
			}
			if s.fill(&got, reflect.ValueOf(d), ""); got.String() != want.String() {
				t.Errorf("%s of %+v:\n%s\nwant\n%s", name, d, got.String(), want.String())
			}
		}
	}
}

func TestShellsThatCannotBeRead(t *testing.T) {
	for page, say := range map[string]string{
		"{{.Nobody}}": "no such field", "{{if .Admin}}": "no {{end}}", "{{end}}": "ends nothing", "{{else}}": "ends nothing", "{{if .Admin}}{{else}}{{else}}{{end}}": "no {{end}}",
		"{{template}}": "not understood", "{{range .Suggestions}}{{else}}{{end}}": "no {{end}}", "{{not .Admin}}": "no such field", "{{ .Name }}": "not understood",
	} {
		if _, err := parseShell(page, pageData{}); err == nil || !strings.Contains(err.Error(), say) {
			t.Errorf("%q: %v, want %q", page, err, say)
		}
	}
}
