package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/comanda-dev/comanda/app/dev/harness"
	"github.com/comanda-dev/comanda/persistence/localpg"
)

// part is an API or a worker.
type part struct {
	name     string // for example "worker 1"
	program  string // serve or worker
	listen   string // address of an API
	postgres *harness.Proxy
	temporal *harness.Proxy
	process  *harness.Process // nil = not running
	starts   int
}

// startParts starts all parts that do not run, in the order in which they depend on each other.
func (w *world) startParts(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	if err := w.startPostgres(ctx); err != nil {
		return err
	}
	if err := w.startInfra(ctx); err != nil {
		return err
	}
	if w.parts == nil {
		if err := w.addParts(); err != nil {
			return err
		}
	}
	for _, p := range w.parts {
		if err := p.start(ctx, w); err != nil {
			return err
		}
	}
	return nil
}

func (w *world) startPostgres(ctx context.Context) (err error) {
	if w.postgres != nil {
		return nil
	}
	w.postgres, err = localpg.Start(ctx, w.postgresOptions())
	return err
}

func (w *world) postgresOptions() localpg.Options {
	return localpg.Options{
		Dir: w.cluster(), Port: w.port + postgresPort, Durable: true, Log: w.log,
		Settings: map[string]string{"max_connections": "300"}, Environment: w.clock.Environment(),
	}
}

// startInfra starts Temporal, unless it runs. Its process may end when it loses PostgreSQL.
func (w *world) startInfra(ctx context.Context) error {
	if w.infra != nil {
		if !w.infra.Ended() {
			return nil
		}
		if err := w.keepLog("temporal", w.infra.Process); err != nil {
			return err
		}
	}
	settings := map[string]string{"DATABASE_URL": databaseAt(w.postgres.URL("postgres"), w.storage.Address)}
	infra, err := w.programs.StartInfraOn(ctx, w.port, filepath.Join(w.dir, "data"), settings, "--no-demo")
	if err == nil {
		w.infra = infra
	}
	return err
}

// addParts adds two APIs and two workers.
func (w *world) addParts() error {
	for i, name := range []string{"serve 1", "serve 2", "worker 1", "worker 2"} {
		p := &part{name: name, program: "worker"}
		if i < 2 {
			p.program, p.listen = "serve", w.address(firstAPIPort+i)
		}
		var err error
		if p.postgres, err = w.proxy(w.address(postgresPort)); err != nil {
			return err
		}
		if p.temporal, err = w.proxy(w.infra.Ready.Env["TEMPORAL_ADDRESS"]); err != nil {
			return err
		}
		if err := p.skew(w).Set(0); err != nil {
			return err
		}
		w.parts = append(w.parts, p)
	}
	return nil
}

// start starts a part unless it runs. A process that has ended without a fault is a failure.
func (p *part) start(ctx context.Context, w *world) error {
	if p.process != nil && !p.process.Ended() {
		return nil
	}
	if p.process != nil {
		w.failures = append(w.failures, fmt.Sprintf("%s has ended: %s", p.name, lastLines(p.process.Output())))
		if err := w.keepLog(p.logName(), p.process); err != nil {
			return err
		}
	}
	env := w.infra.Ready.Env
	own := maps.Clone(settings)
	maps.Copy(own, p.skew(w).Environment())
	maps.Copy(own, map[string]string{
		"DATABASE_URL":                databaseAt(env["DATABASE_URL"], p.postgres.Address),
		"COMANDA_SYSTEM_DATABASE_URL": databaseAt(env["COMANDA_SYSTEM_DATABASE_URL"], p.postgres.Address),
		"TEMPORAL_ADDRESS":            p.temporal.Address,
		"COMANDA_LISTEN":              p.listen,
		"COMANDA_SMTP_URL":            w.mailURL(),
		"COMANDA_BURST":               w.bursts,
	})
	process, err := w.programs.StartComanda(ctx, w.infra, p.program, own)
	if err != nil {
		return fmt.Errorf("%s: %w", p.name, err)
	}
	p.process, p.starts = process, p.starts+1
	return nil
}

// kill kills a part.
func (p *part) kill(w *world) error {
	p.process.Kill()
	return p.forget(w)
}

// terminate stops a part with SIGTERM.
func (p *part) terminate(ctx context.Context, w *world) error {
	ctx, cancel := context.WithTimeout(ctx, stopTime)
	defer cancel()
	err := p.process.Stop(ctx)
	w.abandoned = w.abandoned || strings.Contains(p.process.Output(), "attempts are still running")
	return errors.Join(err, p.forget(w))
}

// forget stores the log of a part that a fault has ended.
func (p *part) forget(w *world) error {
	ended := p.process
	p.process = nil
	return w.keepLog(p.logName(), ended)
}

// stop kills a part and closes its proxies.
func (p *part) stop(w *world) (err error) {
	if p.process != nil {
		err = p.kill(w)
	}
	for _, proxy := range []*harness.Proxy{p.postgres, p.temporal} {
		proxy.Close()
	}
	return err
}

func (p *part) logName() string { return fmt.Sprintf("%s, start %d", p.name, p.starts) }

// keepLog appends the output of a process that has ended to a file.
func (w *world) keepLog(name string, p *harness.Process) error {
	file, err := os.OpenFile(filepath.Join(w.logs(), name+".log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = file.WriteString(p.Output())
	return errors.Join(err, file.Close())
}

// keepGoroutines saves the stacks of all goroutines of the APIs and workers beside their logs. If a run does not end,
// they show where the work waits.
func (w *world) keepGoroutines(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, stopTime)
	defer cancel()
	for _, p := range w.parts {
		if p.process == nil {
			continue
		}
		stacks, err := fetch(ctx, p.process.Admin+"/debug/pprof/goroutine?debug=1")
		if err != nil {
			stacks = []byte(err.Error())
		}
		_ = os.WriteFile(filepath.Join(w.logs(), p.name+", goroutines.txt"), stacks, 0o600) // the run fails anyway
	}
}

func fetch(ctx context.Context, url string) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	body, err := io.ReadAll(response.Body)
	return body, errors.Join(err, response.Body.Close())
}

// killPostgres kills the postmaster. Its other processes detect that and end.
func (w *world) killPostgres(ctx context.Context) error {
	if err := syscall.Kill(w.postgres.PID(), syscall.SIGKILL); err != nil {
		return err
	}
	<-w.postgres.Done()
	return w.stopPostgres(ctx)
}

// stopPostgres stops PostgreSQL, which closes all connections, and releases its directory.
func (w *world) stopPostgres(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, stopTime)
	defer cancel()
	err := w.postgres.Stop(ctx)
	w.postgres = nil
	return err
}

// wait waits for some time. It returns an error if ctx ends before.
func wait(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
