package api

import (
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/app"
)

// changeReservation changes a reservation as STAFF of the own store.
func (w *world) changeReservation(r reservationOut, body object, options ...func(*http.Request)) *response {
	w.Helper()
	return w.do("PATCH", "/reservations/"+string(r.ID), w.tokens["STAFF"], body, options...)
}

func TestChangeReservation(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	made := w.reserve(object{"notes": "A high chair", "durationMinutes": 90})
	w.now = noon.Add(time.Minute)
	var changed reservationOut
	w.changeReservation(made, object{
		"startAt": "2026-03-20T21:00:00.1239+01:00", "partySize": 3, "durationMinutes": 60, "tableLabel": "Terrace 4",
	}, header("If-Match", `"1"`)).ok(200, &changed)
	start := time.Date(2026, 3, 20, 20, 0, 0, 123e6, time.UTC)
	want := made
	want.StartAt, want.EndAt, want.Minutes = app.At(start), app.At(start.Add(time.Hour)), 60
	want.PartySize, want.TableLabel, want.Version, want.UpdatedAt = 3, "Terrace 4", 2, app.At(w.now)
	if diff := cmp.Diff(want, changed); diff != "" {
		t.Error("changed (-want +got):", diff)
	}
	var shown reservationOut
	w.do("GET", "/reservations/"+string(made.ID), w.tokens["STAFF"], nil).ok(200, &shown)
	if diff := cmp.Diff(want, shown); diff != "" {
		t.Error("shown (-want +got):", diff)
	}
	// The duration stays, and null clears.
	w.changeReservation(made, object{"startAt": "2026-03-21T18:00:00Z", "notes": nil, "tableLabel": nil}).
		ok(200, &changed)
	start = time.Date(2026, 3, 21, 18, 0, 0, 0, time.UTC)
	want.StartAt, want.EndAt, want.Notes, want.TableLabel, want.Version = app.At(start), app.At(start.Add(time.Hour)),
		"", "", 3
	if diff := cmp.Diff(want, changed); diff != "" {
		t.Error("moved (-want +got):", diff)
	}
	w.now = noon.Add(2 * time.Minute)
	for _, same := range []object{{}, {"partySize": 3, "startAt": "2026-03-21T19:00:00+01:00", "notes": ""}} {
		w.changeReservation(made, same).ok(200, &changed)
		if changed.Version != 3 || changed.UpdatedAt != want.UpdatedAt {
			t.Errorf("no change: got version %d of %s, want 3 of %s", changed.Version, changed.UpdatedAt,
				want.UpdatedAt)
		}
	}
	w.changeReservation(made, object{"notes": "x"}, header("If-Match", `"2"`)).refused(app.CodeVersionMismatch)
	for _, typ := range []app.EventType{app.EventReservationConfirmed, app.EventReservationCancelled} {
		if emitted := w.eventData("own", typ); len(emitted) != 0 {
			t.Errorf("%s: got %s, want no event", typ, emitted)
		}
	}
	if emitted := w.eventData("own", app.EventReservationCreated); len(emitted) != 2 { // with that of the fixture
		t.Errorf("reservation.created: got %d events, want 2", len(emitted))
	}
}

func TestChangeReservationRefusals(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	made := w.reserve(nil)
	for path, values := range map[string][]any{
		"partySize": {0, 501, "2", nil}, "durationMinutes": {14, 1441, nil}, "startAt": {"", "tomorrow", nil},
		"notes": {strings.Repeat("x", 1001), 1}, "tableLabel": {"", " ", strings.Repeat("é", 41)},
		"customerId": {"cus_1"}, "status": {"CONFIRMED"}, "timezone": {"UTC"},
	} {
		for _, value := range values {
			w.changeReservation(made, object{path: value}).refused(app.CodeValidationFailed, path)
		}
	}
	for _, start := range []string{"2026-03-14T11:44:59Z", "2027-03-14T12:00:00Z"} {
		w.changeReservation(made, object{"startAt": start}).refused(app.CodeOutsideBookingWindow, "startAt")
	}
	w.do("PATCH", "/reservations/res_none", w.tokens["STAFF"], object{"notes": "x"}).refused(app.CodeNotFound)
	for _, path := range [][]string{{"CANCELLED"}, {"CONFIRMED", "COMPLETED"}, {"CONFIRMED", "NO_SHOW"}} {
		r := w.reserve(object{"startAt": noon})
		for _, status := range path {
			w.changeReservation(r, object{"notes": "before " + status}).ok(200, nil)
			w.do("PATCH", "/reservations/"+string(r.ID)+"/status", w.tokens["STAFF"], object{"status": status}).
				ok(200, nil)
		}
		for _, body := range []object{{"notes": "x"}, {}} {
			a := w.changeReservation(r, body).refused(app.CodeInvalidTransition)
			if len(a.body.Error.AllowedTransitions) != 0 {
				t.Errorf("%v: got %v, want no allowed transitions", path, a.body.Error.AllowedTransitions)
			}
		}
	}
}

