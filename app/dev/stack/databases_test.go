package main

import (
	"context"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
)

// TestSharedServer creates the databases on a shared server, as a user without superuser rights.
func TestSharedServer(t *testing.T) {
	t.Parallel()
	server := startPostgres(t)
	admin := connect(t, server.URL("postgres"))
	if _, err := admin.Exec(t.Context(), `
		CREATE ROLE maker LOGIN PASSWORD 'p' CREATEROLE CREATEDB;
		CREATE ROLE weak LOGIN PASSWORD 'p'`); err != nil {
		t.Fatal(err)
	}
	as := func(role string) string {
		u, err := url.Parse(server.URL("postgres"))
		if err != nil {
			t.Fatal(err)
		}
		u.User = url.UserPassword(role, "p")
		return u.String()
	}
	passwords := filepath.Join(t.TempDir(), "roles.json")

	if _, err := setUpDatabases(t.Context(), as("weak"), passwords); err == nil ||
		!strings.Contains(err.Error(), "weak must be able to create roles and databases") {
		t.Errorf("as a user without privileges: got error %v", err)
	}
	first, err := setUpDatabases(t.Context(), as("maker"), passwords)
	if err != nil {
		t.Fatal(err)
	}
	again, err := setUpDatabases(t.Context(), as("maker"), passwords)
	if err != nil {
		t.Fatal(err)
	}
	if first != again {
		t.Errorf("the second run returns %v, want %v as the first", again, first)
	}
	for _, owner := range []string{first.owner, first.temporalStore, first.temporalVisibility} {
		if _, err := connect(t, owner).Exec(t.Context(), "CREATE TABLE made()"); err != nil {
			t.Error(err)
		}
	}
	for _, login := range []string{first.product, first.system} {
		if _, err := connect(t, login).Exec(t.Context(), "CREATE TABLE made()"); err == nil {
			t.Error("a login role can create tables")
		}
	}
}

func connect(t *testing.T, url string) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(context.Background()) })
	return conn
}

func TestUnusableDatabaseURL(t *testing.T) {
	t.Parallel()
	for _, address := range []string{"host=localhost user=x", "mysql://localhost/x", "http://[", ""} {
		if _, err := setUpDatabases(t.Context(), address, filepath.Join(t.TempDir(), "roles.json")); err == nil ||
			!strings.Contains(err.Error(), "DATABASE_URL must be") {
			t.Errorf("%q: %v", address, err)
		}
	}
}
