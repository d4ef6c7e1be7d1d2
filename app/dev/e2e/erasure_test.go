package e2e

import (
	"testing"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/history/v1"

	"github.com/comanda-dev/comanda/api/client/comanda"
	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/workflows"
)

// TestErasureHistory erases a customer and replays the history. The workflow ends after a second pass, a minute later:
// only the recording waits for it.
func TestErasureHistory(t *testing.T) {
	t.Parallel()
	worker(t, nil)
	r := newRestaurant(t)
	order := r.order()
	r.changeStatus(order, comanda.OrderStatusCompleted)
	must(t, r.EraseCustomer(t.Context(), *order.Customer.ID, nil))
	id := workflows.JobWorkflowID(app.JobErasure, *order.Customer.ID)
	var events []*history.HistoryEvent
	eventually(t, "the first pass ends", func() error {
		events = historyNamed(t, id)
		return timerStarted(events)
	})
	if *record {
		time.Sleep(time.Minute)
		events = ended(t, id)
	}
	replay(t, "erasure_completed", events)
}

// timerStarted returns an error unless a timer of a history has started.
func timerStarted(events []*history.HistoryEvent) error {
	for _, event := range events {
		if event.EventType == enums.EVENT_TYPE_TIMER_STARTED {
			return nil
		}
	}
	return errNotYet
}
