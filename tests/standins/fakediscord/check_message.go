package fakediscord

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Limits of messages. https://docs.discord.com/developers/resources/message#create-message
const (
	MaxContent  = 2000
	MaxNonce    = 25
	MaxEmbeds   = 10
	MaxEmbedAll = 6000 // characters over all embeds
	MaxFiles    = 10
	MaxMentions = 100 // of each of allowed_mentions' lists
)

// where is what a message is sent as, which decides what it may have.
type where struct {
	edit     *Message // of this; nil: a new one
	callback bool     // it may be ephemeral
	files    map[string]upload
}

// draft is a message that was found good.
type draft struct {
	Version
	allowed   allowed
	ephemeral bool
	nonce     any
	enforce   bool
	reply     *Reference
	mustReply bool
	uploads   []Attachment // ID is the index of files[n]
	retained  []string     // nil: all
	has       map[string]bool
}

// checkMessage checks the body of a message and makes a draft of it.
func checkMessage(o obj, w where) (*draft, *refusal) {
	c := &checker{ids: map[string]bool{}, files: map[string]bool{}}
	d := &draft{has: map[string]bool{}}
	if w.edit != nil {
		d.Version = w.edit.Version
		d.Version.Attachments = append([]Attachment(nil), d.Attachments...)
	}
	for k := range o {
		d.has[k] = true
	}
	c.flags(o, w, d)
	c.attachments(o, w, d)
	v2 := d.Flags&FlagComponentsV2 != 0
	d.content(c, o)
	if d.has["embeds"] {
		d.Embeds = rich(c.embeds(o))
	}
	if d.has["components"] {
		list := c.list(o, "components", 0, 1000, false)
		c.components(list, v2)
		d.Components = list
	}
	d.allowed = c.allowedMentions(o)
	d.references(c, o, w)
	if v2 {
		d.exclusive(c, w)
	}
	if bad := c.refusal(); bad != nil {
		return nil, bad
	}
	if d.Content == "" && len(d.Embeds) == 0 && len(d.Components) == 0 && len(d.Attachments) == 0 && len(d.uploads) == 0 {
		return nil, &refusal{status: 400, code: 50006, message: "Cannot send an empty message"}
	}
	d.Components = settle(d.Components)
	return d, nil
}

func (d *draft) content(c *checker, o obj) {
	if !d.has["content"] {
		return
	}
	d.Content = c.str(o, "content", 0, MaxContent, false)
	if strings.TrimSpace(d.Content) == "" {
		d.Content = ""
	}
}

// flags: only some can be set, and IS_COMPONENTS_V2 is for good.
func (c *checker) flags(o obj, w where, d *draft) {
	if !d.has["flags"] || o["flags"] == nil {
		return
	}
	n, _ := c.num(o, "flags", 0, 1<<53, false)
	may := FlagSuppressEmbeds | FlagComponentsV2
	if w.edit == nil {
		may |= FlagSuppressNotifications
	}
	if w.callback && w.edit == nil {
		d.ephemeral = n&FlagEphemeral != 0
	}
	stays := d.Flags &^ FlagSuppressEmbeds
	d.Flags = stays | n&may
}

// exclusive: components v2 stand alone. https://docs.discord.com/developers/components/reference#legacy-message-component-behavior
func (d *draft) exclusive(c *checker, w where) {
	if d.Content != "" {
		c.in("content", func() {
			c.no("MESSAGE_CANNOT_USE_LEGACY_FIELDS_WITH_COMPONENTS_V2", "The 'content' field cannot be used when using MessageFlags.IS_COMPONENTS_V2")
		})
	}
	if len(d.Embeds) > 0 {
		c.in("embeds", func() {
			c.no("MESSAGE_CANNOT_USE_LEGACY_FIELDS_WITH_COMPONENTS_V2", "The 'embeds' field cannot be used when using MessageFlags.IS_COMPONENTS_V2")
		})
	}
	for _, k := range []string{"poll", "sticker_ids"} {
		if d.has[k] && w.edit == nil {
			c.in(k, func() {
				c.no("MESSAGE_CANNOT_USE_LEGACY_FIELDS_WITH_COMPONENTS_V2", "The '%s' field cannot be used when using MessageFlags.IS_COMPONENTS_V2", k)
			})
		}
	}
	if len(d.Components) == 0 {
		c.in("components", func() { c.no("BASE_TYPE_REQUIRED", "This field is required") })
	}
}

// references are the nonce and what the message answers.
func (d *draft) references(c *checker, o obj, w where) {
	if w.edit != nil || w.callback {
		return
	}
	switch n := o["nonce"].(type) {
	case nil:
	case string:
		c.str(o, "nonce", 0, MaxNonce, false)
		d.nonce = n
	case json.Number:
		if len(n) > MaxNonce {
			c.in("nonce", func() { c.no("BASE_TYPE_MAX_LENGTH", "Must be %d or fewer in length.", MaxNonce) })
		}
		d.nonce = n
	default:
		c.in("nonce", func() { c.no("NONCE_TYPE_INVALID", "Value must be a string or an integer.") })
	}
	d.enforce = c.bool(o, "enforce_nonce")
	ref, ok := o["message_reference"].(obj)
	if !ok {
		return
	}
	c.in("message_reference", func() {
		c.in("message_id", func() { c.id(ref["message_id"]) })
		c.choice(ref, "type", false, 0)
	})
	d.reply = &Reference{Message: str(ref, "message_id"), Channel: str(ref, "channel_id")}
	d.mustReply = ref["fail_if_not_exists"] != false
}

