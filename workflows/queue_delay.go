package workflows

import (
	"maps"
	"slices"
	"sync"
	"time"

	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/workflow"
)

const (
	maxQueueDelay = 2 * time.Second        // the website of a delivery that waits longer for its first task is late
	lateTime      = 250 * time.Millisecond // duration of that state; meanwhile, the next such delivery begins
)

// queueDelay tracks the websites whose deliveries wait in their task queue because workers lack processor time.
// Temporal gives websites turns there by the workflows' fairness keys. Eager starts never wait. A first task that is
// repeated because its worker died counts, too.
type queueDelay struct {
	interceptor.WorkerInterceptorBase

	lock sync.Mutex
	last map[string]time.Time // times at which late deliveries began, by website
}

func newQueueDelay() *queueDelay { return &queueDelay{last: map[string]time.Time{}} }

// late returns the websites that are late.
func (d *queueDelay) late(now time.Time) []string {
	d.lock.Lock()
	defer d.lock.Unlock()
	maps.DeleteFunc(d.last, func(_ string, at time.Time) bool { return now.Sub(at) >= lateTime })
	return slices.Sorted(maps.Keys(d.last))
}

// began records that a delivery of a website has begun after a wait.
func (d *queueDelay) began(now time.Time, website string, waited time.Duration) {
	if waited <= maxQueueDelay {
		return
	}
	d.lock.Lock()
	defer d.lock.Unlock()
	d.last[website] = now
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
	info := workflow.GetInfo(ctx)
	if info.WorkflowType.Name == workflowDelivery && !workflow.IsReplaying(ctx) {
		b.delay.began(time.Now(), info.Priority.FairnessKey, workflow.Now(ctx).Sub(info.WorkflowStartTime))
	}
	return b.Next.ExecuteWorkflow(ctx, in)
}
