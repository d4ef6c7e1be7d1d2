package e2e

import (
	"fmt"
	"testing"
	"time"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/app/dev/harness"
	"github.com/comanda-dev/comanda/persistence/persistencetest"
	"github.com/comanda-dev/comanda/workflows"
)

// delayed returns a proxy to the address in a setting with a network delay in each direction.
func delayed(t *testing.T, address string, delay time.Duration) *harness.Proxy {
	t.Helper()
	proxy, err := harness.NewDelayedProxy(address, delay)
	must(t, err)
	t.Cleanup(proxy.Close)
	return proxy
}

// TestSlowDatabase makes PostgreSQL respond to each statement of two workers after 200 ms. All deliveries arrive, each
// is claimed once and attempted once: no lease expires while it is used.
func TestSlowDatabase(t *testing.T) {
	harness.Long(t)
	t.Parallel()
	const orders = 40
	settings := databaseAt(t, delayed(t, databaseHost(t), 100*time.Millisecond).Address)
	worker(t, settings)
	worker(t, settings)
	r, h := newRestaurant(t), newHook(t, nil)
	s := r.subscribe(h)
	for range orders {
		r.order()
	}
	eventually(t, "every delivery is delivered", func() error { return r.undelivered(orders) })
	if n := len(h.all(t)); n != orders {
		t.Errorf("requests for %d events: got %d, want as many", orders, n)
	}
	const once = "SELECT count(*) FROM deliveries WHERE subscription_id = $1 AND attempts = 1 AND generation = 1"
	if n := count(t, once, s.ID); n != orders {
		t.Errorf("deliveries that were claimed and attempted once: got %d, want %d", n, orders)
	}
	must(t, r.DeleteWebhook(t.Context(), s.ID))
	eventually(t, "the job of the deletion has started", func() error { return started(t, app.JobTeardown, s.ID) })
}

// TestKillBeforeTheStartOfAJob kills a worker that has claimed a job and cannot start its workflow yet. Another worker
// starts it after the end of the lease.
func TestKillBeforeTheStartOfAJob(t *testing.T) {
	harness.Long(t)
	t.Parallel()
	temporal := delayed(t, worldOf(t).infra.Ready.Env["TEMPORAL_ADDRESS"], time.Millisecond)
	first := worker(t, map[string]string{"TEMPORAL_ADDRESS": temporal.Address})
	r := newRestaurant(t)
	s := r.subscribe(newHook(t, nil))
	temporal.Hold()
	must(t, r.DeleteWebhook(t.Context(), s.ID))
	eventually(t, "the job is claimed", func() error {
		return atLeast(1, count(t, "SELECT count(*) FROM jobs WHERE subject = $1 AND lease_until > now()", s.ID))
	})
	first.Kill()
	if n := count(t, "SELECT count(*) FROM jobs WHERE subject = $1", s.ID); n != 1 {
		t.Fatalf("jobs after the kill: got %d, want 1", n)
	}
	worker(t, nil)
	eventually(t, "another worker starts the job", func() error { return started(t, app.JobTeardown, s.ID) })
}

// TestKillBeforeTheStartOfDeliveries kills a worker that has claimed deliveries and cannot start their workflows yet: a
// delivery to a slow webhook, and a burst of two websites. Another worker takes them over, and each arrives once.
func TestKillBeforeTheStartOfDeliveries(t *testing.T) {
	harness.Long(t)
	t.Parallel()
	temporal := delayed(t, worldOf(t).infra.Ready.Env["TEMPORAL_ADDRESS"], time.Millisecond)
	first := worker(t, map[string]string{"COMANDA_BURST": "always", "TEMPORAL_ADDRESS": temporal.Address})
	restaurants, hooks := make([]*restaurant, 3), make([]*hook, 3)
	for i := range restaurants {
		restaurants[i], hooks[i] = newRestaurant(t), newHook(t, nil)
		s := restaurants[i].subscribe(hooks[i])
		if i == 0 {
			_, err := worldOf(t).db.System().DB.ExecContext(t.Context(),
				"UPDATE subscription_health SET slow_until = now() + interval '1 h' WHERE subscription_id = $1", s.ID)
			must(t, err)
		}
		restaurants[i].awaitDispatch()
	}
	temporal.Hold()
	emitTogether(t, restaurants)
	for i, r := range restaurants {
		eventually(t, "the delivery is claimed", func() error {
			return r.countIs(1, "status = 'pending' AND started_at IS NULL AND (burst_id IS NOT NULL) = %t", i > 0)
		})
	}
	first.Kill()
	worker(t, map[string]string{"COMANDA_BURST": "always"})
	for i, r := range restaurants {
		eventually(t, "the delivery is delivered", func() error { return r.undelivered(1) })
		if err := r.countIs(1, "generation > 1 AND attempts = 1"); err != nil || len(hooks[i].all(t)) != 1 {
			t.Errorf("restaurant %d: got %d requests and error %v, want one request after a takeover", i,
				len(hooks[i].all(t)), err)
		}
	}
}

// emitTogether inserts an event of each restaurant in one transaction.
func emitTogether(t *testing.T, restaurants []*restaurant) {
	t.Helper()
	tx, err := worldOf(t).db.System().DB.BeginTx(t.Context(), nil)
	must(t, err)
	defer func() { _ = tx.Rollback() }()
	for _, r := range restaurants {
		event, err := app.NewEvent(app.EventOrderCreated, r.store, time.Now(), map[string]string{})
		must(t, err)
		_, err = tx.ExecContext(t.Context(), persistencetest.InsertEvent, event.ID, event.StoreID, event.Type,
			string(event.Body), event.At.Time)
		must(t, err)
	}
	_, err = tx.ExecContext(t.Context(), "SELECT pg_notify('comanda_outbox', '')")
	must(t, err)
	must(t, tx.Commit())
}

// started returns an error unless the workflow of a job exists and the job is no longer enqueued.
func started(t *testing.T, kind app.JobKind, subject string) error {
	t.Helper()
	queued := count(t, "SELECT count(*) FROM jobs WHERE kind = $1 AND subject = $2", kind, subject)
	if events := len(historyNamed(t, workflows.JobWorkflowID(kind, subject))); queued > 0 || events == 0 {
		return fmt.Errorf("%d jobs are enqueued, and the history has %d events", queued, events)
	}
	return nil
}
