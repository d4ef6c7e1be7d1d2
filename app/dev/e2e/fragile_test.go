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

// fragileWorld is a world whose parts can be killed and started again at the same addresses.
type fragileWorld struct {
	t        *testing.T
	settings map[string]string // of the API and the worker

	dir         string
	port        int // first port of the infrastructure
	listen      string
	postgres    *localpg.Server
	api, worker *harness.Process
}

// newFragileWorld replaces the shared world for one test. No part runs before revive.
func newFragileWorld(t *testing.T) *fragileWorld {
	t.Helper()
	needPrograms(t)
	dir, err := os.MkdirTemp("", "comanda-chaos-*")
	must(t, err)
	must(t, os.Chmod(dir, 0o755)) // PostgreSQL may run as another user
	shared := the
	f := &fragileWorld{t: t, settings: map[string]string{}, dir: dir, port: freePorts(t, 13)}
	f.listen = net.JoinHostPort("127.0.0.1", strconv.Itoa(f.port+12))
	the = world{programs: shared.programs, api: "https://" + f.listen, fragile: true}
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

// revive starts all parts that are not running.
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

// kill kills a part with SIGKILL.
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
		must(f.t, f.postgres.Stop(f.t.Context())) // releases its directory
		f.postgres = nil
	}
}

// postmaster returns the process id of the postmaster of PostgreSQL.
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

// freePorts returns the first of the given number of consecutive free ports. They are below the ephemeral ports, so
// that a restarted program finds its port free.
func freePorts(t *testing.T, n int) int {
	t.Helper()
	for range 100 {
		port := 15_000 + rand.IntN(15_000)
		if portsFree(port, n) {
			return port
		}
	}
	t.Fatal("no consecutive free ports")
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

// databases returns the databases of the world by the roles that own them.
var databases = map[string]map[string]string{
	"Comanda":  {"comanda": "comanda_owner"},
	"Temporal": {"temporal": "temporal", "temporal_visibility": "temporal"},
}

// halt kills all processes that use the databases. revive starts them again.
func (f *fragileWorld) halt() {
	f.t.Helper()
	f.worker.Kill()
	f.api.Kill()
	f.haltTemporal()
}

// haltTemporal kills Temporal and closes the connections of the test.
func (f *fragileWorld) haltTemporal() {
	f.t.Helper()
	the.infra.Kill()
	the.temporal.Close()
	must(f.t, the.db.Close())
	the.temporal, the.db = nil, nil
}

// backUp copies all databases. The world must be halted.
func (f *fragileWorld) backUp() {
	f.t.Helper()
	for _, owners := range databases {
		for name, owner := range owners {
			f.onServer(fmt.Sprintf("DROP DATABASE IF EXISTS %s_copy", name), cloned(name, name+"_copy", owner))
		}
	}
}

// restore replaces the databases of a part by their backup. The world must be halted.
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

// onServer executes statements as a superuser. It retries while sessions of killed processes are still ending.
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
