package rest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"reflect"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bwmarrin/discordgo"

	"github.com/nodhq/nod/adapters/surface"
	"github.com/nodhq/nod/core/agent"
	"github.com/nodhq/nod/tests/standins/fakediscord/samples"
)

// lone is an adapter over a transport of one function, with a clock that pausing moves.
type lone struct {
	*Client
	log    *samples.Log
	at     time.Time
	pauses []time.Duration
}

func alone(t *testing.T, c Config, f func(*http.Request) *http.Response) *lone {
	t.Helper()
	c.Client = &http.Client{Transport: samples.RoundTripper(func(r *http.Request) (*http.Response, error) {
		if resp := f(r); resp != nil {
			return resp, nil
		}
		return nil, errors.New("connection reset")
	})}
	l := &lone{log: new(samples.Log), at: time.Now()}
	c.Token, c.Logger = samples.Token, slog.New(slog.NewTextHandler(l.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	c.Now = func() time.Time { return l.at }
	c.Pause = func(ctx context.Context, d time.Duration) error {
		l.pauses, l.at = append(l.pauses, d), l.at.Add(d)
		return ctx.Err()
	}
	r, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.CloseIdle)
	r.Introduce("12")
	l.Client = r
	return l
}

// says is a response: its headers as "Name: value".
func says(status int, body string, headers ...string) *http.Response {
	r := &http.Response{StatusCode: status, Status: strconv.Itoa(status), Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body))}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Set(name, value)
	}
	return r
}

func ok() *http.Response { return says(200, `{"id":"1"}`) }

func channelURL(channel string) string { return discordgo.EndpointChannelMessages(channel) }

func (l *lone) post(ctx context.Context, channel string) error {
	return l.Call(ctx, http.MethodPost, channelURL(channel), map[string]string{}, nil)
}

func (l *lone) patch(ctx context.Context, channel, message string) error {
	return l.Call(ctx, http.MethodPatch, discordgo.EndpointChannelMessage(channel, message), map[string]string{}, nil)
}

func TestVersionTenIsSpoken(t *testing.T) {
	var paths []string
	l := alone(t, Config{}, func(r *http.Request) *http.Response { paths = append(paths, r.URL.String()); return ok() })
	_ = l.post(t.Context(), "5")
	_ = l.Call(t.Context(), http.MethodPost, discordgo.EndpointInteractionResponse("7", "a%2Fb"), nil, nil)
	if want := "[https://discord.com/api/v10/channels/5/messages https://discord.com/api/v10/interactions/7/a%2Fb/callback]"; fmt.Sprint(paths) != want {
		t.Errorf("%s", paths)
	}
}

func TestStandInGetsEverything(t *testing.T) {
	var at string
	l := alone(t, Config{APIURL: "http://127.0.0.1:9/ignored"}, func(r *http.Request) *http.Response { at = r.URL.String() + " " + r.Host; return ok() })
	_ = l.post(t.Context(), "5")
	if at != "http://127.0.0.1:9/api/v10/channels/5/messages " {
		t.Errorf("%q", at)
	}
}

// Trap 1.4: the headers of a bucket would switch discordgo's own limiter on, which sleeps where no context ends it.
func TestTheLibrarysLimiterIsOff(t *testing.T) {
	l := alone(t, Config{}, func(*http.Request) *http.Response {
		return says(200, `{}`, "X-RateLimit-Remaining: 0", "X-RateLimit-Reset-After: 3600", "X-RateLimit-Bucket: b", "X-RateLimit-Global: true", "Retry-After: 7")
	})
	req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, channelURL("5"), nil)
	resp, err := l.http.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	for name := range resp.Header {
		if strings.HasPrefix(strings.ToLower(name), "x-ratelimit") {
			t.Errorf("%s reaches the library", name)
		}
	}
	if resp.Header.Get("Retry-After") != "7" {
		t.Error("other headers are lost")
	}
}

