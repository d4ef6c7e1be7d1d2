package boot

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rs/zerolog"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	grpchealth "google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"

	"github.com/comanda-dev/comanda/persistence/persistencetest"
)

// A URL of another host must decide whether connections are encrypted. sslmode=verify-ca and a private authority are
// covered by the driver.
func TestEncryptionOf(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]struct {
		warning string
		err     error
	}{
		"postgres://u@db/comanda":                                             {"", errUndecided},
		"postgres://u@db/comanda?sslmode=prefer":                              {"", errUndecided},
		"postgres://u@db/comanda?sslmode=allow":                               {"", errUndecided},
		"postgres://u@10.0.0.1/comanda":                                       {"", errUndecided},
		"postgres://u@localhost,db/comanda":                                   {"", errUndecided},
		"host=db user=u dbname=comanda":                                       {"", errUndecided},
		"postgres://u@db/comanda?sslmode=disable":                             {unencrypted, nil},
		"postgres://u@localhost,db/comanda?sslmode=disable":                   {unencrypted, nil},
		"postgres://u@db/comanda?sslmode=require":                             {unverified, nil},
		"postgres://u@db/comanda?sslmode=verify-ca":                           {"", nil},
		"postgres://u@db/comanda?sslmode=verify-full":                         {"", nil},
		"postgres://u@localhost/comanda":                                      {"", nil},
		"postgres://u@127.0.0.1:5433/comanda?sslmode=disable":                 {"", nil},
		"postgres://u@[::1]/comanda?sslmode=prefer":                           {"", nil},
		"postgres:///comanda?host=/var/run/postgresql&user=u":                 {"", nil},
		"postgres://u@primary,standby/comanda?sslmode=verify-full&port=1,2":   {"", nil},
		"postgres://u@primary,standby/comanda?target_session_attrs=primary":   {"", errUndecided},
		"postgres://u@localhost.example.com/comanda?sslmode=disable&port=100": {unencrypted, nil},
	} {
		if warning, err := encryptionOf(url); warning != want.warning || !errors.Is(err, want.err) {
			t.Errorf("%s: got %q and error %v, want %q and %v", url, warning, err, want.warning, want.err)
		}
	}
}

// Every command that connects refuses such a URL, without a connection, and names its variable.
func TestUndecidedEncryptionIsRefused(t *testing.T) {
	t.Parallel()
	const undecided = "postgres://u:swordfish@192.0.2.1/comanda"
	commands := map[string]func(environ map[string]string) error{
		"serve": func(environ map[string]string) error {
			_, err := Load(environ, API)
			return err
		},
		"migrate up": func(environ map[string]string) error {
			return Migrate(t.Context(), environ["DATABASE_URL"], nil)
		},
		"migrate down": func(environ map[string]string) error {
			return Revert(t.Context(), environ["DATABASE_URL"], false, nil)
		},
		"migrate status": func(environ map[string]string) error {
			return ListMigrations(t.Context(), environ["DATABASE_URL"], nil)
		},
		"admin reseal": func(environ map[string]string) error { return Reseal(t.Context(), environ, nil) },
	}
	for name, command := range commands {
		variables := []string{"DATABASE_URL"}
		if !strings.HasPrefix(name, "migrate") {
			variables = append(variables, "COMANDA_SYSTEM_DATABASE_URL")
		}
		for _, variable := range variables {
			err := command(with(variable, undecided))
			if !strings.Contains(err.Error(), variable+": "+errUndecided.Error()) ||
				strings.Contains(err.Error(), "swordfish") {
				t.Errorf("%s with %s: got error %v, want errUndecided", name, variable, err)
			}
		}
	}
}

