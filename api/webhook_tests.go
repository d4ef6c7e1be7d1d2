package api

import (
	"context"
	"errors"

	"github.com/comanda-dev/comanda/app"
)

var testWebhook = handle("testWebhook", (*Server).testWebhook)

// Tester sends a test.ping to a webhook and returns the result. It returns UNAVAILABLE if Temporal cannot be
// reached, NOT_FOUND if the webhook does not exist.
type Tester interface {
	TestSubscription(ctx context.Context, test app.WebhookTest) (app.WebhookTestResult, error)
}

// testWebhook has a worker send the test: API processes do not connect to receivers.
func (s *Server) testWebhook(ctx context.Context, c *call, in webhookIn) (app.WebhookTestResult, error) {
	if _, err := s.db.Subscription(ctx, c.principal.StoreID, in.ID); err != nil {
		return app.WebhookTestResult{}, err
	}
	if err := s.limitQuotas(ctx, c, c.principal.StoreID); err != nil {
		return app.WebhookTestResult{}, err
	}
	test, err := s.db.CreateTest(ctx, c.now, c.principal.StoreID, in.ID)
	if err != nil {
		return app.WebhookTestResult{}, err
	}
	if s.tester == nil {
		return app.WebhookTestResult{}, errors.New("this server has nobody to send tests")
	}
	return s.tester.TestSubscription(ctx, test)
}
