package fakediscord

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
)

// Limits of commands. https://docs.discord.com/developers/interactions/application-commands
const (
	MaxCommands       = 100 // of chat input, for each place
	MaxCommandOptions = 25
	maxCommandName    = 32
	maxDescription    = 100
)

// Types of options.
const (
	optionSub     = 1
	optionGroup   = 2
	optionString  = 3
	optionInteger = 4
	optionBoolean = 5
	optionUser    = 6
	optionNumber  = 10
)

var commandName = regexp.MustCompile(`^[-_'\p{L}\p{N}]{1,32}$`)

func (s *Server) commandPlace(q *request) (string, *refusal) {
	switch g := q.path("guild"); {
	case q.path("app") != s.opt.AppID:
		return "", &refusal{status: 403, code: 20012, message: "You are not authorized to perform this action on this application"}
	case g != "" && s.guilds[g] == nil:
		return "", &refusal{status: 403, code: 50001, message: "Missing Access"}
	default:
		return g, nil
	}
}

func getCommands(s *Server, q *request) (int, any, *refusal) {
	g, bad := s.commandPlace(q)
	if bad != nil {
		return 0, nil, bad
	}
	return 200, list(s.commands[g]), nil
}

// putCommands replaces all commands of a place. One that stays the same keeps its ID and version.
func putCommands(s *Server, q *request) (int, any, *refusal) {
	g, bad := s.commandPlace(q)
	if bad != nil {
		return 0, nil, bad
	}
	in, ok := q.v.([]any)
	if !ok {
		return 0, nil, &refusal{status: 400, code: 50035, message: "Invalid Form Body", errors: leaf("LIST_TYPE_CONVERT", "Only iterables may be used in a ListType")}
	}
	c := &checker{}
	if len(in) > MaxCommands {
		c.no("BASE_TYPE_MAX_LENGTH", "Must be %d or fewer in length.", MaxCommands)
	}
	names := map[string]bool{}
	c.each(in, func(v any) {
		if o, ok := c.object(v); ok {
			c.command(o)
			if names[str(o, "name")] {
				c.in("name", func() {
					c.no("APPLICATION_COMMANDS_DUPLICATE_NAME", "Application command names must be unique")
				})
			}
			names[str(o, "name")] = true
		}
	})
	if bad := c.refusal(); bad != nil {
		return 0, nil, bad
	}
	out := []obj{}
	for _, v := range in {
		out = append(out, s.command(g, v.(obj)))
	}
	s.commands[g] = out
	return 200, list(out), nil
}

func createCommand(s *Server, q *request) (int, any, *refusal) {
	g, bad := s.commandPlace(q)
	if bad != nil {
		return 0, nil, bad
	}
	c := &checker{}
	c.command(q.body())
	if bad := c.refusal(); bad != nil {
		return 0, nil, bad
	}
	status := 201
	all := slices.DeleteFunc(slices.Clone(s.commands[g]), func(o obj) bool {
		same := o["name"] == q.body()["name"]
		if same {
			status = 200
		}
		return same
	})
	one := s.command(g, q.body())
	s.commands[g] = append(all, one)
	return status, one, nil
}

// command stores a command. s.mu is held.
func (s *Server) command(g string, in obj) obj {
	o := maps.Clone(in)
	maps.DeleteFunc(o, func(_ string, v any) bool { return v == nil })
	for k, v := range (obj{"type": 1, "description": "", "nsfw": false, "default_member_permissions": nil, "contexts": nil, "integration_types": []any{0}}) {
		if _, ok := o[k]; !ok {
			o[k] = v
		}
	}
	o["application_id"] = s.opt.AppID
	if g == "" {
		if _, ok := o["dm_permission"]; !ok {
			o["dm_permission"] = true
		}
	} else {
		o["guild_id"] = g
	}
	for _, old := range s.commands[g] {
		was := maps.Clone(old)
		delete(was, "id")
		delete(was, "version")
		now := maps.Clone(o)
		delete(now, "id")
		delete(now, "version")
		if same(was, now) {
			return old
		}
		if old["name"] == o["name"] {
			o["id"] = old["id"]
		}
	}
	if o["id"] == nil {
		o["id"] = s.id()
	}
	o["version"] = s.id()
	return o
}

func same(a, b any) bool {
	x, _ := json.Marshal(a)
	y, _ := json.Marshal(b)
	return string(x) == string(y)
}

// command checks a command.
func (c *checker) command(o obj) {
	kind := cmp.Or(c.choice(o, "type", false, 1, 2, 3, 4), 1)
	c.name(o)
	c.str(o, "description", 0, maxDescription, kind == 1)
	contexts := c.list(o, "contexts", 1, 3, false)
	c.in("contexts", func() {
		c.each(contexts, func(v any) {
			c.choice(obj{"v": v}, "v", true, 0, 1, 2)
		})
	})
	c.options(o, 0)
}

func (c *checker) name(o obj) {
	name := c.str(o, "name", 1, maxCommandName, true)
	if name != "" && !commandName.MatchString(name) {
		c.in("name", func() {
			c.no("APPLICATION_COMMAND_INVALID_NAME", "Command name is invalid")
		})
	}
}

