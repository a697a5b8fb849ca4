package push

import (
	"cmp"
	"context"
	"crypto/ecdh"
	"encoding/base64"
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/nodhq/nod/core/chat"
)

const (
	maxDevices  = 10   // of one person; the oldest goes
	maxEndpoint = 2048 // bytes
	project     = "https://github.com/nodhq/nod"
)

// Subscription is what a browser gives, in its own form: https://www.w3.org/TR/push-api/#dom-pushsubscription-tojson
type Subscription struct {
	Endpoint string `json:"endpoint"`
	Keys     struct {
		P256dh string `json:"p256dh"`
		Auth   string `json:"auth"`
	} `json:"keys"`
}

// device is one as it is kept. Fields may be added.
type device struct {
	User     chat.User `json:"user"`
	Endpoint string    `json:"endpoint"`
	P256dh   string    `json:"p256dh"`
	Auth     string    `json:"auth"`
	Page     string    `json:"page"` // where it was asked for, as https://nod.example.org: whom the service may turn to
	At       time.Time `json:"at"`

	session string
	kept    []byte
}

func parse(session string, kept []byte) device {
	var d device
	if json.Unmarshal(kept, &d) != nil {
		d = device{} // nobody's: it goes
	}
	d.session, d.kept = session, kept
	return d
}

// host is all that may be said of an endpoint.
func (d device) host() string {
	u, err := url.Parse(d.Endpoint)
	if err != nil {
		return ""
	}
	return u.Host
}

// contact is an address that a service can turn to (RFC 8292, 2.1). Some refuse one that is not public.
func (d device) contact() string {
	if u, err := url.Parse(d.Page); err == nil && u.Scheme == "https" && public(u.Hostname()) {
		return d.Page
	}
	return project
}

// Invalid says to whoever sent it what is wrong with a subscription.
type Invalid string

func (i Invalid) Error() string { return string(i) }

// Put keeps a session's device. page is where it was asked for. What else is there of the same browser goes: another may have signed in there.
// The error is [Invalid], or the store's.
func (s *Sender) Put(ctx context.Context, session string, u chat.User, page string, from Subscription) error {
	d := device{User: u, Endpoint: from.Endpoint, Page: page, At: time.Now().UTC(), session: session}
	if !outside(d.Endpoint) {
		return Invalid("This is not the address of a push service: want https://, a public name, no port and no user.")
	}
	point, secret := decode(from.Keys.P256dh), decode(from.Keys.Auth)
	if _, err := ecdh.P256().NewPublicKey(point); err != nil || len(secret) != 16 {
		return Invalid("The keys are not those of a browser's subscription: p256dh is a point of P-256 and auth has 16 bytes, both in base64url.")
	}
	d.P256dh, d.Auth = base64.RawURLEncoding.EncodeToString(point), base64.RawURLEncoding.EncodeToString(secret)
	kept, err := json.Marshal(d)
	if err == nil {
		err = s.Shelf.PutPush(ctx, session, kept)
	}
	if err != nil {
		return err
	}
	all, err := s.Shelf.Pushes(ctx)
	if err != nil {
		return err
	}
	var theirs []device
	for other, kept := range all {
		switch o := parse(other, kept); {
		case other != session && o.Endpoint == d.Endpoint:
			if err := s.forget(ctx, o); err != nil {
				return err
			}
		case o.User == u:
			theirs = append(theirs, o)
		}
	}
	slices.SortFunc(theirs, func(a, b device) int { return cmp.Or(b.At.Compare(a.At), cmp.Compare(a.session, b.session)) })
	for _, old := range theirs[min(len(theirs), maxDevices):] {
		if err := s.forget(ctx, old); err != nil {
			return err
		}
	}
	return nil
}

// Drop forgets the device of a session.
func (s *Sender) Drop(ctx context.Context, session string) error {
	all, err := s.Shelf.Pushes(ctx)
	if err != nil {
		return err
	}
	return s.forget(ctx, parse(session, all[session]))
}

func (s *Sender) forget(ctx context.Context, d device) error {
	return s.Shelf.DropPush(ctx, d.session, d.kept)
}

// Devices is how many a person has.
func (s *Sender) Devices(ctx context.Context, u chat.User) (n int, err error) {
	all, err := s.Shelf.Pushes(ctx)
	for session, kept := range all {
		if parse(session, kept).User == u {
			n++
		}
	}
	return n, err
}

// decode takes base64url with its padding or without. Of anything else it gives what stands before: the length tells.
func decode(s string) []byte {
	b, _ := base64.RawURLEncoding.DecodeString(strings.TrimRight(s, "="))
	return b
}

// outside reports whether an address may be a push service's.
func outside(address string) bool {
	u, err := url.Parse(address)
	return err == nil && len(address) <= maxEndpoint && u.Scheme == "https" && u.User == nil && u.Fragment == "" && (u.Port() == "" || u.Port() == "443") && public(u.Hostname())
}

// within are the ends of names that mean something else to each network: RFC 6761, 6762, 8375, and ICANN's .internal.
var within = []string{"localhost", "local", "internal", "lan", "home", "corp", "intranet", "home.arpa", "onion", "test", "invalid"}

// public reports whether a name may be one of the Internet's. Where it leads is looked at when it is dialled.
func public(host string) bool {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	last := host[strings.LastIndexByte(host, '.')+1:]
	if !strings.Contains(host, ".") || strings.ContainsAny(host, ":%") || strings.Trim(last, "0123456789") == "" || strings.HasPrefix(last, "0x") {
		return false // 127.1 and 0x7f.0x1 are addresses to some resolvers
	}
	return !slices.ContainsFunc(within, func(end string) bool { return strings.HasSuffix("."+host, "."+end) })
}
