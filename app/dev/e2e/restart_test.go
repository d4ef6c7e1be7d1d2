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
	"github.com/comanda-dev/comanda/persistence/localpg"
)

// TestStartAfterKill kills dev while a process of PostgreSQL cannot end, so that PostgreSQL runs for five more seconds
// and still uses the data directory and the port. The next start waits for it.
func TestStartAfterKill(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("only on Linux does PostgreSQL end when dev is killed")
	}
	dir, err := os.MkdirTemp(localpg.TempDir(), "comanda-restart-*")
	must(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	must(t, os.Chmod(dir, 0o755)) // PostgreSQL may run as another user
	port := freePorts(t, 10)
	start := func() *harness.Infra {
		ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
		defer cancel()
		infra, err := programs(t).StartInfraOn(ctx, port, filepath.Join(dir, "data"), nil)
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
		t.Errorf("output: got no mention of the wait, want one:\n%s", out)
	}
}
