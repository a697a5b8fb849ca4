package state

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// A mark is how far a surface has taken what was said in one place (a channel, say): after a gap in the connection, what was said since
// can be fetched. Marks may go back by a little where a server fails over or the power is cut: then something is fetched twice, and its
// delivery tells that it is known.

const (
	markKept   = 7 * 24 * time.Hour // a place where nothing was said for so long is forgotten
	markDrops  = 4                  // how many such places one [Store.Mark] drops; it adds at most one
	markDigits = 20                 // an unsigned 64-bit number, which a Discord snowflake is: https://docs.discord.com/developers/reference#snowflakes
)

// Mark moves a place's mark forward, never back, and the place counts as marked now. at is a decimal number of up to 20 digits.
func (s *Store) Mark(ctx context.Context, surface, place, at string) error {
	n, err := markOf(at)
	if err != nil || surface == "" || place == "" {
		return errors.Join(errors.New("mark: wants a surface, a place and a decimal number"), err)
	}
	k := marksOf(surface)
	_, err = s.write(ctx, markScript.on([]string{k.at, k.when}, place, n, millis(markKept), strconv.Itoa(markDrops)))
	return err
}

// Marks tells the mark of each place that was marked within that time, 7 days at most. Its cost grows with the number of such places.
func (s *Store) Marks(ctx context.Context, surface string, within time.Duration) (map[string]string, error) {
	if surface == "" || within < time.Millisecond {
		return nil, errors.New("marks: wants a surface and at least a millisecond")
	}
	if s.disk != nil {
		s.disk.Tick() // its clock moves only when somebody looks
	}
	k := marksOf(surface)
	res, err := s.ask(ctx, marksScript, []string{k.at, k.when}, millis(min(within, markKept)))
	if err != nil {
		return nil, err
	}
	flat := strs(res)
	if len(flat)%2 != 0 {
		return nil, unexpected(marksScript.Name, res)
	}
	out := make(map[string]string, len(flat)/2)
	for i := 0; i < len(flat); i += 2 {
		out[flat[i]] = flat[i+1]
	}
	return out, nil
}

// Unmark forgets a place that is no more. It is not an error where it is not known.
func (s *Store) Unmark(ctx context.Context, surface, place string) error {
	if surface == "" || place == "" {
		return errors.New("unmark: wants a surface and a place")
	}
	k := marksOf(surface)
	_, err := s.write(ctx, goneScript.on([]string{k.at, k.when}, place))
	return err
}

// markOf is at as mark.lua compares it: digits, without leading zeros.
func markOf(at string) (string, error) {
	if at == "" || strings.Trim(at, "0123456789") != "" {
		return "", fmt.Errorf("%.40q is no decimal number", at)
	}
	n := strings.TrimLeft(at[:len(at)-1], "0") + at[len(at)-1:]
	if len(n) > markDigits {
		return "", fmt.Errorf("%.40q… has more than %d digits", n, markDigits)
	}
	return n, nil
}

var (
	markScript  = load("mark")
	marksScript = load("marks")
	goneScript  = load("markgone")
)
