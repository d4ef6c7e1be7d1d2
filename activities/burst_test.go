package activities

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/app"
)

func TestBurst(t *testing.T) {
	t.Parallel()
	c := newCrowd(t, 32, fail("dlv_3", "dlv_5"))
	c.queue.change("dlv_6", func(o *app.Outgoing) { o.Active = false })
	c.queue.change("dlv_7", func(o *app.Outgoing) { o.Deleted = true })
	c.queue.change("dlv_8", func(o *app.Outgoing) { o.Unreadable = true })
	delete(c.queue.deliveries, "dlv_9")
	c.check(t, BurstResult{Delivered: 26, Others: []BurstOther{
		continues("dlv_3", "HTTP 503"), continues("dlv_5", "HTTP 503"),
		{"dlv_6", OutcomeDeadLetter, app.ReasonInactive}, {"dlv_7", OutcomeCancelled, app.ReasonDeleted},
		continues("dlv_8", errUnreadable.Error()), {"dlv_9", OutcomeCancelled, "no longer kept"},
	}}, c.failed(3), c.failed(5), c.claim(8))
	if c.posts.Load() != 28 || len(c.queue.made) != 28 {
		t.Errorf("%d POSTs, %d records, want 28 of each", c.posts.Load(), len(c.queue.made))
	}
}

// Without retries in the schedule, a failed attempt is a dead letter, for which no workflow is started.
func TestBurstWithoutRetries(t *testing.T) {
	t.Parallel()
	c := newCrowd(t, 2, fail("dlv_1"))
	c.in.RetryIn = 0
	c.check(t, BurstResult{Delivered: 1, Others: []BurstOther{{"dlv_1", OutcomeDeadLetter, "HTTP 503"}}})
	if status := c.queue.deliveries["dlv_1"].Recorded.Status; status != app.AttemptDeadLetter {
		t.Errorf("recorded status %s, want %s", status, app.AttemptDeadLetter)
	}
}

// A repeated burst, for example on another worker, makes only attempts that are not recorded, and starts the workflows
// of recorded failures. It uses the current rows.
func TestBurstIsRepeatable(t *testing.T) {
	t.Parallel()
	c := newCrowd(t, 6, ok)
	recorded := func(status app.AttemptStatus, code int) func(*app.Outgoing) {
		return func(o *app.Outgoing) {
			o.Recorded = &app.Attempt{
				Status: status, StatusCode: code, Error: "HTTP 503", DeliveredAt: app.At(eventAt.Add(time.Second)),
			}
		}
	}
	c.queue.change("dlv_0", recorded(app.AttemptDelivered, 200))
	c.queue.change("dlv_1", recorded(app.AttemptRetrying, 503))
	c.queue.change("dlv_2", recorded(app.AttemptFailed, 503))
	c.queue.change("dlv_3", recorded(app.AttemptDeadLetter, 503))
	c.queue.change("dlv_4", func(o *app.Outgoing) { o.Active = false })
	c.check(t, BurstResult{Delivered: 2, Others: []BurstOther{
		continues("dlv_1", "HTTP 503"), continues("dlv_2", "HTTP 503"),
		{"dlv_3", OutcomeDeadLetter, "HTTP 503"}, {"dlv_4", OutcomeDeadLetter, app.ReasonInactive},
	}}, c.failed(1))
	if c.posts.Load() != 1 {
		t.Errorf("%d POSTs, want 1", c.posts.Load())
	}
}

// A burst that Temporal has timed out while its worker was suspended makes no attempt: another worker has repeated it.
func TestTimedOutBurstMakesNoAttempt(t *testing.T) {
	t.Parallel()
	c := newCrowd(t, 3, ok)
	expired, cancel := context.WithDeadline(t.Context(), time.Now().Add(-time.Second))
	defer cancel()
	if got, err := c.DeliverBurst(expired, c.in); !errors.Is(err, errExpired) || c.posts.Load() != 0 {
		t.Errorf("got %+v, error %v and %d POSTs, want %v and none", got, err, c.posts.Load(), errExpired)
	}
	c.check(t, BurstResult{Delivered: 3})
}

