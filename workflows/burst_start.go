package workflows

import (
	"context"
	"errors"
	"strconv"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"github.com/comanda-dev/comanda/activities"
	"github.com/comanda-dev/comanda/app"
)

// startBurst starts the workflow of a burst. A repeated call has no effect, because a relay that takes over a burst
// uses the same workflow id.
func (c *Client) startBurst(ctx context.Context, claims []app.Claim) error {
	in := BurstInput{ID: claims[0].BurstID, Deliveries: make([]activities.BurstDelivery, len(claims)), Policy: c.policy}
	for i, claim := range claims {
		in.Deliveries[i] = activities.BurstDelivery{
			DeliveryID: claim.ID, StoreID: claim.StoreID, Queue: claim.Queue, EventID: claim.EventID,
			EventType: claim.EventType, SubscriptionID: claim.SubscriptionID,
		}
	}
	options := client.StartWorkflowOptions{
		ID:                                       app.BurstWorkflowID(in.ID),
		TaskQueue:                                BurstTaskQueue,
		WorkflowTaskTimeout:                      workflowTaskTimeout,
		WorkflowIDReusePolicy:                    enums.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE,
		WorkflowExecutionErrorWhenAlreadyStarted: true,
		EnableEagerStart:                         true,
		StaticSummary:                            "first attempts of " + strconv.Itoa(len(claims)) + " deliveries",
		TypedSearchAttributes:                    temporal.NewSearchAttributes(idAttribute(claims...)),
	}
	_, err := c.temporal.ExecuteWorkflow(ctx, options, workflowBurst, in)
	if _, invalid := errors.AsType[*serviceerror.InvalidArgument](err); invalid {
		// The namespace has lost the search attributes. Start the burst without them.
		options.TypedSearchAttributes = temporal.SearchAttributes{}
		_, err = c.temporal.ExecuteWorkflow(ctx, options, workflowBurst, in)
	}
	if _, started := errors.AsType[*serviceerror.WorkflowExecutionAlreadyStarted](err); started {
		return nil
	}
	return err
}
