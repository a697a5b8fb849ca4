// Package fakepush is a push service with the browsers that subscribe there, for tests. It takes messages as RFC 8030 has them, looks at who sends
// them by RFC 8292, and reads them as a browser does by RFC 8291. It has rules of its own and knows nothing of nod.
//
// https://datatracker.ietf.org/doc/html/rfc8030, rfc8188, rfc8291, rfc8292
package fakepush

import (
	"bytes"
	"context"
	"crypto/ecdh"
	"crypto/rand"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"
)

// Name is the service's. Who asks for it is led here by [Service.Client] or [Service.Env].
const Name = "example.com"

// maxBody is what a service has to take (RFC 8030, 7.2), and this one takes no more.
const maxBody = 4096

// Service is the stand-in.
type Service struct {
	t     testing.TB
	tls   *httptest.Server
	proxy *httptest.Server

	mu      sync.Mutex
	moved   chan struct{} // closed when something changes
	devices map[string]*Device
	wrong   []string
}

// Device is a browser that subscribed.
type Device struct {
	// Endpoint, P256dh and Auth are what the page hands on.
	Endpoint, P256dh, Auth string

	service *Service
	private *ecdh.PrivateKey
	auth    []byte
	sender  []byte // the key that it was subscribed with
	answers []func(http.ResponseWriter)
	gone    bool
	tried   int
	got     []Message
}

// Message is one as the browser reads it.
type Message struct {
	Text           string
	TTL            time.Duration
	Topic, Urgency string
	Subject        string // whom the service may turn to
	Size           int    // bytes, encrypted
}

// Start begins to listen, until the test is over. What is wrong with what comes fails the test then.
func Start(t testing.TB) *Service {
	s := &Service{t: t, moved: make(chan struct{}), devices: map[string]*Device{}}
	s.tls = httptest.NewUnstartedServer(s)
	s.tls.Config.ErrorLog = log.New(io.Discard, "", 0) // who is stopped in the middle of a handshake is no news
	s.tls.StartTLS()
	s.proxy = httptest.NewServer(http.HandlerFunc(s.connect))
	t.Cleanup(func() {
		s.proxy.Close()
		s.tls.Close()
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, w := range s.wrong {
			t.Error("the push service: " + w)
		}
	})
	return s
}

