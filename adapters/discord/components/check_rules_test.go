package components

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/bwmarrin/discordgo"

	"github.com/nodhq/nod/adapters/discord/ids"
	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/render"
	"github.com/nodhq/nod/core/text"
)

// Limits that what is drawn here never comes near.
const (
	maxSection     = 3         // texts of a section. https://discord.com/developers/docs/components/reference#section
	maxComponentID = 1<<31 - 1 // https://discord.com/developers/docs/components/reference#anatomy-of-a-component
	maxColor       = 1<<24 - 1 // https://discord.com/developers/docs/components/reference#container
	maxFiles       = 10        // of a message. https://discord.com/developers/docs/resources/message#create-message
)

// Where the rules are from.
const (
	docParts    = "https://discord.com/developers/docs/components/reference"
	docMessages = "https://discord.com/developers/docs/resources/message"
	docModals   = "https://discord.com/developers/docs/interactions/receiving-and-responding#interaction-response-object-modal"
	docFiles    = "https://discord.com/developers/docs/reference#uploading-files"
	ours        = "adapters/discord/components/actions.go"
)

var (
	customIDs = []string{partButton, partSelect, partInput}
	allParts  = []string{partRow, partButton, partSelect, partInput, partText, partFile, partSection, partSeparator, partContainer}
)

