package boot

import (
	"strings"
	"testing"
)

func TestLoadTracing(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		environ map[string]string
		want    tracing
	}{
		"off by default": {nil, tracing{}},
		"an endpoint":    {map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "http://collector:4318"}, tracing{on: true}},
		"the exporter":   {map[string]string{"OTEL_TRACES_EXPORTER": "otlp"}, tracing{on: true}},
		"no exporter":    {map[string]string{"OTEL_EXPORTER_OTLP_ENDPOINT": "x", "OTEL_TRACES_EXPORTER": "none"}, tracing{}},
		"the SDK disabled": {map[string]string{
			"OTEL_TRACES_EXPORTER": "otlp", "OTEL_SDK_DISABLED": "true",
		}, tracing{}},
		"gRPC": {map[string]string{"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, tracing{grpc: true}},
		"a protocol of traces": {map[string]string{
			"OTEL_EXPORTER_OTLP_PROTOCOL": "grpc", "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL": "http/protobuf",
		}, tracing{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got, err := loadTracing(test.environ); err != nil || got != test.want {
				t.Errorf("got %+v and %v, want %+v", got, err, test.want)
			}
		})
	}
	for name, value := range map[string]string{
		"OTEL_TRACES_EXPORTER": "zipkin", "OTEL_EXPORTER_OTLP_PROTOCOL": "http/json",
	} {
		t.Run(value, func(t *testing.T) {
			t.Parallel()
			_, err := loadTracing(map[string]string{name: value})
			if err == nil || !strings.HasPrefix(err.Error(), name+": ") {
				t.Errorf("got %v, want an error that names %s", err, name)
			}
		})
	}
}
