package api

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/app"
)

// eveningBody opens a store for guests on Fridays until 02:00, written as two spans that touch at midnight, and closes
// it on the 20th of March.
func eveningBody() object {
	return object{
		"openingHours": object{"DINE_IN": object{
			"fri": []object{{"from": "18:00", "to": "24:00"}}, "sat": []object{{"from": "00:00", "to": "02:00"}},
		}},
		"closures":           []object{{"from": "2026-03-20", "to": "2026-03-21"}},
		"bookingLeadMinutes": 60, "bookingMaxDays": 30,
	}
}

// API keys reserve within the opening hours and the lead time. Users do not have to.
func TestReservationTimes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.do("PATCH", "/settings", w.tokens["OWNER"], eveningBody()).ok(200, nil)
	w.do("POST", "/store/pause", w.tokens["STAFF"], object{"until": noon.Add(7 * 24 * time.Hour)}).ok(200, nil)
	key, staff := w.key("own", app.ScopeWriteReservations), w.tokens["STAFF"]
	const hour, closed, window = 60, app.CodeStoreClosed, app.CodeOutsideBookingWindow
	for name, c := range map[string]struct {
		startAt string
		minutes int
		key     app.Code
		next    string
		staff   app.Code
	}{
		"on Friday":           {startAt: "2026-03-27T20:00:00+01:00", minutes: 2 * hour},
		"across midnight":     {startAt: "2026-03-27T23:00:00+01:00", minutes: 3 * hour},
		"too late":            {"2026-03-27T23:00:00+01:00", 3*hour + 1, closed, "2026-04-03T16:00:00.000Z", ""},
		"in summer time":      {startAt: "2026-04-03T18:00:00+02:00", minutes: hour},
		"an hour too early":   {"2026-04-03T18:00:00+03:00", hour, closed, "2026-04-03T16:00:00.000Z", ""},
		"in the closure":      {"2026-03-20T20:00:00+01:00", hour, closed, "2026-03-27T17:00:00.000Z", ""},
		"at night":            {"2026-03-25T03:30:00+01:00", hour, closed, "2026-03-27T17:00:00.000Z", ""},
		"a walk-in":           {"2026-03-14T11:45:00Z", hour, window, "", ""},
		"in the lead time":    {"2026-03-14T12:59:59.999Z", hour, window, "", ""},
		"long ago":            {"2026-03-14T11:44:59.999Z", hour, window, "", window},
		"at Christmas":        {"2026-12-25T03:30:00+01:00", hour, window, "", window},
		"in the year 1":       {"0001-01-01T00:00:00Z", hour, window, "", window},
		"in the year 9999":    {"9999-12-31T23:59:59Z", hour, window, "", window},
		"on the last day":     {"2026-04-13T11:00:00Z", hour, closed, "2026-04-17T16:00:00.000Z", ""},
		"after the last time": {"2026-04-13T11:00:00.001Z", hour, window, "", window},
	} {
		body := altered(reservationBody(), object{"startAt": c.startAt, "durationMinutes": c.minutes})
		for token, want := range map[string]app.Code{key: c.key, staff: c.staff} {
			a := w.do("POST", "/reservations", token, body)
			a.what = name
			switch want {
			case "":
				a.ok(201, nil)
			case closed:
				a.refused(closed, "nextOpenAt")
				if got := a.body.Error.Details[0].Message; got != c.next {
					t.Errorf("%s: got nextOpenAt %s, want %s", name, got, c.next)
				}
			default:
				a.refused(want, "startAt")
			}
		}
	}
}

