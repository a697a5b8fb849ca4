package e2e

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/nodhq/nod/core/text"
	"github.com/nodhq/nod/tests/standins/fakeslack"
	"github.com/nodhq/nod/tests/standins/mcpserver"
)

// slackSurface is an office; each chat is a thread in a channel of its own.
type slackSurface struct{ *office }

func openSlack(t testing.TB) surface {
	t.Helper()
	return slackSurface{openOffice(t, officeSettings{yaml: transcriptYAML, entry: "shared: true"})}
}

func (slackSurface) room(all string) string     { return all }
func (s slackSurface) model() *llm              { return s.llm }
func (s slackSurface) tools() *mcpserver.Ledger { return s.ledger }

type slackChat struct {
	o  *office
	th *thread // nil: nothing was said yet

	last    string              // for whom it worked last
	details map[string][]button // what stands in the details of a row, by the button that opens them
	said    map[string][]string // to whom, in the details that they clicked in
}

// inDetails is what is pressed in the details that another button opens.
type inDetails struct {
	by    fakeslack.Button
	label string
}

// withDetails puts in the place of a row's "Details…" what stands there: on a list each row has only that behind its answers.
func (c *slackChat) withDetails(ts string, buttons []button) (out []button) {
	for _, b := range buttons {
		n := b.native.(fakeslack.Button)
		if b.label != text.LabelDetails {
			out = append(out, b)
			continue
		}
		if _, known := c.details[n.Value]; !known {
			v := c.open("Ana", ts, n)
			c.details[n.Value] = []button{}
			for _, x := range c.th.ViewButtons(v.ID) {
				if !slices.ContainsFunc(buttons, func(b button) bool { return b.label == labelOf(x) }) {
					c.details[n.Value] = append(c.details[n.Value], button{labelOf(x), inDetails{n, x.Text}})
				}
			}
			c.th.CloseView(v.User, v.ID)
		}
		out = append(out, c.details[n.Value]...)
	}
	return out
}

func (c *slackChat) open(who, ts string, by fakeslack.Button) fakeslack.View {
	c.th.press(inSlack[who], ts, by)
	return c.th.view(inSlack[who], 1)
}

var inSlack = map[string]string{"Ana": ana, "Ben": ben, "Ada": admin}

func (s slackSurface) chat(t testing.TB) conversation {
	return &slackChat{o: s.in(t), details: map[string][]button{}, said: map[string][]string{}}
}

func (c *slackChat) close() {}

func (c *slackChat) says(who, text string) {
	defer func() { c.last = who }()
	if c.th != nil {
		if who != c.last { // nod follows whom it worked for last; others call it
			text = c.o.me(text)
		}
		c.th.say(inSlack[who], text)
		return
	}
	c.th = &thread{office: c.o, t: c.o.t, channel: c.o.channel()}
	c.th.root = c.o.Say(inSlack[who], c.th.channel, "", c.o.me(text))
}

func (c *slackChat) commands(who, text string) { c.th.say(inSlack[who], c.o.me("permissions "+text)) }

// confirmed is said in private when something was done that no message shows. On the web the answer to the request says it.
var confirmed = []string{"This chat starts over", "Approve everything that is asked for now", "Revoked: from now on it asks again.", "Recorded."}

func (c *slackChat) startsOver(who string) {
	c.th.say(inSlack[who], c.o.me("reset"))
	c.th.told(inSlack[who], confirmed[0])
}

func (c *slackChat) told(who string) (out []string) {
	if c.th == nil {
		return nil
	}
	for _, e := range c.th.Ephemerals(inSlack[who]) {
		say := plainly(seen(e.Version))
		if e.Channel == c.th.channel && !slices.ContainsFunc(confirmed, func(c string) bool { return strings.HasPrefix(say, c) }) {
			out = append(out, say)
		}
	}
	return append(out, c.said[who]...)
}