// TestChangeReservationSeats: a change takes free seats only, and its own seats are free for it.
func TestChangeReservationSeats(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	set := func(seats int) {
		t.Helper()
		w.do("PATCH", "/settings", w.tokens["OWNER"], object{"seats": seats}).ok(200, nil)
	}
	set(10)
	early := w.reserve(object{"startAt": "2026-03-20T18:00:00Z", "durationMinutes": 60, "partySize": 6})
	late := w.reserve(object{"startAt": "2026-03-20T19:00:00Z", "durationMinutes": 60, "partySize": 6})
	w.changeReservation(early, object{"durationMinutes": 61}).refused(app.CodeSlotFull)
	w.changeReservation(early, object{"startAt": "2026-03-20T18:00:01Z"}).refused(app.CodeSlotFull)
	w.changeReservation(early, object{"partySize": 11}).refused(app.CodeSlotFull)
	w.changeReservation(early, object{"partySize": 10}).ok(200, nil)
	w.changeReservation(early, object{"startAt": "2026-03-20T17:30:00Z"}).ok(200, nil)
	w.changeReservation(early, object{"startAt": "2026-03-20T18:00:00Z", "partySize": 4, "durationMinutes": 120}).
		ok(200, nil)
	w.changeReservation(late, object{"partySize": 7}).refused(app.CodeSlotFull)
	// In a store with too few seats, a change that takes no further seats is possible.
	set(2)
	w.changeReservation(late, object{"notes": "at the window", "tableLabel": "7"}).ok(200, nil)
	w.changeReservation(late, object{"partySize": 5, "durationMinutes": 45}).ok(200, nil)
	w.changeReservation(late, object{"partySize": 6}).refused(app.CodeSlotFull)
	w.changeReservation(late, object{"startAt": "2026-03-21T19:00:00Z"}).refused(app.CodeSlotFull)
}

// TestRacingReservationChanges: twenty reservations move to the same hour concurrently, and as many fit as there are
// seats.
func TestRacingReservationChanges(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.do("PATCH", "/settings", w.tokens["OWNER"], object{"seats": 15}).ok(200, nil)
	made := make([]reservationOut, 20)
	for i := range made {
		start := time.Date(2026, 3, 20, i, 0, 0, 0, time.UTC)
		made[i] = w.reserve(object{"partySize": 2, "durationMinutes": 60, "startAt": start})
	}
	codes := make(chan int, len(made))
	var wait sync.WaitGroup
	for _, r := range made {
		wait.Go(func() {
			codes <- w.changeReservation(r, object{"startAt": "2026-03-22T18:00:00Z"}).Code
		})
	}
	wait.Wait()
	close(codes)
	got := map[int]int{}
	for code := range codes {
		got[code]++
	}
	if diff := cmp.Diff(map[int]int{200: 7, 409: 13}, got); diff != "" {
		t.Error("status codes (-want +got):", diff)
	}
}

func TestReservationsUpdatedSince(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.reserve(nil)
	moved, seated := w.reserve(nil), w.reserve(nil)
	w.now = noon.Add(time.Minute)
	w.changeReservation(moved, object{"startAt": "2026-03-21T18:00:00Z"}).ok(200, nil)
	w.do("PATCH", "/reservations/"+string(seated.ID)+"/status", w.tokens["STAFF"], object{"status": "CONFIRMED"}).
		ok(200, nil)
	for since, want := range map[string][]app.ReservationID{
		"2026-03-14T12:01:00Z":     {seated.ID, moved.ID},
		"2026-03-14T12:01:00.001Z": {},
	} {
		var found []reservationOut
		w.do("GET", "/reservations?updatedSince="+since, w.tokens["STAFF"], nil).ok(200, &found)
		ids := []app.ReservationID{}
		for _, r := range found {
			ids = append(ids, r.ID)
		}
		if diff := cmp.Diff(want, ids); diff != "" {
			t.Errorf("%s (-want +got): %s", since, diff)
		}
	}
	w.do("GET", "/reservations?updatedSince=yesterday", w.tokens["STAFF"], nil).
		refused(app.CodeValidationFailed, "updatedSince")
}

func TestTableLabels(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if made := w.reserve(object{"tableLabel": "Terrace 4"}); made.TableLabel != "Terrace 4" {
		t.Errorf("reservation: got table %q, want Terrace 4", made.TableLabel)
	}
	atTable := altered(w.orderBody("own"), object{"fulfillmentType": "DINE_IN", "tableLabel": strings.Repeat("é", 40)})
	var placed, shown app.Order
	w.do("POST", "/orders", w.tokens["STAFF"], atTable).ok(201, &placed)
	w.do("GET", "/orders/"+string(placed.ID), w.tokens["STAFF"], nil).ok(200, &shown)
	var event app.Order
	for _, emitted := range w.eventData("own", app.EventOrderCreated) {
		if strings.Contains(string(emitted), string(placed.ID)) {
			w.read(emitted, &event)
		}
	}
	for place, order := range map[string]app.Order{"response": placed, "order": shown, "event": event} {
		if order.TableLabel != strings.Repeat("é", 40) {
			t.Errorf("%s: got table %q, want 40 times é", place, order.TableLabel)
		}
	}
	w.do("POST", "/orders/quote", w.tokens["STAFF"], atTable).ok(200, nil)
	for _, change := range []object{
		{"fulfillmentType": "PICKUP"}, {"tableLabel": " "}, {"tableLabel": strings.Repeat("é", 41)},
	} {
		w.do("POST", "/orders", w.tokens["STAFF"], altered(atTable, change)).
			refused(app.CodeValidationFailed, "tableLabel")
	}
}
