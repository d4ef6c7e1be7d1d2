package delivery_test

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/persistencetest"
)

// emitAt inserts an undispatched event of a time and returns its id.
func emitAt(t *testing.T, db *persistencetest.Database, store app.StoreID, kind app.EventType,
	at time.Time,
) app.EventID {
	t.Helper()
	event, err := app.NewEvent(kind, store, at, map[string]string{})
	must(t, err)
	change(t, db, persistencetest.InsertEvent, event.ID, store, kind, string(event.Body), event.At.Time)
	return event.ID
}

func dispatchAll(t *testing.T, db *persistencetest.Database) {
	t.Helper()
	for more := true; more; {
		d, err := db.Dispatch(t.Context(), noon, 1000)
		must(t, err)
		more = d.More
	}
}

// eventIDs returns the ids of a list of events.
func eventIDs(events []app.StoredEvent) (ids []app.EventID) {
	for _, e := range events {
		ids = append(ids, e.ID)
	}
	return ids
}

// listed lists all events of a store after a position.
func listed(t *testing.T, db *persistencetest.Database, store app.StoreID, filter app.EventFilter, up bool,
	after int64,
) []app.StoredEvent {
	t.Helper()
	events, more, err := db.Events(t.Context(), store, filter, up, after, app.PageLimit{Rows: 1000, Bytes: 1 << 20})
	must(t, err)
	if more {
		t.Errorf("got a page of %d events, want all", len(events))
	}
	return events
}

// An event that is committed late follows the events that were dispatched before it, although its id is lower. It
// counts for the period of the event before it.
func TestLateEventsFollow(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	store := r.Stores[0]
	dispatchAll(t, db)
	head, err := db.EventHead(t.Context(), store)
	must(t, err)

	early, err := app.NewEvent(app.EventOrderCreated, store, noon.Add(-time.Minute), map[string]string{})
	must(t, err)
	owner, err := pgx.Connect(t.Context(), db.OwnerURL)
	must(t, err)
	defer owner.Close(t.Context())
	late, err := owner.Begin(t.Context())
	must(t, err)
	_, err = late.Exec(t.Context(), persistencetest.InsertEvent, early.ID, store, early.Type, string(early.Body),
		early.At.Time)
	must(t, err)
	first := emitAt(t, db, store, app.EventOrderCreated, noon)
	dispatchAll(t, db)
	before := listed(t, db, store, app.EventFilter{}, true, head)
	if diff := gocmp.Diff([]app.EventID{first}, eventIDs(before)); diff != "" {
		t.Fatalf("events before the commit (-want +got):\n%s", diff)
	}
	must(t, late.Commit(t.Context()))
	dispatchAll(t, db)
	last := emitAt(t, db, store, app.EventOrderCreated, noon)
	dispatchAll(t, db)
	after := listed(t, db, store, app.EventFilter{}, true, before[0].Position)
	if diff := gocmp.Diff([]app.EventID{early.ID, last}, eventIDs(after)); diff != "" {
		t.Errorf("events after the first one (-want +got):\n%s", diff)
	}
	from := app.At(noon)
	all := []app.EventID{first, early.ID, last}
	if diff := gocmp.Diff(all, eventIDs(listed(t, db, store, app.EventFilter{From: &from}, true, head))); diff != "" {
		t.Errorf("events from the time of the first one (-want +got):\n%s", diff)
	}
	slices.Reverse(all)
	got := eventIDs(listed(t, db, store, app.EventFilter{}, false, 0))
	if diff := gocmp.Diff(all, got[:min(3, len(got))]); diff != "" {
		t.Errorf("newest events (-want +got):\n%s", diff)
	}
}

// Relays that dispatch the same store concurrently never let an event become visible before one of a lower position.
func TestPositionsBecomeVisibleInOrder(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	store := r.Stores[0]
	dispatchAll(t, db)
	head, err := db.EventHead(t.Context(), store)
	must(t, err)
	const writers, each = 4, 50
	written := make(chan error, writers)
	for range writers {
		go func() {
			for range each {
				event, err := app.NewEvent(app.EventOrderCreated, store, time.Now(), map[string]string{})
				if err == nil {
					_, err = db.System().DB.ExecContext(t.Context(), persistencetest.InsertEvent, event.ID, store, event.Type,
						"{}", event.At.Time)
				}
				if err != nil {
					written <- err
					return
				}
			}
			written <- nil
		}()
	}
	stop, relays := make(chan struct{}), make(chan error, 3)
	for range cap(relays) {
		go func() {
			for {
				select {
				case <-stop:
					relays <- nil
					return
				default:
				}
				if _, err := db.Dispatch(t.Context(), time.Now(), 10); err != nil {
					relays <- err
					return
				}
			}
		}()
	}
	var streamed []app.EventID
	for at := head; len(streamed) < writers*each; {
		page := listed(t, db, store, app.EventFilter{}, true, at)
		for _, e := range page {
			streamed, at = append(streamed, e.ID), e.Position
		}
	}
	close(stop)
	for range writers {
		must(t, <-written)
	}
	for range cap(relays) {
		must(t, <-relays)
	}
	all := eventIDs(listed(t, db, store, app.EventFilter{}, true, head))
	if diff := gocmp.Diff(all, streamed); diff != "" {
		t.Errorf("events as they were read (+) and all events (-):\n%s", diff)
	}
	slices.Sort(all)
	if len(slices.Compact(all)) != writers*each {
		t.Errorf("events: got %d different ones, want %d", len(slices.Compact(all)), writers*each)
	}
}

