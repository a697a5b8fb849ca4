// Floor is the least that an approval turn costs: the calls that nod makes, with the clients that nod uses, and nothing else. No rights, no
// recovery, no second replica, no limits, one tool, what a chat said in memory only. P6 measures it beside nod, because what a turn takes of a
// processor depends on the machine, and how many times the least it takes hardly does.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"

	"github.com/mark3labs/mcp-go/client"
	"github.com/mark3labs/mcp-go/mcp"
	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/redis/go-redis/v9"
	"github.com/slack-go/slack"
	"github.com/slack-go/slack/slackevents"
)

// bot is all of it.
type bot struct {
	slack  *slack.Client
	secret string
	model  openai.Client
	named  string // the model
	box    *client.Client
	tools  []openai.ChatCompletionToolUnionParam
	store  *redis.Client

	mu    sync.Mutex
	chats map[string]*chat // by channel and thread
	asked map[string]*chat // by the call that waits
}

// chat is one thread. Who asks there waits for the answer before they ask again.
type chat struct {
	key, channel, thread string
	talk                 []openai.ChatCompletionMessageParamUnion
	call                 openai.ChatCompletionMessageToolCallUnion
}

func main() {
	if err := run(context.Background()); err != nil {
		log.Fatal("floor: ", err)
	}
}

func run(ctx context.Context) error {
	o, err := redis.ParseURL(os.Getenv("REDIS_URL"))
	if err != nil {
		return err
	}
	b := &bot{
		slack:  slack.New(os.Getenv("SLACK_BOT_TOKEN"), slack.OptionAPIURL(os.Getenv("SLACK_API_URL"))),
		secret: os.Getenv("SLACK_SIGNING_SECRET"),
		model:  openai.NewClient(option.WithBaseURL(os.Getenv("OPENAI_BASE_URL")), option.WithAPIKey(os.Getenv("OPENAI_API_KEY"))),
		named:  os.Getenv("OPENAI_MODEL"), store: redis.NewClient(o), chats: map[string]*chat{}, asked: map[string]*chat{},
	}
	if err := b.connect(ctx, os.Getenv("FLOOR_TOOLS")); err != nil {
		return err
	}
	http.HandleFunc("/readyz", func(http.ResponseWriter, *http.Request) {})
	http.HandleFunc("/slack/events", b.verified(b.event))
	http.HandleFunc("/slack/interactivity", b.verified(b.click))
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Printf("floor: nod listens on http://%s \n", listener.Addr())
	return http.Serve(listener, nil) //nolint:gosec // for the benchmark, on this machine
}

// connect has the tools of the server listed.
func (b *bot) connect(ctx context.Context, url string) (err error) {
	if b.box, err = client.NewStreamableHttpClient(url); err != nil {
		return err
	}
	if err := b.box.Start(ctx); err != nil {
		return err
	}
	if _, err := b.box.Initialize(ctx, mcp.InitializeRequest{Params: mcp.InitializeParams{ProtocolVersion: mcp.LATEST_PROTOCOL_VERSION, ClientInfo: mcp.Implementation{Name: "floor", Version: "1"}}}); err != nil {
		return err
	}
	listed, err := b.box.ListTools(ctx, mcp.ListToolsRequest{})
	if err != nil {
		return err
	}
	for _, t := range listed.Tools {
		var schema map[string]any
		raw, err := json.Marshal(t.InputSchema)
		if err := errors.Join(err, json.Unmarshal(raw, &schema)); err != nil {
			return err
		}
		b.tools = append(b.tools, openai.ChatCompletionFunctionTool(openai.FunctionDefinitionParam{Name: t.Name, Description: openai.String(t.Description), Parameters: schema}))
	}
	return nil
}

// verified passes on what Slack signed.
func (b *bot) verified(h func(http.ResponseWriter, *http.Request, []byte)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		v, err := slack.NewSecretsVerifier(r.Header, b.secret)
		if err == nil {
			_, _ = v.Write(body)
			err = v.Ensure()
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusUnauthorized)
			return
		}
		h(w, r, body)
	}
}

// event is a mention: durable before Slack is answered.
func (b *bot) event(w http.ResponseWriter, r *http.Request, body []byte) {
	e, err := slackevents.ParseEvent(body, slackevents.OptionNoVerifyToken())
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if e.Type == slackevents.URLVerification {
		var c slackevents.ChallengeResponse
		_ = json.Unmarshal(body, &c)
		_, _ = io.WriteString(w, c.Challenge)
		return
	}
	m, ok := e.InnerEvent.Data.(*slackevents.AppMentionEvent)
	if !ok {
		return
	}
	thread := m.ThreadTimeStamp
	if thread == "" {
		thread = m.TimeStamp
	}
	key := "floor:" + m.Channel + ":" + thread
	if err := b.record(r.Context(), key, "said", m); err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	b.mu.Lock()
	c := b.chats[key]
	if c == nil {
		c = &chat{key: key, channel: m.Channel, thread: thread}
		b.chats[key] = c
	}
	b.mu.Unlock()
	go b.turn(c, m.Text)
}

