package fakeslack

import (
	"encoding/json"
	"fmt"
	"hash/fnv"
	"strings"
	"time"
)

// wire is a message as Slack gives it out: its blocks rewritten. s.mu is held.
func (s *Server) wire(m *Message, v Version) map[string]any {
	out := map[string]any{"type": "message", "user": m.User, "ts": m.TS, "text": escape(v.Text), "team": s.opt.Team}
	if m.Thread != "" {
		out["thread_ts"] = m.Thread
		if root := s.channels[m.Channel].byTS[m.Thread]; root != nil {
			out["parent_user_id"] = root.User
		}
	} else if m.Replies > 0 {
		out["thread_ts"], out["reply_count"] = m.TS, m.Replies
	}
	switch {
	case v.Blocks != nil:
		out["blocks"] = rewrite(m.TS, v)
	case m.BotID == "" && v.Text != "": // what a person writes is rich text
		out["blocks"] = []any{richText(m.TS+"0", v.Text)}
		out["client_msg_id"] = "client-" + m.TS
	}
	if m.beside.Blocks != nil {
		out["blocks"] = m.beside.Blocks
	}
	if m.beside.Files != nil {
		out["files"] = m.beside.Files
		if out["bot_id"] == nil {
			out["subtype"] = "file_share"
		}
	}
	if m.beside.Attachments != nil {
		out["attachments"] = m.beside.Attachments
	}
	if m.BotID != "" {
		out["bot_id"], out["app_id"] = m.BotID, s.opt.AppID
		out["bot_profile"] = map[string]any{"id": m.BotID, "app_id": s.opt.AppID, "name": s.opt.BotName, "deleted": false, "team_id": s.opt.Team, "updated": 1}
	} else if u := s.users[m.User]; u != nil && u.Bot {
		out["bot_id"], out["subtype"] = "B"+strings.TrimPrefix(m.User, "U"), "bot_message"
	}
	if m.Edited {
		out["edited"] = map[string]any{"user": m.User, "ts": timestamp(v.At)}
	}
	if len(m.Files) > 0 {
		var files []any
		for _, id := range m.Files {
			files = append(files, s.wireFile(s.files[id]))
		}
		out["files"] = files
	}
	return out
}

func timestamp(t time.Time) string { return fmt.Sprintf("%d.%06d", t.Unix(), t.Nanosecond()/1000) }

// escape turns the three characters that Slack escapes into entities, but for its own <…> tokens and entities that stand already.
func escape(text string) string {
	if !strings.ContainsAny(text, "&<>") {
		return text
	}
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		rest := text[i:]
		switch text[i] {
		case '&':
			if strings.HasPrefix(rest, "&amp;") || strings.HasPrefix(rest, "&lt;") || strings.HasPrefix(rest, "&gt;") {
				b.WriteByte('&')
			} else {
				b.WriteString("&amp;")
			}
		case '<':
			if end := strings.IndexAny(rest[1:], "<>\n"); end > 0 && rest[end+1] == '>' && strings.ContainsAny(rest[1:2], "@#!") || linkAhead(rest) {
				end := strings.IndexByte(rest, '>')
				b.WriteString(rest[:end+1])
				i += end
			} else {
				b.WriteString("&lt;")
			}
		case '>':
			b.WriteString("&gt;")
		default:
			b.WriteByte(text[i])
		}
	}
	return b.String()
}

func linkAhead(rest string) bool {
	return (strings.HasPrefix(rest, "<http://") || strings.HasPrefix(rest, "<https://") || strings.HasPrefix(rest, "<mailto:")) && strings.Contains(rest, ">")
}

func unescape(text string) string {
	return strings.NewReplacer("&lt;", "<", "&gt;", ">", "&amp;", "&").Replace(text)
}

