package workflows

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/log"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/comanda-dev/comanda/app"
)

var ping = app.WebhookTest{StoreID: "sto_1", SubscriptionID: "whk_1", EventID: "evt_1"}

// runTest runs the workflow of a test with a timeout of 15 s.
func runTest(send sender) (app.WebhookTestResult, error) {
	env := environment()
	env.SetStartWorkflowOptions(client.StartWorkflowOptions{WorkflowExecutionTimeout: 15 * time.Second})
	env.RegisterWorkflowWithOptions(Test, workflow.RegisterOptions{Name: workflowTest})
	env.RegisterActivityWithOptions(sendTest(send), activity.RegisterOptions{Name: activityTest})
	env.ExecuteWorkflow(workflowTest, ping)
	if err := env.GetWorkflowError(); err != nil {
		return app.WebhookTestResult{}, err
	}
	var result app.WebhookTestResult
	return result, env.GetWorkflowResult(&result)
}

func TestTest(t *testing.T) {
	t.Parallel()
	want := app.WebhookTestResult{StatusCode: 500, ResponseTimeMs: 12, EventID: "evt_1", Error: "HTTP 500"}
	tries := 0
	got, err := runTest(func(_ context.Context, in app.WebhookTest) (app.WebhookTestResult, error) {
		if in != ping {
			t.Errorf("input %+v, want %+v", in, ping)
		}
		if tries++; tries < 3 {
			return app.WebhookTestResult{}, app.Unavailable(time.Second)
		}
		return want, nil
	})
	if diff := cmp.Diff(want, got); diff != "" || err != nil || tries != 3 {
		t.Errorf("%d executions, error %v, want 3 without error; result (-want +got):\n%s", tries, err, diff)
	}
	tries = 0
	_, err = runTest(func(context.Context, app.WebhookTest) (app.WebhookTestResult, error) {
		tries++
		return app.WebhookTestResult{}, app.NotFound()
	})
	if failed, ok := errors.AsType[*temporal.ApplicationError](err); !ok || failed.Type() != codeGone || tries != 1 {
		t.Errorf("deleted subscription: %d executions, %v, want 1 and %s", tries, err, codeGone)
	}
}

// Without Temporal, TestSubscription fails before the deadline of its request.
func TestTestSubscriptionWithoutTemporal(t *testing.T) {
	t.Parallel()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() }) // accepts connections and never responds
	silent := log.NewStructuredLogger(slog.New(slog.DiscardHandler))
	lazy, err := client.NewLazyClient(client.Options{HostPort: listener.Addr().String(), Logger: silent})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(lazy.Close)
	ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
	defer cancel()
	_, err = NewClient(lazy, Policy{}, JobPolicy{}).TestSubscription(ctx, ping)
	refusal, ok := errors.AsType[*app.Error](err)
	if !ok || refusal.Code != app.CodeUnavailable || refusal.RetryAfter == 0 {
		t.Errorf("error %v, want %s with Retry-After", err, app.CodeUnavailable)
	}
	if ctx.Err() != nil {
		t.Error("TestSubscription returned after the deadline of its context")
	}
}

// A test does not wait behind deliveries in the task queue, also not behind those of its website.
func TestTestHasItsOwnTurns(t *testing.T) {
	t.Parallel()
	s := &server{err: errAway}
	_, err := NewClient(s, Policy{}, JobPolicy{}).TestSubscription(t.Context(), ping)
	if s.options.Priority.FairnessKey != "sto_1/ping" || app.CodeOf(err) != app.CodeUnavailable {
		t.Errorf("started with %+v: %v, want the turns of sto_1/ping", s.options.Priority, err)
	}
}
