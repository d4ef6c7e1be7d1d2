package e2e

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/comanda-dev/comanda/api/client/comanda"
)

// dineIn is a filter that orders in the restaurant match.
const dineIn = `data.fulfillmentType == "DINE_IN"`

// TestPositionsAtReceivers checks that each request carries the position and the resource that the API shows for its
// event: first attempts in bursts and in separate workflows, retries, a single replay, and bulk replays of delivered
// and of missed events. A filter applies to events and to missed ones.
func TestPositionsAtReceivers(t *testing.T) {
	t.Parallel()
	for _, bursts := range []string{"always", "off"} {
		t.Run("bursts "+bursts, func(t *testing.T) {
			r := newRestaurant(t)
			var all *hook
			all = newHook(t, func(n int, w http.ResponseWriter, q *http.Request) {
				w.WriteHeader(refused(n%3 == 1 && all.requestsOf(q.Header.Get("X-Webhook-Id")) == 1))
			})
			filtered, late := newHook(t, nil), newHook(t, nil)
			s := r.subscribe(all, "*")
			r.subscribeTo(filtered, dineIn)
			order := r.serveGuests()
			worker(t, map[string]string{"COMANDA_BURST": bursts, "COMANDA_RETRY_SCHEDULE": "1s"})

			const dining = 4           // events of an order
			const events = 3*4 + 1 + 2 // of three orders, their guest and a product
			eventually(t, "all are delivered", func() error { return r.undelivered(events + dining) })
			if n := len(all.all(t)); n <= events {
				t.Errorf("requests for %d events: got %d, want retries", events, n)
			}
			if got := r.countIs(0, "burst_id IS NOT NULL") != nil; got != (bursts == "always") {
				t.Errorf("deliveries of bursts: got %t, want %t", got, bursts == "always")
			}
			r.replayEvents(s, all, events)
			r.replayBulk(r.subscribeTo(late, dineIn), comanda.ReplayedStatusMissed)
			eventually(t, "all are delivered", func() error { return r.undelivered(events + 2*dining) })
			r.checkPositions(all, events)
			for _, h := range []*hook{filtered, late} {
				for _, one := range r.checkPositions(h, dining) {
					if *one.Resource != "order/"+order.ID || h.requestsOf(one.ID) != 1 {
						t.Errorf("filtered events: got %s of %s, want one request for each of order/%s", one.Type,
							*one.Resource, order.ID)
					}
				}
			}
		})
	}
}

// replayEvents replays one delivery of a webhook, and then all, and waits for their requests.
func (r *restaurant) replayEvents(s *comanda.Webhook, h *hook, events int) {
	r.t.Helper()
	before := len(h.all(r.t))
	one := r.deliveries(comanda.ListDeliveriesParams{WebhookID: s.ID})[0]
	r.replayDelivery(one)
	eventually(r.t, "the replay is delivered", func() error {
		shown, err := r.GetDelivery(r.t.Context(), one.ID)
		if err == nil && shown.Attempts == one.Attempts {
			err = errNotYet
		}
		return err
	})
	r.replayBulk(s, comanda.ReplayedStatusDelivered)
	eventually(r.t, "the bulk replay arrives", func() error { return atLeast(before+1+events, len(h.all(r.t))) })
}

// replayBulk replays all events of a webhook with a status.
func (r *restaurant) replayBulk(s *comanda.Webhook, status comanda.ReplayedStatus) {
	r.t.Helper()
	replay, err := r.ReplayWebhook(r.t.Context(), s.ID, comanda.ReplayWebhookRequest{
		From: time.Now().Add(-time.Hour), Status: &status,
	})
	must(r.t, err)
	r.awaitReplay(replay.ID)
}

// subscribeTo creates a webhook for all events that match a filter.
func (r *restaurant) subscribeTo(h *hook, filter string) *comanda.Webhook {
	r.t.Helper()
	s, err := r.CreateWebhook(r.t.Context(), comanda.CreateWebhookRequest{
		URL: h.url, Events: []comanda.SubscribableEventType{"*"}, Secret: hookSecret,
		Filter: new(`type.startsWith("order.") && ` + filter),
	})
	must(r.t, err)
	return s
}

// serveGuests takes three orders, one of them in the restaurant, moves each to COMPLETED concurrently, and changes the
// price of a product. It returns the order in the restaurant.
func (r *restaurant) serveGuests() (dining *comanda.Order) {
	r.t.Helper()
	var serving sync.WaitGroup
	for _, kind := range []comanda.FulfillmentType{"PICKUP", "DINE_IN", "PICKUP"} {
		in := r.newOrder()
		in.FulfillmentType = kind
		order, err := r.PlaceOrder(r.t.Context(), in)
		must(r.t, err)
		if kind == comanda.FulfillmentTypeDineIn {
			dining = order
		}
		serving.Go(func() {
			for _, status := range []comanda.OrderStatus{"CONFIRMED", "COMPLETED"} {
				_, err := r.UpdateOrderStatus(r.t.Context(), order.ID, comanda.ChangeOrderStatusRequest{Status: status})
				if err != nil {
					r.t.Error(err)
				}
			}
		})
	}
	serving.Wait()
	change := comanda.ChangeProductRequest{PriceMinor: new(int64(990))}
	_, err := r.UpdateProduct(r.t.Context(), string(r.product), change)
	must(r.t, err)
	return dining
}

// checkPositions compares the headers of all requests with the API, and the positions of an order with the versions of
// its events. The requests must be for the given number of events, which it returns.
func (r *restaurant) checkPositions(h *hook, events int) (shown map[string]*comanda.EventDetail) {
	r.t.Helper()
	shown = map[string]*comanda.EventDetail{}
	for _, one := range h.all(r.t) {
		event := shown[one.id]
		if event == nil {
			var err error
			event, err = r.GetEvent(r.t.Context(), one.id)
			must(r.t, err)
			if event.Position == nil || *event.Position <= 0 || event.Resource == nil {
				r.t.Fatalf("event: got %+v, want one with a position and a resource", event)
			}
			shown[one.id] = event
		}
		got, want := one.resource+" at "+one.position, fmt.Sprintf("%s at %d", *event.Resource, *event.Position)
		if got != want {
			r.t.Errorf("request for %s: got %s, want %s", event.Type, got, want)
		}
	}
	if len(shown) != events {
		r.t.Errorf("events at the receiver: got %d, want %d", len(shown), events)
	}
	r.checkVersions(shown)
	return shown
}

// checkVersions checks that positions of orders ascend with their versions.
func (r *restaurant) checkVersions(events map[string]*comanda.EventDetail) {
	r.t.Helper()
	type place struct{ version, position int }
	orders := map[string][]place{}
	for _, event := range events {
		if strings.HasPrefix(*event.Resource, "order/") {
			var body struct{ Data struct{ Version int } }
			must(r.t, json.Unmarshal(event.Body, &body))
			orders[*event.Resource] = append(orders[*event.Resource], place{body.Data.Version, *event.Position})
		}
	}
	for resource, places := range orders {
		slices.SortFunc(places, func(a, b place) int { return cmp.Compare(a.position, b.position) })
		if !slices.IsSortedFunc(places, func(a, b place) int { return cmp.Compare(a.version, b.version) }) {
			r.t.Errorf("versions and positions of %s: got %v, want both to ascend", resource, places)
		}
	}
	if len(orders) == 0 {
		r.t.Error("orders: got none, want at least one")
	}
}
