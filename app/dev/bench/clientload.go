package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/comanda-dev/comanda/app/dev/bench/sender"
	"github.com/comanda-dev/comanda/app/dev/harness"
)

const (
	// keyCommits is the rate of the clients' commits.
	keyCommits = "commitsPerSecond"
	// keyBeyondIdle is the CPU time per delivery without that of idle processes.
	keyBeyondIdle = "cpuMsEachBeyondIdle"
)

// clientLoad is a run in which clients commit events, one per transaction, while the sender works.
type clientLoad struct {
	limit  bool    // the minimal sender delivers, otherwise a worker
	fanOut int     // webhooks of each event; 0 = 1
	rate   float64 // events/s of a paced run
	filter string  // of all webhooks, "" = none
}

// saturated measures clients that commit as fast as they can: the time from the first commit to the last delivery's
// arrival, and CPU time until the processes are idle.
func (c clientLoad) saturated(ctx context.Context, b *bench, p program) (sample, error) {
	s, process, end, err := c.start(ctx, b, p)
	if err != nil {
		return sample{}, err
	}
	defer end()
	processes, err := c.warmUp(ctx, s, process)
	if err != nil {
		return sample{}, err
	}
	before, err := processes.clocks()
	if err != nil {
		return sample{}, err
	}
	began := time.Now()
	events, err := s.commitEach(ctx, s.tenants, c.events(b))
	if err != nil {
		return sample{}, err
	}
	committed := time.Since(began).Seconds()
	deliveries := deliveriesIn(events)
	last, err := s.arrivals.await(ctx, process, deliveries)
	if err != nil {
		return sample{}, err
	}
	after, err := settle(ctx, processes)
	if err != nil {
		return sample{}, err
	}
	each := after.since(before).times(1 / float64(deliveries))
	return sample{cpu: &each, values: map[string]float64{
		keyRate: float64(deliveries) / last.Sub(began).Seconds(), keyCPU: each.sum(),
		keyCommits: float64(len(events)) / committed, keyDoubled: float64(s.arrivals.beyond(1)),
	}}, end()
}

// paced measures clients that commit at a steady rate: the time from commit to arrival, and the CPU time of all
// processes, including what they use when idle.
func (c clientLoad) paced(ctx context.Context, b *bench, p program) (sample, error) {
	s, process, end, err := c.start(ctx, b, p)
	if err != nil {
		return sample{}, err
	}
	defer end()
	processes, err := c.warmUp(ctx, s, process)
	if err != nil {
		return sample{}, err
	}
	idle, err := processes.idle(ctx, b.pace/2)
	if err != nil {
		return sample{}, err
	}
	result, err := s.steady(ctx, process, processes, s.clients(ctx, c.rate, s.tenants))
	if err != nil {
		return sample{}, err
	}
	result.values[keyBeyondIdle] = result.values[keyCPU] - idle/c.rate
	return result, end()
}

// events returns the number of events of a saturated run.
func (c clientLoad) events(b *bench) int { return burstFactor * b.events / max(c.fanOut, 1) }

// start returns a stage and its sender. end stops the sender and closes the stage; only its first call has an effect.
func (c clientLoad) start(ctx context.Context, b *bench, p program) (*stage, *harness.Process, func() error, error) {
	s, err := b.spreadWith(ctx, settings{fanOut: max(c.fanOut, 1), filter: c.filter}, all(accept))
	if err != nil {
		return nil, nil, nil, err
	}
	start := s.startMinimal
	if !c.limit {
		start = func(ctx context.Context) (*harness.Process, func() error, error) {
			worker, err := b.startWorker(ctx, p, false, nil)
			return worker, func() error { return stopWorker(ctx, worker) }, err
		}
	}
	process, stop, err := start(ctx)
	if err != nil {
		s.close()
		return nil, nil, nil, err
	}
	ended := false
	return s, process, func() error {
		if ended {
			return nil
		}
		ended = true
		defer s.close()
		return stop()
	}, nil
}

// warmUp opens the connections of the clients and of the sender.
func (c clientLoad) warmUp(ctx context.Context, s *stage, process *harness.Process) (processes, error) {
	return s.warmUpClients(ctx, process, c.events(s.b)/warmUpShare)
}

// startMinimal starts the minimal sender of package sender with the first webhook of each tenant. stop stops it and
// removes its tables.
func (s *stage) startMinimal(ctx context.Context) (process *harness.Process, stop func() error, err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, nil, err
	}
	var webhooks []sender.Webhook
	for i, t := range s.tenants {
		webhooks = append(webhooks, sender.Webhook{
			Store: t.store, URL: s.receivers[i].url(t.webhooks[0].number), Secret: webhookSecret,
		})
	}
	owner, err := pgx.Connect(ctx, s.b.infra.Ready.OwnerDatabaseURL)
	if err != nil {
		return nil, nil, err
	}
	if err := sender.Install(ctx, owner, webhooks); err != nil {
		return nil, nil, errors.Join(fmt.Errorf("install the minimal sender: %w", err), owner.Close(ctx))
	}
	process, err = harness.Programs{Comanda: self}.Start(s.b.infra.Ready.Env, "-minimal")
	return process, func() error {
		ctx := context.WithoutCancel(ctx)
		defer owner.Close(ctx)
		return errors.Join(stopWorker(ctx, process), sender.Uninstall(ctx, owner))
	}, err
}
