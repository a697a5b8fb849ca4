package openai

import (
	"fmt"
	"testing"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/agent/turn"
)

// BenchmarkRequest writes the request of a long chat with many tools: it is done once for every step.
func BenchmarkRequest(b *testing.B) {
	var tools []agent.ToolSpec
	for i := range 16 {
		tools = append(tools, spec("workbench", fmt.Sprint("tool", i), `{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}`))
	}
	var talk []turn.Utterance
	for range 20 {
		talk = append(talk, history[0], history[1])
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := request("m", talk, tools, &shape{stream: true, usage: true, extras: true}); err != nil {
			b.Fatal(err)
		}
	}
}
