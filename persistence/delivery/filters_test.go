package delivery_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/app/filter"
	"github.com/comanda-dev/comanda/persistence/delivery"
	"github.com/comanda-dev/comanda/persistence/persistencetest"
)

// filtered creates a subscription with a filter.
func (r restaurant) filtered(t testing.TB, db *persistencetest.Database, store int, expression string,
	events ...app.EventType,
) app.SubscriptionID {
	t.Helper()
	s, err := db.CreateSubscription(t.Context(), noon, r.Stores[store], owner, app.NewSubscription{
		URL: "https://receiver.example", Events: events, Filter: &expression,
		Secret: app.NewSecret("0123456789abcdef0123456789abcdef"),
	}, nil)
	must(t, err)
	return s.ID
}

// emitTotal writes an event with a total.
func emitTotal(t testing.TB, db *persistencetest.Database, store app.StoreID, at time.Time, data string) app.EventID {
	t.Helper()
	event, err := app.NewEvent(app.EventOrderCreated, store, at, nil)
	must(t, err)
	_, err = db.System().DB.ExecContext(t.Context(), persistencetest.InsertEvent, event.ID, store, event.Type,
		fmt.Sprintf(`{"data": %s}`, data), at)
	must(t, err)
	return event.ID
}

// dispatchFiltered dispatches until a condition holds. Filters are evaluated meanwhile.
func dispatchFiltered(t testing.TB, dispatch *delivery.Queue, holds func() bool) {
	t.Helper()
	for range maxWaits {
		if holds() {
			return
		}
		_, err := dispatch.Dispatch(t.Context(), noon, 1000)
		must(t, err)
		time.Sleep(time.Millisecond)
	}
	t.Fatal("the dispatches do not lead to the condition")
}

// maxWaits is the number of waits of a millisecond after which a test fails.
const maxWaits = 60_000

// dispatchWoken dispatches as a relay does that never polls: again if there are more events, and after an evaluation.
// It returns the number of dispatches.
func dispatchWoken(t testing.TB, db *persistencetest.Database, limit int) (dispatches int) {
	t.Helper()
	var woken atomic.Bool
	db.OnFiltersReady(func() { woken.Store(true) })
	for again := true; again; dispatches++ {
		woken.Store(false)
		d, err := db.Dispatch(t.Context(), noon, limit)
		must(t, err)
		if !d.More {
			db.AwaitFilters()
		}
		again = d.More || woken.Load()
	}
	return dispatches
}

func undispatchedOf(t testing.TB, db *persistencetest.Database, store app.StoreID) int {
	t.Helper()
	return count(t, db, "SELECT count(*) FROM undispatched WHERE store_id = '"+string(store)+"'")
}

func received(t testing.TB, db *persistencetest.Database, id app.SubscriptionID) (events []app.EventID) {
	t.Helper()
	rows, err := db.System().DB.QueryContext(t.Context(),
		"SELECT event_id FROM deliveries WHERE subscription_id = $1 ORDER BY event_id", id)
	must(t, err)
	defer rows.Close()
	for rows.Next() {
		var event app.EventID
		must(t, rows.Scan(&event))
		events = append(events, event)
	}
	must(t, rows.Err())
	return events
}

// An event for which a filter is false gets no delivery to its subscription. The others get one, and all events keep
// their order.
func TestFilteredEvents(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	store := r.Stores[0]
	dispatchAll(t, db)
	head, err := db.EventHead(t.Context(), store)
	must(t, err)
	every := r.Subscribe(t, db, 0, app.EventOrderCreated).ID
	large := r.filtered(t, db, 0, "data.totalMinor >= 50", app.AllEvents)
	none := r.filtered(t, db, 0, "false", app.EventOrderCreated)
	other := r.filtered(t, db, 0, "data.broken", app.EventProductCreated)
	var events, expected []app.EventID
	for i := range 100 {
		events = append(events, emitTotal(t, db, store, noon.Add(time.Duration(i)*time.Millisecond),
			fmt.Sprintf(`{"totalMinor": %d}`, i)))
		if i >= 50 {
			expected = append(expected, events[i])
		}
	}
	dispatchFiltered(t, db.Queue, func() bool { return undispatchedOf(t, db, store) == 0 })
	for id, want := range map[app.SubscriptionID][]app.EventID{every: events, large: expected, none: nil, other: nil} {
		if diff := gocmp.Diff(want, received(t, db, id)); diff != "" {
			t.Errorf("events of %s (-want +got):\n%s", id, diff)
		}
	}
	if diff := gocmp.Diff(events, eventIDs(listed(t, db, store, app.EventFilter{}, true, head))); diff != "" {
		t.Errorf("dispatched events (-want +got):\n%s", diff)
	}
}

