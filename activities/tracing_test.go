package activities

import (
	"testing"

	"go.opentelemetry.io/otel/codes"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/comanda-dev/comanda/app"
)

// An attempt that the receiver refused or that got no response marks its span as failed, with the recorded error.
func TestSpanOfAnAttempt(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		made app.MadeAttempt
		want sdk.Status
	}{
		"accepted": {app.MadeAttempt{Status: app.AttemptDelivered, StatusCode: 200}, sdk.Status{}},
		"refused": {app.MadeAttempt{Status: app.AttemptDeadLetter, StatusCode: 410, Error: "HTTP 410"},
			sdk.Status{Code: codes.Error, Description: "HTTP 410"}},
		"no response": {app.MadeAttempt{Status: app.AttemptRetrying, Error: "timeout"},
			sdk.Status{Code: codes.Error, Description: "timeout"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			recorder := tracetest.NewSpanRecorder()
			tracer := sdk.NewTracerProvider(sdk.WithSpanProcessor(recorder)).Tracer("test")
			_, span := tracer.Start(t.Context(), "deliver")

			endAttempt(span, test.made)

			ended := recorder.Ended()
			if len(ended) != 1 {
				t.Fatalf("got %d ended spans, want 1", len(ended))
			}
			if got := ended[0].Status(); got != test.want {
				t.Errorf("got the status %+v, want %+v", got, test.want)
			}
		})
	}
}
