package attacks

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/nodhq/nod/adapters/discord"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/tests/standins/fakediscord"
)

// strand is a chat on Discord: a thread.
type strand struct {
	w       *world
	t       testing.TB
	channel string
	thread  string // it has the ID of the message that it hangs on
	looks   looks
}

func openTalk(w *world, t testing.TB, text string) *strand {
	k := &strand{w: w, t: t, channel: w.discord.AddChannel(fakediscord.Channel{Name: "general"})}
	k.thread = w.discord.Say(inDiscord[ana], k.channel, "<@"+w.discord.BotUser()+"> "+text)
	return k
}

func (k *strand) surface() string { return "discord" }

func (k *strand) id() chat.ID {
	return chat.ID{Platform: discord.Platform, Workspace: k.w.discord.Guild(), Key: k.channel + "/" + k.thread}
}

func (k *strand) say(who person, text string) {
	if who == nobody || who == away || inDiscord[who] == "" {
		return
	}
	k.w.discord.Say(inDiscord[who], k.thread, "<@"+k.w.discord.BotUser()+"> "+text)
}

func (k *strand) shots() (out []shot) {
	for _, m := range k.w.discord.Mine(k.thread) {
		if m.Type != fakediscord.TypeThreadStarter && m.Type != fakediscord.TypeThreadCreated {
			out = append(out, k.looks.at(m.ID, fmt.Sprint(len(m.Versions), m.Content, string(marshal(m.Components))), func() shot { return k.shot(m) }))
		}
	}
	return out
}

func (k *strand) shot(m fakediscord.Message) shot {
	raw := marshal(m.Components)
	s := shot{ref: m.ID, raw: m.Content + "\n" + string(raw), text: m.Text()}
	for _, b := range m.Buttons() {
		s.buttons = append(s.buttons, button{label: b.Label, discord: b})
	}
	return s.counted(discordOutline(raw))
}

func (k *strand) press(t testing.TB, who person, on shot, b button) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if _, err := fakediscord.Insist(ctx, func() (*fakediscord.Delivery, error) {
		return k.w.discord.Press(inDiscord[who], k.thread, on.ref, b.discord)
	}); err != nil {
		t.Fatal(err)
	}
}

func (k *strand) fire(t testing.TB, who person, on shot, b button) {
	if _, err := k.w.discord.Press(inDiscord[who], k.thread, on.ref, b.discord); err != nil {
		t.Error(err)
	}
}

// taken waits until an interaction is answered.
func (k *strand) taken(t testing.TB) func(*fakediscord.Delivery, error) {
	return func(d *fakediscord.Delivery, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		if _, err := d.Wait(ctx); err != nil {
			t.Fatal(err)
		}
	}
}

func (k *strand) told(who person) (out []string) {
	for _, in := range []string{k.thread, k.channel} {
		for _, m := range k.w.discord.Seen(inDiscord[who], in) {
			out = append(out, undiscord.ReplaceAllString(m.Text(), "$1"))
		}
	}
	return out
}

func (k *strand) open(t testing.TB, who person, on shot, b button) (send func(field, text string)) {
	t.Helper()
	k.w.forms.Lock() // a person has one form open
	k.press(t, who, on, b)
	until(t, "the form is open", func() bool { return len(k.w.discord.Modals(inDiscord[who])) > 0 })
	return func(field, text string) {
		t.Helper()
		defer k.w.forms.Unlock()
		k.taken(t)(k.w.discord.Submit(inDiscord[who], map[string]string{field: text}))
		k.w.discord.Dismiss(inDiscord[who])
	}
}

func (k *strand) payloads() (out []string) {
	for _, in := range []string{k.thread, k.channel} {
		for _, m := range k.w.discord.Mine(in) {
			for _, v := range m.Versions {
				out = append(out, v.Content+"\n"+string(marshal(v.Components)))
			}
		}
		for p := range inDiscord {
			for _, m := range k.w.discord.Seen(inDiscord[p], in) {
				out = append(out, m.Content+"\n"+string(marshal(m.Components)))
			}
		}
	}
	return out
}

// wire is a click as Discord would post it.
func (k *strand) wire(t testing.TB, who person, on shot, b button) map[string]any {
	t.Helper()
	data := map[string]any{"custom_id": b.discord.ID, "component_type": 2}
	if b.discord.Option() {
		data["component_type"], data["values"] = 3, []string{b.discord.Value}
	}
	return map[string]any{
		"id": "6100000000000" + k.w.room(), "application_id": k.w.discord.AppID(), "type": 3, "token": "tok-" + k.w.room(), "version": 1,
		"guild_id": k.w.discord.Guild(), "channel_id": k.thread, "channel": map[string]any{"id": k.thread, "type": 11, "parent_id": k.channel, "guild_id": k.w.discord.Guild()},
		"member":  map[string]any{"user": map[string]any{"id": inDiscord[who], "username": strings.ToLower(string(who)), "global_name": string(who)}, "roles": []string{}, "permissions": "0"},
		"message": map[string]any{"id": on.ref, "channel_id": k.thread, "author": map[string]any{"id": k.w.discord.BotUser(), "bot": true}},
		"data":    data,
	}
}

// postDiscord posts an interaction with a forgery, and returns the status.
func (w *world) postDiscord(t testing.TB, payload any, f fakediscord.Forgery) int {
	t.Helper()
	body, ok := payload.([]byte)
	if !ok {
		body = marshal(payload)
	}
	status, _, err := w.discord.ForgeAt(w.url+discord.PathInteractions, body, f)
	if err != nil {
		t.Fatal(err)
	}
	return status
}

var undiscord = regexp.MustCompile(`\\([!-/:-@\[-` + "`" + `{-~])`)

// discordOutline is the structure of the newest card, or of the whole message where there is none: every component with its kind, what
// a button says, and what Discord would read as markup.
func discordOutline(components json.RawMessage) string {
	var out []string
	from := 0
	walk(components, func(o map[string]any) {
		kind, _ := o["type"].(float64)
		switch kind {
		case 10:
			text, _ := o["content"].(string)
			out = append(out, "text "+discordMarkup(text))
		case 14:
			from = len(out)
			out = append(out, "separator")
		case 2:
			out = append(out, fmt.Sprint("button ", o["label"], o["style"]))
		default:
			out = append(out, fmt.Sprint(kind))
		}
	})
	return strings.Join(out[from:], "\n")
}

var (
	discordFence  = regexp.MustCompile("(?s)```.*?```")
	discordTokens = regexp.MustCompile("(?m)^#{1,3} |^-# |^>>>? |^ *[-*+] |^ *[0-9]+\\. |\\*\\*|\\*|__|_|~~|\\|\\||`|\\]\\(|<[@#:/a-zA-Z]|https?://")
)

func discordMarkup(text string) string {
	rest := undiscord.ReplaceAllString(discordFence.ReplaceAllString(text, "F"), "")
	return fmt.Sprint("fences=", len(discordFence.FindAllString(text, -1)), " tokens=", discordTokens.FindAllString(rest, -1))
}

// seen is what one person alone is shown in the chat, without what tells them to click again.
func (k *strand) seen(who person) []fakediscord.Message {
	return slices.DeleteFunc(k.w.discord.Seen(inDiscord[who], k.thread), func(m fakediscord.Message) bool { return again(m.Text()) })
}
