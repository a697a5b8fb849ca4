// Package fakecollector is an OpenTelemetry collector for tests: it takes traces by OTLP in JSON over HTTP, as the specification spells it, and keeps
// them, what was wrong with them, and every byte that came. It has rules of its own and knows nothing of nod.
//
// https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding
package fakecollector

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"
)

// Collector is the stand-in.
type Collector struct {
	URL string // for OTEL_EXPORTER_OTLP_ENDPOINT

	mu      sync.Mutex
	answer  func(http.ResponseWriter, *http.Request) bool
	spans   []Span
	wrong   []string
	raw     bytes.Buffer
	headers []http.Header
}

// Span is one, with the attributes of its resource.
type Span struct {
	Trace, ID, Parent, Name string
	Kind                    int
	Start, End              time.Time
	Failed                  bool
	Attributes, Resource    map[string]any
}

// Start begins to listen, until the test is over. What is wrong with what comes fails the test then.
func Start(t testing.TB) *Collector {
	c := &Collector{}
	s := httptest.NewServer(c)
	c.URL = s.URL
	t.Cleanup(func() {
		s.Close()
		for _, w := range c.wrong {
			t.Error("the collector: " + w)
		}
	})
	return c
}

// Answer has requests answered by f where it reports that it did, instead of being taken.
func (c *Collector) Answer(f func(http.ResponseWriter, *http.Request) (answered bool)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.answer = f
}

// Spans are all that came, in order.
func (c *Collector) Spans() []Span {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.spans)
}

// Named are those of that name.
func (c *Collector) Named(name string) []Span {
	return slices.DeleteFunc(c.Spans(), func(s Span) bool { return s.Name != name })
}

// Raw is every byte that came.
func (c *Collector) Raw() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.raw.String()
}

// Headers are those of every request.
func (c *Collector) Headers() []http.Header {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.headers)
}

// ServeHTTP takes POST /v1/traces.
func (c *Collector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	c.mu.Lock()
	c.headers = append(c.headers, r.Header)
	answer := c.answer
	c.mu.Unlock()
	if answer != nil && answer(w, r) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.raw.Write(body)
	if r.Method != http.MethodPost || r.URL.Path != "/v1/traces" || r.Header.Get("Content-Type") != "application/json" {
		c.wrong = append(c.wrong, fmt.Sprintf("%s %s of %q", r.Method, r.URL.Path, r.Header.Get("Content-Type")))
	}
	spans, wrong := read(body)
	c.spans, c.wrong = append(c.spans, spans...), append(c.wrong, wrong...)
	w.Header().Set("Content-Type", "application/json")
	_, _ = io.WriteString(w, "{}")
}

type pairs []struct {
	Key   string `json:"key"`
	Value struct {
		String *string  `json:"stringValue"`
		Bool   *bool    `json:"boolValue"`
		Int    *string  `json:"intValue"` // 64 bits are text in protobuf's JSON
		Double *float64 `json:"doubleValue"`
	} `json:"value"`
}

type message struct {
	ResourceSpans []struct {
		Resource struct {
			Attributes pairs `json:"attributes"`
		} `json:"resource"`
		ScopeSpans []struct {
			Scope struct {
				Name    string `json:"name"`
				Version string `json:"version"`
			} `json:"scope"`
			Spans []struct {
				TraceID    string `json:"traceId"`
				SpanID     string `json:"spanId"`
				Parent     string `json:"parentSpanId"`
				Name       string `json:"name"`
				Kind       int    `json:"kind"`
				Start      string `json:"startTimeUnixNano"`
				End        string `json:"endTimeUnixNano"`
				Attributes pairs  `json:"attributes"`
				Status     struct {
					Code int `json:"code"`
				} `json:"status"`
			} `json:"spans"`
		} `json:"scopeSpans"`
	} `json:"resourceSpans"`
}

// read reads a message and says what is wrong with it.
func read(body []byte) (spans []Span, wrong []string) {
	say := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	var m message
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	if err := d.Decode(&m); err != nil {
		say("%v in %s", err, body)
	}
	id := func(what, text string, size int) {
		if b, err := hex.DecodeString(text); err != nil || len(b) != size || bytes.Count(b, []byte{0}) == size {
			say("%s is %q", what, text)
		}
	}
	at := func(text string) time.Time {
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil || n <= 0 {
			say("the time %q", text)
		}
		return time.Unix(0, n)
	}
	named := func(p pairs) map[string]any {
		all := map[string]any{}
		for _, a := range p {
			if _, twice := all[a.Key]; twice || a.Key == "" {
				say("the attribute %q", a.Key)
			}
			switch v := a.Value; {
			case v.String != nil:
				all[a.Key] = *v.String
			case v.Bool != nil:
				all[a.Key] = *v.Bool
			case v.Double != nil:
				all[a.Key] = *v.Double
			case v.Int != nil:
				n, err := strconv.Atoi(*v.Int)
				if err != nil {
					say("%s is %q", a.Key, *v.Int)
				}
				all[a.Key] = n
			default:
				say("%s has no value", a.Key)
			}
		}
		return all
	}
	for _, rs := range m.ResourceSpans {
		resource := named(rs.Resource.Attributes)
		if resource["service.name"] == nil {
			say("a resource without service.name")
		}
		for _, ss := range rs.ScopeSpans {
			for _, s := range ss.Spans {
				id("a trace", s.TraceID, 16)
				id("a span", s.SpanID, 8)
				if s.Parent != "" {
					id("a parent", s.Parent, 8)
				}
				x := Span{s.TraceID, s.SpanID, s.Parent, s.Name, s.Kind, at(s.Start), at(s.End), s.Status.Code == 2, named(s.Attributes), resource}
				if x.Name == "" || x.Kind < 1 || x.Kind > 5 || x.End.Before(x.Start) || s.Status.Code < 0 || s.Status.Code > 2 {
					say("the span %+v", x)
				}
				spans = append(spans, x)
			}
		}
	}
	return spans, wrong
}
