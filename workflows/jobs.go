package workflows

import (
	"context"
	"fmt"
	"time"

	"github.com/rs/zerolog"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/comanda-dev/comanda/app"
)

// JobStore is what the starting of jobs needs of the database.
type JobStore interface {
	ClaimJobs(ctx context.Context, now time.Time, lease time.Duration, limit int) ([]app.Job, error)
	FinishJobs(ctx context.Context, ids []app.JobID) error
}

const (
	jobBatch = 20
	jobLease = 30 * time.Second
)

// JobInput is what the workflow of every job starts with.
type JobInput struct {
	StoreID app.StoreID `json:"storeId"`
	Subject string      `json:"subject"` // the id of what it is about
	Policy  JobPolicy   `json:"policy"`
}

// JobPolicy is what may change between releases and installations.
type JobPolicy struct {
	Watchdog app.WatchdogPolicy `json:"watchdog"`
}

// withJobOptions runs the activities of a workflow with jobOptions.
func withJobOptions(ctx workflow.Context, try time.Duration) workflow.Context {
	return workflow.WithActivityOptions(ctx, jobOptions(try))
}

// jobOptions run an activity on the queue of jobs, where it does not wait behind attempts.
// Each try is limited to a duration; the number of tries is not, because a failure is ours to
// fix.
func jobOptions(try time.Duration) workflow.ActivityOptions {
	return workflow.ActivityOptions{
		TaskQueue: JobTaskQueue, StartToCloseTimeout: try,
		RetryPolicy: &temporal.RetryPolicy{
			InitialInterval: time.Second, BackoffCoefficient: 2, MaximumInterval: time.Minute,
		},
	}
}

// JobWorkflowID returns the id of the workflow that does a job.
func JobWorkflowID(kind app.JobKind, subject string) string { return string(kind) + "/" + subject }

// StartJob starts the workflow of a job, named as its kind. One that runs already is not
// started again, but a watchdog that is about to end is made to look once more.
func (c *Client) StartJob(ctx context.Context, job app.Job) error {
	in := JobInput{StoreID: job.StoreID, Subject: job.Subject, Policy: c.jobs}
	options := client.StartWorkflowOptions{
		ID:                       JobWorkflowID(job.Kind, job.Subject),
		TaskQueue:                TaskQueue,
		StaticSummary:            fmt.Sprintf("%s for %s", job.Kind, job.Subject),
		WorkflowIDReusePolicy:    enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
		WorkflowIDConflictPolicy: enums.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
		TypedSearchAttributes:    temporal.NewSearchAttributes(attributeStore.ValueSet(string(job.StoreID))),
	}
	if job.Kind == app.JobWatchdog {
		_, err := c.temporal.SignalWithStartWorkflow(ctx, options.ID, signalWatch, nil, options, string(job.Kind), in)
		return err
	}
	_, err := c.temporal.ExecuteWorkflow(ctx, options, string(job.Kind), in)
	return err
}

// Jobs starts the workflows of jobs. Any number of them work side by side.
type Jobs struct {
	store JobStore
	start func(ctx context.Context, job app.Job) error
	now   func() time.Time
	log   zerolog.Logger
	wake  chan struct{}
}

// NewJobs makes a starter of jobs; start may be repeated.
func NewJobs(
	store JobStore, start func(context.Context, app.Job) error, now func() time.Time, log zerolog.Logger,
) *Jobs {
	return &Jobs{store, start, now, log, make(chan struct{}, 1)}
}

// Wake makes it look for work now.
func (j *Jobs) Wake() {
	select {
	case j.wake <- struct{}{}:
	default:
	}
}

// Run works until ctx is done: when woken, and once a second.
func (j *Jobs) Run(ctx context.Context) {
	for ctx.Err() == nil {
		if j.round(ctx) == jobBatch {
			continue
		}
		select {
		case <-ctx.Done():
		case <-j.wake:
		case <-time.After(idlePoll):
		}
	}
}

// round starts what there is, at most one batch, and returns how many jobs it found.
func (j *Jobs) round(ctx context.Context) int {
	jobs, err := j.store.ClaimJobs(ctx, j.now(), jobLease, jobBatch)
	if err != nil && ctx.Err() == nil {
		j.log.Error().Err(err).Msg("jobs cannot be read")
	}
	var started []app.JobID
	for _, job := range jobs {
		limited, cancel := context.WithTimeout(ctx, startTimeout)
		err := j.start(limited, job)
		cancel()
		if err != nil {
			j.log.Error().Err(err).Str("job", string(job.ID)).Str("kind", string(job.Kind)).Str("store", string(job.StoreID)).
				Msg("the job's workflow could not be started; it will be tried again")
			continue
		}
		started = append(started, job.ID)
	}
	if len(started) == 0 {
		return len(jobs)
	}
	if err := j.store.FinishJobs(ctx, started); err != nil {
		j.log.Error().Err(err).Int("jobs", len(started)).
			Msg("starts of jobs could not be recorded; they are repeated without effect")
	}
	return len(jobs)
}
