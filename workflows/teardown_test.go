package workflows

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/workflow"

	"github.com/comanda-dev/comanda/activities"
	"github.com/comanda-dev/comanda/app"
)

func runTeardown(
	t *testing.T, batch func(activities.TeardownInput) (activities.TeardownResult, error),
) (took time.Duration, calls []string) {
	t.Helper()
	env := environment()
	env.SetStartTime(start)
	env.RegisterWorkflowWithOptions(Teardown, workflow.RegisterOptions{Name: string(app.JobTeardown)})
	env.RegisterActivityWithOptions(func(
		ctx context.Context, in activities.TeardownInput,
	) (activities.TeardownResult, error) {
		info := activity.GetInfo(ctx)
		if info.TaskQueue != JobTaskQueue || info.HeartbeatTimeout != teardownHeartbeat {
			t.Errorf("task queue %s, heartbeat timeout %s, want %s and %s",
				info.TaskQueue, info.HeartbeatTimeout, JobTaskQueue, teardownHeartbeat)
		}
		at := env.Now().Sub(start)
		calls = append(calls, fmt.Sprintf("%s %s after %q at %s", in.StoreID, in.SubscriptionID, in.After, at))
		return batch(in)
	}, activity.RegisterOptions{Name: activityCancelBatch})
	env.ExecuteWorkflow(string(app.JobTeardown), JobInput{StoreID: "sto_1", Subject: "whk_1"})
	if err := env.GetWorkflowError(); !env.IsWorkflowCompleted() || err != nil {
		t.Fatalf("completed %v with error %v, want completed without error", env.IsWorkflowCompleted(), err)
	}
	return env.Now().Sub(start), calls
}

// A teardown processes all batches, repeats the pass for deliveries that were in progress, and ends after a pass
// without open deliveries.
func TestTeardown(t *testing.T) {
	t.Parallel()
	results := []activities.TeardownResult{
		{Cancelled: 1100, Last: "dlv_1", More: true}, {Cancelled: 30, Last: "dlv_2"}, // first pass
		{Cancelled: 1, Last: "dlv_1"}, // second pass
		{},                            // third pass
	}
	n, failures := 0, 2
	took, calls := runTeardown(t, func(activities.TeardownInput) (activities.TeardownResult, error) {
		if n == 1 && failures > 0 { // an error of the activity, which is repeated
			failures--
			return activities.TeardownResult{}, errors.New("Temporal is away")
		}
		n++
		return results[n-1], nil
	})
	want := []string{
		`sto_1 whk_1 after "" at 0s`, `sto_1 whk_1 after "dlv_1" at 0s`,
		`sto_1 whk_1 after "dlv_1" at 1s`, `sto_1 whk_1 after "dlv_1" at 3s`,
		`sto_1 whk_1 after "" at 1m3s`, `sto_1 whk_1 after "" at 3m3s`,
	}
	if diff := cmp.Diff(want, calls); diff != "" || took != 3*time.Minute+3*time.Second {
		t.Errorf("took %s, want 3m3s; calls (-want +got):\n%s", took, diff)
	}
}

// Without open deliveries, a teardown makes two passes: deliveries that were in progress may appear later.
func TestTeardownWithoutDeliveries(t *testing.T) {
	t.Parallel()
	took, calls := runTeardown(t, func(activities.TeardownInput) (activities.TeardownResult, error) {
		return activities.TeardownResult{}, nil
	})
	if took != time.Minute || len(calls) != 2 {
		t.Errorf("%d passes in %s, want 2 in 1m", len(calls), took)
	}
}
