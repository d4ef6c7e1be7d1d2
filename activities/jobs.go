package activities

import (
	"context"
	"time"

	"github.com/comanda-dev/comanda/app"
)

// JobStore executes the steps of jobs in the database.
type JobStore interface {
	TickWatchdog(
		ctx context.Context, now time.Time, store app.StoreID, id app.SubscriptionID, policy app.WatchdogPolicy,
	) (app.Watched, error)
	ContinueBulkReplay(
		ctx context.Context, now time.Time, store app.StoreID, id app.ReplayID, limits app.ReplayLimits,
	) (app.ReplayStep, error)
	CancelBulkReplay(
		ctx context.Context, now time.Time, store app.StoreID, id app.ReplayID, reason string,
	) (app.BulkReplay, error)
	Erase(ctx context.Context, now time.Time, retention app.Retention, beat func()) (app.Erased, error)
}

// replaySteps is the maximum number of steps of a bulk replay in one execution of its activity. A transaction with all
// of their deliveries would lock the turns of as many resources, for which dispatch and records of other websites wait.
const replaySteps = 5

// Jobs contains the activities of jobs. They can be repeated.
type Jobs struct {
	store     JobStore
	retention app.Retention
	now       func() time.Time
}

// NewJobs returns the activities of jobs.
func NewJobs(store JobStore, retention app.Retention, now func() time.Time) *Jobs {
	return &Jobs{store, retention, now}
}

// TickWatchdogInput identifies a failing subscription.
type TickWatchdogInput struct {
	StoreID        app.StoreID        `json:"storeId"`
	SubscriptionID app.SubscriptionID `json:"subscriptionId"`
	Policy         app.WatchdogPolicy `json:"policy"`
}

// TickWatchdog evaluates the streak of failures of a subscription. It enqueues warnings, or deactivates the
// subscription after too many days.
func (j *Jobs) TickWatchdog(ctx context.Context, in TickWatchdogInput) (app.Watched, error) {
	return j.store.TickWatchdog(ctx, j.now(), in.StoreID, in.SubscriptionID, in.Policy)
}

// ReplayInput identifies a bulk replay.
type ReplayInput struct {
	StoreID  app.StoreID  `json:"storeId"`
	ReplayID app.ReplayID `json:"replayId"`
}

// ContinueReplay queues the next deliveries of a bulk replay. Events that a filter excludes are progress, too. It
// reports a bulk replay that a restored database lacks as cancelled, so that its workflow ends.
func (j *Jobs) ContinueReplay(ctx context.Context, in ReplayInput) (app.ReplayStep, error) {
	var last app.ReplayStep
	for range replaySteps {
		step, err := j.store.ContinueBulkReplay(ctx, j.now(), in.StoreID, in.ReplayID, app.DefaultReplayLimits())
		if app.CodeOf(err) == app.CodeNotFound {
			return app.ReplayStep{Status: app.ReplayCancelled}, nil
		}
		if err != nil {
			return step, err
		}
		more := step.Decided > 0 && step.Status == app.ReplayRunning
		step.Moved = step.Moved || last.Moved
		if last = step; !more {
			break
		}
	}
	return last, nil
}

// CancelReplay records that the workflow of a bulk replay was cancelled, and removes the rest of its list. It does not
// change the status of a bulk replay that has ended, or that a restored database lacks.
func (j *Jobs) CancelReplay(ctx context.Context, in ReplayInput) error {
	_, err := j.store.CancelBulkReplay(ctx, j.now(), in.StoreID, in.ReplayID, app.ReasonCancelled)
	if code := app.CodeOf(err); err != nil && code != app.CodeConflict && code != app.CodeNotFound {
		return err
	}
	for rest := true; rest; {
		step, err := j.ContinueReplay(ctx, in)
		if err != nil {
			return err
		}
		rest = step.Rest
	}
	return nil
}

// EraseResult is the result of an erasure.
type EraseResult struct {
	app.Erased

	NextIn time.Duration `json:"nextIn"` // time until the next erasure
}

// Erase erases expired data according to the retention of this worker. It calls beat regularly until it returns.
func (j *Jobs) Erase(ctx context.Context, beat func()) (EraseResult, error) {
	erased, err := j.store.Erase(ctx, j.now(), j.retention, beat)
	return EraseResult{erased, j.retention.Every()}, err
}
