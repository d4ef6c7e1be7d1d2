package api

import (
	"context"
	"encoding/json"
	"errors"
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
	events, err := s.db.EventBodies(ctx, c.principal.StoreID, in.EventIDs)
	if err != nil {
		return filterTest{}, err
	}
	compiled, err := filter.Compile(in.Filter)
	if err != nil {
		return filterTest{}, err
	}
	test, total := filterTest{Results: []filterResult{}}, uint64(0)
	for _, event := range events {
		result := filterResult{EventID: event.ID, Matches: true}
		switch {
		case event.Body == nil:
			result.Error = "the body of the event was erased"
		case total >= filterTestCost:
			result.Error = "the filter is too costly for more events of one test; test fewer events"
		default:
			var cost uint64
			result.Matches, cost, err = s.evaluateFilter(ctx, c.principal.WebsiteID, compiled, event)
			if total += cost; err != nil {
				result.Error = err.Error()
			}
		}
		test.Results = append(test.Results, result)
	}
	return test, ctx.Err()
}

// evaluateFilter evaluates a filter in a turn of a website, so that tests of filters use at most one processor.
func (s *Server) evaluateFilter(
	ctx context.Context, website app.WebsiteID, compiled *filter.Filter, event app.Event,
) (bool, uint64, error) {
	if err := s.filterTests.Take(ctx, string(website)); err != nil {
		return true, 0, err
	}
	began := time.Now()
	defer func() { s.filterTests.Give(string(website), time.Since(began)) }()
	data, err := filter.Data(event.Body)
	if err != nil {
		return true, 0, errors.New("the body of the event is not valid")
	}
	return compiled.Matches(ctx, string(event.Type), data)
}
