package fakediscord

import "unicode/utf8"

// Limits of modals. https://docs.discord.com/developers/interactions/receiving-and-responding#interaction-response-object-modal and
// https://docs.discord.com/developers/components/reference#text-input
const (
	MaxModalTitle  = 45
	MaxModalRows   = 5
	MaxInputLabel  = 45
	MaxInput       = 4000
	MaxPlaceholder = 100
)

// modal checks the data of a callback of type 9.
func (c *checker) modal(o obj) {
	c.str(o, "custom_id", 1, MaxCustomID, true)
	c.str(o, "title", 1, MaxModalTitle, true)
	rows := c.list(o, "components", 1, MaxModalRows, true)
	c.in("components", func() {
		c.each(rows, func(v any) {
			row, ok := c.object(v)
			if !ok {
				return
			}
			switch c.choice(row, "type", true, kindRow, kindText, kindLabel) {
			case kindRow:
				inner := c.list(row, "components", 1, 1, true)
				c.in("components", func() { c.each(inner, func(v any) { c.input(v, true) }) })
			case kindText:
				c.display(row)
			case kindLabel:
				c.str(row, "label", 1, MaxInputLabel, true)
				c.str(row, "description", 1, 100, false)
				c.in("component", func() { c.input(row["component"], false) })
			}
		})
	})
}

// input checks a text input, which has its label itself where it stands in a row; or a select in a label.
func (c *checker) input(v any, labelled bool) {
	o, ok := c.object(v)
	if !ok {
		return
	}
	if !labelled && integer(o["type"]) == kindSelect {
		c.selection(o, kindSelect)
		return
	}
	if c.choice(o, "type", true, kindInput) != kindInput {
		return
	}
	c.custom(o)
	c.choice(o, "style", true, 1, 2)
	if labelled {
		c.str(o, "label", 1, MaxInputLabel, true)
	}
	least, _ := c.num(o, "min_length", 0, MaxInput, false)
	most, given := c.num(o, "max_length", 1, MaxInput, false)
	if !given {
		most = MaxInput
	}
	if least > most {
		c.in("min_length", func() { c.no("NUMBER_TYPE_MAX", "int value should be less than or equal to %d.", most) })
	}
	c.str(o, "placeholder", 0, MaxPlaceholder, false)
	c.bool(o, "required")
	value := c.str(o, "value", 0, MaxInput, false)
	if n := utf8.RuneCountInString(value); n > most || value != "" && n < least {
		c.in("value", func() { c.no("BASE_TYPE_BAD_LENGTH", "Must be between %d and %d in length.", least, most) })
	}
}
