package web

import (
	"cmp"
	"encoding/json"
	"time"

	"github.com/nodhq/nod/core/agent/talk"
	"github.com/nodhq/nod/core/agent/turn"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/permission"
	"github.com/nodhq/nod/core/render"
	"github.com/nodhq/nod/core/text"
)

// callForm is a tool call as the API shows it, in whatever state.
type callForm struct {
	ToolCallID string          `json:"tool_call_id"`
	ServerName string          `json:"server_name"`
	ToolName   string          `json:"tool_name"`
	Arguments  json.RawMessage `json:"arguments"`                 // what is masked on cards is masked
	Shown      string          `json:"arguments_shown,omitempty"` // of a call that no card shows: as cards do, also what JSON readers round, or do not show
	Status     string          `json:"status"`
	Result     any             `json:"result"` // resultForm, requiredForm or null
	RequestID  string          `json:"request_id,omitempty"`
	Digest     string          `json:"digest,omitempty"`
	Decision   *decisionForm   `json:"decision,omitempty"`
	StartedAt  *time.Time      `json:"started_at,omitempty"`
	EndedAt    *time.Time      `json:"ended_at,omitempty"`
}

// resultForm is a call's one result.
type resultForm struct {
	Content    string          `json:"content"`
	Structured json.RawMessage `json:"structured,omitempty"`
	IsError    bool            `json:"isError"`
	Omitted    int             `json:"omitted_bytes,omitempty"`
	Pictures   []pictureForm   `json:"pictures,omitempty"` // those that are kept; GET …/files/{file} gives them
}

// requiredForm stands for the result of a call that waits: a callTool() answer that says "permission required", which is no error.
type requiredForm struct {
	ToolCallID         string          `json:"toolCallId"`
	Content            string          `json:"content"`
	IsError            bool            `json:"isError"`
	RequiresPermission bool            `json:"requiresPermission"`
	PermissionRequest  requestOfAccess `json:"permissionRequest"`
}

type requestOfAccess struct {
	ToolName       string `json:"toolName"`
	ServerName     string `json:"serverName"`
	PermissionType string `json:"permissionType"`
	Description    string `json:"description"`
}

type decisionForm struct {
	Choice string     `json:"choice"`
	By     string     `json:"by,omitempty"`
	Name   string     `json:"name,omitempty"`
	At     *time.Time `json:"at,omitempty"`
	Reason string     `json:"reason,omitempty"`
}

// permissionForm is a permission block.
type permissionForm struct {
	Type      string          `json:"type"` // tool_call_permission
	Content   string          `json:"content"`
	Status    string          `json:"status"`    // pending | granted | denied
	Timestamp int64           `json:"timestamp"` // of the ask, in milliseconds since 1970
	ToolCall  permittedCall   `json:"tool_call"`
	Extra     permissionExtra `json:"extra"`
	Reason    string          `json:"reason,omitempty"` // with denied: denied | expired | cancelled
	RequestID string          `json:"request_id"`
}

type permittedCall struct {
	ID                string `json:"id"`
	Name              string `json:"name"`
	Params            string `json:"params"` // the arguments' canonical JSON
	ServerName        string `json:"server_name"`
	ServerIcons       string `json:"server_icons"`
	ServerDescription string `json:"server_description"`
}

type permissionExtra struct {
	PermissionType     string   `json:"permissionType"`
	ServerName         string   `json:"serverName"`
	ToolName           string   `json:"toolName"`
	NeedsUserAction    bool     `json:"needsUserAction"`
	GrantedPermissions []string `json:"grantedPermissions,omitempty"` // what the decision gave: this call's access, or what a grant of the server covers
}

func drawCalls(t *turn.Turn) (calls []callForm, permissions []permissionForm) {
	for _, c := range t.Calls {
		calls = append(calls, drawCall(c))
		if c.Asked { // it was put to a person
			permissions = append(permissions, drawPermission(c))
		}
	}
	return calls, permissions
}

