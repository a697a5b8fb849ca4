package discord_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/nodhq/nod/adapters/discord"
	"github.com/nodhq/nod/core/chat"
	"github.com/nodhq/nod/core/render"
	"github.com/nodhq/nod/core/text"
	"github.com/nodhq/nod/tests/standins/fakediscord"
	"github.com/nodhq/nod/tests/standins/fakediscord/markup"
	"github.com/nodhq/nod/tests/suites/conformance"
)

// Messages as Discord's clients would draw them, and what people do with them.

func (w *guild) messages(in chat.ID) (out []conformance.Shown) {
	for _, m := range w.written(w.spot(in)) {
		out = append(out, w.shown(m))
	}
	return out
}

// written are the bot's messages in a channel, without what Discord says there in its name: that a thread begins.
func (w *guild) written(room string) []fakediscord.Message {
	return slices.DeleteFunc(w.Mine(room), func(m fakediscord.Message) bool {
		return m.Type == fakediscord.TypeThreadStarter || m.Type == fakediscord.TypeThreadCreated
	})
}

func (w *guild) look(in chat.ID, ref chat.MessageRef) (conformance.Shown, bool) {
	room := w.spot(in)
	m, ok := w.Message(room, string(ref))
	if !ok || m.Deleted || m.Channel != room || m.Author != w.BotUser() || m.Ephemeral != "" {
		return conformance.Shown{}, false
	}
	return w.shown(m), true
}

// seen: what only one person sees stands where they clicked, and in their direct messages where they did not.
func (w *guild) seen(by conformance.Who, in chat.ID) (out []conformance.Shown) {
	all := w.Seen(w.people[by], w.spot(in))
	if dm := w.OpenDM(w.people[by]); dm != w.spot(in) {
		all = append(all, w.written(dm)...)
	}
	slices.SortStableFunc(all, func(a, b fakediscord.Message) int { return strings.Compare(a.ID, b.ID) }) // all of one length
	for _, m := range all {
		out = append(out, w.shown(m))
	}
	return out
}

func (w *guild) shown(m fakediscord.Message) conformance.Shown {
	s := conformance.Shown{Ref: chat.MessageRef(m.ID), Previews: m.Flags&fakediscord.FlagSuppressEmbeds == 0}
	s.Mentions = append(s.Mentions, m.Mentions...)
	for _, r := range m.MentionRoles {
		s.Mentions = append(s.Mentions, chat.GroupPrefix+r)
	}
	if m.Everyone {
		s.Mentions = append(s.Mentions, "everyone")
	}
	notified := slices.Clone(s.Mentions)
	var text strings.Builder
	w.read(&s, &text, m.Content)
	w.walk(&s, &text, m.Components)
	for _, a := range m.Attachments { // whoever can see it can open it
		text.WriteString(a.Name + "\n" + string(w.File(m.Channel, a)) + "\n")
	}
	if len(m.Embeds) > 0 {
		s.Images = append(s.Images, "an embed")
	}
	s.Text = text.String()
	slices.Sort(s.Mentions)
	s.Mentions = slices.Compact(s.Mentions)
	s.Silent = slices.DeleteFunc(slices.Clone(s.Mentions), func(who string) bool { return slices.Contains(notified, who) })
	for _, b := range m.Buttons() {
		if b.URL != "" {
			s.Links = append(s.Links, conformance.Link{Label: b.Label, URL: b.URL})
			continue
		}
		s.Buttons = append(s.Buttons, w.button(b))
	}
	return s
}