// A new time of a reservation follows the same rules. Other changes are possible at any time.
func TestChangedReservationTimes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.do("PATCH", "/settings", w.tokens["OWNER"], eveningBody()).ok(200, nil)
	late := w.reserve(object{"startAt": "2026-03-25T03:30:00+01:00", "durationMinutes": 60}) // by a user, at night
	key := w.key("own", app.ScopeWriteReservations)
	change := func(token string, body object) *response {
		t.Helper()
		return w.do("PATCH", "/reservations/"+string(late.ID), token, body)
	}
	change(key, object{"notes": "x", "partySize": 2, "durationMinutes": 45}).ok(200, nil)
	change(key, object{"durationMinutes": 60}).refused(app.CodeStoreClosed, "nextOpenAt")
	change(key, object{"startAt": "2026-03-27T01:30:00+01:00"}).refused(app.CodeStoreClosed, "nextOpenAt")
	change(key, object{"startAt": "2026-03-14T12:30:00Z"}).refused(app.CodeOutsideBookingWindow, "startAt")
	change(w.tokens["STAFF"], object{"startAt": "2026-03-14T11:00:00Z"}).
		refused(app.CodeOutsideBookingWindow, "startAt")
	change(w.tokens["STAFF"], object{"startAt": "2026-03-26T03:30:00+01:00", "durationMinutes": 90}).ok(200, nil)
	change(key, object{"startAt": "2026-03-27T23:00:00+01:00", "durationMinutes": 180}).ok(200, nil)
	change(key, object{"durationMinutes": 181}).refused(app.CodeStoreClosed, "nextOpenAt")
}

// A reservation ends from its start on: the clocks of the server and of the store's zone do not matter.
func TestEarlyEndsOfReservations(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := w.reserve(object{"startAt": noon.Add(time.Minute)})
	path := "/reservations/" + string(r.ID)
	w.do("PATCH", path+"/status", w.tokens["STAFF"], object{"status": "CONFIRMED"}).ok(200, nil)
	for _, status := range []string{"COMPLETED", "NO_SHOW"} {
		a := w.do("PATCH", path+"/status", w.tokens["STAFF"], object{"status": status}).
			refused(app.CodeInvalidTransition)
		if diff := cmp.Diff([]string{"CANCELLED"}, a.body.Error.AllowedTransitions); diff != "" {
			t.Error("allowed transitions (-want +got):", diff)
		}
	}
	w.now = noon.Add(time.Minute)
	var shown reservationOut
	w.do("GET", path, w.tokens["STAFF"], nil).ok(200, &shown)
	if len(shown.AllowedTransitions) != 3 {
		t.Errorf("at the start: got the transitions %v, want 3", shown.AllowedTransitions)
	}
	w.do("PATCH", path+"/status", w.tokens["STAFF"], object{"status": "NO_SHOW"}).ok(200, nil)
}