func drawCall(c turn.ToolCall) callForm {
	f := callForm{ToolCallID: string(c.ID), ServerName: c.Tool.Server, ToolName: c.Tool.Name, Arguments: arguments(c),
		Status: string(c.Status), RequestID: string(c.Ask), Digest: string(c.Digest),
		StartedAt: moment(c.StartedAt), EndedAt: moment(c.EndedAt)}
	if c.Status != turn.Awaiting {
		f.Shown = render.ArgsOf(c.Args, "").JSON
	}
	switch {
	case c.Result != nil:
		r := talk.Result(*c.Result)
		f.Result = resultForm{r.Text, r.Structured, r.IsError, r.Omitted, each(r.Pictures, func(p *turn.Picture) pictureForm { return pictureForm{p.Key, p.Type, p.Size} })}
	case c.Status == turn.Awaiting:
		f.Result = requiredForm{ToolCallID: string(c.ID), Content: describe(c), RequiresPermission: true,
			PermissionRequest: requestOfAccess{c.Tool.Name, c.Tool.Server, accessName(c.Ruling.Access), describe(c)}}
	}
	if c.Choice != "" {
		f.Decision = &decisionForm{string(c.Choice), userForm(c.By), c.Name, moment(c.DecidedAt), c.Reason}
	}
	return f
}

// drawPermission gives the permission block of a call that was put to a person.
func drawPermission(c turn.ToolCall) permissionForm {
	access := accessName(c.Ruling.Access)
	f := permissionForm{
		Type: "tool_call_permission", Content: describe(c), Timestamp: c.AskedAt.UnixMilli(), RequestID: string(c.Ask),
		ToolCall: permittedCall{string(c.ID), c.Tool.Name, string(arguments(c)), c.Tool.Server, c.Card.Icon, c.Card.Server},
		Extra:    permissionExtra{PermissionType: access, ServerName: c.Tool.Server, ToolName: c.Tool.Name},
	}
	switch c.Status {
	case turn.Proposed, turn.Awaiting:
		f.Status, f.Extra.NeedsUserAction = "pending", c.Status == turn.Awaiting
	case turn.Allowed, turn.Running, turn.Done, turn.Failed, turn.Unknown:
		f.Status, f.Extra.GrantedPermissions = "granted", granted(c.Choice, access)
	default: // denied, expired, cancelled, and whatever a later build adds
		f.Status, f.Reason = "denied", string(c.Status)
	}
	return f
}

// wide are the choices that give more than this call's access.
var wide = map[chat.Choice][]string{
	chat.AllowReads: {"read"}, chat.AllowWrites: {"read", "write"}, chat.AllowServer: {"read", "write", "all"},
}

// granted is what a choice gave, for a call of this access.
func granted(choice chat.Choice, access string) []string {
	if all, ok := wide[choice]; ok {
		return all
	}
	return []string{access}
}

// describe says what a call wants to do. It is never empty.
func describe(c turn.ToolCall) string {
	return cmp.Or(c.Ruling.Message, text.RunLine(c.Tool.Name, c.Tool.Server))
}

// arguments are a call's bytes, or an empty object where the model wrote none. Whoever may see what is masked asks for it, on record.
func arguments(c turn.ToolCall) json.RawMessage {
	if !json.Valid(c.Args) {
		return json.RawMessage("{}")
	}
	if masked := render.MaskedJSON(c.Args); masked != nil {
		return masked
	}
	return c.Args
}

// accessName: what nobody classified counts as write.
func accessName(a permission.Access) string {
	return cmp.Or(map[permission.Access]string{permission.Read: "read", permission.All: "all"}[a], "write")
}

func riskName(r permission.Risk) string {
	return cmp.Or(map[permission.Risk]string{permission.Safe: "safe", permission.Dangerous: "dangerous"}[r], "moderate")
}

// levelName is the level of an ask; what asks at all needs at least a confirmation.
func levelName(r permission.Ruling) string {
	if r.Level == permission.LevelAdmin || r.Approval == permission.RequireAuth {
		return "RequireAuth"
	}
	return "RequireConfirmation"
}
