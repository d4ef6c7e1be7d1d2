// Package e2e tests the real programs with a real PostgreSQL and a real Temporal server.
package e2e

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.temporal.io/sdk/client"
	temporallog "go.temporal.io/sdk/log"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/app/dev/harness"
	"github.com/comanda-dev/comanda/persistence"
	"github.com/comanda-dev/comanda/persistence/localpg"
)

// world is shared by all tests that call needWorld: the infrastructure and one API. Each test starts its own workers,
// so the tests run one after another.
type world struct {
	programs harness.Programs
	infra    *harness.Infra
	api      string
	client   *http.Client
	tls      tls.Certificate // of the development CA, for receivers
	db       *persistence.DB
	temporal client.Client
	fragile  bool // a test replaced the shared world
}

var the world

// fixture builds the programs and starts the shared world when the first test needs them.
var fixture struct {
	dir            string
	built, started sync.Once
	buildErr       error
	startErr       error
	stop           func()
}

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(run(m))
}

func run(m *testing.M) int {
	var err error
	if fixture.dir, err = os.MkdirTemp("", "comanda-e2e-*"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(fixture.dir)
	fixture.stop = func() {}
	defer func() { fixture.stop() }()
	return m.Run()
}

// needPrograms builds the programs for a test that starts its own infrastructure.
func needPrograms(t *testing.T) {
	t.Helper()
	fixture.built.Do(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 15*time.Minute) // a first build of Temporal takes minutes
		defer cancel()
		the.programs, fixture.buildErr = harness.Build(ctx, fixture.dir)
	})
	must(t, fixture.buildErr)
}

// needWorld starts the shared world, unless the test runs in a fragile world. The functions that create restaurants,
// receivers and workers call it. Without PostgreSQL, the test is skipped, but in CI it fails.
func needWorld(t *testing.T) {
	t.Helper()
	if the.fragile {
		return
	}
	needPrograms(t)
	fixture.started.Do(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
		defer cancel()
		fixture.stop, fixture.startErr = the.start(ctx, fixture.dir)
	})
	err := fixture.startErr
	if err != nil && os.Getenv("CI") != "true" && strings.Contains(err.Error(), localpg.ErrNotInstalled.Error()) {
		t.Skip(err)
	}
	must(t, err)
}

// start starts the infrastructure and an API. The returned function stops all started processes, also after an error.
func (w *world) start(ctx context.Context, dir string) (stop func(), err error) {
	var stops []func()
	stop = func() {
		for i := len(stops) - 1; i >= 0; i-- {
			stops[i]()
		}
	}
	graceful := func(p *harness.Process) func() {
		return func() {
			ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
			defer cancel()
			if err := p.Stop(ctx); err != nil {
				fmt.Fprintln(os.Stderr, err)
			}
		}
	}
	if err := os.Chmod(dir, 0o755); err != nil { // PostgreSQL may run as another user
		return stop, err
	}
	if w.infra, err = w.programs.StartInfra(ctx, filepath.Join(dir, "data")); err != nil {
		return stop, err
	}
	stops = append(stops, graceful(w.infra.Process))
	if err := w.connect(); err != nil {
		return stop, err
	}
	stops = append(stops, w.temporal.Close, func() { w.db.Close() })
	serve, url, err := w.serve(ctx, nil)
	if err != nil {
		return stop, err
	}
	w.api = url
	stops = append(stops, graceful(serve))
	return stop, nil
}

func (w *world) connect() error {
	env := w.infra.Ready.Env
	authority, err := os.ReadFile(w.infra.Ready.CAFile)
	if err != nil {
		return err
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(authority)
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}
	w.client = &http.Client{Timeout: 30 * time.Second, Transport: transport}
	if w.tls, err = tls.LoadX509KeyPair(env["COMANDA_TLS_CERT"], env["COMANDA_TLS_KEY"]); err != nil {
		return err
	}
	keyring, err := app.NewKeyring(app.NewSecret(env["COMANDA_SECRET_KEYS"]))
	if err != nil {
		return err
	}
	w.db, err = persistence.Open(persistence.Config{URL: env["DATABASE_URL"], Sealer: keyring.Sealer()})
	if err != nil {
		return err
	}
	quiet := temporallog.NewStructuredLogger(slogDiscard())
	w.temporal, err = client.Dial(client.Options{
		HostPort: env["TEMPORAL_ADDRESS"], Namespace: env["TEMPORAL_NAMESPACE"], Logger: quiet,
	})
	return err
}

// serve starts an API on a free port and returns its URL.
func (w *world) serve(ctx context.Context, settings map[string]string) (*harness.Process, string, error) {
	address, err := harness.FreeAddress()
	if err != nil {
		return nil, "", err
	}
	all := map[string]string{
		"COMANDA_LISTEN": address, "COMANDA_BASE_URL": "https://" + address,
		"COMANDA_AUTH_RATE_LIMIT": "1000",   // each restaurant logs in from here
		"COMANDA_API_RATE":        "100000", // and sends all of its requests with few credentials
		"COMANDA_API_BURST":       "100000",
	}
	for k, v := range settings {
		all[k] = v
	}
	process, err := w.programs.StartComanda(ctx, w.infra, "serve", all)
	return process, "https://" + address, err
}

// worker starts a worker, which ends at the end of the test at the latest.
func worker(t *testing.T, settings map[string]string) *harness.Process {
	t.Helper()
	needWorld(t)
	process, err := the.programs.StartComanda(t.Context(), the.infra, "worker", settings)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(process.Kill)
	return process
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// eventually calls try until it returns no error. After 90 s, or ten minutes with -long, it fails the test with the
// last error.
func eventually(t *testing.T, what string, try func() error) {
	t.Helper()
	patience := 90 * time.Second
	if *long {
		patience = 10 * time.Minute
	}
	deadline := time.After(patience)
	for {
		err := try()
		if err == nil {
			return
		}
		select {
		case <-deadline:
			t.Fatalf("%s: %v", what, err)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

var errNotYet = errors.New("not yet")
