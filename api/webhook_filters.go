package api

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/app/filter"
)

var testWebhookFilter = handle("testWebhookFilter", (*Server).testWebhookFilter, app.CodeNotFound)

// filterTestCost is the cost after which a test of a filter evaluates no more events.
const filterTestCost = filter.MaxCost

// filterChecker checks filters against the published schemas of the event types.
var filterChecker = sync.OnceValues(func() (*filter.Checker, error) {
	all, err := allEventTypes()
	if err != nil {
		return nil, err
	}
	var schemas []json.RawMessage
	for _, entry := range all {
		if entry.Subscribable {
			schemas = append(schemas, json.RawMessage(entry.Schema))
		}
	}
	return filter.NewChecker(schemas...)
})

// checkFilter returns an error with its position if an expression is not a filter.
func checkFilter(expression string) []app.Detail {
	checker, err := filterChecker()
	if err == nil {
		err = checker.Check(expression)
	}
	if err != nil {
		return []app.Detail{{Path: "filter", Message: err.Error()}}
	}
	return nil
}

type testWebhookFilterIn struct {
	Filter   string        `json:"filter" validate:"required,webhookfilter"`
	EventIDs []app.EventID `json:"eventIds" validate:"required,min=1,max=50,unique,dive,id"`
}

func (in testWebhookFilterIn) check() []app.Detail { return checkFilter(in.Filter) }

// filterTest is the result of a filter for events.
type filterTest struct {
	Results []filterResult `json:"results"`
}

type filterResult struct {
	EventID app.EventID `json:"eventId"`
	Matches bool        `json:"matches"`
	Error   string      `json:"error,omitempty"`
}

func (s *Server) testWebhookFilter(ctx context.Context, c *call, in testWebhookFilterIn) (filterTest, error) {
	types, err := s.db.EventTypes(ctx, c.principal.StoreID, in.EventIDs)
	if err != nil {
		return filterTest{}, err
	}
	compiled, err := filter.Compile(in.Filter)
	if err != nil {
		return filterTest{}, err
	}
	test, total := filterTest{Results: []filterResult{}}, uint64(0)
	for i, id := range in.EventIDs {
		result := filterResult{
			EventID: id, Matches: true, Error: "the filter is too costly for more events of one test; test fewer events",
		}
		if total < filterTestCost {
			var cost uint64
			if result, cost, err = s.evaluateFilter(ctx, c.principal, compiled, id, types[i]); err != nil {
				return filterTest{}, err
			}
			total += cost
		}
		test.Results = append(test.Results, result)
	}
	return test, ctx.Err()
}

// evaluateFilter evaluates a filter for an event in a turn of a website, so that tests of filters use at most one
// processor and hold one body. It also returns the cost.
func (s *Server) evaluateFilter(
	ctx context.Context, by app.Principal, compiled *filter.Filter, id app.EventID, kind app.EventType,
) (result filterResult, cost uint64, err error) {
	result = filterResult{EventID: id, Matches: true}
	if err := s.filterTests.Take(ctx, string(by.WebsiteID)); err != nil {
		return result, 0, err
	}
	began := time.Now()
	defer func() { s.filterTests.Give(string(by.WebsiteID), time.Since(began)) }()
	body, err := s.db.EventBody(ctx, by.StoreID, id)
	began = time.Now() // the wait for the database uses no processor
	if err != nil {
		return result, 0, err
	}
	if body == nil {
		result.Error = "the body of the event was erased"
		return result, 0, nil
	}
	data, fault := filter.Data(body)
	if fault != nil {
		result.Error = "the body of the event is not valid"
		return result, 0, nil
	}
	if result.Matches, cost, fault = compiled.Matches(ctx, string(kind), data); fault != nil {
		result.Error = fault.Error()
	}
	return result, cost, nil
}
