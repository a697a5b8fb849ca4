package fakediscord

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Types of components. https://docs.discord.com/developers/components/reference#component-object-component-types
const (
	kindRow       = 1
	kindButton    = 2
	kindSelect    = 3
	kindInput     = 4
	kindUsers     = 5
	kindRoles     = 6
	kindMentions  = 7
	kindChannels  = 8
	kindSection   = 9
	kindText      = 10
	kindThumbnail = 11
	kindGallery   = 12
	kindFile      = 13
	kindSeparator = 14
	kindContainer = 17
	kindLabel     = 18
)

// Limits of components. https://docs.discord.com/developers/components/reference
const (
	MaxComponents = 40 // of a message with IS_COMPONENTS_V2, nested ones counted
	MaxRows       = 5  // of a message without
	MaxRow        = 5  // buttons
	MaxOptions    = 25
	MaxCustomID   = 100
	MaxLabel      = 80
	MaxPlaces     = 150 // placeholder of a select
	// MaxText is the characters of all text displays of a message. Not documented: https://github.com/discord/discord-api-docs/pull/8562
	MaxText = 4000
	// MaxTextBytes bounds their UTF-8 bytes plus TextOverhead for each; beyond it the API fails with a 500.
	// https://github.com/discord/discord-api-docs/issues/8554
	MaxTextBytes = 10_170
	TextOverhead = 12
)

var selects = []int{kindSelect, kindUsers, kindRoles, kindMentions, kindChannels}

// components checks the components of a message.
func (c *checker) components(list []any, v2 bool) {
	c.in("components", func() {
		most := MaxRows
		if v2 {
			most = MaxComponents
		}
		if len(list) > most {
			c.no("BASE_TYPE_BAD_LENGTH", "Must be between 1 and %d in length.", most)
		}
		top := []int{kindRow}
		if v2 {
			top = []int{kindRow, kindSection, kindText, kindGallery, kindFile, kindSeparator, kindContainer}
		}
		c.each(list, func(v any) { c.component(v, top) })
		if c.count > MaxComponents {
			c.no("COMPONENT_MAX_TOTAL_COMPONENTS_EXCEEDED", "The max number of components is %d", MaxComponents)
		}
		if c.text > MaxText {
			c.no("COMPONENT_DISPLAYABLE_TEXT_SIZE_EXCEEDED", "The max number of displayable text characters for all components is %d", MaxText)
		}
	})
	if c.bytes+TextOverhead*c.texts > MaxTextBytes {
		c.fatal = &refusal{status: 500, message: "500: Internal Server Error"}
	}
}

// component checks one component, of one of these types.
func (c *checker) component(v any, kinds []int) {
	o, ok := c.object(v)
	if !ok {
		return
	}
	c.count++
	kind, there := c.num(o, "type", 0, 1<<31, true)
	if !there {
		return
	}
	if !slices.Contains(kinds, kind) {
		names := []string{}
		for _, k := range kinds {
			names = append(names, strconv.Itoa(k))
		}
		c.in("type", func() {
			c.no("UNION_TYPE_CHOICES", "Value of field \"type\" must be one of (%s).", strings.Join(names, ", "))
		})
		return
	}
	c.num(o, "id", 0, 1<<31-1, false)
	switch kind {
	case kindRow:
		c.row(o)
	case kindButton:
		c.button(o)
	case kindSelect, kindUsers, kindRoles, kindMentions, kindChannels:
		c.selection(o, kind)
	case kindSection:
		c.section(o)
	case kindText:
		c.display(o)
	case kindThumbnail, kindFile:
		c.media(o, kind)
	case kindGallery:
		c.gallery(o)
	case kindSeparator:
		c.choice(o, "spacing", false, 1, 2)
		c.bool(o, "divider")
	case kindContainer:
		c.container(o)
	}
}

func (c *checker) row(o obj) {
	inner := c.list(o, "components", 1, MaxRow, true)
	wide := 0
	c.in("components", func() {
		c.each(inner, func(v any) {
			c.component(v, append([]int{kindButton}, selects...))
			if e, _ := v.(obj); slices.Contains(selects, integer(e["type"])) {
				wide += MaxRow
			} else {
				wide++
			}
		})
		if wide > MaxRow && len(inner) <= MaxRow {
			c.no("COMPONENT_LAYOUT_WIDTH_EXCEEDED", "The specified component exceeds the maximum width")
		}
	})
}

