// Package install lets workspaces of Slack take the bot in by themselves: it sends a browser to Slack and takes it back, exchanges the code for
// the workspace's token, and seals that.
//
// [New] makes a [Door] of what the operator says. [Door.Handler] has the two addresses, [Door.Seal] and [Door.Open] are for whoever keeps what was
// installed. Package slack uses both; this package knows nothing of it.
//
//   - Who comes back is who was sent: the state is signed, counts for ten minutes, and only with the cookie of the browser that it was made for.
//   - Only workspaces that the operator named are installed in, and used: the token of any other is revoked at once and kept nowhere.
//   - A token lies in the store sealed, for one workspace: put under another one's name it does not open. No log and no page has it, or a code.
package install

import (
	"cmp"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/slack-go/slack"
)

// Where a browser begins, and where Slack sends it back to.
const (
	PathBegin  = "/slack/install"
	PathReturn = "/slack/installed"
)

// Anybody stands for every workspace among those that may install the bot.
const Anybody = "anybody"

// Config is what an operator says of it.
type Config struct {
	ClientID, ClientSecret string
	Page                   string   // scheme and host as browsers reach them, without a path
	Workspaces             []string // IDs of workspaces and organisations that may; or [Anybody]
	Keys                   []string // the first seals, all open
	Scopes                 []string // of the bot's token
	Store                  Store
}

// Store is where what was installed is kept, sealed, by workspace. All replicas share one.
type Store interface {
	Installs(context.Context) (map[string]string, error)
	Install(ctx context.Context, workspace, sealed string) error
	// Reinstall replaces it, or with an empty text forgets it, unless it is another than the one that was read.
	Reinstall(ctx context.Context, workspace, was, sealed string) error
}

// Installed is one workspace that took the bot in.
type Installed struct {
	Token      string    `json:"token"`
	Name       string    `json:"name"`
	Enterprise string    `json:"enterprise,omitempty"`
	By         string    `json:"by"` // the person's ID
	At         time.Time `json:"at"`
}

// Door is where workspaces install the bot.
type Door struct {
	Config
	api, authorize string
	client         *http.Client
	log            *slog.Logger
	seals          []cipher.AEAD
	signs          [][]byte
	now            func() time.Time
}

// New makes the door. api is the address of Slack's Web API, ending in "/".
func New(c Config, api string, client *http.Client, log *slog.Logger) (*Door, error) {
	d := &Door{Config: c, api: api, authorize: strings.TrimSuffix(api, "api/") + "oauth/v2/authorize", client: client, log: log, now: time.Now}
	if len(c.Keys) == 0 || c.Store == nil {
		return nil, errors.New("slack: installing takes a key and a store")
	}
	for _, key := range c.Keys {
		derive := func(purpose string) ([]byte, error) {
			return hkdf.Key(sha256.New, []byte(key), nil, "nod slack install "+purpose, 32)
		}
		sealing, err := derive("token")
		signing, failed := derive("state")
		if err = errors.Join(err, failed); err != nil {
			return nil, err
		}
		block, err := aes.NewCipher(sealing)
		if err != nil {
			return nil, err
		}
		seal, err := cipher.NewGCMWithRandomNonce(block)
		if err != nil {
			return nil, err
		}
		d.seals, d.signs = append(d.seals, seal), append(d.signs, signing)
	}
	return d, nil
}

// Allows reports whether the operator lets a workspace, or its organisation, have the bot.
func (d *Door) Allows(workspace, enterprise string) bool {
	return slices.ContainsFunc(d.Workspaces, func(id string) bool { return id == Anybody || id == workspace || id == enterprise && enterprise != "" })
}

// Seal makes what may lie in a store of it, for one workspace.
func (d *Door) Seal(workspace string, is Installed) (string, error) {
	plain, err := json.Marshal(is)
	if err != nil {
		return "", err
	}
	return base64.RawStdEncoding.EncodeToString(d.seals[0].Seal(nil, nil, plain, []byte(workspace))), nil
}

var errSealed = errors.New("it was sealed with a key that NOD_SLACK_TOKEN_KEYS does not have, or for another workspace")

