package api

import (
	"slices"
	"testing"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/comanda-dev/comanda/app"
)

// The span of a request names its error. Only a failure of the server marks it as failed, as OpenTelemetry's
// conventions for HTTP servers say: a refused request is what the API is for.
func TestSpanOfARequest(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		status int
		code   app.Code
		want   codes.Code
	}{
		"successful": {200, "", codes.Unset},
		"refused":    {409, app.CodeConflict, codes.Unset},
		"failed":     {503, app.CodeUnavailable, codes.Error},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			recorder := tracetest.NewSpanRecorder()
			tracer := sdk.NewTracerProvider(sdk.WithSpanProcessor(recorder)).Tracer("test")
			_, span := tracer.Start(t.Context(), "request")

			endSpan(&exchange{status: test.status, code: test.code}, span)

			ended := recorder.Ended()
			if len(ended) != 1 {
				t.Fatalf("got %d ended spans, want 1", len(ended))
			}
			if got := ended[0].Status().Code; got != test.want {
				t.Errorf("got the status %v, want %v", got, test.want)
			}
			named := slices.Contains(ended[0].Attributes(), attribute.String("error.type", string(test.code)))
			if want := test.code != ""; named != want {
				t.Errorf("got the attributes %v, want error.type: %v", ended[0].Attributes(), want)
			}
		})
	}
}