// rules are what Discord refuses, as far as nod could send it, and a few things that it would take and nod must not send. A component
// of a kind that none of them knows is refused too: nobody has looked up yet what is wrong with it.
var rules = []rule{
	// The whole.
	{"message parts", partMessage, docParts, func(n map[string]any) string {
		if len(list(n, "components")) == 0 {
			return "components are missing: a message of components v2 has nothing else"
		}
		return kinds("components", partRow, partText, partFile, partSection, partSeparator, partContainer)(n)
	}},
	{"message size", partMessage, docParts, func(n map[string]any) string {
		if size := total(n, allParts, func(map[string]any) int { return 1 }); size > maxComponents {
			return fmt.Sprintf("components: %d with those inside others, at most %d", size, maxComponents)
		}
		return ""
	}},
	{"message text", partMessage, "https://github.com/discord/discord-api-docs/pull/8562", func(n map[string]any) string {
		if size := total(n, []string{partText}, func(t map[string]any) int { return surface.Width(content(t)) }); size > maxText {
			return fmt.Sprintf("texts have %d characters, at most %d together", size, maxText)
		}
		return ""
	}},
	{"message bytes", partMessage, "https://github.com/discord/discord-api-docs/issues/8554", func(n map[string]any) string {
		if size := total(n, []string{partText}, func(t map[string]any) int { return len(content(t)) + textOverhead }); size > maxTextBytes {
			return fmt.Sprintf("texts have %d bytes with %d for each, at most %d together", size, textOverhead, maxTextBytes)
		}
		return ""
	}},
	{"unique custom_id", partMessage + " " + partModal, docParts + "#anatomy-of-a-component", different("custom_id", customIDs...)},
	{"unique id", partMessage + " " + partModal, docParts + "#anatomy-of-a-component", different("id", allParts...)},
	{"files", partMessage, docFiles, items("files", 0, maxFiles)},
	{"files size", partMessage, docFiles, func(n map[string]any) string {
		size := total(n, []string{partUpload}, func(f map[string]any) int { s, _ := f["size"].(int); return s })
		if size > maxFileBytes {
			return fmt.Sprintf("files have %d bytes, at most %d together", size, maxFileBytes)
		}
		return ""
	}},
	{"files are named", partMessage, docParts + "#file", func(n map[string]any) string { return filesAndNames(n) }},
	{"file name", partUpload, docFiles, func(n map[string]any) string {
		if name, _ := n["name"].(string); !fileName.MatchString(name) {
			return fmt.Sprintf("name is %q, which Discord would change", name)
		}
		return ""
	}},
	{"mentions", partMessage, docMessages + "#allowed-mentions-object", func(n map[string]any) string {
		for _, key := range []string{"users", "roles"} {
			list, _ := n[key].([]string)
			if len(list) > maxMentions {
				return fmt.Sprintf("%s: %d, at most %d", key, len(list), maxMentions)
			}
			if i := slices.IndexFunc(list, func(id string) bool { return !ids.IsSnowflake(id) }); i >= 0 {
				return fmt.Sprintf("%s/%d is %q, no ID", key, i, list[i])
			}
		}
		return ""
	}},
	{"modal title", partModal, docModals, chars("title", 1, maxModalTitle)},
	{"modal custom_id", partModal, docModals, chars("custom_id", 1, maxCustomID)},
	{"modal custom_id is ours", partModal, ours, func(n map[string]any) string {
		if id, _ := n["custom_id"].(string); id != "" && len(id) <= maxCustomID {
			_, _, _, form := ParseForm(id)
			if d, filled := ParsePanelAction(id); !form && (!filled || d.What != PanelForm) {
				return fmt.Sprintf("custom_id %q: nobody would understand its answer", id)
			}
		}
		return ""
	}},
	{"modal rows", partModal, docModals, func(n map[string]any) string {
		if say := items("components", 1, MaxInputs)(n); say != "" {
			return say
		}
		for _, x := range list(n, "components") {
			row, _ := x.(map[string]any)
			if in := list(row, "components"); partOf(row) != partRow || len(in) != 1 || kinds("components", partInput)(row) != "" {
				return "components: every one must be a row with one input"
			}
		}
		return ""
	}},

	// What holds others.
	{"component id", "*", docParts + "#anatomy-of-a-component", number("id", 0, maxComponentID)},
	{"container parts", partContainer, docParts + "#container", func(n map[string]any) string {
		if say := items("components", 1, maxComponents)(n); say != "" {
			return say
		}
		return kinds("components", partRow, partText, partFile, partSection, partSeparator)(n)
	}},
	{"accent_color", partContainer, docParts + "#container", number("accent_color", 0, maxColor)},
	{"row parts", partRow, docParts + "#action-row", func(n map[string]any) string {
		if say := items("components", 1, maxRow)(n); say != "" {
			return say
		}
		return kinds("components", partButton, partSelect, partInput)(n)
	}},
	{"row of a select", partRow, docParts + "#action-row", func(n map[string]any) string {
		in := list(n, "components")
		if len(in) > 1 && slices.ContainsFunc(in, func(x any) bool { m, _ := x.(map[string]any); return partOf(m) == partSelect }) {
			return "a select stands in its row alone"
		}
		return ""
	}},
	{"section parts", partSection, docParts + "#section", func(n map[string]any) string {
		if say := items("components", 1, maxSection)(n); say != "" {
			return say
		}
		if b, _ := n["accessory"].(map[string]any); partOf(b) != partButton {
			return "accessory is no button"
		}
		return kinds("components", partText)(n)
	}},
	{"inputs in modals", partMessage, docParts + "#text-input", func(n map[string]any) string {
		if total(n, []string{partInput}, func(map[string]any) int { return 1 }) > 0 {
			return "an input stands in a modal only"
		}
		return ""
	}},

	// What stands in them.
	{"text", partText, docParts + "#text-display", chars("content", 1, 4*maxText)}, // over all texts together: "message text"
	{"file", partFile, docParts + "#file", func(n map[string]any) string {
		if u, _ := field(n, "file.url"); !strings.HasPrefix(fmt.Sprint(u), uploaded) {
			return fmt.Sprintf("file.url is %v: Discord would fetch it", u)
		}
		return ""
	}},
	{"custom_id", partButton + " " + partSelect + " " + partInput, docParts + "#anatomy-of-a-component", func(n map[string]any) string {
		if n["style"] == float64(discordgo.LinkButton) && partOf(n) == partButton {
			if _, there := n["custom_id"]; there {
				return "custom_id on a button that leads somewhere"
			}
			return chars("url", 1, maxAddress)(n)
		}
		if _, there := n["url"]; there {
			return "url on what does something"
		}
		return chars("custom_id", 1, maxCustomID)(n)
	}},
	{"button url", partButton, docParts + "#button", func(n map[string]any) string {
		u, there := n["url"].(string)
		if _, hidden := text.Visible(u); there && (!strings.HasPrefix(u, "https://") && !strings.HasPrefix(u, "http://") || hidden > 0) {
			return fmt.Sprintf("url %q", u)
		}
		return ""
	}},
	{"button custom_id is ours", partButton, ours, func(n map[string]any) string {
		id, _ := n["custom_id"].(string)
		_, choice := ParseAction(id, nil)
		_, panel := ParsePanelAction(id)
		if ok := choice || panel || id == CancelID; !ok && id != "" && len(id) <= maxCustomID {
			return fmt.Sprintf("custom_id %q: nobody would understand a click on it", id)
		}
		return ""
	}},
	{"select custom_id is ours", partSelect, ours, func(n map[string]any) string {
		id, _ := n["custom_id"].(string)
		if _, _, ok := selectOf(id); !ok && id != "" && len(id) <= maxCustomID {
			return fmt.Sprintf("custom_id %q: nobody would understand what is picked in it", id)
		}
		return ""
	}},
	{"button label", partButton, docParts + "#button", chars("label", 1, maxLabel)},
	{"button style", partButton, ours + ": Allow is never the button that stands out", func(n map[string]any) string {
		id, _ := n["custom_id"].(string)
		p, _ := ParseAction(id, nil)
		_, panel := ParsePanelAction(id)
		switch style, _ := n["style"].(float64); {
		case style == 2, style == 5, style == 4 && (render.StandsOut(render.Choice{Choice: p.Choice, Style: render.Danger}) || p.Sure || panel):
			return ""
		default:
			return fmt.Sprintf("style %v on %q", style, p.Choice)
		}
	}},
	{"select options", partSelect, docParts + "#string-select", items("options", 1, maxOptions)},
	{"select placeholder", partSelect, docParts + "#string-select", chars("placeholder", 0, maxPlaceholder)},
	{"select values", partSelect, docParts + "#string-select", different("value", partOption)},
	{"option label", partOption, docParts + "#string-select-select-option-structure", chars("label", 1, maxOption)},
	{"option value", partOption, docParts + "#string-select-select-option-structure", chars("value", 1, maxOption)},
	{"option value is ours", partSelect, ours, func(n map[string]any) string {
		id, _ := n["custom_id"].(string)
		more, panel, _ := selectOf(id)
		for i, x := range list(n, "options") {
			o, _ := x.(map[string]any)
			v, _ := o["value"].(string)
			_, ok := ParseAction("nod:"+actionMore+":x", []string{v})
			if (more && !ok || panel && !panelValue.MatchString(v)) && v != "" && len(v) <= maxOption {
				return fmt.Sprintf("options/%d: value %q: nobody would understand it", i, v)
			}
		}
		return ""
	}},
	{"option default", partSelect, docParts + "#string-select", func(n map[string]any) string {
		chosen := 0
		for _, x := range list(n, "options") {
			if o, _ := x.(map[string]any); o["default"] == true {
				chosen++
			}
		}
		if chosen > 1 {
			return fmt.Sprintf("%d options are chosen, at most 1", chosen)
		}
		return ""
	}},
	{"option description", partOption, docParts + "#string-select-select-option-structure", chars("description", 0, maxOption)},
	{"input label", partInput, docParts + "#text-input", chars("label", 1, maxInputLabel)},
	{"input placeholder", partInput, docParts + "#text-input", chars("placeholder", 0, maxInputHint)},
	{"input length", partInput, docParts + "#text-input", number("max_length", 1, maxInput)},
	{"input value", partInput, docParts + "#text-input", func(n map[string]any) string {
		most := maxInput
		if v, ok := n["max_length"].(float64); ok {
			most = min(most, int(v))
		}
		return chars("value", 0, most)(n)
	}},
}

