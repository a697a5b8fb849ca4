package discord

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/bwmarrin/discordgo"
)

const maxBody = 4 << 20 // bytes of one answer: 100 messages with all their components are far below it

// rest makes one call of Discord's REST API, once. in is sent as JSON where it is not nil, into takes of the answer what it has fields
// for where it is not nil: discordgo's own structs cannot be read from an answer with a component that it does not know. Errors
// are of type [*agent.PlatformError] and hold no secret.
func (a *Adapter) rest(ctx context.Context, method, endpoint string, in, into any) error {
	var body []byte
	if in != nil {
		var err error
		if body, err = json.Marshal(in); err != nil {
			return forbidden(errors.New("what is to be sent cannot be written as JSON"))
		}
	}
	return a.raw(ctx, method, endpoint, "application/json", body, into)
}

// restFiles is rest with files beside the JSON. https://discord.com/developers/docs/reference#uploading-files
func (a *Adapter) restFiles(ctx context.Context, method, endpoint string, in any, files []file, into any) error {
	if len(files) == 0 {
		return a.rest(ctx, method, endpoint, in, into)
	}
	var parts []*discordgo.File
	for _, f := range files {
		parts = append(parts, &discordgo.File{Name: f.Name, ContentType: f.Type, Reader: bytes.NewReader(f.Data)})
	}
	contentType, body, err := discordgo.MultipartBodyWithJSON(in, parts)
	if err != nil {
		return forbidden(errors.New("what is to be sent cannot be written as JSON with files"))
	}
	return a.raw(ctx, method, endpoint, contentType, body, into)
}

// raw sends one request through discordgo. Each has a bucket of its own there, which is forgotten with it: discordgo keeps one for
// ever per interaction, and holds the others locked while a call of the same channel is under way, which no context ends. The limits
// are ours to keep (transport.go).
func (a *Adapter) raw(ctx context.Context, method, endpoint, contentType string, body []byte, into any) error {
	own := &discordgo.Bucket{}
	own.Lock() // RequestWithLockedBucket unlocks it
	answer, err := a.api.RequestWithLockedBucket(method, endpoint, contentType, body, own, 0,
		discordgo.WithContext(ctx), discordgo.WithRetryOnRatelimit(false), discordgo.WithRestRetries(0))
	if err != nil {
		return faultOf(err)
	}
	if into == nil {
		return nil
	}
	if err := json.Unmarshal(answer, into); err != nil {
		return transient(fmt.Errorf("an answer is not the JSON that was expected (%d bytes)", len(answer)))
	}
	return nil
}

// bounded is an answer's body, read no further than a limit.
type bounded struct {
	io.Reader
	io.Closer
}
