package api

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/app"
)

func reservationBody() object {
	return object{"customer": object{"name": "Ada"}, "partySize": 1, "startAt": "2026-03-20T19:30:00+01:00"}
}

// reserve creates a reservation as the OWNER of a store.
func (w *world) reserve(change object) (made reservationOut) {
	w.Helper()
	w.do("POST", "/reservations", w.tokens["OWNER"], altered(reservationBody(), change)).ok(201, &made)
	return made
}

func TestReserve(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	body := object{
		"customer":  object{"name": "Ада <Lovelace> 🍝", "email": "ada@example.com", "phone": "+4915112345678"},
		"partySize": 4, "startAt": "2026-03-20T19:30:00.1234+01:00", "durationMinutes": 90,
		"notes": "A high chair & ☕\u2028",
	}
	var made reservationOut
	a := w.do("POST", "/reservations", w.tokens["STAFF"], body)
	a.ok(201, &made)
	start := time.Date(2026, 3, 20, 18, 30, 0, 123e6, time.UTC)
	want := reservationOut{
		Reservation: app.Reservation{
			Metadata: map[string]string{},
			ID:       made.ID, StoreID: w.stores["own"].id, Status: app.ReservationPending,
			Customer: app.ReservationCustomer{
				Name: "Ада <Lovelace> 🍝", Email: "ada@example.com", Phone: "+4915112345678",
			},
			PartySize: 4, StartAt: app.At(start), EndAt: app.At(start.Add(90 * time.Minute)), Minutes: 90,
			Timezone: "Europe/Berlin", Notes: "A high chair & ☕\u2028",
			Version: 1, CreatedAt: app.At(noon), UpdatedAt: app.At(noon),
		},
		AllowedTransitions: []app.ReservationStatus{app.ReservationConfirmed, app.ReservationCancelled},
	}
	if diff := cmp.Diff(want, made); diff != "" {
		t.Error("created (-want +got):", diff)
	}
	for _, part := range []string{`"id":null`, `"startAt":"2026-03-20T18:30:00.123Z"`} {
		if !strings.Contains(a.Body.String(), part) {
			t.Errorf("created: got %s, want %s in it", a.Body, part)
		}
	}
	var shown reservationOut
	w.do("GET", "/reservations/"+string(made.ID), w.key("own", app.ScopeReadReservations), nil).ok(200, &shown)
	want.AllowedTransitions = nil // a key that only reads
	shown.AllowedTransitions = append([]app.ReservationStatus(nil), shown.AllowedTransitions...)
	if diff := cmp.Diff(want, shown); diff != "" {
		t.Error("reservation for a reader (-want +got):", diff)
	}
	emitted := w.eventData("own", app.EventReservationCreated)
	at := slices.IndexFunc(emitted,
		func(data json.RawMessage) bool { return strings.Contains(string(data), string(made.ID)) })
	if len(emitted) != 2 || at < 0 {
		t.Fatalf("reservation.created: got %s, want two events, one of %s", emitted, made.ID)
	}
	var event app.Reservation
	w.read(emitted[at], &event)
	if diff := cmp.Diff(want.Reservation, event); diff != "" {
		t.Error("event (-want +got):", diff)
	}
	if customers := w.eventData("own", app.EventCustomerCreated); len(customers) != 1 { // of the order of the fixture
		t.Errorf("customer.created: got %s, want only that of the order", customers)
	}

	// A known customer, and the default duration of the store.
	customer := w.addCustomer("own", "grace@example.com").Customer
	known := w.reserve(object{"customer": nil, "customerId": customer.ID})
	if *known.Customer.ID != customer.ID || known.Customer.Email != "grace@example.com" ||
		known.EndAt != app.At(known.StartAt.Add(2*time.Hour)) {
		t.Errorf("reservation of a customer: got %+v, want 2 hours for grace@example.com", known)
	}
	foreigner := w.addCustomer("sibling", "grace@example.com").Customer
	for _, id := range []app.CustomerID{"cus_none", foreigner.ID} {
		w.do("POST", "/reservations", w.tokens["OWNER"],
			altered(reservationBody(), object{"customer": nil, "customerId": id})).
			refused(app.CodeValidationFailed, "customerId")
	}
}

