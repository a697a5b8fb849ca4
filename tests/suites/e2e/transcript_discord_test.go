package e2e

import (
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/nodhq/nod/tests/standins/fakediscord"
	"github.com/nodhq/nod/tests/standins/mcpserver"
)

// discordSurface is a guild; each chat is a thread in a channel of its own.
type discordSurface struct{ *guild }

func openDiscord(t testing.TB) surface {
	t.Helper()
	return discordSurface{openGuild(t, guildSettings{yaml: transcriptYAML, entry: "shared: true"})}
}

func (s discordSurface) model() *llm              { return s.llm }
func (s discordSurface) tools() *mcpserver.Ledger { return s.ledger }

func (discordSurface) room(all string) string { return all }

type discordChat struct {
	g *guild
	k *talk // nil: nothing was said yet

	last string // for whom it worked last
}

var inDiscord = map[string]string{"Ana": anaID, "Ben": benID, "Ada": adaID}

func (s discordSurface) chat(t testing.TB) conversation { return &discordChat{g: s.in(t)} }

func (c *discordChat) close() {}

func (c *discordChat) says(who, text string) {
	defer func() { c.last = who }()
	if c.k != nil {
		if who != c.last { // nod follows whom it worked for last; others call it
			text = c.g.me(text)
		}
		c.k.say(inDiscord[who], text)
		return
	}
	c.k = &talk{guild: c.g, t: c.g.t, in: c.g.channel()}
	c.k.room = c.g.Say(inDiscord[who], c.k.in, c.g.me(text))
}

func (c *discordChat) commands(who, text string) {
	c.k.slash(inDiscord[who], "permissions", map[string]any{"do": text})
}

// startsOver is a command here, which is confirmed in private.
func (c *discordChat) startsOver(who string) {
	c.k.slash(inDiscord[who], "reset", nil)
	c.k.told(inDiscord[who], confirmed[0])
}

// told leaves out where what was said belongs: in direct messages it stands beside.
func (c *discordChat) told(who string) (out []string) {
	if c.k == nil {
		return nil
	}
	for _, m := range c.k.private(inDiscord[who]) {
		say := plainly(strings.ReplaceAll(shown(m.Version), "-# ", ""))
		if at := strings.LastIndex(say, "("); at > 0 && strings.Contains(say[at:], c.k.room) { // a link to the chat
			say, _, _ = strings.Cut(say, " · [")
		}
		if !slices.ContainsFunc(confirmed, func(c string) bool { return strings.HasPrefix(say, c) }) {
			out = append(out, say)
		}
	}
	return out
}

func (c *discordChat) press(who string, on post, b button) {
	told := len(c.told(who))
	c.k.press(inDiscord[who], on.id, b.native.(fakediscord.Button))
	remembers := strings.HasPrefix(b.label, "Allow") && on.can("☑ Remember this choice")
	if confirms(on, b) || remembers || strings.HasPrefix(b.label, "Approve all (") {
		c.k.confirm(inDiscord[who], b.label, func() bool { return refused(c.told(who)[told:]) })
	}
}

func (c *discordChat) fillIn(who string, on post, b button, text string) {
	c.press(who, on, b)
	field := map[string]string{"Deny with a reason…": "reason", "Edit arguments…": "args"}[b.label]
	c.k.form(inDiscord[who], 1)
	c.k.submit(inDiscord[who], map[string]string{field: text})
	c.k.form(inDiscord[who], 0)
}

func (c *discordChat) posts() (out []post) {
	if c.k == nil {
		return nil
	}
	for _, m := range c.k.turns() {
		if len(m.Attachments) == 0 {
			out = joined(append(out, c.read(m)))
			continue
		}
		// The rest of a very long answer: the file has all of it, so what stands above has to be its beginning, once it stands there as it stays.
		whole, last := string(c.g.File(m.Channel, m.Attachments[0])), &out[len(out)-1]
		if above := strings.Join(last.said, " "); !strings.HasPrefix(plainly(whole), plainly(above)) || !strings.Contains(shown(m.Version), "All of it is in this file.") {
			last.said = append(last.said, "(the file "+m.Attachments[0].Name+" goes on from something else, under "+shown(m.Version)+")")
			continue
		}
		last.said = []string{plainly(whole)}
	}
	return out
}

