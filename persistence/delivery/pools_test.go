package delivery_test

import (
	"slices"
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