func TestReservationStatus(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	change := func(made reservationOut, body object, options ...string) *response {
		t.Helper()
		token := w.tokens["STAFF"]
		if len(options) > 0 {
			return w.do("PATCH", "/reservations/"+string(made.ID)+"/status", token, body,
				header("If-Match", options[0]))
		}
		return w.do("PATCH", "/reservations/"+string(made.ID)+"/status", token, body)
	}
	made := w.reserve(nil)
	path := "/reservations/" + string(made.ID)
	change(made, object{"status": "PENDING"}).ok(200, nil)
	change(made, object{"status": "CONFIRMED"}, `"2"`).refused(app.CodeVersionMismatch)
	for _, status := range []string{"COMPLETED", "NO_SHOW"} {
		a := change(made, object{"status": status}).refused(app.CodeInvalidTransition)
		if diff := cmp.Diff([]string{"CONFIRMED", "CANCELLED"}, a.body.Error.AllowedTransitions); diff != "" {
			t.Error("allowed transitions (-want +got):", diff)
		}
	}
	var confirmed reservationOut
	change(made, object{"status": "CONFIRMED"}, `"1"`).ok(200, &confirmed)
	at := app.At(noon)
	want := made
	want.Status, want.Version, want.ConfirmedAt = app.ReservationConfirmed, 2, &at
	want.ConfirmedBy = &app.ReservationActor{Realm: app.RealmTenant, ID: string(w.users["STAFF"].ID)}
	want.AllowedTransitions = []app.ReservationStatus{app.ReservationCancelled}
	if diff := cmp.Diff(want, confirmed); diff != "" {
		t.Error("confirmed (-want +got):", diff)
	}
	var event app.Reservation
	w.read(w.eventData("own", app.EventReservationConfirmed)[0], &event)
	if diff := cmp.Diff(want.Reservation, event); diff != "" {
		t.Error("event (-want +got):", diff)
	}
	change(made, object{"status": "CONFIRMED"}).ok(200, nil)
	a := change(made, object{"status": "PENDING"}).refused(app.CodeInvalidTransition)
	if len(a.body.Error.AllowedTransitions) != 1 {
		t.Errorf("got %+v, want 1 allowed transition", a.body.Error)
	}
	var cancelled reservationOut
	change(made, object{"status": "CANCELLED", "cancellationReason": "снег ☃"}).ok(200, &cancelled)
	if *cancelled.CancellationReason != "снег ☃" || cancelled.ConfirmedBy == nil ||
		len(cancelled.AllowedTransitions) != 0 || cancelled.Version != 3 {
		t.Errorf("cancelled: got %+v, want version 3 with the reason and no transitions", cancelled)
	}
	w.read(w.eventData("own", app.EventReservationCancelled)[0], &event)
	if diff := cmp.Diff(cancelled.Reservation, event); diff != "" {
		t.Error("event (-want +got):", diff)
	}
	change(made, object{"status": "CANCELLED", "cancellationReason": "another"}).ok(200, &cancelled)
	if *cancelled.CancellationReason != "снег ☃" {
		t.Errorf("cancelled again: got %+v, want the first reason", cancelled)
	}
	for _, status := range []string{"PENDING", "CONFIRMED", "COMPLETED", "NO_SHOW"} {
		a := change(made, object{"status": status}).refused(app.CodeInvalidTransition)
		if len(a.body.Error.AllowedTransitions) != 0 {
			t.Errorf("got %+v, want no allowed transitions", a.body.Error)
		}
	}
	var shown reservationOut
	w.do("GET", path, w.tokens["STAFF"], nil).ok(200, &shown)
	if diff := cmp.Diff(cancelled, shown); diff != "" {
		t.Error("after refused changes (-want +got):", diff)
	}

	// A cancellation without a reason, and two final statuses that emit no event.
	quiet := w.reserve(nil)
	if a := change(quiet, object{"status": "CANCELLED"}).ok(200, nil); !strings.Contains(a.Body.String(),
		`"cancellationReason":""`) {
		t.Errorf("cancelled without a reason: got %s, want an empty cancellationReason", a.Body)
	}
	for _, status := range []string{"COMPLETED", "NO_SHOW"} {
		r := w.reserve(object{"startAt": noon})
		var confirmed reservationOut
		change(r, object{"status": "CONFIRMED"}).ok(200, &confirmed)
		if len(confirmed.AllowedTransitions) != 3 {
			t.Errorf("begun: got the transitions %v, want 3", confirmed.AllowedTransitions)
		}
		change(r, object{"status": status}).ok(200, nil)
	}
	counts := fmt.Sprint(len(w.eventData("own", app.EventReservationCreated)),
		len(w.eventData("own", app.EventReservationConfirmed)), len(w.eventData("own", app.EventReservationCancelled)))
	if counts != "5 3 2" {
		t.Errorf("events: got %s, want 5 3 2", counts)
	}
}

