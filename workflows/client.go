package workflows

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
)

// Names that operators and running workflows know. None of them can change while a
// workflow that uses it is open.
const (
	TaskQueue     = "deliveries"      // workflows, the first attempts of the fast lane, and tests
	SlowTaskQueue = "deliveries-slow" // every other attempt
	JobTaskQueue  = "jobs"            // the steps of jobs and the records of cancellations
	MailTaskQueue = "mails"           // what waits for the mail server
	SignalReplay  = "replay"
	QueryState    = "state"

	workflowDelivery = "Delivery"
	activityDeliver  = "Deliver"
	activityCancel   = "Cancel"

	activityTickWatchdog   = "TickWatchdog"
	activityContinueReplay = "ContinueReplay"
	activityCancelReplay   = "CancelReplay"
	activityErase          = "Erase"
)

// Search attributes by which operators find deliveries (contract §4, Operators).
var (
	attributeStore        = temporal.NewSearchAttributeKeyKeyword("ComandaStoreId")
	attributeSubscription = temporal.NewSearchAttributeKeyKeyword("ComandaSubscriptionId")
	attributeEventType    = temporal.NewSearchAttributeKeyKeyword("ComandaEventType")
	attributeState        = temporal.NewSearchAttributeKeyKeyword("ComandaDeliveryState")
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

// EnsureSearchAttributes registers the search attributes that are missing and returns
// once all of them can be used. A worker must not poll before: an unknown attribute fails
// the workflow task that sets it, and with it repeats the attempt.
func EnsureSearchAttributes(ctx context.Context, temporal client.Client, namespace string) error {
	operator := temporal.OperatorService()
	list, err := operator.ListSearchAttributes(ctx, &operatorservice.ListSearchAttributesRequest{Namespace: namespace})
	if err != nil {
		return fmt.Errorf("list the search attributes of namespace %q: %w", namespace, err)
	}
	missing, err := missingAttributes(list.CustomAttributes)
	if err != nil {
		return err
	}
	if len(missing) > 0 {
		request := &operatorservice.AddSearchAttributesRequest{Namespace: namespace, SearchAttributes: missing}
		_, err = operator.AddSearchAttributes(ctx, request)
		if _, exists := errors.AsType[*serviceerror.AlreadyExists](err); err != nil && !exists {
			return fmt.Errorf("add search attributes to namespace %q: %w", namespace, err)
		}
	}
	return awaitAttributes(ctx, temporal, namespace)
}

// awaitAttributes waits until a query may name the attributes: a server that has been told
// of them takes about a second to map them. It asks as often as a query must succeed for
// each of several frontends to have answered one.
func awaitAttributes(ctx context.Context, temporal client.Client, namespace string) error {
	query := fmt.Sprintf("%s = '' AND %s = '' AND %s = '' AND %s = ''",
		attributeStore.GetName(), attributeSubscription.GetName(), attributeEventType.GetName(), attributeState.GetName())
	const enough = 3
	request := &workflowservice.CountWorkflowExecutionsRequest{Namespace: namespace, Query: query}
	for succeeded := 0; succeeded < enough; {
		_, err := temporal.CountWorkflow(ctx, request)
		if _, unknown := errors.AsType[*serviceerror.InvalidArgument](err); err != nil && !unknown {
			return fmt.Errorf("query by search attributes: %w", err)
		}
		if err == nil {
			succeeded++
			continue
		}
		succeeded = 0
		select {
		case <-ctx.Done():
			return fmt.Errorf("the search attributes cannot be used yet: %w", err)
		case <-time.After(100 * time.Millisecond):
		}
	}
	return nil
}

func missingAttributes(known map[string]enums.IndexedValueType) (map[string]enums.IndexedValueType, error) {
	missing := map[string]enums.IndexedValueType{}
	keys := []temporal.SearchAttributeKey{attributeStore, attributeSubscription, attributeEventType, attributeState}
	for _, key := range keys {
		switch t, ok := known[key.GetName()]; {
		case !ok:
			missing[key.GetName()] = enums.INDEXED_VALUE_TYPE_KEYWORD
		case t != enums.INDEXED_VALUE_TYPE_KEYWORD:
			return nil, fmt.Errorf("the search attribute %s is a %s, not a Keyword", key.GetName(), t)
		}
	}
	return missing, nil
}
