package delivery_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/persistencetest"
)

// enqueueMany enqueues jobs of a kind in one transaction.
func enqueueMany(t *testing.T, db *persistencetest.Database, store app.StoreID, kind app.JobKind, n int) {
	t.Helper()
	subjects := make([]string, n)
	for i := range subjects {
		subjects[i] = fmt.Sprintf("%s_%d", kind, i)
	}
	must(t, db.EnqueueJobs(t.Context(), noon, store, kind, subjects))
}

// claimJobs claims jobs as a worker does, and returns them as kind/subject.
func claimJobs(t *testing.T, db *persistencetest.Database, claim app.JobClaim) (jobs []string) {
	t.Helper()
	claim.Lease = time.Minute
	claimed, err := db.ClaimJobs(t.Context(), noon.Add(time.Minute), claim)
	must(t, err)
	for _, j := range claimed {
		jobs = append(jobs, string(j.Kind)+"/"+j.Subject)
	}
	return jobs
}

// A thousand jobs and a thousand mails of a neighbour, which were enqueued before, delay neither the jobs of another
// website nor the urgent jobs of the neighbour.
func TestJobsOfWebsitesTakeTurns(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	with := mailing(t, db)
	busy, quiet := open(t, db, "busy.example"), open(t, db, "quiet.example")
	enqueueMany(t, db, busy.Stores[0], app.JobSoldOut, 500)
	enqueueMany(t, db, busy.Stores[1], app.JobSoldOut, 500) // a website's stores share its turn
	enqueueMany(t, db, busy.Stores[0], app.JobMail, 1000)
	must(t, db.EnqueueJob(t.Context(), noon, quiet.Stores[0], app.JobAcceptance, "ord_quiet"))
	must(t, db.EnqueueJob(t.Context(), noon, quiet.Stores[0], app.JobSoldOut, "prd_quiet"))
	must(t, db.EnqueueJob(t.Context(), noon, busy.Stores[0], app.JobAcceptance, "ord_busy"))
	must(t, db.EnqueueJob(t.Context(), noon, busy.Stores[0], app.JobTeardown, "sub_busy"))
	must(t, with.MailReset(t.Context(), noon, quiet.Owner.ID, app.NewSecret("a-token")))

	urgent := claimJobs(t, db, app.JobClaim{Urgent: true, Limit: 8, PerQueue: 4})
	for _, want := range []string{"acceptance/ord_quiet", "acceptance/ord_busy", "teardown/sub_busy"} {
		if !slices.Contains(urgent, want) {
			t.Errorf("first claim of urgent jobs: got %q, want %s", urgent, want)
		}
	}
	if len(urgent) != 4 { // and the mail
		t.Errorf("first claim of urgent jobs: got %q, want 4 jobs", urgent)
	}
	others := claimJobs(t, db, app.JobClaim{Limit: 8, PerQueue: 4})
	if len(others) != 5 || !slices.Contains(others, "soldout/prd_quiet") {
		t.Errorf("first claim: got %q, want 4 jobs of the busy website and soldout/prd_quiet", others)
	}
}

// A claim of urgent jobs visits only queues with urgent jobs, however many others there are.
func TestUrgentJobsBehindQueuesWithoutOne(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	change(t, db, `INSERT INTO jobs (id, store_id, queue, kind, subject, urgent, created_at, lease_until)
		SELECT 'job_' || n, $1, 'a queue ' || n, $2, n, false, $3, $3 FROM generate_series(1, 5000) n`,
		r.Stores[0], app.JobSoldOut, noon)
	must(t, db.EnqueueJob(t.Context(), noon, r.Stores[0], app.JobAcceptance, "ord_quiet"))
	urgent := claimJobs(t, db, app.JobClaim{Urgent: true, Limit: 8, PerQueue: 4})
	if diff := cmp.Diff([]string{"acceptance/ord_quiet"}, urgent); diff != "" {
		t.Errorf("first claim of urgent jobs (-want +got):\n%s", diff)
	}
}

// If one claim cannot serve all queues, the next one continues after the last one, also in another order of websites.
func TestJobsOfEachWebsiteAreClaimed(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	const websites = 7
	for i := range websites {
		store := open(t, db, fmt.Sprintf("%d.example", i)).Stores[0]
		enqueueMany(t, db, store, app.JobSoldOut, 10)
	}
	claimed := map[string]int{}
	for range websites {
		jobs, err := db.ClaimJobs(t.Context(), noon, app.JobClaim{Limit: 3, PerQueue: 4, Lease: time.Minute})
		must(t, err)
		for _, j := range jobs {
			claimed[j.Queue]++
		}
	}
	for queue, n := range claimed {
		if n != 3 {
			t.Errorf("jobs of website %s in %d claims of 3: got %d, want 3", queue, websites, n)
		}
	}
	if len(claimed) != websites {
		t.Errorf("websites with a claimed job: got %d, want %d", len(claimed), websites)
	}
}

// Jobs that a worker is starting count for the limit of their queue. Released jobs can be claimed again at the time
// of their release.
func TestJobsOfAQueueAreLimited(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	enqueueMany(t, db, r.Stores[0], app.JobSoldOut, 10)
	queue := string(r.Website)
	limited := app.JobClaim{Limit: 8, PerQueue: 4, Lease: time.Minute, Starting: map[string]int{queue: 3, "other": 9}}
	first, err := db.ClaimJobs(t.Context(), noon, limited)
	must(t, err)
	if len(first) != 1 || first[0].Queue != queue {
		t.Fatalf("claim while 3 of 4 jobs are starting: got %+v, want one of queue %s", first, queue)
	}
	limited.Starting[queue] = 5
	if jobs, err := db.ClaimJobs(t.Context(), noon, limited); err != nil || len(jobs) != 0 {
		t.Errorf("claim while 5 of 4 jobs are starting: got %+v and error %v, want none", jobs, err)
	}
	must(t, db.ReleaseJobs(t.Context(), noon.Add(time.Second), []app.JobID{first[0].ID}))
	for _, step := range []struct {
		at   time.Duration
		want int
	}{{time.Second - time.Millisecond, 9}, {time.Second, 1}, {2 * time.Second, 0}} {
		jobs, err := db.ClaimJobs(t.Context(), noon.Add(step.at), app.JobClaim{Limit: 20, PerQueue: 20, Lease: time.Hour})
		must(t, err)
		if len(jobs) != step.want {
			t.Errorf("jobs after %s: got %d, want %d", step.at, len(jobs), step.want)
		}
	}
}
