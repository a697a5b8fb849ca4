package discord

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/bwmarrin/discordgo"

	"github.com/nodhq/nod/adapters/discord/inbound"
	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/tests/standins/fakediscord"
	"github.com/nodhq/nod/tests/standins/stand"
	"github.com/nodhq/nod/tests/suites/conformance"
)

const mostOfFile = 1000

// fileScene is a scene whose adapter reaches every host there is.
func fileScene(t *testing.T) (*scene, *stand.Hosts) {
	hosts := stand.NewHosts()
	t.Cleanup(hosts.Close)
	s := newScene(t, fakediscord.Options{}, Config{})
	s.a.cdn = surface.HTTPClient(hosts.Client())
	t.Cleanup(s.a.cdn.CloseIdleConnections)
	return s, hosts
}

// attach has Ada send a file. It gives what the message says of it.
func (s *scene) attach(f fakediscord.Attachment) (message string, file chat.File, address string) {
	s.t.Helper()
	f.Name = "notes.md"
	message = s.Post(fakediscord.Post{User: s.ada, Channel: s.channel, Text: "look", Files: []fakediscord.Attachment{f}})
	var m inbound.Message
	if err := s.a.api.Call(s.t.Context(), http.MethodGet, discordgo.EndpointChannelMessage(s.channel, message), nil, &m); err != nil {
		s.t.Fatal(err)
	}
	files := m.Attached()
	if len(files) != 1 {
		s.t.Fatalf("%+v", m)
	}
	return message, files[0], string(m.Attachments[0].URL)
}

func (s *scene) fetch(f chat.File) (string, error) {
	s.t.Helper()
	data, err := s.a.Fetch(s.t.Context(), chat.ID{}, f, mostOfFile)
	if err != nil && (strings.Contains(err.Error(), s.Token()) || strings.Contains(err.Error(), "://")) {
		s.t.Errorf("the token or an address is in the error: %v", err)
	}
	return string(data), err
}

// TestFilesComeFromDiscordsCDNAlone: from its own hosts, by HTTPS, and without the bot's token, which is for the API.
func TestFilesComeFromDiscordsCDNAlone(t *testing.T) {
	s, hosts := fileScene(t)
	for at, asked := range map[string]string{
		"https://cdn.discordapp.com/attachments/1/2/notes.md":              "https cdn.discordapp.com/attachments/1/2/notes.md",
		"https://media.discordapp.net/attachments/1/2/notes.md":            "https media.discordapp.net/attachments/1/2/notes.md",
		"http://cdn.discordapp.com/attachments/1/2/notes.md":               "",
		"https://cdn.discordapp.com:8443/attachments/1/2/notes.md":         "",
		"https://ada@cdn.discordapp.com/attachments/1/2/notes.md":          "",
		"https://cdn.discordapp.com@evil.example/attachments/1/2/notes.md": "",
		"https://cdn.discordapp.com.evil.example/attachments/1/2/notes.md": "",
		"https://evil.cdn.discordapp.com/attachments/1/2/notes.md":         "",
		"https://discord.com/api/v10/users/@me":                            "",
		"https://evildiscordapp.com/attachments/1/2/notes.md":              "",
		"https://evil.example/cdn.discordapp.com/notes.md":                 "",
		"https://10.0.0.1/latest/meta-data":                                "",
		"http://127.0.0.1:1/attachments/1/2/notes.md":                      "",
		"file:///etc/passwd": "",
	} {
		hosts.Answer(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("# Plan")) })
		_, file, _ := s.attach(fakediscord.Attachment{URL: at})
		data, err := s.fetch(file)
		if asked == "" && (conformance.WhyUnread(err) != turn.UnreadElsewhere || data != "") || asked != "" && (err != nil || data != "# Plan") {
			t.Errorf("%s: %q, %v", at, data, err)
		}
		if got := hosts.Asked(); got != asked {
			t.Errorf("%s: asked %q, want %q", at, got, asked)
		}
	}
	for _, to := range []string{"https://evil.example/x", "https://media.discordapp.net/x", "/x"} {
		hosts.Answer(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/attachments/1/2/notes.md" {
				w.Header().Set("Location", to)
				w.WriteHeader(http.StatusFound)
			}
		})
		_, file, _ := s.attach(fakediscord.Attachment{URL: "https://cdn.discordapp.com/attachments/1/2/notes.md"})
		if data, err := s.fetch(file); conformance.WhyUnread(err) != turn.UnreadForbidden || data != "" {
			t.Errorf("to %s: %q, %v", to, data, err)
		}
		if got := hosts.Asked(); got != "https cdn.discordapp.com/attachments/1/2/notes.md" {
			t.Errorf("to %s: asked %s", to, got)
		}
	}
}