// Open is the way back. old: by a key that is not the first. An error quotes nothing.
func (d *Door) Open(workspace, sealed string) (is Installed, old bool, err error) {
	raw, err := base64.RawStdEncoding.DecodeString(sealed)
	if err != nil {
		return is, false, errSealed
	}
	for i, seal := range d.seals {
		if plain, err := seal.Open(nil, nil, raw, []byte(workspace)); err == nil && json.Unmarshal(plain, &is) == nil {
			return is, i > 0, nil
		}
	}
	return Installed{}, false, errSealed
}

const (
	cookieName = "nod_slack_install"
	stateLife  = 10 * time.Minute
)

// state is when it was made, and that signed together with the browser's cookie.
func state(key []byte, cookie string, at []byte) string {
	mac := hmac.New(sha256.New, key)
	mac.Write(at)
	mac.Write([]byte(cookie))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(slices.Clone(at)))
}

// began reports whether a state was made here, for this browser, and not too long ago.
func (d *Door) began(got, cookie string) bool {
	raw, _ := base64.RawURLEncoding.DecodeString(got)
	if len(raw) != 8+sha256.Size || cookie == "" {
		return false
	}
	age := d.now().Sub(time.Unix(int64(binary.BigEndian.Uint64(raw)), 0)) //nolint:gosec // a time that we signed
	return age > -time.Minute && age < stateLife &&
		slices.ContainsFunc(d.signs, func(key []byte) bool { return hmac.Equal([]byte(got), []byte(state(key, cookie, raw[:8]))) })
}

// Handler serves both addresses.
func (d *Door) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+PathBegin, d.begin)
	mux.HandleFunc("GET "+PathReturn, d.finish)
	return mux
}

func (d *Door) cookie(value string, age time.Duration) *http.Cookie {
	return &http.Cookie{
		Name: cookieName, Value: value, Path: "/slack/", MaxAge: int(age / time.Second), HttpOnly: true, SameSite: http.SameSiteLaxMode,
		Secure: strings.HasPrefix(d.Page, "https://"),
	}
}

// begin sends a browser to Slack. https://docs.slack.dev/authentication/installing-with-oauth
func (d *Door) begin(w http.ResponseWriter, r *http.Request) {
	cookie := rand.Text()
	at := binary.BigEndian.AppendUint64(nil, uint64(d.now().Unix())) //nolint:gosec // after 1970
	http.SetCookie(w, d.cookie(cookie, stateLife))
	w.Header().Set("Cache-Control", "no-store")
	http.Redirect(w, r, d.authorize+"?"+url.Values{
		"client_id": {d.ClientID}, "scope": {strings.Join(d.Scopes, ",")}, "redirect_uri": {d.Page + PathReturn}, "state": {state(d.signs[0], cookie, at)},
	}.Encode(), http.StatusFound)
}

// finish takes back a browser that was sent to Slack.
func (d *Door) finish(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	var cookie string
	if c, err := r.Cookie(cookieName); err == nil {
		cookie = c.Value
	}
	switch {
	case !d.began(q.Get("state"), cookie):
		d.log.Warn("slack: an installation is refused: it did not begin in that browser, or more than ten minutes ago")
		page(w, http.StatusBadRequest, "Nothing was installed", "This page belongs to an installation that began in another browser, or more than ten minutes ago.", true)
	case q.Get("error") == "access_denied":
		http.SetCookie(w, d.cookie("", -time.Second))
		page(w, http.StatusOK, "Nothing was installed", "It was declined in Slack.", true)
	default:
		http.SetCookie(w, d.cookie("", -time.Second))
		d.exchange(r.Context(), w, q.Get("code"))
	}
}

