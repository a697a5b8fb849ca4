// Command cmd runs the stand-in Discord as a process, with a page on which a developer can be everybody in a server:
//
//	go run ./tests/standins/fakediscord/cmd -listen 127.0.0.1:8092
//
// It prints the settings for the bot, or starts one with -bot. The page takes no password: keep it on loopback.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"

	"github.com/nodhq/nod/tests/standins/fakediscord"
	"github.com/nodhq/nod/tests/standins/stand"
)

func main() {
	listen := flag.String("listen", "127.0.0.1:8092", "address of the page, the REST API and the gateway")
	deliver := flag.String("deliver", "", "address of a bot's interactions endpoint, to use signed HTTP and not the gateway for interactions")
	bot := flag.Bool("bot", false, "build and start nod, too: from the repository's root")
	limits := flag.Bool("limits", false, "keep Discord's documented rate limits")
	flag.Parse()
	o := fakediscord.Options{Listen: *listen}
	if *limits {
		o.Limits = fakediscord.Documented()
	}
	if err := run(o, *deliver, *bot); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(o fakediscord.Options, deliver string, bot bool) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	s := fakediscord.New(o)
	defer s.Close()
	furnish(s)
	s.Handle(newPage(s))
	if bot {
		fmt.Printf("Discord, more or less, is at %s\nOpen it once nod listens, choose a channel, and write @nod.\n\n", s.URL())
		return stand.Bot(ctx, "DISCORD_API_URL="+s.URL(), "DISCORD_TOKEN="+s.Token())
	}
	fmt.Printf("Discord, more or less, is at %s (its server is %s)\n\nexport DISCORD_API_URL=%s DISCORD_TOKEN=%s", s.URL(), s.Guild(), s.URL(), s.Token())
	if deliver == "" {
		fmt.Println()
	} else {
		fmt.Printf(" DISCORD_PUBLIC_KEY=%s\n\nStart the bot, then press Enter.\n", s.PublicKey())
		_, _ = fmt.Scanln() // an empty line is an error to it, and all that is wanted
		if err := s.Deliver(deliver); err != nil {
			return err
		}
	}
	<-ctx.Done()
	return nil
}

// furnish gives the server people and places.
func furnish(s *fakediscord.Server) {
	for _, u := range []fakediscord.User{{ID: "101", Name: "Ana"}, {ID: "102", Name: "Ben"}} {
		s.AddUser(u)
		s.OpenDM(u.ID)
	}
	for id, name := range map[string]string{"201": "general", "202": "deploys"} {
		s.AddChannel(fakediscord.Channel{ID: id, Name: name})
	}
}
