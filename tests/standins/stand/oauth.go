package stand

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html"
	"math/big"
	"net/http"
	"net/url"
	"sync"
	"time"
)

// OAuth signs people in by the authorization code flow: one client with a secret, one address to which browsers may be sent back, and codes that
// count once, for [CodeLife], with the verifier of their challenge. A platform's stand-in has the addresses and the words.
type OAuth struct {
	ID, Secret string
	Redirect   string               // registered: it has to be the same to the letter
	Bend       func(map[string]any) // changes what is said of somebody
	Generous   bool                 // a code counts as often as it comes

	mu    sync.Mutex
	codes map[string]*Grant
	gave  []string
	key   *rsa.PrivateKey
}

// CodeLife is how long a code counts: https://www.rfc-editor.org/rfc/rfc6749#section-4.1.2
const CodeLife = 10 * time.Minute

// Grant is what a code stands for.
type Grant struct {
	Who, Nonce          string
	redirect, challenge string
	at                  time.Time
	used                bool
}

// Why a code is not taken.
type Why string

// The reasons.
const (
	WrongClient   Why = "the client's ID or secret"
	WrongCode     Why = "there is no such code, or it is too old"
	UsedCode      Why = "the code was used already"
	WrongRedirect Why = "the code is for another redirect_uri"
	WrongVerifier Why = "the verifier is not that of the challenge"
	WrongType     Why = "grant_type is authorization_code"
)

// Authorize sends a browser back with a code for whoever it says that it is with as=, or asks it. It refuses, and sends it nowhere, where what the
// client wants is not what it must be.
func (o *OAuth) Authorize(w http.ResponseWriter, r *http.Request, scopes []string, people []string, now time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	q := r.URL.Query()
	for name, want := range map[string]string{"client_id": o.ID, "redirect_uri": o.Redirect, "response_type": "code", "code_challenge_method": "S256"} {
		if got := q.Get(name); got != want || want == "" {
			http.Error(w, fmt.Sprintf("%s is %q, want %q", name, got, want), http.StatusBadRequest)
			return
		}
	}
	if got := q["scope"]; len(got) != 1 || !sameWords(got[0], scopes) || len(q.Get("state")) < 16 || len(q.Get("code_challenge")) != 43 {
		http.Error(w, fmt.Sprintf("scope, state or code_challenge: %v", q), http.StatusBadRequest)
		return
	}
	who := q.Get("as")
	if who == "" {
		w.Header().Set("Content-Type", "text/html")
		for _, name := range people {
			fmt.Fprintf(w, `<p><a id="as-%s" href="%s">%[1]s</a></p>`, html.EscapeString(name), html.EscapeString(r.URL.String()+"&as="+url.QueryEscape(name)))
		}
		return
	}
	code := rand.Text()
	if o.codes == nil {
		o.codes = map[string]*Grant{}
	}
	o.codes[code] = &Grant{Who: who, Nonce: q.Get("nonce"), redirect: o.Redirect, challenge: q.Get("code_challenge"), at: now}
	o.gave = append(o.gave, code)
	http.Redirect(w, r, o.Redirect+"?"+url.Values{"code": {code}, "state": {q.Get("state")}}.Encode(), http.StatusFound)
}

func sameWords(got string, want []string) bool {
	var all string
	for i, w := range want {
		if i > 0 {
			all += " "
		}
		all += w
	}
	return got == all
}

// Take takes a code in, of a request to the token endpoint.
func (o *OAuth) Take(r *http.Request, now time.Time) (Grant, Why) {
	o.mu.Lock()
	defer o.mu.Unlock()
	id, secret, basic := r.BasicAuth()
	if !basic {
		id, secret = r.PostFormValue("client_id"), r.PostFormValue("client_secret")
	}
	if id != o.ID || secret != o.Secret || o.ID == "" {
		return Grant{}, WrongClient
	}
	g := o.codes[r.PostFormValue("code")]
	sum := sha256.Sum256([]byte(r.PostFormValue("code_verifier")))
	switch {
	case r.PostFormValue("grant_type") != "authorization_code":
		return Grant{}, WrongType
	case g == nil, now.Sub(g.at) > CodeLife:
		return Grant{}, WrongCode
	case r.PostFormValue("redirect_uri") != g.redirect:
		return Grant{}, WrongRedirect
	case g.used && !o.Generous:
		return Grant{}, UsedCode
	case base64.RawURLEncoding.EncodeToString(sum[:]) != g.challenge:
		return Grant{}, WrongVerifier
	}
	g.used = true
	return *g, ""
}

// Said is what is said of somebody, as Bend has it.
func (o *OAuth) Said(of map[string]any) map[string]any {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.Bend != nil {
		o.Bend(of)
	}
	return of
}

// Change changes its fields.
func (o *OAuth) Change(how func(*OAuth)) {
	o.mu.Lock()
	defer o.mu.Unlock()
	how(o)
}

// Token makes a token that is remembered as one that nobody else may see.
func (o *OAuth) Token() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	t := rand.Text()
	o.gave = append(o.gave, t)
	return t
}

// Gave are all codes and tokens that were given out.
func (o *OAuth) Gave() []string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return append([]string{o.Secret}, o.gave...)
}

// signer is the key of ID tokens, made when it is first needed.
func (o *OAuth) signer() *rsa.PrivateKey {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.key == nil {
		o.key, _ = rsa.GenerateKey(rand.Reader, 2048) // it fails for a size that is too small only
	}
	return o.key
}

// Keys are what ID tokens are verified with.
func (o *OAuth) Keys() any {
	key := o.signer()
	encode := base64.RawURLEncoding.EncodeToString
	return map[string]any{"keys": []any{map[string]any{"kty": "RSA", "alg": "RS256", "use": "sig", "kid": "1", "n": encode(key.N.Bytes()), "e": encode(big.NewInt(int64(key.E)).Bytes())}}}
}

// Signed is an ID token.
func (o *OAuth) Signed(claims map[string]any) string {
	key := o.signer()
	encode := base64.RawURLEncoding.EncodeToString
	h, _ := json.Marshal(map[string]any{"alg": "RS256", "kid": "1", "typ": "JWT"}) // maps of texts and numbers always marshal
	c, _ := json.Marshal(claims)
	signed := encode(h) + "." + encode(c)
	sum := sha256.Sum256([]byte(signed))
	sig, _ := rsa.SignPKCS1v15(nil, key, crypto.SHA256, sum[:])
	return signed + "." + encode(sig)
}
