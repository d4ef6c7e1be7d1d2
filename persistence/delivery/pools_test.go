package delivery_test

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence"
	"github.com/comanda-dev/comanda/persistence/delivery"
	"github.com/comanda-dev/comanda/persistence/persistencetest"
	"github.com/comanda-dev/comanda/persistence/pg"
)

// Steps of bulk replays that occupy all connections of the jobs stop neither dispatch nor claim, load and record, nor
// the mails and the deadlines of other tenants.
func TestSlowJobsStopNeitherDeliveriesNorDeadlines(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	store, s := r.Stores[0], r.Subscribe(t, db, 0, app.EventOrderCreated).ID
	r.deadLetters(t, db, 1)
	neighbour := open(t, db, "two.example")
	neighbour.Invite(t, mailing(t, db), "a-token")
	mail := enqueued(t, db)[0]
	replay := createReplay(t, db, store, allOf(s)).ID
	worker, err := persistence.Open(persistence.Config{
		URL: db.URL, SystemURL: db.SystemURL, Pools: pg.WorkerPools(pg.MinConns),
		Sealer: persistencetest.Keyring().Sealer(),
	})
	must(t, err)
	defer worker.Close()

	blocker, err := db.System().BeginTx(t.Context(), nil)
	must(t, err)
	_, err = blocker.ExecContext(t.Context(), "SELECT FROM replays FOR UPDATE")
	must(t, err)
	const steps = 32
	ended := make(chan error, steps)
	for range steps / 2 {
		go func() {
			_, err := worker.ContinueBulkReplay(t.Context(), later, store, replay, waiting(1))
			ended <- err
		}()
		go func() {
			_, err := worker.CancelBulkReplay(t.Context(), later, store, replay, app.ReasonCancelled)
			ended <- err
		}()
	}
	occupied := func() bool {
		return !slices.ContainsFunc(worker.PoolStats(), func(s pg.PoolStats) bool {
			return s.Purpose == pg.Jobs && (s.InUse < s.Conns || s.Waiting == 0)
		})
	}
	for !occupied() {
		time.Sleep(time.Millisecond)
	}

	emit(t, db, app.EventOrderCreated, 5, store)
	_, err = worker.Dispatch(t.Context(), later, 100)
	must(t, err)
	claims := claimOnce(t, worker.Queue, later, delivery.DefaultPolicy().Claim)
	if len(claims) != 5 {
		t.Fatalf("claims beside %d steps of bulk replays: got %d, want 5", steps, len(claims))
	}
	for _, c := range claims {
		outgoing, err := worker.Outgoing(t.Context(), c.ID, 1)
		must(t, err)
		_, err = worker.RecordAttempt(t.Context(), app.MadeAttempt{
			DeliveryID: c.ID, Outgoing: outgoing, Number: 1, Status: app.AttemptDelivered, StatusCode: 200, At: later,
		})
		must(t, err)
	}
	if n := count(t, db, "SELECT count(*) FROM deliveries WHERE status = 'delivered'"); n != 5 {
		t.Errorf("delivered beside %d steps of bulk replays: got %d, want 5", steps, n)
	}
	_, err = worker.ClaimMail(t.Context(), later, lease, neighbour.Stores[0], mail)
	must(t, err)
	must(t, worker.EndMail(t.Context(), later, neighbour.Stores[0], mail, app.MailSent, ""))
	tick, err := worker.TickAcceptance(t.Context(), later, neighbour.Stores[0], "ord_unknown")
	if err != nil || tick.State != app.AcceptanceUnknown {
		t.Errorf("deadline beside %d steps of bulk replays: got %v, error %v", steps, tick, err)
	}
	_, err = worker.EndSoldOut(t.Context(), later, neighbour.Stores[0], "prd_unknown")
	must(t, err)
	must(t, worker.Ping(t.Context()))
	must(t, blocker.Rollback())
	for range steps {
		<-ended
	}
}

// A delivery whose row stays locked, for example by a suspended process, delays the records of its own webhook only.
func TestLockedDeliveryFailsNoOtherRecord(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	blocked := r.Subscribe(t, db, 0, app.EventOrderCreated).ID
	r.Subscribe(t, db, 0, app.EventOrderCreated)
	enqueue(t, db, app.EventOrderCreated, 5, r.Stores[0])
	worker := asWorker(t, db)
	var made []app.MadeAttempt
	for _, c := range claimOnce(t, db.Queue, noon, all) {
		outgoing, err := worker.Outgoing(t.Context(), c.ID, 1)
		must(t, err)
		made = append(made, app.MadeAttempt{
			DeliveryID: c.ID, Outgoing: outgoing, Number: 1, Status: app.AttemptDelivered, StatusCode: 200, At: noon,
		})
	}
	isBlocked := func(m app.MadeAttempt) bool { return m.Outgoing.SubscriptionID == blocked }
	slices.SortFunc(made, func(a, b app.MadeAttempt) int { // blocked ones first
		return strings.Compare(string(a.Outgoing.SubscriptionID), string(b.Outgoing.SubscriptionID))
	})

	tx, err := db.System().BeginTx(t.Context(), nil)
	must(t, err)
	defer func() { _ = tx.Rollback() }()
	_, err = tx.ExecContext(t.Context(), "SELECT FROM deliveries WHERE subscription_id = ? FOR UPDATE", blocked)
	must(t, err)
	var records sync.WaitGroup
	for _, m := range made {
		records.Go(func() {
			_, err := worker.RecordAttempt(t.Context(), m)
			if (app.CodeOf(err) == app.CodeUnavailable) != isBlocked(m) || !isBlocked(m) && err != nil {
				t.Errorf("record of a blocked attempt: %v, error %v, want UNAVAILABLE if blocked", isBlocked(m), err)
			}
		})
	}
	records.Wait()
	must(t, tx.Rollback())
	for _, m := range made {
		fresh, err := worker.RecordAttempt(t.Context(), m)
		if err != nil || fresh != isBlocked(m) {
			t.Errorf("record after the lock: got %v, error %v, want a new one only if it was blocked", fresh, err)
		}
	}
}
