package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/converter"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence"
)

// list reads the events of all stores in the order of their positions, in pages as a client of the API reads them.
func (s *state) list(ctx context.Context, db *persistence.DB) error {
	page := app.PageLimit{Rows: 200, Bytes: app.MaxEvent}
	s.Listed = map[string][]string{}
	for store := range s.Stores {
		for after := int64(0); ; {
			events, more, err := db.Events(ctx, app.StoreID(store), app.EventFilter{}, true, after, page)
			if err != nil {
				return fmt.Errorf("list events: %w", err)
			}
			for _, e := range events {
				s.Listed[store] = append(s.Listed[store], string(e.ID))
			}
			if !more {
				break
			}
			after = events[len(events)-1].Position
		}
	}
	return nil
}

// Visibility follows the workflows. A workflow that should have ended is looked up again for some time.
const (
	visible      = 30 * time.Second
	visiblePause = time.Second
)

// openWorkflows returns the states of the open workflows of deliveries, bursts and bulk replays. It waits until they
// fit the deliveries, at most for some time.
func openWorkflows(ctx context.Context, temporal client.Client, h *history, s *state) (map[string]string, error) {
	for deadline := time.Now().Add(visible); ; {
		open, err := listWorkflows(ctx, temporal)
		if err != nil || time.Now().After(deadline) {
			return open, err
		}
		s.Workflows = open
		if len(checkWorkflows(h, s)) == 0 {
			return open, nil
		}
		if err := wait(ctx, visiblePause); err != nil {
			return nil, err
		}
	}
}

// listWorkflows returns the value of ComandaDeliveryState of each open workflow, "open" if it has none.
func listWorkflows(ctx context.Context, temporal client.Client) (map[string]string, error) {
	open := map[string]string{}
	request := &workflowservice.ListWorkflowExecutionsRequest{
		PageSize: 1000, Query: fmt.Sprintf(
			"ExecutionStatus = 'Running' AND WorkflowType IN ('Delivery', 'Burst', '%s')", app.JobReplay),
	}
	for {
		response, err := temporal.ListWorkflow(ctx, request)
		if err != nil {
			return nil, fmt.Errorf("list workflows: %w", err)
		}
		for _, one := range response.Executions {
			if one.Status != enums.WORKFLOW_EXECUTION_STATUS_RUNNING {
				continue
			}
			shown := "open"
			if value, ok := one.SearchAttributes.GetIndexedFields()["ComandaDeliveryState"]; ok {
				if err := converter.GetDefaultDataConverter().FromPayload(value, &shown); err != nil {
					return nil, err
				}
			}
			open[one.Execution.WorkflowId] = shown
		}
		if request.NextPageToken = response.NextPageToken; len(request.NextPageToken) == 0 {
			return open, nil
		}
	}
}

// checkWorkflows compares the recorded states with the workflows (docs/behaviour.md#deliveries,
// docs/behaviour.md#dead-letters-and-replays): a delivery that is delivered or cancelled has no open workflow, and a
// dead letter after its last retry has one that waits for a replay. Bulk replays have ended. A restored database can
// lack that a delivery became a dead letter; its workflow then waits, although the delivery is made again.
func checkWorkflows(h *history, s *state) (found []violation) {
	known := map[string]bool{}
	lossAfter := func(at time.Time) bool {
		return slices.ContainsFunc(s.Losses, func(l loss) bool { return l.Comanda && at.Before(l.End) })
	}
	for _, d := range s.Deliveries {
		id := app.DeliveryWorkflowID(app.EventID(d.Event), app.SubscriptionID(d.Webhook))
		known[id] = true
		shown, open := s.Workflows[id]
		attempted := d.Attempts > d.ScheduleBase
		lost := d.EndedAt != nil && (s.lostWorkflow(s.began(d)) || s.lostDeletion(h, d.Webhook, *d.EndedAt))
		switch {
		case d.Status == "dead_letter" && !open && lost: // a replay starts a new one
		case d.Status == "dead_letter" && !open && attempted && d.Reason != app.ReasonInactive:
			found = append(found, ofDelivery(d, "the dead letter has no open workflow"))
		case d.Status == "dead_letter" && open && shown != "dead_letter":
			found = append(found, ofDelivery(d, "the workflow of the dead letter is %s", shown))
		case d.Status == "delivered" && shown == "dead_letter" && lossAfter(d.CreatedAt):
		case (d.Status == "delivered" || d.Status == "cancelled") && open:
			found = append(found, ofDelivery(d, "the delivery is %s, its workflow is %s", d.Status, shown))
		case !d.ended() && d.Status != "queued" && !open:
			found = append(found, ofDelivery(d, "the delivery is %s without an open workflow", d.Status))
		}
	}
	for id, shown := range s.Workflows {
		if waits := shown == "dead_letter" && lossAfter(h.Begin); !known[id] && !waits {
			found = append(found, violation{Text: "the open workflow " + id + " has nothing to do"})
		}
	}
	slices.SortFunc(found, func(a, b violation) int { return strings.Compare(a.Text+a.Event, b.Text+b.Event) })
	return found
}
