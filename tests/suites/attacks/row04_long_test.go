package attacks

import (
	"fmt"
	"strings"
	"testing"

	"github.com/nodhq/nod/tests/standins/fakeslack"
)

const danger = "DANGER-rm-rf-DANGER"

// longArguments is row 4: what cannot be read cannot be allowed, and what can be allowed can be read, wherever in it the danger stands.
func longArguments() (out []attack) {
	for _, size := range []int{4_000, 60_000, 100_000} {
		for _, at := range []int{0, 10, 50, 90, 100} {
			out = append(out, everywhere(4, fmt.Sprintf("%d-kB-at-%d-percent", size/1000, at), func(t *testing.T, w *world, surface string) {
				before := strings.Repeat("all work and no play ", size*at/100/21)
				after := strings.Repeat("all work and no play ", size*(100-at)/100/21)
				readable(t, w, surface, args(idOf(t), "text", before+danger+after))
			})...)
		}
	}
	for name, make := range map[string]func() string{
		"many-keys": func() string {
			var all []string
			for i := range 400 {
				all = append(all, fmt.Sprintf(`"k%03d":"v"`, i))
			}
			return strings.Join(all, ",") + `,"z":"` + danger + `"`
		},
		"deep":       func() string { return `"a":` + strings.Repeat(`[`, 40) + `"` + danger + `"` + strings.Repeat(`]`, 40) },
		"many-lines": func() string { return `"a":"` + strings.Repeat(`\n`, 3000) + danger + `"` },
		"one-word":   func() string { return `"a":"` + strings.Repeat("a", 20_000) + danger + `"` },
		"escapes":    func() string { return `"a":"` + strings.Repeat(`\u200b`, 2_000) + danger + `"` },
		"markup":     func() string { return `"a":"` + strings.Repeat("<&>*_", 2_000) + danger + `"` },
	} {
		out = append(out, everywhere(4, name, func(t *testing.T, w *world, surface string) {
			readable(t, w, surface, fmt.Sprintf(`{"path":%q,%s}`, idOf(t), make()))
		})...)
	}
	return out
}

func readable(t *testing.T, w *world, surface, arguments string) {
	k := begin(t, w, surface, wants(call("box", "write", arguments)))
	s := k.asking(1)
	if len(s.labelled("Allow once"))+len(s.labelled("Allow for this chat")) > 0 {
		if all := k.details(s); !strings.Contains(all, danger) {
			t.Errorf("it can be allowed, and %q is not in what can be read of it: %s", danger, clip(all, 2000))
		}
	}
	k.end()
}

// details is all that can be read of a call: the card, and what Show arguments gives.
func (k *talk) details(s shot) string {
	k.t.Helper()
	opens := "View details"
	if len(s.labelled("Show arguments")) > 0 { // where they are not all on the card
		opens = "Show arguments"
	}
	switch p := k.place.(type) {
	case *thread:
		return s.text + p.modal(k.t, s, k.one(s, opens))
	case *strand:
		before := len(p.seen(ben))
		k.click(ben, s, opens)
		k.await("the details are there", func() bool { return len(p.seen(ben)) > before })
		m := p.seen(ben)[before]
		all := m.Text()
		for _, a := range m.Attachments {
			all += string(p.w.discord.File(m.Channel, a))
		}
		return s.text + all
	}
	return s.text
}

// modal is all pages of a form that only shows. Turning them is a person's, one at a time.
func (th *thread) modal(t testing.TB, s shot, b button) (all string) {
	t.Helper()
	who := onlooker(th.channel)
	v := th.form(t, who, s, b)
	for {
		all += slackText(fakeslack.Version{Blocks: v.Blocks})
		next := ""
		for _, b := range th.w.slack.ViewButtons(v.ID) {
			if strings.Contains(b.Text, "Next") {
				next = b.Text
			}
		}
		if next == "" {
			th.w.slack.CloseView(who, v.ID)
			return all
		}
		hash := v.Hash
		turn := func() { th.taken(t)(th.w.slack.ClickInView(who, v.ID, next)) }
		tries := th.toldAgain(who)
		turn()
		until(t, "the page is turned", func() bool {
			if n := th.toldAgain(who); n > tries {
				tries = n
				turn()
			}
			for _, x := range th.w.slack.Views(who) {
				if x.ID == v.ID && x.Hash != hash {
					v = x
					return true
				}
			}
			return false
		})
	}
}
