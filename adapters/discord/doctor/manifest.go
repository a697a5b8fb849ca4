package doctor

import (
	"bytes"
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/bwmarrin/discordgo"

	"github.com/nodhq/nod/adapters/discord"
	"github.com/nodhq/nod/adapters/discord/ids"
	"github.com/nodhq/nod/adapters/surface"
)

// right is a permission of the bot in a server. The invite asks for all of them, and the doctor says what is missing without one.
type right struct {
	Name  string               // as the pages of Discord call it
	Bit   int64                // https://docs.discord.com/developers/topics/permissions#permissions-bitwise-permission-flags
	For   string               // what the bot does with it
	Lacks string               // what does not work without it
	In    discord.Conversation // the kind of conversations that need it; empty: both
	Vital bool                 // without it the bot is of no use there
}

// The permissions that are named in the code.
const (
	mayAll         int64 = discordgo.PermissionAdministrator
	mayView        int64 = discordgo.PermissionViewChannel
	maySend        int64 = discordgo.PermissionSendMessages
	mayAttach      int64 = discordgo.PermissionAttachFiles
	mayRead        int64 = discordgo.PermissionReadMessageHistory
	mayStartThread int64 = discordgo.PermissionCreatePublicThreads
	maySendThread  int64 = discordgo.PermissionSendMessagesInThreads
)

// appRights are what the bot does in a server, and no more. Embed Links is none of them: previews of links are switched off.
var appRights = []right{
	{"View Channels", mayView, "sees the channels that it works in, and hears what is said there", "it does not hear anything", "", true},
	{"Send Messages", maySend, "answers in a channel itself, and nudges there", "it cannot answer in a channel itself (conversation: channel)", discord.InChannel, true},
	{"Attach Files", mayAttach, "adds arguments and answers that are too long for a message, as files", "it cannot add what is too long for a message", "", false},
	{"Read Message History", mayRead, "reads what stood in a thread before it was mentioned, and fetches what it missed while it was not connected", "it does not know what stood before a mention, and misses what is said while it is not connected", "", false},
	{"Create Public Threads", mayStartThread, "opens a thread on the message that mentions it", "it cannot open a thread on a mention", discord.InThread, true},
	{"Send Messages in Threads", maySendThread, "answers in threads", "it cannot answer in a thread", discord.InThread, true},
}

// invited is all rights together, as the invite asks for them.
func invited() (bits int64) {
	for _, r := range appRights {
		bits |= r.Bit
	}
	return bits
}

// lacking are the rights that are not among bits.
func lacking(bits int64) (out []right) {
	for _, r := range appRights {
		if bits&(r.Bit|mayAll) == 0 {
			out = append(out, r)
		}
	}
	return out
}

// privileged are the intents that the bot wants, and that Discord gives only where they are switched on in the application.
// https://docs.discord.com/developers/events/gateway#privileged-intents
var privileged = []Intent{
	{"Message Content", true, "hears what people say in a thread after they mentioned it there", "it hears only what mentions it, replies to it, direct messages and commands"},
}

// appScopes are what an invite asks for: to be in the server, and to have commands there.
// https://docs.discord.com/developers/topics/oauth2#shared-resources-oauth2-scopes
var appScopes = []string{"bot", "applications.commands"}

// AppOptions are what a deployment may say about its application.
type AppOptions struct {
	// ApplicationID is on the application's page General Information. Empty: the invite has [NoApplication] in its place.
	ApplicationID string
	// BaseURL is where Discord reaches the bot by HTTP, such as https://bot.example.com. Empty: clicks come through the gateway.
	BaseURL string
	// Return is where Discord sends people back to who sign in on the page by it. Empty: nobody does.
	Return string
}

// NoApplication stands in an invite for the ID of an application that is not known.
const NoApplication = "APPLICATION_ID"

