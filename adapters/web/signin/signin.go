// Package signin signs people in by OpenID Connect: the authorization code flow with PKCE, state and nonce. What it takes of a provider's token
// is who somebody is, what they are called, and their groups; the token itself goes nowhere. Slack is such a provider, and says who somebody is
// there; Discord has OAuth 2 alone, and is asked whose its token is (discord.go).
//
// [Door.Begin] sends a browser to the provider, and seals what has to be known when it comes back into a cookie, with a key made of the client's
// secret: so it may come back to another replica. [Door.Finish] opens it, once, and gives the [Person] or a [Refused]. discover.go has the
// provider's document, which is looked up when it is first needed, and again while it does not answer.
//
// Everything that is not exactly as it must be is refused. No error holds a token, a code or a secret: what a provider answers may repeat what
// it was sent, so of that only the status and the error's code are told.
package signin

import (
	"cmp"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/adapters/web/stretch"
)

// Life is how long a sign-in may take, from one end to the other: somebody may have to reset a password there, or to set up a second factor.
const Life = time.Hour

// PathReturn is below the page where the provider sends people back to.
const PathReturn = "/signin/callback"

const (
	// maxSkew is how far a token may be from our clock. Entra dates its tokens five minutes back.
	maxSkew     = 10 * time.Minute
	maxSubject  = 255 // https://openid.net/specs/openid-connect-core-1_0.html#IDToken
	claimEmail  = "email"
	google      = "https://accounts.google.com"
	sealedState = "nod web sign-in"
)

// The platforms by whose sign-in people are on the page whom they are there.
const (
	Slack   = "slack"
	Discord = "discord"
)

// Claims of Slack's ID tokens: https://docs.slack.dev/authentication/sign-in-with-slack
const (
	claimSlackUser = "https://slack.com/user_id"
	claimSlackTeam = "https://slack.com/team_id"
)

// Config is what [New] needs. Issuer, ClientID, ClientSecret, Page, Claim and GroupsClaim are required; with a Platform, Claim and GroupsClaim
// are not, and Issuer is where that platform is.
type Config struct {
	Platform string // [Slack] or [Discord]; empty: any provider of OpenID Connect
	Server   string // of Discord's, whose members get in

	Issuer, ClientID, ClientSecret string
	Page                           string   // the page's address as browsers have it, without a path
	Claim                          string   // which claim says who somebody is
	GroupsClaim                    string   // which one lists their groups
	Scopes                         []string // asked for beside openid, profile and email
	Groups                         []string // if there are any, only who is in one of these gets in
	Domains                        []string // if there are any, only who has a verified e-mail address in one of these does

	Client *http.Client     // one with a deadline that follows no redirects if nil
	Now    func() time.Time // time.Now if nil
	Logger *slog.Logger     // discarded if nil
}

// Door is where people sign in. Make it with [New]; it is safe for concurrent use.
type Door struct {
	Config
	id     string
	sealer cipher.AEAD

	mu    sync.Mutex // of what discover.go finds
	found *provider
	tried time.Time
	wrong error
}

// Person is somebody who signed in.
type Person struct {
	Key    string   // who they are, for ever: no other provider has somebody of the same one, and no other workspace of a platform
	Place  string   // with a platform, the workspace or server
	Names  []string // what they are called, the best first
	Groups []string
	To     string // as [Door.Begin] was told
}

// Refused is a sign-in that came to nothing. Its text is for the log.
type Refused struct {
	Code string
	Say  string // for the person
	Down bool   // the provider does not answer
	why  string
}

func (r *Refused) Error() string { return r.why }

func refuse(code, say, why string, args ...any) *Refused {
	return &Refused{Code: code, Say: say, why: fmt.Sprintf(why, args...)}
}

// down is a sign-in that came to nothing because the provider does not answer.
func down(why string, args ...any) *Refused {
	r := refuse("sign_in_unavailable", sayDown, why, args...)
	r.Down = true
	return r
}

// busy reports whether a provider that answers so may do better in a while.
func busy(status int) bool {
	return status == http.StatusTooManyRequests || status >= http.StatusInternalServerError
}

