package activities

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/comanda-dev/comanda/app"
)

// noLatest is later than all wakes of the tests.
var noLatest = eventAt.Add(time.Hour)

// none is no random delay.
func none(time.Duration) time.Duration { return 0 }

// The workflows of a hanging receiver wake one after the other. Those of another website and of another webhook do not
// wait for them.
func TestWakesAreSpread(t *testing.T) {
	t.Parallel()
	w := newWakes(50*time.Millisecond, none)
	for i := range 3 {
		want := eventAt.Add(time.Duration(i) * 50 * time.Millisecond)
		if got := w.reserve("web_1", "whk_1", eventAt, noLatest); !got.Equal(want) {
			t.Errorf("workflow %d wakes at %s, want %s", i, got, want)
		}
	}
	for _, other := range []struct {
		queue        string
		subscription app.SubscriptionID
	}{{"web_1", "whk_2"}, {"web_2", "whk_3"}} {
		if got := w.reserve(other.queue, other.subscription, eventAt, noLatest); !got.Equal(eventAt) {
			t.Errorf("%s waits for %s", other.subscription, got.Sub(eventAt))
		}
	}
}

// A website with many webhooks that hang takes half of the rate beside another website.
func TestWakesAreSharedByWebsite(t *testing.T) {
	t.Parallel()
	w := newWakes(50*time.Millisecond, none)
	for range 10 {
		for i := range 100 {
			w.reserve("web_1", app.SubscriptionID(fmt.Sprint("whk_", i)), eventAt, noLatest)
		}
	}
	w.reserve("web_2", "whk_other", eventAt, noLatest)
	if got := w.reserve("web_2", "whk_other", eventAt, noLatest).Sub(eventAt); got != 100*time.Millisecond {
		t.Errorf("the second workflow of the other website waits for %s, want 100ms", got)
	}
}

// No workflow wakes after its second attempt is due, however many leave. Those that do not fit into the time until then
// share its places.
func TestWakesDelayNoSecondAttempt(t *testing.T) {
	t.Parallel()
	w := newWakes(50*time.Millisecond, none)
	latest := eventAt.Add(time.Second)
	wakes := map[time.Time]int{}
	for range 63 {
		wakes[w.reserve("web_1", "whk_1", eventAt, latest)]++
	}
	for i := range 21 {
		if at := eventAt.Add(time.Duration(i) * 50 * time.Millisecond); wakes[at] != 3 {
			t.Errorf("workflows that wake at %s: got %d, want 3", at, wakes[at])
		}
	}
	if got := w.reserve("web_2", "whk_2", eventAt, eventAt.Add(-time.Second)); !got.Equal(eventAt) {
		t.Errorf("a second attempt that is due earlier: the workflow wakes at %s, want %s", got, eventAt)
	}
}

// Reservations that have passed are forgotten.
func TestWakesForgetThePast(t *testing.T) {
	t.Parallel()
	w := newWakes(50*time.Millisecond, none)
	w.reserve("web_1", "whk_1", eventAt, noLatest)
	w.reserve("web_2", "whk_2", eventAt.Add(time.Minute), noLatest)
	if len(w.next) != 1 {
		t.Errorf("reservations of %d websites, want 1", len(w.next))
	}
}

// The receivers of more webhooks than there are places until their second attempts are due begin to hang together.
// Their workflows are spread over that time, and another website does not wait for them.
func TestWakesOfManyWebhooksAreSpread(t *testing.T) {
	t.Parallel()
	const webhooks, each, seconds = 2_000, 2, 28
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // not a secret
	w := newWakes(50*time.Millisecond, func(limit time.Duration) time.Duration {
		return time.Duration(random.Int64N(int64(limit)))
	})
	latest := eventAt.Add(seconds * time.Second)
	wakes := map[int]int{}
	for range each {
		for i := range webhooks {
			at := w.reserve("web_1", app.SubscriptionID(fmt.Sprint("whk_", i)), eventAt, latest)
			if at.Before(eventAt) || at.After(latest) {
				t.Fatalf("a workflow wakes after %s", at.Sub(eventAt))
			}
			wakes[int(at.Sub(eventAt)/time.Second)]++
		}
	}
	const fair = webhooks * each / seconds
	for second := range seconds {
		if n := wakes[second]; n > 3*fair || n < fair/3 {
			t.Errorf("workflows that wake in second %d: got %d, want about %d", second, n, fair)
		}
	}
	if got := w.reserve("web_2", "whk_other", eventAt, latest).Sub(eventAt); got > 100*time.Millisecond {
		t.Errorf("the workflow of another website waits for %s, want at most 100ms", got)
	}
}
