package api

import (
	"context"
	"errors"
	"time"

	"github.com/comanda-dev/comanda/app"
)

// Tester sends a test.ping to a webhook and waits for what becomes of it. It returns
// UNAVAILABLE when that is out of reach, NOT_FOUND when the webhook is gone.
type Tester interface {
	TestSubscription(ctx context.Context, test app.WebhookTest) (app.WebhookTestResult, error)
}

type changeWebhookIn struct {
	ID       app.SubscriptionID `path:"id"`
	IfMatch  etag               `header:"If-Match" description:"The version, in double quotes, that the webhook must still have."`
	URL      *string            `json:"url" validate:"omitempty,max=2048" format:"uri" example:"https://example.com/hooks/orders" description:"As when creating a webhook. It counts from the next attempt of every delivery."`
	Events   []app.EventType    `json:"events" validate:"omitempty,min=1,max=14,unique,dive,subscribable" example:"[\"order.created\"]" description:"Deliveries already made are not touched."`
	IsActive *bool              `json:"isActive" description:"Turned off, new events are not matched, and what waits becomes a dead letter at its next attempt. Turned on again, it starts without failures."`
}

func (in changeWebhookIn) check() []app.Detail {
	if in.URL == nil && in.Events == nil && in.IsActive == nil {
		return []app.Detail{{Message: "url, events or isActive is required"}}
	}
	if in.URL != nil {
		if err := app.CheckWebhookURL(*in.URL); err != nil {
			return []app.Detail{{Path: "url", Message: err.Error()}}
		}
	}
	return nil
}

func (s *Server) changeWebhook(ctx context.Context, c *call, in changeWebhookIn) (app.Subscription, error) {
	change := app.SubscriptionChange{URL: in.URL, Events: in.Events, IsActive: in.IsActive}
	return s.db.ChangeSubscription(ctx, c.now, c.principal.StoreID, c.actor(), in.ID, change, in.IfMatch.version())
}

type deleteWebhookIn struct {
	ID      app.SubscriptionID `path:"id"`
	IfMatch etag               `header:"If-Match" description:"The version, in double quotes, that the webhook must still have."`
}

func (s *Server) deleteWebhook(ctx context.Context, c *call, in deleteWebhookIn) (nothing, error) {
	return nothing{}, s.db.DeleteSubscription(ctx, c.now, c.principal.StoreID, c.actor(), in.ID, in.IfMatch.version())
}

// testWebhook sends nothing by itself: only the workers talk to strangers.
func (s *Server) testWebhook(ctx context.Context, c *call, in webhookIn) (app.WebhookTestResult, error) {
	test, err := s.db.CreateTest(ctx, c.now, c.principal.StoreID, in.ID)
	if err != nil {
		return app.WebhookTestResult{}, err
	}
	if s.tester == nil {
		return app.WebhookTestResult{}, errors.New("this server has nobody to send tests")
	}
	return s.tester.TestSubscription(ctx, test)
}

type rotateSecretIn struct {
	ID             app.SubscriptionID `path:"id"`
	IfMatch        etag               `header:"If-Match" description:"The version, in double quotes, that the webhook must still have."`
	Secret         app.Secret         `json:"secret" validate:"required,min=32,max=256" example:"another secret of 32 characters or more" description:"Keys X-Webhook-Signature from now on. The secret that the webhook has already changes nothing."`
	OverlapSeconds int                `json:"overlapSeconds" validate:"min=0,max=604800" description:"For how long webhook-signature carries a signature with the old secret as well; by default not at all."`
}

func (s *Server) rotateSecret(ctx context.Context, c *call, in rotateSecretIn) (app.Subscription, error) {
	overlap := time.Duration(in.OverlapSeconds) * time.Second
	return s.db.RotateSecret(ctx, c.now, c.principal.StoreID, c.actor(), in.ID, in.Secret, overlap, in.IfMatch.version())
}

type attemptIn struct {
	ID        app.SubscriptionID `path:"id"`
	AttemptID app.AttemptID      `path:"attemptId"`
}

func (s *Server) attempt(ctx context.Context, c *call, in attemptIn) (app.AttemptDetail, error) {
	return s.db.AttemptDetail(ctx, c.principal.StoreID, in.ID, in.AttemptID)
}

type webhookStatsIn struct {
	ID          app.SubscriptionID `path:"id"`
	From        *app.Time          `query:"from" description:"Attempts at that time or later; by default a day before to."`
	To          *app.Time          `query:"to" description:"Attempts before that time, at most 90 days after from; by default now."`
	Granularity app.Granularity    `query:"granularity" validate:"omitempty,enum" description:"By default hours for up to three days, else days."`
}

// hourlySpan is up to which span statistics are by the hour unless something else is asked for.
const hourlySpan = 3 * 24 * time.Hour

func (s *Server) webhookStats(ctx context.Context, c *call, in webhookStatsIn) (app.DeliveryStats, error) {
	from, to := in.span(c.now)
	if faults := checkSpan(&from, &to); faults != nil {
		return app.DeliveryStats{}, app.InvalidAll(faults)
	}
	span := to.Sub(from.Time)
	if span > app.MaxStatsSpan {
		return app.DeliveryStats{}, app.Invalid("to", "must be at most 90 days after from")
	}
	by := in.Granularity
	switch {
	case by != "":
	case span <= hourlySpan:
		by = app.ByHour
	default:
		by = app.ByDay
	}
	return s.db.Stats(ctx, c.principal.StoreID, in.ID, from, to, by)
}

// span fills in what was not given.
func (in webhookStatsIn) span(now time.Time) (from, to app.Time) {
	const day = 24 * time.Hour
	switch {
	case in.From != nil && in.To != nil:
		return *in.From, *in.To
	case in.From != nil:
		return *in.From, app.At(now)
	case in.To != nil:
		from = app.At(in.To.Add(-day))
		if from.Year() < 1 {
			from = app.Time{} // the earliest there is
		}
		return from, *in.To
	}
	return app.At(now.Add(-day)), app.At(now)
}
