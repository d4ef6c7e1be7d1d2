package workflows

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rs/zerolog"
	"go.temporal.io/sdk/workflow"

	"github.com/comanda-dev/comanda/app"
)

// jobList is a JobStore in memory without leases and turns: a claimed job can be claimed again after its release.
type jobList struct {
	sync.Mutex
	waiting, claimed []app.Job
	claims           []app.JobClaim
	released         []time.Duration // delays of the releases
	done             chan struct{}   // closed when no job is left
}

func (l *jobList) ClaimJobs(_ context.Context, _ time.Time, claim app.JobClaim) (jobs []app.Job, _ error) {
	l.Lock()
	defer l.Unlock()
	l.claims = append(l.claims, claim)
	queues := maps.Clone(claim.Starting)
	l.waiting = slices.DeleteFunc(l.waiting, func(j app.Job) bool {
		if j.Urgent != claim.Urgent || len(jobs) == claim.Limit || queues[j.Queue] == claim.PerQueue {
			return false
		}
		queues[j.Queue]++
		jobs = append(jobs, j)
		return true
	})
	l.claimed = append(l.claimed, jobs...)
	return jobs, nil
}

func (l *jobList) FinishJobs(_ context.Context, ids []app.JobID) error {
	l.Lock()
	defer l.Unlock()
	l.claimed = slices.DeleteFunc(l.claimed, func(j app.Job) bool { return slices.Contains(ids, j.ID) })
	if len(l.waiting)+len(l.claimed) == 0 {
		close(l.done)
	}
	return nil
}

func (l *jobList) ReleaseJobs(_ context.Context, until time.Time, ids []app.JobID) error {
	l.Lock()
	defer l.Unlock()
	l.released = append(l.released, time.Until(until))
	l.claimed = slices.DeleteFunc(l.claimed, func(j app.Job) bool {
		released := slices.Contains(ids, j.ID)
		if released {
			l.waiting = append(l.waiting, j)
		}
		return released
	})
	return nil
}

// mailJobs returns jobs with these ids of one website.
func mailJobs(ids ...app.JobID) (jobs []app.Job) {
	for _, id := range ids {
		jobs = append(jobs, app.Job{ID: id, Kind: app.JobMail, Queue: "web_1"})
	}
	return jobs
}

// runJobs starts the jobs of a list until none is left.
func runJobs(t *testing.T, list *jobList, start func(context.Context, app.Job) error) {
	t.Helper()
	list.done = make(chan struct{})
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-list.done; cancel() }()
	NewJobs(list, asStart(start), NewGate(reachable, zerolog.Nop()), time.Now, zerolog.Nop()).Run(ctx)
}

// asStart returns the start of jobs whose ends nobody waits for.
func asStart(start func(context.Context, app.Job) error) jobStart {
	return func(ctx context.Context, job app.Job) (func(context.Context), error) { return nil, start(ctx, job) }
}

// A job whose workflow could not be started is started again; other jobs are not.
func TestJobsRetryFailedStarts(t *testing.T) {
	t.Parallel()
	list := &jobList{waiting: mailJobs("1", "2", "3", "4", "5", "6")}
	var lock sync.Mutex
	tried := map[app.JobID]int{}
	runJobs(t, list, func(_ context.Context, job app.Job) error {
		lock.Lock()
		defer lock.Unlock()
		if tried[job.ID]++; job.ID == "2" && tried[job.ID] < 3 {
			return errors.New("Temporal is away")
		}
		return nil
	})
	for id, want := range map[app.JobID]int{"1": 1, "2": 3, "3": 1, "4": 1, "5": 1, "6": 1} {
		if tried[id] != want {
			t.Errorf("starts of job %s: got %d, want %d", id, tried[id], want)
		}
	}
}

// A start that takes long delays neither other jobs of the website, nor those of another one, nor urgent jobs.
func TestSlowStartDelaysNoOtherJob(t *testing.T) {
	t.Parallel()
	list := &jobList{waiting: mailJobs("slow", "1", "2", "3", "4", "5", "6", "7", "8", "9")}
	for i := range 10 {
		list.waiting = append(list.waiting,
			app.Job{ID: app.JobID("other" + string(rune('0'+i))), Queue: "web_2"},
			app.Job{ID: app.JobID("urgent" + string(rune('0'+i))), Queue: "web_1", Urgent: true})
	}
	var others sync.WaitGroup
	others.Add(len(list.waiting) - 1)
	runJobs(t, list, func(_ context.Context, job app.Job) error {
		if job.ID == "slow" {
			others.Wait()
		} else {
			others.Done()
		}
		return nil
	})
}

// After a claim, jobs may be left that neither the number of starters nor the limit of a queue has admitted.
func TestJobsLeftAfterAClaim(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		starting, claimed, limit int
		want                     bool
	}{
		"none":                  {0, 0, 8, false},
		"fewer than the limits": {1, 2, 8, false},
		"all starters":          {0, 2, 2, true},
		"the queue is full now": {1, 3, 7, true},
		"it was full before":    {4, 0, 4, true},
	} {
		claim := app.JobClaim{Limit: test.limit, PerQueue: 4, Starting: map[string]int{"web_1": test.starting}}
		jobs := mailJobs(make([]app.JobID, test.claimed)...)
		if got := left(jobs, claim); got != test.want {
			t.Errorf("%s: got %t, want %t", name, got, test.want)
		}
	}
}

