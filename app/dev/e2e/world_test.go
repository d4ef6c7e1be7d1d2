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
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.temporal.io/sdk/client"
	temporallog "go.temporal.io/sdk/log"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/app/dev/harness"
	"github.com/comanda-dev/comanda/app/freeport"
	"github.com/comanda-dev/comanda/persistence"
	"github.com/comanda-dev/comanda/persistence/localpg"
)

var long = flag.Bool("long", false, "test at full size: minutes instead of seconds")

// world is an installation: the infrastructure and one API. A test starts its own workers, so it has the world for
// itself.
type world struct {
	programs harness.Programs
	infra    *harness.Infra
	api      string
	client   *http.Client
	tls      tls.Certificate // of the development CA, for receivers
	db       *persistence.DB
	temporal client.Client
}

// fixture builds the programs once and keeps the worlds.
var fixture struct {
	dir      string
	built    sync.Once
	programs harness.Programs
	buildErr error

	lock sync.Mutex
	used map[string]*world // by the names of their tests
	free []*world
	stop []func()
}

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(run(m))
}

func run(m *testing.M) int {
	var err error
	if fixture.dir, err = os.MkdirTemp(localpg.TempDir(), "comanda-e2e-*"); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(fixture.dir)
	if err := os.Chmod(fixture.dir, 0o755); err != nil { // PostgreSQL may run as another user
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fixture.used = map[string]*world{}
	defer func() {
		for _, stop := range slices.Backward(fixture.stop) {
			stop()
		}
	}()
	return m.Run()
}

// programs returns the built programs.
func programs(t *testing.T) harness.Programs {
	t.Helper()
	fixture.built.Do(func() {
		// A first build of Temporal takes minutes.
		ctx, cancel := context.WithTimeout(context.Background(), 15*time.Minute)
		defer cancel()
		fixture.programs, fixture.buildErr = harness.Build(ctx, fixture.dir)
	})
	must(t, fixture.buildErr)
	return fixture.programs
}

// worldOf returns the world of a test or of the test that contains it. Without one, the test gets a world that no other
// test uses until its end. Without PostgreSQL, the test is skipped, but in CI it fails.
func worldOf(t *testing.T) *world {
	t.Helper()
	w, mine := lookUp(t.Name())
	if mine {
		return w
	}
	if w == nil {
		w = newWorld(t)
	}
	w.use(t, func() {
		fixture.lock.Lock()
		defer fixture.lock.Unlock()
		fixture.free = append(fixture.free, w)
	})
	return w
}

// lookUp returns the world that a test uses already, otherwise a free one, or nil.
func lookUp(test string) (w *world, used bool) {
	fixture.lock.Lock()
	defer fixture.lock.Unlock()
	for name := test; ; name = name[:strings.LastIndex(name, "/")] {
		if w := fixture.used[name]; w != nil {
			return w, true
		}
		if !strings.Contains(name, "/") {
			break
		}
	}
	if n := len(fixture.free); n > 0 {
		w, fixture.free = fixture.free[n-1], fixture.free[:n-1]
	}
	return w, false
}

// use makes w the world of a test until its end, and then calls after.
func (w *world) use(t *testing.T, after func()) {
	fixture.lock.Lock()
	defer fixture.lock.Unlock()
	name := t.Name()
	fixture.used[name] = w
	t.Cleanup(func() {
		fixture.lock.Lock()
		delete(fixture.used, name)
		fixture.lock.Unlock()
		after()
	})
}

// newWorld starts a world for several tests.
func newWorld(t *testing.T) *world {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	w := &world{programs: programs(t)}
	dir, err := os.MkdirTemp(fixture.dir, "world-*")
	must(t, err)
	must(t, os.Chmod(dir, 0o755)) // PostgreSQL may run as another user
	err = w.start(ctx, filepath.Join(dir, "data"))
	if err != nil && os.Getenv("CI") != "true" && strings.Contains(err.Error(), localpg.ErrNotInstalled.Error()) {
		t.Skip(err)
	}
	must(t, err)
	return w
}

// start starts the infrastructure and an API. The end of all tests stops the started processes, also after an error.
func (w *world) start(ctx context.Context, dir string) (err error) {
	atEnd := func(stop func()) {
		fixture.lock.Lock()
		defer fixture.lock.Unlock()
		fixture.stop = append(fixture.stop, stop)
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
	if w.infra, err = w.programs.StartInfra(ctx, dir); err != nil {
		return err
	}
	atEnd(graceful(w.infra.Process))
	if err := w.connect(); err != nil {
		return err
	}
	atEnd(w.temporal.Close)
	atEnd(func() { w.db.Close() })
	serve, url, err := w.serve(ctx, nil)
	if err != nil {
		return err
	}
	w.api = url
	atEnd(graceful(serve))
	return nil
}

// open connects to the database. With mails, it enqueues mails.
func (w *world) open(mails bool) (*persistence.DB, error) {
	env := w.infra.Ready.Env
	keyring, err := app.NewKeyring(app.NewSecret(env["COMANDA_SECRET_KEYS"]))
	if err != nil {
		return nil, err
	}
	return persistence.Open(persistence.Config{
		URL: env["DATABASE_URL"], SystemURL: env["COMANDA_SYSTEM_DATABASE_URL"], Sealer: keyring.Sealer(), Mails: mails,
	})
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
	w.db, err = w.open(false)
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
	address, err := freeport.Address()
	if err != nil {
		return nil, "", err
	}
	all := map[string]string{
		"COMANDA_LISTEN": address, "COMANDA_BASE_URL": "https://" + address,
		"COMANDA_AUTH_RATE_LIMIT": "1000",   // each restaurant logs in from here
		"COMANDA_API_RATE":        "100000", // and sends all of its requests with few credentials
		"COMANDA_API_BURST":       "100000",
		"COMANDA_WEBSITE_RATE":    "100000",
		"COMANDA_WEBSITE_BURST":   "100000",
	}
	for k, v := range settings {
		all[k] = v
	}
	process, err := w.programs.StartComanda(ctx, w.infra, "serve", all)
	return process, "https://" + address, err
}

// holding is the timeout of attempts at receivers that hang until the test releases them.
const holding = "1m"

// worker starts a worker, which ends at the end of the test at the latest.
func worker(t *testing.T, settings map[string]string) *harness.Process {
	t.Helper()
	w := worldOf(t)
	process, err := w.programs.StartComanda(t.Context(), w.infra, "worker", settings)
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

// waitLimit bounds the wait for one condition. It is longer than a repetition of the slowest activity: a killed worker
// can take the activity that sends a mail with it, which times out after a minute and is repeated 40 s later.
const waitLimit = 4 * time.Minute

// eventually calls try until it returns no error. After waitLimit, or ten minutes with -long, it fails the test with
// the last error.
func eventually(t *testing.T, what string, try func() error) {
	t.Helper()
	timeout := waitLimit
	if *long {
		timeout = 10 * time.Minute
	}
	deadline := time.After(timeout)
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
