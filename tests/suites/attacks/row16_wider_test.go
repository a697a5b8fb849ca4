package attacks

import (
	"slices"
	"testing"

	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/core/chat"
)

// widened is row 16 for the limited grants: each with a call just outside of it.
func widened() (out []attack) {
	for name, c := range map[string]struct {
		choice      chat.Choice
		first, next func(name string) agent.ReplyCall
	}{
		"exact-another-value": {chat.AllowExact, at("/srv/a.txt"), at("/srv/b.txt")},
		"exact-another-case":  {chat.AllowExact, at("/srv/a.txt"), at("/srv/A.txt")},
		"exact-one-more-argument": {chat.AllowExact, at("/srv/a.txt"), func(n string) agent.ReplyCall {
			return call("box", "write", `{"case":"`+n+`","force":true,"path":"/srv/a.txt"}`)
		}},
		"exact-one-less":            {chat.AllowExact, at("/srv/a.txt"), func(n string) agent.ReplyCall { return call("box", "write", `{"case":"`+n+`"}`) }},
		"exact-another-type":        {chat.AllowExact, at("1"), func(n string) agent.ReplyCall { return call("box", "write", `{"case":"`+n+`","path":1}`) }},
		"path-dots":                 {chat.AllowPath, at("/srv/app/logs/a.txt"), at("/srv/app/logs/../../etc/passwd")},
		"path-dots-at-the-end":      {chat.AllowPath, at("/srv/app/logs/a.txt"), at("/srv/app/logs/..")},
		"path-dots-inside":          {chat.AllowPath, at("/srv/app/logs/a.txt"), at("/srv/app/logs/x/../y")},
		"path-escaped-dots":         {chat.AllowPath, at("/srv/app/logs/a.txt"), at("/srv/app/logs/%2e%2e/x")},
		"path-backslash-dots":       {chat.AllowPath, at("/srv/app/logs/a.txt"), at(`/srv/app/logs/..\x`)},
		"path-sibling":              {chat.AllowPath, at("/srv/app/logs/a.txt"), at("/srv/app/logs-evil/a.txt")},
		"path-above":                {chat.AllowPath, at("/srv/app/logs/a.txt"), at("/srv/app/a.txt")},
		"path-relative":             {chat.AllowPath, at("/srv/app/logs/a.txt"), at("srv/app/logs/a.txt")},
		"path-other-root":           {chat.AllowPath, at("/srv/app/logs/a.txt"), at("//srv/app/logs/a.txt")},
		"reads-for-a-write":         {chat.AllowReads, of("look"), of("put")},
		"reads-for-the-dangerous":   {chat.AllowReads, of("look"), of("boom")},
		"writes-for-the-dangerous":  {chat.AllowWrites, of("put"), of("boom")},
		"server-for-the-dangerous":  {chat.AllowServer, of("look"), of("boom")},
		"server-for-another-server": {chat.AllowServer, of("look"), func(n string) agent.ReplyCall { return call("evil", "write", `{"case":"`+n+`"}`) }},
		"hour-for-another-tool":     {chat.AllowHour, at("/a"), func(n string) agent.ReplyCall { return call("box", "always", `{"case":"`+n+`"}`) }},
		"uses-for-another-tool":     {chat.AllowUses, at("/a"), func(n string) agent.ReplyCall { return call("box", "always", `{"case":"`+n+`"}`) }},
	} {
		out = append(out, everywhere(16, "wider-"+name, func(t *testing.T, w *world, surface string) {
			name := "c" + w.room() // short: a label has to have room for it
			k := begin(t, w, surface, wants(c.first(name)))
			k.name = name
			k.grants(ana, c.choice)
			k.times(1)
			k.again(ana, name+"-2", wants(c.first(name)), wants(c.next(name)))
			k.until("what was granted runs, and what is wider asks", func(s shot) bool { return s.asks == 1 && k.ran() == 2 })
			k.denyAll()
			k.over(2)
			k.times(2)
		})...)
	}
	out = append(out, everywhere(16, "the-fourth-of-three-uses", func(t *testing.T, w *world, surface string) {
		name := idOf(t)
		one := wants(write(name))
		k := begin(t, w, surface, one)
		k.grants(ana, chat.AllowUses)
		k.again(ana, name+"-2", one, one, one)
		k.until("the fourth asks", func(s shot) bool { return s.asks == 1 && k.ran() == 3 })
		k.denyAll()
		k.over(2)
		k.times(3)
	})...)
	for _, choice := range wide {
		for _, who := range []person{ana, ada} { // not even an admin's yes stands for more than the one call
			out = append(out, everywhere(16, string(choice)+"-where-only-admins-decide-by-"+slug(string(who)), func(t *testing.T, w *world, surface string) {
				name := idOf(t)
				k := begin(t, w, surface, wants(call("box", "guarded", `{"path":"`+name+`"}`)))
				s := k.asking(1)
				k.denied(who, s, k.one(s, "Allow once"), choice)
				k.still(1)
				k.end()
			})...)
		}
		out = append(out, everywhere(16, string(choice)+"-by-a-stranger", func(t *testing.T, w *world, surface string) {
			k := begin(t, w, surface)
			s := k.asking(1)
			k.denied(ben, s, k.one(s, "Allow once"), choice)
			k.still(1)
			k.end()
		})...)
		if slices.Contains([]chat.Choice{chat.AllowSession, chat.Remember}, choice) {
			continue
		}
		out = append(out, everywhere(16, string(choice)+"-where-the-operator-withholds-it", func(t *testing.T, w *world, surface string) {
			k := begin(t, w, surface, wants(call("box", "nograntable", `{"path":"`+idOf(t)+`"}`)))
			s := k.asking(1)
			k.denied(ada, s, k.one(s, "Allow once"), choice)
			k.still(1)
			k.end()
		})...)
	}
	for _, s := range []string{"slack", "discord"} { // on the web nobody else can speak in a chat of Ana's
		out = append(out, on(16, s, "remembered-by-another-person", func(t *testing.T, w *world) {
			name := idOf(t)
			w.accepts(t, "mix", "mem-"+s)
			one := wants(call("mix", "mem-"+s, `{"path":"`+name+`"}`))
			k := begin(t, w, s, one)
			k.remembers()
			k.again(ben, name+"-2", one)
			k.until("it asks for Ben", func(s shot) bool { return s.asks == 1 && len(k.shots()) == 2 })
			k.denyAll()
			k.over(2)
			k.times(1)
		}))
	}
	return append(out, everywhere(16, "remembered-for-a-tool-that-changed", func(t *testing.T, w *world, surface string) {
		name, x := idOf(t), tool{server: "mix", name: "turning-" + surface, description: "Does more."}
		one := wants(call("mix", x.name, `{"path":"`+name+`"}`))
		w.accepts(t, "mix", x.name)
		k := begin(t, w, surface, one)
		k.remembers()
		k.again(ana, name+"-2", one)
		k.over(2)
		k.times(2) // it is remembered
		w.changed(t, x.name, func() { w.servers["mix"].put(x) })
		k.again(ana, name+"-3", one)
		k.until("it asks", func(s shot) bool { return s.asks == 1 && len(k.shots()) == 3 })
		k.denyAll()
		k.over(3)
		k.times(2)
	})...)
}

// remembers has Ana tick "Remember this choice" and allow.
func (k *talk) remembers() {
	k.t.Helper()
	b := k.one(k.asking(1), "Allow once")
	for _, c := range []chat.Choice{chat.Remember, chat.AllowOnce} {
		if err := k.decide(ana, b, c); err != nil {
			k.t.Fatalf("%s by Ana, who may: %v", c, err)
		}
	}
	k.over(1)
}

func at(path string) func(string) agent.ReplyCall {
	return func(name string) agent.ReplyCall { return located(name, path) }
}

func of(tool string) func(string) agent.ReplyCall {
	return func(name string) agent.ReplyCall { return call("mix", tool, `{"path":"`+name+`"}`) }
}
