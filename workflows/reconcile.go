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

// ReconcileStore finds overdue deliveries, and jobs whose workflows may be lost.
type ReconcileStore interface {
	// Overdue returns deliveries whose next step was due more than after ago, and records them as checked. It skips
	// deliveries that a worker has checked within the last minute, or within after if that is shorter. Websites take
	// turns, each with its oldest checks. It returns none while another worker executes this call.
	Overdue(ctx context.Context, now time.Time, after time.Duration, limit int) (app.OverdueBatch, error)
	// EnqueueLostJobs enqueues the jobs of work that has been unfinished for more than after again. It returns their
	// number.
	EnqueueLostJobs(ctx context.Context, now time.Time, after time.Duration) (int, error)
	// Repaired records that these deliveries have separate workflows.
	Repaired(ctx context.Context, claims []app.Claim) error
}

// DeliveryWorkflows looks up and repairs the workflows of deliveries; see [Client].
type DeliveryWorkflows interface {
	DeliveryWorkflowState(ctx context.Context, event app.EventID, subscription app.SubscriptionID) (WorkflowState, error)
	BurstOpen(ctx context.Context, burst app.BurstID) (bool, error)
	StartDelivery(ctx context.Context, claim app.Claim) error
	RestartDelivery(ctx context.Context, claim app.Claim) error
	ReplayDeadLetter(ctx context.Context, event app.EventID, subscription app.SubscriptionID, overdue time.Time) error
}

// Limits of the reconciler.
const (
	reconcileEvery   = time.Minute     // maximum time between two passes
	reconcileBatch   = 500             // deliveries per statement: ten seconds of lookups
	lookupsPerSecond = 50              // a quarter of the starts that a small Temporal server completes
	lookupsAtOnce    = 8               // concurrent lookups; reach lookupsPerSecond at up to 160 ms per lookup
	maxFailedLookups = 20              // failures in a batch after which Temporal counts as unreachable
	reconcileWithin  = 5 * time.Minute // time within which every overdue delivery should be checked
	maxOverdue       = lookupsPerSecond * int(reconcileWithin/time.Second)
)

// repairs lists the standings that require a repair. They are the reasons in the metric.
var repairs = []WorkflowState{WorkflowClosed, WorkflowUnknown, WorkflowDeadLetter, WorkflowStuck}

// Reconciler compares overdue deliveries with their workflows. It restarts workflows that were terminated, lost by a
// restore, or never started, and enqueues the jobs of unfinished work again. Every worker runs a reconciler; each
// delivery is checked by one of them at a time.
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

// NewReconciler returns a reconciler of deliveries whose next step was due longer ago than after.
func NewReconciler(
	store ReconcileStore, workflows DeliveryWorkflows, after time.Duration,
	now func() time.Time, metrics prometheus.Registerer, log zerolog.Logger,
) *Reconciler {
	r := &Reconciler{
		store: store, workflows: workflows, after: after, now: now, log: log,
		lookups: rate.NewLimiter(lookupsPerSecond, lookupsAtOnce),
		reconciled: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "comanda_deliveries_reconciled_total",
			Help: "Deliveries whose workflow this worker has repaired, by the state of the workflow.",
		}, []string{"reason"}),
		beyond: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "comanda_deliveries_overdue_beyond_bound",
			Help: "Overdue deliveries beyond the number that can be checked within five minutes.",
		}),
	}
	metrics.MustRegister(r.reconciled, r.beyond)
	for _, reason := range repairs {
		r.reconciled.WithLabelValues(string(reason)) // a rate is correct only if the series starts at 0
	}
	return r
}

// Run checks all overdue deliveries and enqueues lost jobs until ctx is done: once a minute, or more often if
// deliveries count as overdue after less than a minute. The two run concurrently, because many overdue deliveries take
// long.
func (r *Reconciler) Run(ctx context.Context) {
	var jobs sync.WaitGroup
	jobs.Go(func() { r.repeat(ctx, r.enqueueLostJobs) })
	r.repeat(ctx, r.pass)
	jobs.Wait()
}

// repeat executes a step regularly until ctx is done.
func (r *Reconciler) repeat(ctx context.Context, step func(context.Context)) {
	tick := time.NewTicker(min(reconcileEvery, r.after))
	defer tick.Stop()
	for ctx.Err() == nil {
		step(ctx)
		select {
		case <-ctx.Done():
		case <-tick.C:
		}
	}
}

