package delivery_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/persistencetest"
)

// Websites with a hundred webhooks with costly filters each delay neither the events nor the filters of another
// website: all events of the other one are dispatched before their first one.
func TestCostlyFiltersOfWebsites(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	quiet := open(t, db, "quiet.example")
	var hostile []app.StoreID
	for i := range 5 {
		hostile = append(hostile, costlyWebsite(t, db, fmt.Sprintf("hostile%d.example", i)))
	}
	plain := quiet.Subscribe(t, db, 0, app.EventOrderCreated).ID
	filtered := quiet.filtered(t, db, 1, "data.totalMinor % 2 == 0", app.EventOrderCreated)
	dispatchFiltered(t, db.Queue, func() bool { return db.FilterTurns().Waiting() == len(hostile)-1 })
	for i := range 100 {
		at := noon.Add(time.Duration(i) * time.Millisecond)
		emitTotal(t, db, quiet.Stores[0], at, `{}`)
		emitTotal(t, db, quiet.Stores[1], at, fmt.Sprintf(`{"totalMinor": %d}`, i))
	}
	dispatchFiltered(t, db.Queue, func() bool {
		return undispatchedOf(t, db, quiet.Stores[0])+undispatchedOf(t, db, quiet.Stores[1]) == 0
	})
	for _, store := range hostile {
		if n := undispatchedOf(t, db, store); n != 10 {
			t.Errorf("events of a hostile website that wait: got %d, want all 10", n)
		}
	}
	if n, even := len(received(t, db, plain)), len(received(t, db, filtered)); n != 100 || even != 50 {
		t.Errorf("deliveries of the quiet website: got %d and %d, want 100 and 50", n, even)
	}
}

// costlyWebsite opens a website with a hundred webhooks whose filters exceed the limit of the cost for each of its ten
// events.
func costlyWebsite(t *testing.T, db *persistencetest.Database, domain string) app.StoreID {
	t.Helper()
	r := open(t, db, domain)
	dispatchAll(t, db)
	const costly = "!data.a.exists(x, data.a.exists(y, data.a.exists(z, x + y + z < 0)))"
	for range app.MaxSubscriptions {
		r.filtered(t, db, 0, costly, app.EventOrderCreated)
	}
	list := "[" + strings.Repeat("1,", 999) + "1]"
	for i := range 10 {
		emitTotal(t, db, r.Stores[0], noon.Add(time.Duration(i)), `{"a": `+list+`}`)
	}
	return r.Stores[0]
}