func TestSlots(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	key, staff := w.key("own", app.ScopeReadReservations), w.tokens["STAFF"]
	slots := func(token, query string) (found []app.Slot) {
		t.Helper()
		w.do("GET", "/reservations/slots?"+query, token, nil).ok(200, &found)
		return found
	}
	count := func(what, token, query string, want int) {
		t.Helper()
		if got := slots(token, query); len(got) != want {
			t.Errorf("%s: got %d slots, want %d: %v", what, len(got), want, got)
		}
	}
	w.do("PATCH", "/settings", w.tokens["OWNER"], object{"seats": 10}).ok(200, nil)
	count("a day", key, "date=2026-03-20&partySize=2", 96)
	count("a day of 23 hours", key, "date=2026-03-29&partySize=2", 92)
	count("today", key, "date=2026-03-14&partySize=2", 44)              // 13:00 in Berlin
	count("today for a user", staff, "date=2026-03-14&partySize=2", 45) // with a walk-in of 12:45
	count("yesterday", staff, "date=2026-03-13&partySize=2", 0)
	for _, date := range []string{"0001-01-01", "9999-12-31"} {
		count(date, staff, "partySize=2&date="+date, 0)
	}
	count("more guests than seats", staff, "date=2026-03-20&partySize=11", 0)

	w.do("PATCH", "/settings", w.tokens["OWNER"], eveningBody()).ok(200, nil)
	w.reserve(object{"startAt": "2026-03-27T20:00:00+01:00", "durationMinutes": 60, "partySize": 7})
	w.reserve(object{"startAt": "2026-03-28T00:30:00+01:00", "durationMinutes": 90, "partySize": 4})
	for _, token := range []string{key, staff} {
		var got []string
		for _, slot := range slots(token, "date=2026-03-27&partySize=4&durationMinutes=60") {
			got = append(got, fmt.Sprint(slot.StartAt.Add(time.Hour).Format("15:04 "), slot.SeatsLeft))
		}
		want := []string{"18:00 10", "18:15 10", "18:30 10", "18:45 10", "19:00 10", "21:00 10", "21:15 10", "21:30 10",
			"21:45 10", "22:00 10", "22:15 10", "22:30 10", "22:45 10", "23:00 10", "23:15 10", "23:30 10", "23:45 6"}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Error("slots of the Friday (-want +got):", diff)
		}
	}
	count("the rest of the night", key, "date=2026-03-28&partySize=4&durationMinutes=60", 5)
	count("the closed Friday", staff, "date=2026-03-20&partySize=1", 0)
	count("after the booking window", staff, "date=2026-05-01&partySize=1", 0)
	full := w.reserve(object{"startAt": "2026-03-27T18:00:00+01:00", "durationMinutes": 60, "partySize": 10})
	count("in a full hour", staff, "date=2026-03-27&partySize=10&durationMinutes=60", 12)
	count("a change of the party that fills it", staff,
		"date=2026-03-27&partySize=10&durationMinutes=60&exceptReservationId="+string(full.ID), 16)
	w.do("PATCH", "/reservations/"+string(full.ID)+"/status", w.tokens["STAFF"], statusBody("CANCELLED")).ok(200, nil)
	for _, id := range []app.ReservationID{"rsv_none", w.stores["sibling"].reservation.ID} {
		w.do("GET", "/reservations/slots?date=2026-03-27&partySize=1&exceptReservationId="+string(id), staff, nil).
			refused(app.CodeNotFound)
	}
	count("the default duration", key, "date=2026-03-27&partySize=2", 24)
	w.do("GET", "/reservations/slots?date=2026-03-20&partySize=2", w.tokens["FOREIGN"], nil).ok(200, nil)

	for query, path := range map[string]string{
		"": "date|partySize", "date=2026-02-30&partySize=2": "date", "date=2026-03-20": "partySize",
		"date=2026-03-20&partySize=0": "partySize", "date=2026-03-20&partySize=501": "partySize",
		"date=2026-03-20&partySize=2&durationMinutes=14":   "durationMinutes",
		"date=2026-03-20&partySize=2&durationMinutes=1441": "durationMinutes",
		"date=2026-03-20&partySize=2&minutes=60":           "minutes",
	} {
		w.do("GET", "/reservations/slots?"+query, staff, nil).
			refused(app.CodeValidationFailed, strings.Split(path, "|")...)
	}
}

// Each slot can be reserved by its caller, and its seats are those that are left.
func TestSlotsCanBeReserved(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.do("PATCH", "/settings", w.tokens["OWNER"], eveningBody()).ok(200, nil)
	w.do("PATCH", "/settings", w.tokens["OWNER"], object{"seats": 10}).ok(200, nil)
	key := w.key("own", app.ScopeReadReservations, app.ScopeWriteReservations)
	const query = "/reservations/slots?date=2026-03-27&partySize=3&durationMinutes=120"
	for made := 0; ; made++ {
		var left []app.Slot
		w.do("GET", query, key, nil).ok(200, &left)
		if len(left) == 0 {
			if made < 6 {
				t.Errorf("got %d reservations, want at least 6", made)
			}
			break
		}
		slot := left[made*7%len(left)]
		body := altered(reservationBody(), object{"startAt": slot.StartAt, "durationMinutes": 120})
		w.do("POST", "/reservations", key, altered(body, object{"partySize": slot.SeatsLeft + 1})).
			refused(app.CodeSlotFull)
		w.do("POST", "/reservations", key, altered(body, object{"partySize": 3})).ok(201, nil)
	}
}
