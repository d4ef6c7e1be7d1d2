package migrations_test

import (
	"context"
	"crypto/rand"
	"net/url"
	"os"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/comanda-dev/comanda/persistence/persistencetest"
)

func TestMain(m *testing.M) { os.Exit(persistencetest.Main(m)) }

var must = persistencetest.Must

// ownedDatabase creates an empty database. Its owner is no superuser, and row-level security applies to it.
func ownedDatabase(t *testing.T) (ownerURL string) {
	t.Helper()
	server := persistencetest.New(t).OwnerURL
	name := "comanda_owned_" + strings.ToLower(rand.Text()[:8])
	admin, err := pgx.Connect(t.Context(), server)
	must(t, err)
	exec := func(ctx context.Context, statements ...string) {
		for _, statement := range statements {
			if _, err := admin.Exec(ctx, statement); err != nil {
				t.Error(err)
			}
		}
	}
	exec(t.Context(), "CREATE ROLE "+name+" LOGIN NOSUPERUSER NOBYPASSRLS PASSWORD 'owner'",
		"CREATE DATABASE "+name+" OWNER "+name)
	t.Cleanup(func() {
		ctx := context.Background()
		exec(ctx, "DROP DATABASE "+name+" WITH (FORCE)", "DROP ROLE "+name)
		admin.Close(ctx)
	})
	address, err := url.Parse(server)
	must(t, err)
	address.Path, address.User = "/"+name, url.UserPassword(name, "owner")
	return address.String()
}

// connect connects to a database of the tests' server. The connection is closed at the end of the test.
func connect(t *testing.T, address string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), address)
	must(t, err)
	t.Cleanup(func() { conn.Close(context.Background()) })
	return conn
}

// asSuperuser returns the URL of the tests' superuser for the database of another URL.
func asSuperuser(t *testing.T, address string) string {
	t.Helper()
	superuser, err := url.Parse(persistencetest.New(t).OwnerURL)
	must(t, err)
	database, err := url.Parse(address)
	must(t, err)
	superuser.Path = database.Path
	return superuser.String()
}
