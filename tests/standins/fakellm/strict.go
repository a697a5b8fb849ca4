package fakellm

import (
	"fmt"
	"regexp"
)

// Strict is what some services refuse and others take. Messages are the services' own.
type Strict struct {
	// MaxTools is how many tools are taken; 0: any number. OpenAI takes 128: https://platform.openai.com/docs/api-reference/chat/create
	MaxTools int
	// Dislikes is the name of a function whose schema is refused.
	Dislikes string
	// Context is how many tokens a request may have, at four bytes each; 0: any number.
	Context int
	// NineIDs refuses ids of calls that are not nine letters and digits, as Mistral's servers do.
	NineIDs bool
	// NoTools refuses every tool, as Ollama does for some models.
	NoTools bool
	// NoPictures refuses every picture, as OpenAI does for some models.
	NoPictures bool
}

var nine = regexp.MustCompile(`^[a-zA-Z0-9]{9}$`)

func (s Strict) check(b Body) *Refusal {
	for _, m := range b.Messages {
		if s.NoPictures && m.Pictures > 0 {
			return &Refusal{"Invalid content type. image_url is only supported by certain models.", "messages"}
		}
	}
	if s.NoTools && len(b.Tools) > 0 {
		return &Refusal{fmt.Sprintf("registry.ollama.ai/library/%s does not support tools", b.Model), ""}
	}
	if s.MaxTools > 0 && len(b.Tools) > s.MaxTools {
		return &Refusal{fmt.Sprintf("Invalid 'tools': array too long. Expected an array with maximum length %d, but got an array with length %d instead.", s.MaxTools, len(b.Tools)), "tools"}
	}
	for i, t := range b.Tools {
		if s.Dislikes != "" && t.Function.Name == s.Dislikes {
			return &Refusal{fmt.Sprintf("Invalid schema for function '%s': In context=('properties', 'tags'), array schema missing items.", t.Function.Name), fmt.Sprintf("tools[%d].function.parameters", i)}
		}
	}
	if s.NineIDs {
		for _, m := range b.Messages {
			for _, c := range m.ToolCalls {
				if !nine.MatchString(c.ID) {
					return &Refusal{fmt.Sprintf("Tool call id was %s but must be a-z, A-Z, 0-9, with a length of 9.", c.ID), ""}
				}
			}
		}
	}
	if n := len(b.raw) / 4; s.Context > 0 && n > s.Context {
		return &Refusal{fmt.Sprintf("This model's maximum context length is %d tokens. However, your messages resulted in %d tokens. Please reduce the length of the messages.", s.Context, n), "messages"}
	}
	return nil
}