// App is what is to be entered, clicked and switched on so that an application can be nod. Discord takes no manifest, so it is for
// people, or for a program that uses Discord's API.
type App struct {
	ApplicationID string       `json:"application_id"`
	Invite        string       `json:"invite_url"`
	Scopes        []string     `json:"scopes"`
	Bits          string       `json:"permissions"` // a number in decimal, as Discord writes permissions
	Permissions   []Permission `json:"permission_list"`
	Intents       []Intent     `json:"privileged_intents"`
	// Endpoint is the Interactions Endpoint URL. Empty: the field stays empty.
	Endpoint string `json:"interactions_endpoint_url"`
	// Redirect is one of the application's page OAuth2.
	Redirect string `json:"redirect_uri,omitempty"`
}

// Permission is one that the invite asks for.
type Permission struct {
	Name    string `json:"name"`
	Bit     string `json:"bit"`
	For     string `json:"for"`
	Without string `json:"without"`
}

// Intent is a privileged one.
type Intent struct {
	Name    string `json:"name"`
	On      bool   `json:"on"`
	For     string `json:"for"`
	Without string `json:"without"`
}

// Manifest is the application that an admin makes.
func Manifest(o AppOptions) (App, error) {
	a := App{ApplicationID: o.ApplicationID, Scopes: appScopes, Bits: strconv.FormatInt(invited(), 10), Intents: privileged, Redirect: o.Return}
	if o.ApplicationID != "" && !ids.IsSnowflake(o.ApplicationID) {
		return a, errors.New("-client: want the application's ID, a number that stands on its page General Information")
	}
	if o.BaseURL != "" {
		base, err := surface.PublicBase(o.BaseURL)
		if err != nil {
			return a, fmt.Errorf("-http: %w", err)
		}
		a.Endpoint = base + discord.PathInteractions
	}
	for _, r := range appRights {
		a.Permissions = append(a.Permissions, Permission{r.Name, strconv.FormatInt(r.Bit, 10), r.For, r.Lacks})
	}
	a.Invite = invite(o.ApplicationID)
	return a, nil
}

// invite is where somebody who may manage a server adds the bot to it.
// https://docs.discord.com/developers/topics/oauth2#bot-authorization-flow
func invite(application string) string {
	return "https://discord.com/oauth2/authorize?client_id=" + cmp.Or(application, NoApplication) +
		"&scope=" + strings.Join(appScopes, "+") + "&permissions=" + strconv.FormatInt(invited(), 10)
}

// JSON is the application for machines: indented, with a newline at its end.
func (a App) JSON() ([]byte, error) {
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	err := enc.Encode(a)
	return out.Bytes(), err
}

// Text is the application for people.
func (a App) Text() []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "Invite, for somebody who may manage the server:\n\n  %s\n\n", a.Invite)
	fmt.Fprintf(&b, "Permissions in it (%s together), and what is not possible without each:\n\n", a.Bits)
	for _, p := range a.Permissions {
		fmt.Fprintf(&b, "  %-26s %s\n  %-26s without: %s\n", p.Name, p.For, "", p.Without)
	}
	b.WriteString("\nIntents, on the application's page Bot, Privileged Gateway Intents:\n\n")
	for _, i := range a.Intents {
		fmt.Fprintf(&b, "  %-26s on: %s\n  %-26s without: %s\n", i.Name, i.For, "", i.Without)
	}
	fmt.Fprintf(&b, "  %-26s off: nod does not ask for them\n", "Presence, Server Members")
	endpoint := cmp.Or(a.Endpoint, "leave it empty: clicks and commands then come through the bot's own connection")
	fmt.Fprintf(&b, "\nInteractions Endpoint URL, on the page General Information:\n\n  %s\n", endpoint)
	if a.Redirect != "" {
		fmt.Fprintf(&b, "\nRedirect, on the page OAuth2, for people who sign in on nod's page:\n\n  %s\n", a.Redirect)
	}
	return b.Bytes()
}

// ApplicationOf reads the application's ID out of a bot's token: its first part is the bot's user ID in base64, and but for
// applications from before 2016 the two are one. ok is false where it is not so formed. The form is not documented:
// https://docs.discord.com/developers/reference#authentication shows it in an example.
func ApplicationOf(token string) (id string, ok bool) {
	first, _, dotted := strings.Cut(token, ".")
	raw, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(first, "="))
	if !dotted || err != nil || !ids.IsSnowflake(string(raw)) {
		return "", false
	}
	return string(raw), true
}
