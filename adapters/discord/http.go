package discord

import (
	"crypto/ed25519"
	"encoding/hex"
	"errors"
	"io"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/bwmarrin/discordgo"

	"github.com/nodhq/nod/adapters/discord/inbound"
)

const (
	maxRequest  = 1 << 20 // bytes of a request; a form with five full inputs is far below it
	freshWithin = 5 * time.Minute
	// doneWithin is when a request is answered at the latest. What is said to the person goes another way.
	doneWithin = 2900 * time.Millisecond
)

// The signature's headers. https://discord.com/developers/docs/interactions/overview#setting-up-an-endpoint-validating-security-request-headers
const (
	headerSignature = "X-Signature-Ed25519"
	headerTimestamp = "X-Signature-Timestamp"
)

// Handler takes Discord's signed requests, at [PathInteractions]. It is nil without Config.PublicKey. Requests are served while Run
// runs; before and after they are refused, and Discord tells the person that it did not work.
func (a *Adapter) Handler() http.Handler {
	key, ok := a.key()
	if !ok {
		return nil
	}
	mux := http.NewServeMux()
	mux.HandleFunc(PathInteractions, func(w http.ResponseWriter, r *http.Request) { a.posted(w, r, key) })
	return mux
}

// posted lets only what Discord signed through. What is wrong with another request is nobody's business.
func (a *Adapter) posted(w http.ResponseWriter, r *http.Request, key ed25519.PublicKey) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	timestamp, signature, ok := signed(r.Header, a.now())
	if !ok { // before the body is read: a request of another day costs nothing
		a.unsigned(w)
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxRequest))
	if errors.As(err, new(*http.MaxBytesError)) {
		a.Logger.Warn("discord: a request is refused: its body is longer than 1 MiB")
		w.WriteHeader(http.StatusRequestEntityTooLarge)
		return
	}
	if !ed25519.Verify(key, slices.Concat([]byte(timestamp), body), signature) {
		a.unsigned(w)
		return
	}
	a.signedBody(w, r, body)
}

func (a *Adapter) signedBody(w http.ResponseWriter, r *http.Request, body []byte) {
	in := new(inbound.Interaction)
	if err := inbound.Decode(body, in); err != nil {
		a.Logger.Warn("discord: a signed request could not be understood", "err", err)
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	if in.Type == discordgo.InteractionPing { // Discord asks whether anybody is there, and checks that forgeries are refused
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"type":1}`)
		return
	}
	if !a.isOpen() {
		a.Logger.Warn("discord: an interaction is not taken: this process starts or stops")
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	// The answer goes the way that answers to the gateway's interactions go, from whichever process draws first.
	done := make(chan struct{})
	a.interacted(in, func() { close(done) })
	limit := time.NewTimer(doneWithin)
	defer limit.Stop()
	select {
	case <-done:
	case <-limit.C:
	case <-r.Context().Done():
	}
	w.WriteHeader(http.StatusAccepted)
}

// signed reads the headers. There has to be one of each: which one of two was signed nobody knows.
func signed(h http.Header, now time.Time) (timestamp string, signature []byte, ok bool) {
	stamps, sigs := h.Values(headerTimestamp), h.Values(headerSignature)
	if len(stamps) != 1 || len(sigs) != 1 || len(stamps[0]) > 20 {
		return "", nil, false
	}
	unix, _ := strconv.ParseInt(stamps[0], 10, 64) // what is no number is far from now
	if age := now.Sub(time.Unix(unix, 0)); age > freshWithin || age < -freshWithin {
		return "", nil, false
	}
	signature, err := hex.DecodeString(sigs[0])
	return stamps[0], signature, err == nil
}

func (a *Adapter) unsigned(w http.ResponseWriter) {
	a.Logger.Warn("discord: a request is refused: it is not signed with the application's key, or not within the last five minutes")
	w.WriteHeader(http.StatusUnauthorized)
}

// PathInteractions is where Discord posts clicks and commands, where the application has an Interactions Endpoint URL.
const PathInteractions = "/discord/interactions"
