package rest

import (
	"net/http"
	"sync"

	"github.com/bwmarrin/discordgo"
)

const APIVersion = "10" // https://discord.com/developers/docs/reference#api-versioning

const agentHeader = "DiscordBot (https://github.com/nodhq/nod, 1)" // https://discord.com/developers/docs/reference#user-agent

// pinned sets the version of the API. discordgo keeps it in a variable of the whole process, and reads it when it opens a connection.
var pinned sync.Once

// NewSession makes a discordgo.Session that does nothing by itself: no log, no retries, no reconnecting, no cache.
func NewSession(token string, client *http.Client) *discordgo.Session {
	pinned.Do(func() { discordgo.APIVersion = APIVersion })
	s, _ := discordgo.New("Bot " + token) // its error is always nil
	s.LogLevel = -1                       // below LogError: it logs whole packets, and the token among them
	s.ShouldReconnectOnError, s.ShouldReconnectVoiceOnSessionError = false, false
	s.ShouldRetryOnRateLimit, s.MaxRestRetries = false, 0
	s.StateEnabled = false
	s.SyncEvents = true // events in order
	s.UserAgent = agentHeader
	if client != nil {
		s.Client = client
	}
	// Without compression every packet can be looked at by package gateway. What it saves is little: a bot's READY lists guilds by ID.
	s.Compress, s.Identify.Compress = false, false
	s.Identify.LargeThreshold = 50 // the least: nobody's members are needed. https://discord.com/developers/docs/events/gateway-events#identify
	s.Identify.Properties.Browser, s.Identify.Properties.Device = "nod", "nod"
	return s
}
