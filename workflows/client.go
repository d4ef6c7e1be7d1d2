package workflows

import (
	"context"
	"time"

	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
)

// Names that operators and running workflows know. None of them can change while a
// workflow that uses it is open.
const (
	TaskQueue     = "deliveries"      // workflows, the first attempts of the fast lane, and tests
	SlowTaskQueue = "deliveries-slow" // every other attempt
	// BurstTaskQueue has the bursts. Workers of the previous release do not poll it.
	BurstTaskQueue = "bursts"
	JobTaskQueue   = "jobs"  // the steps of jobs and the records of cancellations
	MailTaskQueue  = "mails" // what waits for the mail server
	SignalReplay   = "replay"
	QueryState     = "state"

	workflowDelivery     = "Delivery"
	workflowBurst        = "Burst"
	activityDeliver      = "Deliver"
	activityDeliverBurst = "DeliverBurst"
	activityCancel       = "Cancel"

	activityTickWatchdog   = "TickWatchdog"
	activityContinueReplay = "ContinueReplay"
	activityCancelReplay   = "CancelReplay"
	activityErase          = "Erase"
)

// Client starts workflows.
type Client struct {
	temporal client.Client
	policy   Policy
	jobs     JobPolicy
}

// NewClient makes a client whose deliveries and jobs follow these policies.
func NewClient(temporal client.Client, policy Policy, jobs JobPolicy) *Client {
	return &Client{temporal, policy, jobs}
}

// Ready reports whether Temporal answers.
func (c *Client) Ready(ctx context.Context) error {
	_, err := c.temporal.CheckHealth(ctx, &client.CheckHealthRequest{})
	return err
}

// NamespaceRetention returns how long a namespace keeps a closed workflow.
func (c *Client) NamespaceRetention(ctx context.Context, namespace string) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	described, err := c.temporal.WorkflowService().DescribeNamespace(ctx, &workflowservice.DescribeNamespaceRequest{
		Namespace: namespace,
	})
	return described.GetConfig().GetWorkflowExecutionRetentionTtl().AsDuration(), err
}
