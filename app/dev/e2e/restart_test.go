package e2e

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/comanda-dev/comanda/app/dev/harness"
)

// TestStartRightAfterAKill kills dev while a process of PostgreSQL cannot end, so that PostgreSQL outlives dev by five
// seconds. The next start waits for it, although it has the data directory and the port.
func TestStartRightAfterAKill(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only on Linux does PostgreSQL end when dev is killed")
	}
	dir, err := os.MkdirTemp("", "comanda-restart-*")
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	must(t, os.Chmod(dir, 0o755)) // PostgreSQL may run as another user
	port := freePorts(t, 10)
	start := func() *harness.Infra {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		defer cancel()
		infra, err := the.programs.StartInfraOn(ctx, port, filepath.Join(dir, "data"), nil)
		must(t, err)
		return infra
	}
	first := start()
	conn, err := pgx.Connect(t.Context(), first.Ready.OwnerDatabaseURL)
	must(t, err)
	must(t, syscall.Kill(int(conn.PgConn().PID()), syscall.SIGSTOP))
	first.Kill()

	second := start()
	t.Cleanup(func() { must(t, second.Stop(context.Background())) })
	if out := second.Output(); !strings.Contains(out, "Waiting up to 15s: PostgreSQL's data directory") {
		t.Errorf("no word of the wait in:\n%s", out)
	}
}
