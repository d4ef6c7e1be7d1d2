package workflows

import (
	"context"
	"fmt"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/comanda-dev/comanda/app"
)

// JobStore is the table of jobs.
type JobStore interface {
	// ClaimJobs claims enqueued jobs of all websites in turn.
	ClaimJobs(ctx context.Context, now time.Time, claim app.JobClaim) ([]app.Job, error)
	// FinishJobs removes jobs whose workflows have been started.
	FinishJobs(ctx context.Context, ids []app.JobID) error
	// ReleaseJobs lets others claim these jobs from until on.
	ReleaseJobs(ctx context.Context, until time.Time, ids []app.JobID) error
}

// JobInput is the input of a job's workflow.
type JobInput struct {
	StoreID app.StoreID `json:"storeId"`
	Queue   string      `json:"queue"`   // the website, or all its sandboxes
	Subject string      `json:"subject"` // id of the resource that the job is about
	Urgent  bool        `json:"urgent"`
	Policy  JobPolicy   `json:"policy"`
}

// priority lets a server that supports fairness alternate between websites, and between the urgent jobs and the other
// jobs of a website. The key has at most 64 bytes. Other servers ignore it.
func (in JobInput) priority() temporal.Priority {
	if in.Urgent {
		return temporal.Priority{FairnessKey: in.Queue + "/urgent"}
	}
	return temporal.Priority{FairnessKey: in.Queue}
}

// JobPolicy holds the settings of jobs that can differ between releases and installations.
type JobPolicy struct {
	Watchdog app.WatchdogPolicy `json:"watchdog"`
}

// withJobOptions returns a context that runs the activities of a job with jobOptions.
func withJobOptions(ctx workflow.Context, in JobInput, timeout time.Duration) workflow.Context {
	return workflow.WithActivityOptions(ctx, jobOptions(in.priority(), timeout))
}

// withDeadlineOptions is withJobOptions for short activities that a deadline depends on: they do not wait for others.
func withDeadlineOptions(ctx workflow.Context, in JobInput, timeout time.Duration) workflow.Context {
	options := jobOptions(in.priority(), timeout)
	options.TaskQueue = DeadlineTaskQueue
	return workflow.WithActivityOptions(ctx, options)
}

// jobOptions returns the options of an activity on the task queue of jobs, where it does not wait for attempts. timeout
// limits each execution. The activity is retried until it succeeds, because its failures are internal errors.
func jobOptions(priority temporal.Priority, timeout time.Duration) workflow.ActivityOptions {
	return workflow.ActivityOptions{
		TaskQueue: JobTaskQueue, StartToCloseTimeout: timeout, Priority: priority,
		RetryPolicy: &temporal.RetryPolicy{
			InitialInterval: time.Second, BackoffCoefficient: 2, MaximumInterval: time.Minute,
		},
	}
}

// JobWorkflowID returns the id of a job's workflow.
func JobWorkflowID(kind app.JobKind, subject string) string { return string(kind) + "/" + subject }

// StartJob starts the workflow of a job; its type is the job's kind. The open workflow of a watchdog, of a sold-out
// product, of an order's acceptance, of a deactivation or of a reordering evaluates its subject again. On other open
// workflows, StartJob has no effect. If the job is a mail, ended waits until the workflow has ended; otherwise it is
// nil.
func (c *Client) StartJob(ctx context.Context, job app.Job) (ended func(context.Context), err error) {
	in := JobInput{
		StoreID: job.StoreID, Queue: job.Queue, Subject: job.Subject, Urgent: job.Urgent, Policy: c.jobs,
	}
	options := client.StartWorkflowOptions{
		ID:                       JobWorkflowID(job.Kind, job.Subject),
		TaskQueue:                TaskQueue,
		StaticSummary:            fmt.Sprintf("%s for %s", job.Kind, job.Subject),
		WorkflowIDReusePolicy:    enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE,
		WorkflowIDConflictPolicy: enums.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
		Priority:                 in.priority(),
		TypedSearchAttributes: temporal.NewSearchAttributes(
			attributeIDs.ValueSet([]string{string(job.StoreID)}), attributeStore.ValueSet(string(job.StoreID))),
	}
	if job.Kind == app.JobSoldOut || job.Kind == app.JobAcceptance {
		options.TaskQueue = DeadlineTaskQueue
	}
	switch job.Kind {
	case app.JobWatchdog, app.JobSoldOut, app.JobAcceptance, app.JobDeactivation, app.JobReordering:
		_, err = c.temporal.SignalWithStartWorkflow(ctx, options.ID, signalWatch, nil, options, string(job.Kind), in)
		return nil, err
	}
	options.EnableEagerStart = true
	run, err := c.temporal.ExecuteWorkflow(ctx, options, string(job.Kind), in)
	if err != nil || job.Kind != app.JobMail {
		return nil, err
	}
	return func(ctx context.Context) { _ = run.Get(ctx, nil) }, nil
}
