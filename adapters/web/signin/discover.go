package signin

import (
	"context"
	"errors"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/nodhq/nod/adapters/surface"
)

const (
	sayDown   = "The sign-in is not available: its provider does not answer. Try again in a minute."
	lookFor   = 5 * time.Second  // the provider's document
	lookAgain = 10 * time.Second // after it could not be had
)

// provider is what its document says, for as long as this process runs. Its keys are looked up by themselves.
type provider struct {
	oauth    oauth2.Config
	verifier *oidc.IDTokenVerifier
	leave    string // see SignOut
}

// SignOut is where somebody signs out at the provider, and that page's host. They are empty where it names none, and until its document is there:
// nobody waits for it. https://openid.net/specs/openid-connect-rpinitiated-1_0.html
func (d *Door) SignOut() (address, of string) {
	if !d.mu.TryLock() { // it is being looked up
		return "", ""
	}
	defer d.mu.Unlock()
	if d.found != nil {
		address = d.found.leave
	}
	return address, host(address)
}

// Check reports why nobody could sign in now.
func (d *Door) Check(ctx context.Context) error {
	_, err := d.provider(ctx)
	return err
}

// provider is there from the first time it could be had. While it cannot, one look in a while is made, and all who ask meanwhile hear what
// that came to.
func (d *Door) provider(ctx context.Context) (*provider, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := d.Now()
	if d.found == nil && (d.wrong == nil || now.Sub(d.tried).Abs() >= lookAgain) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lookFor) // whoever asked may go away; the answer is for all
		defer cancel()
		found, err := d.discover(ctx)
		switch {
		case err != nil && d.wrong == nil:
			d.Logger.Error("the provider of the sign-in does not answer as it must: nobody can sign in by it", "issuer", d.Issuer, "err", err)
		case err == nil && d.wrong != nil:
			d.Logger.Info("the provider of the sign-in answers again", "issuer", d.Issuer)
		}
		d.found, d.wrong, d.tried = found, err, now
	}
	if d.wrong != nil {
		return nil, down("%v", d.wrong)
	}
	return d.found, nil
}

// Try reports why nobody could sign in now, the client's secret included: the provider is asked for the token of a code that it never gave.
func (d *Door) Try(ctx context.Context) error {
	p, err := d.provider(ctx)
	if err != nil {
		return err
	}
	_, err = d.exchange(ctx, p, "nod-doctor", flow{Verifier: oauth2.GenerateVerifier()})
	if no, ok := errors.AsType[*Refused](err); ok && !no.Down && no.Code != "sign_in_client" {
		return nil // it complains of the code, so it has looked at it
	}
	return err
}

func (d *Door) discover(ctx context.Context) (*provider, error) {
	if d.Platform == Discord {
		return d.discord(), nil
	}
	p, err := oidc.NewProvider(oidc.ClientContext(ctx, d.Client), d.Issuer)
	if other, ok := errors.AsType[*oidc.IssuerMismatchError](err); ok {
		return nil, errors.New("its document is of the issuer " + surface.Tame(other.Discovered))
	}
	if err != nil {
		return nil, errors.New(surface.Tame(err.Error()))
	}
	var says struct {
		Keys string   `json:"jwks_uri"`
		By   []string `json:"token_endpoint_auth_methods_supported"`
		PKCE []string `json:"code_challenge_methods_supported"`
		End  string   `json:"end_session_endpoint"`
	}
	if err := p.Claims(&says); err != nil {
		return nil, errors.New("its document cannot be read")
	}
	at := p.Endpoint()
	for _, address := range []string{at.AuthURL, at.TokenURL, says.Keys} {
		if !safe(address) {
			return nil, errors.New("its document names an address without TLS, or none: " + surface.Tame(address))
		}
	}
	if len(says.PKCE) > 0 && !slices.Contains(says.PKCE, "S256") { // some that have it do not say so
		return nil, errors.New("it does not know PKCE with S256")
	}
	leave := ""
	if u, err := url.Parse(says.End); err == nil && safe(says.End) && !strings.HasSuffix(u.Path, "/v1/logout") { // Okta's lets nobody out without their token
		q := u.Query()
		q.Set("client_id", d.ClientID) // and no id_token_hint: tokens are not kept, so the provider asks whether that is meant
		u.RawQuery = q.Encode()
		leave = u.String()
	}
	at.AuthStyle = oauth2.AuthStyleInHeader // as the standard has it where nothing is said
	if len(says.By) > 0 && !slices.Contains(says.By, "client_secret_basic") {
		at.AuthStyle = oauth2.AuthStyleInParams
	}
	scopes := []string{oidc.ScopeOpenID, oidc.ScopeProfile}
	if d.Platform == "" {
		scopes = append(append(scopes, oidc.ScopeEmail), d.Scopes...)
	}
	return &provider{
		oauth: oauth2.Config{ClientID: d.ClientID, ClientSecret: d.ClientSecret, Endpoint: at, RedirectURL: d.Return(), Scopes: scopes},
		// The library takes no algorithm but those with a public key, whatever the document says.
		verifier: p.Verifier(&oidc.Config{ClientID: d.ClientID, Now: d.Now}),
		leave:    leave,
	}, nil
}

// safe reports whether a secret can be sent to an address: by TLS, or within this machine.
func safe(address string) bool {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" {
		return false
	}
	ip := net.ParseIP(u.Hostname())
	return u.Scheme == "https" || u.Scheme == "http" && (u.Hostname() == "localhost" || ip != nil && ip.IsLoopback())
}
