package e2e

import (
	"cmp"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/comanda-dev/comanda/api/client/comanda"
)

// eventsOfOrder is the number of events of an order that restaurant.serve completes.
const eventsOfOrder = 6

// TestOrderedWebhook moves several orders through their statuses concurrently. The receiver is slow and rejects some
// first attempts, and one of two workers is killed meanwhile. The events of each order arrive one at a time, in the
// order of their positions, except for attempts in flight at the kill. An event that fails for its whole schedule holds
// back its order only.
func TestOrderedWebhook(t *testing.T) {
	t.Parallel()
	const orders = 10
	settings := map[string]string{"COMANDA_RETRY_SCHEDULE": "1s,1s", "COMANDA_DELIVERY_TIMEOUT": holding}
	first := worker(t, settings)
	worker(t, settings)
	r := newRestaurant(t)
	receiver := newOrdered(t)
	s := receiver.subscribe(r, comanda.WebhookOrderingResource)
	var serving sync.WaitGroup
	failing := r.order()
	receiver.fail(failing)
	r.serve(&serving, failing)
	for range orders - 1 {
		r.serve(&serving, r.order())
	}
	const events = orders * eventsOfOrder
	eventually(t, "a part has arrived", func() error { return atLeast(events/4, receiver.events(0)) })
	first.Kill()
	serving.Wait()
	eventually(t, "all events of the other orders have arrived", func() error {
		return atLeast(events-eventsOfOrder+2, receiver.events(0)) // and two of the failing one
	})
	r.checkHeldBack(s)
	close(receiver.release)
	ended := func(delivered int) func() error {
		return func() error {
			return errors.Join(r.undelivered(delivered), r.countIs(1, "status = 'dead_letter' AND attempts = 3"))
		}
	}
	eventually(t, "all but one are delivered", ended(events-1))
	receiver.check(events)
}

// TestMissedEventsArriveInOrder replays the events of several orders to a webhook that did not exist when they
// happened. The events of each order arrive one at a time, in the order of their positions, although the webhook is not
// ordered and its receiver rejects some first attempts.
func TestMissedEventsArriveInOrder(t *testing.T) {
	t.Parallel()
	const orders, events = 6, 6 * eventsOfOrder
	worker(t, map[string]string{"COMANDA_RETRY_SCHEDULE": "1s,1s", "COMANDA_DELIVERY_TIMEOUT": holding})
	r := newRestaurant(t)
	began := time.Now().Add(-time.Minute)
	var serving sync.WaitGroup
	for range orders {
		r.serve(&serving, r.order())
	}
	serving.Wait()
	eventually(t, "all events have positions", func() error {
		return atLeast(events, count(t, `SELECT count(*) FROM event_log WHERE store_id = $1
			AND type IN ('order.created', 'order.status_updated', 'order.completed')`, r.store))
	})
	receiver := newOrdered(t)
	s := receiver.subscribe(r, comanda.WebhookOrderingNone)
	missed := comanda.ReplayedStatusMissed
	replay, err := r.ReplayWebhook(t.Context(), s.ID, comanda.ReplayWebhookRequest{From: began, Status: &missed})
	must(t, err)
	eventually(t, "all are delivered", func() error { return r.countIs(events, "status = 'delivered'") })
	receiver.check(events)
	if shown := r.awaitReplay(replay.ID); shown.Matched != events || shown.Replayed != events {
		t.Errorf("bulk replay: got %+v, want %d events", shown, events)
	}
}

// serve moves an order to COMPLETED, while the test goes on.
func (r *restaurant) serve(serving *sync.WaitGroup, order *comanda.Order) {
	r.t.Helper()
	serving.Go(func() {
		for _, status := range []comanda.OrderStatus{"CONFIRMED", "PREPARING", "READY", "COMPLETED"} {
			in := comanda.ChangeOrderStatusRequest{Status: status}
			if _, err := r.UpdateOrderStatus(r.t.Context(), order.ID, in); err != nil {
				r.t.Errorf("change to %s: %v", status, err)
			}
		}
	})
}

// checkHeldBack waits until the events of an order after its second one are held back behind it.
func (r *restaurant) checkHeldBack(s *comanda.Webhook) {
	r.t.Helper()
	const held = `SELECT count(*) FROM deliveries d JOIN turns t USING (subscription_id, resource)
			JOIN deliveries b ON b.id = t.delivery_id
		WHERE d.subscription_id = $1 AND d.status = 'queued' AND d.held AND b.status <> 'queued' AND b.attempts > 0`
	eventually(r.t, "the later events of the order wait for the failing one", func() error {
		return atLeast(eventsOfOrder-2, count(r.t, held, s.ID))
	})
}

