package inbound

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestSameCommands(t *testing.T) {
	t.Parallel()
	there := func(change func(map[string]any)) []json.RawMessage {
		b, err := json.Marshal(Commands()[0])
		if err != nil {
			t.Fatal(err)
		}
		c := map[string]any{}
		if err := json.Unmarshal(b, &c); err != nil {
			t.Fatal(err)
		}
		c["id"], c["application_id"], c["version"], c["nsfw"], c["name_localizations"], c["contexts"] = "1", "2", "3", false, nil, []int{1, 0}
		change(c)
		b, err = json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		return []json.RawMessage{b}
	}
	if !SameCommands(there(func(map[string]any) {}), Commands()) {
		t.Error("the same differ")
	}
	for what, change := range map[string]func(map[string]any){
		"description": func(c map[string]any) { c["description"] = "other" },
		"permissions": func(c map[string]any) { c["default_member_permissions"] = "0" },
		"contexts":    func(c map[string]any) { c["contexts"] = []int{0} },
		"options":     func(c map[string]any) { c["options"] = c["options"].([]any)[1:] },
		"length": func(c map[string]any) {
			c["options"].([]any)[0].(map[string]any)["options"].([]any)[0].(map[string]any)["max_length"] = 5
		},
		"no object": func(c map[string]any) { c["options"] = "none" },
	} {
		if SameCommands(there(change), Commands()) {
			t.Errorf("%s: different ones are the same", what)
		}
	}
	if SameCommands(nil, Commands()) || SameCommands([]json.RawMessage{[]byte(`[]`)}, Commands()) {
		t.Error("none are the same")
	}
}

func TestCommandsKeepDiscordsLimits(t *testing.T) {
	t.Parallel()
	for _, c := range Commands() {
		if len(c.Description) > 100 || len(c.Options) > 25 || c.Permissions != nil {
			t.Errorf("%+v", c)
		}
		for _, o := range c.Options {
			if o.Name != strings.ToLower(o.Name) || len(o.Name) > 32 || len(o.Description) > 100 || o.Description == "" {
				t.Errorf("%+v", o)
			}
			for _, x := range o.Options {
				if len(x.Description) > 100 || x.Description == "" || x.Name != strings.ToLower(x.Name) {
					t.Errorf("%+v", x)
				}
			}
		}
	}
}