// While one relay dispatches a store, others dispatch other stores, and leave the events of that store to it.
func TestStoresAreDispatchedIndependently(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	one, two := open(t, db, "one.example").Stores[0], open(t, db, "two.example").Stores[0]
	dispatchAll(t, db)
	emitAt(t, db, one, app.EventOrderCreated, noon)
	emitAt(t, db, two, app.EventOrderCreated, noon)
	other, err := pgx.Connect(t.Context(), db.OwnerURL)
	must(t, err)
	defer other.Close(t.Context())
	tx, err := other.Begin(t.Context())
	must(t, err)
	_, err = tx.Exec(t.Context(), "SELECT pg_advisory_xact_lock(hashtextextended('dispatch/' || $1, 0))", one)
	must(t, err)
	for _, want := range []app.Dispatched{{Events: 1}, {}} { // the other relay dispatches the rest
		if got, err := db.Dispatch(t.Context(), noon, 2); err != nil || got != want {
			t.Errorf("dispatch: got %+v and error %v, want %+v", got, err, want)
		}
	}
	must(t, tx.Rollback(t.Context()))
	if got, err := db.Dispatch(t.Context(), noon, 2); err != nil || got.Events != 1 {
		t.Errorf("dispatch after the other relay: got %+v and error %v, want one event", got, err)
	}
}

// Lists of events with every combination of filters and orders return the events of a plain query, page by page.
func TestEventFilters(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	store := open(t, db, "one.example").Stores[0]
	kinds := []app.EventType{app.EventOrderCreated, app.EventProductUpdated, app.EventPaymentFailed}
	for i := range 30 {
		emitAt(t, db, store, kinds[i%2], noon.Add(time.Duration(i/3)*time.Second))
	}
	dispatchAll(t, db)
	limit := app.PageLimit{Rows: 4, Bytes: app.MaxEvent}
	three, six := app.At(noon.Add(3*time.Second)), app.At(noon.Add(6*time.Second))
	for _, types := range [][]app.EventType{nil, kinds[:1], kinds[:2], kinds[2:], kinds} {
		for _, span := range [][2]*app.Time{{}, {&three, nil}, {nil, &six}, {&three, &six}, {&six, &three}} {
			for _, up := range []bool{true, false} {
				t.Run(fmt.Sprint(types, span, up), func(t *testing.T) {
					all := listed(t, db, store, app.EventFilter{}, up, 0)
					want := slices.DeleteFunc(slices.Clone(all), func(e app.StoredEvent) bool {
						return len(types) > 0 && !slices.Contains(types, e.Type) ||
							span[0] != nil && e.At.Before(span[0].Time) || span[1] != nil && !e.At.Before(span[1].Time)
					})
					var got []app.StoredEvent
					for at := int64(0); ; at = got[len(got)-1].Position {
						filter := app.EventFilter{Types: types, From: span[0], To: span[1]}
						page, more, err := db.Events(t.Context(), store, filter, up, at, limit)
						must(t, err)
						got = append(got, page...)
						if !more {
							break
						}
					}
					if diff := gocmp.Diff(eventIDs(want), eventIDs(got)); diff != "" {
						t.Errorf("events (-want +got):\n%s", diff)
					}
				})
			}
		}
	}
}

