package inbound

import "cmp"

// ChannelObject is a channel object. https://discord.com/developers/docs/resources/channel#channel-object
type ChannelObject struct {
	ID       LooseString `json:"id"`
	Guild    LooseString `json:"guild_id"`
	Parent   LooseString `json:"parent_id"`
	Type     int         `json:"type"`
	Name     LooseString `json:"name"`
	Last     LooseString `json:"last_message_id"` // may be of a message that is no more
	Metadata *struct {
		Archived bool        `json:"archived"`
		Locked   bool        `json:"locked"`
		At       LooseString `json:"archive_timestamp"`
	} `json:"thread_metadata"`
}

// Types of channels. https://discord.com/developers/docs/resources/channel#channel-object-channel-types
const (
	ChannelText          = 0
	ChannelDM            = 1
	channelNews          = 5
	channelNewsThread    = 10
	channelPublicThread  = 11
	channelPrivateThread = 12
)

// Channel is what is known of a place where messages stand: in Discord's words a thread is one too.
type Channel struct {
	ID, Guild, Parent, Name string
	Type                    int
	Locked, Archived        bool // of a thread
}

func (c Channel) IsThread() bool {
	return c.Type == channelNewsThread || c.Type == channelPublicThread || c.Type == channelPrivateThread
}

// HasThreads reports whether threads can be made on this channel's messages. In a forum every message is in a thread already; a voice
// channel's chat has none.
func (c Channel) HasThreads() bool { return c.Type == ChannelText || c.Type == channelNews }

// IsClosed: nobody can write in it any more. An archived thread opens again with the next message, unless it is locked.
func (c Channel) IsClosed() bool { return c.Locked && c.Archived }

func (d *ChannelObject) Channel(guild string) Channel {
	c := Channel{
		ID: string(d.ID), Guild: cmp.Or(string(d.Guild), guild), Parent: string(d.Parent), Name: string(d.Name), Type: d.Type,
	}
	if d.Metadata != nil {
		c.Locked, c.Archived = d.Metadata.Locked, d.Metadata.Archived
	}
	return c
}
