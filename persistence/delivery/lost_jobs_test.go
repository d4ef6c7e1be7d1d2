package delivery_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/delivery"
	"github.com/comanda-dev/comanda/persistence/identity"
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

// erase erases a new customer and the reservation of another guest, and loses their jobs.
func (r restaurant) erase(t *testing.T, db *persistencetest.Database) (app.CustomerID, app.ReservationID) {
	t.Helper()
	store := r.Stores[0]
	registered, err := db.RegisterCustomer(t.Context(), noon, store, app.Actor{},
		identity.NewCustomer{Email: "ada@example.com"}, time.Hour)
	must(t, err)
	customer := registered.Customer.ID
	reservation, err := db.Reserve(t.Context(), noon, store, app.NewReservation{
		Guest: app.ReservationCustomer{Name: "Ada"}, PartySize: 2, StartAt: app.At(noon.Add(24 * time.Hour)),
	}, nil)
	must(t, err)
	_, err = db.ChangeReservationStatus(t.Context(), noon, store, reservation.ID, 0,
		app.ReservationStatusChange{To: app.ReservationCancelled})
	must(t, err)
	staff := app.Principal{Realm: app.RealmTenant, StoreID: store}
	must(t, db.EraseCustomer(t.Context(), noon, staff, owner, customer, nil))
	must(t, db.EraseReservation(t.Context(), noon, store, owner, reservation.ID))
	dispatchAll(t, db)
	takeJobs(t, db, later)
	return customer, reservation.ID
}

// The erasures of a customer and of a reservation are enqueued again until the bodies of their events are erased.
func TestLostErasuresAreEnqueuedAgain(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	customer, reservation := r.erase(t, db)
	const after = 3 * time.Minute
	enqueued := func(at time.Time) []string {
		t.Helper()
		_, err := db.EnqueueLostJobs(t.Context(), at, after)
		must(t, err)
		return takeJobs(t, db, at)
	}
	if got := enqueued(noon.Add(after - time.Second)); len(got) > 0 {
		t.Errorf("jobs before they count as lost: got %q, want none", got)
	}
	want := []string{"erasure/" + string(customer), "erasure/" + string(reservation)}
	if diff := cmp.Diff(want, enqueued(noon.Add(after))); diff != "" {
		t.Errorf("jobs (-want +got): %s", diff)
	}
	for _, id := range []app.CustomerID{customer, app.CustomerID(reservation)} {
		step, err := db.EraseCustomerBodies(t.Context(), later, r.Stores[0], id, "", 100)
		must(t, err)
		if step.Erased == 0 || step.Waiting != 0 {
			t.Errorf("erasure of %s: got %+v, want all bodies", id, step)
		}
	}
	if got := enqueued(noon.Add(after)); len(got) > 0 {
		t.Errorf("jobs of finished erasures: got %q, want none", got)
	}
}

// Unfinished work of any number hides no lost job, and one statement reads a bounded part of it.
func TestLostJobsBehindOtherUnfinishedWork(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	const many = 1100
	change(t, db, `INSERT INTO replays (id, store_id, delivery_status, created_from, created_to, status, matched,
			created_at)
		SELECT 'rpl_' || lpad(i::text, 4, '0'), $1, 'delivered', $2, $2, 'running', 0, $2
		FROM generate_series(1, $3) i`, r.Stores[0], noon, many)
	change(t, db, `INSERT INTO mails (id, store_id, queue, kind, subject, details, lease_until, created_at)
		SELECT 'mail_' || i, $1, $1, 'order_reminder', 'ord_' || i, '{}', $2, $2 FROM generate_series(1, $3) i`,
		r.Stores[0], noon, many)
	change(t, db, "UPDATE products SET sold_out_until = $1", noon)
	takeJobs(t, db, later)
	at := noon.Add(3 * time.Hour)
	if n, err := db.EnqueueLostJobs(t.Context(), at, time.Hour); n != 2*many+2 || err != nil {
		t.Errorf("lost jobs: got %d and error %v, want %d", n, err, 2*many+2)
	}
	takeJobs(t, db, at)

	limited := withPolicy(t, db, func(p *delivery.Policy) { p.LostBatch, p.LostBatches = 100, 3 })
	found := map[string]bool{}
	for range 4 { // three rounds of 300, and the rest
		if n, err := limited.EnqueueLostJobs(t.Context(), at, time.Hour); n > 2*300+2 || err != nil {
			t.Errorf("lost jobs of a round: got %d and error %v, want at most %d", n, err, 2*300+2)
		}
		for _, job := range takeJobs(t, db, at) {
			found[job] = true
		}
	}
	if len(found) != 2*many+2 {
		t.Errorf("different jobs in four rounds: got %d, want %d", len(found), 2*many+2)
	}
}

// The statements that find lost jobs read no whole table, and no batch is sorted.
func TestLostJobsAreReadAlongIndexes(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	statements, args := delivery.LostStatements()
	for kind, statement := range statements {
		plan, err := db.Explain(t.Context(), statement, args)
		must(t, err)
		batch, _, _ := strings.Cut(plan, "CTE enqueued")
		if strings.Contains(batch, "Sort") || strings.Contains(plan, "Seq Scan") ||
			strings.Contains(plan, "Join Filter") {
			t.Errorf("%s:\n%s", kind, plan)
		}
	}
}
