package workflows

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/comanda-dev/comanda/app"
)

const (
	workflowTest = "Test"
	activityTest = "SendTest"

	// testStart is the maximum duration of starting a test. After it, Temporal counts as unreachable.
	testStart = 3 * time.Second
	// testRetry is the Retry-After of the response in that case.
	testRetry = 5 * time.Second
	// codeGone is the type of the activity's error if the subscription was deleted.
	codeGone = string(app.CodeNotFound)
)

// Test sends one test.ping to a subscription. Internal errors before the POST are retried until the workflow times out,
// which is when the caller stops waiting for the result. Nothing is sent after that.
//
// The POST is a local activity, like attempts in the fast lane. It does not wait for the backlog of the slow lane, for
// jobs or for mails, and a hanging receiver occupies one of thousands of slots. On the task queue of jobs, twenty such
// tests would block all jobs.
func Test(ctx workflow.Context, in app.WebhookTest) (app.WebhookTestResult, error) {
	left := workflow.GetInfo(ctx).WorkflowExecutionTimeout
	ctx = workflow.WithLocalActivityOptions(ctx, workflow.LocalActivityOptions{
		StartToCloseTimeout: left, ScheduleToCloseTimeout: left, Summary: "test.ping",
		RetryPolicy: &temporal.RetryPolicy{InitialInterval: time.Second, BackoffCoefficient: 1},
	})
	var result app.WebhookTestResult
	err := workflow.ExecuteLocalActivity(ctx, activityTest, in).Get(ctx, &result)
	return result, err
}

type sender = func(context.Context, app.WebhookTest) (app.WebhookTestResult, error)

// sendTest returns the activity. It does not retry if the subscription was deleted.
func sendTest(send sender) sender {
	return func(ctx context.Context, in app.WebhookTest) (app.WebhookTestResult, error) {
		result, err := send(ctx, in)
		if app.CodeOf(err) == app.CodeNotFound {
			err = temporal.NewNonRetryableApplicationError("the subscription was deleted", codeGone, nil)
		}
		return result, err
	}
}

// TestSubscription runs a test and waits for its result until the deadline of ctx, or 15 s without a deadline. It
// returns UNAVAILABLE if Temporal or the workers are unreachable, and NOT_FOUND if the subscription was deleted.
func (c *Client) TestSubscription(ctx context.Context, test app.WebhookTest) (app.WebhookTestResult, error) {
	timeout := 15 * time.Second
	if deadline, ok := ctx.Deadline(); ok {
		timeout = time.Until(deadline)
	}
	ctx, cancel := beforeDeadline(ctx, timeout)
	defer cancel()
	starting, started := context.WithTimeout(ctx, testStart)
	defer started()
	run, err := c.temporal.ExecuteWorkflow(starting, client.StartWorkflowOptions{
		ID:                       "test/" + string(test.EventID),
		TaskQueue:                TaskQueue,
		WorkflowExecutionTimeout: timeout,
		StaticSummary:            fmt.Sprintf("test.ping for %s", test.SubscriptionID),
		WorkflowIDConflictPolicy: enums.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
		// The tests of a store have turns of their own, so that none waits behind deliveries.
		Priority: temporal.Priority{FairnessKey: string(test.StoreID) + "/ping"},
		TypedSearchAttributes: temporal.NewSearchAttributes(
			attributeIDs.ValueSet([]string{string(test.EventID), string(test.StoreID), string(test.SubscriptionID)}),
			attributeEventType.ValueSet(string(app.EventTestPing)),
		),
	}, workflowTest, test)
	if err != nil {
		return app.WebhookTestResult{}, fmt.Errorf("%w: cannot start a test: %w", app.Unavailable(testRetry), err)
	}
	var result app.WebhookTestResult
	err = run.Get(ctx, &result)
	if failed, ok := errors.AsType[*temporal.ApplicationError](err); ok && failed.Type() == codeGone {
		return result, app.NotFound()
	}
	if err != nil {
		return result, fmt.Errorf("%w: no result of a test: %w", app.Unavailable(testRetry), err)
	}
	return result, nil
}