const (
	sayStale = "This sign-in is no longer valid: it was used already, took longer than an hour, or began in another browser. Sign in again."
	sayWrong = "The sign-in did not work: the provider's answer is not what it must be. Try again; if that does not help, the bot's log says more."
	sayNot   = "You are who you say, but you may not use this bot. Ask whoever runs it."
)

// New makes a door. It asks nobody: a provider that is down keeps no bot from starting.
func New(c Config) (*Door, error) {
	c.Client = surface.HTTPClient(c.Client)
	c.Logger = cmp.Or(c.Logger, slog.New(slog.DiscardHandler))
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Platform != "" {
		c.Claim, c.GroupsClaim = claimSlackUser, claimSlackTeam // which a door has to have; Discord has none
	}
	if c.Issuer == "" || c.ClientID == "" || c.ClientSecret == "" || c.Page == "" || c.Claim == "" || c.GroupsClaim == "" {
		return nil, errors.New("signin: Config needs Issuer, ClientID, ClientSecret, Page, Claim and GroupsClaim")
	}
	// Whoever has a cookie could try secrets on it.
	key, err := stretch.Key(sealedState, c.ClientSecret)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(key[:])
	if err != nil {
		return nil, err
	}
	d := &Door{Config: c}
	// Whoever came in by other rules than these signs in again.
	rules := []any{c.Issuer, c.ClientID, c.Claim, c.GroupsClaim, c.Groups, c.Domains}
	if c.Platform != "" {
		rules = append(rules, c.Platform, c.Server)
	}
	b, _ := json.Marshal(rules)
	sum := sha256.Sum256(b)
	d.id = hex.EncodeToString(sum[:12])
	d.sealer, err = cipher.NewGCM(block)
	return d, err
}

// ID names the provider and the rules by which people get in. It is the same on every replica.
func (d *Door) ID() string { return d.id }

// Provider is where it leads, as people know it: the host of its issuer.
func (d *Door) Provider() string { return host(d.Issuer) }

// Host is the page's, without a port.
func (d *Door) Host() string { return host(d.Page) }

// host is empty for what is no address.
func host(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return ""
	}
	return u.Hostname()
}

// Return is where the provider sends people back to: what is registered there.
func (d *Door) Return() string { return d.Page + PathReturn }

// Secure reports whether browsers reach the page by TLS.
func (d *Door) Secure() bool { return strings.HasPrefix(d.Page, "https://") }

// flow is one sign-in on its way.
type flow struct {
	State, Nonce, Verifier, To string
	At                         time.Time
}

// Begin is where to send a browser, and the cookie that it has to come back with. to is kept for the end.
func (d *Door) Begin(ctx context.Context, to string) (address, cookie string, err error) {
	p, err := d.provider(ctx)
	if err != nil {
		return "", "", err
	}
	f := flow{State: rand.Text(), Nonce: rand.Text(), Verifier: oauth2.GenerateVerifier(), To: to, At: d.Now()}
	b, _ := json.Marshal(f) // texts and times always marshal
	nonce := make([]byte, d.sealer.NonceSize())
	_, _ = rand.Read(nonce) // never fails
	cookie = base64.RawURLEncoding.EncodeToString(d.sealer.Seal(nonce, nonce, b, []byte(d.id)))
	with := []oauth2.AuthCodeOption{oidc.Nonce(f.Nonce), oauth2.S256ChallengeOption(f.Verifier)}
	if d.Issuer == google && len(d.Domains) == 1 { // else it sends whoever is there with another account back with that one, each time
		with = append(with, oauth2.SetAuthURLParam("hd", d.Domains[0]))
	}
	return p.oauth.AuthCodeURL(f.State, with...), cookie, nil
}

// open reads a cookie that Begin made; false for all others.
func (d *Door) open(cookie string) (f flow, ok bool) {
	b, _ := base64.RawURLEncoding.DecodeString(cookie) // what is none of ours does not open
	if n := d.sealer.NonceSize(); len(b) > n {
		b, err := d.sealer.Open(nil, b[:n], b[n:], []byte(d.id))
		ok = err == nil && json.Unmarshal(b, &f) == nil
	}
	return f, ok
}

