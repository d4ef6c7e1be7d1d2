package main

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/shirou/gopsutil/v4/process"

	"github.com/comanda-dev/comanda/app"
	queue "github.com/comanda-dev/comanda/persistence/delivery"
)

// scale is the cost of many deliveries that wait for a retry or a replay.
type scale struct {
	Steps   []scaleStep `json:"steps"` // fewer than planned if the time was up
	Queries []timed     `json:"queries"`
}

// scaleStep is the measurement after more deliveries have begun to wait.
type scaleStep struct {
	Waiting  int     `json:"waiting"`
	Seconds  float64 `json:"seconds"`   // since the beginning
	CPU      cpu     `json:"cpuMsEach"` // per delivery that began to wait since the previous step
	Worker   float64 `json:"workerMiB"`
	Temporal float64 `json:"temporalMiB"`
}

const (
	// deadLetterPart is the part of the waiting deliveries that are dead letters, as a divisor. A
	// dead letter takes two attempts.
	deadLetterPart = 50
	// scaleSteps is the number of steps to all deliveries.
	scaleSteps = 20
	// dispatched is the number of events and deliveries that a dispatch writes, as the relay's.
	dispatched = 1000
)

// timed is the duration of a query with a warm cache.
type timed struct {
	Query string  `json:"query"`
	Ms    float64 `json:"ms"`
}

// scaled makes deliveries fail until -scale of them wait, most for their retry and the others as dead letters, and
// measures the cost.
func scaled(ctx context.Context, b *bench, p program) (sample, error) {
	s, err := b.spread(ctx, 1, all(refuse))
	if err != nil {
		return sample{}, err
	}
	defer s.close()
	result := &scale{}
	began := time.Now()
	dead := b.scale / deadLetterPart
	if err := s.makeWait(ctx, p, result, began, "1ms", app.DeliveryDeadLetter, dead); err != nil {
		return sample{}, err
	}
	if err := s.makeWait(ctx, p, result, began, "240h", app.DeliveryRetrying, b.scale-dead); err != nil {
		return sample{}, err
	}
	healthy, err := b.spread(ctx, 1, all(accept))
	if err != nil {
		return sample{}, err
	}
	defer healthy.close()
	worker, err := b.startWorker(ctx, p, false, nil)
	if err != nil {
		return sample{}, err
	}
	defer worker.Kill()
	processes, err := b.processes(worker.PID)
	if err != nil {
		return sample{}, err
	}
	arrival, err := healthy.steady(ctx, worker, processes, healthy.clients(ctx, float64(b.rate), healthy.tenants))
	if err != nil {
		return sample{}, err
	}
	if arrival.values["restartedMiB"], err = memory(worker.PID); err != nil {
		return sample{}, err
	}
	result.Queries, err = b.queries(ctx, s.tenants[0], result.Steps[len(result.Steps)-1].Waiting)
	arrival.scale = result
	return arrival, err
}

// makeWait makes n deliveries of all tenants fail, in steps, until they have a status or the time is up.
func (s *stage) makeWait(
	ctx context.Context, p program, result *scale, began time.Time, schedule string, status app.DeliveryStatus, n int,
) error {
	b := s.b
	worker, err := b.startWorker(ctx, p, false, map[string]string{"COMANDA_RETRY_SCHEDULE": schedule})
	if err != nil {
		return err
	}
	defer worker.Kill()
	already := 0
	if len(result.Steps) > 0 {
		already = result.Steps[len(result.Steps)-1].Waiting
	}
	processes, err := b.processes(worker.PID)
	if err != nil {
		return err
	}
	before, err := processes.clocks()
	if err != nil {
		return err
	}
	for waiting := 0; waiting < n && time.Since(began) < b.within; {
		more := min(max(b.scale/scaleSteps, 1), n-waiting)
		if _, err := b.emitter.commit(ctx, newEvents(s.tenants, more), nil); err != nil {
			return err
		}
		waiting += more
		for rest := 0; rest < waiting; {
			if err := pause(ctx, time.Second); err != nil {
				return err
			}
			if rest, err = s.with(ctx, status); err != nil {
				return err
			}
			b.screen.detail(fmt.Sprintf("%d of %d wait", already+rest, b.scale))
		}
		now, err := processes.clocks()
		if err != nil {
			return err
		}
		step := scaleStep{Waiting: already + waiting, Seconds: time.Since(began).Seconds()}
		step.CPU, before = now.since(before).times(1/float64(more)), now
		if step.Worker, err = memory(worker.PID); err != nil {
			return err
		}
		if step.Temporal, err = memory(b.infra.PID); err != nil {
			return err
		}
		result.Steps = append(result.Steps, step)
	}
	return stopWorker(ctx, worker)
}

// queries times the statements of relays and clients.
func (b *bench) queries(ctx context.Context, s *tenant, waiting int) ([]timed, error) {
	now := time.Now()
	before := app.At(now.Add(-24 * time.Hour))
	limits := queue.DefaultPolicy().Claim
	deliveries := func(filter app.DeliveryFilter) func() error {
		return func() error { _, err := b.db.Deliveries(ctx, s.store, filter, "", 100); return err }
	}
	attempts := func(page int) func() error {
		return func() error {
			_, _, err := b.db.Attempts(ctx, s.store, s.webhooks[0].id, app.AttemptFilter{}, page, 100)
			return err
		}
	}
	var all []timed
	for _, query := range []struct {
		name string
		run  func() error
	}{
		{"dispatch, no event waits", func() error { _, err := b.db.Dispatch(ctx, now, dispatched); return err }},
		{"claim, nothing is queued", func() error { _, err := b.db.Claim(ctx, now, limits); return err }},
		{"take over, nothing is abandoned", func() error {
			_, err := b.db.ClaimAbandoned(ctx, now, limits)
			return err
		}},
		{"deliveries", deliveries(app.DeliveryFilter{})},
		{"deliveries of a type (none)", deliveries(app.DeliveryFilter{EventType: app.EventOrderCompleted})},
		{"deliveries before those", deliveries(app.DeliveryFilter{To: &before})},
		{"deliveries of a webhook", deliveries(app.DeliveryFilter{SubscriptionID: s.webhooks[0].id})},
		{"deliveries, dead letters", deliveries(app.DeliveryFilter{Status: app.DeliveryDeadLetter})},
		{"deliveries, queued (none)", deliveries(app.DeliveryFilter{Status: app.DeliveryQueued})},
		{"attempts, first page", attempts(1)},
		{"attempts, last page", attempts(max(waiting/b.stores/100, 1))},
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

// memory returns the resident memory of a process in MiB.
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
	m := newMarkdown("waiting", "after s", "CPU ms each: service", "its SQL", "Temporal", "PostgreSQL else",
		"MiB: worker", "Temporal")
	for _, step := range s.Steps {
		m.add(strconv.Itoa(step.Waiting), number(step.Seconds), number(step.CPU.Service), number(step.CPU.SQL),
			number(step.CPU.Temporal), number(step.CPU.Postgres), number(step.Worker), number(step.Temporal))
	}
	if err := m.print(out); err != nil {
		return err
	}
	fmt.Fprintln(out)
	m = newMarkdown("query", "ms")
	for _, query := range s.Queries {
		m.add(query.Query, number(query.Ms))
	}
	return m.print(out)
}
