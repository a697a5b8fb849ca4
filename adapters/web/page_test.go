package web

import (
	"html/template"
	"strings"
	"testing"
)

// fill gives what html/template gives, for every page and whatever stands in the values.
func TestPagesAreWhatATemplateGives(t *testing.T) {
	rough := `<script>alert("1")</script> & 'x' {{Name}} {{if Admin}}\u202e`
	for name, page := range newPage(Config{}).files {
		if !strings.HasSuffix(name, ".html") {
			continue
		}
		for _, values := range []map[string]string{
			{"Product": "nod", "Tag": "abc", "Name": "you"},
			{"Product": "nod", "Tag": "abc", "Name": rough, "NeedsKey": "yes", "Problem": rough, "Page": "settings", "Chat": "c-1", "ChatPath": "c-1", "Banner": rough, "SignIn": "https://nod.example.org/signin", "ByProvider": rough, "BySlack": "yes", "SignOut": "https://login.example.org/?a=b&c=d", "Provider": rough},
			{"Product": rough, "Tag": "abc", "Name": rough, "Admin": "yes", "Banner": rough, "Suggestions": "a\n" + rough, "Ends": rough, "EndsWhy": rough, "ByDiscord": "yes", "To": "/settings/c/c-1"},
		} {
			same := strings.NewReplacer("{{if !", "{{if not .", "{{if ", "{{if .", "{{end}}", "{{end}}", "{{", "{{.").Replace(string(page))
			for _, field := range []string{"Product", "Tag", "Name", "NeedsKey", "Problem", "Page", "Chat", "ChatPath", "Banner", "Suggestions", "Admin", "Ends", "EndsWhy", "SignIn", "ByProvider", "BySlack", "ByDiscord", "To", "SignOut", "Provider"} {
				values[field] += ""
			}
			var want strings.Builder
			if err := template.Must(template.New(name).Option("missingkey=error").Parse(same)).Execute(&want, values); err != nil {
				t.Fatal(err) // also where a page has a place for something that is not there
			}
			if got := fill(string(page), values); got != want.String() {
				t.Errorf("%s of %v:\n%s\nwant\n%s", name, values, got, want.String())
			}
		}
	}
}