// Once reports whether a name was not used within d, on any replica, and uses it.
type Once func(ctx context.Context, name string, d time.Duration) (bool, error)

// Finish takes what the provider sent a browser back with, and the cookie. An error that is no [Refused] is that of once.
func (d *Door) Finish(ctx context.Context, cookie string, q url.Values, once Once) (Person, error) {
	f, ok := d.open(cookie)
	switch {
	case !ok:
		return Person{}, refuse("sign_in_stale", sayStale, "there is no cookie of a sign-in that began here")
	case subtle.ConstantTimeCompare([]byte(f.State), []byte(q.Get("state"))) != 1:
		return Person{}, refuse("sign_in_stale", sayStale, "the state is of another sign-in")
	case d.Now().Sub(f.At).Abs() > Life:
		return Person{}, refuse("sign_in_stale", sayStale, "it took longer than %s", Life)
	}
	if code := q.Get("error"); code != "" {
		say := "The provider did not let you in (" + named(code) + ")."
		return Person{}, refuse("sign_in_refused", say, "the provider answered the browser with %s", named(code))
	}
	p, err := d.provider(ctx)
	if err != nil {
		return Person{}, err
	}
	token, err := d.exchange(ctx, p, q.Get("code"), f)
	if err != nil {
		return Person{}, err
	}
	who, err := d.identify(ctx, p, token, f)
	if err != nil {
		return Person{}, err
	}
	// Not before: whoever has no token of the provider writes nothing.
	if first, err := once(ctx, "signin:"+f.State, 2*Life); err != nil || !first {
		return Person{}, cmp.Or(err, error(refuse("sign_in_stale", sayStale, "it was finished already")))
	}
	who.To = f.To
	return who, nil
}

// What a provider says of a code that is too old, was used, or is none of its own, and of a client that it does not know, or whose secret is
// another: the standard's words and Slack's. https://docs.slack.dev/reference/methods/openid.connect.token#errors
var (
	staleCode   = []string{"invalid_grant", "invalid_code", "code_already_used", "code_expired"}
	wrongClient = []string{"invalid_client", "unauthorized_client", "invalid_client_id", "bad_client_secret"}
)

// exchange gets the token for a code.
func (d *Door) exchange(ctx context.Context, p *provider, code string, f flow) (*oauth2.Token, error) {
	ctx = oidc.ClientContext(ctx, d.Client)
	answer, err := p.oauth.Exchange(ctx, code, oauth2.VerifierOption(f.Verifier))
	if failed, ok := errors.AsType[*oauth2.RetrieveError](err); ok {
		r := refuse("sign_in_refused", sayWrong, "the provider gave no token: HTTP %d, %s", failed.Response.StatusCode, named(failed.ErrorCode))
		switch {
		case slices.Contains(staleCode, failed.ErrorCode):
			r.Code, r.Say = "sign_in_stale", sayStale
		case slices.Contains(wrongClient, failed.ErrorCode):
			r.Code = "sign_in_client"
		case busy(failed.Response.StatusCode):
			r = down("%s", r.why)
		}
		return nil, r
	}
	if err != nil {
		return nil, down("the provider gave no token: %s", surface.Tame(err.Error()))
	}
	return answer, nil
}

// identify finds out whose a token is.
func (d *Door) identify(ctx context.Context, p *provider, answer *oauth2.Token, f flow) (Person, error) {
	if d.Platform == Discord {
		return d.ofDiscord(ctx, answer)
	}
	claims, err := d.verify(oidc.ClientContext(ctx, d.Client), p, answer, f)
	if err != nil {
		return Person{}, err
	}
	return d.person(claims)
}

