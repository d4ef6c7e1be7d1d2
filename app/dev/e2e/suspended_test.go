package e2e

import (
	"errors"
	"maps"
	"net/http"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/comanda-dev/comanda/api/client/comanda"
	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/app/dev/harness"
)

// TestSuspendedWorker suspends a worker that has attempts in flight, and claims of deliveries and of a job whose
// workflows it is starting, until another worker has taken over all of them and made the retries that were due. When
// the first worker continues, it neither repeats an attempt nor changes a record, and delivers again. Only attempts in
// flight have been made twice, and the plan counts each delivery once.
func TestSuspendedWorker(t *testing.T) {
	harness.Long(t)
	t.Parallel()
	s := newSuspended(t)
	first := worker(t, s.settings(s.temporal.Address))
	s.attempt()
	s.suspend(first)
	inFlight := s.inFlight()

	second := worker(t, s.settings(worldOf(t).infra.Ready.Env["TEMPORAL_ADDRESS"]))
	eventually(t, "the other worker delivers everything", s.delivered)
	eventually(t, "the other worker starts the job", func() error { return started(t, app.JobTeardown, s.deleted) })
	s.temporal.SetDelay(time.Millisecond)
	close(s.release)
	must(t, first.Signal(syscall.SIGCONT))
	must(t, second.Stop(t.Context()))
	s.emit(s.claimed, 1)
	eventually(t, "the first worker delivers again", s.delivered)
	must(t, first.Stop(t.Context()))
	s.check(inFlight)
}

// suspended holds the restaurants of a worker that will be suspended. Their plans are limited.
type suspended struct {
	t        *testing.T
	temporal *harness.Proxy
	held     *restaurant // the receiver does not respond to the first request for an event before release
	retried  *restaurant // the receiver rejects the first request for an event
	claimed  *restaurant // its deliveries are claimed when the worker is suspended
	release  chan struct{}
	hooks    map[string]*hook    // by webhook
	events   map[*restaurant]int // emitted events
	deleted  string              // webhook whose teardown is claimed when the worker is suspended
}

func newSuspended(t *testing.T) *suspended {
	t.Helper()
	s := &suspended{
		t: t, temporal: delayed(t, worldOf(t).infra.Ready.Env["TEMPORAL_ADDRESS"], time.Millisecond),
		held: newRestaurant(t), retried: newRestaurant(t), claimed: newRestaurant(t), release: make(chan struct{}),
		hooks: map[string]*hook{}, events: map[*restaurant]int{},
	}
	first := func(h *hook, r *http.Request) bool { return h.requestsOf(r.Header.Get("X-Webhook-Id")) == 1 }
	var held, retried *hook
	held = newHook(t, func(_ int, w http.ResponseWriter, r *http.Request) {
		if first(held, r) {
			w.WriteHeader(awaited(t, s.release, true))
		}
	})
	retried = newHook(t, func(_ int, w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(refused(first(retried, r)))
	})
	s.hooks[s.held.subscribe(held).ID] = held
	s.hooks[s.retried.subscribe(retried).ID] = retried
	for range 6 {
		h := newHook(t, nil)
		s.hooks[s.claimed.subscribe(h).ID] = h
	}
	for _, r := range []*restaurant{s.held, s.retried, s.claimed} {
		r.usePlan(app.PlanStarter, 0)
	}
	return s
}

func (s *suspended) settings(temporal string) map[string]string {
	return map[string]string{
		"TEMPORAL_ADDRESS": temporal, "COMANDA_PLAN_WINDOW": planWindow.String(),
		"COMANDA_RETRY_SCHEDULE": "5s", "COMANDA_DELIVERY_TIMEOUT": holding,
	}
}

func (s *suspended) emit(r *restaurant, events int) {
	r.emit(events)
	s.events[r] += events
}

// attempt waits until attempts are in flight, and others wait for their retry.
func (s *suspended) attempt() {
	s.t.Helper()
	s.emit(s.held, 4)
	s.emit(s.retried, 4)
	eventually(s.t, "attempts are in flight", func() error { return atLeast(8, len(surplus(s.t, s.hooks))) })
}