func TestRacingReservationStatus(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := w.reserve(object{"startAt": noon})
	path := "/reservations/" + string(r.ID) + "/status"
	// race sends twenty concurrent changes. None is made before two requests wait for each other.
	race := func(statuses ...string) map[int]int {
		blocker, err := w.db.System().BeginTx(t.Context(), nil)
		w.must(err)
		defer blocker.Rollback()
		_, err = blocker.ExecContext(t.Context(), "SELECT FROM reservations WHERE id = ? FOR UPDATE", r.ID)
		w.must(err)
		codes := make(chan int, 20)
		var wait sync.WaitGroup
		for i := range cap(codes) {
			wait.Go(func() {
				codes <- w.do("PATCH", path, w.tokens["OWNER"], object{"status": statuses[i%len(statuses)]}).Code
			})
		}
		// The first in the queue waits for the blocker, the others for the row.
		w.until("changes that wait for each other", func() bool {
			waiting := 0
			w.must(w.db.System().DB.QueryRowContext(t.Context(),
				"SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = 'reservations'::regclass",
			).Scan(&waiting))
			return waiting > 0
		})
		w.must(blocker.Rollback())
		wait.Wait()
		close(codes)
		counts := map[int]int{}
		for code := range codes {
			counts[code]++
		}
		return counts
	}
	if counts := race("CONFIRMED"); counts[200] != 20 || len(w.eventData("own", app.EventReservationConfirmed)) != 1 {
		t.Errorf("concurrent confirmations: got the statuses %v, want 20 times 200 and one event", counts)
	}
	if counts := race("COMPLETED", "NO_SHOW"); counts[200] != 10 || counts[409] != 10 {
		t.Errorf("COMPLETED or NO_SHOW: got the statuses %v, want 10 times 200 and 10 times 409", counts)
	}
	var shown reservationOut
	w.do("GET", "/reservations/"+string(r.ID), w.tokens["OWNER"], nil).ok(200, &shown)
	if shown.Version != 3 {
		t.Errorf("got version %d, want 3", shown.Version)
	}
}

func TestReservationOnceForAKey(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	key := header("Idempotency-Key", "k")
	first := w.do("POST", "/reservations", w.tokens["OWNER"], reservationBody(), key).ok(201, nil)
	again := w.do("POST", "/reservations", w.tokens["OWNER"], reservationBody(), key).ok(201, nil)
	if first.Body.String() != again.Body.String() {
		t.Errorf("repeated request: got %s, want %s", again.Body, first.Body)
	}
	w.do("POST", "/reservations", w.tokens["OWNER"], altered(reservationBody(), object{"partySize": 2}), key).
		refused(app.CodeIdempotencyKeyReused)
	if emitted := w.eventData("own", app.EventReservationCreated); len(emitted) != 2 {
		t.Errorf("reservation.created: got %d events, want 2", len(emitted))
	}
}

