package e2e

import (
	"context"
	"fmt"
	"maps"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/comanda-dev/comanda/app/dev/harness"
	"github.com/comanda-dev/comanda/app/freeport"
	"github.com/comanda-dev/comanda/persistence/localpg"
)

// fragileWorld is a world whose parts can be killed and started again at the same addresses.
type fragileWorld struct {
	*world

	t        *testing.T
	settings map[string]string // of the API and the worker

	dir             string
	port            int // first port of the infrastructure
	listen          string
	postgres        *localpg.Server
	serving, worker *harness.Process
}

// newFragileWorld gives a test a world that it does not share. No part runs before revive.
func newFragileWorld(t *testing.T) *fragileWorld {
	t.Helper()
	dir, err := os.MkdirTemp(localpg.TempDir(), "comanda-fragile-*")
	must(t, err)
	must(t, os.Chmod(dir, 0o755)) // PostgreSQL may run as another user
	f := &fragileWorld{t: t, settings: map[string]string{}, dir: dir, port: freePorts(t, 13)}
	f.listen = net.JoinHostPort("127.0.0.1", strconv.Itoa(f.port+12))
	f.world = &world{programs: programs(t), api: "https://" + f.listen}
	f.use(t, func() {
		for _, process := range []*harness.Process{f.worker, f.serving} {
			if process != nil {
				process.Kill()
			}
		}
		if f.temporal != nil {
			f.temporal.Close()
			f.db.Close()
		}
		if f.infra != nil {
			f.infra.Kill()
		}
		if f.postgres != nil {
			must(t, f.postgres.Stop(context.Background()))
		}
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
	if f.infra == nil || f.infra.Ended() {
		settings := map[string]string{"DATABASE_URL": f.postgres.URL("postgres")}
		f.infra, err = f.programs.StartInfraOn(ctx, f.port, filepath.Join(f.dir, "data"), settings)
		must(f.t, err)
	}
	if f.db == nil {
		must(f.t, f.connect())
	}
	if f.serving == nil || f.serving.Ended() {
		settings := map[string]string{"COMANDA_LISTEN": f.listen, "COMANDA_BASE_URL": f.api}
		maps.Copy(settings, f.settings)
		f.serving, _, err = f.serve(ctx, settings)
		must(f.t, err)
	}
	if f.worker == nil || f.worker.Ended() {
		f.worker, err = f.programs.StartComanda(ctx, f.infra, "worker", f.settings)
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
		f.serving.Kill()
	case "Temporal":
		f.infra.Kill()
	case "PostgreSQL":
		must(f.t, syscall.Kill(f.postgres.PID(), syscall.SIGKILL))
		<-f.postgres.Done()
		must(f.t, f.postgres.Stop(f.t.Context())) // releases its directory
		f.postgres = nil
	}
}

// freePorts returns the first of n consecutive free ports, which no other server takes while theirs is down.
func freePorts(t *testing.T, n int) int {
	t.Helper()
	port, err := freeport.Ports(n)
	must(t, err)
	return port
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
	f.serving.Kill()
	f.haltTemporal()
}

// haltTemporal kills Temporal and closes the connections of the test.
func (f *fragileWorld) haltTemporal() {
	f.t.Helper()
	f.infra.Kill()
	f.temporal.Close()
	must(f.t, f.db.Close())
	f.temporal, f.db = nil, nil
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
