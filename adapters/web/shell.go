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
//	{{.Name}}                                a text, escaped for element content and for attributes in double quotes; it may stand nowhere else
//	{{if .Name}} … {{else}} … {{end}}        also {{if not .Name}}; else may lack
//	{{range .Name}} … {{.}} … {{end}}        once for each text of a list
//
// That is a part of html/template, and its tests compare it with that. That package itself calls methods by names that it reads at run time, so
// the linker would keep every method of every type of every library: the program would be almost a third larger.
type shell []piece

// piece is text to be written as it is, or what is done with a field.
type piece struct {
	text        string
	do          string // "", "put", "if", "range"
	field       string // empty: the text of the list that is ranged over
	not         bool
	then, other shell
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
	for len(r.tokens) > 0 {
		token := r.tokens[0]
		r.tokens = r.tokens[1:]
		if !strings.HasPrefix(token, "{{") {
			s = append(s, piece{text: token})
			continue
		}
		if token == "{{else}}" || token == "{{end}}" {
			return s, token, nil
		}
		m := opens.FindStringSubmatch(token)
		if m == nil {
			return nil, "", fmt.Errorf("%s is not understood", token)
		}
		p := piece{do: m[1], not: m[2] != "", field: m[3]}
		if _, ok := r.fields.FieldByName(p.field); !ok && (p.field != "" || p.do != "") || p.not && p.do != "if" {
			return nil, "", fmt.Errorf("%s: there is no such field", token)
		}
		if p.do == "" {
			p.do = "put"
		} else {
			p.then, end, err = r.read()
			if err == nil && end == "{{else}}" && p.do == "if" {
				p.other, end, err = r.read()
			}
			if err == nil && end != "{{end}}" {
				err = fmt.Errorf("%s has no {{end}}", token)
			}
			if err != nil {
				return nil, "", err
			}
		}
		s = append(s, p)
	}
	return s, "", nil
}

// fill writes the page with the values of a struct's fields: texts, yes or no, and lists of texts. one is the text of the list that is ranged over.
func (s shell) fill(b *strings.Builder, fields reflect.Value, one string) {
	for _, p := range s {
		var v reflect.Value
		if p.field != "" {
			v = fields.FieldByName(p.field)
		}
		switch p.do {
		case "put":
			text := one
			if p.field != "" {
				text = v.String()
			}
			b.WriteString(html.EscapeString(text))
		case "if":
			if v.IsZero() == p.not {
				p.then.fill(b, fields, one)
			} else {
				p.other.fill(b, fields, one)
			}
		case "range":
			for i := range v.Len() {
				p.then.fill(b, fields, v.Index(i).String())
			}
		default:
			b.WriteString(p.text)
		}
	}
}
