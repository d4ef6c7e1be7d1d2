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

// JobStore is the table of jobs.
type JobStore interface {
	// ClaimJobs claims enqueued jobs, at most limit. Their claims expire after lease.
	ClaimJobs(ctx context.Context, now time.Time, lease time.Duration, limit int) ([]app.Job, error)
	// FinishJobs removes jobs whose workflows have been started.
	FinishJobs(ctx context.Context, ids []app.JobID) error
}

const (
	jobBatch = 20               // jobs per claim
	jobLease = 30 * time.Second // more than a batch of starts usually takes
)

// JobInput is the input of a job's workflow.
type JobInput struct {
	StoreID app.StoreID `json:"storeId"`
	Subject string      `json:"subject"` // id of the resource that the job is about
	Policy  JobPolicy   `json:"policy"`
}

// JobPolicy holds the settings of jobs that can differ between releases and installations.
type JobPolicy struct {
	Watchdog app.WatchdogPolicy `json:"watchdog"`
}

// withJobOptions returns a context that runs activities with jobOptions.
func withJobOptions(ctx workflow.Context, timeout time.Duration) workflow.Context {
	return workflow.WithActivityOptions(ctx, jobOptions(timeout))
}

// jobOptions returns the options of an activity on the task queue of jobs, where it does not wait for attempts. timeout
// limits each execution. The activity is retried until it succeeds, because its failures are internal errors.
func jobOptions(timeout time.Duration) workflow.ActivityOptions {
	return workflow.ActivityOptions{
		TaskQueue: JobTaskQueue, StartToCloseTimeout: timeout,
		RetryPolicy: &temporal.RetryPolicy{
			InitialInterval: time.Second, BackoffCoefficient: 2, MaximumInterval: time.Minute,
		},
	}
}

// JobWorkflowID returns the id of a job's workflow.
func JobWorkflowID(kind app.JobKind, subject string) string { return string(kind) + "/" + subject }

// StartJob starts the workflow of a job; its type is the job's kind. The open workflow of a watchdog, of a sold-out
// product or of an order's acceptance evaluates its subject again. On other open workflows, StartJob has no effect.
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
	switch job.Kind {
	case app.JobWatchdog, app.JobSoldOut, app.JobAcceptance:
		_, err := c.temporal.SignalWithStartWorkflow(ctx, options.ID, signalWatch, nil, options, string(job.Kind), in)
		return err
	}
	_, err := c.temporal.ExecuteWorkflow(ctx, options, string(job.Kind), in)
	return err
}

// Jobs starts the workflows of enqueued jobs. Any number of workers can run it concurrently.
type Jobs struct {
	store JobStore
	start func(ctx context.Context, job app.Job) error
	now   func() time.Time
	log   zerolog.Logger
	wake  chan struct{}
}

// NewJobs returns a starter of jobs. start must be idempotent.
func NewJobs(
	store JobStore, start func(context.Context, app.Job) error, now func() time.Time, log zerolog.Logger,
) *Jobs {
	return &Jobs{store, start, now, log, make(chan struct{}, 1)}
}

// Wake makes Run look for jobs immediately.
func (j *Jobs) Wake() {
	select {
	case j.wake <- struct{}{}:
	default:
	}
}

// Run starts jobs until ctx is done. It looks for jobs when woken, and once a second.
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

// round starts at most one batch of jobs and returns the number of claimed jobs.
func (j *Jobs) round(ctx context.Context) int {
	jobs, err := j.store.ClaimJobs(ctx, j.now(), jobLease, jobBatch)
	if err != nil && ctx.Err() == nil {
		j.log.Error().Err(err).Msg("cannot claim jobs; retrying")
	}
	var started []app.JobID
	for _, job := range jobs {
		limited, cancel := context.WithTimeout(ctx, startTimeout)
		err := j.start(limited, job)
		cancel()
		if err != nil {
			j.log.Error().Err(err).Str("job", string(job.ID)).Str("kind", string(job.Kind)).
				Str("store", string(job.StoreID)).Msg("cannot start the workflow of a job; retrying")
			continue
		}
		started = append(started, job.ID)
	}
	if len(started) == 0 {
		return len(jobs)
	}
	if err := j.store.FinishJobs(ctx, started); err != nil {
		j.log.Error().Err(err).Int("jobs", len(started)).
			Msg("cannot record the starts of jobs; they will be repeated without effect")
	}
	return len(jobs)
}