// A worker that cannot reach Temporal gives its jobs back immediately and claims none until a probe succeeds. Another
// worker starts them.
func TestJobsWithoutTemporal(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		list := &jobList{done: make(chan struct{})}
		for i := range 20 {
			id := app.JobID(strconv.Itoa(i))
			list.waiting = append(list.waiting, app.Job{ID: id, Queue: "web_1"}, app.Job{ID: "u" + id, Urgent: true})
		}
		temporal := remote{away: func(ctx context.Context) error {
			<-ctx.Done()
			return ctx.Err()
		}}
		start := func(ctx context.Context, job app.Job) error {
			return temporal.start(ctx, []app.Claim{{ID: app.DeliveryID(job.ID)}})
		}
		ctx, stop := context.WithCancel(t.Context())
		gate := NewGate(temporal.probe, zerolog.Nop())
		var running sync.WaitGroup
		running.Go(func() { gate.Run(ctx) })
		running.Go(func() { NewJobs(list, asStart(start), gate, time.Now, zerolog.Nop()).Run(ctx) })
		time.Sleep(probeEvery + probeTimeout + ms)
		synctest.Wait()
		list.Lock()
		if len(list.claimed) > 0 || len(list.waiting) != 40 || slices.Max(list.released) != 0 {
			t.Errorf("after a failed probe: got %d claimed and %d waiting jobs, released after %v, want 40 that can be claimed",
				len(list.claimed), len(list.waiting), list.released)
		}
		claims := len(list.claims)
		list.Unlock()
		time.Sleep(time.Minute)
		list.Lock()
		if n := len(list.claims) - claims; n > 0 {
			t.Errorf("claims without Temporal within a minute: got %d, want none", n)
		}
		list.Unlock()
		temporal.change(nil)
		time.Sleep(probeSoon + ms)
		<-list.done
		stop()
		running.Wait()
		if n := len(temporal.started); n != 40 {
			t.Errorf("starts after Temporal was reachable again: got %d, want 40", n)
		}
	})
}

// Starts that fail although Temporal works are repeated once a second, not without pause, and other jobs start.
func TestJobsWithFailingStarts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		list := &jobList{waiting: mailJobs("1", "2", "3", "4", "5", "6", "7", "8"), done: make(chan struct{})}
		other := app.Job{ID: "other", Queue: "web_2"}
		list.waiting = append(list.waiting, other)
		failures, started := 0, 0
		ctx, stop := context.WithCancel(t.Context())
		jobs := NewJobs(list, asStart(func(_ context.Context, job app.Job) error {
			list.Lock()
			defer list.Unlock()
			if job.Queue == other.Queue {
				started++
				return nil
			}
			failures++
			return errors.New("the input is too large")
		}), NewGate(reachable, zerolog.Nop()), time.Now, zerolog.Nop())
		var running sync.WaitGroup
		running.Go(func() { jobs.Run(ctx) })
		time.Sleep(10*time.Second + ms)
		stop()
		running.Wait()
		if failures < 10*jobsPerQueue || failures > 11*jobsPerQueue || started != 1 {
			t.Errorf("got %d failures within ten seconds and %d starts of the other job, want %d at a time and 1",
				failures, started, jobsPerQueue)
		}
	})
}

// The activities of a job have the website as fairness key, those of urgent jobs another key of the website.
func TestJobActivitiesTakeTurns(t *testing.T) {
	t.Parallel()
	in := JobInput{Queue: "web_" + strings.Repeat("0", 32)}
	for _, urgent := range []bool{false, true} {
		in.Urgent = urgent
		want := in.Queue
		if urgent {
			want += "/urgent"
		}
		env := environment()
		env.ExecuteWorkflow(func(ctx workflow.Context) error {
			for queue, options := range map[string]workflow.ActivityOptions{
				JobTaskQueue:      workflow.GetActivityOptions(withJobOptions(ctx, in, time.Minute)),
				DeadlineTaskQueue: workflow.GetActivityOptions(withDeadlineOptions(ctx, in, time.Minute)),
				MailTaskQueue:     mailOptions(in),
			} {
				if key := options.Priority.FairnessKey; key != want || len(key) > 64 || options.TaskQueue != queue {
					t.Errorf("activity with urgent %t: got key %q on %s, want %q on %s", urgent, key, options.TaskQueue, want,
						queue)
				}
			}
			return nil
		})
		if err := env.GetWorkflowError(); err != nil {
			t.Error(err)
		}
	}
}

