// Command cmd runs the stand-in Slack as a process, with a page on which a developer can be everybody in the workspace:
//
//	go run ./tests/standins/fakeslack/cmd -listen 127.0.0.1:8091
//
// It prints the settings for the bot, or starts one with -bot. The page takes no password: keep it on loopback.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"

	"github.com/nodhq/nod/tests/standins/fakeslack"
	"github.com/nodhq/nod/tests/standins/stand"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:8091", "address of the page and of the Web API")
	deliver := flag.String("deliver", "", "base URL of a bot that takes signed HTTP instead of Socket Mode, once it answers there")
	bot := flag.Bool("bot", false, "build and start nod, too: from the repository's root")
	limits := flag.Bool("limits", false, "keep Slack's documented rate limits")
	flag.Parse()
	o := fakeslack.Options{Listen: *listen}
	if *limits {
		o.Tiers, o.PostsPerChannel = fakeslack.Floors(), fakeslack.PostsPerChannelFloor
	}
	if err := run(o, *deliver, *bot); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(o fakeslack.Options, deliver string, bot bool) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	s := fakeslack.New(o)
	defer s.Close()
	furnish(s)
	s.Handle(newPage(s))
	base := s.URL()[:len(s.URL())-len("api/")]
	if bot {
		fmt.Printf("Slack, more or less, is at %s\nOpen it once nod listens, choose a channel, and write @nod.\n\n", base)
		return stand.Bot(ctx, "SLACK_API_URL="+s.URL(), "SLACK_BOT_TOKEN="+s.BotToken(), "SLACK_APP_TOKEN="+s.AppToken())
	}
	fmt.Printf("Slack, more or less, is at %s\n\nexport SLACK_API_URL=%s SLACK_BOT_TOKEN=%s", base, s.URL(), s.BotToken())
	if deliver == "" {
		fmt.Printf(" SLACK_APP_TOKEN=%s\n", s.AppToken())
	} else {
		fmt.Printf(" SLACK_SIGNING_SECRET=%s\n\nStart the bot, then press Enter.\n", s.SigningSecret())
		_, _ = fmt.Scanln() // an empty line is an error to it, and all that is wanted
		if err := s.Deliver(fakeslack.Endpoints{Events: deliver + "/slack/events", Interactivity: deliver + "/slack/interactivity", Commands: deliver + "/slack/commands"}); err != nil {
			return err
		}
	}
	<-ctx.Done()
	return nil
}

// furnish gives the workspace people and places.
func furnish(s *fakeslack.Server) {
	for _, u := range []fakeslack.User{{ID: "U1", Name: "Ana"}, {ID: "U2", Name: "Ben"}, {ID: "U3", Name: "Gus", Guest: true}} {
		s.AddUser(u)
		s.DM(u.ID)
	}
	for id, name := range map[string]string{"C1": "general", "C2": "deploys", "C3": "support"} {
		s.AddChannel(fakeslack.Channel{ID: id, Name: name, Members: []string{"U1", "U2", "U3", s.BotUser()}})
	}
}
