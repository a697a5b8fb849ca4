package signin

import (
	"cmp"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"regexp"

	"golang.org/x/oauth2"

	"github.com/nodhq/nod/adapters/surface"
)

// Where Discord signs people in, and says who somebody is: https://docs.discord.com/developers/topics/oauth2#authorization-code-grant and
// https://docs.discord.com/developers/resources/user#get-current-user
const (
	discordAuthorize = "/oauth2/authorize"
	discordExchange  = "/api/v10/oauth2/token"
	discordMe        = "/api/v10/users/@me"
	discordScope     = "identify"
	discordAgent     = "DiscordBot (https://github.com/nodhq/nod, 1)" // https://docs.discord.com/developers/reference#user-agent
	maxMe            = 64 << 10
)

var snowflake = regexp.MustCompile(`^[1-9][0-9]{0,19}$`)

// discord has no document to be looked up.
func (d *Door) discord() *provider {
	return &provider{oauth: oauth2.Config{ClientID: d.ClientID, ClientSecret: d.ClientSecret, RedirectURL: d.Return(), Scopes: []string{discordScope},
		Endpoint: oauth2.Endpoint{AuthURL: d.Issuer + discordAuthorize, TokenURL: d.Issuer + discordExchange, AuthStyle: oauth2.AuthStyleInHeader}}}
}

// ofDiscord asks whose a token is. It came for our code, by our secret, so it is for us.
func (d *Door) ofDiscord(ctx context.Context, token *oauth2.Token) (Person, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, d.Issuer+discordMe, nil)
	if err != nil {
		return Person{}, err
	}
	r.Header.Set("User-Agent", discordAgent)
	token.SetAuthHeader(r)
	res, err := d.Client.Do(r)
	if err != nil {
		return Person{}, down("the provider does not say whose its token is: %s", surface.Tame(err.Error()))
	}
	defer res.Body.Close()
	var me struct {
		ID, Username string
		Name         string `json:"global_name"`
		Bot          bool
	}
	err = json.NewDecoder(io.LimitReader(res.Body, maxMe)).Decode(&me)
	switch {
	case busy(res.StatusCode):
		return Person{}, down("the provider does not say whose its token is: HTTP %d", res.StatusCode)
	case res.StatusCode != http.StatusOK, err != nil, !snowflake.MatchString(me.ID):
		return Person{}, refuse("sign_in_refused", sayWrong, "the provider does not say whose its token is: HTTP %d", res.StatusCode)
	case me.Bot:
		return Person{}, refuse("sign_in_not_allowed", sayNot, "a bot signed in")
	}
	return Person{Key: me.ID, Place: d.Server, Names: []string{cmp.Or(me.Name, me.Username), me.Username, me.ID}}, nil
}
