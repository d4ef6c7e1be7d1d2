package api

import (
	"context"
	"net/http"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// startSpan starts the span of a request. It continues the trace of the caller (header traceparent) only if the caller
// is a trusted proxy. The trace of any other caller becomes a link: otherwise every client could force its requests to
// be recorded.
func (s *Server) startSpan(ctx context.Context, r *http.Request) (context.Context, trace.Span) {
	caller := propagation.TraceContext{}.Extract(ctx, propagation.HeaderCarrier(r.Header))
	options := []trace.SpanStartOption{trace.WithSpanKind(trace.SpanKindServer)}
	switch remote := trace.SpanContextFromContext(caller); {
	case s.trusted(peer(r)):
		ctx = caller
	case remote.IsValid():
		options = append(options, trace.WithLinks(trace.Link{SpanContext: remote}))
	}
	return otel.Tracer("comanda/api").Start(ctx, "request", options...)
}

// endSpan ends the span of a request. Like the access log, it omits the query and everything else that a client sends.
func endSpan(x *exchange, span trace.Span) {
	if !span.IsRecording() {
		return
	}
	if x.route != nil {
		span.SetName(x.route.Method + " " + x.route.Path)
		span.SetAttributes(attribute.String("http.request.method", x.route.Method),
			attribute.String("http.route", x.route.Path))
	}
	span.SetAttributes(attribute.Int("http.response.status_code", x.status),
		attribute.String("comanda.request.id", string(x.id)))
	if x.principal.StoreID != "" {
		span.SetAttributes(attribute.String("comanda.store.id", string(x.principal.StoreID)))
	}
	if x.code != "" {
		span.SetAttributes(attribute.String("error.type", string(x.code)))
	}
	if x.status >= http.StatusInternalServerError {
		span.SetStatus(codes.Error, string(x.code))
	}
	span.End()
}
