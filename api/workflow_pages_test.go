package api

import (
	"testing"
	"time"

	"github.com/comanda-dev/comanda/app"
)

// A delivery links to its workflow as long as Temporal retains the workflow.
func TestWorkflowPages(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	now := time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC)
	ended := func(status app.DeliveryStatus, ago time.Duration) app.Delivery {
		at := app.At(now.Add(-ago))
		return app.Delivery{
			Status: status, EventID: "evt_1", SubscriptionID: "whk_1", WorkflowID: "delivery/evt_1/whk_1", EndedAt: &at,
		}
	}
	burst := ended(app.DeliveryDeadLetter, 2*day)
	burst.WorkflowID = "burst/bst_1"
	for name, test := range map[string]struct {
		delivery app.Delivery
		kept     time.Duration
		want     string
	}{
		"queued":            {app.Delivery{Status: app.DeliveryQueued}, day, ""},
		"in progress":       {app.Delivery{WorkflowID: "burst/bst_1"}, day, "ui/burst%2Fbst_1"},
		"kept":              {ended(app.DeliveryDelivered, day-1), day, "ui/delivery%2Fevt_1%2Fwhk_1"},
		"no longer kept":    {ended(app.DeliveryDelivered, 2*day), day, ""},
		"retention unknown": {ended(app.DeliveryDelivered, 2*day), 0, "ui/delivery%2Fevt_1%2Fwhk_1"},
		// The workflow of a dead letter waits for a replay; a burst does not.
		"dead letter":            {ended(app.DeliveryDeadLetter, 30*day), day, "ui/delivery%2Fevt_1%2Fwhk_1"},
		"expired dead letter":    {ended(app.DeliveryDeadLetter, 32*day), day, ""},
		"dead letter of a burst": {burst, day, ""},
	} {
		t.Run(name, func(t *testing.T) {
			pages := workflowPages{"ui/", func() time.Duration { return test.kept }, 30 * day}
			if got := pages.of(test.delivery, now); got != test.want {
				t.Errorf("page: got %q, want %q", got, test.want)
			}
			pages.prefix = ""
			if got := pages.of(test.delivery, now); got != "" {
				t.Errorf("page without a UI: got %q, want none", got)
			}
		})
	}
}
