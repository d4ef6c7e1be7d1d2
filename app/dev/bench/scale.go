package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"text/tabwriter"
	"time"

	"github.com/shirou/gopsutil/v4/process"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence"
)

// scale is what it costs that many deliveries wait for a retry or a replay.
type scale struct {
	Steps     []scaleStep `json:"steps"`
	Restarted float64     `json:"restartedMiB"` // a worker that has just been started beside them
	// Latency of a healthy webhook beside them.
	Latency percentiles `json:"latency"`
	Queries []timed     `json:"queries"`
}

// scaleStep is taken each time that a tenth more waits.
type scaleStep struct {
	Waiting  int     `json:"waiting"`
	Seconds  float64 `json:"seconds"` // since the beginning
	Worker   float64 `json:"workerMiB"`
	Temporal float64 `json:"temporalMiB"`
}

// timed is how long a query took, with a warm cache.
type timed struct {
	Query string  `json:"query"`
	Ms    float64 `json:"ms"`
}

// scaled lets deliveries fail until so many wait, one half for their retry and the other
// as dead letters, and measures what that costs.
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
	for half, schedule := range []string{"240h", "1ms"} {
		if err := b.makeWait(ctx, result, began, stores, schedule, half*b.scale/2, (half+1)*b.scale/2); err != nil {
			return nil, err
		}
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
	result.Queries, err = b.queries(ctx, stores[0])
	return result, err
}

// makeWait commits events for all stores and waits until their deliveries, and with them
// upTo in all, have come to rest.
func (b *bench) makeWait(ctx context.Context, result *scale, began time.Time, stores []store, schedule string, from, upTo int) error {
	worker, err := b.programs.StartComanda(ctx, b.infra, "worker", map[string]string{"COMANDA_RETRY_SCHEDULE": schedule})
	if err != nil {
		return err
	}
	defer worker.Kill()
	for i, s := range stores {
		if err := b.burst(ctx, s, (upTo-from)*(i+1)/len(stores)-(upTo-from)*i/len(stores)); err != nil {
			return err
		}
	}
	for waiting, next := from, from; waiting < upTo; {
		if err := pause(ctx, time.Second); err != nil {
			return err
		}
		err := b.db.System().DB.QueryRowContext(ctx, `SELECT count(*) FROM deliveries
			WHERE status = 'dead_letter' OR status = 'retrying' AND next_retry_at > now() + interval '1 hour'`).Scan(&waiting)
		if err != nil {
			return err
		}
		b.bar.Describe(fmt.Sprintf("%d of %d wait", waiting, b.scale))
		if waiting < next && waiting < upTo {
			continue
		}
		next = waiting + b.scale/10
		step := scaleStep{Waiting: waiting, Seconds: time.Since(began).Seconds()}
		if step.Worker, err = memory(worker.PID); err != nil {
			return err
		}
		if step.Temporal, err = memory(b.infra.PID); err != nil {
			return err
		}
		result.Steps = append(result.Steps, step)
	}
	stopping, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	return worker.Stop(stopping)
}

// queries times what relays and clients ask.
func (b *bench) queries(ctx context.Context, s store) ([]timed, error) {
	now := time.Now()
	limits := app.ClaimLimits{Events: 200, Batch: 64, SlowBatch: 16, Turn: 8, Unproven: 16, Quick: 200, Slow: 50, Lease: 10 * time.Second}
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
		{"deliveries of a webhook", deliveries(persistence.DeliveryFilter{SubscriptionID: s.webhook})},
		{"deliveries, dead letters", deliveries(persistence.DeliveryFilter{Status: app.DeliveryDeadLetter})},
		{"deliveries, queued (none)", deliveries(persistence.DeliveryFilter{Status: app.DeliveryQueued})},
		{"attempts, first page", attempts(1)},
		{"attempts, last page", attempts(b.scale * 3 / 2 / b.options.stores / 100)},
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
	fmt.Fprintln(w, "waiting\tafter s\tworker MiB\tTemporal MiB\t")
	for _, step := range s.Steps {
		fmt.Fprintf(w, "%d\t%.0f\t%.0f\t%.0f\t\n", step.Waiting, step.Seconds, step.Worker, step.Temporal)
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
