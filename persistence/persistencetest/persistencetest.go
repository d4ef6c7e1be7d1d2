// Package persistencetest gives tests a real, migrated database of their own.
package persistencetest

import (
	"bytes"
	"context"
	"crypto/rand"
	"database/sql"
	"fmt"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence"
	"github.com/comanda-dev/comanda/persistence/localpg"
	"github.com/comanda-dev/comanda/persistence/pg"
)

// Main runs a package's tests, and stops the PostgreSQL that they share. TestMain calls it:
//
//	func TestMain(m *testing.M) { os.Exit(persistencetest.Main(m)) }
func Main(m *testing.M) int {
	code := m.Run()
	cluster.stop()
	return code
}

// Database is a migrated database that nobody else uses.
type Database struct {
	*persistence.DB
	URL      string // as the service's login role
	OwnerURL string // as the owner of everything
}

// New makes a database for one test and drops it afterwards. Without a PostgreSQL the test
// is skipped; with CI=true it fails instead. COMANDA_TEST_DATABASE_URL names a server to
// use (as a superuser); else a private one is started from the machine's binaries.
func New(t testing.TB) *Database {
	t.Helper()
	server, err := cluster.start()
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatalf("no PostgreSQL to test against: %v", err)
		}
		t.Skipf("no PostgreSQL to test against: %v", err)
	}
	name := "comanda_" + strings.ToLower(rand.Text()[:12])
	if err := server.exec("CREATE DATABASE " + name + " TEMPLATE " + server.template); err != nil {
		t.Fatal(err)
	}
	database := &Database{URL: server.url(name, loginRole, loginPassword), OwnerURL: server.url(name, "", "")}
	database.DB, err = persistence.Open(persistence.Config{URL: database.URL, MaxConns: 8, Sealer: Keyring().Sealer()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		database.Close()
		if err := server.exec("DROP DATABASE " + name + " WITH (FORCE)"); err != nil {
			t.Error(err)
		}
	})
	return database
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
	loginRole     = "comanda_test"
	loginPassword = "comanda_test"
)

// cluster is the one PostgreSQL of this test process.
var cluster shared

type shared struct {
	once   sync.Once
	server *server
	err    error
}

func (s *shared) start() (*server, error) {
	s.once.Do(func() { s.server, s.err = startServer(context.Background()) })
	return s.server, s.err
}

func (s *shared) stop() {
	if s.server == nil {
		return
	}
	if err := s.server.exec("DROP DATABASE IF EXISTS " + s.server.template + " WITH (FORCE)"); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
	s.server.db.Close()
	if s.server.local == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := s.server.local.Stop(ctx); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
}

type server struct {
	local    *localpg.Server // nil when COMANDA_TEST_DATABASE_URL names another
	admin    *url.URL
	db       *sql.DB
	template string
	creating sync.Mutex
}

func startServer(ctx context.Context) (*server, error) {
	s := &server{template: "comanda_template_" + strings.ToLower(rand.Text()[:8])}
	address := os.Getenv("COMANDA_TEST_DATABASE_URL")
	if address == "" {
		var err error
		if s.local, err = localpg.Start(ctx, localpg.Options{}); err != nil {
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

// prepare makes the roles and the migrated database that all others are copies of.
func (s *server) prepare(ctx context.Context) error {
	for _, role := range []string{
		"comanda_app NOLOGIN", "comanda_system NOLOGIN",
		loginRole + " LOGIN NOINHERIT PASSWORD '" + loginPassword + "' IN ROLE comanda_app, comanda_system",
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
	return pg.Migrate(ctx, s.url(s.template, "", ""), pg.Up, &bytes.Buffer{})
}

func (s *server) exec(statement string) error {
	s.creating.Lock() // a template in use cannot be copied
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
