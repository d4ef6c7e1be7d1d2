package activities

import (
	"fmt"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/app"
)

func TestTestIsSentOnce(t *testing.T) {
	t.Parallel()
	in := app.WebhookTest{StoreID: "sto_1", SubscriptionID: "whk_1", EventID: "evt_1"}
	for name, test := range map[string]struct {
		httpStatus int
		want       app.WebhookTestResult
		status     app.AttemptStatus
	}{
		"delivered": {
			204, app.WebhookTestResult{Delivered: true, StatusCode: 204, EventID: "evt_1"}, app.AttemptDelivered,
		},
		"refused": {
			500, app.WebhookTestResult{StatusCode: 500, EventID: "evt_1", Error: "HTTP 500"}, app.AttemptFailed,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var posts atomic.Int32
			var seen http.Header
			e, url := receiver(t, time.Minute, func(w http.ResponseWriter, r *http.Request) {
				posts.Add(1)
				seen = r.Header.Clone()
				seen.Set("Host", r.Host)
				seen.Set("Content-Length", fmt.Sprint(r.ContentLength))
				w.WriteHeader(test.httpStatus)
			})
			inactive := outgoing(url)
			inactive.Active = false
			inactive.Headers = app.WebhookHeaders{"authorization": app.NewSecret("Bearer swordfish")}
			store := &memory{outgoing: inactive, refuse: 1}
			d := newDeliveries(e, store)
			if _, err := d.Test(t.Context(), in); err == nil {
				t.Error("Test with a failing record succeeded, want an error")
			}
			for range 2 { // the first time from memory, the second time from the record
				got, err := d.Test(t.Context(), in)
				if diff := cmp.Diff(test.want, got); diff != "" || err != nil {
					t.Errorf("error %v, result (-want +got):\n%s", err, diff)
				}
			}
			if posts.Load() != 1 || len(store.made) != 1 ||
				store.made[0].Status != test.status || store.made[0].DeliveryID != "" {
				t.Errorf("%d POSTs, recorded %+v, want one test with status %s", posts.Load(), store.made, test.status)
			}
			if got := seen.Get("Authorization"); got != "Bearer swordfish" {
				t.Errorf("header of the webhook: got %q, want it sent", got)
			}
			seen["Authorization"] = []string{} // the record has only the name
			if diff := cmp.Diff(seen, http.Header(store.made[0].Sent)); diff != "" {
				t.Errorf("recorded request headers (-sent +recorded):\n%s", diff)
			}
		})
	}
	_, err := newDeliveries(nil, &memory{err: app.NotFound()}).Test(t.Context(), in)
	if app.CodeOf(err) != app.CodeNotFound {
		t.Errorf("unknown subscription: %v, want %s", err, app.CodeNotFound)
	}
}
