package workflows

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"github.com/comanda-dev/comanda/app"
)

// workflowTaskTimeout bounds how long a first attempt waits after the death of its worker.
// Longer attempts renew it with heartbeats.
const workflowTaskTimeout = 10 * time.Second

// StartClaims starts the workflows of claims that a relay hands over together: one workflow for
// the claims of a burst, and one for each other claim. After an error it can be called again for
// all of them.
func (c *Client) StartClaims(ctx context.Context, claims []app.Claim) error {
	if claims[0].BurstID != "" {
		return c.startBurst(ctx, claims)
	}
	for _, claim := range claims {
		if err := c.StartDelivery(ctx, claim); err != nil {
			return err
		}
	}
	return nil
}

// StartDelivery starts the workflow of a claimed delivery. A repeated call has no further
// effect: a first start uses its workflow id once, a replay names the attempt with which it
// begins, and a repair uses a workflow that is open.
func (c *Client) StartDelivery(ctx context.Context, claim app.Claim) error {
	options := deliveryOptions(claim)
	switch {
	case claim.Repair:
		return c.startAgain(ctx, claim, enums.WORKFLOW_ID_CONFLICT_POLICY_USE_EXISTING)
	case claim.Replay:
		options.WorkflowIDReusePolicy = enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE
		signal := ReplaySignal{Attempt: claim.Attempts + 1}
		_, err := c.temporal.SignalWithStartWorkflow(
			ctx, options.ID, SignalReplay, signal, options, workflowDelivery, c.deliveryInput(claim))
		return err
	}
	if claim.NextRetryAt != nil {
		options.StartDelay = max(0, time.Until(*claim.NextRetryAt))
	}
	options.EnableEagerStart = claim.Quick && options.StartDelay == 0
	options.WorkflowIDReusePolicy = enums.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE
	options.WorkflowExecutionErrorWhenAlreadyStarted = true
	_, err := c.temporal.ExecuteWorkflow(ctx, options, workflowDelivery, c.deliveryInput(claim))
	if _, started := errors.AsType[*serviceerror.WorkflowExecutionAlreadyStarted](err); started {
		return nil
	}
	return err
}

// RestartDelivery starts the workflow of a delivery whose open workflow is stuck, and
// terminates that one. Attempts that are recorded are not repeated.
func (c *Client) RestartDelivery(ctx context.Context, claim app.Claim) error {
	return c.startAgain(ctx, claim, enums.WORKFLOW_ID_CONFLICT_POLICY_TERMINATE_EXISTING)
}

func (c *Client) startAgain(ctx context.Context, claim app.Claim, conflict enums.WorkflowIdConflictPolicy) error {
	options := deliveryOptions(claim)
	options.WorkflowIDReusePolicy = enums.WORKFLOW_ID_REUSE_POLICY_ALLOW_DUPLICATE
	options.WorkflowIDConflictPolicy = conflict
	_, err := c.temporal.ExecuteWorkflow(ctx, options, workflowDelivery, c.deliveryInput(claim))
	return err
}

// deliveryInput is the input of a claimed delivery's workflow. The first attempt of a replay
// takes the slow lane, because the delivery may have failed before.
func (c *Client) deliveryInput(claim app.Claim) DeliveryInput {
	in := DeliveryInput{
		DeliveryID: claim.ID, StoreID: claim.StoreID, EventID: claim.EventID, EventType: claim.EventType,
		SubscriptionID: claim.SubscriptionID, Attempts: claim.Attempts, Quick: claim.Quick && !claim.Replay, Policy: c.policy,
		Version: deliveryVersion, Queue: claim.Queue, Place: claim.Place, NextAttempt: claim.NextRetryAt,
	}
	if claim.Place > 0 {
		in.Shown = app.DeliveryRetrying
	}
	return in
}

// deliveryOptions are the options that all starts of a delivery's workflow share. A start in
// the middle of the schedule shows its state to operators before its first workflow task.
func deliveryOptions(claim app.Claim) client.StartWorkflowOptions {
	attributes := []temporal.SearchAttributeUpdate{
		attributeStore.ValueSet(string(claim.StoreID)),
		attributeSubscription.ValueSet(string(claim.SubscriptionID)),
		attributeEventType.ValueSet(string(claim.EventType)),
	}
	var details string
	if claim.Place > 0 {
		attributes = append(attributes, attributeState.ValueSet(string(app.DeliveryRetrying)))
		details = fmt.Sprintf("started after attempt %d of the schedule", claim.Place)
	}
	return client.StartWorkflowOptions{
		ID:                    app.DeliveryWorkflowID(claim.EventID, claim.SubscriptionID),
		TaskQueue:             TaskQueue,
		WorkflowTaskTimeout:   workflowTaskTimeout,
		StaticSummary:         fmt.Sprintf("%s for %s", claim.EventType, claim.SubscriptionID),
		StaticDetails:         details,
		TypedSearchAttributes: temporal.NewSearchAttributes(attributes...),
	}
}
