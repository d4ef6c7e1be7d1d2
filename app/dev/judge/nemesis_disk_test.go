package main

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/comanda-dev/comanda/persistence/localpg"
)

// TestFullDisk checks that PostgreSQL refuses rows when its disk is full, keeps the earlier ones, and accepts further
// ones when the disk has space again.
func TestFullDisk(t *testing.T) {
	t.Parallel()
	if reason := diskMissing(); reason != "" {
		t.Skip(reason)
	}
	dir, err := os.MkdirTemp(localpg.TempDir(), "comanda-judge-disk-*")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	w := &world{dir: dir}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(limitDisk(t.Context(), w))
	defer func() { must(w.disk.keep()) }()
	server, err := localpg.Start(t.Context(), localpg.Options{Dir: filepath.Join(dir, "postgres")})
	must(err)
	defer func() { must(server.Stop(t.Context())) }()
	conn, err := pgx.Connect(t.Context(), server.URL("postgres"))
	must(err)
	defer conn.Close(t.Context())
	insert := func(megabytes int) error {
		_, err := conn.Exec(t.Context(), "INSERT INTO kept SELECT repeat('x', 1000) FROM generate_series(1, $1)",
			1000*megabytes)
		return err
	}
	_, err = conn.Exec(t.Context(), "CREATE TABLE kept (content text)")
	must(err)
	must(insert(1))
	must(w.disk.fill())
	if err := insert(5); !isFull(err) {
		t.Errorf("on a full disk: got error %v, want disk_full", err)
	}
	must(w.disk.resize(diskSize))
	must(insert(5))
	var n int
	must(conn.QueryRow(t.Context(), "SELECT count(*) FROM kept").Scan(&n))
	if n != 6000 {
		t.Errorf("rows: got %d, want 6000", n)
	}
}

func isFull(err error) bool {
	failed, ok := errors.AsType[*pgconn.PgError](err)
	return ok && failed.Code == "53100"
}
