package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"text/tabwriter"
	"time"

	"github.com/shirou/gopsutil/v4/process"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence"
)

// scale is what it costs that many deliveries wait for a retry or a replay.
type scale struct {
	Steps     []scaleStep `json:"steps"`        // fewer than it was to be if there was no time for more
	Restarted float64     `json:"restartedMiB"` // a worker that has just been started beside them
	// Latency of a healthy webhook beside them.
	Latency percentiles `json:"latency"`
	Queries []timed     `json:"queries"`
}

// scaleStep is taken each time that some more wait.
type scaleStep struct {
	Waiting  int     `json:"waiting"`
	Seconds  float64 `json:"seconds"`   // since the beginning
	CPU      cpu     `json:"cpuMsEach"` // for each that has come to wait since the step before
	Worker   float64 `json:"workerMiB"`
	Temporal float64 `json:"temporalMiB"`
}

const (
	// Of what waits one in so many is a dead letter: each of these takes two attempts.
	deadLetterShare = 50
	// So many steps lead to the whole.
	scaleSteps = 20
)

// timed is how long a query took, with a warm cache.
type timed struct {
	Query string  `json:"query"`
	Ms    float64 `json:"ms"`
}

// scaled lets deliveries fail until so many wait, most for their retry and the others as
// dead letters, and measures what that costs.
func (b *bench) scaled(ctx context.Context) (*scale, error) {
	failing, err := b.newReceiver()
	if err != nil {
		return nil, err
	}
	defer failing.close()
	failing.status = http.StatusServiceUnavailable
	var stores []store
	for i := range b.options.stores {
		s, err := b.open(ctx, fmt.Sprintf("failing-%d.example", i), failing)
		if err != nil {
			return nil, err
		}
		stores = append(stores, s)
	}
	result := &scale{}
	began := time.Now()
	dead := b.scale / deadLetterShare
	if err := b.makeWait(ctx, result, began, stores, "1ms", app.DeliveryDeadLetter, dead); err != nil {
		return nil, err
	}
	if err := b.makeWait(ctx, result, began, stores, "240h", app.DeliveryRetrying, b.scale-dead); err != nil {
		return nil, err
	}
	worker, err := b.programs.StartComanda(ctx, b.infra, "worker", nil)
	if err != nil {
		return nil, err
	}
	defer worker.Kill()
	latency, err := b.undisturbed(ctx, b.startPaced(ctx))
	if err != nil {
		return nil, err
	}
	result.Latency = *latency
	if result.Restarted, err = memory(worker.PID); err != nil {
		return nil, err
	}
	result.Queries, err = b.queries(ctx, stores[0], result.Steps[len(result.Steps)-1].Waiting)
	return result, err
}

// makeWait lets n deliveries of all stores together fail, some after others, until they have
// come to rest in a state, or there is no time for more.
func (b *bench) makeWait(ctx context.Context, result *scale, began time.Time, stores []store, schedule string, state app.DeliveryStatus, n int) error {
	worker, err := b.programs.StartComanda(ctx, b.infra, "worker", map[string]string{"COMANDA_RETRY_SCHEDULE": schedule})
	if err != nil {
		return err
	}
	defer worker.Kill()
	already := 0
	if len(result.Steps) > 0 {
		already = result.Steps[len(result.Steps)-1].Waiting
	}
	before, err := spent(worker.PID, b.infra.PID)
	if err != nil {
		return err
	}
	for waiting := 0; waiting < n && time.Since(began) < b.within; {
		more := min(max(b.scale/scaleSteps, 1), n-waiting)
		for i, s := range stores {
			if err := b.burst(ctx, s, more*(i+1)/len(stores)-more*i/len(stores)); err != nil {
				return err
			}
		}
		waiting += more
		for rest := 0; rest < waiting; {
			if err := pause(ctx, time.Second); err != nil {
				return err
			}
			if rest, err = b.waiting(ctx, stores, state); err != nil {
				return err
			}
			b.bar.Describe(fmt.Sprintf("%d of %d wait", already+rest, b.scale))
		}
		step := scaleStep{Waiting: already + waiting, Seconds: time.Since(began).Seconds()}
		now, err := spent(worker.PID, b.infra.PID)
		if err != nil {
			return err
		}
		step.CPU, before = now.since(before, more), now
		if step.Worker, err = memory(worker.PID); err != nil {
			return err
		}
		if step.Temporal, err = memory(b.infra.PID); err != nil {
			return err
		}
		result.Steps = append(result.Steps, step)
		fmt.Fprintf(os.Stderr, "%d wait after %.0f s: %.1f ms of CPU each, worker %.0f MiB, Temporal %.0f MiB\n", step.Waiting, step.Seconds, step.CPU.sum(), step.Worker, step.Temporal)
	}
	stopping, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	return worker.Stop(stopping)
}

