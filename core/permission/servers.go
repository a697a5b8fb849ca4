package permission

import "slices"

// Servers are the servers of which tools were seen, each once, in order.
func (s Settings) Servers() []string {
	var out []string
	for _, p := range s.Pins {
		if !slices.Contains(out, p.Tool.Server) {
			out = append(out, p.Tool.Server)
		}
	}
	return out
}

// ToolsOf are a server's tools as they were seen last.
func (s Settings) ToolsOf(server string) []Tool {
	var out []Tool
	for _, p := range s.Pins {
		if p.Tool.Server == server {
			out = append(out, p.Tool)
		}
	}
	return out
}

// InstallToken names a server's tools as they were seen last: what the button of its installation card accepts.
func (s Settings) InstallToken(server string) string {
	return "i-" + string(ServerDigest(s.ToolsOf(server)))[:32]
}