// Events beyond the limit of a dispatch, of one website and of several, do not wait for the next poll of the relay.
func TestFilteredEventsNeedNoPoll(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ websites, webhooks, events int }{
		"one website":       {1, 1, 50},
		"several websites":  {5, 1, 20},
		"several webhooks":  {5, 10, 4}, // decisions about dispatched events fill a dispatch
		"an event too many": {1, 15, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const limit = 20
			db := persistencetest.New(t)
			for i := range test.websites {
				r := open(t, db, fmt.Sprintf("website%d.example", i))
				dispatchAll(t, db)
				for range test.webhooks {
					r.filtered(t, db, 0, "data.totalMinor >= 0", app.EventOrderCreated)
				}
				for j := range test.events {
					emitTotal(t, db, r.Stores[0], noon.Add(time.Duration(j)*time.Millisecond), `{"totalMinor": 1}`)
				}
			}
			dispatchWoken(t, db, limit)
			if n := count(t, db, "SELECT count(*) FROM undispatched"); n != 0 {
				t.Errorf("events that wait for a poll: got %d, want none", n)
			}
		})
	}
}

// An event for which a filter fails, or whose body is erased, is delivered. The subscription shows the last error,
// which is written once a minute, until the filter changes.
func TestFailingFilters(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	store := r.Stores[0]
	dispatchAll(t, db)
	id := r.filtered(t, db, 0, "data.totalMinor >= 50", app.EventOrderCreated)
	events := []app.EventID{
		emitTotal(t, db, store, noon, `{}`),
		emitTotal(t, db, store, noon.Add(time.Millisecond), `{"totalMinor": "much"}`),
		emitTotal(t, db, store, noon.Add(2*time.Millisecond), `{"totalMinor": 1}`),
	}
	change(t, db, "UPDATE outbox SET body = NULL WHERE id = $1", events[2])
	shown := func() *app.FilterError {
		s, err := db.Subscription(t.Context(), store, id)
		must(t, err)
		return s.FilterError
	}
	dispatchFiltered(t, db.Queue, func() bool { return undispatchedOf(t, db, store) == 0 && shown() != nil })
	if diff := gocmp.Diff(events, received(t, db, id)); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
	want := &app.FilterError{Message: "no such key: totalMinor", EventID: events[0], At: app.At(noon)}
	if diff := gocmp.Diff(want, shown()); diff != "" {
		t.Errorf("error (-want +got):\n%s", diff)
	}
	replaced := new("true")
	s, err := db.ChangeSubscription(t.Context(), noon, store, owner, id, app.SubscriptionChange{Filter: &replaced}, 0)
	must(t, err)
	if s.FilterError != nil || s.Filter == nil || *s.Filter != "true" {
		t.Errorf("changed webhook: got %+v, want the filter true and no error", s)
	}
}

// A dispatch that cannot store the errors of filters returns what it has dispatched. A later one stores them, each with
// its own time.
func TestErrorOfAFilterIsStoredLater(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	dispatchAll(t, db)
	seed(t, db, "ALTER TABLE subscription_health ADD CONSTRAINT no_error CHECK (filter_error IS NULL)")
	var ids []app.SubscriptionID
	var want []*app.FilterError
	for i, store := range r.Stores[:2] {
		at := noon.Add(time.Duration(i) * time.Second)
		ids = append(ids, r.filtered(t, db, i, "data.totalMinor >= 50", app.EventOrderCreated))
		event := emitTotal(t, db, store, at, `{}`)
		want = append(want, &app.FilterError{Message: "no such key: totalMinor", EventID: event, At: app.At(at)})
		if _, err := db.Dispatch(t.Context(), at, 1000); err != nil && i == 0 { // asks for a decision
			t.Fatal(err)
		}
		db.AwaitFilters()
		if d, err := db.Dispatch(t.Context(), at, 1000); err == nil || d.Deliveries != 1 {
			t.Errorf("dispatch: got %+v and error %v, want a delivery and an error", d, err)
		}
	}
	seed(t, db, "ALTER TABLE subscription_health DROP CONSTRAINT no_error")
	_, err := db.Dispatch(t.Context(), noon, 1000)
	must(t, err)
	var got []*app.FilterError
	for i, id := range ids {
		s, err := db.Subscription(t.Context(), r.Stores[i], id)
		must(t, err)
		got = append(got, s.FilterError)
	}
	if diff := gocmp.Diff(want, got); diff != "" {
		t.Errorf("errors (-want +got):\n%s", diff)
	}
}

// A change of a filter applies to the events that are not yet dispatched, also while its filter is being evaluated.
func TestChangedFilters(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	store := r.Stores[0]
	dispatchAll(t, db)
	id := r.filtered(t, db, 0, "false", app.EventOrderCreated)
	others := r.filtered(t, db, 0, "true", app.EventOrderCreated)
	event := emitTotal(t, db, store, noon, `{}`)
	_, err := db.Dispatch(t.Context(), noon, 1000) // asks for a decision
	must(t, err)
	replaced := new("true")
	_, err = db.ChangeSubscription(t.Context(), noon, store, owner, id, app.SubscriptionChange{Filter: &replaced}, 0)
	must(t, err)
	dispatchFiltered(t, db.Queue, func() bool { return undispatchedOf(t, db, store) == 0 })
	for _, id := range []app.SubscriptionID{id, others} {
		if diff := gocmp.Diff([]app.EventID{event}, received(t, db, id)); diff != "" {
			t.Errorf("events of %s (-want +got):\n%s", id, diff)
		}
	}
}

