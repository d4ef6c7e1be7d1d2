package boot

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/grpc"
)

// namespace is a Temporal client for a namespace that accepts or refuses new search attributes.
type namespace struct {
	client.Client
	operatorservice.OperatorServiceClient

	refusal error
}

func (n namespace) OperatorService() operatorservice.OperatorServiceClient { return n }

func (n namespace) ListSearchAttributes(
	context.Context, *operatorservice.ListSearchAttributesRequest, ...grpc.CallOption,
) (*operatorservice.ListSearchAttributesResponse, error) {
	return &operatorservice.ListSearchAttributesResponse{}, nil
}

func (n namespace) AddSearchAttributes(
	context.Context, *operatorservice.AddSearchAttributesRequest, ...grpc.CallOption,
) (*operatorservice.AddSearchAttributesResponse, error) {
	return nil, n.refusal
}

func (n namespace) CountWorkflow(
	context.Context, *workflowservice.CountWorkflowExecutionsRequest,
) (*workflowservice.CountWorkflowExecutionsResponse, error) {
	return nil, nil
}

// If the namespace has no room for the search attributes of bursts, a worker starts with bursts disabled, logs an error
// and sets the metric to 0.
func TestBurstsRequireSearchAttributes(t *testing.T) {
	t.Parallel()
	full := serviceerror.NewInvalidArgument("cannot have more than 3 search attribute of type KeywordList.")
	for _, test := range []struct {
		set, want burst
		refusal   error
		logged    string
		enabled   float64
	}{
		{burstAuto, burstAuto, nil, "", 1},
		{burstAlways, burstAlways, nil, "", 1},
		{burstOff, burstOff, nil, "", 0},
		{burstAuto, burstOff, full, "bursts are disabled", 0},
	} {
		var log bytes.Buffer
		metrics := prometheus.NewRegistry()
		temporal := namespace{refusal: test.refusal}
		got, err := admitBursts(t.Context(), Config{Burst: test.set}, temporal, metrics, zerolog.New(&log))
		logged := log.Len() == 0 && test.logged == "" || test.logged != "" && strings.Contains(
			log.String(), test.logged,
		)
		if err != nil || got != test.want || !logged {
			t.Errorf("setting %q with refusal %v: %q, %v, log %q, want %q and log %q",
				test.set, test.refusal, got, err, log.String(), test.want, test.logged)
		}
		families, err := metrics.Gather()
		if err != nil || families[0].GetName() != "comanda_bursts_enabled" ||
			families[0].GetMetric()[0].GetGauge().GetValue() != test.enabled {
			t.Errorf("setting %q: metrics %v, %v, want comanda_bursts_enabled %v",
				test.set, families, err, test.enabled)
		}
	}
}
