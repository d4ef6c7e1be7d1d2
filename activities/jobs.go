package activities

import (
	"context"
	"time"

	"github.com/comanda-dev/comanda/app"
)

// JobStore is what jobs need of the database.
type JobStore interface {
	TickWatchdog(ctx context.Context, now time.Time, store app.StoreID, id app.SubscriptionID, policy app.WatchdogPolicy) (app.Watched, error)
	ContinueBulkReplay(ctx context.Context, now time.Time, store app.StoreID, id app.ReplayID, limit int) (app.ReplayStep, error)
	CancelBulkReplay(ctx context.Context, now time.Time, store app.StoreID, id app.ReplayID, reason string) (app.BulkReplay, error)
	Erase(ctx context.Context, now time.Time, retention app.Retention, beat func()) (app.Erased, error)
}

// Jobs does the steps of jobs. Each is one transaction and can be repeated.
type Jobs struct {
	store     JobStore
	retention app.Retention
	now       func() time.Time
}

// NewJobs joins what jobs need.
func NewJobs(store JobStore, retention app.Retention, now func() time.Time) *Jobs {
	return &Jobs{store, retention, now}
}

// TickWatchdogInput names a receiver that fails.
type TickWatchdogInput struct {
	StoreID        app.StoreID        `json:"storeId"`
	SubscriptionID app.SubscriptionID `json:"subscriptionId"`
	Policy         app.WatchdogPolicy `json:"policy"`
}

// TickWatchdog decides whether a receiver has failed for too long.
func (j *Jobs) TickWatchdog(ctx context.Context, in TickWatchdogInput) (app.Watched, error) {
	return j.store.TickWatchdog(ctx, j.now(), in.StoreID, in.SubscriptionID, in.Policy)
}

// ReplayInput names a bulk replay.
type ReplayInput struct {
	StoreID  app.StoreID  `json:"storeId"`
	ReplayID app.ReplayID `json:"replayId"`
}

// ContinueReplay queues the next deliveries of a bulk replay.
func (j *Jobs) ContinueReplay(ctx context.Context, in ReplayInput) (app.ReplayStep, error) {
	return j.store.ContinueBulkReplay(ctx, j.now(), in.StoreID, in.ReplayID, app.MaxReplaying)
}

// CancelReplay records that a bulk replay's workflow was cancelled; a completed one stays so.
func (j *Jobs) CancelReplay(ctx context.Context, in ReplayInput) error {
	_, err := j.store.CancelBulkReplay(ctx, j.now(), in.StoreID, in.ReplayID, app.ReasonCancelled)
	if app.CodeOf(err) == app.CodeConflict {
		return nil
	}
	return err
}

// EraseResult is what an erasure did, and when to come again.
type EraseResult struct {
	app.Erased

	NextIn time.Duration `json:"nextIn"`
}

// Erase removes what is no longer kept. How long that is this worker's configuration says.
// beat is called again and again as long as it works.
func (j *Jobs) Erase(ctx context.Context, beat func()) (EraseResult, error) {
	erased, err := j.store.Erase(ctx, j.now(), j.retention, beat)
	return EraseResult{erased, j.retention.Every()}, err
}
