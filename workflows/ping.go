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

	// testStart bounds how long the start of a test may take before Temporal counts as away.
	testStart = 3 * time.Second
	// testRetry is when a client may try again after that.
	testRetry = 5 * time.Second
	// codeGone marks an error of the activity: the subscription is.
	codeGone = string(app.CodeNotFound)
)

// Test sends one test.ping to a subscription. What fails on our side before the POST is
// tried again for as long as somebody waits for the answer, which is the workflow's
// timeout; nothing is sent after that.
//
// It is a local activity, as first attempts are: so it goes where the workflow's only task
// goes, past the slow lane's backlog, jobs and mails, and a receiver that hangs takes one of
// thousands of slots. Among the jobs twenty such tests would stop all of them.
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

// sendTest is the activity: there is no use in trying again what can no longer be sent.
func sendTest(send sender) sender {
	return func(ctx context.Context, in app.WebhookTest) (app.WebhookTestResult, error) {
		result, err := send(ctx, in)
		if app.CodeOf(err) == app.CodeNotFound {
			err = temporal.NewNonRetryableApplicationError("the subscription is gone", codeGone, nil)
		}
		return result, err
	}
}

// TestSubscription runs a test and waits for its result for as long as ctx lasts. It returns
// UNAVAILABLE when Temporal or the workers are away, NOT_FOUND when the subscription is gone.
func (c *Client) TestSubscription(ctx context.Context, test app.WebhookTest) (app.WebhookTestResult, error) {
	patience := 15 * time.Second
	if deadline, ok := ctx.Deadline(); ok {
		patience = time.Until(deadline)
	}
	// The answer is to come in time, be it that there is none.
	ctx, cancel := context.WithTimeout(ctx, patience-patience/15)
	defer cancel()
	starting, started := context.WithTimeout(ctx, testStart)
	defer started()
	run, err := c.temporal.ExecuteWorkflow(starting, client.StartWorkflowOptions{
		ID:                       "test/" + string(test.EventID),
		TaskQueue:                TaskQueue,
		WorkflowExecutionTimeout: patience,
		StaticSummary:            fmt.Sprintf("test.ping for %s", test.SubscriptionID),
		WorkflowIDConflictPolicy: enums.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING,
		TypedSearchAttributes: temporal.NewSearchAttributes(
			attributeStore.ValueSet(string(test.StoreID)),
			attributeSubscription.ValueSet(string(test.SubscriptionID)),
			attributeEventType.ValueSet(string(app.EventTestPing)),
		),
	}, workflowTest, test)
	if err != nil {
		return app.WebhookTestResult{}, fmt.Errorf("%w: start a test: %w", app.Unavailable(testRetry), err)
	}
	var result app.WebhookTestResult
	err = run.Get(ctx, &result)
	if failed, ok := errors.AsType[*temporal.ApplicationError](err); ok && failed.Type() == codeGone {
		return result, app.NotFound()
	}
	if err != nil {
		return result, fmt.Errorf("%w: await a test: %w", app.Unavailable(testRetry), err)
	}
	return result, nil
}
