package state

import (
	"crypto/sha1" //nolint:gosec // Redis names scripts by their SHA-1; nothing rests on its strength.
	"embed"
	"encoding/hex"

	"github.com/nodhq/nod/state/embedded"
)

//go:embed lua/*.lua
var sources embed.FS

// script is one transition. It touches only the keys that it is given, all in one slot, and checks everything before it writes.
type script struct{ embedded.Script }

func load(name string) script {
	b, err := sources.ReadFile("lua/" + name + ".lua")
	if err != nil {
		panic("state: script " + name + " is not embedded") //nolint:forbidigo // a build that cannot work at all
	}
	return script{embedded.Script{Name: name, Source: string(b), SHA: digest(string(b))}}
}

func digest(source string) string {
	h := sha1.Sum([]byte(source)) //nolint:gosec // see the import
	return hex.EncodeToString(h[:])
}

var (
	anewScript    = load("anew")
	appendScript  = load("append")
	beatScript    = load("beat")
	claimScript   = load("claim")
	forgetScript  = load("forget")
	keepScript    = load("keep")
	limitScript   = load("limit")
	loadScript    = load("load")
	onceScript    = load("once")
	putScript     = load("put")
	renewScript   = load("renew")
	restoreScript = load("restore")
	seatScript    = load("session")
	takeScript    = load("take")
	voidScript    = load("void")
)

// on is a run of the script.
func (s script) on(keys []string, args ...string) call {
	return call{Write: embedded.Write{Script: s.Script, Keys: keys, Args: args}}
}

// call is one run of a script. All keys are in one slot. One that is Sure has to survive what the configured durability says.
type call struct {
	embedded.Write
	// again changes args for a repeat after a lost reply; nil means the repeat is the same.
	again func(args []string) []string
}
