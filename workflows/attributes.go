package workflows

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"
)

// Search attributes by which operators find deliveries (docs/behaviour.md#search-attributes).
var (
	attributeStore        = temporal.NewSearchAttributeKeyKeyword("ComandaStoreId")
	attributeSubscription = temporal.NewSearchAttributeKeyKeyword("ComandaSubscriptionId")
	attributeEventType    = temporal.NewSearchAttributeKeyKeyword("ComandaEventType")
	attributeState        = temporal.NewSearchAttributeKeyKeyword("ComandaDeliveryState")
)

// Search attributes by which operators find the burst of a delivery (docs/behaviour.md#bursts).
var (
	attributeEvents        = temporal.NewSearchAttributeKeyKeywordList("ComandaEventIds")
	attributeSubscriptions = temporal.NewSearchAttributeKeyKeywordList("ComandaSubscriptionIds")
	attributeStores        = temporal.NewSearchAttributeKeyKeywordList("ComandaStoreIds")
)

// ErrNoBursts is the error of a namespace that cannot have the search attributes of bursts.
var ErrNoBursts = errors.New("the search attributes of bursts cannot be registered")

// EnsureSearchAttributes registers the missing search attributes of deliveries and returns when all of them can be
// used. A worker must not poll before it returns: an unknown attribute fails the workflow task that sets it, and the
// repeated task repeats the attempt.
func EnsureSearchAttributes(ctx context.Context, temporal client.Client, namespace string) error {
	return ensureAttributes(ctx, temporal, namespace,
		attributeStore, attributeSubscription, attributeEventType, attributeState)
}

// EnsureBurstAttributes registers the missing search attributes of bursts and returns when all of them can be used. It
// returns [ErrNoBursts] if the namespace has no room for them: a SQL visibility store supports three attributes of type
// KeywordList.
func EnsureBurstAttributes(ctx context.Context, temporal client.Client, namespace string) error {
	err := ensureAttributes(ctx, temporal, namespace, attributeEvents, attributeSubscriptions, attributeStores)
	_, full := errors.AsType[*serviceerror.InvalidArgument](err)
	if full || errors.Is(err, errOtherType) {
		return fmt.Errorf("%w: %w", ErrNoBursts, err)
	}
	return err
}

func ensureAttributes(
	ctx context.Context, temporal client.Client, namespace string, keys ...temporal.SearchAttributeKey,
) error {
	operator := temporal.OperatorService()
	list, err := operator.ListSearchAttributes(ctx, &operatorservice.ListSearchAttributesRequest{Namespace: namespace})
	if err != nil {
		return fmt.Errorf("cannot list the search attributes of namespace %q: %w", namespace, err)
	}
	missing, err := missingAttributes(list.CustomAttributes, keys)
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
	return awaitAttributes(ctx, temporal, namespace, keys)
}

// errOtherType is the error of a search attribute that is registered with another type.
var errOtherType = errors.New("a search attribute has another type")

func missingAttributes(
	known map[string]enums.IndexedValueType, keys []temporal.SearchAttributeKey,
) (map[string]enums.IndexedValueType, error) {
	missing := map[string]enums.IndexedValueType{}
	for _, key := range keys {
		want := key.GetValueType()
		switch t, ok := known[key.GetName()]; {
		case !ok:
			missing[key.GetName()] = want
		case t != want:
			return nil, fmt.Errorf("%w: %s has type %s, want %s", errOtherType, key.GetName(), t, want)
		}
	}
	return missing, nil
}

// awaitAttributes waits until queries can use the attributes, about a second after their registration. Several
// consecutive queries must succeed, because each may reach another frontend of the server.
func awaitAttributes(
	ctx context.Context, temporal client.Client, namespace string, keys []temporal.SearchAttributeKey,
) error {
	conditions := make([]string, len(keys))
	for i, key := range keys {
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