// button: an id for those that do something, an address for those that lead somewhere.
func (c *checker) button(o obj) {
	style := c.choice(o, "style", true, 1, 2, 3, 4, 5, 6)
	c.str(o, "label", 0, MaxLabel, false)
	c.bool(o, "disabled")
	switch style {
	case 5:
		c.link(o, "url", 512, true, "http", "https", "discord")
	case 6:
		if o["sku_id"] == nil {
			c.in("sku_id", func() { c.no("BASE_TYPE_REQUIRED", "This field is required") })
		}
	default:
		c.custom(o)
		if o["url"] != nil {
			c.in("url", func() { c.no("BUTTON_COMPONENT_URL_FORBIDDEN", "A url is only for buttons of style 5") })
		}
	}
	if style >= 5 && o["custom_id"] != nil {
		c.in("custom_id", func() { c.no("BUTTON_COMPONENT_CUSTOM_ID_FORBIDDEN", "A custom id and url cannot both be specified") })
	}
	if str(o, "label") == "" && o["emoji"] == nil && style != 6 {
		c.no("BUTTON_COMPONENT_INVALID", "A button needs a label or an emoji")
	}
}

func (c *checker) selection(o obj, kind int) {
	c.custom(o)
	c.str(o, "placeholder", 0, MaxPlaces, false)
	c.bool(o, "disabled")
	least, given := c.num(o, "min_values", 0, MaxOptions, false)
	if !given {
		least = 1
	}
	most, given := c.num(o, "max_values", 1, MaxOptions, false)
	if !given {
		most = 1
	}
	if least > most {
		c.in("min_values", func() { c.no("NUMBER_TYPE_MAX", "int value should be less than or equal to %d.", most) })
	}
	if kind != kindSelect {
		return
	}
	options := c.list(o, "options", 1, MaxOptions, true)
	if most > len(options) {
		c.in("max_values", func() { c.no("NUMBER_TYPE_MAX", "int value should be less than or equal to %d.", len(options)) })
	}
	values, chosen := map[string]bool{}, 0
	c.in("options", func() {
		c.each(options, func(v any) {
			e, ok := c.object(v)
			if !ok {
				return
			}
			c.str(e, "label", 1, 100, true)
			c.str(e, "description", 0, 100, false)
			value := c.str(e, "value", 1, 100, true)
			if values[value] {
				c.in("value", func() { c.no("SELECT_COMPONENT_OPTION_VALUE_DUPLICATED", "The specified option value is already used") })
			}
			values[value] = true
			if c.bool(e, "default") {
				chosen++
			}
		})
		if chosen > most {
			c.no("SELECT_COMPONENT_TOO_MANY_DEFAULT_VALUES", "No more than %d options can be chosen", most)
		}
	})
}

func (c *checker) section(o obj) {
	inner := c.list(o, "components", 1, 3, true)
	c.in("components", func() {
		c.each(inner, func(v any) { c.component(v, []int{kindText}) })
	})
	c.in("accessory", func() {
		if o["accessory"] == nil {
			c.no("BASE_TYPE_REQUIRED", "This field is required")
			return
		}
		c.component(o["accessory"], []int{kindButton, kindThumbnail})
	})
}

func (c *checker) display(o obj) {
	v := c.str(o, "content", 1, MaxText, true)
	c.text += utf8.RuneCountInString(v)
	c.bytes += len(v)
	c.texts++
	if v != "" && strings.TrimSpace(v) == "" {
		c.in("content", func() { c.no("BASE_TYPE_REQUIRED", "This field is required") })
	}
}

func (c *checker) container(o obj) {
	c.num(o, "accent_color", 0, 0xFFFFFF, false)
	c.bool(o, "spoiler")
	inner := c.list(o, "components", 1, MaxComponents, true)
	c.in("components", func() {
		c.each(inner, func(v any) {
			c.component(v, []int{kindRow, kindSection, kindText, kindGallery, kindFile, kindSeparator})
		})
	})
}

func (c *checker) media(o obj, kind int) {
	k := map[int]string{kindThumbnail: "media", kindFile: "file"}[kind]
	c.str(o, "description", 0, 1024, false)
	c.bool(o, "spoiler")
	c.in(k, func() {
		m, ok := o[k].(obj)
		if !ok {
			c.no("BASE_TYPE_REQUIRED", "This field is required")
			return
		}
		schemes := []string{"http", "https", "attachment"}
		if kind == kindFile {
			schemes = schemes[2:]
		}
		c.attached(c.link(m, "url", 2048, true, schemes...))
	})
}

func (c *checker) gallery(o obj) {
	items := c.list(o, "items", 1, 10, true)
	c.in("items", func() {
		c.each(items, func(v any) {
			if e, ok := c.object(v); ok {
				c.media(obj{"media": e["media"], "description": e["description"], "spoiler": e["spoiler"]}, kindThumbnail)
			}
		})
	})
}

// attached checks that an attachment:// names a file of the message.
func (c *checker) attached(u string) {
	if name, ok := strings.CutPrefix(u, "attachment://"); ok && !c.files[name] {
		c.in("url", func() {
			c.no("UNFURLED_MEDIA_ITEM_REFERENCED_ATTACHMENT_NOT_FOUND", "The referenced attachment was not found")
		})
	}
}
