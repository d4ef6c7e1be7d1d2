package workflows

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"github.com/comanda-dev/comanda/app"
)

// Search attributes by which operators find workflows (docs/operating-webhooks.md#find-deliveries).
var (
	// attributeIDs holds the events, webhooks and stores of a delivery or a burst, and the store of a job. One list is
	// cheaper than several attributes: a visibility store in PostgreSQL has a GIN index for each list.
	attributeIDs       = temporal.NewSearchAttributeKeyKeywordList("ComandaIds")
	attributeEventType = temporal.NewSearchAttributeKeyKeyword("ComandaEventType")
	attributeState     = temporal.NewSearchAttributeKeyKeyword("ComandaDeliveryState")
	attributeStore     = temporal.NewSearchAttributeKeyKeyword("ComandaStoreId") // of jobs and mails

	searchAttributes = []temporal.SearchAttributeKey{attributeIDs, attributeEventType, attributeState, attributeStore}
)

// idAttribute returns the search attribute of the ids of claims.
func idAttribute(claims ...app.Claim) temporal.SearchAttributeUpdate {
	var all []string
	for _, claim := range claims {
		all = append(all, string(claim.EventID), string(claim.SubscriptionID), string(claim.StoreID))
	}
	slices.Sort(all)
	return attributeIDs.ValueSet(slices.Compact(all))
}

// EnsureSearchAttributes registers the missing search attributes and returns when all of them can be used. A worker
// must not poll before it returns: an unknown attribute fails the workflow task that sets it, and the repeated task
// repeats the attempt.
func EnsureSearchAttributes(ctx context.Context, temporal client.Client, namespace string) error {
	operator := temporal.OperatorService()
	list, err := operator.ListSearchAttributes(ctx, &operatorservice.ListSearchAttributesRequest{Namespace: namespace})
	if err != nil {
		return fmt.Errorf("cannot list the search attributes of namespace %q: %w", namespace, err)
	}
	missing, err := missingAttributes(list.CustomAttributes)
	if err != nil {
		return err
	}
	if len(missing) > 0 {
		request := &operatorservice.AddSearchAttributesRequest{Namespace: namespace, SearchAttributes: missing}
		_, err = operator.AddSearchAttributes(ctx, request)
		if _, exists := errors.AsType[*serviceerror.AlreadyExists](err); err != nil && !exists {
			return fmt.Errorf("cannot add search attributes to namespace %q: %w", namespace, err)
		}
	}
	return awaitAttributes(ctx, temporal, namespace)
}

func missingAttributes(known map[string]enums.IndexedValueType) (map[string]enums.IndexedValueType, error) {
	missing := map[string]enums.IndexedValueType{}
	for _, key := range searchAttributes {
		want := key.GetValueType()
		switch t, ok := known[key.GetName()]; {
		case !ok:
			missing[key.GetName()] = want
		case t != want:
			return nil, fmt.Errorf("the search attribute %s has type %s, want %s", key.GetName(), t, want)
		}
	}
	return missing, nil
}

// awaitAttributes waits until queries can use the attributes, about a second after their registration. Several
// consecutive queries must succeed, because each may reach another frontend of the server.
func awaitAttributes(ctx context.Context, temporal client.Client, namespace string) error {
	conditions := make([]string, len(searchAttributes))
	for i, key := range searchAttributes {
		conditions[i] = key.GetName() + " = ''"
	}
	const enough = 3
	request := &workflowservice.CountWorkflowExecutionsRequest{
		Namespace: namespace, Query: strings.Join(conditions, " AND "),
	}
	for succeeded := 0; succeeded < enough; {
		_, err := temporal.CountWorkflow(ctx, request)
		if _, unknown := errors.AsType[*serviceerror.InvalidArgument](err); err != nil && !unknown {
			return fmt.Errorf("cannot query by search attributes: %w", err)
		}
		if err == nil {
			succeeded++
			continue
		}
		succeeded = 0
		select {
		case <-ctx.Done():
			return fmt.Errorf("the search attributes cannot be used yet: %w", ctx.Err())
		case <-time.After(100 * time.Millisecond):
		}
	}
	return nil
}