// made is an ID that Slack makes up for what has none: the same one each time it is asked for.
func made(seed string) string {
	h := fnv.New64a()
	h.Write([]byte(seed))
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
	n, out := h.Sum64(), make([]byte, 5)
	n ^= n >> 33 // FNV hardly mixes what comes last into its low bits
	n *= 0xff51afd7ed558ccd
	n ^= n >> 33
	for i := range out {
		out[i] = letters[n&63]
		n >>= 6
	}
	return string(out)
}

// richText is the block that Slack makes of plain writing.
func richText(seed, text string) map[string]any {
	var elements []any
	for rest := text; rest != ""; {
		at := strings.Index(rest, "<@")
		end := strings.IndexByte(rest[max(at, 0):], '>') + max(at, 0)
		if at < 0 || end < at {
			elements = append(elements, map[string]any{"type": "text", "text": rest})
			break
		}
		if at > 0 {
			elements = append(elements, map[string]any{"type": "text", "text": rest[:at]})
		}
		id, _, _ := strings.Cut(rest[at+2:end], "|")
		elements = append(elements, map[string]any{"type": "user", "user_id": id})
		rest = rest[end+1:]
	}
	return map[string]any{"type": "rich_text", "block_id": made(seed), "elements": []any{map[string]any{"type": "rich_text_section", "elements": elements}}}
}

// rewrite gives blocks as Slack gives them back: with IDs for what had none, entities escaped, defaults filled in, and
// markdown turned into rich text. Who builds a new message from them loses something.
func rewrite(ts string, v Version) []any {
	var blocks []any
	if json.Unmarshal(v.Blocks, &blocks) != nil {
		return nil
	}
	seed := ts + timestamp(v.At)
	for i := range blocks {
		blocks[i] = rewriteBlock(fmt.Sprint(seed, "/", i), blocks[i])
	}
	return blocks
}

func rewriteBlock(seed string, v any) any {
	b, ok := v.(map[string]any)
	if !ok {
		return v
	}
	if b["type"] == "markdown" {
		text, _ := b["text"].(string)
		out := richText(seed, text)
		if id, ok := b["block_id"].(string); ok {
			out["block_id"] = id
		}
		return out
	}
	if id, _ := b["block_id"].(string); id == "" {
		b["block_id"] = made(seed)
	}
	if children, ok := b["child_blocks"].([]any); ok {
		for i := range children {
			children[i] = rewriteBlock(fmt.Sprint(seed, "/", i), children[i])
		}
	}
	fill(seed, b)
	return b
}

// fill walks through what stands in a block: texts get their defaults, elements their IDs.
func fill(seed string, v any) {
	switch x := v.(type) {
	case []any:
		for i, e := range x {
			fill(fmt.Sprint(seed, ".", i), e)
		}
	case map[string]any:
		kind, _ := x["type"].(string)
		text, isText := x["text"].(string)
		switch {
		case kind == "mrkdwn" && isText:
			x["text"] = escape(text)
			if _, ok := x["verbatim"]; !ok {
				x["verbatim"] = false
			}
			return
		case kind == "plain_text" && isText:
			x["text"] = escape(text)
			if _, ok := x["emoji"]; !ok {
				x["emoji"] = true
			}
			return
		case interactive[kind]:
			if id, _ := x["action_id"].(string); id == "" {
				x["action_id"] = made(seed)
			}
		case kind == "rich_text":
			return
		}
		for k, e := range x {
			if k != "child_blocks" {
				fill(seed+"."+k, e)
			}
		}
	}
}

// interactive are the elements that somebody can use.
var interactive = map[string]bool{
	"button": true, "overflow": true, "checkboxes": true, "radio_buttons": true, "static_select": true, "multi_static_select": true,
	"users_select": true, "multi_users_select": true, "conversations_select": true, "channels_select": true, "external_select": true,
	"datepicker": true, "timepicker": true, "datetimepicker": true, "plain_text_input": true, "rich_text_input": true, "email_text_input": true,
	"url_text_input": true, "number_input": true, "feedback_buttons": true, "icon_button": true, "workflow_button": true, "file_input": true,
}
