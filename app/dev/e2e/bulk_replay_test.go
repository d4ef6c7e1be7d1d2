package e2e

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"go.temporal.io/api/workflowservice/v1"

	"github.com/comanda-dev/comanda/api/client/comanda"
	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/app/dev/harness"
	"github.com/comanda-dev/comanda/persistence/persistencetest"
	"github.com/comanda-dev/comanda/workflows"
)

// TestBulkReplaySurvivesCrashes makes two bulk replays of a webhook's dead letters while each process is killed in
// turn, at random points. The first replay is cancelled while no worker runs, the second one replays the remaining dead
// letters: each dead letter is replayed exactly once.
func TestBulkReplaySurvivesCrashes(t *testing.T) {
	harness.Long(t)
	t.Parallel()
	letters, rounds := 300, 1
	if *long {
		letters, rounds = 1000, 3
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	f := newFragileWorld(t)
	f.settings["COMANDA_RETRY_SCHEDULE"] = "1s"
	f.revive()

	// After its repair, the receiver responds to this number of requests and holds the others until it is opened.
	const accepted = 20
	var repaired atomic.Bool
	var count atomic.Int64
	open := make(chan struct{})
	r := newRestaurant(t)
	h := newHook(t, func(_ int, w http.ResponseWriter, request *http.Request) {
		switch {
		case !repaired.Load():
			w.WriteHeader(http.StatusServiceUnavailable)
		case count.Add(1) > accepted:
			select {
			case <-open:
			case <-request.Context().Done():
				panic(http.ErrAbortHandler)
			}
		}
	})
	h.arrived = make(chan int, 10*letters)
	s := r.subscribe(h)
	began := app.At(time.Now().Add(-time.Minute))
	r.emit(letters)
	eventually(t, "all are dead letters", func() error {
		return r.countIs(letters, "status = 'dead_letter' AND attempts = 2")
	})
	refused := len(h.all(t))
	replayed := func() int { return h.events(refused) }

	repaired.Store(true)
	first := r.replayAll(s, began, "first")
	f.kill("API")
	f.revive()
	if again := r.replayAll(s, began, "first"); again.ID != first.ID || first.Matched != 0 {
		t.Fatalf("the repeated request created %+v, want %+v", again, first)
	}
	eventually(t, "the first are replayed", func() error {
		if n := replayed(); n <= accepted {
			return fmt.Errorf("%d", n)
		}
		return nil
	})
	f.kill("worker")
	first, err := r.CancelReplay(t.Context(), first.ID)
	must(t, err)
	if first.Status != comanda.ReplayStatusCancelled || first.Replayed <= accepted ||
		first.Replayed >= int64(first.Matched) || first.InProgress == 0 {
		t.Fatalf("cancelled replay: got %+v, want it partly replayed, with deliveries in progress", first)
	}
	close(open)
	f.revive()
	first = r.awaitReplay(first.ID)
	must(t, r.countIs(int(first.Replayed), "status = 'delivered' AND attempts = 3 AND replay_id = '%s'", first.ID))
	left := letters - int(first.Replayed)
	must(t, r.countIs(left, "status = 'dead_letter' AND attempts = 2 AND replays = 0"))

	second := r.replayAll(s, began, "second")
	victims := []string{"worker", "Temporal", "worker", "API", "PostgreSQL"}
	for range rounds - 1 {
		victims = append(victims, victims[:5]...)
	}
	random.Shuffle(len(victims), func(i, j int) { victims[i], victims[j] = victims[j], victims[i] })
	for i, victim := range victims {
		// A random point within the part of the replay that belongs to this kill.
		at := letters - left + (i*left+random.IntN(left))*9/10/len(victims)
		eventually(t, fmt.Sprintf("%d have arrived again", at), func() error {
			if n := replayed(); n < at {
				return fmt.Errorf("%d", n)
			}
			return nil
		})
		f.kill(victim)
		t.Logf("killed the %s after %d of %d", victim, replayed(), letters)
		f.revive()
	}
	second = r.awaitReplay(second.ID)
	if second.Status != comanda.ReplayStatusCompleted || second.Matched != left || second.Replayed != int64(left) ||
		second.Skipped != 0 {
		t.Errorf("second replay: got %+v, want it completed with the %d remaining deliveries", second, left)
	}

	must(t, r.countIs(letters, "status = 'delivered' AND attempts = 3 AND replays = 1"))
	must(t, r.countIs(left, "replay_id = '%s'", second.ID))
	var attempts, delivered, deliveries int
	must(t, worldOf(t).db.System().DB.QueryRowContext(t.Context(), `
		SELECT count(*), count(*) FILTER (WHERE status = 'delivered'), count(DISTINCT delivery_id)
		FROM attempts WHERE subscription_id = $1`, s.ID).Scan(&attempts, &delivered, &deliveries))
	if attempts != 3*letters || delivered != letters || deliveries != letters {
		t.Errorf("got %d attempts of %d deliveries, %d delivered, want %d, %d and %d", attempts, deliveries, delivered,
			3*letters, letters, letters)
	}
	ended(t, workflows.JobWorkflowID(app.JobReplay, first.ID))
	ended(t, workflows.JobWorkflowID(app.JobReplay, second.ID))
	eventually(t, "no workflow of the webhook is open", func() error {
		open, err := worldOf(t).temporal.CountWorkflow(t.Context(), &workflowservice.CountWorkflowExecutionsRequest{
			Query: fmt.Sprintf("ComandaIds = '%s' AND ExecutionStatus = 'Running'", s.ID),
		})
		if err == nil && open.Count > 0 {
			err = fmt.Errorf("%d", open.Count)
		}
		return err
	})
	requests := len(h.all(t)) - refused
	t.Logf("%d requests to replay %d dead letters: %d duplicates", requests, letters, requests-letters)
}

// emit creates events of the store.
func (r *restaurant) emit(n int) {
	r.t.Helper()
	now := time.Now()
	for range n {
		event, err := app.NewEvent(app.EventOrderCreated, r.store, now, map[string]string{})
		must(r.t, err)
		_, err = worldOf(r.t).db.System().DB.ExecContext(r.t.Context(), persistencetest.InsertEvent, event.ID,
			event.StoreID, event.Type, string(event.Body), event.At.Time)
		must(r.t, err)
	}
}

// countIs returns an error unless the given number of the store's deliveries satisfies an SQL condition.
func (r *restaurant) countIs(want int, condition string, args ...any) error {
	condition = fmt.Sprintf(condition, args...)
	var n int
	query := "SELECT count(*) FROM deliveries WHERE store_id = $1 AND " + condition
	err := worldOf(r.t).db.System().DB.QueryRowContext(r.t.Context(), query, r.store).Scan(&n)
	if err == nil && n != want {
		err = fmt.Errorf("%d deliveries have %s, want %d", n, condition, want)
	}
	return err
}

// replayAll starts a bulk replay of a webhook's dead letters, with an idempotency key.
func (r *restaurant) replayAll(s *comanda.Webhook, from app.Time, key string) *comanda.BulkReplay {
	r.t.Helper()
	ordered, err := r.ReplayWebhook(r.t.Context(), s.ID, comanda.ReplayWebhookRequest{From: from.Time},
		comanda.IdempotencyKey(key))
	must(r.t, err)
	return ordered
}

// awaitReplay waits until a bulk replay has ended and all deliveries that it queued have started.
func (r *restaurant) awaitReplay(id string) (shown *comanda.BulkReplay) {
	r.t.Helper()
	eventually(r.t, "the bulk replay ends", func() (err error) {
		shown, err = r.GetReplay(r.t.Context(), id) // may find that PostgreSQL was killed
		if err == nil && (shown.Status == comanda.ReplayStatusRunning || shown.InProgress > 0) {
			err = fmt.Errorf("%+v", shown)
		}
		return err
	})
	return shown
}