// panelValue is the value of an option in a select of a panel.
var panelValue = regexp.MustCompile(`^[!-~]{1,81}(?: [0-9]{1,14})?$`)

// selectOf says whether a select is one behind ⋯, or one of a panel.
func selectOf(customID string) (more, panel, ok bool) {
	m := buttonForm.FindStringSubmatch(customID)
	more = m != nil && m[1] == "nod" && m[4] == actionMore
	d, panel := ParsePanelAction(customID)
	panel = panel && (d.What == PanelPick || d.What == PanelTab)
	return more, panel, more || panel
}

// Discord replaces other signs in the name of a file, and the component that names it then names nothing.
var fileName = regexp.MustCompile(`^[A-Za-z0-9_-][A-Za-z0-9._-]{0,60}$`)

func content(text map[string]any) string {
	s, _ := text["content"].(string)
	return s
}

// total adds up what f says of everything of some kinds.
func total(root map[string]any, of []string, f func(map[string]any) int) (n int) {
	visit(root, "", func(at, kind string, node map[string]any) {
		if at != "" && slices.Contains(of, kind) {
			n += f(node)
		}
	})
	return n
}

// filesAndNames: every file is named by one component, and no component names another.
func filesAndNames(n map[string]any) string {
	named := map[string]int{}
	visit(n, "", func(_, kind string, node map[string]any) {
		u, _ := field(node, "file.url")
		if name, ok := strings.CutPrefix(fmt.Sprint(u), uploaded); ok && kind == partFile {
			named[name]++
		}
	})
	for _, x := range list(n, "files") {
		name, _ := x.(map[string]any)["name"].(string)
		if named[name] != 1 {
			return fmt.Sprintf("the file %q is named by %d components", name, named[name])
		}
		delete(named, name)
	}
	if len(named) > 0 {
		return "a component names a file that does not go along"
	}
	return ""
}