// ordered is a slow receiver that rejects some first attempts and observes the order of requests.
type ordered struct {
	*hook
	t       *testing.T
	release chan struct{} // lets the last attempt of the failing event end

	lock     sync.Mutex
	clock    int // counts beginnings and ends of requests
	requests []*observed
	failing  string // resource whose second event is always rejected
}

// observed is a request for an event of a resource.
type observed struct {
	resource   string
	position   int
	begin, end int
	cut        bool // the sender has closed the connection before the response
}

func newOrdered(t *testing.T) *ordered {
	t.Helper()
	o := &ordered{t: t, release: make(chan struct{})}
	o.hook = newHook(t, o.receive)
	return o
}

// subscribe creates a webhook for events of orders.
func (o *ordered) subscribe(r *restaurant, ordering comanda.WebhookOrdering) *comanda.Webhook {
	o.t.Helper()
	s, err := r.CreateWebhook(o.t.Context(), comanda.CreateWebhookRequest{
		URL: o.url, Secret: hookSecret, Ordering: &ordering, Events: []comanda.SubscribableEventType{
			comanda.SubscribableEventTypeOrderCreated, comanda.SubscribableEventTypeOrderStatusUpdated,
			comanda.SubscribableEventTypeOrderCompleted,
		},
	})
	must(o.t, err)
	return s
}

// fail makes the receiver reject the second event of an order. From its third attempt on, it waits for release.
func (o *ordered) fail(order *comanda.Order) {
	o.lock.Lock()
	defer o.lock.Unlock()
	o.failing = "order/" + order.ID
}

// receive responds to a request.
func (o *ordered) receive(n int, w http.ResponseWriter, r *http.Request) {
	attempt := o.requestsOf(r.Header.Get("X-Webhook-Id"))
	one, fails := o.begin(r)
	defer o.end(one, r)
	hold := make(chan struct{})
	if !fails || attempt < 3 {
		close(hold)
	}
	select {
	case <-time.After(100 * time.Millisecond):
	case <-r.Context().Done():
		return
	}
	select {
	case <-hold:
	case <-o.release:
	case <-r.Context().Done():
		return
	}
	w.WriteHeader(refused(fails || n%7 == 1 && attempt == 1))
}

// begin records the beginning of a request, and returns whether it is for the failing event.
func (o *ordered) begin(r *http.Request) (one *observed, fails bool) {
	position, err := strconv.Atoi(r.Header.Get("X-Webhook-Position"))
	if err != nil {
		o.t.Error(err)
	}
	o.lock.Lock()
	defer o.lock.Unlock()
	o.clock++
	one = &observed{resource: r.Header.Get("X-Webhook-Resource"), position: position, begin: o.clock}
	o.requests = append(o.requests, one)
	return one, one.resource == o.failing && o.nth(one) == 2
}

// nth returns the place of an event among those of its resource that have arrived.
func (o *ordered) nth(one *observed) int {
	before := map[int]bool{}
	for _, other := range o.requests {
		if other.resource == one.resource && other.position <= one.position {
			before[other.position] = true
		}
	}
	return len(before)
}

func (o *ordered) end(one *observed, r *http.Request) {
	o.lock.Lock()
	defer o.lock.Unlock()
	o.clock++
	one.end, one.cut = o.clock, r.Context().Err() != nil
}

// check checks that all events have arrived, and that the requests for each resource neither overlap nor go back to an
// earlier position. It ignores requests whose sender was killed.
func (o *ordered) check(events int) {
	o.t.Helper()
	if n := o.events(0); n != events {
		o.t.Errorf("events at the receiver: got %d, want %d", n, events)
	}
	o.lock.Lock()
	defer o.lock.Unlock()
	cut := 0
	last := map[string]*observed{}
	for _, one := range slices.SortedFunc(slices.Values(o.requests), func(a, b *observed) int {
		return cmp.Compare(a.begin, b.begin)
	}) {
		if one.cut {
			cut++
			continue
		}
		if before := last[one.resource]; before != nil && (before.end > one.begin || before.position > one.position) {
			o.t.Errorf("requests for %s: got %+v and then %+v, want one after the other", one.resource, *before, *one)
		}
		last[one.resource] = one
	}
	o.t.Logf("%d requests for %d events, %d of them cut", len(o.requests), events, cut)
}