// exchange takes the workspace's token for a code, and keeps it where that workspace may have the bot.
// https://docs.slack.dev/reference/methods/oauth.v2.access
func (d *Door) exchange(ctx context.Context, w http.ResponseWriter, code string) {
	got, err := slack.GetOAuthV2ResponseContext(ctx, d.client, d.ClientID, d.ClientSecret, code, d.Page+PathReturn, slack.OAuthOptionAPIURL(d.api))
	if err != nil {
		no, refused := errors.AsType[slack.SlackErrorResponse](err)
		if why := cmp.Or(advice[no.Err], "Slack does not take it"); refused {
			d.log.Error("slack: an installation failed: "+why, "code", no.Err)
			page(w, http.StatusBadGateway, "Nothing was installed", fmt.Sprintf("Slack says %s.", no.Err), true)
			return
		}
		d.log.Error("slack: an installation failed: Slack did not answer") // err may quote the request
		page(w, http.StatusBadGateway, "Nothing was installed", "Slack did not answer.", true)
		return
	}
	name := cmp.Or(got.Team.Name, got.Team.ID, got.Enterprise.Name)
	if no := d.unfit(got); no != "" {
		d.log.Warn("slack: an installation is refused", "workspace", got.Team.ID, "enterprise", got.Enterprise.ID, "why", no)
		d.revoke(ctx, got.AccessToken)
		page(w, http.StatusForbidden, "nod was not installed in "+name, no, false)
		return
	}
	is := Installed{Token: got.AccessToken, Name: got.Team.Name, Enterprise: got.Enterprise.ID, By: got.AuthedUser.ID, At: d.now().UTC()}
	sealed, err := d.Seal(got.Team.ID, is)
	if err == nil {
		err = d.Store.Install(ctx, got.Team.ID, sealed)
	}
	if err != nil {
		d.log.Error("slack: an installation was not recorded", "workspace", got.Team.ID, "err", err)
		page(w, http.StatusServiceUnavailable, "nod was not installed in "+name, "What nod remembers cannot be reached.", true)
		return
	}
	d.log.Info("slack: nod was installed", "workspace", got.Team.ID, "name", got.Team.Name, "by", is.By)
	page(w, http.StatusOK, "nod is installed in "+name,
		"In Slack, write to nod (under Apps), or invite it to a channel with /invite @nod and mention it: @nod what can you do? You can close this page.", false)
}

// unfit says why what Slack gave cannot be used; empty where it can.
func (d *Door) unfit(got *slack.OAuthV2Response) string {
	switch {
	case got.IsEnterpriseInstall || got.Team.ID == "":
		return "It can be installed in single workspaces, not in a whole organisation. Install it in each workspace that shall have it."
	case !d.Allows(got.Team.ID, got.Enterprise.ID):
		return "Whoever runs nod did not allow it there. They can: slack.install.workspaces takes " + got.Team.ID + "."
	case got.RefreshToken != "" || !strings.HasPrefix(got.AccessToken, "xoxb-"):
		return "Its app rotates tokens, which nod does not. Whoever runs nod has to switch that off (OAuth & Permissions)."
	}
	return ""
}

// advice is for the operator: https://docs.slack.dev/reference/methods/oauth.v2.access#errors
var advice = map[string]string{
	"bad_client_secret":                "SLACK_CLIENT_SECRET is not that of the app",
	"invalid_client_id":                "slack.install.client_id is not that of the app",
	"bad_redirect_uri":                 "the app's redirect URLs (page OAuth & Permissions) lack slack.install.page_url with " + PathReturn,
	"invalid_code":                     "the code is none, or too old",
	"code_already_used":                "the code was used before",
	"oauth_authorization_url_mismatch": "it was begun at another address of Slack's",
}

// revoke ends a token that is not kept. https://docs.slack.dev/reference/methods/auth.revoke
func (d *Door) revoke(ctx context.Context, token string) {
	api := slack.New(token, slack.OptionHTTPClient(d.client), slack.OptionAPIURL(d.api))
	if _, err := api.SendAuthRevokeContext(ctx, ""); err != nil {
		d.log.Warn("slack: the token of a refused installation could not be revoked; remove the app in that workspace")
	}
}

// page says one thing to whoever installs.
func page(w http.ResponseWriter, status int, title, say string, again bool) {
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'")
	h.Set("Cache-Control", "no-store")
	h.Set("Referrer-Policy", "no-referrer") // the address has a code
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(status)
	begin := ""
	if again {
		begin = `<p><a href="` + PathBegin + `">Begin again</a></p>`
	}
	_, _ = fmt.Fprintf(w, `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>%s</title>
<style>:root{color-scheme:light dark}body{font:1rem/1.5 system-ui,sans-serif;max-width:36rem;margin:4rem auto;padding:0 1rem}</style>
<h1>%[1]s</h1><p>%s</p>%s</html>
`, html.EscapeString(title), html.EscapeString(say), begin) // who installs is gone
}