// attachments fits the list of attachments to the uploaded files and, in an edit, to those that are there.
// https://docs.discord.com/developers/resources/message#attachment-object
func (c *checker) attachments(o obj, w where, d *draft) {
	described := map[string]obj{}
	if d.has["attachments"] {
		d.retained = []string{}
		list := c.list(o, "attachments", 0, MaxFiles, false)
		c.in("attachments", func() {
			c.each(list, func(v any) {
				a, ok := c.object(v)
				if !ok {
					return
				}
				c.in("id", func() { c.id(a["id"]) })
				c.str(a, "filename", 0, 1024, false)
				c.str(a, "description", 0, 1024, false)
				id := str(a, "id")
				if n, ok := a["id"].(json.Number); ok {
					id = n.String()
				}
				if _, uploaded := w.files["files["+id+"]"]; uploaded {
					described[id] = a
				} else if !d.keep(id) {
					c.in("id", func() { c.no("ATTACHMENT_NOT_FOUND", "There is no file %s", id) })
				}
			})
		})
	}
	var kept []Attachment
	for _, a := range d.Attachments {
		if d.retained == nil || contains(d.retained, a.ID) {
			kept = append(kept, a)
			c.files[a.Name] = true
		}
	}
	d.Attachments = kept
	for i := range MaxFiles * 2 {
		f, ok := w.files["files["+strconv.Itoa(i)+"]"]
		if !ok {
			continue
		}
		a := Attachment{ID: strconv.Itoa(i), Name: safe(cmp.Or(str(described[strconv.Itoa(i)], "filename"), f.name)), Description: str(described[strconv.Itoa(i)], "description"), Type: f.kind, Size: len(f.data)}
		d.uploads = append(d.uploads, a)
		c.files[a.Name] = true
	}
	if len(kept)+len(d.uploads) > MaxFiles {
		c.in("attachments", func() { c.no("BASE_TYPE_MAX_LENGTH", "Must be %d or fewer in length.", MaxFiles) })
	}
}

func (d *draft) keep(id string) bool {
	for _, a := range d.Attachments {
		if a.ID == id {
			d.retained = append(d.retained, id)
			return true
		}
	}
	return false
}

func contains(list []string, v string) bool {
	for _, e := range list {
		if e == v {
			return true
		}
	}
	return false
}

// safe is a file name as Discord stores it.
func safe(name string) string {
	return strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || r == '.' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '_'
	}, name)
}

// rich are embeds as Discord gives them back: all that apps send are of one type.
func rich(list []any) []any {
	out := make([]any, 0, len(list))
	for _, v := range list {
		if e, ok := v.(obj); ok {
			e = maps.Clone(e)
			e["type"] = "rich"
			if fields, ok := e["fields"].([]any); ok {
				e["fields"] = completed(fields, obj{"inline": false})
			}
			out = append(out, e)
		}
	}
	return out
}

// completed are objects with what each of them has, said or not.
func completed(list []any, usual obj) []any {
	out := slices.Clone(list)
	for i, v := range list {
		if o, ok := v.(obj); ok {
			all := maps.Clone(usual)
			maps.Copy(all, o)
			out[i] = all
		}
	}
	return out
}

// embeds checks embeds. https://docs.discord.com/developers/resources/message#embed-object-embed-limits
func (c *checker) embeds(o obj) []any {
	list := c.list(o, "embeds", 0, MaxEmbeds, false)
	total := 0
	part := func(e obj, k string, most int, need bool) {
		total += utf8.RuneCountInString(c.str(e, k, 0, most, need))
	}
	c.in("embeds", func() {
		c.each(list, func(v any) {
			e, ok := c.object(v)
			if !ok {
				return
			}
			part(e, "title", 256, false)
			part(e, "description", 4096, false)
			c.num(e, "color", 0, 0xFFFFFF, false)
			for k, inner := range map[string]struct {
				name string
				most int
			}{"footer": {"text", 2048}, "author": {"name", 256}} {
				if p, ok := e[k].(obj); ok {
					c.in(k, func() { part(p, inner.name, inner.most, true) })
				}
			}
			fields := c.list(e, "fields", 0, 25, false)
			c.in("fields", func() {
				c.each(fields, func(v any) {
					if f, ok := c.object(v); ok {
						part(f, "name", 256, true)
						part(f, "value", 1024, true)
					}
				})
			})
		})
		if total > MaxEmbedAll {
			c.no("MAX_EMBED_SIZE_EXCEEDED", "Embed size exceeds maximum size of %d", MaxEmbedAll)
		}
	})
	return list
}
