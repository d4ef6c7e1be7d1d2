package main

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"go.temporal.io/sdk/client"
	temporallog "go.temporal.io/sdk/log"

	"github.com/comanda-dev/comanda/activities/smtptest"
	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/app/dev/flags"
	"github.com/comanda-dev/comanda/app/dev/harness"
	"github.com/comanda-dev/comanda/app/freeport"
	"github.com/comanda-dev/comanda/persistence"
	"github.com/comanda-dev/comanda/persistence/localpg"
)

const (
	// apiURL is the URL of the API. The balancer ignores its host.
	apiURL = "https://localhost"
	// requestTime is the time after which a request has no response.
	requestTime = 10 * time.Second
	// startTime limits the start of all parts, and stopTime the end of one.
	startTime = 3 * time.Minute
	stopTime  = time.Minute
)

// deliveryTimeout limits an attempt, from the DNS lookup to the end of the response.
const deliveryTimeout = 3 * time.Second

// settings are those of every part. Retries, timeouts and windows of plans are short, so that a run ends soon.
var settings = map[string]string{
	"COMANDA_BASE_URL":         apiURL,
	"COMANDA_RETRY_SCHEDULE":   "1s,2s",
	"COMANDA_DELIVERY_TIMEOUT": deliveryTimeout.String(),
	"COMANDA_PLAN_WINDOW":      "10s",
	"COMANDA_PPROF":            "on",
	"COMANDA_RECONCILE_AFTER":  "20s",
	"COMANDA_DRAIN_DELAY":      "1s",
	"COMANDA_AUTH_RATE_LIMIT":  "1000",
	"COMANDA_PLATFORM_OTP":     "optional",
	"COMANDA_API_RATE":         "100000",
	"COMANDA_API_BURST":        "100000",
	"COMANDA_WEBSITE_RATE":     "100000",
	"COMANDA_WEBSITE_BURST":    "100000",
}

// world is an installation: PostgreSQL, Temporal, two APIs and two workers. Each process connects through proxies of
// its own, so that a fault can separate any two of them.
type world struct {
	dir      string
	port     int // first port of the infrastructure; PostgreSQL and the APIs have the ports after it
	programs harness.Programs
	postgres *localpg.Server
	log      *os.File // of PostgreSQL
	disk     *disk    // of PostgreSQL; nil = that of the directory
	next     string   // program of the next release; "" = not built
	clock    harness.Clock
	bursts   string // COMANDA_BURST
	infra    *harness.Infra
	storage  *harness.Proxy // from Temporal to PostgreSQL
	parts    []*part
	failures []string // processes that have ended without a fault
	losses   []loss
	// abandoned means that a worker has stopped before all of its attempts had ended, because they took too long.
	abandoned bool

	mails     *smtptest.Server
	stopMails func()

	roots       *x509.CertPool
	certificate tls.Certificate
	client      *http.Client
	db          *persistence.DB
	temporal    client.Client
}

// newWorld starts an installation in a directory, prepared for faults. stop must be called also after an error.
func newWorld(ctx context.Context, dir, bursts string, list []fault) (*world, error) {
	port, err := freeport.Ports(flags.Ports + 3)
	if err != nil {
		return nil, err
	}
	w := &world{dir: dir, port: port, bursts: bursts, clock: harness.Clock{File: filepath.Join(dir, "clock")}}
	if err := os.Mkdir(w.logs(), 0o755); err != nil {
		return w, err
	}
	if err := w.clock.Set(0); err != nil {
		return w, err
	}
	building, cancel := context.WithTimeout(ctx, 15*time.Minute) // a first build of Temporal takes minutes
	defer cancel()
	if w.programs, err = harness.Build(building, dir); err != nil {
		return w, err
	}
	if err := w.prepare(building, list); err != nil {
		return w, err
	}
	if w.log, err = os.Create(filepath.Join(w.logs(), "postgres.log")); err != nil {
		return w, err
	}
	if w.storage, err = w.proxy(w.address(postgresPort)); err != nil {
		return w, err
	}
	if err := w.startMails(ctx); err != nil {
		return w, err
	}
	if err := w.startParts(ctx); err != nil {
		return w, err
	}
	return w, w.connect()
}

// Ports after those of the infrastructure.
const (
	postgresPort = flags.Ports + iota
	firstAPIPort
)

