package temporaldev

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"
	"go.temporal.io/server/common/config"
	"go.temporal.io/server/common/dynamicconfig"
	"go.temporal.io/server/common/log/tag"

	"github.com/comanda-dev/comanda/persistence/localpg"
)

// TestPortTaken checks that an error that would end the process is an error of Start instead.
func TestPortTaken(t *testing.T) {
	t.Parallel()
	o := Options{Namespace: "default", Retention: 24 * time.Hour, Log: io.Discard}
	o.StoreURL, o.VisibilityURL = databases(t)
	o.Ports = freePorts(t)
	listener, err := net.Listen("tcp", address(o.Ports.Matching))
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	server, err := Start(t.Context(), o)
	if err == nil {
		t.Fatal("the server started", server.Stop(t.Context()))
	}
	if !strings.Contains(err.Error(), address(o.Ports.Matching)) || !strings.Contains(err.Error(), "in use") {
		t.Errorf("got error %q, want one that names the port", err)
	}
}

// databases returns the URLs of two empty databases.
func databases(t *testing.T) (store, visibility string) {
	t.Helper()
	server, err := localpg.Start(t.Context(), localpg.Options{})
	if errors.Is(err, localpg.ErrNotInstalled) && os.Getenv("CI") != "true" {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	conn, err := pgx.Connect(t.Context(), server.URL("postgres"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	for _, name := range []string{"store", "visibility"} {
		if _, err := conn.Exec(t.Context(), "CREATE DATABASE "+name); err != nil {
			t.Fatal(err)
		}
	}
	return server.URL("store"), server.URL("visibility")
}

func TestTuning(t *testing.T) {
	t.Parallel()
	visibility := dynamicconfig.VisibilityProcessorMaxPollRPS.Key()
	read := dynamicconfig.MatchingNumTaskqueueReadPartitions.Key()
	defaults := dynamicConfig(Tuning{})
	if defaults[visibility] != visibilityPollRPS || defaults[read] != nil {
		t.Errorf("without tuning: got %v and %v, want 2 and no value", defaults[visibility], defaults[read])
	}
	tuned := dynamicConfig(Tuning{VisibilityPollRPS: 20, Partitions: 1})
	if tuned[visibility] != 20 || tuned[read] != 1 {
		t.Errorf("with tuning: got %v and %v, want 20 and 1", tuned[visibility], tuned[read])
	}
}

// TestComposeConfiguration checks that the Temporal server of docker-compose.yml has the same settings for deliveries.
func TestComposeConfiguration(t *testing.T) {
	t.Parallel()
	contents, err := os.ReadFile("../../../deploy/temporal.yaml")
	if err != nil {
		t.Fatal(err)
	}
	result := dynamicconfig.LoadYamlFile(contents)
	if len(result.Errors) > 0 || len(result.Warnings) > 0 {
		t.Fatal(result.Errors, result.Warnings)
	}
	ours := dynamicConfig(Tuning{})
	for _, key := range []dynamicconfig.Key{
		dynamicconfig.MatchingEnableFairness.Key(), dynamicconfig.VisibilityProcessorMaxPollRPS.Key(),
	} {
		values := result.Map[key]
		if len(values) != 1 || values[0].Value != ours[key] {
			t.Errorf("%s: got %v, want %v", key, values, ours[key])
		}
	}
	if len(result.Map) != 2 {
		t.Errorf("got other settings: %v", result.Map)
	}
}

func TestParseURL(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]config.SQL{
		"postgres://u:p@h:1/d?sslmode=require&application_name=a": {
			User: "u", Password: "p", ConnectAddr: "h:1", DatabaseName: "d",
			ConnectAttributes: map[string]string{"sslmode": "require", "application_name": "a"},
		},
		"postgres://a%40b:p%2Fq@h/d": {
			User: "a@b", Password: "p/q", ConnectAddr: "h", DatabaseName: "d",
			ConnectAttributes: map[string]string{"sslmode": "prefer"},
		},
	} {
		t.Run(text, func(t *testing.T) {
			want.PluginName, want.ConnectProtocol = "postgres12_pgx", "tcp"
			want.MaxConns, want.MaxIdleConns = storeConnections, storeConnections
			got, err := parseURL(text)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(&want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", text, diff)
			}
		})
	}
}

func TestLogger(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	failed := make(chan error, 1)
	logger := newLogger(&out, failed)
	logger.Info("chatter")
	logger.Warn("warning")
	go func() {
		logger.Fatal("fatal", tag.Error(errors.New("cause")))
		t.Error("Fatal returned")
	}()
	if err := <-failed; err.Error() != "the Temporal server: fatal: cause" {
		t.Errorf("got error %q", err)
	}
	if text := out.String(); strings.Contains(text, "chatter") || !strings.Contains(text, "warning") {
		t.Errorf("got log %q, want only the warning", text)
	}
}