// discordPart is a component, as far as it is read here.
type discordPart struct {
	Type       int           `json:"type"`
	Content    string        `json:"content"`
	Components []discordPart `json:"components"`
	Options    []struct{}    `json:"options"`
}

// Kinds of components. https://discord.com/developers/docs/components/reference
const (
	kindRow       = 1
	kindText      = 10
	kindSeparator = 14
	kindContainer = 17
)

// reading is a message on its way to what it says.
type reading struct {
	p       post
	buttons []fakediscord.Button // not yet read, in their order
	k       *card                // open: its buttons and the line below them are still to come
	asked   bool                 // its buttons have come
}

// read is a message of Discord's as what it says.
func (c *discordChat) read(m fakediscord.Message) post {
	raw, err := json.Marshal(m.Components)
	if err != nil {
		c.g.t.Fatal(err)
	}
	r := &reading{p: post{id: m.ID}, buttons: m.Buttons()}
	for _, top := range decode[[]discordPart](c.g.t, raw) {
		if top.Type != kindContainer {
			c.g.t.Errorf("a component of type %d outside the container", top.Type)
		}
		for _, part := range top.Components {
			switch part.Type {
			case kindRow:
				r.row(part)
			case kindText:
				r.text(part.Content)
			case kindSeparator:
				if r.asked {
					r.close()
				}
			default:
				c.g.t.Errorf("a component of type %d", part.Type)
			}
		}
	}
	r.close()
	return r.p
}

func (r *reading) close() {
	if r.k != nil {
		r.p.cards, r.k, r.asked = append(r.p.cards, *r.k), nil, false
	}
}

func (r *reading) row(part discordPart) {
	n := 0
	for _, b := range part.Components {
		n += max(1, len(b.Options))
	}
	for _, b := range r.buttons[:n] {
		if r.k != nil {
			r.k.buttons, r.asked = append(r.k.buttons, button{label(b), b}), true
		} else {
			r.p.buttons = append(r.p.buttons, button{label(b), b})
		}
	}
	r.buttons = r.buttons[n:]
}

// text reads lines of ours, small or in a card, or the model's own words, which stand in a text of their own.
func (r *reading) text(md string) {
	all := strings.Split(md, "\n")
	isCard := slices.ContainsFunc(all, runs.MatchString) && slices.ContainsFunc(all, asks.MatchString)
	if !isCard && slices.ContainsFunc(all, func(l string) bool { return !strings.HasPrefix(l, "-# ") }) {
		r.close()
		r.p.said = append(r.p.said, plainly(unescaped(md)))
		return
	}
	if isCard {
		r.close()
		r.k = &card{}
		r.card(all)
		return
	}
	for _, l := range all {
		l = unescaped(strings.TrimPrefix(l, "-# "))
		line := plainly(strings.ReplaceAll(l, "**", ""))
		switch {
		case r.k != nil && r.asked:
			r.k.foot(l, "**")
			r.close()
		case marked.MatchString(line):
			r.p.steps = append(r.p.steps, stepOf(line))
		default:
			r.p.notes = append(r.p.notes, line)
		}
	}
}

// A card names its call in a quiet line, and its question stands large, or bold where it is a row of a list.
var (
	runs = regexp.MustCompile(`^-# (?:.* · )?Run `)
	asks = regexp.MustCompile(`^### |^\*\*.*\*\*$`)
)

// card takes what stands above a card's buttons.
func (r *reading) card(all []string) {
	for i := 0; i < len(all); i++ {
		line := plainly(unescaped(strings.ReplaceAll(strings.TrimPrefix(all[i], "-# "), "**", "")))
		switch k := r.k; {
		case strings.HasPrefix(all[i], "```"):
			end := i + 1 + slices.IndexFunc(all[i+1:], func(l string) bool { return strings.HasPrefix(l, "```") })
			k.args = argsOf(all[i+1 : end])
			i = end
		case k.question == "" && strings.HasPrefix(all[i], "-# "):
			k.small(line)
		case k.question == "":
			k.question = strings.TrimPrefix(line, "### ")
		case strings.HasPrefix(line, "> "):
			k.said = strings.TrimPrefix(line, "> ")
		case k.run == "":
			k.run, k.facts, _ = strings.Cut(line, " · ")
		default:
			k.facts = line
		}
	}
}
