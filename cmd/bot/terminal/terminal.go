// Package terminal is the command nod chat: a person at a terminal talks to a running bot through its web API, as any program could, and
// answers what it asks with one letter. Whatever is typed else denies, and so does everything where nobody types.
//
// terminal.go has the flags and run; talk.go the conversation, which one goroutine holds; api.go the requests and the stream of events; keys.go
// what is typed; show.go how messages and asks look on paper that cannot be changed.
//
// It knows the API by its JSON alone, and imports of nod only the words of choices and how blocks are written as plain text. A choice that a
// terminal can make is a line in the table answers in talk.go.
package terminal

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"strings"

	"github.com/spf13/cobra"

	"github.com/nodhq/nod/cmd/bot/command"
)

const defaultURL = "http://127.0.0.1:8080"

// maxPiped is the longest message that is read from a standard input which is no terminal; the API takes no longer one.
const maxPiped = 64 << 10

// interrupted is the code of a turn that Ctrl-C stopped, as shells have it.
const interrupted = 130

// flags are the flags of nod chat.
type flags struct{ url, key string }

// Commands is nod chat.
func Commands(p *command.Process) *cobra.Command {
	f := &flags{}
	c := p.Command("chat [WORDS]", "talk to a running bot from the terminal, and answer what it asks; with WORDS one turn",
		func(p command.Process, words []string) int { return run(p, *f, words) })
	c.Long = "Talk to a running bot from the terminal, through its web API, and answer what it asks; with WORDS one turn.\nWords that begin with a dash stand behind --."
	c.Args = cobra.ArbitraryArgs
	c.Flags().StringVar(&f.url, "url", "", "where the bot listens: `URL` ("+defaultURL+")")
	c.Flags().StringVar(&f.key, "key", "", "a session `KEY` or an admin's; better in NOD_SESSION_KEY, where other people of this machine do not see it. Without one a session is opened, as the page does")
	return c
}

// run runs nod chat. Codes: 0, the last turn was answered; 1, it ended otherwise, or the bot cannot be reached; 2, the command line is
// wrong; 130, Ctrl-C stopped it.
func run(p command.Process, f flags, words []string) int {
	base, err := baseURL(f.url)
	if err != nil {
		return p.Refuse(command.Usage, err)
	}
	key := cmp.Or(strings.TrimSpace(f.key), p.Variable("NOD_SESSION_KEY"))
	if ip := net.ParseIP(base.Hostname()); key != "" && base.Scheme == "http" && base.Hostname() != "localhost" && !ip.IsLoopback() {
		fmt.Fprintln(p.Stderr, "note: the session key goes over the network unencrypted; an https:// address would not")
	}
	text := strings.Join(words, " ")
	if text == "" && !p.Terminal {
		if text, err = readPiped(p.Stdin); err != nil {
			return p.Refuse(command.Usage, err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	t := &talk{Process: p, api: newAPI(base), screen: newScreen(p.Stdout), keys: newKeyboard(), answered: map[string]bool{}, ended: map[string]bool{}}
	defer t.api.client.CloseIdleConnections()
	defer t.wait.Wait()
	defer cancel()
	if p.Terminal {
		t.lines = t.keys.lines
		go t.keys.read(ctx, p.Stdin) // ends with its input, or with the process: a read of a terminal cannot be called off
	}
	if err := t.begin(ctx, key); err != nil {
		return p.Refuse(command.Fail, err)
	}
	p.Heed()
	if text != "" {
		return t.turn(ctx, text)
	}
	return t.turns(ctx)
}

func readPiped(in io.Reader) (string, error) {
	if in == nil {
		in = strings.NewReader("")
	}
	b, err := io.ReadAll(io.LimitReader(in, maxPiped+1))
	text := strings.TrimSpace(string(b))
	switch {
	case err != nil:
		return "", err
	case len(b) > maxPiped:
		return "", errors.New("what is piped in is longer than 64 KiB, which is more than a message takes")
	case text == "":
		return "", errors.New("there is nothing to say: give words, or type at a terminal")
	}
	return text, nil
}

func baseURL(given string) (*url.URL, error) {
	u, err := url.Parse(cmp.Or(given, defaultURL))
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil || strings.ContainsAny(given, "?#") {
		return nil, errors.New("-url: want where the bot listens, such as " + defaultURL)
	}
	u.Path = strings.TrimRight(u.Path, "/")
	return u, nil
}