// A delivery whose attempt takes long leaves the burst. Its workflow starts after the time limit of the attempt.
func TestSlowAttemptLeavesBurst(t *testing.T) {
	t.Parallel()
	arrived, release := make(chan struct{}), make(chan struct{})
	c := newCrowd(t, 3, func(_ http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Webhook-Id") == "dlv_1" {
			close(arrived)
			<-release
		}
	})
	go func() {
		<-arrived
		c.leave <- time.Time{}
	}()
	got, err := c.DeliverBurst(t.Context(), c.in)
	if err != nil || got.Delivered+len(got.Others) != 3 {
		t.Errorf("result %+v, %v, want 3 deliveries", got, err)
	}
	c.starts.Lock()
	left := slices.IndexFunc(c.starts.claims, func(claim app.Claim) bool { return claim.ID == "dlv_1" })
	want := c.claim(1)
	due := eventAt.Add(time.Second + c.deliveries.policy.AttemptLimit())
	want.NextRetryAt, want.Quick = &due, true
	if diff := cmp.Diff(want, c.starts.claims[left]); diff != "" {
		t.Errorf("claim of the delivery that left (-want +got):\n%s", diff)
	}
	c.starts.Unlock()

	// The stopping worker waits for the attempt. The delivery's workflow joins it.
	ended, stop := context.WithCancel(t.Context())
	stop()
	if err := c.Wait(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("Wait during the attempt: %v, want %v", err, context.Canceled)
	}
	var joined sync.WaitGroup
	joined.Go(func() {
		got, err := c.deliveries.Deliver(t.Context(), DeliverInput{DeliveryID: "dlv_1", Attempt: 1, Lane: LaneFast})
		if err != nil || got.Outcome != OutcomeDelivered {
			t.Errorf("Deliver during the attempt: %+v, %v, want %s", got, err, OutcomeDelivered)
		}
	})
	close(release)
	if err := c.Wait(t.Context()); err != nil {
		t.Errorf("Wait after the attempt: %v", err)
	}
	joined.Wait()
	if c.posts.Load() != 3 || len(c.queue.made) != 3 {
		t.Errorf("%d POSTs, %d records, want 3 of each", c.posts.Load(), len(c.queue.made))
	}
}

// arrivals is a handler that reports each request and responds when it is released.
type arrivals struct {
	arrived chan string
	release chan struct{}
}

func newArrivals() arrivals { return arrivals{make(chan string, 64), make(chan struct{})} }

func (a arrivals) handle(_ http.ResponseWriter, r *http.Request) {
	a.arrived <- r.Header.Get("X-Webhook-Id")
	<-a.release
}

// A burst that is repeated in the same process joins the running attempts.
func TestConcurrentRunsOfBurstShareAttempts(t *testing.T) {
	t.Parallel()
	held := newArrivals()
	c := newCrowd(t, 3, held.handle)
	var runs sync.WaitGroup
	run := func() {
		if got, err := c.DeliverBurst(t.Context(), c.in); err != nil || got.Delivered != 3 {
			t.Errorf("result %+v, %v, want 3 delivered", got, err)
		}
	}
	runs.Go(run)
	for range 3 {
		<-held.arrived
	}
	runs.Go(run)
	close(held.release)
	runs.Wait()
	if c.posts.Load() != 3 || len(c.queue.made) != 3 {
		t.Errorf("%d POSTs, %d records, want 3 of each", c.posts.Load(), len(c.queue.made))
	}
}

// A burst that is repeated while it starts workflows starts each of them once, and counts once.
func TestConcurrentRunsOfBurstShareStarts(t *testing.T) {
	t.Parallel()
	c := newCrowd(t, 3, ok)
	for id := range c.queue.deliveries {
		c.queue.change(id, func(o *app.Outgoing) {
			o.Recorded = &app.Attempt{Status: app.AttemptRetrying, StatusCode: 503, Error: "HTTP 503"}
		})
	}
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		c.starts.hold = func() { <-release }
		c.after = func(time.Duration) <-chan time.Time { return make(chan time.Time) }
		var runs sync.WaitGroup
		for range 3 {
			runs.Go(func() {
				if got, err := c.DeliverBurst(t.Context(), c.in); err != nil || len(got.Others) != 3 {
					t.Errorf("result %+v, %v, want 3 deliveries that continue", got, err)
				}
			})
			synctest.Wait()
		}
		if n := c.InProgress(); n != 1 {
			t.Errorf("bursts in progress: got %d, want 1", n)
		}
		close(release)
		runs.Wait()
	})
	if len(c.starts.claims) != 3 {
		t.Errorf("started workflows: got %d, want 3", len(c.starts.claims))
	}
}

