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

// workflowTaskTimeout is the time after which another worker repeats a first attempt whose worker died. Heartbeats
// extend it during longer attempts.
const workflowTaskTimeout = 10 * time.Second

// StartClaims starts the workflows of claims: one workflow for the claims of a burst, and one for each other claim. It
// is idempotent: after an error, it can be called again with the same claims.
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

// StartDelivery starts the workflow of a claimed delivery. It is idempotent: a first start rejects a duplicate workflow
// id, a replay's signal contains the number of its first attempt, and a repair keeps an open workflow.
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
	// The workflow itself waits for its next attempt. A start delay would save a workflow task, but if an update, such as
	// a retry, arrives during the delay and its workflow task is lost, the server never makes another one.
	options.EnableEagerStart = claim.Quick && claim.NextRetryAt == nil
	options.WorkflowIDReusePolicy = enums.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE
	options.WorkflowExecutionErrorWhenAlreadyStarted = true
	_, err := c.temporal.ExecuteWorkflow(ctx, options, workflowDelivery, c.deliveryInput(claim))
	if _, started := errors.AsType[*serviceerror.WorkflowExecutionAlreadyStarted](err); started {
		return c.passTurn(ctx, claim)
	}
	return err
}

// passTurn ends the wait of a workflow whose delivery had been queued again, and was claimed now. That can be its first
// claim: a restored database lacks earlier ones.
func (c *Client) passTurn(ctx context.Context, claim app.Claim) error {
	id := app.DeliveryWorkflowID(claim.EventID, claim.SubscriptionID)
	err := c.temporal.SignalWorkflow(ctx, id, "", SignalTurn, nil)
	if _, closed := errors.AsType[*serviceerror.NotFound](err); closed {
		return nil
	}
	return err
}

// RestartDelivery terminates the stuck workflow of a delivery and starts a new one. Recorded attempts are not repeated.
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

// deliveryInput returns the input of a claimed delivery's workflow. The first attempt of a replay uses the slow lane,
// because the delivery may have failed before.
func (c *Client) deliveryInput(claim app.Claim) DeliveryInput {
	in := DeliveryInput{
		DeliveryID: claim.ID, StoreID: claim.StoreID, EventID: claim.EventID, EventType: claim.EventType,
		SubscriptionID: claim.SubscriptionID, Attempts: claim.Attempts, Quick: claim.Quick && !claim.Replay,
		Policy: c.policy, Version: deliveryVersion, Queue: claim.Queue, Place: claim.Place,
		NextAttempt: claim.NextRetryAt,
	}
	if claim.Place > 0 {
		in.Shown = app.DeliveryRetrying
	}
	return in
}

// deliveryOptions returns the options common to all starts of a delivery's workflow. If the workflow starts in the
// middle of the schedule, they include its state, so that operators see it before the first workflow task. The fairness
// key (at most 64 bytes) lets a server that supports fairness alternate between websites while workflows wait for a
// worker.
func deliveryOptions(claim app.Claim) client.StartWorkflowOptions {
	attributes := []temporal.SearchAttributeUpdate{
		idAttribute(claim), attributeEventType.ValueSet(string(claim.EventType)),
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
		Priority:              temporal.Priority{FairnessKey: claim.Queue},
		TypedSearchAttributes: temporal.NewSearchAttributes(attributes...),
	}
}
