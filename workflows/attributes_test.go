package workflows

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/grpc"
)

// namespace is a Temporal client whose namespace has room for three search attributes of type KeywordList, like a SQL
// visibility store.
type namespace struct {
	client.Client
	operatorservice.OperatorServiceClient

	known   map[string]enums.IndexedValueType
	queries []string
}

func (n *namespace) OperatorService() operatorservice.OperatorServiceClient { return n }

func (n *namespace) ListSearchAttributes(
	context.Context, *operatorservice.ListSearchAttributesRequest, ...grpc.CallOption,
) (*operatorservice.ListSearchAttributesResponse, error) {
	return &operatorservice.ListSearchAttributesResponse{CustomAttributes: n.known}, nil
}

func (n *namespace) AddSearchAttributes(
	_ context.Context, request *operatorservice.AddSearchAttributesRequest, _ ...grpc.CallOption,
) (*operatorservice.AddSearchAttributesResponse, error) {
	lists, all := 0, map[string]enums.IndexedValueType{}
	for _, each := range []map[string]enums.IndexedValueType{n.known, request.SearchAttributes} {
		for name, t := range each {
			all[name] = t
			if t == enums.INDEXED_VALUE_TYPE_KEYWORD_LIST {
				lists++
			}
		}
	}
	if lists > 3 {
		return nil, serviceerror.NewInvalidArgument("cannot have more than 3 search attribute of type KeywordList.")
	}
	n.known = all
	return nil, nil
}

func (n *namespace) CountWorkflow(
	_ context.Context, request *workflowservice.CountWorkflowExecutionsRequest,
) (*workflowservice.CountWorkflowExecutionsResponse, error) {
	n.queries = append(n.queries, request.Query)
	if len(n.queries) == 1 {
		return nil, serviceerror.NewInvalidArgument("not mapped yet")
	}
	return nil, nil
}

func TestEnsureSearchAttributes(t *testing.T) {
	t.Parallel()
	n := &namespace{}
	for range 2 { // one for each of two workers
		if err := errors.Join(
			EnsureSearchAttributes(t.Context(), n, "default"), EnsureBurstAttributes(t.Context(), n, "default"),
		); err != nil {
			t.Fatal(err)
		}
	}
	want := map[string]enums.IndexedValueType{
		"ComandaStoreId": enums.INDEXED_VALUE_TYPE_KEYWORD, "ComandaSubscriptionId": enums.INDEXED_VALUE_TYPE_KEYWORD,
		"ComandaEventType": enums.INDEXED_VALUE_TYPE_KEYWORD, "ComandaDeliveryState": enums.INDEXED_VALUE_TYPE_KEYWORD,
		"ComandaEventIds":        enums.INDEXED_VALUE_TYPE_KEYWORD_LIST,
		"ComandaSubscriptionIds": enums.INDEXED_VALUE_TYPE_KEYWORD_LIST,
		"ComandaStoreIds":        enums.INDEXED_VALUE_TYPE_KEYWORD_LIST,
	}
	if diff := cmp.Diff(want, n.known); diff != "" {
		t.Errorf("registered attributes (-want +got):\n%s", diff)
	}
	last := "ComandaEventIds = '' AND ComandaSubscriptionIds = '' AND ComandaStoreIds = ''"
	if len(n.queries) != 4*3+1 || n.queries[len(n.queries)-1] != last {
		t.Errorf("queries %q, want %d, the last one %s", n.queries, 4*3+1, last)
	}
}

// If the namespace has no room for the attributes of bursts, or has one with another type, bursts are impossible. The
// attributes of deliveries must have the right types.
func TestEnsureAttributesWithoutRoom(t *testing.T) {
	t.Parallel()
	for name, known := range map[string]map[string]enums.IndexedValueType{
		"one list is taken": {"Colours": enums.INDEXED_VALUE_TYPE_KEYWORD_LIST},
		"another type":      {"ComandaStoreIds": enums.INDEXED_VALUE_TYPE_KEYWORD},
	} {
		t.Run(name, func(t *testing.T) {
			n := &namespace{known: known}
			err := EnsureSearchAttributes(t.Context(), n, "default")
			noBursts := EnsureBurstAttributes(t.Context(), n, "default")
			if err != nil || !errors.Is(noBursts, ErrNoBursts) {
				t.Errorf("%s: deliveries %v, bursts %v, want no error and %v", name, err, noBursts, ErrNoBursts)
			}
			if len(n.known) != len(known)+4 {
				t.Errorf("%s: registered %v, want 4 new attributes", name, n.known)
			}
		})
	}
	n := &namespace{known: map[string]enums.IndexedValueType{"ComandaStoreId": enums.INDEXED_VALUE_TYPE_TEXT}}
	want := "a search attribute has another type: ComandaStoreId has type Text, want Keyword"
	if err := EnsureSearchAttributes(t.Context(), n, "default"); fmt.Sprint(err) != want {
		t.Errorf("another type: %v, want %s", err, want)
	}
}
