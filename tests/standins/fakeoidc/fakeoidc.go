// Package fakeoidc is an OpenID provider for tests, with rules of its own: it knows one client by its secret, sends browsers only to the address
// that is registered, wants PKCE, state and nonce, and gives each code out once. It keeps what it refused, and misbehaves on demand.
package fakeoidc

import (
	"cmp"
	"crypto"
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"maps"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
)

// The one client that it knows.
const (
	ClientID = "nod"
	Secret   = "the-secret-of-the-client-nod"
)

// Provider is the stand-in. Change its fields before somebody signs in, with [Provider.Set].
type Provider struct {
	URL      string // the issuer, under the name localhost: for a browser another site than 127.0.0.1
	Redirect string // where it may send people
	Behaviour

	mu     sync.Mutex
	key    *rsa.PrivateKey
	mux    *http.ServeMux
	server *httptest.Server
	codes  map[string]grant
	people map[string]map[string]any // their claims, by what they call themselves
	faults []string
	gave   []string // what only the client may know: codes and tokens
}

// Behaviour is how it differs from a good provider. The zero value does not.
type Behaviour struct {
	Down     bool                                          // it answers 503
	Generous bool                                          // a code counts as often as it comes
	Post     bool                                          // it takes the client's secret in the form only
	Document func(map[string]any)                          // changes what it says of itself
	Bend     func(header, claims map[string]any)           // changes a token before it is signed
	Sign     func(signed string, p *Provider) (sig []byte) // signs it in another way
	Refuse   string                                        // the code with which it sends everybody back
	Token    func(http.ResponseWriter)                     // answers in place of the token endpoint
}

// grant is what a code stands for.
type grant struct {
	person, nonce, challenge, redirect string
	used                               bool
}

// New makes one of that issuer's address, which nobody runs: whoever holds it has it answer ([Provider.ServeHTTP]).
func New(issuer string) (*Provider, error) {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return nil, err
	}
	p := &Provider{URL: issuer, key: key, codes: map[string]grant{}, people: map[string]map[string]any{}, mux: http.NewServeMux()}
	p.mux.HandleFunc("GET /.well-known/openid-configuration", p.document)
	p.mux.HandleFunc("GET /keys", p.keys)
	p.mux.HandleFunc("GET /authorize", p.authorize)
	p.mux.HandleFunc("POST /token", p.token)
	return p, nil
}

// ServeHTTP answers, one request at a time.
func (p *Provider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.Down {
		http.Error(w, "down for maintenance", http.StatusServiceUnavailable)
		return
	}
	p.mux.ServeHTTP(w, r)
}

// Start runs it until close is called.
func Start() (*Provider, error) {
	p, err := New("")
	if err != nil {
		return nil, err
	}
	p.server = httptest.NewServer(p)
	p.URL = strings.Replace(p.server.URL, "127.0.0.1", "localhost", 1)
	return p, nil
}

// Close ends it.
func (p *Provider) Close() {
	p.server.CloseClientConnections()
	p.server.Close()
}

// Set changes how it behaves.
func (p *Provider) Set(b Behaviour) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.Behaviour = b
}

// Person makes somebody known, or changes what is said of them.
func (p *Provider) Person(name string, claims map[string]any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.people[name] = claims
}

// Faults are what clients did that they may not.
func (p *Provider) Faults() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.faults)
}

// Gave are all codes and tokens that it gave out.
func (p *Provider) Gave() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.gave)
}

func (p *Provider) document(w http.ResponseWriter, _ *http.Request) {
	d := map[string]any{"issuer": p.URL, "authorization_endpoint": p.URL + "/authorize", "token_endpoint": p.URL + "/token", "jwks_uri": p.URL + "/keys",
		"id_token_signing_alg_values_supported": []string{"RS256", "HS256", "none"}, "response_types_supported": []string{"code"},
		"code_challenge_methods_supported": []string{"S256"}}
	if p.Post {
		d["token_endpoint_auth_methods_supported"] = []string{"client_secret_post"}
	}
	if p.Document != nil {
		p.Document(d)
	}
	answer(w, http.StatusOK, d)
}

func (p *Provider) keys(w http.ResponseWriter, _ *http.Request) {
	answer(w, http.StatusOK, map[string]any{"keys": []any{map[string]any{"kty": "RSA", "alg": "RS256", "use": "sig", "kid": "1",
		"n": encode(p.key.N.Bytes()), "e": encode(big.NewInt(int64(p.key.E)).Bytes())}}})
}