// press presses, and confirms where that is asked for: in Slack's own dialog, or for a line of a menu in a private message.
func (c *slackChat) press(who string, on post, b button) {
	if d, in := b.native.(inDetails); in { // which confirm in Slack's own dialog
		v := c.open(who, on.id, d.by)
		click, err := c.th.ClickInView(inSlack[who], v.ID, d.label)
		if err != nil {
			c.o.t.Fatal(err)
		}
		c.th.acked(c.o.t, click)
		before := v.Hash
		c.th.until("what came of it stands in the details", func() bool {
			v = c.th.view(inSlack[who], 1)
			return v.Hash != before
		})
		say := plainly(says(decode[[]slackBlock](c.o.t, v.Blocks)[0].Text))
		if !slices.ContainsFunc(confirmed, func(c string) bool { return strings.HasPrefix(say, c) }) {
			c.said[who] = append(c.said[who], say)
		}
		c.th.CloseView(v.User, v.ID)
		return
	}
	told := len(c.told(who))
	c.th.press(inSlack[who], on.id, b.native.(fakeslack.Button))
	if n := b.native.(fakeslack.Button); n.Type != "button" && confirms(on, b) {
		c.th.confirm(inSlack[who], strings.TrimSuffix(b.label, "…"), func() bool { return refused(c.told(who)[told:]) })
	}
}

// refused reports whether somebody is told that they cannot do what they pressed: they are not asked whether they mean it.
func refused(told []string) bool {
	return slices.ContainsFunc(told, func(s string) bool { return strings.HasPrefix(s, "Only ") })
}

// confirms reports whether a person is asked once more. What allows more than one call of a dangerous tool, or of one that nobody
// classified, is among it.
func confirms(on post, b button) bool {
	k := on.cardOf(b)
	return b.label == "Only with these values…" || strings.HasSuffix(b.label, "Approve all for this session…") || strings.HasSuffix(b.label, "Allow all from box") ||
		b.label == "Allow for this chat" && (strings.Contains(k.facts, "dangerous") || strings.Contains(k.facts, "not classified yet"))
}

func (c *slackChat) fillIn(who string, on post, b button, text string) {
	c.press(who, on, b)
	field := map[string]string{"Deny with a reason…": "reason", "Edit arguments…": "args"}[b.label]
	c.th.submit(inSlack[who], c.th.view(inSlack[who], 1), map[string]string{field: text})
	c.th.view(inSlack[who], 0)
}

func (c *slackChat) posts() (out []post) {
	if c.th == nil {
		return nil
	}
	for _, m := range c.th.turns() {
		buttons := c.th.Buttons(m.Channel, m.TS)
		for now := c.th.now(m.TS); len(now.Versions) != len(m.Versions); now = c.th.now(m.TS) { // it changed between the two
			m, buttons = now, c.th.Buttons(m.Channel, m.TS)
		}
		out = append(out, c.read(m, buttons))
	}
	return joined(out)
}

// slackBlock is a block, as far as it is read here.
type slackBlock struct {
	Type     string          `json:"type"`
	Text     json.RawMessage `json:"text"`
	Elements json.RawMessage `json:"elements"`
	Children []slackBlock    `json:"child_blocks"`
	Tasks    []struct {
		Title  json.RawMessage `json:"title"`
		Output json.RawMessage `json:"output"`
	} `json:"tasks"`
}

// says is what a part of a block shows, line by line.
func says(raw json.RawMessage) string {
	return drawn.Replace(dated.ReplaceAllString(strings.Join(lines(raw), "\n"), "$1"))
}

