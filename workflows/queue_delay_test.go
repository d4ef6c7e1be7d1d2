package workflows

import (
	"slices"
	"testing"
	"time"

	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
)

// A website is late for a moment after a process began a delivery of it that had waited too long.
func TestQueueDelay(t *testing.T) {
	t.Parallel()
	delay, now := newQueueDelay(), time.Now()
	delay.began(now, "prompt", maxQueueDelay)
	delay.began(now, "late", maxQueueDelay+1)
	delay.began(now.Add(time.Millisecond), "late", 0)
	if late := delay.late(now.Add(lateTime - 1)); !slices.Equal(late, []string{"late"}) {
		t.Errorf("late websites: got %v, want [late]", late)
	}
	if late := delay.late(now.Add(lateTime)); len(late) > 0 || len(delay.last) > 0 {
		t.Errorf("late websites after %s: got %v, want none", lateTime, late)
	}
}

// early is an interceptor that dates the start of a workflow of a website to an earlier time.
type early struct {
	interceptor.WorkerInterceptorBase
	interceptor.WorkflowInboundInterceptorBase

	by time.Duration
}

func (e *early) InterceptWorkflow(
	_ workflow.Context, next interceptor.WorkflowInboundInterceptor,
) interceptor.WorkflowInboundInterceptor {
	e.Next = next
	return e
}

func (e *early) ExecuteWorkflow(ctx workflow.Context, in *interceptor.ExecuteWorkflowInput) (any, error) {
	info := workflow.GetInfo(ctx)
	info.WorkflowStartTime, info.Priority.FairnessKey = info.WorkflowStartTime.Add(-e.by), "web_1"
	return e.Next.ExecuteWorkflow(ctx, in)
}

// A worker measures the time from the start of a delivery's workflow to its first task. Other workflows do not count.
func TestQueueDelayOfAWorkflow(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		workflow string
		waited   time.Duration
		want     []string
	}{
		"prompt": {workflowDelivery, 0, nil},
		"late":   {workflowDelivery, maxQueueDelay + 1, []string{"web_1"}},
		"a test": {workflowTest, maxQueueDelay + 1, nil},
	} {
		delay, env := newQueueDelay(), environment()
		chain := []interceptor.WorkerInterceptor{&early{by: test.waited}, delay}
		env.SetWorkerOptions(worker.Options{Interceptors: chain})
		nothing := func(workflow.Context) error { return nil }
		env.RegisterWorkflowWithOptions(nothing, workflow.RegisterOptions{Name: test.workflow})
		env.ExecuteWorkflow(test.workflow)
		if err := env.GetWorkflowError(); err != nil {
			t.Fatal(err)
		}
		if late := delay.late(time.Now()); !slices.Equal(late, test.want) {
			t.Errorf("%s: late websites: got %v, want %v", name, late, test.want)
		}
	}
}
