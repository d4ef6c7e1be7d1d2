package delivery_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/persistencetest"
)

// A claimed job cannot be claimed again within its lease. A finished job is deleted.
func TestClaimAndFinishJobs(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	store := open(t, db, "one.example").Stores[0]
	for i, subject := range []string{"a", "b", "c"} {
		must(t, db.EnqueueJob(t.Context(), noon.Add(time.Duration(i)*time.Microsecond), store, "mail", subject))
	}
	claim := func(at time.Time, limit int) (subjects string, ids []app.JobID) {
		jobs, err := db.ClaimJobs(t.Context(), at, app.JobClaim{Limit: limit, PerQueue: limit, Lease: time.Minute})
		must(t, err)
		for _, j := range jobs {
			if j.Kind != "mail" || j.StoreID != store {
				t.Errorf("job: got %+v, want a mail of store %s", j, store)
			}
			subjects += j.Subject
			ids = append(ids, j.ID)
		}
		return subjects, ids
	}
	first, ids := claim(noon, 2)
	second, _ := claim(noon, 2)
	if first != "ab" || second != "c" {
		t.Errorf("claims: got %q, then %q, want ab, then c", first, second)
	}
	must(t, db.FinishJobs(t.Context(), ids))
	if early, _ := claim(noon.Add(time.Minute-time.Millisecond), 2); early != "" {
		t.Errorf("claims within the lease: got %q, want none", early)
	}
	if again, _ := claim(noon.Add(time.Minute), 2); again != "c" {
		t.Errorf("claims after the lease: got %q, want c", again)
	}
}

// A job wakes the starters of jobs, and an event does not.
func TestJobsWakeTheirStarters(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	relay, jobs := make(chan struct{}, 100), make(chan struct{}, 100)
	wake := func(woken chan struct{}) func() { return func() { woken <- struct{}{} } }
	var listening sync.WaitGroup
	ctx, cancel := context.WithCancel(t.Context())
	listening.Go(func() { _ = db.Listen(ctx, wake(relay), wake(jobs)) })
	<-jobs // listening has begun
	must(t, db.EnqueueJob(t.Context(), noon, r.Stores[0], app.JobSoldOut, "prd_1"))
	<-jobs
	for len(relay) > 0 { // and those of the new restaurant
		<-relay
	}
	r.Place(t, db, 1)
	<-relay
	if n := len(jobs); n > 0 {
		t.Errorf("wakes of the starters by an event: got %d, want 0", n)
	}
	cancel()
	listening.Wait()
}
