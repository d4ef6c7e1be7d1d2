package app_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/comanda-dev/comanda/app"
)

var reservationStatuses = []app.ReservationStatus{
	app.ReservationPending, app.ReservationConfirmed, app.ReservationCancelled, app.ReservationCompleted,
	app.ReservationNoShow,
}

// The test repeats the transitions by hand (docs/behaviour.md#reservations).
func TestReservationTransitions(t *testing.T) {
	t.Parallel()
	allowed := map[app.ReservationStatus]map[app.ReservationStatus]bool{
		app.ReservationPending: {app.ReservationConfirmed: true, app.ReservationCancelled: true},
		app.ReservationConfirmed: {
			app.ReservationCancelled: true, app.ReservationCompleted: true, app.ReservationNoShow: true,
		},
	}
	now := app.At(time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC))
	by := app.Actor{Realm: app.RealmTenant, ID: "usr_1"}
	for _, from := range reservationStatuses {
		for _, to := range reservationStatuses {
			before := app.Reservation{Status: from, Version: 3}
			after, err := before.Moved(app.ReservationStatusChange{To: to, Reason: "rain", By: by}, now)
			switch {
			case from == to:
				if diff := cmp.Diff(before, after); diff != "" || err != nil {
					t.Errorf("%s again: error %v, reservation (-want +got):\n%s", to, err, diff)
				}
			case allowed[from][to]:
				if err != nil || after.Status != to || after.Version != 4 || after.UpdatedAt != now ||
					!slices.Contains(from.Transitions(), to) {
					t.Errorf("%s to %s: %+v, %v, want the new status, version 4 and a new updatedAt",
						from, to, after, err)
				}
			default:
				refusal, _ := err.(*app.Error)
				if app.CodeOf(err) != app.CodeInvalidTransition ||
					len(refusal.AllowedTransitions) != len(allowed[from]) || after.Status != from {
					t.Errorf("%s to %s: %+v, %v, want %s", from, to, after, err, app.CodeInvalidTransition)
				}
			}
			moved := err == nil && from != to
			confirmed := moved && to == app.ReservationConfirmed
			if confirmed != (after.ConfirmedBy != nil) || confirmed != (after.ConfirmedAt != nil) {
				t.Errorf("%s to %s: confirmed by %v at %v, want both set: %v",
					from, to, after.ConfirmedBy, after.ConfirmedAt, confirmed)
			}
			cancelled := moved && to == app.ReservationCancelled
			if cancelled != (after.CancellationReason != nil) {
				t.Errorf("%s to %s: cancellation reason %v, want it set: %v",
					from, to, after.CancellationReason, cancelled)
			}
		}
		if from.Transitions() == nil {
			t.Errorf("transitions of %s are nil, want an empty list", from)
		}
	}
}

// The peak equals the maximum of the guests counted minute by minute. If all parties overlap a given period, the peak
// is within that period.
func TestPeakCovers(t *testing.T) {
	t.Parallel()
	day := time.Date(2026, 3, 14, 0, 0, 0, 0, time.UTC)
	minute := func(n int) time.Time { return day.Add(time.Duration(n) * time.Minute) }
	rapid.Check(t, func(t *rapid.T) {
		const last = 60
		from := rapid.IntRange(0, last-1).Draw(t, "from")
		to := rapid.IntRange(from+1, last).Draw(t, "to")
		var parties, overlapping []app.Seated
		covers, within := [last]int{}, 0
		for range rapid.IntRange(0, 12).Draw(t, "parties") {
			start := rapid.IntRange(0, last-1).Draw(t, "start")
			end := rapid.IntRange(start+1, last).Draw(t, "end")
			party := app.Seated{
				Start: minute(start), End: minute(end), PartySize: rapid.IntRange(1, 500).Draw(t, "size"),
			}
			for n := start; n < end; n++ {
				covers[n] += party.PartySize
			}
			parties = append(parties, party)
			if start < to && end > from {
				overlapping = append(overlapping, party)
			}
		}
		if got, want := app.PeakCovers(parties), slices.Max(covers[:]); got != want {
			t.Fatalf("peak %d, want %d: %v", got, want, parties)
		}
		within = slices.Max(covers[from:to])
		if got := app.PeakCovers(overlapping); got != within {
			t.Fatalf("peak %d, want %d from minute %d to %d: %v", got, within, from, to, overlapping)
		}
	})
}

// A reservation is completed or missed from its start on.
func TestReservationEndsAfterItsStart(t *testing.T) {
	t.Parallel()
	start := app.At(time.Date(2026, 3, 29, 1, 0, 0, 0, time.UTC)) // 02:00 in Berlin, where clocks go forward to 03:00
	r := app.Reservation{Status: app.ReservationConfirmed, StartAt: start}
	early := app.At(start.Add(-time.Millisecond))
	for _, to := range []app.ReservationStatus{app.ReservationCompleted, app.ReservationNoShow} {
		_, err := r.Moved(app.ReservationStatusChange{To: to}, early)
		refusal, _ := err.(*app.Error)
		if app.CodeOf(err) != app.CodeInvalidTransition ||
			!slices.Equal(refusal.AllowedTransitions, []string{"CANCELLED"}) ||
			!strings.Contains(refusal.Message, start.String()) {
			t.Errorf("%s before the start: got %v, want INVALID_TRANSITION with the start", to, err)
		}
		if moved, err := r.Moved(app.ReservationStatusChange{To: to}, start); err != nil || moved.Status != to {
			t.Errorf("%s at the start: got %s, %v", to, moved.Status, err)
		}
	}
}

func TestDayIn(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ zone, date, from, to string }{
		{"UTC", "2026-03-14", "2026-03-14T00:00:00Z", "2026-03-15T00:00:00Z"},
		{"Europe/Berlin", "2026-03-29", "2026-03-28T23:00:00Z", "2026-03-29T22:00:00Z"},     // 23 hours
		{"Europe/Berlin", "2026-10-25", "2026-10-24T22:00:00Z", "2026-10-25T23:00:00Z"},     // 25 hours
		{"America/Sao_Paulo", "2018-11-04", "2018-11-04T03:00:00Z", "2018-11-05T02:00:00Z"}, // midnight does not exist
		{"America/Havana", "2026-11-01", "2026-11-01T04:00:00Z", "2026-11-02T05:00:00Z"},    // midnight occurs twice
		{"Pacific/Apia", "2011-12-30", "2011-12-30T10:00:00Z", "2011-12-30T10:00:00Z"},      // the day does not exist
		{"Pacific/Kiritimati", "2026-01-01", "2025-12-31T10:00:00Z", "2026-01-01T10:00:00Z"},
		{"Etc/GMT+12", "2026-01-01", "2026-01-01T12:00:00Z", "2026-01-02T12:00:00Z"},
	} {
		zone, err := time.LoadLocation(c.zone)
		if err != nil {
			t.Fatal(err)
		}
		from, to, err := app.DayIn(zone, c.date)
		got, want := from.UTC().Format(time.RFC3339)+" "+to.UTC().Format(time.RFC3339), c.from+" "+c.to
		if err != nil || got != want {
			t.Errorf("%s in %s: %s, %v, want %s", c.date, c.zone, got, err, want)
		}
	}
	if _, _, err := app.DayIn(time.UTC, "2026-02-30"); err == nil {
		t.Error("DayIn(2026-02-30) succeeded, want an error")
	}
}
