package doctor

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"

	"github.com/spf13/cobra"

	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/cmd/bot/command"
	"github.com/nodhq/nod/cmd/bot/config"
)

// Health is nod health, for a container's health check: no other program is in the image. Codes: 0 it is ready; 1 it is not, or does not run;
// 2 the configuration is wrong.
func Health(p *command.Process) *cobra.Command {
	return p.Command("health", "ask the nod that runs here whether it is ready; the exit code is 0 if it is", command.Configured(func(p command.Process, c config.Config) int {
		ctx, release := p.Context()
		defer release()
		status, body, err := get(ctx, local(c.Listen)+"/readyz")
		if err != nil {
			return p.Refuse(command.Fail, fmt.Errorf("no bot answers at %s", c.Listen))
		}
		var said struct {
			Status string
			Error  struct{ Message string }
		}
		if err := json.Unmarshal(body, &said); err != nil || status != http.StatusOK || said.Status != "ready" {
			return p.Refuse(command.Fail, fmt.Errorf("not ready: %s", command.OneLine(said.Error.Message)))
		}
		fmt.Fprintln(p.Stdout, "ready")
		return command.OK
	}))
}

// local is the listener's address as this machine reaches it.
func local(listen string) string {
	host, port, _ := net.SplitHostPort(listen)
	if ip := net.ParseIP(host); host == "" || ip != nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return "http://" + net.JoinHostPort(host, port)
}

// get asks a bot of this machine for one of its short answers.
func get(ctx context.Context, url string) (status int, body []byte, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return 0, nil, err
	}
	client := http.Client{Timeout: surface.LookTimeout, Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer resp.Body.Close()
	body, err = io.ReadAll(io.LimitReader(resp.Body, 1<<12))
	return resp.StatusCode, body, err
}