// One search attribute finds the deliveries and the jobs of a store.
func TestJobsAreFoundByTheirStore(t *testing.T) {
	t.Parallel()
	temporal := &server{}
	starter := NewClient(temporal, Policy{}, JobPolicy{})
	for _, kind := range []app.JobKind{app.JobMail, app.JobAcceptance, app.JobTeardown} {
		if _, err := starter.StartJob(t.Context(), app.Job{StoreID: "sto_1", Kind: kind}); err != nil {
			t.Fatal(err)
		}
		ids, _ := temporal.options.TypedSearchAttributes.GetKeywordList(attributeIDs)
		if !slices.Equal(ids, []string{"sto_1"}) {
			t.Errorf("%s: got ComandaIds %v, want the store", kind, ids)
		}
	}
}

// The start of a job signals an open workflow that evaluates its subject again: the change that has enqueued the job
// may be newer than the last evaluation.
func TestJobsSignalOpenWorkflows(t *testing.T) {
	t.Parallel()
	temporal := &server{}
	starter := NewClient(temporal, Policy{}, JobPolicy{})
	for kind, want := range map[app.JobKind]string{
		app.JobWatchdog: signalWatch, app.JobSoldOut: signalWatch, app.JobAcceptance: signalWatch,
		app.JobDeactivation: signalWatch, app.JobReordering: signalWatch,
		app.JobMail: "", app.JobTeardown: "", app.JobReplay: "", app.JobErasure: "",
	} {
		if _, err := starter.StartJob(t.Context(), app.Job{StoreID: "sto_1", Kind: kind}); err != nil {
			t.Fatal(err)
		}
		if temporal.signalled != want {
			t.Errorf("%s: got signal %q, want %q", kind, temporal.signalled, want)
		}
	}
}

// The workflow tasks of deadlines do not wait for those of deliveries.
func TestDeadlinesHaveTheirTaskQueue(t *testing.T) {
	t.Parallel()
	temporal := &server{}
	starter := NewClient(temporal, Policy{}, JobPolicy{})
	for kind, want := range map[app.JobKind]string{
		app.JobAcceptance: DeadlineTaskQueue, app.JobSoldOut: DeadlineTaskQueue, app.JobWatchdog: TaskQueue,
	} {
		if _, err := starter.StartJob(t.Context(), app.Job{StoreID: "sto_1", Kind: kind}); err != nil {
			t.Fatal(err)
		}
		if got := temporal.options.TaskQueue; got != want {
			t.Errorf("%s: got task queue %s, want %s", kind, got, want)
		}
	}
}

// The workflow tasks of a job take turns as its activities do.
func TestJobsTakeTurns(t *testing.T) {
	t.Parallel()
	temporal := &server{}
	starter := NewClient(temporal, Policy{}, JobPolicy{})
	for kind, want := range map[app.JobKind]string{app.JobMail: "web_1/urgent", app.JobSoldOut: "web_1"} {
		job := app.Job{StoreID: "sto_1", Queue: "web_1", Kind: kind, Urgent: kind == app.JobMail}
		if _, err := starter.StartJob(t.Context(), job); err != nil {
			t.Fatal(err)
		}
		if got := temporal.options.Priority.FairnessKey; got != want {
			t.Errorf("%s: got fairness key %q, want %q", kind, got, want)
		}
	}
}

// A website has few mails in Temporal, so that the mails of others do not wait there for them. It occupies no starter
// with them, and a hanging mail server does not stop the starts.
func TestFewMailsInFlight(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ids := make([]app.JobID, 10*jobsPerQueue)
		for i := range ids {
			ids[i] = app.JobID(strconv.Itoa(i))
		}
		list := &jobList{waiting: mailJobs(ids...), done: make(chan struct{})}
		for i := range jobStarters {
			other := app.JobID("other" + strconv.Itoa(i))
			list.waiting = append(list.waiting, app.Job{ID: other, Kind: app.JobMail, Queue: "web_2"})
		}
		var lock sync.Mutex
		started, sent := map[string]int{}, make(chan struct{})
		start := func(_ context.Context, job app.Job) (func(context.Context), error) {
			lock.Lock()
			defer lock.Unlock()
			started[job.Queue]++
			if job.Queue == "web_2" {
				return nil, nil
			}
			return func(ctx context.Context) {
				select {
				case <-sent:
				case <-ctx.Done():
				}
			}, nil
		}
		ctx, stop := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() {
			NewJobs(list, start, NewGate(reachable, zerolog.Nop()), time.Now, zerolog.Nop()).Run(ctx)
		})
		check := func(when string, want int) {
			synctest.Wait()
			lock.Lock()
			defer lock.Unlock()
			if started["web_1"] != want || started["web_2"] != jobStarters {
				t.Errorf("%s: got %d mails of the website and %d of another one, want %d and %d", when, started["web_1"],
					started["web_2"], want, jobStarters)
			}
		}
		check("before a mail is sent", jobsPerQueue)
		select {
		case sent <- struct{}{}:
		default:
			t.Error("nothing waits for a mail")
		}
		check("after one is sent", jobsPerQueue+1)
		time.Sleep(mailWait)
		check("after the wait", 2*jobsPerQueue+1)
		close(sent)
		<-list.done
		stop()
		running.Wait()
	})
}
