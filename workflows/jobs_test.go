package workflows

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"go.temporal.io/sdk/testsuite"
	"go.temporal.io/sdk/workflow"

	"github.com/comanda-dev/comanda/app"
)

// jobList is a JobStore in memory without leases and turns: a claimed job can be claimed again after its release.
type jobList struct {
	sync.Mutex
	waiting, claimed []app.Job
	claims           []app.JobClaim
	done             chan struct{} // closed when no job is left
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

func (l *jobList) ReleaseJobs(_ context.Context, _ time.Time, ids []app.JobID) error {
	l.Lock()
	defer l.Unlock()
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
	NewJobs(list, start, time.Now, zerolog.Nop()).Run(ctx)
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

// While Temporal starts no workflow, a worker holds one job of each urgency at a time, and gives it back.
func TestJobsProbeWithoutTemporal(t *testing.T) {
	t.Parallel()
	ids := make([]app.JobID, 100)
	for i := range ids {
		ids[i] = app.JobID(string(rune('a' + i)))
	}
	list := &jobList{waiting: mailJobs(ids...)}
	ctx, cancel := context.WithCancel(t.Context())
	failures := make(chan struct{})
	jobs := NewJobs(list, func(ctx context.Context, _ app.Job) error {
		select {
		case failures <- struct{}{}:
		case <-ctx.Done():
		}
		return errors.New("Temporal is away")
	}, time.Now, zerolog.Nop())
	var running sync.WaitGroup
	running.Go(func() { jobs.Run(ctx) })
	for range jobsPerQueue + 2 { // the first claim, and two probes
		<-failures
		jobs.Wake()
	}
	cancel()
	running.Wait()
	if len(list.waiting) != len(ids) || len(list.claimed) > 0 {
		t.Errorf("jobs that are not released: got %d, want 0", len(list.claimed))
	}
	limits := map[int]int{}
	for _, claim := range list.claims {
		if !claim.Urgent {
			limits[claim.Limit]++
		}
	}
	if limits[jobStarters] != 1 || limits[1] < 2 || len(limits) != 2 {
		t.Errorf("claims by their limits: got %v, want 1 of %d jobs and then probes of 1", limits, jobStarters)
	}
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
		var suite testsuite.WorkflowTestSuite
		env := suite.NewTestWorkflowEnvironment()
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
