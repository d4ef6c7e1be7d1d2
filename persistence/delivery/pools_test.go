package delivery_test

import (
	"testing"
	"time"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence"
	"github.com/comanda-dev/comanda/persistence/delivery"
	"github.com/comanda-dev/comanda/persistence/persistencetest"
	"github.com/comanda-dev/comanda/persistence/pg"
)

// Steps of bulk replays that occupy all connections of the jobs stop neither dispatch nor claim, load and record, nor
// the mails of other tenants.
func TestSlowJobsStopNeitherDeliveriesNorMails(t *testing.T) {
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
		URL: db.URL, Pools: pg.WorkerPools(pg.MinConns), Sealer: persistencetest.Keyring().Sealer(),
	})
	must(t, err)
	defer worker.Close()

	blocker, err := db.System().BeginTx(t.Context(), nil)
	must(t, err)
	_, err = blocker.ExecContext(t.Context(), "SELECT FROM replays FOR UPDATE")
	must(t, err)
	const steps = 16
	ended := make(chan error, steps)
	for range steps {
		go func() {
			_, err := worker.ContinueBulkReplay(t.Context(), later, store, replay, 1)
			ended <- err
		}()
	}
	jobs := func() (stats pg.PoolStats) {
		for _, stats = range worker.PoolStats() {
			if stats.Purpose == pg.Jobs && stats.Role == pg.RoleSystem {
				break
			}
		}
		return stats
	}
	for stats := jobs(); stats.InUse < stats.Conns || stats.Waiting == 0; stats = jobs() {
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
	must(t, blocker.Rollback())
	for range steps {
		<-ended
	}
}
