package api

import (
	"context"

	"github.com/comanda-dev/comanda/app"
)

type createWebhookIn struct {
	StoreID app.StoreID     `json:"storeId" validate:"omitempty,id" description:"If given, it must be the store of the token."`
	URL     string          `json:"url" validate:"required,max=2048" format:"uri" example:"https://example.com/hooks/orders" description:"Where events are posted to: https only, with a host, without user name, password and fragment."`
	Events  []app.EventType `json:"events" validate:"required,min=1,max=14,unique,dive,subscribable" example:"[\"order.created\",\"order.cancelled\"]"`
	Secret  app.Secret      `json:"secret" validate:"required,min=32,max=256" example:"a shared secret of 32 characters or more" description:"Keys the signature of every delivery. It is never shown again."`
}

func (in createWebhookIn) check() []app.Detail {
	if err := app.CheckWebhookURL(in.URL); err != nil {
		return []app.Detail{{Path: "url", Message: err.Error()}}
	}
	return nil
}

func (s *Server) createWebhook(ctx context.Context, c *call, in createWebhookIn) (app.Subscription, error) {
	wanted := app.NewSubscription{URL: in.URL, Events: in.Events, Secret: in.Secret}
	answer := func(created app.Subscription) any { return stored{created} }
	return s.db.CreateSubscription(ctx, c.now, c.principal.StoreID, c.actor(), wanted, c.once, answer)
}

type webhooksIn struct {
	StoreID app.StoreID `query:"storeId" validate:"omitempty,id" description:"If given, it must be the store of the token."`
}

// webhooksMeta is the meta of the list of webhooks, which is always whole.
type webhooksMeta struct {
	Total        int           `json:"total"`
	WatchdogDays int           `json:"watchdogDays"` // how many failingDays it takes for a webhook to be deactivated
	RequestID    app.RequestID `json:"requestId"`
}

func (s *Server) webhooks(ctx context.Context, c *call, _ webhooksIn) (list[app.Subscription, webhooksMeta], error) {
	all, err := s.db.Subscriptions(ctx, c.principal.StoreID)
	return list[app.Subscription, webhooksMeta]{all, webhooksMeta{len(all), s.watchdogDays, c.exchange.id}}, err
}

type webhookIn struct {
	ID app.SubscriptionID `path:"id"`
}

func (s *Server) webhook(ctx context.Context, c *call, in webhookIn) (app.Subscription, error) {
	return s.db.Subscription(ctx, c.principal.StoreID, in.ID)
}

type attemptsIn struct {
	ID        app.SubscriptionID `path:"id"`
	Status    app.AttemptStatus  `query:"status" validate:"omitempty,enum"`
	EventType app.EventType      `query:"eventType" validate:"omitempty,enum"`
	EventID   app.EventID        `query:"eventId" validate:"omitempty,id"`
	From      *app.Time          `query:"from" description:"Made at that time or later."`
	To        *app.Time          `query:"to" description:"Made before that time."`
	Page      int                `query:"page" default:"1" validate:"min=1,max=1000000"`
	Limit     int                `query:"limit" default:"20" validate:"min=1,max=100"`
}

func (in attemptsIn) check() []app.Detail { return checkSpan(in.From, in.To) }

func (s *Server) attempts(ctx context.Context, c *call, in attemptsIn) (list[app.Attempt, pageMeta], error) {
	filter := app.AttemptFilter{Status: in.Status, EventType: in.EventType, EventID: in.EventID, From: in.From, To: in.To}
	page, total, err := s.db.Attempts(ctx, c.principal.StoreID, in.ID, filter, in.Page, in.Limit)
	meta := pageMeta{Total: total, Page: in.Page, Limit: in.Limit, TotalPages: (total + in.Limit - 1) / in.Limit, RequestID: c.exchange.id}
	return list[app.Attempt, pageMeta]{page, meta}, err
}
