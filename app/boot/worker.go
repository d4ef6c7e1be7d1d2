package boot

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
	"go.temporal.io/sdk/client"
	"golang.org/x/sync/errgroup"

	"github.com/comanda-dev/comanda/activities"
	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence"
	"github.com/comanda-dev/comanda/persistence/delivery"
	"github.com/comanda-dev/comanda/persistence/pg"
	"github.com/comanda-dev/comanda/workflows"
)

// startWorker starts the workers, and then the relay, the job starter and the reconciler, which start workflows.
func startWorker(
	ctx context.Context, group *errgroup.Group, config Config, db *persistence.DB, metrics prometheus.Registerer,
	health *health, log zerolog.Logger,
) error {
	temporal, err := temporalClient(config, log)
	if err != nil {
		return err
	}
	err = eventually(ctx, log, "Temporal", func(ctx context.Context) error {
		return workflows.EnsureSearchAttributes(ctx, temporal, namespaceOf(config.temporal))
	})
	if err != nil {
		temporal.Close()
		return err
	}
	if err := eventually(ctx, log, "PostgreSQL", db.ReadClock); err != nil {
		temporal.Close()
		return err
	}
	group.Go(func() error {
		db.FollowClock(ctx)
		return nil
	})
	policy := activities.DefaultDeliveryPolicy(config.DeliveryTimeout)
	deliveries := workflows.NewClient(temporal, workflows.Policy{
		Schedule: app.RetrySchedule(config.RetrySchedule), Retention: config.DeadLetterRetention,
		AttemptLimit: policy.AttemptLimit(),
	}, workflows.JobPolicy{Watchdog: app.WatchdogPolicy{Day: config.WatchdogDay, Days: config.WatchdogDays}})
	egress := activities.NewEgress(activities.EgressConfig{
		Allow: config.EgressAllow, RootCAs: config.egressCAs, Timeout: config.DeliveryTimeout,
	})
	attempts := activities.NewDeliveries(db, egress, policy, db.Now, metrics, log)
	bursts := activities.NewBursts(attempts, db, deliveries, activities.DefaultBurstPolicy())
	workers := newWorkers(config, db, temporal, deliveries, attempts, bursts, metrics)
	if err := startWorkers(ctx, workers, deliveries, log); err != nil {
		temporal.Close()
		return err
	}
	health.checks = append(health.checks, deliveries.Ready)
	workload := func() workflows.Workload {
		return workflows.Workload{
			Attempts: attempts.Working(), Bursts: bursts.InProgress(), Websites: bursts.Websites(),
			Late: workers.Late(),
		}
	}
	start := startersOf(config, db, deliveries, workload, metrics, log)
	group.Go(func() error {
		defer keepHeapFloor()()
		defer temporal.Close()
		defer stopWorkers(workers, bursts, config.stopTimeout(policy), log)
		var namespace sync.WaitGroup
		namespace.Go(func() { keepNamespace(ctx, config, temporal, deliveries, log) })
		start(ctx)
		namespace.Wait()
		return nil
	})
	return nil
}

// newWorkers returns the workers with all activities.
func newWorkers(
	config Config, db *persistence.DB, temporal client.Client, deliveries *workflows.Client,
	attempts *activities.Deliveries, bursts *activities.Bursts, metrics prometheus.Registerer,
) *workflows.Workers {
	retention := app.Retention{
		Bodies: config.DeadLetterRetention, Log: config.LogRetention, Audit: config.AuditRetention,
	}
	workers := workflows.NewWorkers(temporal, attempts, bursts,
		activities.NewMails(db, config.smtp, config.BaseURL, db.Now, metrics),
		activities.NewJobs(db, retention, db.Now),
		config.stopTimeout(activities.DefaultDeliveryPolicy(config.DeliveryTimeout)))
	workers.HandleTeardown(activities.NewTeardown(db, deliveries.CancelDelivery, db.Now))
	workers.HandleDeactivation(activities.NewDeactivation(db, db.Now))
	workers.HandleReordering(activities.NewReorderings(db, db.Now))
	workers.HandleAcceptances(activities.NewAcceptances(db, db.Now))
	workers.HandleProducts(activities.NewProducts(db, db.Now))
	workers.HandleErasure(activities.NewErasure(db, db.Now))
	return workers
}

// startWorkers starts the workers and the retention workflow.
func startWorkers(
	ctx context.Context, workers *workflows.Workers, deliveries *workflows.Client, log zerolog.Logger,
) error {
	if err := workers.Start(); err != nil {
		return fmt.Errorf("cannot start the workers: %w", err)
	}
	if err := eventually(ctx, log, "Temporal", deliveries.StartRetention); err != nil {
		workers.Stop()
		return err
	}
	return nil
}

// startersOf returns a function that starts workflows until ctx is done: those of events (relay), of jobs, and of
// overdue deliveries (reconciler).
func startersOf(
	config Config, db *persistence.DB, deliveries *workflows.Client, workload func() workflows.Workload,
	metrics prometheus.Registerer, log zerolog.Logger,
) func(ctx context.Context) {
	gate := workflows.NewGate(probeOf(deliveries.Ready, db.PoolStats), log)
	jobs := workflows.NewJobs(db, deliveries.StartJob, gate, db.Now, log)
	listen := func(ctx context.Context, wake func()) error {
		return db.Listen(ctx, wake, jobs.Wake)
	}
	limits := config.Burst.limit(delivery.DefaultPolicy().Claim)
	relay := workflows.NewRelay(db, deliveries.StartClaims, gate, listen, limits, db.Now, log)
	relay.Follow(workload)
	reconciler := workflows.NewReconciler(db, deliveries, config.ReconcileAfter, db.Now, metrics, log)
	return func(ctx context.Context) {
		var starting sync.WaitGroup
		starting.Go(func() { gate.Run(ctx) })
		starting.Go(func() { jobs.Run(ctx) })
		starting.Go(func() { reconciler.Run(ctx) })
		relay.Run(ctx)
		starting.Wait()
	}
}

// probeOf returns a function that returns an error if this worker cannot start or load deliveries: if Temporal does not
// respond, or no caller of a pool got a connection since the previous call.
func probeOf(temporal func(context.Context) error, stats func() []pg.PoolStats) func(context.Context) error {
	last := stats()
	return func(ctx context.Context) error {
		before := last
		last = stats()
		for i, pool := range last {
			if (pool.Purpose == pg.Relay || pool.Purpose == pg.Attempts) && pool.Exhausted(before[i]) {
				return fmt.Errorf("all connections of the pool %s remain in use", pool.Purpose)
			}
		}
		return temporal(ctx)
	}
}

// stopWorkers stops the workers and waits for running attempts, including those that have left their bursts.
func stopWorkers(workers *workflows.Workers, bursts *activities.Bursts, limit time.Duration, log zerolog.Logger) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	workers.Stop()
	if err := bursts.Wait(ctx); err != nil {
		log.Warn().Err(err).Msg("attempts are still running; another worker will repeat them")
	}
}