// A delivery whose webhook has too many running attempts in the fast lane continues as its own workflow.
func TestBusyWebhookInBurst(t *testing.T) {
	t.Parallel()
	c := newCrowd(t, 2, ok)
	c.deliveries.bulkhead.policy.Fast = 1
	c.deliveries.bulkhead.enter("web_1", "whk_1", LaneFast, 0)
	reason := "the webhook or its website has too many attempts in progress"
	c.check(t, BurstResult{Delivered: 1, Others: []BurstOther{continues("dlv_1", reason)}}, c.claim(1))
}

// During the overlap of a rotation, attempts in bursts are signed with both secrets.
func TestRotatedSecretInBurst(t *testing.T) {
	t.Parallel()
	signatures := make(chan string, 1)
	c := newCrowd(
		t, 1, func(_ http.ResponseWriter, r *http.Request) { signatures <- r.Header.Get("Webhook-Signature") },
	)
	c.queue.change("dlv_0", func(o *app.Outgoing) {
		o.PreviousSecret, o.Secret = o.Secret, app.NewSecret(strings.Repeat("n", 32))
	})
	c.check(t, BurstResult{Delivered: 1})
	if got := <-signatures; strings.Count(got, "v1,") != 2 {
		t.Errorf("webhook-signature %q, want two signatures", got)
	}
}

// A panic becomes the error of its attempt and does not end the process.
func TestFlightRecoversPanic(t *testing.T) {
	t.Parallel()
	var f flights
	flight, mine := f.enter("dlv_1/1")
	if !mine {
		t.Fatal("enter returned mine = false for the first caller")
	}
	f.run("dlv_1/1", flight, func() (attempted, error) { panic("a defect") })
	<-flight.done
	if flight.err == nil || !strings.Contains(flight.err.Error(), "a defect") || len(f.byKey) > 0 {
		t.Errorf("error %v, flights %v, want the panic and no flights", flight.err, f.byKey)
	}
}

// The workflows of deliveries that leave a burst wake up one after the other, but not after their second attempts are
// due.
func TestLeavingDeliveriesAreSpread(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		retryIn time.Duration
		last    int // of the places of wakes
	}{
		"a late second attempt":   {time.Minute, 31},
		"no second attempt":       {0, 31},
		"an early second attempt": {5*time.Second + 500*time.Millisecond, 10},
	} {
		t.Run(name, func(t *testing.T) { testLeavingDeliveries(t, test.retryIn, test.last) })
	}
}

func testLeavingDeliveries(t *testing.T, retryIn time.Duration, last int) {
	const n = 32
	held := newArrivals()
	c := newCrowd(t, n, held.handle)
	c.in.RetryIn = retryIn
	for i := range n {
		id := c.in.Deliveries[i].DeliveryID
		c.in.Deliveries[i].SubscriptionID = "whk_1"
		c.queue.change(id, func(o *app.Outgoing) { o.SubscriptionID = "whk_1" })
	}
	go func() {
		for range n {
			<-held.arrived
		}
		c.leave <- time.Time{}
	}()
	if got, err := c.DeliverBurst(t.Context(), c.in); err != nil || len(got.Others) != n {
		t.Errorf("result %+v, %v, want %d that continue", got, err, n)
	}
	wakes := map[time.Duration]bool{}
	for _, claim := range c.starts.claims {
		wakes[claim.NextRetryAt.Sub(eventAt.Add(time.Second+c.deliveries.policy.AttemptLimit()))] = true
	}
	for i := range last + 1 {
		if at := time.Duration(i) * c.policy.WakeEvery; !wakes[at] {
			t.Errorf("no workflow wakes %s after the first one", at)
		}
	}
	if len(wakes) != last+1 {
		t.Errorf("times at which workflows wake: got %d, want %d", len(wakes), last+1)
	}
	close(held.release)
	if err := c.Wait(t.Context()); err != nil {
		t.Error(err)
	}
}
