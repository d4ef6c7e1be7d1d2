package activities

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/app"
)

// ledger is a TeardownStore, together with the workflows of its deliveries.
type ledger struct {
	queued    int
	open      []app.OpenDelivery
	workflows map[app.DeliveryID]int // number of cancellation requests
	ended     []app.DeliveryID
	away      int // number of cancellation requests that fail
}

func (l *ledger) CancelQueued(_ context.Context, _ time.Time, _ app.StoreID, _ app.SubscriptionID, limit int) (
	int, error,
) {
	n := min(limit, l.queued)
	l.queued -= n
	return n, nil
}

func (l *ledger) OpenDeliveries(
	_ context.Context, _ app.StoreID, _ app.SubscriptionID, after app.DeliveryID, limit int,
) (open []app.OpenDelivery, _ error) {
	for _, one := range l.open {
		if one.ID > after && len(open) < limit {
			open = append(open, one)
		}
	}
	return open, nil
}

func (l *ledger) EndDelivery(
	_ context.Context, _ time.Time, id app.DeliveryID, status app.DeliveryStatus, reason string,
) error {
	if status != app.DeliveryCancelled || reason != app.ReasonDeleted {
		return fmt.Errorf("%s: %s", status, reason)
	}
	l.ended = append(l.ended, id)
	return nil
}

func (l *ledger) cancel(_ context.Context, one app.OpenDelivery, _ app.SubscriptionID) (bool, error) {
	if l.away > 0 {
		l.away--
		return false, errors.New("Temporal is away")
	}
	if _, found := l.workflows[one.ID]; !found {
		return false, nil
	}
	l.workflows[one.ID]++
	return true, nil
}

// A batch cancels deliveries through their workflows, and ends idle ones and those without a workflow directly.
// A failed batch can be repeated.
func TestCancelBatch(t *testing.T) {
	t.Parallel()
	l := &ledger{queued: 2500, workflows: map[app.DeliveryID]int{}, away: 1}
	for i := range 150 {
		one := app.OpenDelivery{ID: app.DeliveryID(fmt.Sprintf("dlv_%03d", i)), Idle: i%3 == 2}
		l.open = append(l.open, one)
		if i%3 > 0 {
			l.workflows[one.ID] = 0
		}
	}
	teardown := NewTeardown(l, l.cancel, time.Now)
	pauses, heartbeats := 0, 0
	teardown.pause = func(context.Context) { pauses++ }
	alive := func() { heartbeats++ }
	if _, err := teardown.CancelBatch(t.Context(), TeardownInput{}, alive); err == nil {
		t.Error("CancelBatch without Temporal succeeded, want an error")
	}
	var got []TeardownResult
	for in := (TeardownInput{}); ; {
		result, err := teardown.CancelBatch(t.Context(), in, alive)
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, result)
		if in.After = result.Last; !result.More {
			break
		}
	}
	want := []TeardownResult{{1100, "dlv_099", true}, {550, "dlv_149", false}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("results (-want +got):\n%s", diff)
	}
	for id, times := range l.workflows {
		if times != 1 {
			t.Errorf("%d cancellation requests for %s, want 1", times, id)

		}
	}
	if len(l.ended) != 100 || l.queued != 0 || pauses != 150 || heartbeats != 151 {
		t.Errorf("%d ended directly, %d still queued, %d pauses, %d heartbeats",
			len(l.ended), l.queued, pauses, heartbeats)
	}
}
