package mcp

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"

	"github.com/nodhq/nod/tests/standins/mcpserver"
)

func init() { bots["nag"] = nag }

// nag answers a call, and asks something when it is pinged. What it is told it writes to the file that its environment names.
func nag() {
	const late = `{"jsonrpc":"2.0","id":"late","method":"%s","params":{"message":"Still there?","requestedSchema":{"type":"object","properties":{}}}}` + "\n"
	s := &rawServer{tools: `{"tools":[{"name":"work","inputSchema":{"type":"object"}}]}`}
	told := ""
	for in := bufio.NewReader(os.Stdin); ; {
		line, err := in.ReadBytes('\n')
		if err != nil {
			os.Exit(0)
		}
		var r rawRequest
		_ = json.Unmarshal(line, &r)
		switch {
		case string(r.ID) == `"late"`:
			told += string(line)
			_ = os.WriteFile(os.Getenv("TOLD"), []byte(told), 0o600)
		case r.Method == "tools/call":
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{"content":[]}}`+"\n", r.ID)
		case r.Method == "ping":
			fmt.Printf(`{"jsonrpc":"2.0","id":%s,"result":{}}`+"\n", r.ID)
			for _, m := range []string{"elicitation/create", "sampling/createMessage", "roots/list", "ping"} {
				fmt.Printf(late, m)
			}
		default:
			if a := s.reply(r); a != "" {
				fmt.Println(a)
			}
		}
	}
}

// What is asked when no call runs is nobody's business; and what we never said we offer we do not.
func TestAServerThatAsksWithoutACallIsDeclined(t *testing.T) {
	cfg := rawStdio("nag")
	cfg.Env["TOLD"] = filepath.Join(t.TempDir(), "told")
	m := start(t, map[string]Server{"files": cfg})
	p := newPerson()
	receive(t, "outcome", runFor(t, m, p, "work", `{}`))
	if err := connOf(m).client.Ping(within(t)); err != nil { //nolint:staticcheck // of the older protocol, which this is about
		t.Fatal(err)
	}
	var told string
	waitFor(t, func() bool {
		b, _ := os.ReadFile(cfg.Env["TOLD"])
		told = string(b)
		return strings.Count(told, "\n") == 4
	})
	if !strings.Contains(told, `"result":{"action":"decline"}`) || !strings.Contains(told, `"result":{}`) || strings.Count(told, "-32601") != 2 || len(p.asked) > 0 {
		t.Errorf("%s after %d questions", told, len(p.asked))
	}
}

func TestAWithdrawnQuestionIsNoLongerAsked(t *testing.T) {
	everyGeneration(t, func(t *testing.T, m *Servers, _ *mcpserver.Ledger, _ *logged) {
		if !strings.Contains(t.Name(), "legacy") {
			return // there is no request to withdraw
		}
		p := newPerson()
		done := runFor(t, m, p, "elicit", branchForm)
		receive(t, "question", p.asked)
		c := connOf(m)
		c.mu.Lock()
		var id int
		for key := range c.withdraw {
			id, _ = strconv.Atoi(strings.TrimPrefix(key, "int64:"))
		}
		c.mu.Unlock()
		withdraw := func(id any) {
			c.notified(mcp.JSONRPCNotification{Notification: mcp.Notification{Method: "notifications/cancelled",
				Params: mcp.NotificationParams{AdditionalFields: map[string]any{"requestId": id}}}})
		}
		withdraw("another")
		withdraw(map[string]any{})
		withdraw(float64(id))
		if got := receive(t, "outcome", done); got.Text != "cancel null" {
			t.Errorf("%+v", got)
		}
	})
}

// A notice that an address was dealt with changes nothing: only the person says that they are done.
func TestACompletedElicitationIsNoAnswer(t *testing.T) {
	m := start(t, map[string]Server{"files": {InProcess: mcpserver.New("x", ledger(t)).InProcess}})
	p := newPerson()
	done := runFor(t, m, p, "elicit_url", `{"url":"https://example.com"}`)
	receive(t, "question", p.asked)
	connOf(m).notified(mcp.JSONRPCNotification{Notification: mcp.Notification{Method: "notifications/elicitation/complete",
		Params: mcp.NotificationParams{AdditionalFields: map[string]any{"elicitationId": "e1"}}}})
	p.answer <- accept("")
	if got := receive(t, "outcome", done); got.Text != "accept null" {
		t.Errorf("%+v", got)
	}
}

// roundTrip is an HTTP server that is a function.
type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// mcp-go gives a handler over streamable HTTP 30 seconds, and then posts its own error on the context that is over.
// An answer that the server did not take is on record.
func TestAPersonMayTakeAnHourOverHTTP(t *testing.T) {
	for _, status := range []int{http.StatusAccepted, http.StatusForbidden} {
		synctest.Test(t, func(t *testing.T) { anAnswerAfterAnHour(t, status) })
	}
}

func anAnswerAfterAnHour(t *testing.T, status int) {
	replies := make(chan string, 2)
	var failures []error
	stream, say := io.Pipe()
	hc := &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
		body, _ := io.ReadAll(r.Body)
		resp := &http.Response{StatusCode: status, Header: http.Header{}, Body: http.NoBody, Request: r}
		if strings.Contains(string(body), `"method"`) {
			resp.StatusCode, resp.Body = http.StatusOK, stream
			resp.Header.Set("Content-Type", "text/event-stream")
		} else {
			replies <- string(body) + " " + r.Header.Get("Mcp-Protocol-Version") + " " + fmt.Sprint(r.Context().Err())
		}
		return resp, nil
	})}
	streamable, err := transport.NewStreamableHTTP("http://files.example/mcp", transport.WithHTTPBasicClient(hc))
	if err != nil {
		t.Fatal(err)
	}
	slow := func(_ context.Context, req transport.JSONRPCRequest) *transport.JSONRPCResponse {
		time.Sleep(time.Hour)
		return transport.NewJSONRPCResultResponse(req.ID, json.RawMessage(`{"action":"accept"}`))
	}
	w := &httpWire{StreamableHTTP: streamable, wire: &wire{asked: slow}, client: hc, url: "http://files.example/mcp", life: t.Context(),
		failed: func(err error) { failures = append(failures, err) }}
	w.SetProtocolVersion("2025-11-25")
	w.SetRequestHandler(nil)
	if err := w.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() {
		_, err := w.SendRequest(t.Context(), transport.JSONRPCRequest{JSONRPC: "2.0", ID: mcp.NewRequestId(int64(1)), Method: "tools/call"})
		done <- err
	}()
	fmt.Fprint(say, "event: message\ndata: {\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"elicitation/create\"}\n\n")
	if got := <-replies; got != `{"jsonrpc":"2.0","id":7,"result":{"action":"accept"}} 2025-11-25 <nil>` {
		t.Errorf("the server got %s", got)
	}
	fmt.Fprint(say, "event: message\ndata: {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n\n")
	if err := <-done; err != nil {
		t.Error(err)
	}
	_ = say.Close()
	_ = w.Close()
	w.end()
	if (len(failures) > 0) != (status != http.StatusAccepted) {
		t.Errorf("after %d: %v", status, failures)
	}
}
