package discord

import (
	"testing"

	"github.com/nodhq/nod/tests/standins/fakediscord"
)

func TestCommandsAreRegisteredWhereTheyDiffer(t *testing.T) {
	p := newParlor(t)
	writes := func() int { return p.Count(fakediscord.PutCommands) }
	if writes() != 1 {
		t.Fatalf("%d writes", writes())
	}
	for range 2 { // they are there
		if err := p.a.register(p.ctx); err != nil {
			t.Fatal(err)
		}
	}
	if writes() != 1 {
		t.Errorf("%d writes", writes())
	}
	if err := p.a.api.Call(p.ctx, "PUT", "https://discord.com/api/v9/applications/"+p.AppID()+"/commands", []any{map[string]any{"name": "old", "description": "x", "type": 1}}, nil); err != nil {
		t.Fatal(err)
	}
	if err := p.a.register(p.ctx); err != nil || writes() != 3 || len(p.Commands("")) != 1 {
		t.Errorf("%v, %d writes, %v", err, writes(), p.Commands(""))
	}
	p.Fail(fakediscord.GetCommands, 1, fakediscord.Fault{Status: 500})
	if err := p.a.register(p.ctx); err == nil {
		t.Error("an error is no error")
	}
}
