package delivery_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/app/filter"
	"github.com/comanda-dev/comanda/persistence/persistencetest"
)

// A bulk replay of missed events applies the present filter, in steps of bounded bytes. The webhook shows the last
// error.
func TestMissedEventsAreFiltered(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	store := r.Stores[0]
	dispatchAll(t, db)
	note := strings.Repeat("x", 100_000)
	var events []app.EventID
	for i := range 10 {
		events = append(events, emitTotal(t, db, store, noon.Add(time.Duration(i+1)*time.Second),
			fmt.Sprintf(`{"totalMinor": %d, "note": %q}`, i, note)))
	}
	dispatchAll(t, db)
	change(t, db, "UPDATE outbox SET body = NULL WHERE id = $1", events[0])
	id := r.filtered(t, db, 0, "data.totalMinor % 2 == 1 || 9 / (data.totalMinor - 4) > 9", app.EventOrderCreated)
	replay := createReplay(t, db, store, app.NewBulkReplay{
		SubscriptionID: id, DeliveryStatus: app.ReplayedMissed, From: app.At(noon), To: app.At(noon.Add(time.Minute)),
	})
	last := step(t, db, store, replay.ID, 100)
	steps, decided := 1, last.Decided
	for ; last.Status == app.ReplayRunning; steps++ {
		last = step(t, db, store, replay.ID, 100)
		decided += last.Decided
	}
	want := app.ReplayStep{
		Status: app.ReplayCompleted, Moved: true, Matched: 7, Replayed: 6, Skipped: 1, Decided: last.Decided,
	}
	if last != want || steps < 3 || decided != len(events) {
		t.Errorf("last of %d steps that decide %d events: got %+v, want %+v after several", steps, decided, last, want)
	}
	odd := []app.EventID{events[1], events[3], events[4], events[5], events[7], events[9]}
	if diff := gocmp.Diff(odd, received(t, db, id)); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	dispatchAll(t, db) // writes the error
	s, err := db.Subscription(t.Context(), store, id)
	must(t, err)
	failed := &app.FilterError{Message: "division by zero", EventID: events[4], At: app.At(later)}
	if diff := gocmp.Diff(failed, s.FilterError); diff != "" {
		t.Errorf("error of the filter (-want +got):\n%s", diff)
	}
}

// A bulk replay of missed events evaluates its filter in the turns of its website, between transactions. Another
// website's events are dispatched before a costly one has decided its second event.
func TestCostlyFilterOfMissedEvents(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	hostile, replay := costlyReplay(t, db)
	quiet := open(t, db, "quiet.example")
	dispatchAll(t, db)
	filtered := quiet.filtered(t, db, 0, "data.totalMinor % 2 == 0", app.EventOrderCreated)
	for i := range 100 {
		emitTotal(t, db, quiet.Stores[0], noon.Add(time.Duration(i)*time.Millisecond),
			fmt.Sprintf(`{"totalMinor": %d}`, i))
	}
	turns := db.FilterTurns()
	must(t, turns.Take(t.Context(), "other"))
	replayed := make(chan app.ReplayStep, 1)
	go func() {
		for {
			got, err := db.ContinueBulkReplay(t.Context(), later, hostile, replay, app.DefaultReplayLimits())
			if err != nil || got.Status != app.ReplayRunning {
				replayed <- got
				return
			}
		}
	}()
	awaitTurn(t, turns, replayed)
	// It waits without locks.
	change(t, db, "SELECT FROM replays WHERE id = $1 FOR UPDATE NOWAIT", replay)
	dispatchFiltered(t, db.Queue, func() bool { return turns.Waiting() == 2 })
	turns.Give("other", 0)
	dispatchFiltered(t, db.Queue, func() bool { return undispatchedOf(t, db, quiet.Stores[0]) == 0 })
	if n := count(t, db, "SELECT count(*) FROM replay_items"); n < 8 {
		t.Errorf("events of the costly replay that wait: got %d, want at least 8 of 10", n)
	}
	if n := len(received(t, db, filtered)); n != 50 {
		t.Errorf("deliveries of the quiet website: got %d, want 50", n)
	}
	if got := <-replayed; got.Status != app.ReplayCompleted || got.Replayed != 10 {
		t.Errorf("replay: got %+v, want 10 events, because the filter fails for each", got)
	}
}