// Client reaches it.
func (s *Service) Client() *http.Client {
	c := s.tls.Client()
	of, _ := c.Transport.(*http.Transport)
	way := of.Clone()
	way.DialContext = func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, network, s.tls.Listener.Addr().String())
	}
	s.t.Cleanup(way.CloseIdleConnections)
	return &http.Client{Transport: way, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

// Env leads a process here: a proxy that knows this service alone, and its certificate.
func (s *Service) Env() map[string]string {
	s.t.Helper()
	file := filepath.Join(s.t.TempDir(), "service.pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.tls.Certificate().Raw}), 0o600); err != nil {
		s.t.Fatal(err)
	}
	return map[string]string{"HTTPS_PROXY": s.proxy.URL, "SSL_CERT_FILE": file}
}

// connect is the proxy.
func (s *Service) connect(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodConnect || r.Host != Name+":443" {
		s.fault("the proxy was asked to %s %s", r.Method, r.Host)
		http.Error(w, "not through here", http.StatusForbidden)
		return
	}
	there, err := (&net.Dialer{}).DialContext(r.Context(), "tcp", s.tls.Listener.Addr().String())
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	defer there.Close()
	here, rest, err := http.NewResponseController(w).Hijack()
	if err != nil {
		s.fault("%v", err)
		return
	}
	defer here.Close()
	_, _ = io.WriteString(here, "HTTP/1.1 200 Connection established\r\n\r\n")
	var both sync.WaitGroup
	both.Go(func() { _, _ = io.Copy(there, rest); there.Close() })
	_, _ = io.Copy(here, there)
	here.Close()
	both.Wait()
}

// Subscribe is a browser that subscribes for messages of whoever has the key: applicationServerKey, in base64url.
func (s *Service) Subscribe(applicationServerKey string) *Device {
	s.t.Helper()
	sender, err := base64.RawURLEncoding.DecodeString(applicationServerKey)
	if err == nil {
		_, err = ecdh.P256().NewPublicKey(sender)
	}
	if err != nil {
		s.t.Fatalf("a browser refuses the key %q: %v", applicationServerKey, err)
	}
	private, err := ecdh.P256().GenerateKey(rand.Reader)
	if err != nil {
		s.t.Fatal(err)
	}
	d := &Device{service: s, private: private, auth: make([]byte, 16), sender: sender}
	_, _ = rand.Read(d.auth) // it never fails
	d.P256dh = base64.RawURLEncoding.EncodeToString(private.PublicKey().Bytes())
	d.Auth = base64.RawURLEncoding.EncodeToString(d.auth)
	s.mu.Lock()
	defer s.mu.Unlock()
	path := "/wpush/v2/" + rand.Text()
	d.Endpoint = "https://" + Name + path
	s.devices[path] = d
	return d
}

// Form is what PushSubscription.toJSON gives.
func (d *Device) Form() map[string]any {
	return map[string]any{"endpoint": d.Endpoint, "expirationTime": nil, "keys": map[string]string{"p256dh": d.P256dh, "auth": d.Auth}}
}

// Ends unsubscribes the browser: the service says 410 from now on.
func (d *Device) Ends() {
	d.service.mu.Lock()
	defer d.service.mu.Unlock()
	d.gone = true
}

// Answers has the next messages answered so, one by each, instead of taken. A message is looked at before.
func (d *Device) Answers(by ...func(http.ResponseWriter)) {
	d.service.mu.Lock()
	defer d.service.mu.Unlock()
	d.answers = append(d.answers, by...)
}

// Status answers with a status, and headers in pairs.
func Status(code int, headers ...string) func(http.ResponseWriter) {
	return func(w http.ResponseWriter) {
		for i := 0; i+1 < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		http.Error(w, http.StatusText(code), code)
	}
}

// Got are the messages that were taken.
func (d *Device) Got() []Message {
	d.service.mu.Lock()
	defer d.service.mu.Unlock()
	return slices.Clone(d.got)
}

// Tried is how many messages came, taken or not.
func (d *Device) Tried() int {
	d.service.mu.Lock()
	defer d.service.mu.Unlock()
	return d.tried
}

// Wait waits until so many messages were taken, and gives them.
func (d *Device) Wait(n int) []Message {
	d.service.t.Helper()
	d.service.until(fmt.Sprintf("%d messages", n), func() bool { return len(d.got) >= n })
	return d.Got()
}

// WaitTried waits until so many came, taken or not.
func (d *Device) WaitTried(n int) {
	d.service.t.Helper()
	d.service.until(fmt.Sprintf("%d tries", n), func() bool { return d.tried >= n })
}

// patience bounds every wait. Only a broken program gets there.
const patience = 2 * time.Minute

func (s *Service) until(what string, is func() bool) {
	s.t.Helper()
	late := time.After(patience)
	for {
		s.mu.Lock()
		yes, moved := is(), s.moved
		s.mu.Unlock()
		if yes {
			return
		}
		select {
		case <-moved:
		case <-late:
			s.t.Fatalf("the push service waits for %s in vain", what)
		}
	}
}

func (s *Service) fault(format string, a ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wrong = append(s.wrong, fmt.Sprintf(format, a...))
}

var (
	topics    = regexp.MustCompile(`^[A-Za-z0-9_-]{1,32}$`) // RFC 8030, 5.4
	urgencies = []string{"", "very-low", "low", "normal", "high"}
)

// ServeHTTP takes messages.
func (s *Service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBody+1))
	s.mu.Lock()
	defer s.mu.Unlock()
	refuse := func(code int, format string, a ...any) {
		say := fmt.Sprintf(format, a...)
		s.wrong = append(s.wrong, say)
		http.Error(w, say, code)
	}
	d := s.devices[r.URL.Path]
	switch {
	case err != nil:
		return // whoever sent it went away
	case d == nil:
		http.Error(w, "no such subscription", http.StatusNotFound)
		return
	case r.Method != http.MethodPost || r.URL.RawQuery != "":
		refuse(http.StatusMethodNotAllowed, "%s %s", r.Method, r.URL)
		return
	}
	defer func() { close(s.moved); s.moved = make(chan struct{}) }()
	d.tried++
	ttl, err := strconv.Atoi(r.Header.Get("TTL"))
	switch topic := r.Header.Get("Topic"); {
	case err != nil || ttl < 0:
		refuse(http.StatusBadRequest, "the TTL is %q", r.Header.Get("TTL"))
		return
	case topic != "" && !topics.MatchString(topic):
		refuse(http.StatusBadRequest, "the topic is %q", topic)
		return
	case !slices.Contains(urgencies, r.Header.Get("Urgency")):
		refuse(http.StatusBadRequest, "the urgency is %q", r.Header.Get("Urgency"))
		return
	case len(body) > maxBody:
		refuse(http.StatusRequestEntityTooLarge, "a message of more than %d bytes", maxBody)
		return
	case r.Header.Get("Content-Encoding") != "aes128gcm":
		refuse(http.StatusUnsupportedMediaType, "the content's encoding is %q", r.Header.Get("Content-Encoding"))
		return
	}
	subject, by, err := sender(r.Header.Get("Authorization"), "https://"+Name, time.Now())
	if err != nil {
		refuse(http.StatusUnauthorized, "who sends it: %v", err)
		return
	}
	if !bytes.Equal(by, d.sender) {
		refuse(http.StatusForbidden, "another key than the subscription's signs it")
		return
	}
	if d.gone {
		http.Error(w, "it has ended", http.StatusGone)
		return
	}
	plain, err := open(body, d.private, d.auth)
	if err != nil {
		refuse(http.StatusBadRequest, "the browser cannot read it: %v", err)
		return
	}
	if len(d.answers) > 0 {
		answer := d.answers[0]
		d.answers = d.answers[1:]
		answer(w)
		return
	}
	d.got = append(d.got, Message{Text: string(plain), TTL: time.Duration(ttl) * time.Second, Topic: r.Header.Get("Topic"), Urgency: r.Header.Get("Urgency"), Subject: subject, Size: len(body)})
	w.Header().Set("Location", "https://"+Name+"/m/"+rand.Text())
	w.WriteHeader(http.StatusCreated)
}
