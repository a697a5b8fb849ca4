package fakediscord

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// checker walks what a client sent and notes what Discord would refuse. Its faults are nested as Discord nests them.
// https://docs.discord.com/developers/reference#error-messages
type checker struct {
	path   []string
	errors obj
	ids    map[string]bool // custom_ids
	files  map[string]bool // what attachment:// may name
	count  int             // components, nested ones too
	text   int             // characters of text displays
	bytes  int
	texts  int
	fatal  *refusal
}

// leaf is one error for a whole body.
func leaf(code, message string) obj {
	return obj{"_errors": []any{obj{"code": code, "message": message}}}
}

// no notes a fault where the checker stands.
func (c *checker) no(code, format string, a ...any) {
	if c.errors == nil {
		c.errors = obj{}
	}
	at := c.errors
	for _, step := range c.path {
		next, ok := at[step].(obj)
		if !ok {
			next = obj{}
			at[step] = next
		}
		at = next
	}
	list, _ := at["_errors"].([]any)
	at["_errors"] = append(list, obj{"code": code, "message": fmt.Sprintf(format, a...)})
}

// in runs f one step down.
func (c *checker) in(step string, f func()) {
	c.path = append(c.path, step)
	f()
	c.path = c.path[:len(c.path)-1]
}

// at runs f for every element of a list.
func (c *checker) each(list []any, f func(v any)) {
	for i, v := range list {
		c.in(strconv.Itoa(i), func() { f(v) })
	}
}

// refusal is the answer for what was found, nil if that is nothing.
func (c *checker) refusal() *refusal {
	if c.errors != nil {
		deepest(c.errors)
		return &refusal{status: 400, code: 50035, message: "Invalid Form Body", errors: c.errors}
	}
	return c.fatal
}

// deepest leaves errors of a whole only where its parts have none: Discord looks at a whole once its parts are good.
func deepest(errors obj) {
	if len(errors) > 1 {
		delete(errors, "_errors")
	}
	for _, v := range errors {
		if inner, ok := v.(obj); ok {
			deepest(inner)
		}
	}
}

// str checks a string member of min to max characters; without the member, it is required where need says so.
func (c *checker) str(o obj, k string, least, most int, need bool) string {
	v, there := o[k]
	if !there || v == nil {
		if need {
			c.in(k, func() { c.no("BASE_TYPE_REQUIRED", "This field is required") })
		}
		return ""
	}
	t, ok := v.(string)
	if !ok {
		c.in(k, func() { c.no("STRING_TYPE_CONVERT", "Could not interpret \"%v\" as string.", v) })
		return ""
	}
	n := utf8.RuneCountInString(t)
	switch {
	case n == 0 && need:
		c.in(k, func() { c.no("BASE_TYPE_REQUIRED", "This field is required") })
	case n > most && least > 0, n < least:
		c.in(k, func() { c.no("BASE_TYPE_BAD_LENGTH", "Must be between %d and %d in length.", least, most) })
	case n > most:
		c.in(k, func() { c.no("BASE_TYPE_MAX_LENGTH", "Must be %d or fewer in length.", most) })
	}
	return t
}

// num checks an integer member from least to most.
func (c *checker) num(o obj, k string, least, most int64, need bool) (int, bool) {
	v, there := o[k]
	if !there || v == nil {
		if need {
			c.in(k, func() { c.no("BASE_TYPE_REQUIRED", "This field is required") })
		}
		return 0, false
	}
	n, ok := v.(json.Number)
	i, err := n.Int64()
	switch {
	case !ok || err != nil:
		c.in(k, func() { c.no("NUMBER_TYPE_COERCE", "Value \"%v\" is not int.", v) })
	case i < least:
		c.in(k, func() { c.no("NUMBER_TYPE_MIN", "int value should be greater than or equal to %d.", least) })
	case i > most:
		c.in(k, func() { c.no("NUMBER_TYPE_MAX", "int value should be less than or equal to %d.", most) })
	}
	return int(i), true
}

// bool checks a boolean member.
func (c *checker) bool(o obj, k string) bool {
	v, ok := o[k].(bool)
	if !ok && o[k] != nil {
		c.in(k, func() { c.no("BASE_TYPE_CHOICES", "Value must be one of (True, False).") })
	}
	return v
}

// list checks an array member.
func (c *checker) list(o obj, k string, least, most int, need bool) []any {
	v, there := o[k]
	if !there || v == nil {
		if need {
			c.in(k, func() { c.no("BASE_TYPE_REQUIRED", "This field is required") })
		}
		return nil
	}
	l, ok := v.([]any)
	switch {
	case !ok:
		c.in(k, func() { c.no("LIST_TYPE_CONVERT", "Only iterables may be used in a ListType") })
	case len(l) < least || len(l) > most:
		c.in(k, func() { c.no("BASE_TYPE_BAD_LENGTH", "Must be between %d and %d in length.", least, most) })
	}
	return l
}

// object checks that v is an object.
func (c *checker) object(v any) (obj, bool) {
	o, ok := v.(obj)
	if !ok {
		c.no("DICT_TYPE_CONVERT", "Only dictionaries may be used in a DictType")
	}
	return o, ok
}

// choice checks that a number is one of these.
func (c *checker) choice(o obj, k string, need bool, of ...int) int {
	n, there := c.num(o, k, -1<<53, 1<<53, need)
	if there && !slices.Contains(of, n) {
		names := []string{}
		for _, v := range of {
			names = append(names, strconv.Itoa(v))
		}
		c.in(k, func() { c.no("BASE_TYPE_CHOICES", "Value must be one of (%s).", strings.Join(names, ", ")) })
	}
	return n
}

// link checks an address.
func (c *checker) link(o obj, k string, most int, need bool, schemes ...string) string {
	v := c.str(o, k, 0, most, need)
	if v == "" {
		return v
	}
	if u, err := url.Parse(v); err != nil || !slices.Contains(schemes, u.Scheme) || u.Host == "" && u.Opaque == "" {
		c.in(k, func() {
			c.no("URL_TYPE_INVALID_SCHEME", "Scheme \"%s\" is not supported. Scheme must be one of (%s).", v, strings.Join(schemes, ", "))
		})
	}
	return v
}

// id checks a snowflake.
func (c *checker) id(v any) {
	if n, ok := v.(json.Number); ok {
		v = n.String()
	}
	if t, ok := v.(string); !ok || !snowflake(t) {
		c.no("NUMBER_TYPE_COERCE", "Value \"%v\" is not snowflake.", v)
	}
}

// custom checks a custom_id, which must be the only one of its message or modal.
func (c *checker) custom(o obj) {
	v := c.str(o, "custom_id", 1, 100, true)
	if v == "" {
		return
	}
	if c.ids[v] {
		c.in("custom_id", func() { c.no("COMPONENT_CUSTOM_ID_DUPLICATED", "Component custom id cannot be duplicated") })
	}
	c.ids[v] = true
}