// record writes one entry of a chat's log: one round trip.
func (b *bot) record(ctx context.Context, key, what string, v any) error {
	entry, err := json.Marshal(map[string]any{what: v})
	if err != nil {
		return err
	}
	return b.store.RPush(ctx, key, entry).Err()
}

// turn asks the model, and posts the card for the call that it wants.
func (b *bot) turn(c *chat, text string) {
	ctx := context.Background()
	c.talk = append(c.talk, openai.UserMessage(text))
	reply, err := b.reply(ctx, c)
	if err != nil || len(reply.ToolCalls) == 0 {
		log.Print("floor: no call: ", err)
		return
	}
	c.call = reply.ToolCalls[0]
	b.mu.Lock()
	b.asked[c.call.ID] = c
	b.mu.Unlock()
	if err := b.record(ctx, c.key, "replied", reply.ToolCalls); err != nil {
		log.Print("floor: ", err)
		return
	}
	button := func(id, label string) slack.BlockElement {
		return slack.NewButtonBlockElement(id, c.call.ID, slack.NewTextBlockObject(slack.PlainTextType, label, false, false))
	}
	_, card, err := b.slack.PostMessageContext(ctx, c.channel, slack.MsgOptionTS(c.thread), slack.MsgOptionBlocks(
		slack.NewSectionBlock(slack.NewTextBlockObject(slack.MarkdownType, "Run *"+c.call.Function.Name+"*?\n```"+c.call.Function.Arguments+"```", false, false), nil, nil),
		slack.NewActionBlock("ask", button("chat", "Allow for this chat"), button("once", "Allow once"), button("deny", "Deny"))))
	if err != nil {
		log.Print("floor: ", err)
		return
	}
	if err := b.record(ctx, c.key, "shown", card); err != nil {
		log.Print("floor: ", err)
	}
}

// click is a decision: durable before Slack is answered, shown through the click's own address.
func (b *bot) click(w http.ResponseWriter, r *http.Request, body []byte) {
	r.Body = io.NopCloser(bytes.NewReader(body))
	var k slack.InteractionCallback
	if err := json.Unmarshal([]byte(r.FormValue("payload")), &k); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if len(k.ActionCallback.BlockActions) == 0 {
		return
	}
	call := k.ActionCallback.BlockActions[0].Value
	b.mu.Lock()
	c := b.asked[call]
	delete(b.asked, call)
	b.mu.Unlock()
	if c == nil {
		return
	}
	if err := b.record(r.Context(), c.key, "decided", k.User.ID); err != nil {
		http.Error(w, err.Error(), http.StatusServiceUnavailable)
		return
	}
	go b.goOn(c, k)
}

// goOn shows the decision, runs the tool, and edits the message to the model's answer.
func (b *bot) goOn(c *chat, k slack.InteractionCallback) {
	ctx := context.Background()
	err := slack.PostWebhookContext(ctx, k.ResponseURL, &slack.WebhookMessage{ReplaceOriginal: true, Text: "Running " + c.call.Function.Name})
	if err == nil {
		err = b.record(ctx, c.key, "started", c.call.ID)
	}
	var args map[string]any
	if err == nil {
		err = json.Unmarshal([]byte(c.call.Function.Arguments), &args)
	}
	var result *mcp.CallToolResult
	if err == nil {
		result, err = b.box.CallTool(ctx, mcp.CallToolRequest{Params: mcp.CallToolParams{Name: c.call.Function.Name, Arguments: args}})
	}
	if err != nil {
		log.Print("floor: ", err)
		return
	}
	var text strings.Builder
	for _, part := range result.Content {
		if t, ok := mcp.AsTextContent(part); ok {
			text.WriteString(t.Text)
		}
	}
	c.talk = append(c.talk, openai.ToolMessage(text.String(), c.call.ID))
	if err := b.record(ctx, c.key, "finished", text.String()); err != nil {
		log.Print("floor: ", err)
		return
	}
	reply, err := b.reply(ctx, c)
	if err == nil {
		err = b.record(ctx, c.key, "ended", reply.Content)
	}
	if err == nil {
		_, _, _, err = b.slack.UpdateMessageContext(ctx, c.channel, k.Message.Timestamp, slack.MsgOptionText(reply.Content, false), slack.MsgOptionBlocks(
			slack.NewSectionBlock(slack.NewTextBlockObject(slack.MarkdownType, reply.Content, false, false), nil, nil)))
	}
	if err != nil {
		log.Print("floor: ", err)
	}
}

// reply is what the model says to a chat, streamed.
func (b *bot) reply(ctx context.Context, c *chat) (openai.ChatCompletionMessage, error) {
	stream := b.model.Chat.Completions.NewStreaming(ctx, openai.ChatCompletionNewParams{Model: b.named, Messages: c.talk, Tools: b.tools})
	var all openai.ChatCompletionAccumulator
	for stream.Next() {
		all.AddChunk(stream.Current())
	}
	if err := stream.Err(); err != nil {
		return openai.ChatCompletionMessage{}, err
	}
	if len(all.Choices) == 0 {
		return openai.ChatCompletionMessage{}, errors.New("the model says nothing")
	}
	m := all.Choices[0].Message
	c.talk = append(c.talk, m.ToParam())
	return m, nil
}
