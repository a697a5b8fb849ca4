package surface

import (
	"errors"
	"net/url"
	"strings"
	"time"

	"github.com/nodhq/nod/core/text"
)

// Mark is how a finding turned out. The zero value is that nothing was found out.
type Mark string

// The marks.
const (
	Unchecked Mark = ""     // it could not be looked at, and why
	Fine      Mark = "ok"   //
	Doubtful  Mark = "warn" // it works, with something less
	Wrong     Mark = "fail" // it does not work
)

// Finding is one thing that a doctor looked at. No finding holds a token, a secret or an address that is one.
type Finding struct {
	What  string // what was looked at
	Mark  Mark   //
	Found string // how it is
	Do    string // what to do about it; empty where there is nothing to be done
}

// LookTimeout bounds one look of a doctor.
const LookTimeout = 5 * time.Second

// Tame is at most 160 characters of what a platform said, with nothing in it that a terminal obeys or hides.
func Tame(s string) string {
	return text.Clip(s, 160)
}

// PublicBase is the address that a platform reaches the bot at, without a slash at its end.
func PublicBase(s string) (string, error) {
	u, err := url.Parse(s)
	if err != nil || u.Scheme != "https" || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
		return "", errors.New("want the public address of the bot, such as https://bot.example.com: https, without user, query or fragment")
	}
	return strings.TrimRight(s, "/"), nil
}