// read is a message in Slack, with what can be pressed on it in its order, as what it says. A card begins with the line above its question and
// ends with the one below its buttons.
func (c *slackChat) read(m fakeslack.Message, buttons []fakeslack.Button) post {
	p := post{id: m.TS}
	var blocks []slackBlock
	if len(m.Blocks) > 0 {
		blocks = decode[[]slackBlock](c.o.t, m.Blocks)
	}
	take := func(raw json.RawMessage) (out []button) {
		n := 0
		for _, e := range decode[[]struct {
			Options []json.RawMessage `json:"options"`
		}](c.o.t, raw) {
			n += max(1, len(e.Options))
		}
		for _, b := range buttons[:n] {
			out = append(out, button{labelOf(b), b})
		}
		buttons = buttons[n:]
		return out
	}
	var k *card
	finish := func() {
		if k != nil {
			p.cards, k = append(p.cards, *k), nil
		}
	}
	begin := func() {
		if k == nil || k.question != "" {
			finish()
			k = &card{}
		}
	}
	for i, b := range blocks {
		next := ""
		if i+1 < len(blocks) {
			next = blocks[i+1].Type
		}
		switch {
		case b.Type == "header":
			begin()
			k.question = plainly(says(b.Text))
		case b.Type == "context" && (next == "header" || next == "rich_text" && strings.HasPrefix(says(b.Elements), "⚠️ ")):
			begin()
			k.small(says(b.Elements))
		case b.Type == "rich_text" && (k == nil || k.buttons != nil || k.question == ""):
			begin()
			c.readRow(k, b)
		case b.Type == "plan":
			for _, task := range b.Tasks {
				title := plainly(says(task.Title))
				p.steps = append(p.steps, stepLine(title[:strings.LastIndex(title, " · ")], strings.ReplaceAll(says(task.Output), "\n", ""))) // without the word for screen readers
			}
		case b.Type == "actions" && k != nil && k.buttons == nil:
			k.buttons = c.withDetails(m.TS, take(b.Elements))
		case b.Type == "context" && k != nil && k.buttons != nil:
			k.foot(says(b.Elements), "*")
			finish()
		case k != nil && k.buttons == nil:
			c.readInCard(k, b)
		default:
			finish()
			switch b.Type {
			case "markdown":
				p.said = append(p.said, plainly(says(b.Text)))
			case "context":
				p.notes = append(p.notes, plainly(says(b.Elements)))
			case "actions":
				p.buttons = append(p.buttons, take(b.Elements)...)
			case "divider", "context_actions": // that an answer can be rated: only here is there a place for it
			default:
				c.o.t.Errorf("a block of type %s", b.Type)
			}
		}
	}
	finish()
	return p
}

// readRow takes a row of a list: the question in bold, then which call it is and its facts, and below them its arguments.
func (c *slackChat) readRow(k *card, b slackBlock) {
	for _, part := range decode[[]slackBlock](c.o.t, b.Elements) {
		switch part.Type {
		case "rich_text_section":
			all := decode[[]json.RawMessage](c.o.t, part.Elements)
			bold := decode[struct {
				Style struct{ Bold bool } `json:"style"`
			}](c.o.t, all[0])
			if !bold.Style.Bold {
				c.o.t.Errorf("a row that does not begin with its question: %s", b.Elements)
			}
			k.question = plainly(says(all[0]))
			var rest strings.Builder
			for _, x := range all[1:] {
				rest.WriteString(says(x))
			}
			k.run, k.facts, _ = strings.Cut(plainly(rest.String()), " · ")
		case "rich_text_preformatted":
			k.args = argsOf(strings.Split(says(part.Elements), "\n"))
		default:
			c.o.t.Errorf("a part of type %s in a row", part.Type)
		}
	}
}

// readInCard takes what stands between a card's question and its buttons.
func (c *slackChat) readInCard(k *card, b slackBlock) {
	switch b.Type {
	case "rich_text":
		k.args = argsOf(strings.Split(says(b.Elements), "\n"))
	case "section":
		k.said = plainly(says(b.Text))
	case "context":
		k.facts = plainly(strings.NewReplacer("\n*", " *", "*\n", "* ").Replace(says(b.Elements))) // bold parts of a line are elements of their own
		k.facts = strings.ReplaceAll(k.facts, "*", "")
	default:
		c.o.t.Errorf("a block of type %s in a card", b.Type)
	}
}
