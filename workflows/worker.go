package workflows

import (
	"context"
	"sync"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/comanda-dev/comanda/activities"
	"github.com/comanda-dev/comanda/app"
)

// Slots of the two lanes, of bursts, of jobs and of mails. A hanging receiver holds a slot for as long as an
// attempt may take, so the slow lane is bounded and its surplus waits in Temporal. What waits
// for somebody else, or for nobody, has slots apart from it.
const (
	fastSlots  = 4000
	slowSlots  = 200
	burstSlots = 128 // of up to 32 attempts: about as many as in the fast lane
	jobSlots   = 20
	mailSlots  = 10
	pollers    = 8
	// stickyCache is how many workflows a worker keeps in memory; the others are replayed
	// from their histories when something happens to them.
	stickyCache = 2000
)

// Workers runs workflows and activities.
type Workers struct{ fast, slow, bursts, jobs, mails worker.Worker }

// NewWorkers makes the workers of both lanes, of bursts, of jobs and of mails. When they stop, attempts
// under way have until stopTimeout to be finished and recorded.
func NewWorkers(
	temporal client.Client, deliveries *activities.Deliveries, bursts *activities.Bursts, mails *activities.Mails,
	jobs *activities.Jobs, stopTimeout time.Duration,
) *Workers {
	worker.SetStickyWorkflowCacheSize(stickyCache)
	w := &Workers{
		fast:   worker.New(temporal, TaskQueue, localOptions(fastSlots, stopTimeout)),
		bursts: worker.New(temporal, BurstTaskQueue, localOptions(burstSlots, stopTimeout)),
		slow: worker.New(temporal, SlowTaskQueue, worker.Options{
			MaxConcurrentActivityExecutionSize: slowSlots,
			MaxConcurrentActivityTaskPollers:   pollers,
			WorkerStopTimeout:                  stopTimeout,
			DisableWorkflowWorker:              true,
		}),
		jobs: worker.New(temporal, JobTaskQueue, worker.Options{
			MaxConcurrentActivityExecutionSize: jobSlots,
			WorkerStopTimeout:                  stopTimeout,
			DisableWorkflowWorker:              true,
		}),
		mails: worker.New(temporal, MailTaskQueue, worker.Options{
			MaxConcurrentActivityExecutionSize: mailSlots,
			WorkerStopTimeout:                  stopTimeout,
			DisableWorkflowWorker:              true,
		}),
	}
	Register(w.fast)
	// Bursts are served also if this worker starts none: those of other workers must end.
	w.bursts.RegisterWorkflowWithOptions(Burst, workflow.RegisterOptions{Name: workflowBurst})
	w.bursts.RegisterActivityWithOptions(bursts.DeliverBurst, activity.RegisterOptions{Name: activityDeliverBurst})
	for _, queue := range []worker.Worker{w.mails, w.slow} { // the second for mails that began when they were there
		queue.RegisterActivityWithOptions(mails.Send, activity.RegisterOptions{Name: activitySendMail})
		queue.RegisterActivityWithOptions(mails.GiveUp, activity.RegisterOptions{Name: activityGiveUpMail})
	}
	w.jobs.RegisterActivityWithOptions(func(ctx context.Context) (activities.EraseResult, error) {
		return jobs.Erase(ctx, func() { activity.RecordHeartbeat(ctx) })
	}, activity.RegisterOptions{Name: activityErase})
	w.jobs.RegisterActivityWithOptions(jobs.ContinueReplay, activity.RegisterOptions{Name: activityContinueReplay})
	w.jobs.RegisterActivityWithOptions(jobs.CancelReplay, activity.RegisterOptions{Name: activityCancelReplay})
	w.jobs.RegisterActivityWithOptions(jobs.TickWatchdog, activity.RegisterOptions{Name: activityTickWatchdog})
	w.fast.RegisterActivityWithOptions(sendTest(deliveries.Test), activity.RegisterOptions{Name: activityTest})
	for _, lane := range []worker.Worker{w.fast, w.slow} {
		lane.RegisterActivityWithOptions(deliveries.Deliver, activity.RegisterOptions{Name: activityDeliver})
	}
	// The slow lane serves cancellations that the previous release has scheduled there.
	for _, queue := range []worker.Worker{w.jobs, w.slow} {
		queue.RegisterActivityWithOptions(deliveries.Cancel, activity.RegisterOptions{Name: activityCancel})
	}
	return w
}

// localOptions are the options of a worker whose attempts are local activities.
func localOptions(slots int, stopTimeout time.Duration) worker.Options {
	return worker.Options{
		MaxConcurrentWorkflowTaskExecutionSize:  slots,
		MaxConcurrentLocalActivityExecutionSize: slots,
		MaxConcurrentWorkflowTaskPollers:        pollers,
		StickyScheduleToStartTimeout:            2 * time.Second,
		DeadlockDetectionTimeout:                5 * time.Second,
		WorkerStopTimeout:                       stopTimeout,
		LocalActivityWorkerOnly:                 true,
	}
}

// Register gives all workflows their names.
func Register(registry worker.WorkflowRegistry) {
	for name, each := range map[string]any{
		workflowDelivery: Delivery, workflowBurst: Burst, workflowRetention: Retention,
		workflowTest: Test, string(app.JobTeardown): Teardown,
		string(app.JobMail): Mail, string(app.JobWatchdog): Watchdog, string(app.JobReplay): Replay,
	} {
		registry.RegisterWorkflowWithOptions(each, workflow.RegisterOptions{Name: name})
	}
}

// all are the workers in the order in which they start.
func (w *Workers) all() []worker.Worker {
	return []worker.Worker{w.mails, w.jobs, w.slow, w.bursts, w.fast}
}

// Start begins to poll.
func (w *Workers) Start() error {
	for i, each := range w.all() {
		if err := each.Start(); err != nil {
			for _, started := range w.all()[:i] {
				started.Stop()
			}
			return err
		}
	}
	return nil
}

// Stop ends all side by side and waits for what is under way.
func (w *Workers) Stop() {
	var stopping sync.WaitGroup
	for _, each := range w.all() {
		stopping.Go(each.Stop)
	}
	stopping.Wait()
}
