package e2e

import (
	"fmt"
	"testing"
	"time"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/app/dev/harness"
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

// started returns an error unless the workflow of a job exists and the job is no longer enqueued.
func started(t *testing.T, kind app.JobKind, subject string) error {
	t.Helper()
	queued := count(t, "SELECT count(*) FROM jobs WHERE kind = $1 AND subject = $2", kind, subject)
	if events := len(historyNamed(t, workflows.JobWorkflowID(kind, subject))); queued > 0 || events == 0 {
		return fmt.Errorf("%d jobs are enqueued, and the history has %d events", queued, events)
	}
	return nil
}
