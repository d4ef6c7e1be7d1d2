package workflows

import (
	"context"
	"fmt"
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.temporal.io/api/enums/v1"
	"go.temporal.io/api/operatorservice/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/api/workflowservice/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/grpc"
)

// namespace is a Temporal client with the search attributes of its namespace.
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
	all := maps.Clone(request.SearchAttributes)
	maps.Copy(all, n.known)
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
		if err := EnsureSearchAttributes(t.Context(), n, "default"); err != nil {
			t.Fatal(err)
		}
	}
	want := map[string]enums.IndexedValueType{
		"ComandaIds": enums.INDEXED_VALUE_TYPE_KEYWORD_LIST, "ComandaEventType": enums.INDEXED_VALUE_TYPE_KEYWORD,
		"ComandaDeliveryState": enums.INDEXED_VALUE_TYPE_KEYWORD, "ComandaStoreId": enums.INDEXED_VALUE_TYPE_KEYWORD,
	}
	if diff := cmp.Diff(want, n.known); diff != "" {
		t.Errorf("registered attributes (-want +got):\n%s", diff)
	}
	last := "ComandaIds = '' AND ComandaEventType = '' AND ComandaDeliveryState = '' AND ComandaStoreId = ''"
	if len(n.queries) != 2*3+1 || n.queries[len(n.queries)-1] != last {
		t.Errorf("queries %q, want %d, the last one %s", n.queries, 2*3+1, last)
	}
}

func TestSearchAttributeOfAnotherType(t *testing.T) {
	t.Parallel()
	n := &namespace{known: map[string]enums.IndexedValueType{"ComandaStoreId": enums.INDEXED_VALUE_TYPE_TEXT}}
	want := "the search attribute ComandaStoreId has type Text, want Keyword"
	if err := EnsureSearchAttributes(t.Context(), n, "default"); fmt.Sprint(err) != want {
		t.Errorf("another type: %v, want %s", err, want)
	}
}
