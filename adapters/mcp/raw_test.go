package mcp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"
)

// rawServer answers with the very bytes it is given: what no library would let a server say.
type rawServer struct {
	tools  string                                                  // the result of tools/list
	answer func(id json.RawMessage, params json.RawMessage) string // the whole message for tools/call
	status func(method string, w http.ResponseWriter) (done bool)  // answers HTTP itself
	wrap   func(w http.ResponseWriter, r rawRequest) (done bool)   // the same, and sees the request
	seen   func(method string, id json.RawMessage, p []byte)
}

type rawRequest struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
}

func (s *rawServer) reply(r rawRequest) string {
	if s.seen != nil {
		s.seen(r.Method, r.ID, r.Params)
	}
	ok := func(result string) string {
		return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":%s}`, r.ID, result)
	}
	switch {
	case len(r.ID) == 0:
		return ""
	case r.Method == "initialize":
		return ok(`{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"raw","version":"1"}}`)
	case r.Method == "tools/list":
		return ok(s.tools)
	case r.Method == "tools/call" && s.answer != nil:
		return s.answer(r.ID, r.Params)
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no such method"}}`, r.ID)
}

// ServeHTTP speaks streamable HTTP without sessions or streams.
func (s *rawServer) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	if req.Method != http.MethodPost {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	body, _ := io.ReadAll(req.Body)
	var r rawRequest
	if json.Unmarshal(body, &r) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	if s.status != nil && s.status(r.Method, w) || s.wrap != nil && s.wrap(w, r) {
		return
	}
	answer := s.reply(r)
	if answer == "" {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, answer)
}

// rawMain makes the test binary a stdio server that misbehaves, if the environment says how.
func rawMain() {
	how := os.Getenv("NOD_TEST_RAW")
	if how == "" {
		return
	}
	if bot := bots[how]; bot != nil {
		bot()
	}
	if how == "mute" { // ignores what it does not know, reads, never answers
		_, _ = io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}
	if how == "dies" {
		fmt.Fprintln(os.Stderr, "cannot read token "+os.Getenv("TOKEN"))
		os.Exit(7)
	}
	s := &rawServer{tools: `{"tools":[{"name":"work","inputSchema":{"type":"object"}}]}`}
	switch how {
	case "nolist":
		s.tools = `{"tools":{}}`
	case "marked":
		s.tools = `{"resultType":"complete","tools":[{"name":"odd","inputSchema":{"type":"object","properties":{"a":{"type":"array","x-mcp-header":"A"}}}}]}`
	}
	in := bufio.NewReader(os.Stdin)
	for n := 0; ; n++ {
		line, err := in.ReadBytes('\n')
		if err != nil {
			os.Exit(0)
		}
		var r rawRequest
		if json.Unmarshal(line, &r) != nil {
			continue
		}
		switch {
		case how == "marked" && r.Method == "server/discover":
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}}`+"\n", r.ID)
		case how == "restless" && r.Method == "tools/list":
			fmt.Println(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}` + "\n" + s.reply(r))
		case how == "old" && r.Method == "server/discover":
		case how == "strict" && r.Method != "initialize" && n == 0:
			os.Exit(1)
		case how == "once" && r.Method == "tools/list" && n > 3: // lists its tools only after the greeting: discover, initialize, initialized
		case r.Method == "tools/call" && how == "single": // does one thing at a time, and this takes until the tools are asked for twice
			for lists := 0; lists < 2; {
				if line, err = in.ReadBytes('\n'); err != nil {
					os.Exit(0)
				}
				lists += bytes.Count(line, []byte(`"tools/list"`))
			}
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"done"}]}}`+"\n", r.ID)
		case r.Method == "tools/call" && how == "deaf":
			// One call is read; from then on nothing is.
			<-time.After(time.Hour) // not select {}: without cgo the runtime calls that a deadlock
		case r.Method == "tools/call" && how == "huge":
			// The id stands behind the result, as the TypeScript SDK writes it.
			fmt.Printf(`{"result":{"content":[{"type":"text","text":"%s"}],"id":7},"jsonrpc":"2.0","id":%s}`+"\n", strings.Repeat("\\\"}", maxAnswer/3), r.ID)
		case r.Method == "tools/call" && how == "latin":
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"`+"caf\xe9"+`"}]}}`+"\n", r.ID)
		default:
			if a := s.reply(r); a != "" {
				fmt.Println(a)
			}
			if how == "brief" && r.Method == "tools/list" {
				os.Exit(0)
			}
		}
	}
}

// bots are other programs that the test binary can be.
var bots = map[string]func(){}

func rawStdio(how string) Server {
	return Server{Command: []string{os.Args[0]}, Env: map[string]string{"NOD_TEST_RAW": how}}
}
