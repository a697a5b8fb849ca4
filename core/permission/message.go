package permission

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/nodhq/nod/core/permission/canonical"
)

// missing stands in a message where the arguments hold nothing (R34).
const missing = "unknown"

// templateField is what a template takes from the arguments: the first "}}" ends it.
var templateField = regexp.MustCompile(`(?s)\{\{(.*?)\}\}`)

// Message fills a confirmation message's template from a call's canonical arguments: {{.args.target}}, nested as
// {{.args.mail.to}}, an element of a list as {{.args.files.0}}. A missing value reads "unknown". Values come in as plain
// text and are never expanded again; the caller escapes the result. The message of an empty template is empty.
func Message(template string, args json.RawMessage) string {
	return templateField.ReplaceAllStringFunc(template, func(f string) string { return fill(f[2:len(f)-2], args) })
}

// CheckMessage says what is wrong with a template, for whoever writes configuration.
func CheckMessage(template string) error {
	for _, f := range templateField.FindAllStringSubmatch(template, -1) {
		if _, ok := argPath(f[1]); !ok {
			return fmt.Errorf("message: {{%s}} is not understood: write {{.args.name}}", f[1])
		}
	}
	if strings.Contains(templateField.ReplaceAllString(template, " "), "{{") {
		return errors.New(`message: a "{{" has no "}}"`)
	}
	return nil
}

func argPath(field string) ([]string, bool) {
	path, ok := strings.CutPrefix(strings.TrimSpace(field), ".args.")
	steps := strings.Split(path, ".")
	return steps, ok && !slices.Contains(steps, "")
}

func fill(field string, args json.RawMessage) string {
	path, ok := argPath(field)
	v, found := canonical.Lookup(args, path)
	if !ok || !found {
		return missing
	}
	var s string
	if v[0] == '"' && json.Unmarshal(v, &s) == nil && s != "" {
		return s
	}
	return string(v) // numbers keep their exact text; the empty string shows as ""
}
