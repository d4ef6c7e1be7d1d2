package e2e

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/comanda-dev/comanda/app/dev/harness"
	"github.com/comanda-dev/comanda/persistence/localpg"
)

// fragileWorld is a world of which each part can be killed, and comes back where it was.
type fragileWorld struct {
	t        *testing.T
	settings map[string]string // of the API and the worker

	dir         string
	port        int // from which on Temporal and its like listen
	listen      string
	postgres    *localpg.Server
	api, worker *harness.Process
}

// newFragileWorld takes the place of the world that tests share, for one test. Nothing of
// it runs before revive.
func newFragileWorld(t *testing.T) *fragileWorld {
	t.Helper()
	dir, err := os.MkdirTemp("", "comanda-chaos-*")
	must(t, err)
	must(t, os.Chmod(dir, 0o755)) // PostgreSQL may run as another user
	shared := the
	f := &fragileWorld{t: t, settings: map[string]string{}, dir: dir, port: freePorts(t, 13)}
	f.listen = net.JoinHostPort("127.0.0.1", strconv.Itoa(f.port+12))
	the = world{programs: shared.programs, api: "https://" + f.listen}
	t.Cleanup(func() {
		for _, process := range []*harness.Process{f.worker, f.api} {
			if process != nil {
				process.Kill()
			}
		}
		if the.temporal != nil {
			the.temporal.Close()
			the.db.Close()
		}
		if the.infra != nil {
			the.infra.Kill()
		}
		if f.postgres != nil {
			must(t, f.postgres.Stop(context.Background()))
		}
		the = shared
		must(t, os.RemoveAll(dir))
	})
	return f
}

// revive starts whatever does not run.
func (f *fragileWorld) revive() {
	f.t.Helper()
	ctx, cancel := context.WithTimeout(f.t.Context(), 2*time.Minute)
	defer cancel()
	var err error
	if f.postgres == nil {
		f.postgres, err = localpg.Start(ctx, localpg.Options{
			Dir: filepath.Join(f.dir, "postgres"), Port: f.port + 11, Durable: true,
			Settings: map[string]string{"max_connections": "300"},
		})
		must(f.t, err)
	}
	if the.infra == nil || the.infra.Ended() {
		settings := map[string]string{"DATABASE_URL": f.postgres.URL("postgres")}
		the.infra, err = the.programs.StartInfraOn(ctx, f.port, filepath.Join(f.dir, "data"), settings)
		must(f.t, err)
	}
	if the.db == nil {
		must(f.t, the.connect())
	}
	if f.api == nil || f.api.Ended() {
		settings := map[string]string{"COMANDA_LISTEN": f.listen, "COMANDA_BASE_URL": the.api}
		for k, v := range f.settings {
			settings[k] = v
		}
		f.api, _, err = the.serve(ctx, settings)
		must(f.t, err)
	}
	if f.worker == nil || f.worker.Ended() {
		f.worker, err = the.programs.StartComanda(ctx, the.infra, "worker", f.settings)
		must(f.t, err)
	}
}

// kill ends a part as kill -9 does.
func (f *fragileWorld) kill(part string) {
	f.t.Helper()
	switch part {
	case "worker":
		f.worker.Kill()
	case "API":
		f.api.Kill()
	case "Temporal":
		the.infra.Kill()
	case "PostgreSQL":
		must(f.t, syscall.Kill(f.postmaster(), syscall.SIGKILL))
		<-f.postgres.Done()
		must(f.t, f.postgres.Stop(f.t.Context())) // lets go of its directory
		f.postgres = nil
	}
}

// postmaster returns the id of PostgreSQL's first process.
func (f *fragileWorld) postmaster() int {
	f.t.Helper()
	conn, err := pgx.Connect(f.t.Context(), f.postgres.URL("postgres"))
	must(f.t, err)
	defer conn.Close(f.t.Context())
	var file string
	must(f.t, conn.QueryRow(f.t.Context(), "SELECT pg_read_file('postmaster.pid')").Scan(&file))
	first, _, _ := strings.Cut(file, "\n")
	pid, err := strconv.Atoi(first)
	must(f.t, err)
	return pid
}

// freePorts returns the first of so many consecutive ports on which nobody listens. They are below the ports that the
// kernel gives to clients: a program that comes back finds its port free.
func freePorts(t *testing.T, n int) int {
	t.Helper()
	for range 100 {
		port := 15_000 + rand.IntN(15_000)
		if portsFree(port, n) {
			return port
		}
	}
	t.Fatal("no free ports side by side")
	return 0
}

func portsFree(first, n int) bool {
	for i := range n {
		listener, err := net.Listen("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(first+i)))
		if err != nil {
			return false
		}
		defer listener.Close()
	}
	return true
}

// databases are the databases of the world by their owners' roles.
var databases = map[string]map[string]string{
	"Comanda":  {"comanda": "comanda_owner"},
	"Temporal": {"temporal": "temporal", "temporal_visibility": "temporal"},
}

// halt kills everything that uses the databases. revive starts it again.
func (f *fragileWorld) halt() {
	f.t.Helper()
	f.worker.Kill()
	f.api.Kill()
	the.infra.Kill()
	the.temporal.Close()
	must(f.t, the.db.Close())
	the.temporal, the.db = nil, nil
}

// backUp copies the databases of everything. The world must be halted.
func (f *fragileWorld) backUp() {
	f.t.Helper()
	for _, owners := range databases {
		for name, owner := range owners {
			f.onServer(fmt.Sprintf("DROP DATABASE IF EXISTS %s_copy", name), cloned(name, name+"_copy", owner))
		}
	}
}

// restore gives a part its databases as they were at the backup. The world must be halted.
func (f *fragileWorld) restore(part string) {
	f.t.Helper()
	f.drop(part)
	for name, owner := range databases[part] {
		f.onServer(cloned(name+"_copy", name, owner))
	}
}

// drop deletes the databases of a part. The world must be halted.
func (f *fragileWorld) drop(part string) {
	f.t.Helper()
	for name := range databases[part] {
		f.onServer(fmt.Sprintf("DROP DATABASE %s WITH (FORCE)", name))
	}
}

func cloned(from, to, owner string) string {
	return fmt.Sprintf("CREATE DATABASE %s TEMPLATE %s OWNER %s", to, from, owner)
}

// onServer executes statements as a superuser. The sessions of killed processes may still end.
func (f *fragileWorld) onServer(statements ...string) {
	f.t.Helper()
	conn, err := pgx.Connect(f.t.Context(), f.postgres.URL("postgres"))
	must(f.t, err)
	defer conn.Close(f.t.Context())
	for _, statement := range statements {
		eventually(f.t, statement, func() error {
			_, err := conn.Exec(f.t.Context(), statement)
			return err
		})
	}
}