// TestAFilesAddressIsAskedForAnew: that of an event is good for a day; the message has one that is good now.
func TestAFilesAddressIsAskedForAnew(t *testing.T) {
	s, _ := fileScene(t)
	_, file, address := s.attach(fakediscord.Attachment{Data: []byte("# Plan")})
	s.clock.Advance(25 * time.Hour)
	resp, err := s.a.cdn.Get(address)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusNotFound {
		t.Fatalf("the address of yesterday still answers %d", resp.StatusCode)
	}
	if data, err := s.fetch(file); err != nil || data != "# Plan" {
		t.Errorf("%q, %v", data, err)
	}
}

// TestFilesThatAreNone: a file that was taken away, refused, or is bigger than Discord says is said as what it is.
func TestFilesThatAreNone(t *testing.T) {
	s, hosts := fileScene(t)
	status := func(code int) fakediscord.Attachment {
		return fakediscord.Attachment{Answer: func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) }}
	}
	inChunks := func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.Copy(w, strings.NewReader(strings.Repeat("x", 10*mostOfFile)))
	}
	for name, c := range map[string]struct {
		file fakediscord.Attachment
		why  turn.WhyUnread // empty: some other error
	}{
		"404": {status(404), turn.UnreadGone}, "403": {status(403), turn.UnreadForbidden}, "500": {status(500), ""},
		"big in chunks": {fakediscord.Attachment{Size: 3, Answer: inChunks}, turn.UnreadTooBig},
		"big":           {fakediscord.Attachment{Data: []byte(strings.Repeat("x", mostOfFile+1))}, turn.UnreadTooBig},
	} {
		_, file, _ := s.attach(c.file)
		if data, err := s.fetch(file); err == nil || conformance.WhyUnread(err) != c.why || data != "" {
			t.Errorf("%s: %.40q, %v; want %q", name, data, err, c.why)
		}
	}

	id, file, _ := s.attach(fakediscord.Attachment{Data: []byte("# Plan")})
	other, _, _ := s.attach(fakediscord.Attachment{Data: []byte("# Another plan")})
	swapped := file
	swapped.Handle = strings.Replace(file.Handle, "/"+id+"/", "/"+other+"/", 1)
	if data, err := s.fetch(swapped); conformance.WhyUnread(err) != turn.UnreadGone || data != "" {
		t.Errorf("a file of another message: %q, %v", data, err)
	}
	s.Forget()
	for _, handle := range []string{"", "1/2", "../../@me", "1?/2/3", file.Handle + "/1", "../../users/@me", "1/2/" + "https://evil.example/x", strings.Replace(file.Handle, "/", "?/", 1)} {
		if data, err := s.fetch(chat.File{Handle: handle}); conformance.WhyUnread(err) != turn.UnreadGone || data != "" {
			t.Errorf("%q: %q, %v", handle, data, err)
		}
	}
	if all := s.Calls(); len(all) > 0 {
		t.Errorf("what is no handle was asked for: %+v", all)
	}
	s.TakeFiles(s.channel, id)
	if data, err := s.fetch(file); conformance.WhyUnread(err) != turn.UnreadGone || data != "" {
		t.Errorf("its author took it off the message: %q, %v", data, err)
	}
	id, file, _ = s.attach(fakediscord.Attachment{Data: []byte("# Plan")})
	s.DeleteMessage(s.channel, id)
	if data, err := s.fetch(file); conformance.WhyUnread(err) != turn.UnreadGone || data != "" {
		t.Errorf("the message is deleted: %q, %v", data, err)
	}
	_, file, _ = s.attach(fakediscord.Attachment{Data: []byte("# Plan")})
	s.Fail("", 1, fakediscord.Fault{Status: http.StatusServiceUnavailable})
	if data, err := s.fetch(file); err == nil || conformance.WhyUnread(err) != "" || data != "" {
		t.Errorf("a disturbance: %q, %v", data, err)
	}
	s.Fail("", 1, fakediscord.Fault{Status: http.StatusForbidden, Code: 50001})
	if data, err := s.fetch(file); conformance.WhyUnread(err) != turn.UnreadForbidden || data != "" {
		t.Errorf("the bot may not see the message: %q, %v", data, err)
	}
	if got := hosts.Asked(); got != "" {
		t.Errorf("asked %s", got)
	}
}
