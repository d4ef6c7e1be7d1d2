package api

import (
	"context"
	"slices"

	"github.com/comanda-dev/comanda/app"
)

// Operations of webhooks.
var (
	createWebhook = handle("createWebhook", (*Server).createWebhook, app.CodeLimitReached)
	listWebhooks  = handle("listWebhooks", (*Server).webhooks)
	getWebhook    = handle("getWebhook", (*Server).webhook)
)

type createWebhookIn struct {
	StoreID     app.StoreID     `json:"storeId" validate:"omitempty,id"`
	URL         string          `json:"url" validate:"required,webhookurl" format:"uri"`
	Events      []app.EventType `json:"events" validate:"required,webhookevents"`
	Description string          `json:"description" validate:"webhooknote"`
	Filter      *string         `json:"filter" validate:"omitempty,webhookfilter"`
	Ordering    app.Ordering    `json:"ordering" default:"none" validate:"enum"`
	Headers     headersIn       `json:"headers" validate:"webhookheaders"`
	Secret      app.Secret      `json:"secret" validate:"required,webhooksecret"`
}

func (in createWebhookIn) check() []app.Detail {
	if err := app.CheckWebhookURL(in.URL); err != nil {
		return []app.Detail{{Path: "url", Message: err.Error()}}
	}
	details := checkEvents(in.Events)
	if in.Filter != nil {
		details = append(details, checkFilter(*in.Filter)...)
	}
	return append(details, app.WebhookHeaders(in.Headers).Check()...)
}

// checkEvents returns an error if * is not alone.
func checkEvents(events []app.EventType) []app.Detail {
	if len(events) > 1 && slices.Contains(events, app.AllEvents) {
		return []app.Detail{{Path: "events", Message: "must not contain event types beside *"}}
	}
	return nil
}

func (s *Server) createWebhook(ctx context.Context, c *call, in createWebhookIn) (app.Subscription, error) {
	wanted := app.NewSubscription{
		URL: in.URL, Description: in.Description, Events: in.Events, Filter: in.Filter, Ordering: in.Ordering,
		Headers: in.Headers, Secret: in.Secret,
	}
	return s.db.CreateSubscription(ctx, c.now, c.principal.StoreID, c.actor(), wanted, c.once)
}

// webhooksMeta is the meta of the list of webhooks.
type webhooksMeta struct {
	Total        int           `json:"total"`
	WatchdogDays int           `json:"watchdogDays"`
	RequestID    app.RequestID `json:"requestId"`
}

func (s *Server) webhooks(ctx context.Context, c *call, _ storeParam) (list[app.Subscription, webhooksMeta], error) {
	all, err := s.db.Subscriptions(ctx, c.principal.StoreID)
	return list[app.Subscription, webhooksMeta]{all, webhooksMeta{len(all), s.watchdogDays, c.exchange.id}}, err
}

type webhookIn struct {
	ID app.SubscriptionID `path:"id"`
}

func (s *Server) webhook(ctx context.Context, c *call, in webhookIn) (app.Subscription, error) {
	return s.db.Subscription(ctx, c.principal.StoreID, in.ID)
}
