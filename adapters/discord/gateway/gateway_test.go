package gateway

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestAConnectionBringsEventsInOrder(t *testing.T) {
	bubble(t, func(t *testing.T) {
		w := newWorld(t, func(p *peer) {
			p.open()
			p.dispatch(2, "MESSAGE_CREATE", `{"id":"5"}`)
			p.dispatch(3, "INVENTED_IN_2031", `{"x":[1]}`)
			p.dispatch(4, "MESSAGE_CREATE", `{"id":"6","components":[{"type":99}]}`) // discordgo cannot decode it
			p.dispatch(5, "INTERACTION_CREATE", `"nothing like it"`)
		})
		b := w.bot().start()
		b.after(time.Second)
		want := []string{"READY", `MESSAGE_CREATE {"id":"5"}`, `INVENTED_IN_2031 {"x":[1]}`, `MESSAGE_CREATE {"id":"6","components":[{"type":99}]}`, `INTERACTION_CREATE "nothing like it"`}
		if got := b.told(); !slices.Equal(got, want) {
			t.Errorf("heard %q", got)
		}
		if began, resumed := b.times(); began != 1 || resumed != 0 {
			t.Errorf("began %d, resumed %d", began, resumed)
		}
		p := w.all()[0]
		if p.url != "gateway.test/?v=10&encoding=json" {
			t.Errorf("opened %s", p.url)
		}
		var id struct {
			Token    string
			Compress bool
			Shard    []int
			Intents  int
		}
		if err := json.Unmarshal(p.packets()[0].Data, &id); err != nil {
			t.Fatal(err)
		}
		if id.Token != "Bot "+theToken || id.Compress || id.Shard != nil || id.Intents != 1<<0|1<<9|1<<12|1<<15 {
			t.Errorf("IDENTIFY with %+v", id)
		}
		if b.refused.Load() {
			t.Error("the content of messages is not known to come")
		}
		b.stop()
		<-b.done
		if b.err != nil {
			t.Error(b.err)
		}
		synctest.Wait()
		if p.closeCode() != 1000 {
			t.Errorf("closed with %d", p.closeCode())
		}
		if !strings.Contains(w.log(), "connected to the gateway") || strings.Contains(w.log(), "opening another") {
			t.Error(w.log())
		}
	})
}

func TestHowLongToWait(t *testing.T) {
	t.Parallel()
	for range 200 {
		for tries := range 100 {
			most := min(time.Second<<min(tries, 10), time.Minute)
			if got := waitAfter(closeReason{}, tries, false); got < most/2 || got > most {
				t.Fatalf("after %d tries %s", tries, got)
			}
			if got := waitAfter(closeReason{invalid: true}, tries, false); got < time.Second || got > max(most, 5*time.Second) {
				t.Fatalf("after op 9 and %d tries %s", tries, got)
			}
			if got := waitAfter(closeReason{}, tries, true); got > 4*time.Second {
				t.Fatalf("after %d connections that worked and can be resumed %s", tries, got)
			}
			if got := waitAfter(closeReason{soon: true}, tries, false); (got == 0) != (tries == 0) {
				t.Fatalf("after op 7 and %d tries %s", tries, got)
			}
		}
	}
}