// button remembers a button by its key, and says what the adapter reads in it.
func (w *guild) button(b fakediscord.Button) conformance.Button {
	var values []string
	if b.Option() {
		values = []string{b.Value}
	}
	choice, token, ok := discord.ReadButton(b.ID, values)
	if !ok {
		choice = "unknown"
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if !slices.ContainsFunc(w.buttons, func(x fakediscord.Button) bool { return keyOf(x) == keyOf(b) }) {
		w.buttons = append(w.buttons, b)
	}
	return conformance.Button{Label: b.Label, Choice: choice, Token: token, Key: keyOf(b)}
}

// read reads Discord's markup.
func (w *guild) read(s *conformance.Shown, text *strings.Builder, md string) {
	if md == "" {
		return
	}
	w.mu.Lock()
	r, ok := w.texts[md] // the same stands in many messages, and many look at them
	if !ok {
		r = markup.ReadText(md)
		w.texts[md] = r
	}
	w.mu.Unlock()
	text.WriteString(r.Words + "\n")
	s.Mentions = append(s.Mentions, r.Mentions...)
	for _, l := range r.Links {
		s.Links = append(s.Links, conformance.Link{Label: l[0], URL: l[1]})
	}
}

// walk reads components. https://docs.discord.com/developers/components/reference
func (w *guild) walk(s *conformance.Shown, text *strings.Builder, v any) {
	switch x := v.(type) {
	case []any:
		for _, e := range x {
			w.walk(s, text, e)
		}
	case map[string]any:
		md, _ := x["content"].(string)
		w.read(s, text, md)
		for _, k := range []string{"media", "url"} { // of pictures, and of whatever else has an address
			switch u := x[k].(type) {
			case map[string]any:
				address, _ := u["url"].(string)
				s.Images = append(s.Images, address)
			case string:
				if _, link := x["label"]; !link {
					s.Images = append(s.Images, u)
				}
			}
		}
		if f, ok := x["file"].(map[string]any); ok {
			if u, _ := f["url"].(string); !strings.HasPrefix(u, w.URL()) { // not one that went along
				s.Images = append(s.Images, u)
			}
		}
		for _, k := range []string{"components", "accessory", "items"} {
			w.walk(s, text, x[k])
		}
	}
}

func (w *guild) press(by conformance.Who, in chat.ID, ref chat.MessageRef, b conformance.Button) *conformance.Delivered {
	return w.clicked(w.Press(w.people[by], w.spot(in), string(ref), w.nth(b.Key)))
}

// clicked follows an interaction: its callback is the acknowledgement.
func (w *guild) clicked(d *fakediscord.Delivery, err error) *conformance.Delivered {
	if err != nil {
		w.t.Fatal(err)
	}
	return &conformance.Delivered{
		Acked: func() bool { _, ok := d.Answered(); return ok },
		Taken: func(ctx context.Context) error { _, err := d.Wait(ctx); return err },
		Again: func() { w.clickAgain(d) },
	}
}

// clickAgain: a signed request is answered when it is done; after an event, what the same person does next to the message is done after it.
func (w *guild) clickAgain(d *fakediscord.Delivery) {
	if w.handler != nil {
		if status, _, err := w.Forge(d, fakediscord.Forgery{}); err != nil || status/100 != 2 {
			w.t.Errorf("again: %d, %v", status, err)
		}
		return
	}
	w.Redeliver(d)
	var p struct{ Message struct{ ID string } }
	err := json.Unmarshal(d.Payload, &p)
	after, no := w.Press(d.User, d.Channel, p.Message.ID, fakediscord.Button{ID: "passing by"})
	if err = errors.Join(err, no); err == nil {
		_, err = after.Wait(w.ctx)
	}
	if err != nil {
		w.t.Errorf("again: %v", err)
	}
}

// submit fills in the one input of the form that a press opens.
func (w *guild) submit(by conformance.Who, in chat.ID, ref chat.MessageRef, b conformance.Button, words string) *conformance.Delivered {
	user := w.people[by]
	if a, err := w.Press(user, w.spot(in), string(ref), w.nth(b.Key)); err != nil {
		w.t.Fatal(err)
	} else if _, err := a.Wait(w.ctx); err != nil {
		w.t.Fatal(err)
	}
	open := w.Modals(user)
	if len(open) == 0 {
		w.t.Fatalf("%s opens no form", b.Label)
	}
	values := map[string]string{}
	for _, in := range open[len(open)-1].Inputs {
		values[in.ID] = words
	}
	return w.clicked(w.Submit(user, values))
}

// details presses, and reads what only this person sees then, with the files.
func (w *guild) details(ctx context.Context, by conformance.Who, in chat.ID, ref chat.MessageRef, b conformance.Button) (conformance.Shown, error) {
	room, user := w.spot(in), w.people[by]
	before := len(w.Seen(user, room))
	d, err := w.Press(user, room, string(ref), w.nth(b.Key))
	var given fakediscord.Answer
	if err == nil {
		given, err = d.Wait(ctx)
	}
	if err == nil && given.Type != fakediscord.CallbackMessage { // else it is there by now
		err = w.until(ctx, func() bool { return len(w.Seen(user, room)) > before })
	}
	if err == nil && len(w.Seen(user, room)) == before {
		err = errors.New("nothing is shown to this person alone")
	}
	if err != nil {
		return conformance.Shown{}, err
	}
	all := w.Seen(user, room)
	return w.shown(all[len(all)-1]), nil
}

// wire is a message as Discord gives it, with what the gateway adds.
func (w *guild) wire(room, id string) map[string]any {
	data := w.get("/channels/" + room + "/messages/" + id)
	author, _ := data["author"].(map[string]any)
	if c, _ := w.Channel(room); c.Guild != "" {
		user, _ := author["id"].(string)
		data["member"] = w.get("/guilds/" + c.Guild + "/members/" + user)
	}
	return data
}

// get asks the stand-in, as the adapter does not.
func (w *guild) get(path string) (out map[string]any) {
	r, err := http.NewRequestWithContext(w.ctx, http.MethodGet, w.URL()+"/api/v10"+path, nil)
	if err != nil {
		w.t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bot "+conformToken)
	res, err := w.client.Do(r)
	if err != nil {
		w.t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	if err := json.NewDecoder(res.Body).Decode(&out); err != nil || res.StatusCode != http.StatusOK {
		w.t.Fatalf("%s: %d, %v", path, res.StatusCode, err)
	}
	return out
}

// pressable is the adapter's own Allow once button.
func (w *guild) pressable(token string) fakediscord.Button {
	choice := func(c chat.Choice, label string) render.Choice {
		return render.Choice{Choice: c, Token: token, Label: label}
	}
	raw, err := discord.DrawCard(render.Ask{
		Call: "call", Token: token, Kind: render.AskPermission, Header: "Allow?", Run: "Run it", Choices: []render.Choice{choice(chat.AllowOnce, text.LabelAllowOnce), choice(chat.Deny, text.LabelDeny)},
	})
	if err != nil {
		w.t.Fatal(err)
	}
	var drawn []any
	err = json.Unmarshal(raw, &drawn)
	for _, b := range (fakediscord.Version{Components: drawn}).Buttons() {
		if c, _, ok := discord.ReadButton(b.ID, nil); ok && c == chat.AllowOnce {
			return b
		}
	}
	w.t.Fatalf("no button for %s in %s: %v", chat.AllowOnce, raw, err)
	return fakediscord.Button{}
}

// nth is the button behind a key.
func (w *guild) nth(key string) fakediscord.Button {
	w.mu.Lock()
	defer w.mu.Unlock()
	i := slices.IndexFunc(w.buttons, func(b fakediscord.Button) bool { return keyOf(b) == key })
	if i < 0 {
		w.t.Fatalf("no button %q", key)
	}
	return w.buttons[i]
}

func keyOf(b fakediscord.Button) string { return b.ID + " " + b.Value }