// verify checks everything about an ID token, and reads it.
func (d *Door) verify(ctx context.Context, p *provider, answer *oauth2.Token, f flow) (claims map[string]any, err error) {
	raw, _ := answer.Extra("id_token").(string)
	token, err := p.verifier.Verify(ctx, raw)
	if err == nil {
		err = token.Claims(&claims)
	}
	switch by := claims["azp"]; {
	case err != nil:
		return nil, refuse("sign_in_refused", sayWrong, "the provider's token does not hold: %s", surface.Tame(err.Error()))
	case by != nil && by != d.ClientID, by == nil && len(token.Audience) > 1:
		return nil, refuse("sign_in_refused", sayWrong, "the token is for somebody else, too")
	case subtle.ConstantTimeCompare([]byte(token.Nonce), []byte(f.Nonce)) != 1:
		return nil, refuse("sign_in_refused", sayWrong, "the token's nonce is not the one of this sign-in")
	case d.Now().Sub(token.IssuedAt).Abs() > maxSkew:
		return nil, refuse("sign_in_refused", sayWrong, "the token was issued more than %s from now: whose clock is wrong?", maxSkew)
	}
	return claims, nil
}

// person reads the claims of a token that holds.
func (d *Door) person(claims map[string]any) (Person, error) {
	text := func(name string) string { s, _ := claims[name].(string); return strings.TrimSpace(s) }
	mail := strings.ToLower(text(claimEmail))
	// Google verified an address once; of those that others give out it knows whose they are now only within their organisation (hd):
	// https://developers.google.com/identity/gsi/web/guides/verify-google-id-token
	if claims["email_verified"] != true || d.Issuer == google && text("hd") == "" && !strings.HasSuffix(mail, "@gmail.com") {
		mail = ""
	}
	subject, _ := claims[d.Claim].(string)
	if d.Claim == claimEmail {
		subject = mail
	}
	if subject == "" || len(subject) > maxSubject || strings.ContainsFunc(subject, unicode.IsControl) {
		return Person{}, refuse("sign_in_refused", sayWrong, "the token has no %s that could name somebody (an e-mail address has to be verified)", d.Claim)
	}
	names := []string{text("name"), text("preferred_username"), mail, subject}
	if d.Platform == Slack {
		team := text(d.GroupsClaim)
		if team == "" {
			return Person{}, refuse("sign_in_refused", sayWrong, "the token has no %s", d.GroupsClaim)
		}
		return Person{Key: subject, Place: team, Names: names}, nil
	}
	groups := d.groups(claims)
	_, domain, _ := strings.Cut(mail, "@")
	switch {
	case len(d.Groups) > 0 && !slices.ContainsFunc(groups, func(g string) bool { return slices.Contains(d.Groups, g) }):
		return Person{}, refuse("sign_in_not_allowed", sayNot, "somebody signed in who is in none of web.oidc.groups: the ID token has %d in its claim %s", len(groups), d.GroupsClaim)
	case len(d.Domains) > 0 && !slices.ContainsFunc(d.Domains, func(x string) bool { return domain != "" && strings.EqualFold(x, domain) }):
		return Person{}, refuse("sign_in_not_allowed", sayNot, "somebody signed in without a verified e-mail address in one of web.oidc.domains: the ID token has one in %q", surface.Tame(domain))
	}
	_, issuer, _ := strings.Cut(d.Issuer, "://")
	return Person{Key: subject + "@" + issuer, Groups: groups, Names: names}, nil
}

// groups are those of their claim: a list of texts, or one.
func (d *Door) groups(claims map[string]any) (out []string) {
	if elsewhere, _ := claims["_claim_names"].(map[string]any); elsewhere[d.GroupsClaim] != nil { // of more than 200 Entra names none
		d.Logger.Warn("somebody who signed in is in more groups than the provider's token has room for, so none counts: have it name only those that are assigned to nod")
	}
	list, ok := claims[d.GroupsClaim].([]any)
	if !ok {
		list = []any{claims[d.GroupsClaim]}
	}
	for _, g := range list {
		if s, ok := g.(string); ok && s != "" && len(s) <= maxSubject {
			out = append(out, s)
		}
	}
	return out
}

var errorCode = regexp.MustCompile(`^[a-z_]{1,40}$`)

// named is an error's code as a provider wrote it, if it has the form of one.
func named(code string) string {
	if errorCode.MatchString(code) {
		return code
	}
	return "an error without a name"
}
