package temporaldev

import (
	"context"
	"fmt"
	"io"
	"slices"
	"testing"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/taskqueue/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	sdklog "go.temporal.io/sdk/log"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"

	"github.com/comanda-dev/comanda/app/freeport"
)

const (
	workflowQueue = "workflows"
	activityQueue = "activities"
)

// TestFairness fills a task queue with activities of one fairness key and then adds one of another key, which is
// dispatched next or, if the server has already chosen the next one, after that.
func TestFairness(t *testing.T) {
	t.Parallel()
	c := startServer(t)
	runWorker(t, c, workflowQueue, worker.Options{}, func(w worker.Worker) {
		w.RegisterWorkflowWithOptions(scheduleActivities, workflow.RegisterOptions{Name: "schedule"})
	})
	const backlog = 50
	runs := []client.WorkflowRun{schedule(t, c, "many", backlog)}
	awaitBacklog(t, c, activityQueue, enums.TASK_QUEUE_TYPE_ACTIVITY, backlog)
	runs = append(runs, schedule(t, c, "one", 1))
	awaitBacklog(t, c, activityQueue, enums.TASK_QUEUE_TYPE_ACTIVITY, backlog+1)

	served := make(chan string, backlog+1)
	serve := func(ctx context.Context, key string) error {
		if got := activity.GetInfo(ctx).Priority.FairnessKey; got != key {
			t.Errorf("fairness key of the activity: got %q, want %q", got, key)
		}
		served <- key
		return nil
	}
	runWorker(t, c, activityQueue, worker.Options{MaxConcurrentActivityExecutionSize: 1}, func(w worker.Worker) {
		w.RegisterActivityWithOptions(serve, activity.RegisterOptions{Name: "serve"})
	})
	checkPlace(t, runs, served, 3)
}

// TestFairnessOfWorkflows is TestFairness for workflows that wait for their first task.
func TestFairnessOfWorkflows(t *testing.T) {
	t.Parallel()
	c := startServer(t)
	const backlog = 50
	var runs []client.WorkflowRun
	start := func(key string, n int) {
		o := client.StartWorkflowOptions{
			ID: fmt.Sprint(key, n), TaskQueue: workflowQueue, Priority: temporal.Priority{FairnessKey: key},
		}
		run, err := c.ExecuteWorkflow(t.Context(), o, "serve", key)
		if err != nil {
			t.Fatal(err)
		}
		runs = append(runs, run)
	}
	for n := range backlog {
		start("many", n)
	}
	awaitBacklog(t, c, workflowQueue, enums.TASK_QUEUE_TYPE_WORKFLOW, backlog)
	start("one", 1)
	awaitBacklog(t, c, workflowQueue, enums.TASK_QUEUE_TYPE_WORKFLOW, backlog+1)

	served := make(chan string, backlog+1)
	serve := func(_ workflow.Context, key string) error {
		served <- key
		return nil
	}
	o := worker.Options{MaxConcurrentWorkflowTaskPollers: 2, MaxConcurrentWorkflowTaskExecutionSize: 2}
	runWorker(t, c, workflowQueue, o, func(w worker.Worker) {
		w.RegisterWorkflowWithOptions(serve, workflow.RegisterOptions{Name: "serve"})
	})
	checkPlace(t, runs, served, 5)
}

// checkPlace awaits workflows and checks the place of the key "one" among those served.
func checkPlace(t *testing.T, runs []client.WorkflowRun, served chan string, most int) {
	t.Helper()
	for _, run := range runs {
		if err := run.Get(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
	}
	close(served)
	var order []string
	for key := range served {
		order = append(order, key)
	}
	if place := slices.Index(order, "one") + 1; place < 1 || place > most {
		t.Errorf("the other key had place %d of %d, want %d or less", place, len(order), most)
	}
}

// scheduleActivities is a workflow of count concurrent activities with one fairness key.
func scheduleActivities(ctx workflow.Context, key string, count int) error {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		TaskQueue: activityQueue, StartToCloseTimeout: time.Minute, Priority: temporal.Priority{FairnessKey: key},
	})
	var futures []workflow.Future
	for range count {
		futures = append(futures, workflow.ExecuteActivity(ctx, "serve", key))
	}
	for _, future := range futures {
		if err := future.Get(ctx, nil); err != nil {
			return err
		}
	}
	return nil
}

func schedule(t *testing.T, c client.Client, key string, count int) client.WorkflowRun {
	t.Helper()
	o := client.StartWorkflowOptions{ID: key, TaskQueue: workflowQueue}
	run, err := c.ExecuteWorkflow(t.Context(), o, "schedule", key, count)
	if err != nil {
		t.Fatal(err)
	}
	return run
}

// awaitBacklog returns when a task queue holds that many tasks.
func awaitBacklog(t *testing.T, c client.Client, name string, of enums.TaskQueueType, want int64) {
	t.Helper()
	eventually(t, func() error {
		queue, err := c.WorkflowService().DescribeTaskQueue(t.Context(), &workflowservice.DescribeTaskQueueRequest{
			Namespace: "default", TaskQueue: &taskqueue.TaskQueue{Name: name},
			TaskQueueType: of, ReportStats: true,
		})
		if err == nil && queue.Stats.ApproximateBacklogCount < want {
			err = fmt.Errorf("the backlog is %d, want %d", queue.Stats.ApproximateBacklogCount, want)
		}
		return err
	})
}

// eventually retries until there is no error.
func eventually(t *testing.T, try func() error) {
	t.Helper()
	deadline := time.After(90 * time.Second)
	for {
		err := try()
		if err == nil {
			return
		}
		select {
		case <-deadline:
			t.Fatal(err)
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// startServer runs a server on free ports and returns a client of it.
func startServer(t *testing.T) client.Client {
	t.Helper()
	o := Options{Namespace: "default", Retention: 24 * time.Hour, Log: io.Discard}
	o.Ports, o.Tuning = freePorts(t), Tuning{Partitions: 1} // fairness holds within a partition
	o.StoreURL, o.VisibilityURL = databases(t)
	server, err := Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	logger := sdklog.NewStructuredLogger(discardLogs())
	c, err := client.Dial(client.Options{HostPort: address(o.Ports.Frontend), Logger: logger})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

func freePorts(t *testing.T) Ports {
	t.Helper()
	first, err := freeport.Ports(4)
	if err != nil {
		t.Fatal(err)
	}
	return Ports{Frontend: first, History: first + 1, Matching: first + 2, Worker: first + 3}
}

// runWorker runs a worker until the end of the test.
func runWorker(t *testing.T, c client.Client, queue string, o worker.Options, register func(worker.Worker)) {
	t.Helper()
	w := worker.New(c, queue, o)
	register(w)
	if err := w.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.Stop)
}
