package web

import (
	"fmt"
	"html"
	"reflect"
	"regexp"
	"strings"
)

// A shell is a page with places for a few values:
//
//	{{.Name}}                                a text, escaped for element content and for attributes in double quotes, and for nothing else
//	{{if .Name}} … {{else}} … {{end}}        also {{if not .Name}}; else may lack
//	{{range .Name}} … {{.}} … {{end}}        once for each text of a list
//
// That is a part of html/template, which its tests compare it with. That package itself calls methods by names that it reads at run time,
// so the linker would keep every method of every library: the program would be almost a third larger.
type shell []part

// part writes a part of the page. one is the text of the list that is ranged over.
type part func(b *strings.Builder, fields reflect.Value, one string)

// fill writes the page with the values of a struct's fields: texts, yes or no, and lists of texts.
func (s shell) fill(b *strings.Builder, fields reflect.Value, one string) {
	for _, p := range s {
		p(b, fields, one)
	}
}

var (
	places = regexp.MustCompile(`\{\{[^{}]*\}\}`)
	opens  = regexp.MustCompile(`^\{\{(?:(if|range) )?(not )?\.([A-Za-z]*)\}\}$`)
)

// parseShell reads a page. fields is a value of the struct that it will be filled from: a place for another field is an error.
func parseShell(page string, fields any) (shell, error) {
	r := shellReader{fields: reflect.TypeOf(fields)}
	at := 0
	for _, place := range places.FindAllStringIndex(page, -1) {
		r.tokens = append(r.tokens, page[at:place[0]], page[place[0]:place[1]])
		at = place[1]
	}
	r.tokens = append(r.tokens, page[at:])
	s, end, err := r.read()
	if err == nil && end != "" {
		err = fmt.Errorf("%s ends nothing", end)
	}
	return s, err
}

type shellReader struct {
	fields reflect.Type
	tokens []string // texts and places
}

// read goes on to {{else}}, {{end}} or the end of the page.
func (r *shellReader) read() (s shell, end string, err error) {
	for len(r.tokens) > 0 && err == nil {
		token := r.tokens[0]
		r.tokens = r.tokens[1:]
		switch {
		case token == "{{else}}" || token == "{{end}}":
			return s, token, nil
		case strings.HasPrefix(token, "{{"):
			var p part
			p, err = r.place(token)
			s = append(s, p)
		default:
			s = append(s, func(b *strings.Builder, _ reflect.Value, _ string) { b.WriteString(token) })
		}
	}
	return s, "", err
}

// place reads {{.Name}}, or goes on to the {{end}} of an if or a range.
func (r *shellReader) place(token string) (part, error) {
	m := opens.FindStringSubmatch(token)
	if m == nil {
		return nil, fmt.Errorf("%s is not understood", token)
	}
	do, not, field := m[1], m[2] != "", m[3]
	if _, ok := r.fields.FieldByName(field); !ok && (field != "" || do != "") || not && do != "if" {
		return nil, fmt.Errorf("%s: there is no such field", token)
	}
	if do == "" {
		return func(b *strings.Builder, fields reflect.Value, one string) {
			if field != "" {
				one = fields.FieldByName(field).String()
			}
			b.WriteString(html.EscapeString(one))
		}, nil
	}
	then, end, err := r.read()
	var other shell
	if err == nil && end == "{{else}}" && do == "if" {
		other, end, err = r.read()
	}
	if err == nil && end != "{{end}}" {
		err = fmt.Errorf("%s has no {{end}}", token)
	}
	return func(b *strings.Builder, fields reflect.Value, one string) {
		switch v := fields.FieldByName(field); {
		case do == "range":
			for i := range v.Len() {
				then.fill(b, fields, v.Index(i).String())
			}
		case v.IsZero() == not:
			then.fill(b, fields, one)
		default:
			other.fill(b, fields, one)
		}
	}, err
}