// awaitTurn waits until the filter of a bulk replay waits for its turn. It fails the test if the replay does not.
func awaitTurn(t *testing.T, turns *filter.Turns, replayed <-chan app.ReplayStep) {
	t.Helper()
	for range maxWaits {
		if turns.Waiting() > 0 {
			return
		}
		select {
		case got := <-replayed:
			t.Fatalf("replay during the turn of another website: got %+v, want it to wait", got)
		case <-time.After(time.Millisecond):
		}
	}
	t.Fatal("the replay neither waits for a turn nor ends")
}

// costlyReplay creates a bulk replay of ten missed events. Its filter exceeds the limit of the cost for each of them.
func costlyReplay(t *testing.T, db *persistencetest.Database) (app.StoreID, app.ReplayID) {
	t.Helper()
	r := open(t, db, "hostile.example")
	store := r.Stores[0]
	dispatchAll(t, db)
	list := "[" + strings.Repeat("1,", 999) + "1]"
	for i := range 10 {
		emitTotal(t, db, store, noon.Add(time.Duration(i)*time.Millisecond), `{"a": `+list+`}`)
	}
	dispatchAll(t, db)
	const costly = "!data.a.exists(x, data.a.exists(y, data.a.exists(z, x + y + z < 0)))"
	replay := createReplay(t, db, store, app.NewBulkReplay{
		SubscriptionID: r.filtered(t, db, 0, costly, app.EventOrderCreated), DeliveryStatus: app.ReplayedMissed,
		From: app.At(noon), To: app.At(noon.Add(time.Minute)),
	})
	return store, replay.ID
}

// A change of the filter applies to missed events that are not yet queued, also while it is being evaluated.
func TestChangedFilterOfMissedEvents(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	store := r.Stores[0]
	dispatchAll(t, db)
	event := emitTotal(t, db, store, noon, `{}`)
	dispatchAll(t, db)
	id := r.filtered(t, db, 0, "false", app.EventOrderCreated)
	replay := createReplay(t, db, store, app.NewBulkReplay{
		SubscriptionID: id, DeliveryStatus: app.ReplayedMissed, From: app.At(noon), To: app.At(noon.Add(time.Minute)),
	})
	turns := db.FilterTurns()
	must(t, turns.Take(t.Context(), "other"))
	done := make(chan app.ReplayStep, 1)
	go func() {
		got, _ := db.ContinueBulkReplay(t.Context(), later, store, replay.ID, app.DefaultReplayLimits())
		done <- got
	}()
	awaitTurn(t, turns, done)
	replaced := new("true")
	_, err := db.ChangeSubscription(t.Context(), noon, store, owner, id, app.SubscriptionChange{Filter: &replaced}, 0)
	must(t, err)
	turns.Give("other", 0)
	if got := <-done; got.Status != app.ReplayRunning || got.Matched != 1 || got.Replayed != 0 {
		t.Errorf("step during the change: got %+v, want no event queued or excluded", got)
	}
	step(t, db, store, replay.ID, 100)
	if diff := gocmp.Diff([]app.EventID{event}, received(t, db, id)); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

// A step that gets no turn leaves its place among the jobs.
func TestFilterOfMissedEventsWithoutTurn(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	store, replay := costlyReplay(t, db)
	turns := db.FilterTurns()
	must(t, turns.Take(t.Context(), "other"))
	want := app.ReplayStep{Status: app.ReplayRunning, Matched: 10}
	if got := step(t, db, store, replay, 100); got != want || turns.Waiting() != 0 {
		t.Errorf("step: got %+v and %d that wait, want %+v", got, turns.Waiting(), want)
	}
}