// A page ends with the event with which it has enough bytes.
func TestPagesOfLargeEvents(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	store := open(t, db, "one.example").Stores[0]
	for i := range 5 {
		emitAt(t, db, store, app.EventOrderCreated, noon.Add(time.Duration(i)*time.Second))
	}
	dispatchAll(t, db)
	orders := app.EventFilter{Types: []app.EventType{app.EventOrderCreated}}
	size := len(listed(t, db, store, orders, true, 0)[0].Body)
	for bytes, want := range map[int]int{1: 1, size: 1, size + 1: 2, 4 * size: 4, 4*size + 1: 5, 1000 * size: 5} {
		for _, up := range []bool{true, false} {
			page, more, err := db.Events(t.Context(), store, orders, up, 0, app.PageLimit{Rows: 10, Bytes: bytes})
			must(t, err)
			if len(page) != want || more != (want < 5) {
				t.Errorf("page of %d bytes: got %d events of %d bytes, more=%v; want %d", bytes, len(page), size, more, want)
			}
		}
	}
}

// A position is valid as long as no event after it is erased.
func TestErasedEventsEndPositions(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	store := open(t, db, "one.example").Stores[1]
	has := func(position int64, want bool, when string) {
		t.Helper()
		if got, err := db.HasEventsAfter(t.Context(), store, position); err != nil || got != want {
			t.Errorf("position %d %s: got %v and error %v, want %v", position, when, got, err, want)
		}
	}
	dispatchAll(t, db)
	change(t, db, "DELETE FROM event_log WHERE store_id = $1", store)
	change(t, db, "DELETE FROM event_heads WHERE store_id = $1", store)
	change(t, db, "DELETE FROM outbox WHERE store_id = $1", store)
	has(0, true, "of a store without events")
	has(1, false, "of a store without events")
	emitAt(t, db, store, app.EventOrderCreated, noon)
	second := emitAt(t, db, store, app.EventOrderCreated, noon.Add(time.Second))
	emitAt(t, db, store, app.EventOrderCreated, noon.AddDate(0, 0, 50))
	for at := range 51 { // a relay's clock follows the events
		_, err := db.Dispatch(t.Context(), noon.AddDate(0, 0, at), 1000)
		must(t, err)
	}
	events := listed(t, db, store, app.EventFilter{}, true, 0)
	if len(events) != 3 {
		t.Fatalf("events: got %+v, want 3", events)
	}
	first, last := events[0].Position, events[2].Position
	has(0, true, "before the erasure")
	has(last, true, "before the erasure")
	has(last+1, false, "before the erasure")
	retention := app.Retention{Bodies: 30 * 24 * time.Hour, Log: 90 * 24 * time.Hour, Audit: 400 * 24 * time.Hour}
	_, err := db.Erase(t.Context(), noon.AddDate(0, 0, 31), retention, func() {})
	must(t, err)
	if e, err := db.Event(t.Context(), store, second); err != nil || e.Body != nil {
		t.Errorf("event without deliveries after 31 days: got %+v and error %v, want it without a body", e, err)
	}
	has(0, true, "after the erasure of bodies")
	_, err = db.Erase(t.Context(), noon.AddDate(0, 0, 91), retention, func() {})
	must(t, err)
	has(0, false, "after the erasure of events")
	has(first, false, "after the erasure of the next event")
	has(events[1].Position, true, "of the last erased event")
	has(last, true, "after the erasure of earlier events")
	if n := len(listed(t, db, store, app.EventFilter{}, true, 0)); n != 1 {
		t.Errorf("events after 91 days: got %d, want 1", n)
	}
}

// Lists and streams of events use indexes, regardless of the estimates of the planner.
func TestEventsAreReadAlongIndexes(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	store := open(t, db, "one.example").Stores[0]
	dispatchAll(t, db)
	seed(t, db, `INSERT INTO event_log (id, store_id, position, type)
		SELECT 'evt_' || n, $1, n, CASE WHEN n % 1000 = 0 THEN 'payment.failed' ELSE 'order.created' END
		FROM generate_series(1, 30000) n`, store)
	seed(t, db, "ANALYZE event_log")
	rare := []app.EventType{app.EventPaymentFailed, app.EventOrderCreated}
	at := app.At(noon)
	for _, filter := range []app.EventFilter{{}, {Types: rare[:1]}, {Types: rare}, {From: &at}, {Types: rare, To: &at}} {
		for _, up := range []bool{true, false} {
			t.Run(fmt.Sprint(filter, up), func(t *testing.T) {
				plan, err := db.ExplainEvents(t.Context(), store, filter, up, 20)
				must(t, err)
				index := cmp.Or(map[bool]string{true: "event_log_of_type"}[filter.Types != nil],
					"event_log_store_id_position_key")
				if !strings.Contains(plan, index) || strings.Contains(plan, "Seq Scan on event_log") ||
					strings.Contains(plan, "Bitmap") {
					t.Errorf("plan: got %s, want a scan of %s", plan, index)
				}
			})
		}
	}
}