// address returns the address of a port of the world.
func (w *world) address(port int) string {
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(w.port+port))
}

// logs returns the directory of the logs.
func (w *world) logs() string { return filepath.Join(w.dir, "logs") }

// proxy returns a proxy that can hold its connections.
func (w *world) proxy(target string) (*harness.Proxy, error) {
	ctx := context.Background()
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	dial := func() (net.Conn, error) { return new(net.Dialer).DialContext(ctx, "tcp", target) }
	return harness.NewProxyOn(listener, dial, 0), nil
}

// databaseAt returns a setting of the infrastructure that is a URL of PostgreSQL, with another address.
func databaseAt(setting, address string) string {
	u, err := url.Parse(setting)
	if err != nil {
		panic(err) // the infrastructure has connected to it
	}
	u.Host = address
	return u.String()
}

// connect connects the judge itself. Its connections to PostgreSQL and Temporal pass no proxy.
func (w *world) connect() error {
	env := w.infra.Ready.Env
	authority, err := os.ReadFile(w.infra.Ready.CAFile)
	if err != nil {
		return err
	}
	w.roots = x509.NewCertPool()
	w.roots.AppendCertsFromPEM(authority)
	if w.certificate, err = tls.LoadX509KeyPair(env["COMANDA_TLS_CERT"], env["COMANDA_TLS_KEY"]); err != nil {
		return err
	}
	balancer := &harness.Balancer{
		Addresses: []string{w.address(firstAPIPort), w.address(firstAPIPort + 1)},
		TLS:       &tls.Config{RootCAs: w.roots, ServerName: "localhost", MinVersion: tls.VersionTLS12},
	}
	w.client = balancer.Client(requestTime)
	keyring, err := app.NewKeyring(app.NewSecret(env["COMANDA_SECRET_KEYS"]))
	if err != nil {
		return err
	}
	window, err := time.ParseDuration(settings["COMANDA_PLAN_WINDOW"])
	if err != nil {
		return err
	}
	w.db, err = persistence.Open(persistence.Config{
		URL:       databaseAt(env["DATABASE_URL"], w.address(postgresPort)),
		SystemURL: databaseAt(env["COMANDA_SYSTEM_DATABASE_URL"], w.address(postgresPort)),
		Sealer:    keyring.Sealer(), PlanWindow: window,
	})
	if err != nil {
		return err
	}
	w.temporal, err = client.Dial(client.Options{
		HostPort: env["TEMPORAL_ADDRESS"], Namespace: env["TEMPORAL_NAMESPACE"],
		Logger: temporallog.NewStructuredLogger(slog.New(slog.DiscardHandler)),
	})
	return err
}

// URL returns the URL of the API for HTTPClient.
func (w *world) URL() string { return apiURL }

// HTTPClient returns a client whose requests go to any API that accepts a connection.
func (w *world) HTTPClient() *http.Client { return w.client }

// Certificate returns the certificate of receivers, whose authority the workers trust.
func (w *world) Certificate() tls.Certificate { return w.certificate }

// SuperuserURL returns the URL of Comanda's database for the superuser, without a proxy.
func (w *world) SuperuserURL() string { return w.postgres.URL("comanda") }

// SystemDB returns Comanda's database.
func (w *world) SystemDB() *persistence.DB { return w.db }

// Temporal returns a client of Temporal.
func (w *world) Temporal() client.Client { return w.temporal }

// stop ends everything, and keeps the logs.
func (w *world) stop() error {
	if w.temporal != nil {
		w.temporal.Close()
	}
	var errs []error
	if w.db != nil {
		errs = append(errs, w.db.Close())
	}
	for _, p := range w.parts {
		errs = append(errs, p.stop(w))
	}
	if w.infra != nil {
		w.infra.Kill()
		errs = append(errs, w.keepLog("temporal", w.infra.Process))
	}
	if w.storage != nil {
		w.storage.Close()
	}
	if w.stopMails != nil {
		w.stopMails()
	}
	if w.postgres != nil {
		ctx, cancel := context.WithTimeout(context.Background(), stopTime)
		defer cancel()
		errs = append(errs, w.postgres.Stop(ctx))
	}
	if w.disk != nil {
		errs = append(errs, w.disk.keep())
	}
	if w.log != nil {
		errs = append(errs, w.log.Close())
	}
	return errors.Join(errs...)
}