// The filters of all websites are evaluated one at a time.
func TestFiltersTakeTurns(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	sites := []restaurant{open(t, db, "one.example"), open(t, db, "two.example")}
	dispatchAll(t, db)
	for _, r := range sites {
		r.filtered(t, db, 0, "true", app.EventOrderCreated)
		emitTotal(t, db, r.Stores[0], noon, `{}`)
	}
	turns := db.FilterTurns()
	must(t, turns.Take(t.Context(), "other"))
	left := func() int {
		return undispatchedOf(t, db, sites[0].Stores[0]) + undispatchedOf(t, db, sites[1].Stores[0])
	}
	dispatchFiltered(t, db.Queue, func() bool { return turns.Waiting() == len(sites) })
	if n := left(); n != len(sites) {
		t.Errorf("events that wait during a turn of another website: got %d, want %d", n, len(sites))
	}
	turns.Give("other", 0)
	dispatchFiltered(t, db.Queue, func() bool { return left() == 0 })
}

// Relays that dispatch concurrently evaluate the same events, but dispatch each once.
func TestRelaysShareFilteredEvents(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	store := r.Stores[0]
	dispatchAll(t, db)
	id := r.filtered(t, db, 0, "data.totalMinor >= 500", app.EventOrderCreated)
	for i := range 1000 {
		emitTotal(t, db, store, noon.Add(time.Duration(i)*time.Millisecond), fmt.Sprintf(`{"totalMinor": %d}`, i))
	}
	done := make(chan error, 2)
	for range cap(done) {
		q := withPolicy(t, db, func(*delivery.Policy) {})
		go func() {
			for {
				var more bool
				err := db.System().DB.QueryRowContext(t.Context(), "SELECT EXISTS (SELECT FROM undispatched)").
					Scan(&more)
				if err != nil || !more {
					done <- err
					return
				}
				if _, err := q.Dispatch(t.Context(), noon, 100); err != nil {
					done <- err
					return
				}
				time.Sleep(time.Millisecond)
			}
		}()
	}
	for range cap(done) {
		must(t, <-done)
	}
	if n := len(received(t, db, id)); n != 500 {
		t.Errorf("deliveries: got %d, want 500", n)
	}
}

// A website that has more filters than fit displaces only its own.
func TestCompiledFiltersAreBounded(t *testing.T) {
	t.Parallel()
	programs := delivery.NewPrograms()
	one, err := filter.Compile("true")
	must(t, err)
	programs.Put("quiet", "whk_quiet", one)
	for i := range 5000 {
		programs.Put("hostile", app.SubscriptionID(fmt.Sprint(i)), one)
	}
	if n := programs.Len(); n > 300 || !programs.Has("quiet", "whk_quiet") {
		t.Errorf("compiled filters beside a hostile website: got %d, want at most 300, and that of the quiet one", n)
	}
	for i := range 20_000 {
		programs.Put(fmt.Sprint(i), "whk_1", one)
	}
	if n := programs.Len(); n > 10_000 {
		t.Errorf("compiled filters of 20,000 websites: got %d, want at most 10,000", n)
	}
}

// BenchmarkFilters compares the dispatch to ten webhooks with filters that match with that to ten without.
func BenchmarkFilters(b *testing.B) {
	for name, expression := range map[string]string{
		"without": "", "with": `data.fulfillmentType == "DELIVERY" && data.totalMinor >= 10`,
	} {
		b.Run(name, func(b *testing.B) {
			db := persistencetest.New(b)
			r := restaurant{persistencetest.Open(b, db, "one.example")}
			store := r.Stores[0]
			for range 10 {
				if expression == "" {
					r.Subscribe(b, db, 0, app.EventOrderCreated)
				} else {
					r.filtered(b, db, 0, expression, app.EventOrderCreated)
				}
			}
			const events = 500
			dispatches := 0
			for b.Loop() {
				b.StopTimer()
				for i := range events {
					emitTotal(b, db, store, noon.Add(time.Duration(i)),
						`{"fulfillmentType": "DELIVERY", "totalMinor": 12, "note": "`+strings.Repeat("x", 1000)+`"}`)
				}
				b.StartTimer()
				dispatches += dispatchWoken(b, db, 250) // as a relay
			}
			b.ReportMetric(float64(dispatches)/float64(b.N), "dispatches")
			b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*events), "µs/event")
		})
	}
}
