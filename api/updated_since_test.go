package api

import (
	"strings"
	"testing"
	"time"

	"github.com/comanda-dev/comanda/app"
)

// A request that has waited for another one has an earlier time. Its change still is in the list since the last change.
// TestUpdatedAtOfLateChanges is the test of products.
func TestUpdatedSinceListsLateChanges(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	s := w.addShopper()
	order, reservation := "/orders/"+string(s.order.ID), "/reservations/"+string(s.reservation.ID)
	owner := w.tokens["OWNER"]
	w.now = w.now.Add(10 * time.Minute)
	w.do("PATCH", order+"/status", owner, object{"status": "CONFIRMED"}).ok(200, nil)
	w.do("PATCH", reservation, owner, object{"notes": "window"}).ok(200, nil)
	w.do("PATCH", s.path, owner, object{"lastName": "King"}).ok(200, nil)
	latest := app.At(w.now)
	payment := altered(paymentBody(), object{"transactionId": "late", "amountMinor": 1})
	for _, change := range []struct {
		method, path string
		body         any
	}{
		{"PATCH", order + "/status", object{"status": "CONFIRMED", "promisedAt": app.At(w.now.Add(time.Hour))}},
		{"POST", order + "/payments", payment},
		{"PATCH", order + "/status", object{"status": "COMPLETED"}},
		{"PATCH", reservation, object{"notes": "door"}},
		{"PATCH", reservation + "/status", object{"status": "CANCELLED"}},
		{"PATCH", s.path, object{"lastName": "Lovelace"}},
		{"PATCH", s.path, object{"disabled": true}},
		{"DELETE", s.path, nil},
	} {
		w.now = w.now.Add(-time.Minute)
		if a := w.do(change.method, change.path, owner, change.body); a.Code/100 != 2 {
			t.Fatalf("%s %s: got %d: %s", change.method, change.path, a.Code, a.Body)
		}
		for _, path := range []string{order, reservation, s.path} {
			if change.method == "DELETE" && path == s.path {
				continue // is not listed any more
			}
			list := path[:strings.LastIndex(path, "/")]
			var found []struct {
				ID        string
				UpdatedAt app.Time
			}
			w.do("GET", list+"?updatedSince="+latest.String(), owner, nil).ok(200, &found)
			if len(found) != 1 || !strings.HasSuffix(path, found[0].ID) || found[0].UpdatedAt != latest {
				t.Errorf("%s after %s %s: got %+v since %s, want %s", list, change.method, change.path, found, latest, path)
			}
		}
	}
}