// A starting process names the connections that are not encrypted, or not to a verified server.
func TestWarningsOfConnections(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		environ map[string]string
		want    []string // variable and warning
	}{
		"on this host": {with("TEMPORAL_ADDRESS", "localhost:7233"), nil},
		"defaults":     {with(), nil},
		"compose": {
			with("DATABASE_URL", "postgres://u@db/comanda?sslmode=disable", "COMANDA_SYSTEM_DATABASE_URL",
				"postgres://s@db/comanda?sslmode=disable", "TEMPORAL_ADDRESS", "temporal:7233"),
			[]string{
				"DATABASE_URL: " + unencrypted, "COMANDA_SYSTEM_DATABASE_URL: " + unencrypted,
				"TEMPORAL_ADDRESS: " + unencrypted,
			},
		},
		"not verified": {
			with("DATABASE_URL", "postgres://u@db/comanda?sslmode=require", "TEMPORAL_ADDRESS", "temporal:7233",
				"TEMPORAL_TLS_DISABLE_HOST_VERIFICATION", "true"),
			[]string{"DATABASE_URL: " + unverified, "TEMPORAL_ADDRESS: " + unverified},
		},
		"verified": {
			with("DATABASE_URL", "postgres://u@db/comanda?sslmode=verify-full", "TEMPORAL_ADDRESS", "temporal:7233",
				"TEMPORAL_TLS", "true"), nil,
		},
		"with a key of Temporal": {with("TEMPORAL_ADDRESS", "temporal:7233", "TEMPORAL_API_KEY", "key"), nil},
	} {
		config, err := Load(c.environ, API)
		persistencetest.Must(t, err)
		var log bytes.Buffer
		config.warnOfConnections(zerolog.New(&log))
		if got := strings.Count(log.String(), "\n"); got != len(c.want) {
			t.Errorf("%s: got %d warnings, want %d:\n%s", name, got, len(c.want), &log)
		}
		for _, want := range c.want {
			variable, warning, _ := strings.Cut(want, ": ")
			line := `{"level":"warn","variable":"` + variable + `","message":"` + warning + `"}`
			if !strings.Contains(log.String(), line+"\n") {
				t.Errorf("%s: got the log\n%swant the line %s", name, &log, line)
			}
		}
	}
}

// With the variables of Temporal's clients, Comanda and Temporal verify each other: neither accepts a peer with another
// certificate.
func TestTemporalOverTLS(t *testing.T) {
	t.Parallel()
	temporal, comanda, other := selfSigned(t, "temporal.example"), selfSigned(t, "comanda"), selfSigned(t, "other")
	address := serveTemporal(t, temporal.cert, temporal.key, comanda.cert)
	check := func(ca, cert, key []byte) error {
		dir := t.TempDir()
		file := func(name string, content []byte) string {
			path := filepath.Join(dir, name)
			write(t, path, content)
			return path
		}
		config, err := Load(with("TEMPORAL_ADDRESS", address, "TEMPORAL_TLS", "true",
			"TEMPORAL_TLS_SERVER_NAME", "temporal.example", "TEMPORAL_TLS_SERVER_CA_CERT_PATH", file("ca.crt", ca),
			"TEMPORAL_TLS_CLIENT_CERT_PATH", file("tls.crt", cert),
			"TEMPORAL_TLS_CLIENT_KEY_PATH", file("tls.key", key)), Worker)
		persistencetest.Must(t, err)
		connection, err := temporalClient(config, zerolog.Nop())
		persistencetest.Must(t, err)
		defer connection.Close()
		_, err = connection.CheckHealth(t.Context(), &client.CheckHealthRequest{})
		return err
	}
	if err := check(temporal.cert, comanda.cert, comanda.key); err != nil {
		t.Errorf("with the right certificates: got error %v", err)
	}
	if check(temporal.cert, other.cert, other.key) == nil {
		t.Error("Temporal accepts a client with another certificate")
	}
	if err := check(other.cert, comanda.cert, comanda.key); err == nil || !strings.Contains(err.Error(), "x509") {
		t.Errorf("server with another certificate: got error %v, want one of x509", err)
	}
}

// serveTemporal serves the health check of Temporal to clients with one certificate, and returns the address.
func serveTemporal(t *testing.T, cert, key, clients []byte) string {
	t.Helper()
	pair, err := tls.X509KeyPair(cert, key)
	persistencetest.Must(t, err)
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(clients)
	server := grpc.NewServer(grpc.Creds(credentials.NewTLS(&tls.Config{
		Certificates: []tls.Certificate{pair}, ClientAuth: tls.RequireAndVerifyClientCert, ClientCAs: pool,
		MinVersion: tls.VersionTLS12,
	})))
	workflowservice.RegisterWorkflowServiceServer(server, workflowservice.UnimplementedWorkflowServiceServer{})
	healthy := grpchealth.NewServer()
	healthy.SetServingStatus("temporal.api.workflowservice.v1.WorkflowService",
		grpc_health_v1.HealthCheckResponse_SERVING)
	grpc_health_v1.RegisterHealthServer(server, healthy)
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	persistencetest.Must(t, err)
	go server.Serve(listener) //nolint:errcheck // until Stop
	t.Cleanup(server.Stop)
	return listener.Addr().String()
}
