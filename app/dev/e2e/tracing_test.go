package e2e

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracing "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"
)

// spans is a collector of OpenTelemetry. It keeps the spans that it receives over OTLP.
type spans struct {
	lock sync.Mutex
	all  []exportedSpan
}

type exportedSpan struct {
	*tracing.Span

	name string // with the service
}

func (s *spans) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	var request collector.ExportTraceServiceRequest
	if err != nil || r.URL.Path != "/v1/traces" || proto.Unmarshal(body, &request) != nil {
		http.Error(w, "not a trace", http.StatusBadRequest)
		return
	}
	s.lock.Lock()
	defer s.lock.Unlock()
	for _, process := range request.ResourceSpans {
		service := ""
		for _, attribute := range process.Resource.Attributes {
			if attribute.Key == "service.name" {
				service = attribute.Value.GetStringValue()
			}
		}
		for _, scope := range process.ScopeSpans {
			for _, span := range scope.Spans {
				s.all = append(s.all, exportedSpan{span, service + ": " + span.Name})
			}
		}
	}
}

// await waits for a span of a service, of a trace if it is given. The worker may make attempts of other tests too.
func (s *spans) await(t *testing.T, name string, trace []byte) (found *tracing.Span) {
	t.Helper()
	eventually(t, "the collector has the span "+name, func() error {
		s.lock.Lock()
		defer s.lock.Unlock()
		var names []string
		for _, span := range s.all {
			if span.name == name && (trace == nil || bytes.Equal(span.TraceId, trace)) {
				found = span.Span
				return nil
			}
			names = append(names, span.name)
		}
		return fmt.Errorf("spans: %s", strings.Join(names, ", "))
	})
	return found
}

// A trace connects the request that places an order with the request to the receiver, through the outbox and the
// workflow, and the log of the API names it.
func TestTraceFromOrderToReceiver(t *testing.T) {
	t.Parallel()
	exported := &spans{}
	server := httptest.NewServer(exported)
	t.Cleanup(server.Close)
	settings := map[string]string{
		"OTEL_EXPORTER_OTLP_ENDPOINT": server.URL, "OTEL_BSP_SCHEDULE_DELAY": "100",
	}
	serve, url, err := worldOf(t).serve(t.Context(), settings)
	must(t, err)
	t.Cleanup(serve.Kill)
	worker(t, settings)
	positions := make(chan string, 10)
	h := newHook(t, func(_ int, w http.ResponseWriter, r *http.Request) {
		positions <- r.Header.Get("Traceparent")
		w.WriteHeader(http.StatusNoContent)
	})
	r := newRestaurant(t)
	r.login(url)
	r.subscribe(h)
	r.order()
	h.await(t)

	request := exported.await(t, "comanda-serve: POST /orders", nil)
	attempt := exported.await(t, "comanda-worker: deliver order.created", request.TraceId)
	trace := hex.EncodeToString(request.TraceId)
	if got, want := hex.EncodeToString(attempt.ParentSpanId), hex.EncodeToString(request.SpanId); got != want {
		t.Errorf("parent of the attempt: got %s, want the request, %s", got, want)
	}
	if got, want := <-positions, "00-"+trace+"-"+hex.EncodeToString(attempt.SpanId)+"-01"; got != want {
		t.Errorf("traceparent at the receiver: got %q, want %q", got, want)
	}
	if !strings.Contains(serve.Output(), `"traceId":"`+trace+`"`) {
		t.Errorf("the log of the API does not contain the trace %s", trace)
	}
	for _, span := range []*tracing.Span{request, attempt} {
		for _, attribute := range span.Attributes {
			value := attribute.Value.GetStringValue()
			if strings.Contains(value, "Ada") || strings.Contains(value, h.url) {
				t.Errorf("%s: got the attribute %s = %s, want neither persons nor URLs", span.Name, attribute.Key, value)
			}
		}
	}
}
