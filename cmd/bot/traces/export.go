package traces

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"github.com/tidwall/gjson"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/nodhq/nod/core/backoff"
)

// scope is what the spans are by.
const scope = "github.com/nodhq/nod"

// New follows turns as OTEL_* in the environment say; nil where they name no collector. The sampler, the queue's bounds and the resource's
// attributes are read by the SDK. No error quotes a value.
func New(version string, log *slog.Logger) (*Traces, error) {
	to, err := newExporter(os.Getenv, log)
	if to == nil || err != nil {
		return nil, err
	}
	known, _ := lru.New[trace.TraceID, struct{}](driven) // it fails for no size only
	of, err := resource.New(context.Background(), resource.WithTelemetrySDK(), resource.WithAttributes(
		attribute.String("service.name", "nod"), attribute.String("service.version", version), attribute.String("service.instance.id", rand.Text())),
		resource.WithFromEnv()) // the operator's words go over ours
	if err != nil {
		return nil, errors.New("OTEL_RESOURCE_ATTRIBUTES is not a list of name=value")
	}
	p := sdk.NewTracerProvider(sdk.WithBatcher(to), sdk.WithResource(of), sdk.WithIDGenerator(ids{}))
	return &Traces{p, p.Tracer(scope, trace.WithInstrumentationVersion(version)), known}, nil
}

// exporter sends spans as OTLP in JSON over HTTP. The SDK's own exporter needs all of gRPC: 11 MB.
type exporter struct {
	url     string
	headers http.Header
	within  time.Duration
	client  *http.Client
	log     *slog.Logger
	failing atomic.Bool // and the log says so
}

// newExporter reads what the specification names, of which nod takes these: https://opentelemetry.io/docs/specs/otel/protocol/exporter/
func newExporter(env func(string) string, log *slog.Logger) (*exporter, error) {
	of := func(name string) (value, under string) {
		under = "OTEL_EXPORTER_OTLP_TRACES_" + name
		if value = env(under); value == "" {
			under = "OTEL_EXPORTER_OTLP_" + name
			value = env(under)
		}
		return value, under
	}
	address, under := of("ENDPOINT")
	if address == "" || env("OTEL_TRACES_EXPORTER") == "none" || strings.EqualFold(env("OTEL_SDK_DISABLED"), "true") {
		return nil, nil
	}
	at, err := url.Parse(address)
	if err != nil || at.Scheme != "http" && at.Scheme != "https" || at.Host == "" {
		return nil, fmt.Errorf("%s is not an address that begins with http:// or https://", under)
	}
	if !strings.Contains(under, "TRACES") {
		at = at.JoinPath("v1", "traces")
	}
	if protocol, under := of("PROTOCOL"); protocol == "grpc" {
		return nil, fmt.Errorf("%s is grpc: nod sends OTLP over HTTP", under)
	}
	e := &exporter{url: at.String(), headers: http.Header{}, within: 10 * time.Second, log: log}
	e.client = &http.Client{Transport: http.DefaultTransport.(*http.Transport).Clone(),
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }} // the headers are for the collector alone
	if ms, under := of("TIMEOUT"); ms != "" {
		n, err := strconv.Atoi(ms)
		if err != nil || n <= 0 {
			return nil, fmt.Errorf("%s is not a number of milliseconds", under)
		}
		e.within = time.Duration(n) * time.Millisecond
	}
	headers, under := of("HEADERS")
	for h := range strings.SplitSeq(headers, ",") {
		name, value, ok := strings.Cut(h, "=")
		value, err := url.PathUnescape(strings.TrimSpace(value))
		if strings.TrimSpace(h) == "" {
			continue
		}
		if !ok || err != nil {
			return nil, fmt.Errorf("%s is not a list of name=value", under)
		}
		e.headers.Set(strings.TrimSpace(name), value)
	}
	e.headers.Set("Content-Type", "application/json")
	return e, nil
}

// retry is the wait before a batch is sent again, within the time that one has.
var retry = backoff.Exponential{First: 500 * time.Millisecond, Most: 5 * time.Second}

// ExportSpans implements [sdk.SpanExporter]. The SDK calls it one batch after the other, away from whoever made the spans, and drops those for which
// its queue has no room. What fails is told here, once: the SDK would say it with every batch.
func (e *exporter) ExportSpans(ctx context.Context, spans []sdk.ReadOnlySpan) error {
	ctx, cancel := context.WithTimeout(ctx, e.within)
	defer cancel()
	body, err := json.Marshal(encode(spans))
	if err != nil {
		return err
	}
	for try := 0; ; try++ {
		var again bool
		if again, err = e.send(ctx, body); !again || backoff.Wait(ctx, retry.Base(try)) != nil {
			break
		}
	}
	if was := e.failing.Swap(err != nil); err != nil && !was {
		e.log.Warn("traces do not reach their collector; what it does not take in time is lost", "err", err)
	} else if err == nil && was {
		e.log.Info("traces reach their collector again")
	}
	return nil
}

