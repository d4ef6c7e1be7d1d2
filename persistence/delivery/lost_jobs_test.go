package delivery_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/persistencetest"
)

// takeJobs finishes all jobs without running them, as if their workflows were lost. It returns their
// kinds and subjects.
func takeJobs(t *testing.T, db *persistencetest.Database, now time.Time) (jobs []string) {
	t.Helper()
	for _, job := range persistencetest.TakeJobs(t, db, now) {
		jobs = append(jobs, string(job.Kind)+"/"+job.Subject)
	}
	slices.Sort(jobs)
	return jobs
}

// Jobs of unfinished work are enqueued again, once. Jobs of finished work are not.
func TestLostJobsAreEnqueuedAgain(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	store := r.Stores[0]
	deleted, finished := r.Subscribe(t, db, 0, app.EventOrderCreated), r.Subscribe(t, db, 0, app.EventOrderCompleted)
	kept := r.Subscribe(t, db, 1, app.EventOrderCreated)
	r.deadLetters(t, db, 2)
	for _, s := range []app.Subscription{deleted, finished} {
		must(t, db.DeleteSubscription(t.Context(), noon, store, owner, s.ID, 0))
	}
	replay := createReplay(t, db, r.Stores[1], allOf(kept.ID))
	r.Invite(t, mailing(t, db), "a-token")
	mail := app.MailID("")
	must(t, db.System().DB.QueryRowContext(t.Context(), "SELECT id FROM mails").Scan(&mail))
	soldOut := app.At(noon.Add(150 * time.Minute))
	_, err := db.ChangeProduct(t.Context(), noon, store, app.Actor{}, r.Menu[0].ID, 0, func(p *app.Product) error {
		p.SoldOutUntil = &soldOut
		return nil
	})
	must(t, err)
	takeJobs(t, db, noon.Add(24*time.Hour))

	const after = 3 * time.Minute
	teardown, replaying, mailed := "teardown/"+string(deleted.ID), "replay/"+string(replay.ID), "mail/"+string(mail)
	for _, step := range []struct {
		at   time.Time
		want []string
	}{
		{noon.Add(after - time.Second), nil},
		{noon.Add(after), []string{teardown}},
		{later.Add(after), []string{replaying, teardown}},
		{noon.Add(2*time.Hour - time.Second), []string{replaying, teardown}},
		{noon.Add(2 * time.Hour), []string{mailed, replaying, teardown}},
		{soldOut.Add(after - time.Second), []string{mailed, replaying, teardown}},
		{soldOut.Add(after), []string{mailed, replaying, "soldout/" + string(r.Menu[0].ID), teardown}},
	} {
		for _, want := range []int{len(step.want), 0} { // an enqueued job is not enqueued again
			if n, err := db.EnqueueLostJobs(t.Context(), step.at, after); n != want || err != nil {
				t.Errorf("EnqueueLostJobs at %s: got %d and error %v, want %d", step.at, n, err, want)
			}
		}
		if diff := cmp.Diff(step.want, takeJobs(t, db, step.at)); diff != "" {
			t.Errorf("jobs at %s (-want +got): %s", step.at, diff)
		}
	}

	change(t, db, "UPDATE deliveries SET status = 'cancelled'")
	change(t, db, "UPDATE mails SET status = 'sent', ended_at = created_at, secret = NULL")
	_, err = db.EndSoldOut(t.Context(), soldOut.Time, store, r.Menu[0].ID)
	must(t, err)
	_, err = db.CancelBulkReplay(t.Context(), later, r.Stores[1], replay.ID, "")
	must(t, err)
	if n, err := db.EnqueueLostJobs(t.Context(), noon.Add(3*time.Hour), after); n != 0 || err != nil {
		t.Errorf("EnqueueLostJobs of finished work: got %d and error %v, want 0", n, err)
	}
}
