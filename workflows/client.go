package workflows

import (
	"context"
	"time"

	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
)

// Names used by operators and by open workflows. A name must not change while a workflow that uses it is open.
const (
	TaskQueue         = "deliveries"      // most workflows, attempts in the fast lane, tests
	SlowTaskQueue     = "deliveries-slow" // attempts in the slow lane
	BurstTaskQueue    = "bursts"
	JobTaskQueue      = "jobs"      // activities of jobs, records of cancellations
	MailTaskQueue     = "mails"     // activities of mails
	DeadlineTaskQueue = "deadlines" // workflows and short activities that a deadline depends on
	SignalReplay      = "replay"
	SignalTurn        = "turn" // a queued delivery whose workflow is open has been claimed
	UpdateRetry       = "retry"
	QueryState        = "state"

	workflowDelivery     = "Delivery"
	workflowBurst        = "Burst"
	activityDeliver      = "Deliver"
	activityDeliverBurst = "DeliverBurst"
	activityCancel       = "Cancel"
	activityBeginReplay  = "BeginReplay"

	activityTickWatchdog   = "TickWatchdog"
	activityContinueReplay = "ContinueReplay"
	activityCancelReplay   = "CancelReplay"
	activityErase          = "Erase"
)

// startTimeout is the timeout of one request to Temporal, and of one statement that records its result.
const startTimeout = 10 * time.Second

// Client starts, signals, cancels and looks up workflows.
type Client struct {
	temporal client.Client
	policy   Policy
	jobs     JobPolicy
}

// NewClient returns a client that starts deliveries and jobs with these policies.
func NewClient(temporal client.Client, policy Policy, jobs JobPolicy) *Client {
	return &Client{temporal, policy, jobs}
}

// Ready returns nil if Temporal is reachable.
func (c *Client) Ready(ctx context.Context) error {
	_, err := c.temporal.CheckHealth(ctx, &client.CheckHealthRequest{})
	return err
}

// NamespaceRetention returns the time for which a namespace retains closed workflows.
func (c *Client) NamespaceRetention(ctx context.Context, namespace string) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	described, err := c.temporal.WorkflowService().DescribeNamespace(ctx, &workflowservice.DescribeNamespaceRequest{
		Namespace: namespace,
	})
	return described.GetConfig().GetWorkflowExecutionRetentionTtl().AsDuration(), err
}
