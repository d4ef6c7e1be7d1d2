package activities

import (
	"context"
	"net/http"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/comanda-dev/comanda/app"
)

// startAttempt starts the span of an attempt in the trace of the request that caused the event, and adds its ids
// to the headers for the receiver (W3C Trace Context). It neither records nor adds anything if tracing is off. The URL
// is not recorded, because it can contain a secret.
func startAttempt(ctx context.Context, outgoing app.Outgoing, headers http.Header) (context.Context, trace.Span) {
	propagator := propagation.TraceContext{}
	ctx = propagator.Extract(ctx, propagation.MapCarrier{"traceparent": outgoing.TraceContext})
	ctx, span := otel.Tracer("comanda/activities").Start(ctx, "deliver "+string(outgoing.EventType),
		trace.WithSpanKind(trace.SpanKindClient),
		trace.WithAttributes(
			attribute.String("http.request.method", http.MethodPost),
			attribute.String("comanda.store.id", string(outgoing.StoreID)),
			attribute.String("comanda.event.id", string(outgoing.EventID)),
			attribute.String("comanda.webhook.id", string(outgoing.SubscriptionID)),
			attribute.String("temporal.workflow.id", app.DeliveryWorkflowID(outgoing.EventID, outgoing.SubscriptionID)),
		))
	propagator.Inject(ctx, propagation.HeaderCarrier(headers))
	return ctx, span
}

// endAttempt ends the span of an attempt with its outcome.
func endAttempt(span trace.Span, made app.MadeAttempt) {
	if made.StatusCode != 0 {
		span.SetAttributes(attribute.Int("http.response.status_code", made.StatusCode))
	}
	if made.Status != app.AttemptDelivered {
		span.SetStatus(codes.Error, made.Error)
	}
	span.End()
}