// waiting counts the deliveries of stores that are in a state.
func (b *bench) waiting(ctx context.Context, stores []store, state app.DeliveryStatus) (n int, err error) {
	var webhooks []string
	for _, s := range stores {
		webhooks = append(webhooks, string(s.webhook))
	}
	err = b.db.System().DB.QueryRowContext(ctx, `SELECT count(*) FROM deliveries
		WHERE subscription_id = ANY ($1) AND status = $2 AND status IN ('retrying', 'dead_letter')`, webhooks, state).Scan(&n)
	return n, err
}

// queries times what relays and clients ask.
func (b *bench) queries(ctx context.Context, s store, waiting int) ([]timed, error) {
	now := time.Now()
	before := app.At(now.Add(-24 * time.Hour))
	limits := app.ClaimLimits{Events: 200, Batch: 64, SlowBatch: 16, Turn: 8, Unproven: 8, Quick: 200, Slow: 50, Lease: 10 * time.Second}
	deliveries := func(filter persistence.DeliveryFilter) func() error {
		return func() error { _, err := b.db.Deliveries(ctx, s.id, filter, "", 100); return err }
	}
	attempts := func(page int) func() error {
		return func() error {
			_, _, err := b.db.Attempts(ctx, s.id, s.webhook, persistence.AttemptFilter{}, page, 100)
			return err
		}
	}
	var all []timed
	for _, query := range []struct {
		name string
		run  func() error
	}{
		{"dispatch, nothing there", func() error { _, err := b.db.Dispatch(ctx, now, limits); return err }},
		{"claim what is queued, nothing there", func() error { _, err := b.db.ClaimQueued(ctx, now, limits); return err }},
		{"claim what was abandoned, nothing there", func() error { _, err := b.db.ClaimAbandoned(ctx, now, limits); return err }},
		{"is anything due", func() error { _, err := b.db.HasDue(ctx, now); return err }},
		{"deliveries", deliveries(persistence.DeliveryFilter{})},
		{"deliveries of a type (none)", deliveries(persistence.DeliveryFilter{EventType: app.EventOrderCompleted})},
		{"deliveries before those", deliveries(persistence.DeliveryFilter{To: &before})},
		{"deliveries of a webhook", deliveries(persistence.DeliveryFilter{SubscriptionID: s.webhook})},
		{"deliveries, dead letters", deliveries(persistence.DeliveryFilter{Status: app.DeliveryDeadLetter})},
		{"deliveries, queued (none)", deliveries(persistence.DeliveryFilter{Status: app.DeliveryQueued})},
		{"attempts, first page", attempts(1)},
		{"attempts, last page", attempts(waiting / b.options.stores / 100)},
	} {
		const times = 5
		var began time.Time
		for i := range times + 1 {
			if i == 1 {
				began = time.Now()
			}
			if err := query.run(); err != nil {
				return nil, fmt.Errorf("%s: %w", query.name, err)
			}
		}
		all = append(all, timed{query.name, float64(time.Since(began).Microseconds()) / 1000 / times})
	}
	return all, nil
}

// memory returns what a process has in memory, in MiB.
func memory(pid int) (float64, error) {
	p, err := process.NewProcess(int32(pid))
	if err != nil {
		return 0, err
	}
	info, err := p.MemoryInfo()
	if err != nil {
		return 0, err
	}
	return float64(info.RSS) / (1 << 20), nil
}

func (s *scale) print(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "\t\tCPU ms each:\t\t\t\tMiB:\t\t")
	fmt.Fprintln(w, "waiting\tafter s\tservice\tits SQL\tTemporal\tPostgreSQL else\tworker\tTemporal\t")
	for _, step := range s.Steps {
		fmt.Fprintf(w, "%d\t%.0f\t%.2f\t%.2f\t%.2f\t%.2f\t%.0f\t%.0f\t\n", step.Waiting, step.Seconds,
			step.CPU.Service, step.CPU.SQL, step.CPU.Temporal, step.CPU.Postgres, step.Worker, step.Temporal)
	}
	fmt.Fprintln(w)
	for _, query := range s.Queries {
		fmt.Fprintf(w, "%s\t%.1f ms\t\n", query.Query, query.Ms)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(out, "\nbeside them: a worker that has just been started has %.0f MiB; commit to arrival %s\n", s.Restarted, s.Latency)
	return err
}
