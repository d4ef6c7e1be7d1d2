package app_test

import (
	"testing"
	"time"

	"github.com/comanda-dev/comanda/app"
)

func TestSeatsOver(t *testing.T) {
	t.Parallel()
	day := time.Date(2026, 3, 14, 0, 0, 0, 0, time.UTC)
	party := func(from, to float64, size int) app.Seated {
		return app.Seated{
			Start:     day.Add(time.Duration(from * float64(time.Hour))),
			End:       day.Add(time.Duration(to * float64(time.Hour))),
			PartySize: size,
		}
	}
	taken := app.SeatsOver([]app.Seated{
		party(18, 20, 4), party(-1, 1.5, 2), party(20, 22, 4), party(19, 20, 6), party(23, 25, 1),
	}, day, day.Add(24*time.Hour))
	want := []struct {
		at    float64
		seats int
	}{{0, 2}, {1.5, 0}, {18, 4}, {19, 10}, {20, 4}, {22, 0}, {23, 1}}
	if len(taken) != len(want) {
		t.Fatalf("%d entries %+v, want %d", len(taken), taken, len(want))
	}
	for i, w := range want {
		at := day.Add(time.Duration(w.at * float64(time.Hour)))
		if taken[i].Seats != w.seats || !taken[i].From.Equal(at) {
			t.Errorf("entry %d: %+v, want %d from %s", i, taken[i], w.seats, at)
		}
	}
	if none := app.SeatsOver(nil, day, day.Add(time.Hour)); len(none) != 1 || none[0].Seats != 0 {
		t.Errorf("no parties: %+v, want one entry with 0 seats", none)
	}
}
