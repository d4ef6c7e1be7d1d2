package workflows

import (
	"sync/atomic"
	"time"

	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/workflow"
)

// Workers that lack processor time leave workflows in their task queue. Websites take turns there, but a delivery
// that waits there is already counted in its plan's window, and cannot be held back any more.
const (
	maxQueueDelay = 2 * time.Second        // a workflow that waits longer for its first task shows that workers are behind
	behindTime    = 250 * time.Millisecond // duration of that state; meanwhile, the next such workflow begins
)

// queueDelay tracks whether workflows wait in their task queue before this process begins them. Eager starts never do.
type queueDelay struct {
	interceptor.WorkerInterceptorBase

	late atomic.Pointer[time.Time] // time at which the last workflow began that had waited too long; nil = none
}

// behind reports whether workflows have lately waited too long.
func (d *queueDelay) behind(now time.Time) bool {
	late := d.late.Load()
	return late != nil && now.Sub(*late) < behindTime
}

// began records that a workflow has begun after a wait.
func (d *queueDelay) began(now time.Time, waited time.Duration) {
	if waited > maxQueueDelay {
		d.late.Store(&now)
	}
}

// InterceptWorkflow implements interceptor.WorkerInterceptor.
func (d *queueDelay) InterceptWorkflow(
	_ workflow.Context, next interceptor.WorkflowInboundInterceptor,
) interceptor.WorkflowInboundInterceptor {
	return &beginning{interceptor.WorkflowInboundInterceptorBase{Next: next}, d}
}

// beginning measures the wait of a workflow. Temporal dates the start and the first task.
type beginning struct {
	interceptor.WorkflowInboundInterceptorBase

	delay *queueDelay
}

// ExecuteWorkflow implements interceptor.WorkflowInboundInterceptor.
func (b *beginning) ExecuteWorkflow(ctx workflow.Context, in *interceptor.ExecuteWorkflowInput) (any, error) {
	if !workflow.IsReplaying(ctx) {
		b.delay.began(time.Now(), workflow.Now(ctx).Sub(workflow.GetInfo(ctx).WorkflowStartTime))
	}
	return b.Next.ExecuteWorkflow(ctx, in)
}
