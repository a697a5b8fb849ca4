package components

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"

	"github.com/bwmarrin/discordgo"
)

// Flags of what is sent: components of version 2, and no previews, because making one fetches an address.
// https://discord.com/developers/docs/resources/message#message-object-message-flags
const (
	FlagsShown   = discordgo.MessageFlagsIsComponentsV2 | discordgo.MessageFlagsSuppressEmbeds
	FlagsPrivate = FlagsShown | discordgo.MessageFlagsEphemeral
)

// Outgoing is a message as Discord takes it. discordgo's own structs write null where nothing is meant, name everybody in the text
// where mentions are left out, and have no nonce.
//
// https://discord.com/developers/docs/resources/message#create-message
type Outgoing struct {
	Components  json.RawMessage        `json:"components"`
	Flags       discordgo.MessageFlags `json:"flags"`
	Mentions    mentions               `json:"allowed_mentions"`
	Attachments []attachment           `json:"attachments"` // all that the message keeps: an edit without it would keep what was there
	Nonce       string                 `json:"nonce,omitempty"`
	Enforce     bool                   `json:"enforce_nonce,omitempty"`
}

// mentions are who may be notified. Parse must be there and empty: left out, everything in the text counts, "@everyone" too.
// https://discord.com/developers/docs/resources/message#allowed-mentions-object
type mentions struct {
	Parse []string `json:"parse"`
	Users []string `json:"users,omitempty"`
	Roles []string `json:"roles,omitempty"`
}

// attachment is a file of the same request. https://discord.com/developers/docs/resources/message#attachment-object
type attachment struct {
	ID   string `json:"id"` // which of the request's files: files[ID]
	Name string `json:"filename"`
}

// Uploads are the files as discordgo sends them: to be read once.
func (s Rendition) Uploads() (all []*discordgo.File) {
	for _, f := range s.Files {
		all = append(all, &discordgo.File{Name: f.Name, ContentType: f.Type, Reader: bytes.NewReader(f.Data)})
	}
	return all
}

// Out is a rendition as it is sent. Nobody is notified by it.
func (s Rendition) Out(flags discordgo.MessageFlags) Outgoing {
	o := Outgoing{Components: s.Body, Flags: flags, Mentions: mentions{Parse: []string{}}, Attachments: []attachment{}}
	for i, f := range s.Files {
		o.Attachments = append(o.Attachments, attachment{strconv.Itoa(i), f.Name})
	}
	return o
}

// OutNotifying is [Rendition.Out] with those notified whom the payload names.
func (s Rendition) OutNotifying(flags discordgo.MessageFlags) Outgoing {
	o := s.Out(flags)
	o.Mentions.Users = first(s.Users, maxMentions)
	o.Mentions.Roles = first(s.Roles, maxMentions)
	return o
}

// first are at most n of all, each once: Discord refuses one that stands there twice.
func first(all []string, n int) []string {
	all = slices.Clone(all)
	slices.Sort(all)
	all = slices.Compact(all)
	return all[:min(n, len(all))]
}
