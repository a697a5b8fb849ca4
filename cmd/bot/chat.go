package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"strings"
)

const chatUsage = `  bot chat [WORDS]      talk to a running bot from the terminal, through its web API, and answer what it asks; with WORDS one turn
`

const chatFlags = `  -url URL            chat: where the bot listens (http://127.0.0.1:8080)
  -key KEY            chat: a session key or an admin's; better in BOT_SESSION_KEY, where other people of this machine do not see it.
                      Without one a session is opened, as the page does
`

const defaultChatURL = "http://127.0.0.1:8080"

// maxPiped is the longest message that is read from a standard input which is no terminal; the API takes no longer one.
const maxPiped = 64 << 10

// exitInterrupted is the code of a turn that Ctrl-C stopped, as shells have it.
const exitInterrupted = 130

type chatOptions struct{ url, key string }

func (c *chatOptions) define(fs *flag.FlagSet) {
	fs.StringVar(&c.url, "url", "", "")
	fs.StringVar(&c.key, "key", "", "")
}

// fit refuses flags that the command would not look at.
func (c chatOptions) fit(command string) error {
	if (c.url != "" || c.key != "") && !isCommand(command, "chat") {
		return errors.New("-url and -key go with: bot chat")
	}
	return nil
}

// isTerminal reports whether a person types into f. What is piped in is no person: nothing in it answers an ask.
func isTerminal(f *os.File) bool {
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// chat runs bot chat. Codes: 0, the last turn was answered; 1, it ended otherwise, or the bot cannot be reached; 2, the command line is
// wrong; 130, Ctrl-C stopped it.
func (p process) chat(o options, words []string) int {
	base, err := chatBase(o.chat.url)
	if err != nil {
		fmt.Fprintln(p.stderr, "bot:", err)
		return exitUsage
	}
	key := strings.TrimSpace(o.chat.key)
	if key == "" {
		key, _ = p.env("BOT_SESSION_KEY")
		key = strings.TrimSpace(key)
	}
	if key != "" && base.Scheme == "http" && !loopbackHost(base.Hostname()) {
		fmt.Fprintln(p.stderr, "note: the session key goes over the network unencrypted; an https:// address would not")
	}
	text := strings.Join(words, " ")
	if text == "" && !p.terminal {
		if text, err = piped(p.stdin); err != nil {
			fmt.Fprintln(p.stderr, "bot:", err)
			return exitUsage
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	api := newChatAPI(base)
	defer api.close()
	talk := &talking{api: api, out: p.stdout, errs: p.stderr, signals: p.signals, keys: newKeyboard()}
	defer talk.wait.Wait()
	defer cancel()
	if p.terminal {
		talk.listens = true
		go talk.keys.read(ctx, p.stdin) // ends with its input, or with the process: a read of a terminal cannot be called off
	}
	if err := talk.begin(ctx, key, operator(p.env).Name); err != nil {
		fmt.Fprintln(p.stderr, "bot:", err)
		return exitFail
	}
	if text != "" {
		return talk.once(ctx, text)
	}
	return talk.on(ctx)
}

func piped(in io.Reader) (string, error) {
	var b []byte
	if in != nil {
		var err error
		if b, err = io.ReadAll(io.LimitReader(in, maxPiped+1)); err != nil {
			return "", err
		}
	}
	switch text := strings.TrimSpace(string(b)); {
	case len(b) > maxPiped:
		return "", errors.New("what is piped in is longer than 64 KiB, which is more than a message takes")
	case text == "":
		return "", errors.New("there is nothing to say: give words, or type at a terminal")
	default:
		return text, nil
	}
}

func chatBase(given string) (*url.URL, error) {
	if given == "" {
		given = defaultChatURL
	}
	u, err := url.Parse(given)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.User != nil || u.RawQuery != "" {
		return nil, errors.New("-url: want where the bot listens, such as " + defaultChatURL)
	}
	u.Path = strings.TrimRight(u.Path, "/")
	return u, nil
}

func loopbackHost(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
