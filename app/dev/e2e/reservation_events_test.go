package e2e

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/comanda-dev/comanda/app"
)

// TestEventsOfReservations checks the data of each event of reservations at a receiver.
func TestEventsOfReservations(t *testing.T) {
	t.Parallel()
	worker(t, nil)
	r, h := newRestaurant(t), newHook(t, nil)
	r.subscribe(h, "reservation.created", "reservation.confirmed", "reservation.cancelled")

	var created, confirmed, cancelled app.Reservation
	r.want(201, "POST", "/reservations", map[string]any{
		"customer": map[string]any{"name": "Ada Lovelace"}, "partySize": 4,
		"startAt": time.Now().AddDate(0, 0, 7).Format(time.RFC3339),
	}, &created)
	status := "/reservations/" + string(created.ID) + "/status"
	r.want(200, "PATCH", status, map[string]any{"status": "CONFIRMED"}, &confirmed)
	r.want(200, "PATCH", status, map[string]any{"status": "CANCELLED", "cancellationReason": "Rain"}, &cancelled)
	if confirmed.ConfirmedBy == nil || cancelled.CancellationReason == nil || *cancelled.CancellationReason != "Rain" {
		t.Errorf("got %+v and %+v, want confirmedBy and the cancellation reason Rain", confirmed, cancelled)
	}
	for h.await(t) < 3 {
	}
	got := map[string][]any{}
	for _, one := range h.all(t) {
		var envelope struct {
			Type string
			Data any
		}
		must(t, json.Unmarshal([]byte(one.body), &envelope))
		got[envelope.Type] = append(got[envelope.Type], envelope.Data)
	}
	for kind, data := range map[string]app.Reservation{
		"reservation.created": created, "reservation.confirmed": confirmed, "reservation.cancelled": cancelled,
	} {
		t.Run(kind, func(t *testing.T) {
			if len(got[kind]) != 1 || !contains(t, got[kind], data) {
				t.Errorf("events: got %v, want one with %+v", got[kind], data)
			}
		})
	}
}
