package activities

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/app"
)

// queue is a Store with many deliveries, each with at most one attempt.
type queue struct {
	memory

	deliveries map[app.DeliveryID]app.Outgoing
	away       bool // the database is unreachable
}

func (q *queue) OutgoingAll(_ context.Context, ids []app.DeliveryID, number int) ([]*app.Outgoing, error) {
	q.Lock()
	defer q.Unlock()
	if q.away || number != 1 {
		return nil, errAway
	}
	loaded := make([]*app.Outgoing, len(ids))
	for i, id := range ids {
		if outgoing, ok := q.deliveries[id]; ok {
			loaded[i] = &outgoing
		}
	}
	return loaded, nil
}

func (q *queue) Outgoing(ctx context.Context, id app.DeliveryID, number int) (app.Outgoing, error) {
	loaded, err := q.OutgoingAll(ctx, []app.DeliveryID{id}, number)
	if err != nil {
		return app.Outgoing{}, err
	}
	return *loaded[0], nil
}

func (q *queue) RecordAttempt(_ context.Context, attempt app.MadeAttempt) (bool, error) {
	q.Lock()
	defer q.Unlock()
	if q.away {
		return false, errAway
	}
	outgoing := q.deliveries[attempt.DeliveryID]
	outgoing.Recorded = &app.Attempt{
		Status: attempt.Status, StatusCode: attempt.StatusCode, Error: attempt.Error, DeliveredAt: app.At(attempt.At),
	}
	q.deliveries[attempt.DeliveryID] = outgoing
	q.made = append(q.made, attempt)
	return true, nil
}

// change changes a delivery of the queue.
func (q *queue) change(id app.DeliveryID, change func(*app.Outgoing)) {
	q.Lock()
	defer q.Unlock()
	outgoing := q.deliveries[id]
	change(&outgoing)
	q.deliveries[id] = outgoing
}

var errAway = errors.New("the database is unreachable")

// starts is a DeliveryStarter that records the claims.
type starts struct {
	sync.Mutex
	claims []app.Claim
	err    error
	hold   func() // called before each start
}

func (s *starts) StartDelivery(_ context.Context, claim app.Claim) error {
	if s.hold != nil {
		s.hold()
	}
	s.Lock()
	defer s.Unlock()
	s.claims = append(s.claims, claim)
	return s.err
}

// crowd is a burst of n deliveries to receivers that share a handler. The event of a delivery has the same id as the
// delivery.
type crowd struct {
	*Bursts

	queue  *queue
	starts *starts
	in     BurstInput
	leave  chan time.Time // makes the running attempts leave the burst
	posts  atomic.Int32
}

func newCrowd(t *testing.T, n int, handle http.HandlerFunc) *crowd {
	t.Helper()
	c := &crowd{
		queue:  &queue{deliveries: map[app.DeliveryID]app.Outgoing{}},
		starts: &starts{}, leave: make(chan time.Time), in: BurstInput{RetryIn: time.Minute},
	}
	e, url := receiver(t, time.Minute, func(w http.ResponseWriter, r *http.Request) {
		c.posts.Add(1)
		handle(w, r)
	})
	for i := range n {
		id := fmt.Sprint("dlv_", i)
		out := outgoing(url)
		out.EventID, out.SubscriptionID = app.EventID(id), app.SubscriptionID(fmt.Sprint("whk_", i))
		c.queue.deliveries[app.DeliveryID(id)] = out
		c.in.Deliveries = append(c.in.Deliveries, BurstDelivery{
			DeliveryID: app.DeliveryID(id), StoreID: "sto_1", Queue: "web_1", EventID: out.EventID,
			EventType: app.EventOrderCreated, SubscriptionID: out.SubscriptionID,
		})
	}
	c.Bursts = c.worker(e)
	return c
}

// worker returns the bursts of another process with the same database and the same Temporal server.
func (c *crowd) worker(e *Egress) *Bursts {
	b := NewBursts(newDeliveries(e, c.queue), c.queue, c.starts, DefaultBurstPolicy())
	b.after = func(time.Duration) <-chan time.Time { return c.leave }
	b.wakes.random = none
	return b
}

// check delivers the burst and compares the result and the started workflows.
func (c *crowd) check(t *testing.T, want BurstResult, started ...app.Claim) {
	t.Helper()
	got, err := c.DeliverBurst(t.Context(), c.in)
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(c.starts.claims, func(a, b app.Claim) int { return strings.Compare(string(a.ID), string(b.ID)) })
	if diff := cmp.Diff(want, got) + cmp.Diff(started, c.starts.claims); diff != "" {
		t.Errorf("result and started workflows (-want +got):\n%s", diff)
	}
}

// claim returns the claim of delivery i.
func (c *crowd) claim(i int) app.Claim {
	d := c.in.Deliveries[i]
	return app.Claim{
		ID: d.DeliveryID, StoreID: d.StoreID, Queue: d.Queue, EventID: d.EventID, EventType: d.EventType,
		SubscriptionID: d.SubscriptionID,
	}
}

// failed returns the claim of delivery i after a failed first attempt.
func (c *crowd) failed(i int) app.Claim {
	claim, next := c.claim(i), eventAt.Add(time.Second+time.Minute)
	claim.Attempts, claim.Place, claim.NextRetryAt, claim.Quick = 1, 1, &next, true
	return claim
}

func continues(id app.DeliveryID, reason string) BurstOther {
	return BurstOther{id, OutcomeContinues, reason}
}

func ok(http.ResponseWriter, *http.Request) {}

// fail is a handler that responds with 503 to the deliveries with these ids and with 204 to the others.
func fail(names ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if slices.Contains(names, r.Header.Get("X-Webhook-Id")) {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}
}