// authorize asks who somebody is, and sends them back with a code. Whoever says it is believed: people here have no passwords.
func (p *Provider) authorize(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	for name, want := range map[string]string{"client_id": ClientID, "redirect_uri": p.Redirect, "response_type": "code", "code_challenge_method": "S256"} {
		if got := q.Get(name); got != want {
			p.fault(w, http.StatusBadRequest, "invalid_request", "%s is %q, want %q", name, got, want)
			return
		}
	}
	if len(q.Get("state")) < 16 || len(q.Get("nonce")) < 16 || len(q.Get("code_challenge")) != 43 || !slices.Contains(strings.Fields(q.Get("scope")), "openid") {
		p.fault(w, http.StatusBadRequest, "invalid_request", "state, nonce, code_challenge or scope: %v", q)
		return
	}
	back := url.Values{"state": {q.Get("state")}}
	switch who := q.Get("as"); {
	case p.Refuse != "":
		back.Set("error", p.Refuse)
	case p.people[who] == nil:
		w.Header().Set("Content-Type", "text/html")
		for name := range maps.Keys(p.people) {
			fmt.Fprintf(w, `<p><a id="as-%s" href="%s">%[1]s</a></p>`, html.EscapeString(name), html.EscapeString(r.URL.String()+"&as="+url.QueryEscape(name)))
		}
		return
	default:
		code := rand.Text()
		p.gave = append(p.gave, code)
		p.codes[code] = grant{person: who, nonce: q.Get("nonce"), challenge: q.Get("code_challenge"), redirect: q.Get("redirect_uri")}
		back.Set("code", code)
	}
	http.Redirect(w, r, p.Redirect+"?"+back.Encode(), http.StatusFound)
}

func (p *Provider) token(w http.ResponseWriter, r *http.Request) {
	if p.Token != nil {
		p.Token(w)
		return
	}
	id, secret, basic := r.BasicAuth()
	if p.Post {
		id, secret, basic = r.PostFormValue("client_id"), r.PostFormValue("client_secret"), !basic
	}
	g, ok := p.codes[r.PostFormValue("code")]
	sum := sha256.Sum256([]byte(r.PostFormValue("code_verifier")))
	switch {
	case !basic, id != ClientID, secret != Secret:
		p.fault(w, http.StatusUnauthorized, "invalid_client", "the client's secret is wrong, or in the wrong place")
		return
	case !ok, r.PostFormValue("grant_type") != "authorization_code", r.PostFormValue("redirect_uri") != g.redirect:
		p.fault(w, http.StatusBadRequest, "invalid_grant", "the code, or redirect_uri")
		return
	case g.used && !p.Generous:
		p.fault(w, http.StatusBadRequest, "invalid_grant", "the code was used already")
		return
	case encode(sum[:]) != g.challenge:
		p.fault(w, http.StatusBadRequest, "invalid_grant", "the verifier is another's")
		return
	}
	g.used = true
	p.codes[r.PostFormValue("code")] = g
	now := time.Now()
	header := map[string]any{"alg": "RS256", "kid": "1", "typ": "JWT"}
	claims := map[string]any{"iss": p.URL, "aud": ClientID, "iat": now.Unix(), "exp": now.Add(5 * time.Minute).Unix(), "nonce": g.nonce, "sub": g.person}
	maps.Copy(claims, p.people[g.person])
	if p.Bend != nil {
		p.Bend(header, claims)
	}
	h, _ := json.Marshal(header) // maps of texts and numbers always marshal
	c, _ := json.Marshal(claims)
	signed := encode(h) + "." + encode(c)
	jwt := signed + "." + encode(p.sign(signed))
	access := rand.Text()
	p.gave = append(p.gave, jwt, access)
	answer(w, http.StatusOK, map[string]any{"access_token": access, "token_type": "Bearer", "id_token": jwt})
}

func (p *Provider) sign(signed string) []byte {
	if p.Sign != nil {
		return p.Sign(signed, p)
	}
	sum := sha256.Sum256([]byte(signed))
	sig, _ := rsa.SignPKCS1v15(nil, p.key, crypto.SHA256, sum[:]) // it fails for a key that is too small only
	return sig
}

// SignBySecret signs with what everybody knows, as HS256: whoever takes the public key, or the client's id, for a secret believes it.
func SignBySecret(secret func(*Provider) []byte) func(string, *Provider) []byte {
	return func(signed string, p *Provider) []byte {
		mac := hmac.New(sha256.New, secret(p))
		mac.Write([]byte(signed))
		return mac.Sum(nil)
	}
}

// Public is its public key's modulus.
func Public(p *Provider) []byte { return p.key.N.Bytes() }

func (p *Provider) fault(w http.ResponseWriter, status int, code, why string, args ...any) {
	p.faults = append(p.faults, fmt.Sprintf(why, args...))
	answer(w, status, map[string]string{"error": code, "error_description": "you sent " + cmp.Or(p.last(), "nothing")})
}

// last is the last secret that it gave out: a provider may repeat in an error what it was sent.
func (p *Provider) last() string {
	if len(p.gave) == 0 {
		return ""
	}
	return p.gave[len(p.gave)-1]
}

func answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v)
}

func encode(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }
