package workflows

import (
	"slices"
	"testing"
	"time"

	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
)

// A website is late for a moment after a process began a workflow of it that had waited too long.
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

// A worker measures the time from the start of a workflow to its first task.
func TestQueueDelayOfAWorkflow(t *testing.T) {
	t.Parallel()
	for waited, want := range map[time.Duration][]string{0: nil, maxQueueDelay + 1: {"web_1"}} {
		delay, env := newQueueDelay(), environment()
		chain := []interceptor.WorkerInterceptor{&early{by: waited}, delay}
		env.SetWorkerOptions(worker.Options{Interceptors: chain})
		env.ExecuteWorkflow(func(workflow.Context) error { return nil })
		if err := env.GetWorkflowError(); err != nil {
			t.Fatal(err)
		}
		if late := delay.late(time.Now()); !slices.Equal(late, want) {
			t.Errorf("late websites after a wait of %s: got %v, want %v", waited, late, want)
		}
	}
}
