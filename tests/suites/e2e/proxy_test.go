package e2e

import (
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
)

// Whatever nod opens goes through the proxy that the environment names, by names that the proxy resolves: nothing is looked up, and nothing else is tried.
func TestThroughAProxy(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	asked := map[string]bool{}
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		asked[r.Method+" "+r.Host] = true
		w.WriteHeader(http.StatusBadGateway)
	}))
	t.Cleanup(proxy.Close)
	const key = "ana-has-a-key-of-her-own"
	b := prepare(t, settings{
		yaml: "mcp: {servers: {far: {url: 'https://mcp.example/'}}}\nweb: {oidc: {issuer: 'https://id.example', client_id: nod, page_url: 'https://nod.example'}, session_keys: [{name: ana, key: " + key + "}]}\n",
		env: map[string]string{"HTTPS_PROXY": proxy.URL, "OPENAI_API_KEY": "k", "OPENAI_MODEL": "m", "OPENAI_BASE_URL": "https://model.example/v1",
			"NOD_OIDC_CLIENT_SECRET": "a secret of its own", "SLACK_BOT_TOKEN": "xoxb-1-k", "SLACK_APP_TOKEN": "xapp-1-k", "DISCORD_TOKEN": "MTIz.k.k"},
	})
	b.listen()
	b.sessionBy(key).room().say("hello")
	for _, host := range []string{"slack.com", "discord.com", "mcp.example", "model.example", "id.example"} {
		until(t, host+" was asked for", func() bool {
			mu.Lock()
			defer mu.Unlock()
			return asked["CONNECT "+host+":443"]
		})
	}
}
