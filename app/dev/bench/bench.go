package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/app/dev/harness"
	"github.com/comanda-dev/comanda/persistence"
)

// burstFactor multiplies the number of deliveries of runs with bursts. It is about their speed-up, so that all runs
// take about the same time.
const burstFactor = 6

// startTimeout limits the start of a program, stopTimeout its graceful stop.
const (
	startTimeout = 2 * time.Minute
	stopTimeout  = 30 * time.Second
)

// program is a production program under measurement.
type program struct {
	harness.Programs
	name    string // in the report
	version string
}

// deliveries returns the size of a saturated run.
func (o options) deliveries(strict bool) int {
	if strict {
		return o.events
	}
	return burstFactor * o.events
}

// bench is the state that the cases share.
type bench struct {
	options
	screen   *screen
	dir      string
	programs []program // this version, then the other version of -against

	// The infrastructure and its connections. After a dirty case, both are replaced.
	infra   *harness.Infra
	infras  int // started so far
	db      *persistence.DB
	emitter *emitter
	bare    *bareWorker

	websites int // opened so far
	results  results

	date     time.Time
	machine  machine
	versions versions
}

// newBench builds the programs and starts the infrastructure.
func newBench(ctx context.Context, o options, stderr io.Writer) (b *bench, err error) {
	b = &bench{
		options: o, screen: newScreen(stderr), results: newResults(), date: time.Now(), machine: describeMachine(),
	}
	defer func() {
		if err != nil {
			b.close()
		}
	}()
	if b.dir, err = os.MkdirTemp("", "comanda-bench-*"); err != nil {
		return b, err
	}
	if err := os.Chmod(b.dir, 0o755); err != nil { // PostgreSQL may run as another user
		return b, err
	}
	b.screen.say("building")
	built, err := harness.Build(ctx, b.dir)
	if err != nil {
		return b, err
	}
	if err := b.addProgram(ctx, "this", built); err != nil {
		return b, err
	}
	// A program that was built in a workspace does not contain its version.
	if commit, err := exec.CommandContext(ctx, "git", "describe", "--always", "--dirty").Output(); err == nil {
		b.programs[0].version = strings.TrimSpace(string(commit))
	}
	if o.against != "" {
		if err := b.addProgram(ctx, "previous", harness.Programs{Dev: built.Dev, Comanda: o.against}); err != nil {
			return b, err
		}
	}
	if err := b.start(ctx); err != nil {
		return b, err
	}
	b.versions, err = b.describeVersions(ctx)
	return b, err
}

func (b *bench) addProgram(ctx context.Context, name string, p harness.Programs) error {
	version, err := p.Version(ctx)
	if err != nil {
		return fmt.Errorf("%s: %w", p.Comanda, err)
	}
	b.programs = append(b.programs, program{p, name, version})
	return nil
}

// start starts an infrastructure with empty databases and connects to it.
func (b *bench) start(ctx context.Context) (err error) {
	b.screen.say("starting PostgreSQL and Temporal")
	b.infras++
	starting, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	data := filepath.Join(b.dir, fmt.Sprintf("data-%d", b.infras))
	if b.infra, err = b.programs[0].StartInfraOn(starting, 0, data, b.tuning()); err != nil {
		return err
	}
	if b.db, err = b.open(false); err != nil {
		return err
	}
	b.emitter, err = newEmitter(ctx, b.infra.Ready.Env["COMANDA_SYSTEM_DATABASE_URL"])
	return err
}

// open opens the database as a program does, with or without a mail server.
func (b *bench) open(mails bool) (*persistence.DB, error) {
	env := b.infra.Ready.Env
	keyring, err := app.NewKeyring(app.NewSecret(env["COMANDA_SECRET_KEYS"]))
	if err != nil {
		return nil, err
	}
	return persistence.Open(persistence.Config{
		URL: env["DATABASE_URL"], SystemURL: env["COMANDA_SYSTEM_DATABASE_URL"], Sealer: keyring.Sealer(),
		MaxConns: clientConnections, Mails: mails,
	})
}

// stop stops the infrastructure.
func (b *bench) stop() {
	if b.bare != nil {
		b.bare.close()
	}
	if b.emitter != nil {
		b.emitter.close()
	}
	if b.db != nil {
		b.db.Close()
	}
	if b.infra != nil {
		ctx, cancel := context.WithTimeout(context.Background(), stopTimeout)
		defer cancel()
		b.infra.Stop(ctx) // its data is no longer needed
	}
	b.bare, b.emitter, b.db, b.infra = nil, nil, nil, nil
}

func (b *bench) close() {
	b.stop()
	os.RemoveAll(b.dir)
	b.screen.clear()
}

// measure runs the repeated cases once per round, then the other cases. If a case fails, it continues with the next
// one. It returns an error if it cannot continue.
func (b *bench) measure(ctx context.Context, selected []benchCase) error {
	fresh := true
	for round := range b.rounds + 1 {
		for _, c := range selected {
			if c.once != (round == b.rounds) {
				continue
			}
			place := fmt.Sprintf("round %d of %d", round+1, b.rounds)
			if c.once {
				place = "once"
			}
			programs := b.programs
			if c.shared {
				programs = programs[:1]
			}
			for _, p := range programs {
				if !fresh {
					b.stop()
					if err := b.start(ctx); err != nil {
						return err
					}
				}
				err := b.runCase(ctx, c, p, fmt.Sprintf("%s: %s%s", place, c.title, b.label(p)))
				if ctx.Err() != nil {
					return ctx.Err()
				}
				fresh = err == nil && !c.dirty
			}
		}
	}
	return nil
}

// runCase runs a case with a program and adds the outcome to the results.
func (b *bench) runCase(ctx context.Context, c benchCase, p program, what string) error {
	b.screen.say(what)
	s, err := c.run(ctx, b, p)
	if err != nil {
		b.results.failures = append(b.results.failures, fmt.Errorf("%s: %w", what, err))
		return err
	}
	b.results.add(c, p, s)
	return nil
}

// label returns the name of a program if there are two.
func (b *bench) label(p program) string {
	if len(b.programs) == 1 {
		return ""
	}
	return " (" + p.name + ")"
}

// startWorker starts a worker. settings override the environment of the infrastructure.
func (b *bench) startWorker(
	ctx context.Context, p program, strict bool, settings map[string]string,
) (*harness.Process, error) {
	all := map[string]string{
		"COMANDA_LOG_LEVEL": "warn", "COMANDA_BURST": map[bool]string{true: "off", false: "auto"}[strict],
	}
	for k, v := range settings {
		all[k] = v
	}
	starting, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	return p.StartComanda(starting, b.infra, "worker", all)
}

// stopWorker stops a worker gracefully.
func stopWorker(ctx context.Context, worker *harness.Process) error {
	stopping, cancel := context.WithTimeout(ctx, stopTimeout)
	defer cancel()
	return worker.Stop(stopping)
}

// processes returns the processes whose CPU time is measured while a worker runs.
func (b *bench) processes(worker int) (processes, error) {
	return newProcesses(worker, b.infra.PID)
}