// options checks the options of a command or sub-command.
func (c *checker) options(o obj, depth int) {
	all := c.list(o, "options", 0, MaxCommandOptions, false)
	optional, names, subs := false, map[string]bool{}, 0
	c.in("options", func() {
		c.each(all, func(v any) {
			e, ok := c.object(v)
			if !ok {
				return
			}
			kind := c.choice(e, "type", true, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11)
			c.name(e)
			c.str(e, "description", 1, maxDescription, true)
			if names[str(e, "name")] {
				c.in("name", func() {
					c.no("APPLICATION_COMMAND_OPTIONS_NAME_ALREADY_EXISTS", "Option name already exists")
				})
			}
			names[str(e, "name")] = true
			c.choices(e)
			if kind == optionSub || kind == optionGroup {
				subs++
				if depth > 1 || depth == 1 && kind == optionGroup {
					c.in("type", func() {
						c.no("APPLICATION_COMMAND_OPTIONS_NESTING", "Sub-commands cannot be nested like this")
					})
				}
				c.options(e, depth+1)
				return
			}
			if c.bool(e, "required") && optional {
				c.in("required", func() {
					c.no("APPLICATION_COMMAND_OPTIONS_REQUIRED_INVALID", "Required options must be placed before non-required options")
				})
			}
			optional = optional || e["required"] != true
		})
		if subs > 0 && subs != len(all) {
			c.no("APPLICATION_COMMAND_OPTIONS_TYPE_INVALID", "Sub-command and sub-command group option types are mutually exclusive to all other types")
		}
	})
}

func (c *checker) choices(o obj) {
	all := c.list(o, "choices", 0, MaxCommandOptions, false)
	c.in("choices", func() {
		c.each(all, func(v any) {
			if e, ok := c.object(v); ok {
				c.str(e, "name", 1, 100, true)
				if _, text := e["value"].(string); text {
					c.str(e, "value", 0, 100, true)
				}
			}
		})
	})
}

// Commands are the registered commands of a guild; "" are the global ones.
func (s *Server) Commands(guild string) []map[string]any {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.commands[guild])
}

// Slash uses a registered command: its name, a sub-command (or ""), and options by name. What the client would not let through
// is an error.
func (s *Server) Slash(user, channel, name, sub string, options map[string]any) (*Delivery, error) {
	s.mu.Lock()
	d, err := s.slash(user, channel, name, sub, options)
	if err != nil {
		s.mu.Unlock()
		return nil, err
	}
	return s.interact(&interaction{kind: kindCommand, user: user, channel: channel}, d), nil
}

// slash makes the data of a command. s.mu is held.
func (s *Server) slash(user, channel, name, sub string, options map[string]any) (obj, error) {
	if err := s.person(user, channel); err != nil {
		return nil, err
	}
	c := s.channels[channel]
	command := s.registered(c, name)
	switch {
	case command == nil:
		return nil, fmt.Errorf("fakediscord: no command /%s here", name)
	case c.Archived:
		return nil, errors.New("fakediscord: no commands in archived threads")
	}
	at, data := command, obj{"id": command["id"], "name": name, "type": 1}
	if g := str(command, "guild_id"); g != "" {
		data["guild_id"] = g
	}
	into := data
	if sub != "" {
		if at = optionOf(command, sub); integer(at["type"]) != optionSub {
			return nil, fmt.Errorf("fakediscord: /%s has no sub-command %s", name, sub)
		}
		into = obj{"name": sub, "type": optionSub}
		data["options"] = []any{into}
	}
	given, err := chosen(at, options)
	if err != nil {
		return nil, err
	}
	if len(given) > 0 || sub != "" {
		into["options"] = given
	}
	return data, nil
}

// registered is a command that can be used in a channel; a guild's own comes first.
func (s *Server) registered(c *channel, name string) obj {
	place := contextGuild
	if c.Guild == "" {
		place = contextDM
	}
	for _, g := range []string{c.Guild, ""} {
		for _, o := range s.commands[g] {
			contexts, limited := o["contexts"].([]any)
			there := !limited || slices.ContainsFunc(contexts, func(v any) bool { return integer(v) == place })
			if o["name"] == name && there && (c.Guild != "" || o["dm_permission"] != false && g == "") {
				return o
			}
		}
	}
	return nil
}

func optionOf(o obj, name string) obj {
	all, _ := o["options"].([]any)
	for _, v := range all {
		if e, ok := v.(obj); ok && e["name"] == name {
			return e
		}
	}
	return nil
}

// chosen are the options in the order of the command.
func chosen(at obj, options map[string]any) ([]any, error) {
	out, used := []any{}, 0
	all, _ := at["options"].([]any)
	for _, v := range all {
		o := v.(obj)
		value, ok := options[str(o, "name")]
		switch kind := integer(o["type"]); {
		case !ok && o["required"] == true:
			return nil, fmt.Errorf("fakediscord: the option %v is required", o["name"])
		case !ok:
		case !fits(kind, value):
			return nil, fmt.Errorf("fakediscord: the option %v does not take %v", o["name"], value)
		default:
			used++
			out = append(out, obj{"name": o["name"], "type": kind, "value": value})
		}
	}
	if used != len(options) {
		return nil, errors.New("fakediscord: an option that the command does not have")
	}
	return out, nil
}

func fits(kind int, v any) bool {
	switch v.(type) {
	case string:
		return kind == optionString || kind >= optionUser && kind < optionNumber
	case int:
		return kind == optionInteger || kind == optionNumber
	case float64:
		return kind == optionNumber
	case bool:
		return kind == optionBoolean
	}
	return false
}

// FirstOption is the name of the first option of a command or its sub-command in a channel; empty: there is none.
func (s *Server) FirstOption(channel, name, sub string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.channels[channel]
	if c == nil {
		return ""
	}
	at := s.registered(c, name)
	if sub != "" {
		at = optionOf(at, sub)
	}
	all, _ := at["options"].([]any)
	if len(all) == 0 {
		return ""
	}
	return str(all[0].(obj), "name")
}
