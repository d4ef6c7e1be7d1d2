package workflows

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"
	"golang.org/x/sync/errgroup"
	"golang.org/x/time/rate"

	"github.com/comanda-dev/comanda/app"
)

// ReconcileStore finds deliveries that should have progressed, and jobs whose workflows may be lost.
type ReconcileStore interface {
	// Overdue returns deliveries that should have progressed more than after before now and that
	// no worker has checked during the last minute, or since after before now if that is later.
	// Those whose last check is oldest come first. It counts as their check. It returns no
	// deliveries while another worker is in this call.
	Overdue(ctx context.Context, now time.Time, after time.Duration, limit int) (app.OverdueBatch, error)
	// EnqueueLostJobs enqueues the jobs of work that is unfinished more than after ago again, and
	// returns their number.
	EnqueueLostJobs(ctx context.Context, now time.Time, after time.Duration) (int, error)
	// Repaired records that these deliveries have workflows of their own.
	Repaired(ctx context.Context, claims []app.Claim) error
}

// DeliveryWorkflows looks up and repairs the workflows of deliveries; see [Client].
type DeliveryWorkflows interface {
	DeliveryStanding(ctx context.Context, event app.EventID, subscription app.SubscriptionID) (Standing, error)
	BurstOpen(ctx context.Context, burst app.BurstID) (bool, error)
	StartDelivery(ctx context.Context, claim app.Claim) error
	RestartDelivery(ctx context.Context, claim app.Claim) error
	ReplayDeadLetter(ctx context.Context, event app.EventID, subscription app.SubscriptionID, overdue time.Time) error
}

// Limits of the reconciler.
const (
	reconcileEvery   = time.Minute     // between two passes, at most
	reconcileBatch   = 500             // deliveries of one statement: ten seconds of lookups
	lookupsPerSecond = 50              // a quarter of the starts that a small Temporal server completes
	lookupsAtOnce    = 8               // reaches lookupsPerSecond up to 160 ms per lookup
	maxFailedLookups = 20              // of one batch, after which Temporal counts as unreachable
	reconcileWithin  = 5 * time.Minute // in which every overdue delivery is to be checked
	maxOverdue       = lookupsPerSecond * int(reconcileWithin/time.Second)
)

// repairs are the standings of workflows that are repaired, and the reasons in the metric.
var repairs = []Standing{StandingClosed, StandingUnknown, StandingDeadLetter, StandingStuck}

// Reconciler compares deliveries that should have progressed with their workflows, and starts
// workflows again that were terminated, lost by a restore, or never started. It also enqueues the
// jobs of unfinished work again. Every worker runs a reconciler; they share the deliveries.
type Reconciler struct {
	store     ReconcileStore
	workflows DeliveryWorkflows
	after     time.Duration
	now       func() time.Time
	log       zerolog.Logger

	lookups    *rate.Limiter
	reconciled *prometheus.CounterVec
	beyond     prometheus.Gauge
}

// NewReconciler returns a reconciler of deliveries that should have progressed more than after
// ago.
func NewReconciler(
	store ReconcileStore, workflows DeliveryWorkflows, after time.Duration,
	now func() time.Time, metrics prometheus.Registerer, log zerolog.Logger,
) *Reconciler {
	r := &Reconciler{
		store: store, workflows: workflows, after: after, now: now, log: log,
		lookups: rate.NewLimiter(lookupsPerSecond, lookupsAtOnce),
		reconciled: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "comanda_deliveries_reconciled_total",
			Help: "Deliveries whose workflow this worker has repaired, by the state of that workflow.",
		}, []string{"reason"}),
		beyond: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "comanda_deliveries_overdue_beyond_bound",
			Help: "Overdue deliveries beyond the number that can be checked within five minutes.",
		}),
	}
	metrics.MustRegister(r.reconciled, r.beyond)
	for _, reason := range repairs {
		r.reconciled.WithLabelValues(string(reason)) // a rate needs its zero
	}
	return r
}