func TestAnExhaustedBucketWaits(t *testing.T) {
	l := alone(t, Config{}, func(*http.Request) *http.Response {
		return says(200, `{}`, "X-RateLimit-Remaining: 0", "X-RateLimit-Reset-After: 1.5")
	})
	_ = l.post(t.Context(), "5")
	if err := l.post(t.Context(), "6"); err != nil || len(l.pauses) != 0 {
		t.Errorf("another channel waited %v: %v", l.pauses, err)
	}
	if err := l.patch(t.Context(), "5", "7"); err != nil || len(l.pauses) != 0 {
		t.Errorf("creating and editing count apart, and editing waited %v: %v", l.pauses, err)
	}
	if err := l.post(WithLane(t.Context(), agent.Progress), "5"); samples.KindOf(err) != agent.FaultLater || samples.AfterOf(err) != 1500*time.Millisecond || len(l.pauses) != 0 {
		t.Errorf("progress: %v after %v", err, l.pauses)
	}
	short, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if err := l.post(short, "5"); samples.KindOf(err) != agent.FaultBusy || len(l.pauses) != 0 {
		t.Errorf("without time to wait: %v after %v", err, l.pauses)
	}
	if err := l.post(WithLane(t.Context(), agent.Decision), "5"); err != nil || len(l.pauses) != 1 || l.pauses[0] != 1500*time.Millisecond {
		t.Errorf("waited %v: %v", l.pauses, err)
	}
}

// Trap 1.4: a global 429 has no Reset-After, and discordgo lets the next channel's request out at once.
func TestAGlobal429StopsEveryChannel(t *testing.T) {
	sent := 0
	l := alone(t, Config{}, func(*http.Request) *http.Response {
		if sent++; sent == 1 {
			return says(429, `{"message":"You are being rate limited.","retry_after":2.0}`, "Retry-After: 2", "X-RateLimit-Global: true", "X-RateLimit-Scope: global")
		}
		return ok()
	})
	if err := l.post(t.Context(), "5"); samples.KindOf(err) != agent.FaultBusy || samples.AfterOf(err) != 2*time.Second {
		t.Fatal(err)
	}
	if err := l.patch(WithLane(t.Context(), agent.Progress), "6", "7"); samples.KindOf(err) != agent.FaultLater || sent != 1 {
		t.Errorf("progress elsewhere went out: %v", err)
	}
	if err := l.Call(t.Context(), http.MethodPost, discordgo.EndpointInteractionResponse("1", "t"), nil, nil); err != nil || len(l.pauses) != 0 {
		t.Errorf("an answer to an interaction waited %v: %v", l.pauses, err)
	}
	if err := l.Call(t.Context(), http.MethodPost, discordgo.EndpointFollowupMessage("12", "t"), nil, nil); err != nil || len(l.pauses) != 0 {
		t.Errorf("a follow-up waited %v: %v", l.pauses, err)
	}
	if err := l.patch(t.Context(), "6", "7"); err != nil || len(l.pauses) != 1 || l.pauses[0] != 2*time.Second {
		t.Errorf("another channel waited %v: %v", l.pauses, err)
	}
}

// What Discord counts together waits together, and nothing else does.
func TestWhatIsCountedTogether(t *testing.T) {
	l := alone(t, Config{}, func(*http.Request) *http.Response {
		return says(200, `{}`, "X-RateLimit-Remaining: 0", "X-RateLimit-Reset-After: 60")
	})
	young, old := snowflakeAt(l.at), snowflakeAt(l.at.Add(-2*time.Hour))
	for _, x := range []struct {
		what, method, first, then string
		waits                     bool
	}{
		{"another message of the channel", "DELETE", "channels/1/messages/1001", "channels/1/messages/1002", true},
		{"a message of another channel", "DELETE", "channels/2/messages/1001", "channels/3/messages/1001", false},
		{"another person of the server", "GET", "guilds/2/members/1001", "guilds/2/members/1002", true},
		{"a person of another server", "GET", "guilds/3/members/1001", "guilds/4/members/1001", false},
		{"another person", "GET", "users/1", "users/2", true},
		{"an answer to somebody else", "POST", "webhooks/12/one", "webhooks/12/other", false},
		{"an edit of a young message", "PATCH", "channels/5/messages/" + old, "channels/5/messages/" + young, false},
		{"an edit of another old message", "PATCH", "channels/6/messages/" + old, "channels/6/messages/" + snowflakeAt(l.at.Add(-3*time.Hour)), true},
		{"taking an old message away", "DELETE", "channels/7/messages/" + old, "channels/7/messages/" + young, true},
		{"opening an old thread", "PATCH", "channels/8/threads/" + old, "channels/8/threads/" + young, true},
	} {
		do := func(path string) error {
			return l.Call(WithLane(t.Context(), agent.Progress), x.method, discordgo.EndpointAPI+path, nil, nil)
		}
		if err := do(x.first); err != nil {
			t.Fatal(x.what, err)
		}
		if err := do(x.then); (err != nil) != x.waits {
			t.Errorf("%s: %v", x.what, err)
		}
	}
}

