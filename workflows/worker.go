package workflows

import (
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/comanda-dev/comanda/activities"
	"github.com/comanda-dev/comanda/app"
)

// Slots of the two lanes. A hanging receiver holds a slot for as long as an attempt may
// take, so the slow lane is bounded and its surplus waits in Temporal.
const (
	fastSlots = 4000
	slowSlots = 200
	pollers   = 8
	// stickyCache is how many workflows a worker keeps in memory; the others are replayed
	// from their histories when something happens to them.
	stickyCache = 2000
)

// Workers runs workflows and activities.
type Workers struct{ fast, slow worker.Worker }

// NewWorkers makes the workers of both lanes. When they stop, attempts under way have
// until stopTimeout to be finished and recorded.
func NewWorkers(temporal client.Client, deliveries *activities.Deliveries, mails *activities.Mails, stopTimeout time.Duration) *Workers {
	worker.SetStickyWorkflowCacheSize(stickyCache)
	w := &Workers{
		fast: worker.New(temporal, TaskQueue, worker.Options{
			MaxConcurrentWorkflowTaskExecutionSize:  fastSlots,
			MaxConcurrentLocalActivityExecutionSize: fastSlots,
			MaxConcurrentWorkflowTaskPollers:        pollers,
			StickyScheduleToStartTimeout:            2 * time.Second,
			DeadlockDetectionTimeout:                5 * time.Second,
			WorkerStopTimeout:                       stopTimeout,
			LocalActivityWorkerOnly:                 true,
		}),
		slow: worker.New(temporal, SlowTaskQueue, worker.Options{
			MaxConcurrentActivityExecutionSize: slowSlots,
			MaxConcurrentActivityTaskPollers:   pollers,
			WorkerStopTimeout:                  stopTimeout,
			DisableWorkflowWorker:              true,
		}),
	}
	w.fast.RegisterWorkflowWithOptions(Delivery, workflow.RegisterOptions{Name: workflowDelivery})
	w.fast.RegisterWorkflowWithOptions(Mail, workflow.RegisterOptions{Name: string(app.JobMail)})
	w.slow.RegisterActivityWithOptions(mails.Send, activity.RegisterOptions{Name: activitySendMail})
	w.slow.RegisterActivityWithOptions(mails.GiveUp, activity.RegisterOptions{Name: activityGiveUpMail})
	w.fast.RegisterWorkflowWithOptions(Test, workflow.RegisterOptions{Name: workflowTest})
	w.fast.RegisterActivityWithOptions(sendTest(deliveries.Test), activity.RegisterOptions{Name: activityTest})
	for _, lane := range []worker.Worker{w.fast, w.slow} {
		lane.RegisterActivityWithOptions(deliveries.Deliver, activity.RegisterOptions{Name: activityDeliver})
		lane.RegisterActivityWithOptions(deliveries.Cancel, activity.RegisterOptions{Name: activityCancel})
	}
	return w
}

// Start begins to poll.
func (w *Workers) Start() error {
	if err := w.slow.Start(); err != nil {
		return err
	}
	if err := w.fast.Start(); err != nil {
		w.slow.Stop()
		return err
	}
	return nil
}

// Stop ends both lanes side by side and waits for what is under way.
func (w *Workers) Stop() {
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		w.slow.Stop()
	}()
	w.fast.Stop()
	<-stopped
}
