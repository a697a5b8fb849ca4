package schema

import (
	"maps"
	"regexp"
	"regexp/syntax"
	"slices"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// errSteps is what a check that needs too many steps panics with: the validator has no other way out.
type errSteps struct{}

// spend takes steps off the check under way.
func (sc *Schema) spend(steps int) {
	if sc.left -= steps; sc.left < 0 {
		panic(errSteps{}) //nolint:forbidigo // Check recovers it
	}
}

// count makes s, and all that it leads to, count the steps of its checks: in the format, which the validator looks at before it goes on to
// other schemas. What a schema decides before (its type and enum) is counted by the schemas that lead to it.
func (sc *Schema) count(s *jsonschema.Schema, seen map[*jsonschema.Schema]bool) {
	if seen[s] {
		return
	}
	seen[s] = true
	self, items, members := subschemas(s)
	once, each := len(s.Required), 0
	for _, names := range s.DependentRequired {
		once += len(names)
	}
	for _, names := range s.Dependencies {
		if list, ok := names.([]string); ok {
			once += len(list)
		}
	}
	for _, sub := range slices.Concat(self, items) {
		once += entry(sub)
		sc.count(sub, seen)
	}
	for _, sub := range members {
		each += entry(sub)
		sc.count(sub, seen)
	}
	for _, sub := range s.Properties {
		sc.count(sub, seen)
	}
	var format func(any) error
	name := ""
	if s.Format != nil && s.Format.Name != "regex" { // a pattern among the arguments is not compiled to see whether it is one
		format, name = s.Format.Validate, s.Format.Name
	}
	s.Format = &jsonschema.Format{Name: name, Validate: func(v any) error {
		steps := 1 + once
		switch v := v.(type) {
		case string:
			steps += len(v) / 64
		case []any:
			steps += len(v) * (1 + each)
			if s.UniqueItems {
				steps += min(len(v), 20) * size(v)
			}
		case map[string]any:
			steps += len(v) * (1 + each)
			for name := range v {
				if sub := s.Properties[name]; sub != nil {
					steps += entry(sub)
				}
			}
		}
		sc.spend(steps)
		if format == nil {
			return nil
		}
		return format(v)
	}}
}

// entry is what it costs at most to find that a value is not of a schema's type, or not in its enum.
func entry(s *jsonschema.Schema) int {
	steps := 1
	if s.Const != nil {
		steps += size(*s.Const) / 16
	}
	if s.Enum != nil {
		steps += size(s.Enum.Values) / 16
	}
	return steps
}

// size is how much there is of a value, about in numbers or short words.
func size(v any) int {
	s, _ := v.(string)
	n := 1 + len(s)/16
	for name, e := range members(v) {
		n += len(name)/16 + size(e)
	}
	return n
}

// circular reports whether a schema applies itself to the value that it is applied to, by whatever way: no value fits, and the
// validator takes long to say so. known holds what was looked at, true once it is known to be no circle.
func circular(s *jsonschema.Schema, known map[*jsonschema.Schema]bool) bool {
	if fine, seen := known[s]; seen {
		return !fine
	}
	known[s] = false
	self, _, _ := subschemas(s)
	if slices.ContainsFunc(self, func(sub *jsonschema.Schema) bool { return circular(sub, known) }) {
		return true
	}
	known[s] = true
	return false
}

// subschemas are the schemas that s applies to the same value, to one certain item of it, and to any number of its members. Those of its
// properties are beside these.
func subschemas(s *jsonschema.Schema) (self, items, members []*jsonschema.Schema) {
	self = []*jsonschema.Schema{s.Ref, s.RecursiveRef, s.Not, s.If, s.Then, s.Else}
	if s.DynamicRef != nil {
		self = append(self, s.DynamicRef.Ref)
	}
	self = slices.AppendSeq(slices.Concat(self, s.AllOf, s.AnyOf, s.OneOf), maps.Values(s.DependentSchemas))
	for _, sub := range s.Dependencies {
		if sub, ok := sub.(*jsonschema.Schema); ok {
			self = append(self, sub)
		}
	}
	items = slices.Clone(s.PrefixItems)
	members = []*jsonschema.Schema{s.PropertyNames, s.UnevaluatedProperties, s.Contains, s.Items2020, s.UnevaluatedItems}
	members = slices.AppendSeq(members, maps.Values(s.PatternProperties))
	for _, sub := range []any{s.AdditionalProperties, s.AdditionalItems, s.Items} {
		switch sub := sub.(type) {
		case *jsonschema.Schema:
			members = append(members, sub)
		case []*jsonschema.Schema:
			items = append(items, sub...)
		}
	}
	none := func(sub *jsonschema.Schema) bool { return sub == nil }
	return slices.DeleteFunc(self, none), slices.DeleteFunc(items, none), slices.DeleteFunc(members, none)
}

// patterns compiles the patterns of sc, as far as they fit into memory.
func (sc *Schema) patterns(memory int) jsonschema.RegexpEngine {
	read := map[string]jsonschema.Regexp{} // the compiler asks for each more than once
	return func(s string) (jsonschema.Regexp, error) {
		if read[s] != nil {
			return read[s], nil
		}
		read[s] = anything(s)
		if len(s) > maxPatternText || sc.memory >= memory {
			return read[s], nil
		}
		sc.memory += 100 // reading it takes time, too
		parsed, err := syntax.Parse(s, syntax.Perl)
		if err != nil {
			return read[s], nil
		}
		steps, m := weigh(parsed)
		if m > maxPattern || sc.memory+m > memory {
			return read[s], nil
		}
		if re, err := regexp.Compile(s); err == nil {
			sc.memory += m
			read[s] = &pattern{re, steps, sc}
		}
		return read[s], nil
	}
}

// weigh is about how many instructions a pattern compiles to, and how much memory they take, in characters and ranges of them.
func weigh(re *syntax.Regexp) (steps, memory int) {
	steps, memory = 1, 1+len(re.Rune)
	if re.Op == syntax.OpLiteral {
		steps = len(re.Rune)
	}
	for _, sub := range re.Sub {
		s, m := weigh(sub)
		steps, memory = steps+s, memory+m
	}
	if re.Op == syntax.OpRepeat {
		times := max(re.Min, re.Max, 1)
		steps, memory = steps*times, memory*times
	}
	return steps, memory
}

// pattern is a regular expression that counts its steps: it takes time for each instruction and each byte of the text.
type pattern struct {
	re    *regexp.Regexp
	steps int
	sc    *Schema
}

func (p *pattern) String() string { return p.re.String() }

func (p *pattern) MatchString(s string) bool {
	p.sc.spend(1 + len(s)*p.steps/64)
	return p.re.MatchString(s)
}
