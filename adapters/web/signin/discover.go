package signin

import (
	"context"
	"errors"
	"net"
	"net/url"
	"slices"
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
		r := refuse("sign_in_unavailable", sayDown, "%v", d.wrong)
		r.Down = true
		return nil, r
	}
	return d.found, nil
}

func (d *Door) discover(ctx context.Context) (*provider, error) {
	p, err := oidc.NewProvider(oidc.ClientContext(ctx, d.Client), d.Issuer)
	if err != nil {
		return nil, errors.New(surface.Tame(err.Error()))
	}
	var says struct {
		Keys string   `json:"jwks_uri"`
		By   []string `json:"token_endpoint_auth_methods_supported"`
		PKCE []string `json:"code_challenge_methods_supported"`
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
	at.AuthStyle = oauth2.AuthStyleInHeader // as the standard has it where nothing is said
	if len(says.By) > 0 && !slices.Contains(says.By, "client_secret_basic") {
		at.AuthStyle = oauth2.AuthStyleInParams
	}
	return &provider{
		oauth: oauth2.Config{ClientID: d.ClientID, ClientSecret: d.ClientSecret, Endpoint: at, RedirectURL: d.Return(),
			Scopes: append([]string{oidc.ScopeOpenID, oidc.ScopeProfile, oidc.ScopeEmail}, d.Scopes...)},
		// The library takes no algorithm but those with a public key, whatever the document says.
		verifier: p.Verifier(&oidc.Config{ClientID: d.ClientID, Now: d.Now}),
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