// suspend suspends a worker when it has claims in hand: requests to Temporal take a while.
func (s *suspended) suspend(w *harness.Process) {
	s.t.Helper()
	s.temporal.SetDelay(300 * time.Millisecond)
	for range 20 {
		deleted := s.claimed.subscribe(newHook(s.t, nil), comanda.SubscribableEventTypeOrderCancelled)
		s.deleted = deleted.ID
		s.emit(s.claimed, 5)
		must(s.t, s.claimed.DeleteWebhook(s.t.Context(), deleted.ID))
		eventually(s.t, "claims are in hand", func() error {
			if s.inHand() == nil {
				return nil
			}
			return s.claimed.undelivered(s.events[s.claimed] * s.webhooks(s.claimed)) // another round follows
		})
		must(s.t, w.Signal(syscall.SIGSTOP))
		if s.inHand() == nil {
			return
		}
		must(s.t, w.Signal(syscall.SIGCONT))
	}
	s.t.Fatal("claims in hand at the suspension: got none, want some")
}

// inHand returns an error unless claims of deliveries and of the job are leased and their starts are not recorded.
func (s *suspended) inHand() error {
	s.t.Helper()
	const deliveries = `SELECT count(*) FROM deliveries
		WHERE store_id = $1 AND status = 'pending' AND started_at IS NULL AND lease_until > now()`
	const jobs = "SELECT count(*) FROM jobs WHERE subject = $1 AND lease_until > now()"
	return errors.Join(atLeast(15, count(s.t, deliveries, s.claimed.store)), atLeast(1, count(s.t, jobs, s.deleted)))
}

// inFlight returns the requests beyond the recorded attempts, by delivery. It waits until the receivers have read all
// requests.
func (s *suspended) inFlight() (n map[posted]int) {
	s.t.Helper()
	last := -1
	eventually(s.t, "the last requests have arrived", func() error {
		before := last
		last = 0
		for _, h := range s.hooks {
			last += len(h.all(s.t))
		}
		if n = surplus(s.t, s.hooks); last != before {
			return errNotYet
		}
		return nil
	})
	return n
}

// delivered returns an error unless all deliveries are delivered.
func (s *suspended) delivered() error {
	for r, events := range s.events {
		if err := r.undelivered(events * s.webhooks(r)); err != nil {
			return err
		}
	}
	return nil
}

func (s *suspended) webhooks(r *restaurant) int {
	s.t.Helper()
	return count(s.t, "SELECT count(*) FROM subscriptions WHERE store_id = $1 AND deleted_at IS NULL", r.store)
}

// check compares the requests with the records and with the plans. A delivery may have one request more than attempts
// if one was in flight at the suspension.
func (s *suspended) check(inFlight map[posted]int) {
	s.t.Helper()
	duplicates := 0
	for of, n := range s.inFlight() {
		duplicates += n
		if n < 0 || n > inFlight[of] {
			s.t.Errorf("requests of %v beyond its attempts: got %d, want at most the %d in flight", of, n, inFlight[of])
		}
	}
	if duplicates < s.events[s.held] {
		s.t.Errorf("duplicates: got %d, want at least those of %d held requests", duplicates, s.events[s.held])
	}
	s.t.Logf("%d duplicates", duplicates)
	for r, events := range s.events {
		want := events * s.webhooks(r)
		attempts := want
		if r == s.retried {
			attempts = 2 * want
		}
		must(s.t, r.countIs(want, "status = 'delivered' AND attempts = %d", attempts/want))
		must(s.t, r.attemptsAre(attempts, "status IN ('delivered', 'failed')"))
		const counted = "SELECT p.started FROM plan_windows p JOIN stores s ON s.website_id = p.queue WHERE s.id = $1"
		if n := count(s.t, counted, r.store); n != want {
			s.t.Errorf("counted starts: got %d, want %d", n, want)
		}
	}
}

// posted identifies a delivery by its webhook and its event.
type posted struct {
	subscription string
	event        string
}

// surplus returns the number of requests beyond the recorded attempts, by delivery. hooks are the receivers by webhook.
func surplus(t *testing.T, hooks map[string]*hook) map[posted]int {
	t.Helper()
	n := map[posted]int{}
	for id, h := range hooks {
		for _, one := range h.all(t) {
			n[posted{id, one.id}]++
		}
	}
	rows, err := worldOf(t).db.System().DB.QueryContext(t.Context(), `SELECT subscription_id, event_id, count(*)
		FROM attempts WHERE subscription_id = ANY ($1) GROUP BY 1, 2`, slices.Collect(maps.Keys(hooks)))
	must(t, err)
	defer rows.Close()
	for rows.Next() {
		var of posted
		var attempts int
		must(t, rows.Scan(&of.subscription, &of.event, &attempts))
		n[of] -= attempts
	}
	must(t, rows.Err())
	return n
}