// An answer that is late says less than one that came since.
func TestALateAnswerShortensNoWait(t *testing.T) {
	var l *lone
	sent := 0
	l = alone(t, Config{}, func(r *http.Request) *http.Response {
		if sent++; sent == 1 {
			_ = l.post(r.Context(), "5")
			return says(200, `{}`, "X-RateLimit-Remaining: 0", "X-RateLimit-Reset-After: 0.1")
		}
		return says(429, `{"retry_after":5,"global":false}`)
	})
	_ = l.post(t.Context(), "5")
	if d, _ := l.shutFor("POST", "5"); d != 5*time.Second {
		t.Errorf("shut for %v", d)
	}
}

// A connection that breaks off says nothing of who is shut out.
func TestA429ThatBreaksOffIsNotCloudflares(t *testing.T) {
	l := alone(t, Config{}, func(*http.Request) *http.Response {
		r := says(429, "")
		r.Body = io.NopCloser(reading(func([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }))
		return r
	})
	if err := l.post(t.Context(), "5"); samples.KindOf(err) != agent.FaultTransient {
		t.Error(err)
	}
	if d, why := l.shutFor("POST", "6"); d != 0 {
		t.Errorf("%v: %v", d, why)
	}
}

// Until it is known whose calls are made nothing is spent of anybody's: all bots on one store would share it.
func TestNothingIsSpentOfNobodys(t *testing.T) {
	budget := &samples.Budget{}
	l := alone(t, Config{Budget: budget}, func(*http.Request) *http.Response { return says(401, `{}`) })
	l.Introduce("")
	if err := l.post(t.Context(), "5"); samples.KindOf(err) != agent.FaultForbidden || len(budget.Spent) != 0 {
		t.Errorf("%v; spent %+v", err, budget.Spent)
	}
}

// What is tried again goes on until it works, nothing mends it, or nobody waits.
func TestUntil(t *testing.T) {
	l := alone(t, Config{}, nil)
	no, busy := errors.New("no"), &agent.PlatformError{Kind: agent.FaultBusy, RetryAfter: time.Minute, Cause: errors.New("busy")}
	fatal := func(err error) error {
		if errors.Is(err, no) {
			return no
		}
		return nil
	}
	for what, x := range map[string]struct {
		third error
		ended bool
		want  error
	}{
		"it works": {}, "it works at last": {ended: true}, "nothing mends it": {third: no, want: no},
		"nobody waits": {no, true, context.Canceled}, "nobody waits any more": {busy, true, context.Canceled},
	} {
		ctx, cancel := context.WithCancel(t.Context())
		try, fails := 0, []error{errors.New("reset"), busy, x.third, nil, nil}
		l.pauses = nil
		err := l.Until(ctx, "it did not work", func(int) time.Duration { return time.Second }, fatal, func(context.Context) error {
			if try++; try == 3 && x.ended {
				cancel()
			}
			return fails[try-1]
		})
		cancel()
		if !errors.Is(err, x.want) || try != 3 || fmt.Sprint(l.pauses) != "[1s 1m0s]" {
			t.Errorf("%s: %v after %d tries and %v", what, err, try, l.pauses)
		}
	}
}

// A call of a channel's budget is made where there is room, and a 429 is everybody's.
func TestSpent(t *testing.T) {
	budget := &samples.Budget{}
	answer := ok
	l := alone(t, Config{Budget: budget}, func(*http.Request) *http.Response { return answer() })
	paid := func() error {
		return l.Paid(t.Context(), Spending{Verb: Post, Channel: "5", Lane: agent.Progress}, http.MethodPost, channelURL("5"), map[string]string{}, nil, nil)
	}
	if err := paid(); err != nil || fmt.Sprint(budget.Pools()) != "[discord/12/post/5 discord/12/global]" {
		t.Errorf("%v, %v", err, budget.Pools())
	}
	answer = func() *http.Response { return says(403, `{"code":50013,"message":"Missing Permissions"}`) }
	if err := paid(); samples.KindOf(err) != agent.FaultForbidden || CodeOf(err) != 50013 || !strings.Contains(err.Error(), "post: Missing Permissions") || len(budget.Cool) != 0 {
		t.Errorf("%v, %v", err, budget.Cool)
	}
	answer = func() *http.Response { return says(429, `{"retry_after":3}`) }
	if err := paid(); samples.KindOf(err) != agent.FaultBusy || budget.Cool["discord/12/post/5"] != 3*time.Second {
		t.Errorf("%v, %v", err, budget.Cool)
	}
	l.at = l.at.Add(time.Minute)
	answer = func() *http.Response { return nil }
	if err := paid(); samples.KindOf(err) != agent.FaultTransient || !strings.HasSuffix(err.Error(), "connection reset") {
		t.Error(err)
	}
	budget.Wait = func(s surface.Spend) time.Duration {
		if s.Pool == "discord/12/post/5" {
			return time.Second
		}
		return 0
	}
	answer = func() *http.Response { t.Error("it is called without room"); return ok() }
	if err := paid(); samples.KindOf(err) != agent.FaultLater {
		t.Error(err)
	}
}

func TestWhatIsSentIsJSON(t *testing.T) {
	var types []string
	l := alone(t, Config{}, func(r *http.Request) *http.Response {
		types = append(types, strings.SplitAfter(r.Header.Get("Content-Type"), ";")[0])
		return ok()
	})
	send := func(in any, files ...*discordgo.File) error {
		return l.CallFiles(t.Context(), http.MethodPost, channelURL("5"), in, files, nil)
	}
	file := func() *discordgo.File { return &discordgo.File{Name: "a.txt", Reader: strings.NewReader("x")} }
	if err := errors.Join(send(map[string]string{}), send(map[string]string{}, file())); err != nil || fmt.Sprint(types) != "[application/json multipart/form-data;]" {
		t.Errorf("%v, %q", err, types)
	}
	for _, err := range []error{send(func() {}), send(func() {}, file())} {
		if samples.KindOf(err) != agent.FaultForbidden || len(types) != 2 {
			t.Errorf("%v, %q", err, types)
		}
	}
}

// A wrong address is said when the bot starts, and not with every call.
func TestAddressesOfStandIns(t *testing.T) {
	for address, want := range map[string]bool{"": true, "http://localhost:1": true, "https://a.test/x": true, "localhost": false, "localhost:1": false, "http://": false, "ftp://a.test": false, "http://[::1": false} {
		if _, err := New(Config{APIURL: address}); (err == nil) != want {
			t.Errorf("%q: %v", address, err)
		}
	}
}

func TestA429OfABucketIsAsLongAsDiscordSays(t *testing.T) {
	l := alone(t, Config{}, func(*http.Request) *http.Response {
		return says(429, `{"message":"You are being rate limited.","retry_after":0.512,"global":false}`, "X-RateLimit-Scope: user", "X-RateLimit-Reset-After: 0.512", "Retry-After: 1")
	})
	if err := l.post(t.Context(), "5"); samples.KindOf(err) != agent.FaultBusy || samples.AfterOf(err) != time.Second {
		t.Error(err)
	}
	if d, _ := l.shutFor("POST", "5"); d != time.Second {
		t.Errorf("shut for %v", d)
	}
}

func (l *lone) transport() *transport { return l.http.Transport.(*transport) }

func (l *lone) shutFor(method, channel string) (time.Duration, error) {
	return l.transport().shut(routeOf(method, "/api/v9/channels/"+channel+"/messages", l.Now()), l.Now())
}

func snowflakeAt(at time.Time) string {
	return strconv.FormatInt((at.UnixMilli()-1420070400000)<<22, 10)
}

// Edits of old messages have a limit of their own (30046), and must not stop the others of their channel.
func TestA429OfOldMessagesIsForThemAlone(t *testing.T) {
	l := alone(t, Config{}, func(*http.Request) *http.Response {
		return says(429, `{"message":"Maximum number of edits to messages older than 1 hour reached.","code":30046,"retry_after":5,"global":false}`, "X-RateLimit-Scope: user")
	})
	old, young := snowflakeAt(l.at.Add(-2*time.Hour)), snowflakeAt(l.at.Add(-time.Minute))
	if err := l.patch(t.Context(), "5", old); samples.AfterOf(err) != 5*time.Second {
		t.Fatal(err)
	}
	sent := false
	l.transport().next = samples.RoundTripper(func(*http.Request) (*http.Response, error) { sent = true; return ok(), nil })
	if err := l.patch(WithLane(t.Context(), agent.Progress), "5", old); samples.KindOf(err) != agent.FaultLater || sent {
		t.Errorf("another old one: %v", err)
	}
	if err := l.patch(WithLane(t.Context(), agent.Progress), "5", young); err != nil || !sent {
		t.Errorf("a young one: %v", err)
	}
}

// Trap 1.4: a 429 of Cloudflare's is a page, which discordgo takes for broken JSON.
func TestAPageInsteadOfA429StopsEverything(t *testing.T) {
	sent := 0
	l := alone(t, Config{}, func(*http.Request) *http.Response {
		sent++
		return says(429, "<html>error code: 1015</html>", "Retry-After: 120", "Content-Type: text/html")
	})
	if err := l.post(t.Context(), "5"); samples.KindOf(err) != agent.FaultBusy || samples.AfterOf(err) != 2*time.Minute {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	for _, address := range []string{channelURL("6"), discordgo.EndpointInteractionResponse("1", "t")} {
		if err := l.Call(ctx, http.MethodPost, address, nil, nil); samples.KindOf(err) != agent.FaultBusy || sent != 1 {
			t.Errorf("%s: %v", address, err)
		}
	}
	if !strings.Contains(l.log.String(), "Cloudflare") {
		t.Error("nobody is told")
	}
}

func TestInvalidAnswersStopBeforeDiscordDoes(t *testing.T) {
	status, scope := 403, "user"
	sent := 0
	l := alone(t, Config{}, func(*http.Request) *http.Response {
		sent++
		return says(status, `{"message":"no","code":50013,"retry_after":0.001}`, "X-RateLimit-Scope: "+scope)
	})
	shared := func() { status, scope = 429, "shared" }
	shared()
	for i := range 2 * maxInvalid {
		l.at = l.at.Add(21 * time.Millisecond) // past the 429
		_ = l.post(t.Context(), strconv.Itoa(i+1))
	}
	if sent != 2*maxInvalid {
		t.Fatalf("limits of shared resources counted: %d sent", sent)
	}
	sent = 0
	for i := 0; i < maxInvalid; i++ {
		status, scope = []int{401, 403, 429}[i%3], "user"
		_ = l.post(t.Context(), strconv.Itoa(i+1))
	}
	if sent != maxInvalid {
		t.Fatalf("stopped after %d", sent)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	if err := l.post(ctx, "99999"); samples.KindOf(err) != agent.FaultBusy || sent != maxInvalid {
		t.Errorf("one more went out: %v", err)
	}
	status = 204
	if err := l.Call(t.Context(), http.MethodPost, discordgo.EndpointInteractionResponse("1", "t"), nil, nil); err != nil {
		t.Errorf("an answer to an interaction is held back: %v", err)
	}
	l.at = l.at.Add(invalidPer + time.Minute)
	if err := l.post(t.Context(), "5"); err != nil {
		t.Errorf("ten minutes later: %v", err)
	}
}

func TestEveryCallSpendsOfTheWholeBots(t *testing.T) {
	budget := &samples.Budget{}
	l := alone(t, Config{Budget: budget}, func(*http.Request) *http.Response { return ok() })
	_ = l.post(WithLane(t.Context(), agent.Decision), "5")
	_ = l.Call(t.Context(), http.MethodPost, discordgo.EndpointInteractionResponse("1", "t"), nil, nil)
	_ = l.Call(t.Context(), http.MethodPost, discordgo.EndpointFollowupMessage("12", "t"), nil, nil)
	want := surface.Spend{Pool: "discord/12/global", Limit: 45, Per: time.Second, Lane: agent.Decision}
	if len(budget.Spent) != 1 || budget.Spent[0] != want {
		t.Errorf("spent %+v", budget.Spent)
	}
	budget.Wait = func(surface.Spend) time.Duration { return time.Second }
	if err := l.post(WithLane(t.Context(), agent.Progress), "5"); samples.KindOf(err) != agent.FaultLater {
		t.Error(err)
	}
}

func TestReplicasLearnOfAGlobal429AndOfInvalidAnswers(t *testing.T) {
	budget := &samples.Budget{}
	status := 429
	l := alone(t, Config{Budget: budget}, func(*http.Request) *http.Response {
		if status == 403 {
			return says(403, `{"code":50013}`)
		}
		return says(429, `{"retry_after":3,"global":true}`)
	})
	_ = l.post(t.Context(), "5")
	if budget.Cool["discord/12/global"] != 3*time.Second {
		t.Errorf("cooled %v", budget.Cool)
	}
	if got := strings.Join(budget.Pools(), " "); got != "discord/12/global discord/12/invalid" {
		t.Error(got)
	}
	status = 403
	budget.Wait = func(s surface.Spend) time.Duration {
		if strings.HasSuffix(s.Pool, "/invalid") { // the other replicas have used it up
			return time.Minute
		}
		return 0
	}
	_ = l.post(t.Context(), "5")
	if d, why := l.shutFor("GET", "6"); d != time.Minute || !strings.Contains(fmt.Sprint(why), "refused") {
		t.Errorf("%v, %v", d, why)
	}
}

// Trap 1.4: discordgo repeats a POST on 502 without a pause.
func TestNothingIsRepeatedByTheLibrary(t *testing.T) {
	sent := 0
	l := alone(t, Config{}, func(*http.Request) *http.Response { sent++; return says(502, "<html>"+strings.Repeat("x", 5000)) })
	err := l.post(t.Context(), "5")
	if samples.KindOf(err) != agent.FaultTransient || sent != 1 || len(err.Error()) > 500 {
		t.Errorf("sent %d times: %v", sent, err)
	}
}

// Trap 1.4: discordgo keeps a channel's calls waiting for each other in a mutex, which no context ends.
func TestACallDoesNotWaitForAnotherOfItsChannel(t *testing.T) {
	held, release := make(chan struct{}), make(chan struct{})
	var n atomic.Int32
	a := alone(t, Config{}, func(*http.Request) *http.Response {
		if n.Add(1) == 1 {
			close(held)
			<-release
		}
		return ok()
	})
	done := make(chan error)
	go func() { done <- a.Call(t.Context(), http.MethodPost, channelURL("5"), nil, nil) }()
	<-held
	if err := a.Call(t.Context(), http.MethodPost, channelURL("5"), nil, nil); err != nil {
		t.Error(err)
	}
	close(release)
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// Trap 1.4: discordgo never forgets a bucket, and makes one for each interaction.
func TestMemoryStaysFlat(t *testing.T) {
	l := alone(t, Config{}, func(*http.Request) *http.Response {
		return says(200, `{}`, "X-RateLimit-Remaining: 0", "X-RateLimit-Reset-After: 60")
	})
	ctx := WithLane(t.Context(), agent.Progress)
	for i := range 3 * maxBuckets {
		id := strconv.Itoa(i + 1)
		_ = l.Call(ctx, http.MethodPost, discordgo.EndpointInteractionResponse(id, "t"), nil, nil)
		_ = l.post(ctx, id)
	}
	if n := libraryBuckets(l.Client); n != 0 {
		t.Errorf("the library keeps %d buckets", n)
	}
	if n := l.transport().buckets.Len(); n > maxBuckets {
		t.Errorf("%d exhausted buckets are remembered", n)
	}
}

func TestAnEndlessAnswerIsNotRead(t *testing.T) {
	read := 0
	l := alone(t, Config{}, func(*http.Request) *http.Response {
		r := says(200, "")
		r.Body = io.NopCloser(reading(func(p []byte) (int, error) { read += len(p); return len(p), nil }))
		return r
	})
	var into map[string]any
	if err := l.Call(t.Context(), http.MethodGet, channelURL("5"), nil, &into); samples.KindOf(err) != agent.FaultTransient || read > 2*maxBody {
		t.Errorf("%d bytes: %v", read, err)
	}
}

type reading func([]byte) (int, error)

func (f reading) Read(p []byte) (int, error) { return f(p) }

func TestWhatIsHeardOfTimesIsBounded(t *testing.T) {
	for in, want := range map[string]time.Duration{"": 0, "x": 0, "-1": 0, "NaN": 0, "1.25": 1250 * time.Millisecond, "1e300": maxSeconds * time.Second, "Inf": maxSeconds * time.Second} {
		if got := seconds(in); got != want {
			t.Errorf("%q: %v, want %v", in, got, want)
		}
	}
}

func TestRefusedRequestsCloseTheirBodies(t *testing.T) {
	l := alone(t, Config{}, func(*http.Request) *http.Response { return ok() })
	l.transport().until(&l.transport().shutOut, l.at.Add(time.Hour))
	b := &closer{Reader: strings.NewReader("x")}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	req, _ := http.NewRequestWithContext(ctx, http.MethodPost, channelURL("5"), b)
	resp, err := l.transport().RoundTrip(req)
	if resp != nil {
		_ = resp.Body.Close()
	}
	if !errors.As(err, new(*agent.PlatformError)) || !b.closed {
		t.Error(err, b.closed)
	}
}

type closer struct {
	io.Reader
	closed bool
}

func (c *closer) Close() error { c.closed = true; return nil }

type idler struct {
	samples.RoundTripper
	closed bool
}

func (i *idler) CloseIdleConnections() { i.closed = true }

func TestIdleConnectionsAreClosed(t *testing.T) {
	l, under := alone(t, Config{}, nil), &idler{}
	l.transport().next = under
	if l.CloseIdle(); !under.closed {
		t.Error("they stay open")
	}
}

// libraryBuckets is how many buckets discordgo remembers.
func libraryBuckets(c *Client) int {
	return reflect.ValueOf(c.api.Ratelimiter).Elem().FieldByName("buckets").Len()
}

func TestRedirectDoesNotTakeTheTokenAlong(t *testing.T) {
	sent := 0
	l := alone(t, Config{}, func(*http.Request) *http.Response {
		sent++
		return says(http.StatusTemporaryRedirect, "", "Location: https://elsewhere.test/")
	})
	if err := l.post(t.Context(), "5"); err == nil || sent != 1 {
		t.Errorf("followed, %d requests: %v", sent, err)
	}
}

func TestASessionDoesNothingByItself(t *testing.T) {
	t.Parallel()
	s := newSession("MTE1.x.y", http.DefaultClient)
	if s.LogLevel != -1 || s.ShouldRetryOnRateLimit || s.MaxRestRetries != 0 || s.Token != "Bot MTE1.x.y" || !strings.HasPrefix(s.UserAgent, "DiscordBot (https://") {
		t.Errorf("%+v", s)
	}
}
