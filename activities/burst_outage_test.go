package activities

import (
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/comanda-dev/comanda/app"
)

// While the database is unreachable, the burst fails. The next run repeats no POST.
func TestBurstWithoutDatabase(t *testing.T) {
	t.Parallel()
	held := newArrivals()
	c := newCrowd(t, 2, held.handle)
	setAway := func(away bool) {
		c.queue.Lock()
		defer c.queue.Unlock()
		c.queue.away = away
	}
	setAway(true)
	if got, err := c.DeliverBurst(t.Context(), c.in); !errors.Is(err, errAway) {
		t.Errorf("database unreachable while loading: %+v, %v, want %v", got, err, errAway)
	}
	setAway(false)
	go func() {
		<-held.arrived
		<-held.arrived
		setAway(true)
		close(held.release)
	}()
	if got, err := c.DeliverBurst(t.Context(), c.in); !errors.Is(err, errAway) {
		t.Errorf("database unreachable while recording: %+v, %v, want %v", got, err, errAway)
	}
	setAway(false)
	c.check(t, BurstResult{Delivered: 2})
	if c.posts.Load() != 2 || len(c.queue.made) != 2 || len(c.deliveries.unrecorded.attempts) != 0 {
		t.Errorf("%d POSTs, %d records, %d kept, want 2, 2 and 0",
			c.posts.Load(), len(c.queue.made), len(c.deliveries.unrecorded.attempts))
	}
}

// An attempt that could not be recorded is kept as long as its burst is repeated, even if the database stays
// unreachable and the burst cannot load its deliveries.
func TestBurstKeepsAttemptDuringOutage(t *testing.T) {
	t.Parallel()
	held := newArrivals()
	c := newCrowd(t, 1, held.handle)
	now := eventAt
	c.deliveries.now = func() time.Time { return now }
	go func() {
		<-held.arrived
		c.queue.Lock()
		c.queue.away = true
		c.queue.Unlock()
		close(held.release)
	}()
	for range 3 {
		if got, err := c.DeliverBurst(t.Context(), c.in); !errors.Is(err, errAway) {
			t.Errorf("database unreachable: %+v, %v, want %v", got, err, errAway)
		}
		now = now.Add(unrecordedFor - time.Minute)
	}
	c.deliveries.unrecorded.keep("dlv_other/1", app.MadeAttempt{}, now) // forgets attempts that are too old
	c.queue.away = false
	c.check(t, BurstResult{Delivered: 1})
	if c.posts.Load() != 1 || len(c.queue.made) != 1 {
		t.Errorf("%d POSTs, %d records, want one of each", c.posts.Load(), len(c.queue.made))
	}
}

// The burst fails until the workflow of a failed delivery has been started.
func TestBurstWithoutTemporal(t *testing.T) {
	t.Parallel()
	c := newCrowd(t, 2, fail("dlv_1"))
	c.starts.err = errors.New("Temporal is unreachable")
	if got, err := c.DeliverBurst(t.Context(), c.in); !errors.Is(err, c.starts.err) {
		t.Errorf("result %+v, %v, want %v", got, err, c.starts.err)
	}
	c.starts.err, c.starts.claims = nil, nil
	c.check(t, BurstResult{Delivered: 1, Others: []BurstOther{continues("dlv_1", "HTTP 503")}}, c.failed(1))
	if c.posts.Load() != 2 {
		t.Errorf("%d POSTs, want 2", c.posts.Load())
	}
}

// The burst fails until the workflow of a delivery that leaves has been started.
func TestLeaveBurstWithoutTemporal(t *testing.T) {
	t.Parallel()
	held := newArrivals()
	c := newCrowd(t, 1, held.handle)
	c.starts.err = errors.New("Temporal is away")
	go func() {
		<-held.arrived
		c.leave <- time.Time{}
	}()
	if got, err := c.DeliverBurst(t.Context(), c.in); !errors.Is(err, c.starts.err) {
		t.Errorf("result %+v, %v, want %v", got, err, c.starts.err)
	}
	close(held.release)
	if err := c.Wait(t.Context()); err != nil {
		t.Errorf("Wait: %v", err)
	}
	c.starts.claims = nil
	c.check(t, BurstResult{Delivered: 1})
}

// The burst also fails if the attempt of a delivery that leaves fails before its workflow could not be started.
func TestAttemptFailsWhileLeavingBurstWithoutTemporal(t *testing.T) {
	t.Parallel()
	arrived, release := make(chan struct{}), make(chan struct{})
	c := newCrowd(t, 1, func(w http.ResponseWriter, _ *http.Request) {
		close(arrived)
		<-release
		w.WriteHeader(http.StatusServiceUnavailable)
	})
	c.starts.err = errors.New("Temporal is away")
	c.starts.hold = func() {
		flight, _ := c.deliveries.flights.enter(attemptKey("dlv_0", 1))
		close(release)
		<-flight.done
		time.Sleep(50 * time.Millisecond) // the attempt settles first
	}
	go func() {
		<-arrived
		c.leave <- time.Time{}
	}()
	if got, err := c.DeliverBurst(t.Context(), c.in); !errors.Is(err, c.starts.err) {
		t.Errorf("result %+v, %v, want %v", got, err, c.starts.err)
	}
	c.starts.hold, c.starts.err, c.starts.claims = nil, nil, nil
	c.check(t, BurstResult{Others: []BurstOther{continues("dlv_0", "HTTP 503")}}, c.failed(0))
}
