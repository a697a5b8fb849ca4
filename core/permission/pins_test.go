package permission

import (
	"encoding/json"

	"github.com/nodhq/nod/core/permission/pin"
)

func exactly(path, value string) pin.Pin {
	return pin.Pin{Path: path, Value: json.RawMessage(value)}
}

func just(name string) pin.Pin {
	return pin.Pin{Path: pin.ArgumentNames, Value: json.RawMessage(`["` + name + `"]`)}
}
