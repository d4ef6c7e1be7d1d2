package activities

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/comanda-dev/comanda/app"
)

// largeBodies is a Store whose deliveries have large bodies.
type largeBodies struct {
	*queue

	loads atomic.Int32
}

func (l *largeBodies) OutgoingBody(context.Context, app.DeliveryID) ([]byte, error) {
	l.loads.Add(1)
	return make([]byte, app.MaxEvent), nil
}

// The large bodies of a website with many hanging receivers use at most half of the memory. Those of another website,
// and small ones, are delivered.
func TestLargeBodiesOfAHostileNeighbour(t *testing.T) {
	t.Parallel()
	const deliveries = 100
	released := make(chan struct{})
	e, url := receiver(t, time.Minute, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/quick" {
			<-released
		}
		w.WriteHeader(http.StatusNoContent)
	})
	store := &largeBodies{queue: &queue{deliveries: map[app.DeliveryID]app.Outgoing{}}}
	d := newDeliveries(e, store)
	most := d.policy.Bulkhead.Bodies / app.MaxEvent / 2
	add := func(id app.DeliveryID, url string, unloaded int) {
		out := outgoing(url)
		out.SubscriptionID, out.Unloaded = app.SubscriptionID(id), unloaded
		if unloaded > 0 {
			out.Body = nil
		}
		store.deliveries[id] = out
	}
	deliver := func(id app.DeliveryID, website string) DeliverResult {
		result, err := d.Deliver(t.Context(), DeliverInput{DeliveryID: id, Attempt: 1, Lane: LaneFast, Queue: website})
		if err != nil {
			t.Error(err)
		}
		return result
	}
	for i := range deliveries {
		add(app.DeliveryID(fmt.Sprint("dlv_", i)), url, app.MaxEvent)
	}
	add("dlv_large", url+"/quick", app.MaxEvent)
	add("dlv_small", url+"/quick", 0)
	refused, outcomes := make(chan struct{}, deliveries), make([]Outcome, deliveries)
	var running sync.WaitGroup
	for i := range deliveries {
		running.Go(func() {
			outcomes[i] = deliver(app.DeliveryID(fmt.Sprint("dlv_", i)), "web_hostile").Outcome
			refused <- struct{}{}
		})
	}
	for range deliveries - most {
		<-refused
	}
	for store.loads.Load() < int32(most) {
		time.Sleep(time.Millisecond)
	}
	if got := deliver("dlv_large", "web_other").Outcome; got != OutcomeDelivered {
		t.Errorf("large body of another website: got %s, want %s", got, OutcomeDelivered)
	}
	if got := deliver("dlv_small", "web_hostile").Outcome; got != OutcomeDelivered {
		t.Errorf("small body of the website: got %s, want %s", got, OutcomeDelivered)
	}
	if n := store.loads.Load(); n != int32(most)+1 {
		t.Errorf("loaded bodies: got %d, want %d", n, most+1)
	}
	close(released)
	running.Wait()
	count := map[Outcome]int{}
	for _, outcome := range outcomes {
		count[outcome]++
	}
	if count[OutcomeDelivered] != most || count[OutcomeBusy] != deliveries-most {
		t.Errorf("outcomes: got %v, want %d delivered", count, most)
	}
	if b := d.bulkhead; b.bodies != 0 || len(b.bodyOf) != 0 {
		t.Errorf("memory in use at the end: got %d bytes", b.bodies)
	}
}

// Six websites with hanging receivers leave less memory than a large body takes. Another website gets one from the
// reserve. If that is used up too, its deliveries wait for seconds, not at the pace of a receiver that hangs.
func TestLargeBodiesOfSeveralHostileNeighbours(t *testing.T) {
	t.Parallel()
	const typical, quiet = 10 * time.Second, 40
	policy := DefaultDeliveryPolicy(typical).Bulkhead
	b := newBulkhead(policy, typical, func() time.Time { return eventAt })
	enter := func(website string, i int) (func(), time.Duration) {
		return b.enter(website, app.SubscriptionID(fmt.Sprint(website, i)), LaneSlow, app.MaxEvent)
	}
	for n := range 6 {
		for i := range policy.Bodies / app.MaxEvent {
			enter(fmt.Sprint("hostile", n), i)
		}
	}
	leave, _ := enter("quiet", 0)
	if leave == nil {
		t.Fatal("the large body of a quiet website is refused")
	}
	leave()
	for n := range (policy.Bodies + policy.Reserve) / app.MaxEvent {
		enter(fmt.Sprint("hanging", n), 0)
	}
	for i := range quiet {
		most := policy.MinWait + time.Duration(i)*policy.WakeEvery
		if left, wait := enter("quiet", i); left != nil || wait < policy.MinWait || wait > most {
			t.Errorf("delivery %d without memory: admitted %v, wait %s, want at most %s", i, left != nil, wait, most)
		}
	}
	if most := policy.Bodies + policy.Reserve; b.bodies > most {
		t.Errorf("memory in use: got %d bytes, want at most %d", b.bodies, most)
	}
}

// A delivery whose large body is erased before it is loaded becomes a dead letter.
func TestErasedLargeBody(t *testing.T) {
	t.Parallel()
	e, url := receiver(t, time.Minute, func(http.ResponseWriter, *http.Request) { t.Error("got a request") })
	store := &memory{outgoing: outgoing(url)}
	store.outgoing.Body, store.outgoing.Unloaded = nil, app.MaxEvent
	got, err := newDeliveries(e, store).Deliver(t.Context(), DeliverInput{Attempt: 1, Lane: LaneFast})
	if err != nil || got.Outcome != OutcomeDeadLetter {
		t.Errorf("got %+v and error %v, want a dead letter", got, err)
	}
}