func TestBadReservations(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	customer := func(change object) object { return object{"customer": altered(object{"name": "Ada"}, change)} }
	for name, c := range map[string]struct {
		change object
		paths  string
	}{
		"nobody":            {object{"customer": nil}, "customerId"},
		"two":               {object{"customerId": "cus_1"}, "customerId"},
		"a customer no id":  {object{"customer": nil, "customerId": "' OR 1=1"}, "customerId"},
		"a customer null":   {object{"customer": json.RawMessage("null")}, "customer"},
		"a customer a list": {object{"customer": []any{}}, "customer"},
		"no name":           {customer(object{"name": nil}), "customer.name"},
		"a blank name":      {customer(object{"name": "\u2003"}), "customer.name"},
		"a long name":       {customer(object{"name": strings.Repeat("é", 201)}), "customer.name"},
		"a bad address":     {customer(object{"email": "ada"}), "customer.email"},
		"a bad number":      {customer(object{"phone": "0151"}), "customer.phone"},
		"an unknown member": {customer(object{"vip": true}), "customer.vip"},
		"no party":          {object{"partySize": nil}, "partySize"},
		"a party of 0":      {object{"partySize": 0}, "partySize"},
		"a party of -1":     {object{"partySize": -1}, "partySize"},
		"a party of 501":    {object{"partySize": 501}, "partySize"},
		"half a guest":      {object{"partySize": 1.5}, "partySize"},
		"a party a string":  {object{"partySize": "2"}, "partySize"},
		"no start":          {object{"startAt": nil}, "startAt"},
		"a start null":      {object{"startAt": json.RawMessage("null")}, "startAt"},
		"without an offset": {object{"startAt": "2026-03-20T19:30:00"}, "startAt"},
		"a day":             {object{"startAt": "2026-03-20"}, "startAt"},
		"no day":            {object{"startAt": "2026-02-30T19:30:00Z"}, "startAt"},
		"a start a number":  {object{"startAt": 1774000000}, "startAt"},
		"year 0":            {object{"startAt": "0000-01-01T00:00:00Z"}, "startAt"},
		"14 minutes":        {object{"durationMinutes": 14}, "durationMinutes"},
		"0 minutes":         {object{"durationMinutes": 0}, "durationMinutes"},
		"more than a day":   {object{"durationMinutes": 1441}, "durationMinutes"},
		"minutes null":      {object{"durationMinutes": json.RawMessage("null")}, "durationMinutes"},
		"long notes":        {object{"notes": strings.Repeat("🍝", 1001)}, "notes"},
		"10 kB of notes":    {object{"notes": strings.Repeat("x", 10_000)}, "notes"},
		"NUL":               {object{"notes": "a\x00b"}, "notes"},
		"a status":          {object{"status": "CONFIRMED"}, "status"},
		"an end":            {object{"endAt": "2026-03-20T20:30:00Z"}, "endAt"},
		"three faults":      {object{"partySize": 0, "startAt": nil, "notes": 1}, "notes|partySize|startAt"},
	} {
		w.run(name, func(t *testing.T) {
			w.do("POST", "/reservations", w.tokens["OWNER"], altered(reservationBody(), c.change)).
				refused(app.CodeValidationFailed, strings.Split(c.paths, "|")...)
		})
	}
	path := "/reservations/" + string(w.stores["own"].reservation.ID) + "/status"
	for name, c := range map[string]struct {
		body any
		path string
	}{
		"no status":            {object{}, "status"},
		"null":                 {`{"status":null}`, "status"},
		"lower case":           {object{"status": "confirmed"}, "status"},
		"an order's":           {object{"status": "PREPARING"}, "status"},
		"a reason for nothing": {object{"status": "CONFIRMED", "cancellationReason": "x"}, "cancellationReason"},
		"a blank reason":       {object{"status": "CANCELLED", "cancellationReason": " "}, "cancellationReason"},
		"a long reason": {
			object{"status": "CANCELLED", "cancellationReason": strings.Repeat("é", 501)}, "cancellationReason",
		},
		"another's name": {object{"status": "CONFIRMED", "confirmedBy": "x"}, "confirmedBy"},
	} {
		w.run(name, func(t *testing.T) {
			w.do("PATCH", path, w.tokens["OWNER"], c.body).refused(app.CodeValidationFailed, c.path)
		})
	}
	w.do("PATCH", path, w.tokens["OWNER"], object{"status": "CONFIRMED"}, header("If-Match", "1")).
		refused(app.CodeValidationFailed, "If-Match")
	for query, path := range map[string]string{
		"status=pending": "status[0]", "status=": "status", "from=yesterday": "from", "to=2026-03-14": "to",
		"date=2026-02-30": "date", "date=14.3.2026": "date", "overlapsDate=2026-02-30": "overlapsDate",
		"date=2026-03-14&date=2026-03-15": "date", "from=2026-03-15T00:00:00Z&to=2026-03-15T00:00:00Z": "to",
		"customerId=%27": "customerId",
		"q=":             "q", "q=%00": "q", "q=%ff": "q", "q=" + strings.Repeat("x", 201): "q", "limit=0": "limit",
		"limit=101": "limit", "limit=x": "limit", "page=2": "page", "cursor=x": "cursor",
	} {
		w.do("GET", "/reservations?"+query, w.tokens["OWNER"], nil).refused(app.CodeValidationFailed, path)
	}
	var left int
	w.must(w.db.System().DB.QueryRowContext(t.Context(),
		"SELECT count(*) FROM reservations WHERE store_id = $1 AND version = 1", w.stores["own"].id).Scan(&left))
	emitted := w.eventData("own", app.EventReservationCreated, app.EventReservationConfirmed)
	if left != 1 || len(emitted) != 1 {
		t.Errorf("after refused requests: got %d reservations and %d events, want 1 and 1", left, len(emitted))
	}
	// The longest valid reservation is accepted.
	w.reserve(object{
		"customer": object{"name": strings.Repeat("🍝", 200)}, "notes": strings.Repeat("é", 1000),
		"durationMinutes": 1440, "partySize": 50,
	})
}
