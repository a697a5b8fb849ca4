package canonical

import (
	"encoding/json"
	"strconv"
)

// Lookup finds the value at a path of keys and list positions.
func Lookup(v json.RawMessage, path []string) (json.RawMessage, bool) {
	for _, step := range path {
		fields, items := Members(v)
		v = fields[step] // nil where there is none
		if i, err := strconv.Atoi(step); err == nil && 0 <= i && i < len(items) {
			v = items[i]
		}
	}
	return v, len(v) > 0
}

// Members are what stands in an object, or in a list.
func Members(v json.RawMessage) (fields map[string]json.RawMessage, items []json.RawMessage) {
	if json.Unmarshal(v, &fields) != nil && json.Unmarshal(v, &items) != nil {
		return nil, nil
	}
	return fields, items
}
