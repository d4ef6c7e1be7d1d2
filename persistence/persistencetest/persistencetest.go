// Package persistencetest provides tests with separate, real, migrated databases.
package persistencetest

import (
	"context"
	"crypto/rand"
	"database/sql"
	"fmt"
	"io"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence"
	"github.com/comanda-dev/comanda/persistence/delivery"
	"github.com/comanda-dev/comanda/persistence/localpg"
	"github.com/comanda-dev/comanda/persistence/pg"
)

// Main runs a package's tests and stops their shared PostgreSQL. TestMain calls it:
//
//	func TestMain(m *testing.M) { os.Exit(persistencetest.Main(m)) }
func Main(m *testing.M) int {
	code := m.Run()
	cluster.stop()
	return code
}

// Database is a migrated database of one test.
type Database struct {
	*persistence.DB
	URL       string // for the service's login role of connections within a store
	SystemURL string // for the service's login role of connections that see all stores
	OwnerURL  string // for the owner of the schema, a superuser
}

// New creates a database for one test and drops it after the test. It uses the server of
// COMANDA_TEST_DATABASE_URL (as a superuser), otherwise it starts a private server with the machine's
// binaries. Without PostgreSQL, the test is skipped; with CI=true, it fails.
func New(t testing.TB) *Database {
	t.Helper()
	server, err := cluster.start()
	require(t, err)
	return server.lend(t, server.template)
}

// NewLogged is [New] on a private server, which writes its log to log.
func NewLogged(t testing.TB, log io.Writer) *Database {
	t.Helper()
	server, err := startServer(t.Context(), "", log)
	require(t, err)
	t.Cleanup(server.stop)
	return server.lend(t, server.template)
}

// require skips the test without PostgreSQL. In CI, the test fails.
func require(t testing.TB, err error) {
	t.Helper()
	if err == nil {
		return
	}
	if os.Getenv("CI") == "true" {
		t.Fatalf("this test requires PostgreSQL: %v", err)
	}
	t.Skipf("this test requires PostgreSQL: %v", err)
}

// lend creates a copy of a template and drops it after the test.
func (s *server) lend(t testing.TB, template string) *Database {
	t.Helper()
	name := "comanda_" + strings.ToLower(rand.Text()[:12])
	database := s.create(t, name, template)
	t.Cleanup(func() {
		database.Close()
		if err := s.exec("DROP DATABASE " + name + " WITH (FORCE)"); err != nil {
			t.Error(err)
		}
	})
	return database
}

// create creates and opens a copy of a template.
func (s *server) create(t testing.TB, name, template string) *Database {
	t.Helper()
	// Copying the files takes half as long as copying each page through the log.
	if err := s.exec("CREATE DATABASE " + name + " TEMPLATE " + template + " STRATEGY FILE_COPY"); err != nil {
		t.Fatal(err)
	}
	database := &Database{
		URL: s.url(name, loginRole, loginPassword), SystemURL: s.url(name, systemLoginRole, loginPassword),
		OwnerURL: s.url(name, "", ""),
	}
	var err error
	database.DB, err = persistence.Open(persistence.Config{
		URL: database.URL, SystemURL: database.SystemURL, MaxConns: 8,
		Sealer: Keyring().Sealer(), Policy: new(Policy()),
	})
	if err != nil {
		t.Fatal(err)
	}
	return database
}

// Policy is the default policy, except that a test that makes one attempt after the other does not pause before each,
// and that a slow machine has more time.
func Policy() delivery.Policy {
	policy := delivery.DefaultPolicy()
	policy.Load.Pause, policy.Record.Pause = 0, 0
	for _, group := range []*delivery.GroupPolicy{
		&policy.Load, &policy.Record, &policy.OrderNotices, &policy.EventNotices, &policy.TurnNotices,
	} {
		group.Timeout = time.Minute
	}
	return policy
}

// Keyring returns the keys of test databases.
func Keyring() app.Keyring {
	ring, err := app.NewKeyring(app.NewSecret(strings.Repeat("test key ", 4)))
	if err != nil {
		panic(err)
	}
	return ring
}

const (
	loginRole       = "comanda_test_app"
	systemLoginRole = "comanda_test_system"
	loginPassword   = "comanda_test"
)

// cluster is the shared PostgreSQL of this test process.
var cluster shared

type shared struct {
	once   sync.Once
	server *server
	err    error
}

func (s *shared) start() (*server, error) {
	s.once.Do(func() {
		s.server, s.err = startServer(context.Background(), os.Getenv("COMANDA_TEST_DATABASE_URL"), nil)
	})
	return s.server, s.err
}

func (s *shared) stop() {
	if s.server != nil {
		s.server.stop()
	}
}

type server struct {
	local    *localpg.Server // nil if COMANDA_TEST_DATABASE_URL is set
	admin    *url.URL
	db       *sql.DB
	template string // an empty, migrated database
	creating sync.Mutex

	templates []string // all templates, guarded by creating
}

// startServer connects to the server of a URL. Without a URL, it starts a server that writes to log.
func startServer(ctx context.Context, address string, log io.Writer) (*server, error) {
	s := &server{template: "comanda_template_" + strings.ToLower(rand.Text()[:8])}
	if address == "" {
		var err error
		options := localpg.Options{Log: log, Settings: map[string]string{
			// Autovacuum would change the plans that tests check, at a time of its choice.
			"autovacuum": "off",
			// On a busy machine, a driver's request to cancel a statement can be lost. A statement that waits for a
			// lock then waits until the lock is free, although its connection is closed.
			"client_connection_check_interval": "1s",
		}}
		if s.local, err = localpg.Start(ctx, options); err != nil {
			return nil, err
		}
		address = s.local.URL("postgres")
	}
	var err error
	if s.admin, err = url.Parse(address); err != nil {
		return nil, err
	}
	if s.db, err = sql.Open("pgx", address); err != nil {
		return nil, err
	}
	return s, s.prepare(ctx)
}

// stop drops the templates and ends the server if startServer has started it.
func (s *server) stop() {
	for _, name := range s.templates {
		if err := s.exec("DROP DATABASE IF EXISTS " + name + " WITH (FORCE)"); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}
	s.db.Close()
	if s.local == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := s.local.Stop(ctx); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
}

// prepare creates the roles and the migrated template of all databases.
func (s *server) prepare(ctx context.Context) error {
	for _, role := range []string{
		"comanda_app NOLOGIN", "comanda_system NOLOGIN",
		loginRole + " LOGIN NOINHERIT PASSWORD '" + loginPassword + "' IN ROLE comanda_app",
		systemLoginRole + " LOGIN NOINHERIT PASSWORD '" + loginPassword + "' IN ROLE comanda_system",
	} {
		statement := "DO $$ BEGIN CREATE ROLE " + role +
			"; EXCEPTION WHEN duplicate_object OR unique_violation THEN NULL; END $$"
		if err := s.exec(statement); err != nil {
			return err
		}
	}
	if err := s.exec("CREATE DATABASE " + s.template); err != nil {
		return err
	}
	s.templates = append(s.templates, s.template)
	return pg.Migrate(ctx, s.url(s.template, "", ""), io.Discard)
}

func (s *server) exec(statement string) error {
	s.creating.Lock() // PostgreSQL cannot copy a template that is in use
	defer s.creating.Unlock()
	_, err := s.db.ExecContext(context.Background(), statement)
	return err
}

func (s *server) url(database, user, password string) string {
	u := *s.admin
	u.Path = "/" + database
	if user != "" {
		u.User = url.UserPassword(user, password)
	}
	return u.String()
}
