package workflows

import (
	"context"
	"runtime"
	"sync"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/interceptor"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/comanda-dev/comanda/activities"
	"github.com/comanda-dev/comanda/app"
)

// Slots of bursts, jobs, mails and deadlines in one worker process. Those of the fast and the slow lane are in package
// activities. A hanging receiver occupies a slot for the whole duration of an attempt. Therefore, the slow lane is
// limited, and further attempts wait in Temporal. Jobs and mails have separate slots, so that they do not wait for
// receivers.
const (
	burstSlots = 24 // for each processor, of up to 32 attempts
	jobSlots   = 20
	mailSlots  = 10
	// deadlineSlots are the slots of activities that a deadline of an order or a product depends on. Steps of bulk
	// replays, teardowns and erasures occupy slots of jobs for up to minutes. Their workflows have a task queue of their
	// own, too: after a failure of Temporal, thousands of tasks of deliveries may wait in the other one.
	deadlineSlots = 10
	pollers       = 8
	// stickyCache is the number of workflows that a worker caches. Other workflows are replayed from their history at
	// their next task.
	stickyCache = 2000
)

// Workers runs the workflows and activities of a worker process.
type Workers struct {
	fast, slow, bursts, jobs, mails, deadlines worker.Worker

	shares *shares // of the slots of jobs
	delay  *queueDelay
}

// NewWorkers returns the workers of all task queues. When they stop, running attempts have stopTimeout to finish and to
// be recorded.
func NewWorkers(
	temporal client.Client, deliveries *activities.Deliveries, bursts *activities.Bursts, mails *activities.Mails,
	jobs *activities.Jobs, stopTimeout time.Duration,
) *Workers {
	worker.SetStickyWorkflowCacheSize(stickyCache)
	delay := newQueueDelay()
	fast := localOptions(activities.FastSlots, stopTimeout)
	fast.Interceptors = []interceptor.WorkerInterceptor{delay}
	w := &Workers{
		fast:   worker.New(temporal, TaskQueue, fast),
		bursts: worker.New(temporal, BurstTaskQueue, localOptions(burstSlots*runtime.GOMAXPROCS(0), stopTimeout)),
		slow: worker.New(temporal, SlowTaskQueue, worker.Options{
			MaxConcurrentActivityExecutionSize: activities.SlowSlots,
			MaxConcurrentActivityTaskPollers:   pollers,
			WorkerStopTimeout:                  stopTimeout,
			DisableWorkflowWorker:              true,
		}),
		jobs:  worker.New(temporal, JobTaskQueue, activityOptions(jobSlots, stopTimeout)),
		mails: worker.New(temporal, MailTaskQueue, activityOptions(mailSlots, stopTimeout)),
		deadlines: worker.New(temporal, DeadlineTaskQueue, worker.Options{
			MaxConcurrentActivityExecutionSize: deadlineSlots, WorkerStopTimeout: stopTimeout,
		}),
		shares: newShares(), delay: delay,
	}
	Register(w.fast)
	Register(w.deadlines)
	// Bursts are registered even if they are disabled, because other workers may have started bursts.
	w.bursts.RegisterWorkflowWithOptions(Burst, workflow.RegisterOptions{Name: workflowBurst})
	w.bursts.RegisterActivityWithOptions(bursts.DeliverBurst, activity.RegisterOptions{Name: activityDeliverBurst})
	w.mails.RegisterActivityWithOptions(sendMail(mails), activity.RegisterOptions{Name: activitySendMail})
	w.mails.RegisterActivityWithOptions(mails.GiveUp, activity.RegisterOptions{Name: activityGiveUpMail})
	w.jobs.RegisterActivityWithOptions(func(ctx context.Context) (activities.EraseResult, error) {
		return jobs.Erase(ctx, func() { activity.RecordHeartbeat(ctx) })
	}, activity.RegisterOptions{Name: activityErase})
	w.jobs.RegisterActivityWithOptions(limitShare(w.shares, jobs.ContinueReplay),
		activity.RegisterOptions{Name: activityContinueReplay})
	w.jobs.RegisterActivityWithOptions(jobs.CancelReplay, activity.RegisterOptions{Name: activityCancelReplay})
	w.jobs.RegisterActivityWithOptions(jobs.TickWatchdog, activity.RegisterOptions{Name: activityTickWatchdog})
	w.fast.RegisterActivityWithOptions(sendTest(deliveries.Test), activity.RegisterOptions{Name: activityTest})
	for _, lane := range []worker.Worker{w.fast, w.slow} {
		lane.RegisterActivityWithOptions(deliveries.Deliver, activity.RegisterOptions{Name: activityDeliver})
	}
	w.jobs.RegisterActivityWithOptions(deliveries.BeginReplay, activity.RegisterOptions{Name: activityBeginReplay})
	w.jobs.RegisterActivityWithOptions(deliveries.Cancel, activity.RegisterOptions{Name: activityCancel})
	return w
}

// localOptions returns the options of a worker whose activities are local activities only.
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

// activityOptions returns the options of a worker that runs no workflows.
func activityOptions(slots int, stopTimeout time.Duration) worker.Options {
	return worker.Options{
		MaxConcurrentActivityExecutionSize: slots, WorkerStopTimeout: stopTimeout, DisableWorkflowWorker: true,
	}
}

// Register registers all workflows with their types.
func Register(registry worker.WorkflowRegistry) {
	for name, each := range map[string]any{
		workflowDelivery: Delivery, workflowBurst: Burst, workflowRetention: Retention,
		workflowTest: Test, string(app.JobTeardown): Teardown, string(app.JobDeactivation): Deactivation,
		string(app.JobMail): Mail, string(app.JobWatchdog): Watchdog, string(app.JobReplay): Replay,
		string(app.JobSoldOut): SoldOut, string(app.JobErasure): Erasure,
		string(app.JobAcceptance): Acceptance, string(app.JobReordering): Reordering,
	} {
		registry.RegisterWorkflowWithOptions(each, workflow.RegisterOptions{Name: name})
	}
}

// Late returns the websites whose deliveries have lately waited too long for a worker.
func (w *Workers) Late() []string { return w.delay.late(time.Now()) }

// all returns the workers in the order in which they start.
func (w *Workers) all() []worker.Worker {
	return []worker.Worker{w.mails, w.jobs, w.deadlines, w.slow, w.bursts, w.fast}
}

// Start starts all workers. If one of them cannot start, it stops the others and returns the error.
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

// Stop stops all workers concurrently and waits until they have stopped.
func (w *Workers) Stop() {
	var stopping sync.WaitGroup
	for _, each := range w.all() {
		stopping.Go(each.Stop)
	}
	stopping.Wait()
}