// send sends once. again: it may go better soon. The error does not hold the address, which may have a key in it.
func (e *exporter) send(ctx context.Context, body []byte) (again bool, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, e.url, bytes.NewReader(body))
	if err != nil {
		return false, errors.New("the collector's address cannot be used")
	}
	r.Header = e.headers.Clone()
	res, err := e.client.Do(r)
	if ue, ok := errors.AsType[*url.Error](err); ok {
		return true, ue.Err
	}
	if err != nil {
		return true, err
	}
	defer res.Body.Close()
	said, _ := io.ReadAll(io.LimitReader(res.Body, 1<<16)) // and so the connection is kept
	if c := res.StatusCode; c < 200 || c > 299 {
		return c == http.StatusTooManyRequests || c >= 502 && c <= 504, fmt.Errorf("it answers %d", c)
	}
	partial := gjson.GetBytes(said, "partialSuccess")
	if n := partial.Get("rejectedSpans").Int(); n > 0 { // it does not want them again
		return false, fmt.Errorf("it takes %d spans less: %.200q", n, partial.Get("errorMessage").String())
	}
	return false, nil
}

// Shutdown implements [sdk.SpanExporter].
func (e *exporter) Shutdown(context.Context) error {
	e.client.CloseIdleConnections()
	return nil
}

// The OTLP message, as far as nod fills it: https://github.com/open-telemetry/opentelemetry-proto/blob/v1.7.0/opentelemetry/proto/trace/v1/trace.proto
type (
	message struct {
		ResourceSpans []resourceSpans `json:"resourceSpans"`
	}
	resourceSpans struct {
		Resource   attributes   `json:"resource"`
		ScopeSpans []scopeSpans `json:"scopeSpans"`
	}
	scopeSpans struct {
		Scope struct {
			Name    string `json:"name"`
			Version string `json:"version,omitempty"`
		} `json:"scope"`
		Spans []span `json:"spans"`
	}
	span struct {
		TraceID string `json:"traceId"`
		SpanID  string `json:"spanId"`
		Parent  string `json:"parentSpanId,omitempty"`
		Name    string `json:"name"`
		Kind    int    `json:"kind"`
		Start   int64  `json:"startTimeUnixNano,string"`
		End     int64  `json:"endTimeUnixNano,string"`
		attributes
		Status struct {
			Code int `json:"code,omitempty"`
		} `json:"status"`
	}
	attributes struct {
		Attributes []pair `json:"attributes"`
	}
	pair struct {
		Key   string         `json:"key"`
		Value map[string]any `json:"value"`
	}
)

func encode(spans []sdk.ReadOnlySpan) (m message) {
	all := scopeSpans{}
	all.Scope.Name, all.Scope.Version = spans[0].InstrumentationScope().Name, spans[0].InstrumentationScope().Version
	for _, s := range spans {
		x := span{
			TraceID: s.SpanContext().TraceID().String(), SpanID: s.SpanContext().SpanID().String(), Name: s.Name(), Kind: int(s.SpanKind()),
			Start: s.StartTime().UnixNano(), End: s.EndTime().UnixNano(), attributes: pairs(s.Attributes()),
		}
		if s.Parent().IsValid() {
			x.Parent = s.Parent().SpanID().String()
		}
		if s.Status().Code == codes.Error {
			x.Status.Code = 2
		}
		all.Spans = append(all.Spans, x)
	}
	return message{[]resourceSpans{{pairs(spans[0].Resource().Attributes()), []scopeSpans{all}}}}
}

func pairs(from []attribute.KeyValue) (to attributes) {
	for _, a := range from {
		value := map[string]any{"stringValue": a.Value.String()}
		switch a.Value.Type() {
		case attribute.BOOL:
			value = map[string]any{"boolValue": a.Value.AsBool()}
		case attribute.INT64:
			value = map[string]any{"intValue": strconv.FormatInt(a.Value.AsInt64(), 10)}
		default: // nod has texts beside these, and so has the environment
		}
		to.Attributes = append(to.Attributes, pair{string(a.Key), value})
	}
	return to
}
