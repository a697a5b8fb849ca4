package web

import (
	"encoding/json"
	"time"

	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
)

// approvalRequired is the event of that name: R127's fields, then ours. Deployments read these names.
type approvalRequired struct {
	Type       string          `json:"type"`
	ToolCallID string          `json:"tool_call_id"`
	ToolName   string          `json:"tool_name"`
	Message    string          `json:"message"`
	Permission string          `json:"permission"`
	Arguments  json.RawMessage `json:"arguments"`
	ServerName string          `json:"server_name"`
	RequestID  string          `json:"request_id"`
	Access     string          `json:"access"`
	Risk       string          `json:"risk"`
	ExpiresAt  *time.Time      `json:"expires_at"` // null: it never expires
	Scopes     []string        `json:"scopes"`     // what an approval of it may say, none for what cannot be allowed here
}

// permissionEnded is permission_granted, _denied, _expired and _cancelled.
type permissionEnded struct {
	Type       string     `json:"type"`
	ChatID     string     `json:"chat_id"`
	MessageID  string     `json:"message_id"`
	ToolCallID string     `json:"tool_call_id"`
	ToolName   string     `json:"tool_name"`
	ServerName string     `json:"server_name"`
	RequestID  string     `json:"request_id"`
	Scope      string     `json:"scope,omitempty"` // of a grant: once | chat | …, as [scopes] has them
	By         string     `json:"by,omitempty"`
	Name       string     `json:"name,omitempty"`
	Reason     string     `json:"reason,omitempty"`
	At         *time.Time `json:"at,omitempty"`
}

type turnDone struct {
	Type      string     `json:"type"`
	ChatID    string     `json:"chat_id"`
	MessageID string     `json:"message_id"`
	TurnID    string     `json:"turn_id"`
	Why       string     `json:"why"`
	Say       string     `json:"say,omitempty"`
	Usage     *usageForm `json:"usage,omitempty"`
}

type usageForm struct {
	Input  int `json:"input_tokens"`
	Output int `json:"output_tokens"`
	Cached int `json:"cached_tokens,omitempty"`
}

// eventsOf derives the named events from what an entry changed, not from the entry: an event that came too late
// changed nothing and is not told.
func eventsOf(id chat.ID, before, after turn.Session, e turn.Entry) (out []event) {
	was := map[turn.CallID]turn.ToolCall{}
	for _, c := range callsOf(before) {
		was[c.ID] = c
	}
	tell := func(name string, v any) {
		if b, err := json.Marshal(v); err == nil {
			out = append(out, event{e.Seq, name, b})
		}
	}
	for _, t := range after.Turns() {
		for _, c := range t.Calls {
			switch name := change(was[c.ID], c); name {
			case "":
			case "approval_required":
				tell(name, required(c))
			default:
				tell(name, ended(name, id, t, c, e.At))
			}
		}
	}
	if t := after.Last; t != nil && t.End != "" && (before.Last == nil || before.Last.ID != t.ID) {
		d := turnDone{Type: "turn_done", ChatID: id.Key, MessageID: string(t.ID), TurnID: string(t.ID), Why: string(t.End), Say: t.EndSay}
		if t.Usage != (turn.Usage{}) {
			d.Usage = &usageForm{t.Usage.Input, t.Usage.Output, t.Usage.Cached}
		}
		tell(d.Type, d)
	}
	return out
}

// change names what happened to an asked call, or "".
func change(was, is turn.ToolCall) string {
	if is.Status == turn.Awaiting {
		if was.Status != turn.Awaiting || was.Ask != is.Ask {
			return "approval_required"
		}
		return ""
	}
	if was.Status == is.Status || (was.Status != turn.Awaiting && was.Status != turn.Allowed) || !was.Asked {
		return ""
	}
	switch is.Status {
	case turn.Allowed:
		return "permission_granted"
	case turn.Denied:
		return "permission_denied"
	case turn.Lapsed:
		return "permission_expired"
	case turn.Cancelled:
		return "permission_cancelled"
	}
	return ""
}

func required(c turn.ToolCall) approvalRequired {
	return approvalRequired{Type: "approval_required", ToolCallID: string(c.ID), ToolName: c.Tool.Name, Message: describe(c),
		Permission: levelName(c.Ruling), Arguments: arguments(c), ServerName: c.Tool.Server, RequestID: string(c.Ask),
		Access: accessName(c.Ruling.Access), Risk: riskName(c.Ruling.Risk), ExpiresAt: moment(c.Deadline), Scopes: scopesOf(c)}
}

func ended(name string, id chat.ID, t *turn.Turn, c turn.ToolCall, at time.Time) permissionEnded {
	p := permissionEnded{Type: name, ChatID: id.Key, MessageID: string(t.ID), ToolCallID: string(c.ID), ToolName: c.Tool.Name,
		ServerName: c.Tool.Server, RequestID: string(c.Ask), At: moment(at)}
	switch name {
	case "permission_granted":
		p.Scope = scopeName(c.Choice)
		p.By, p.Name = userForm(c.By), c.Name
	case "permission_denied":
		p.By, p.Name, p.Reason = userForm(c.By), c.Name, c.Reason
	case "permission_cancelled":
		if t.Stopped != nil {
			p.By, p.Name = userForm(t.Stopped.User), t.Stopped.Name
		}
	}
	return p
}
