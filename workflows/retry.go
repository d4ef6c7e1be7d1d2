package workflows

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/comanda-dev/comanda/app"
)

// RetryInput is the input of the update "retry", which makes the next attempt of a retrying delivery now. The attempt
// counts in the schedule.
type RetryInput struct {
	Attempt int `json:"attempt"` // the number of the attempt; 0 = the next one, for operators
}

// RetryResult is the result of the update "retry".
type RetryResult struct {
	Attempt int  `json:"attempt"`
	Made    bool `json:"made"` // false = the delivery ended without the attempt, or continues in another run
}

// notWaiting is the type of the error that rejects a retry.
const notWaiting = "NotWaiting"

// acceptRetries registers the update "retry".
func (d *delivery) acceptRetries(ctx workflow.Context) error {
	return workflow.SetUpdateHandlerWithOptions(ctx, UpdateRetry, d.retry, workflow.UpdateHandlerOptions{
		Validator: d.checkRetry, Description: "makes the next attempt of a retrying delivery now",
	})
}

// checkRetry rejects a retry unless the delivery waits for this attempt, or is about to: the previous attempt is
// recorded before the workflow receives its result.
func (d *delivery) checkRetry(_ workflow.Context, in RetryInput) error {
	next := d.state.Attempts + 1
	waiting := d.waiting && (in.Attempt == 0 || in.Attempt == next)
	if waiting || d.state.State == stateAttempting && !d.ended && in.Attempt == next+1 {
		return nil
	}
	return temporal.NewApplicationError("the delivery does not wait for this attempt", notWaiting)
}

// retry ends the wait for an attempt and returns after the attempt.
func (d *delivery) retry(ctx workflow.Context, in RetryInput) (RetryResult, error) {
	if in.Attempt == 0 {
		in.Attempt = d.state.Attempts + 1
	}
	d.requested = in.Attempt
	made := func() bool { return d.state.Attempts >= in.Attempt }
	err := workflow.Await(ctx, func() bool { return made() || d.ended })
	return RetryResult{Attempt: in.Attempt, Made: made()}, err
}

// awaitNext waits until the next attempt is due, or until a retry requests it or the one after it. The latter ends the
// wait of a delivery that has left its burst: its first attempt is recorded, and this run only reads the record.
func (d *delivery) awaitNext(ctx workflow.Context, delay time.Duration) error {
	timing, stop := workflow.WithCancel(ctx)
	defer stop()
	due := workflow.NewTimerWithOptions(timing, delay, workflow.TimerOptions{Summary: d.nextName()})
	d.waiting = d.place > 0
	defer func() { d.waiting = false }()
	err := workflow.Await(ctx, func() bool { return due.IsReady() || d.requested > d.state.Attempts })
	if err == nil && due.IsReady() {
		return due.Get(ctx, nil)
	}
	return err
}

// settle waits until the retries of the ended schedule have returned. They return in the same workflow task.
func (d *delivery) settle(ctx workflow.Context) {
	d.ended = true
	detached, cancel := workflow.NewDisconnectedContext(ctx)
	defer cancel()
	// The error would be a cancellation, and nothing cancels this context.
	_ = workflow.Await(detached, func() bool { return workflow.AllHandlersFinished(detached) })
}

// retryTimeout is the maximum wait for the result of a retry.
const retryTimeout = 15 * time.Second

// A burst starts the workflow of a delivery after the record of its first attempt. A retry between them looks for the
// workflow again every handOverPause, for at most handOver.
const (
	handOver      = 5 * time.Second
	handOverPause = 100 * time.Millisecond
)

// RetryDelivery makes an attempt of a retrying delivery now and waits for its end until the deadline of ctx, or 15 s
// without a deadline. Concurrent calls for one attempt share it. RetryDelivery returns UNAVAILABLE if there is no
// result in time; the attempt may still be made.
func (c *Client) RetryDelivery(ctx context.Context, retry app.DeliveryRetry) (app.RetryOutcome, error) {
	ctx, cancel := beforeDeadline(ctx, retryTimeout)
	defer cancel()
	for began := time.Now(); ; {
		outcome, err := c.retryOnce(ctx, retry)
		if outcome != app.RetryLost || time.Since(began) > handOver {
			return outcome, err
		}
		select {
		case <-time.After(handOverPause):
		case <-ctx.Done():
			return outcome, err
		}
	}
}

// retryOnce is RetryDelivery without waiting for a workflow that does not exist.
func (c *Client) retryOnce(ctx context.Context, retry app.DeliveryRetry) (app.RetryOutcome, error) {
	handle, err := c.temporal.UpdateWorkflow(ctx, client.UpdateWorkflowOptions{
		WorkflowID:   app.DeliveryWorkflowID(retry.EventID, retry.SubscriptionID),
		UpdateName:   UpdateRetry,
		UpdateID:     retryID(retry.Number),
		Args:         []any{RetryInput{Attempt: retry.Number}},
		WaitForStage: client.WorkflowUpdateStageCompleted,
	})
	var result RetryResult
	if err == nil {
		err = handle.Get(ctx, &result)
	}
	if err != nil {
		return retryFailed(err)
	}
	if !result.Made {
		return app.RetryEnded, nil
	}
	return app.RetryMade, nil
}

// retryID returns the id of an update. The server gives the same result to all updates of a run with the same id.
func retryID(attempt int) string { return UpdateRetry + "-" + strconv.Itoa(attempt) }

// retryFailed returns the outcome of a retry without a result.
func retryFailed(err error) (app.RetryOutcome, error) {
	if _, unknown := errors.AsType[*serviceerror.NotFound](err); unknown {
		return app.RetryLost, nil
	}
	if rejected, ok := errors.AsType[*temporal.ApplicationError](err); ok && rejected.Type() == notWaiting {
		return app.RetryBusy, nil
	}
	if temporal.IsCanceledError(err) { // the workflow was cancelled during the retry
		return app.RetryEnded, nil
	}
	return "", fmt.Errorf("%w: no result of a retry: %w", app.Unavailable(testRetry), err)
}

// beforeDeadline returns a context that ends a little earlier than ctx, so that the caller can still send its response.
// Without a deadline, it ends after the given time.
func beforeDeadline(ctx context.Context, timeout time.Duration) (context.Context, context.CancelFunc) {
	if deadline, ok := ctx.Deadline(); ok {
		timeout = time.Until(deadline)
	}
	return context.WithTimeout(ctx, timeout-timeout/15)
}
