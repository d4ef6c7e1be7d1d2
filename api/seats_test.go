package api

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/app"
)

func TestSeats(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	set := func(settings object) {
		t.Helper()
		w.do("PATCH", "/settings", w.tokens["OWNER"], settings).ok(200, nil)
	}
	try := func(startAt string, minutes, guests int) *response {
		t.Helper()
		return w.do("POST", "/reservations", w.tokens["OWNER"],
			altered(reservationBody(), object{"startAt": startAt, "durationMinutes": minutes, "partySize": guests}))
	}
	set(object{"seats": 10})
	var first, second reservationOut
	try("2026-03-20T18:00:00Z", 120, 6).ok(201, &first)
	try("2026-03-20T18:30:00Z", 120, 5).refused(app.CodeSlotFull)
	try("2026-03-20T17:00:00Z", 61, 5).refused(app.CodeSlotFull)
	try("2026-03-19T18:30:00Z", 1440, 5).refused(app.CodeSlotFull) // overlaps only in its last 30 minutes
	try("2026-03-20T17:00:00Z", 60, 10).ok(201, nil)               // ends when the first one begins
	try("2026-03-20T20:00:00Z", 60, 6).ok(201, &second)
	try("2026-03-20T18:00:00Z", 180, 4).ok(201, nil) // overlaps with two that do not overlap with each other
	a := try("2026-03-20T20:30:00Z", 15, 1).refused(app.CodeSlotFull)
	if !strings.Contains(a.body.Error.Message, "0 of 10 seats") {
		t.Errorf("message: got %q, want 0 of 10 seats in it", a.body.Error.Message)
	}
	status := func(r reservationOut, statuses ...string) {
		t.Helper()
		for _, status := range statuses {
			w.do("PATCH", "/reservations/"+string(r.ID)+"/status", w.tokens["OWNER"], object{"status": status}).
				ok(200, nil)
		}
	}
	status(second, "CONFIRMED")
	try("2026-03-20T20:30:00Z", 15, 1).refused(app.CodeSlotFull)
	status(second, "CANCELLED")
	try("2026-03-20T20:30:00Z", 15, 6).ok(201, nil)
	w.exec("UPDATE reservations SET status = 'NO_SHOW' WHERE id = $1", first.ID)
	try("2026-03-20T18:00:00Z", 15, 6).ok(201, nil)
	// Existing reservations remain when the number of seats decreases. The sibling store has separate seats.
	set(object{"seats": 2})
	try("2026-03-20T18:00:00Z", 15, 1).refused(app.CodeSlotFull)
	try("2026-03-21T18:00:00Z", 15, 3).refused(app.CodeSlotFull)
	w.do("POST", "/reservations", w.token("OWNER", w.stores["sibling"].id),
		altered(reservationBody(), object{"startAt": "2026-03-20T18:00:00Z", "partySize": 50})).ok(201, nil)
}

// Of twenty concurrent reservations of the last seats, as many succeed as there are seats.
func TestLastSeats(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.do("PATCH", "/settings", w.tokens["OWNER"], object{"seats": 15}).ok(200, nil)
	for round, starts := range [][]string{{"2026-03-20T18:00:00Z"},
		{"2026-03-21T18:00:00Z", "2026-03-21T18:30:00Z", "2026-03-21T17:30:00Z"}} {
		responses := make(chan *response, 20)
		var wait sync.WaitGroup
		for i := range cap(responses) {
			body := altered(reservationBody(),
				object{"partySize": 2, "durationMinutes": 60, "startAt": starts[i%len(starts)]})
			wait.Go(func() {
				responses <- w.do("POST", "/reservations", w.tokens["OWNER"], body,
					header("Idempotency-Key", fmt.Sprintf("%d-%d", round, i)))
			})
		}
		wait.Wait()
		close(responses)
		var seated []app.Seated
		won := 0
		for a := range responses {
			if a.Code == 201 {
				var r reservationOut
				a.ok(201, &r)
				seated = append(seated, app.Seated{Start: r.StartAt.Time, End: r.EndAt.Time, PartySize: r.PartySize})
				won++
				continue
			}
			a.refused(app.CodeSlotFull)
		}
		// Reservations at 17:30 and 18:30 do not overlap, so the number that succeeds depends on the order.
		if peak := app.PeakCovers(seated); peak != 14 || round == 0 && won != 7 {
			t.Errorf("round %d: got %d reservations with a peak of %d guests, want a peak of 14 (round 0: 7 made)",
				round, won, peak)
		}
	}
}

// The seats of a day include reservations that began on the day before, in the store's time zone.
func TestSeatsOfDay(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.exec("DELETE FROM reservations")
	w.exec("UPDATE stores SET seats = 20")
	evening := w.reserve(object{"partySize": 4, "startAt": "2026-03-20T19:00:00+01:00", "durationMinutes": 120})
	w.reserve(object{"partySize": 2, "startAt": "2026-03-20T20:00:00+01:00", "durationMinutes": 60})
	w.reserve(object{"partySize": 3, "startAt": "2026-03-19T23:30:00+01:00", "durationMinutes": 60})
	cancelled := w.reserve(object{"partySize": 9, "startAt": "2026-03-20T19:00:00+01:00"})
	w.do("PATCH", "/reservations/"+string(cancelled.ID)+"/status", w.tokens["STAFF"], object{"status": "CANCELLED"}).
		ok(200, nil)
	w.do("PATCH", "/reservations/"+string(evening.ID)+"/status", w.tokens["STAFF"], object{"status": "CONFIRMED"}).
		ok(200, nil)
	at := func(hour, minute int) app.Time { return app.At(time.Date(2026, 3, 20, hour, minute, 0, 0, time.UTC)) }
	want := app.SeatsOfDay{
		Date: "2026-03-20", Timezone: "Europe/Berlin", Seats: 20, Peak: 6,
		Taken: []app.SeatsTaken{
			{From: at(-1, 0), Seats: 3}, {From: at(-1, 30), Seats: 0}, {From: at(18, 0), Seats: 4},
			{From: at(19, 0), Seats: 6}, {From: at(20, 0), Seats: 0},
		},
	}
	var day app.SeatsOfDay
	w.do("GET", "/reservations/seats?date=2026-03-20", w.tokens["STAFF"], nil).ok(200, &day)
	if diff := cmp.Diff(want, day); diff != "" {
		t.Errorf("seats of the day (-want +got):\n%s", diff)
	}
	w.do("GET", "/reservations/seats?date=2026-03-20", w.tokens["FOREIGN"], nil).ok(200, &day)
	if day.Peak != 0 {
		t.Errorf("seats of another store: got %+v, want none taken", day)
	}
	for _, date := range []string{"0001-01-01", "9999-12-31"} { // days that begin before year 1 or end after 9999
		w.do("GET", "/reservations/seats?date="+date, w.tokens["STAFF"], nil).ok(200, nil)
	}
	for _, date := range []string{"", "?date=2026-02-30", "?date=today"} {
		w.do("GET", "/reservations/seats"+date, w.tokens["STAFF"], nil).refused(app.CodeValidationFailed, "date")
	}
}