// enqueueLostJobs enqueues the jobs of unfinished work again.
func (r *Reconciler) enqueueLostJobs(ctx context.Context) {
	n, err := r.store.EnqueueLostJobs(ctx, r.now(), r.after)
	if err != nil && ctx.Err() == nil {
		r.log.Error().Err(err).Msg("cannot enqueue lost jobs; retrying")
	}
	if n > 0 { // usually their workflows are open: a bulk replay takes hours
		r.log.Debug().Int("jobs", n).Msg("enqueued the jobs of unfinished work again")
	}
}

// pass checks batches of deliveries until none is left.
func (r *Reconciler) pass(ctx context.Context) {
	for ctx.Err() == nil {
		now := r.now()
		batch, err := r.store.Overdue(ctx, now, r.after, reconcileBatch)
		if err != nil {
			if ctx.Err() == nil {
				r.log.Error().Err(err).Msg("cannot read overdue deliveries; retrying")
			}
			return
		}
		r.beyond.Set(float64(max(0, len(batch.Claims)+batch.Left-maxOverdue)))
		if len(batch.Claims) == 0 || !r.checkAll(ctx, now, batch.Claims) {
			return
		}
	}
}

// checkAll checks the deliveries of a batch and reports whether Temporal is reachable. read is the time at which the
// batch was read.
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
			state, err := r.check(ctx, read, overdue)
			lock.Lock()
			defer lock.Unlock()
			switch {
			case err != nil:
				failed = append(failed, err)
			case slices.Contains(repairs, state):
				repaired = append(repaired, overdue.Claim)
			}
			return nil
		})
	}
	_ = checks.Wait() // the functions return no errors
	r.record(ctx, repaired)
	if len(failed) > 0 && ctx.Err() == nil {
		r.log.Error().Err(errors.Join(failed[:min(3, len(failed))]...)).Int("deliveries", len(failed)).
			Msg("cannot check overdue deliveries; retrying")
	}
	return len(failed) < maxFailedLookups
}

// check looks up the workflow of a delivery and repairs it if necessary. It returns the state before the repair.
func (r *Reconciler) check(ctx context.Context, read time.Time, overdue app.Overdue) (WorkflowState, error) {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	state, err := r.lookUp(ctx, overdue.Claim)
	if err != nil {
		return "", err
	}
	claim := overdue.Claim
	claim.Repair = true
	switch state {
	case WorkflowOpen:
		return state, nil
	case WorkflowDeadLetter:
		err = r.workflows.ReplayDeadLetter(ctx, claim.EventID, claim.SubscriptionID, read)
	case WorkflowStuck:
		err = r.workflows.RestartDelivery(ctx, claim)
	default:
		err = r.workflows.StartDelivery(ctx, claim)
	}
	if err != nil {
		return "", err
	}
	r.reconciled.WithLabelValues(string(state)).Inc()
	r.log.Warn().Str("delivery", string(claim.ID)).Str("event", string(claim.EventID)).
		Str("store", string(claim.StoreID)).Str("webhook", string(claim.SubscriptionID)).
		Str("status", string(overdue.Status)).Str("reason", string(state)).Msg("repaired an overdue delivery")
	return state, nil
}

// lookUp returns the state of the workflow that is responsible for a delivery. A delivery in a burst has its own
// workflow only if its first attempt failed or took long; before that, the workflow of the burst is responsible.
func (r *Reconciler) lookUp(ctx context.Context, claim app.Claim) (WorkflowState, error) {
	if err := r.lookups.Wait(ctx); err != nil {
		return "", err
	}
	state, err := r.workflows.DeliveryWorkflowState(ctx, claim.EventID, claim.SubscriptionID)
	if err != nil || state != WorkflowUnknown || claim.BurstID == "" {
		return state, err
	}
	if err := r.lookups.Wait(ctx); err != nil {
		return "", err
	}
	if open, err := r.workflows.BurstOpen(ctx, claim.BurstID); err != nil || open {
		return WorkflowOpen, err
	}
	return state, nil
}

// record records the repaired deliveries.
func (r *Reconciler) record(ctx context.Context, repaired []app.Claim) {
	if len(repaired) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), startTimeout)
	defer cancel()
	if err := r.store.Repaired(ctx, repaired); err != nil {
		r.log.Error().Err(err).Int("deliveries", len(repaired)).Msg("cannot record repairs")
	}
}