// Run checks all overdue deliveries once a minute until ctx is done, or more often if deliveries
// count as overdue in less than a minute.
func (r *Reconciler) Run(ctx context.Context) {
	tick := time.NewTicker(min(reconcileEvery, r.after))
	defer tick.Stop()
	for ctx.Err() == nil {
		r.pass(ctx)
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
}

// pass enqueues lost jobs and checks batches of deliveries until none is left.
func (r *Reconciler) pass(ctx context.Context) {
	n, err := r.store.EnqueueLostJobs(ctx, r.now(), r.after)
	if err != nil && ctx.Err() == nil {
		r.log.Error().Err(err).Msg("the reconciler cannot enqueue lost jobs; it tries again")
	}
	if n > 0 { // most of them run; a replay in bulk takes hours
		r.log.Debug().Int("jobs", n).Msg("the jobs of unfinished work are enqueued again")
	}
	for ctx.Err() == nil {
		now := r.now()
		batch, err := r.store.Overdue(ctx, now, r.after, reconcileBatch)
		if err != nil {
			if ctx.Err() == nil {
				r.log.Error().Err(err).Msg("the reconciler cannot read overdue deliveries; it tries again")
			}
			return
		}
		r.beyond.Set(float64(max(0, len(batch.Claims)+batch.Left-maxOverdue)))
		if len(batch.Claims) == 0 || !r.checkAll(ctx, now, batch.Claims) {
			return
		}
	}
}

// checkAll checks the deliveries of a batch that was read at a time, and reports whether
// Temporal is reachable.
func (r *Reconciler) checkAll(ctx context.Context, read time.Time, batch []app.Overdue) bool {
	var lock sync.Mutex
	var failed []error
	var repaired []app.Claim
	var checks errgroup.Group
	checks.SetLimit(lookupsAtOnce)
	for _, overdue := range batch {
		checks.Go(func() error {
			lock.Lock()
			giveUp := len(failed) >= maxFailedLookups || ctx.Err() != nil
			lock.Unlock()
			if giveUp {
				return nil
			}
			standing, err := r.check(ctx, read, overdue)
			lock.Lock()
			defer lock.Unlock()
			switch {
			case err != nil:
				failed = append(failed, err)
			case slices.Contains(repairs, standing):
				repaired = append(repaired, overdue.Claim)
			}
			return nil
		})
	}
	_ = checks.Wait() // the functions return no errors
	r.record(ctx, repaired)
	if len(failed) > 0 && ctx.Err() == nil {
		r.log.Error().Err(errors.Join(failed[:min(3, len(failed))]...)).Int("deliveries", len(failed)).
			Msg("overdue deliveries could not be checked; they are checked again")
	}
	return len(failed) < maxFailedLookups
}

// check looks up the workflow of a delivery and repairs it. It returns the standing that it
// has found.
func (r *Reconciler) check(ctx context.Context, read time.Time, overdue app.Overdue) (Standing, error) {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	standing, err := r.lookUp(ctx, overdue.Claim)
	if err != nil {
		return "", err
	}
	claim := overdue.Claim
	claim.Repair = true
	switch standing {
	case StandingOpen:
		return standing, nil
	case StandingDeadLetter:
		err = r.workflows.ReplayDeadLetter(ctx, claim.EventID, claim.SubscriptionID, read)
	case StandingStuck:
		err = r.workflows.RestartDelivery(ctx, claim)
	default:
		err = r.workflows.StartDelivery(ctx, claim)
	}
	if err != nil {
		return "", err
	}
	r.reconciled.WithLabelValues(string(standing)).Inc()
	r.log.Warn().Str("delivery", string(claim.ID)).Str("event", string(claim.EventID)).Str("store", string(claim.StoreID)).
		Str("webhook", string(claim.SubscriptionID)).Str("status", string(overdue.Status)).Str("reason", string(standing)).
		Msg("an overdue delivery is repaired")
	return standing, nil
}

// lookUp returns the standing of the workflow that is responsible for a delivery. The delivery
// of a burst has a workflow of its own only if its first attempt failed or took long.
func (r *Reconciler) lookUp(ctx context.Context, claim app.Claim) (Standing, error) {
	if err := r.lookups.Wait(ctx); err != nil {
		return "", err
	}
	standing, err := r.workflows.DeliveryStanding(ctx, claim.EventID, claim.SubscriptionID)
	if err != nil || standing != StandingUnknown || claim.BurstID == "" {
		return standing, err
	}
	if err := r.lookups.Wait(ctx); err != nil {
		return "", err
	}
	if open, err := r.workflows.BurstOpen(ctx, claim.BurstID); err != nil || open {
		return StandingOpen, err
	}
	return standing, nil
}

// record records repairs, which are made already.
func (r *Reconciler) record(ctx context.Context, repaired []app.Claim) {
	if len(repaired) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), startTimeout)
	defer cancel()
	if err := r.store.Repaired(ctx, repaired); err != nil {
		r.log.Error().Err(err).Int("deliveries", len(repaired)).Msg("repairs could not be recorded")
	}
}
