package boot

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/rs/zerolog"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// flushTimeout limits the export of the last spans of a stopping process.
const flushTimeout = 5 * time.Second

// tracing is the configuration of the export of spans.
type tracing struct {
	on   bool
	grpc bool // otherwise over HTTP
}

// loadTracing reads those standard variables of OpenTelemetry that its exporter ignores. Tracing is on if an endpoint
// or the exporter is set.
func loadTracing(environ map[string]string) (tracing, error) {
	exporter := environ["OTEL_TRACES_EXPORTER"]
	if exporter != "" && exporter != "otlp" && exporter != "none" {
		return tracing{}, fmt.Errorf("OTEL_TRACES_EXPORTER: %q is not supported; use otlp or none", exporter)
	}
	protocol := cmp.Or(environ["OTEL_EXPORTER_OTLP_TRACES_PROTOCOL"], environ["OTEL_EXPORTER_OTLP_PROTOCOL"])
	if protocol != "" && protocol != "grpc" && protocol != "http/protobuf" {
		return tracing{}, fmt.Errorf(
			"OTEL_EXPORTER_OTLP_PROTOCOL: %q is not supported; use grpc or http/protobuf", protocol)
	}
	endpoint := cmp.Or(environ["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"], environ["OTEL_EXPORTER_OTLP_ENDPOINT"])
	return tracing{
		on:   environ["OTEL_SDK_DISABLED"] != "true" && exporter != "none" && (exporter != "" || endpoint != ""),
		grpc: protocol == "grpc",
	}, nil
}

// startTracing starts the export of the spans of the process with OTLP. The standard variables of OpenTelemetry
// configure it (OTEL_EXPORTER_OTLP_…, OTEL_TRACES_SAMPLER, OTEL_RESOURCE_ATTRIBUTES); without them, tracing is off and
// costs nothing. stop exports the remaining spans. While the collector is unreachable, spans are lost and nothing else
// is delayed.
func startTracing(
	ctx context.Context, config tracing, service string, log zerolog.Logger,
) (stop func(), err error) {
	if !config.on {
		return func() {}, nil
	}
	client := otlptracehttp.NewClient()
	if config.grpc {
		client = otlptracegrpc.NewClient()
	}
	exporter, err := otlptrace.New(ctx, client)
	if err != nil {
		return nil, fmt.Errorf("OTEL_EXPORTER_OTLP_ENDPOINT: %w", err)
	}
	// Attributes of the environment, such as OTEL_SERVICE_NAME, take precedence.
	attributes, err := resource.New(ctx, resource.WithAttributes(attribute.String("service.name", service)),
		resource.WithHost(), resource.WithFromEnv())
	if err != nil {
		return nil, fmt.Errorf("OTEL_RESOURCE_ATTRIBUTES: %w", err)
	}
	provider := sdktrace.NewTracerProvider(sdktrace.WithBatcher(exporter), sdktrace.WithResource(attributes))
	otel.SetTracerProvider(provider)
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) {
		log.Warn().Err(err).Msg("cannot export traces")
	}))
	return func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushTimeout)
		defer cancel()
		if err := provider.Shutdown(ctx); err != nil {
			log.Warn().Err(err).Msg("cannot export the last traces")
		}
	}, nil
}
