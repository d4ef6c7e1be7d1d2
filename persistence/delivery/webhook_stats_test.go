package delivery_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/persistencetest"
)

func TestStats(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	s := r.Subscribe(t, db, 0, app.EventOrderCreated)
	r.Place(t, db, 3)
	claims := claim(t, db)
	attempt(t, db, claims[0].ID, 1, app.AttemptRetrying, 30*time.Millisecond) // 13:00
	attempt(t, db, claims[0].ID, 2, app.AttemptDelivered, 10*time.Millisecond)
	attempt(t, db, claims[1].ID, 2, app.AttemptDeadLetter, 20*time.Millisecond)
	attempt(t, db, claims[2].ID, 4, app.AttemptRetrying, 40*time.Millisecond)
	stats, err := db.Stats(t.Context(), r.Stores[0], s.ID, app.At(noon.Add(90*time.Minute)),
		app.At(noon.Add(4*time.Hour+time.Minute)), app.ByHour)
	must(t, err)
	ms := func(n int64) *int64 { return &n }
	bucket := func(hour int, counts app.StatsCounts) app.StatsBucket {
		return app.StatsBucket{Start: app.At(noon.Add(time.Duration(hour) * time.Hour)), StatsCounts: counts}
	}
	want := app.DeliveryStats{
		From: app.At(noon.Add(90 * time.Minute)), To: app.At(noon.Add(4*time.Hour + time.Minute)),
		Granularity: app.ByHour,
		Buckets: []app.StatsBucket{
			bucket(1, app.StatsCounts{}),
			bucket(2, app.StatsCounts{Delivered: 1, Failed: 1, DeadLetter: 1, P50Ms: ms(10), P99Ms: ms(20)}),
			bucket(3, app.StatsCounts{}), bucket(4, app.StatsCounts{Failed: 1, P50Ms: ms(40), P99Ms: ms(40)}),
		},
		Totals:      app.StatsCounts{Delivered: 1, Failed: 2, DeadLetter: 1, P50Ms: ms(20), P99Ms: ms(40)},
		RetryingNow: 1,
	}
	if diff := cmp.Diff(want, stats); diff != "" {
		t.Errorf("statistics (-want +got):\n%s", diff)
	}
}
