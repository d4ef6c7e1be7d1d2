package api

import (
	"context"
	"time"

	"github.com/comanda-dev/comanda/app"
)

// Operations that change a webhook.
var (
	updateWebhook       = handle("updateWebhook", (*Server).changeWebhook)
	deleteWebhook       = handle("deleteWebhook", (*Server).deleteWebhook)
	rotateWebhookSecret = handle("rotateWebhookSecret", (*Server).rotateSecret)
)

// headersIn are headers by name.
type headersIn = map[string]app.Secret

type changeWebhookIn struct {
	ID          app.SubscriptionID  `path:"id"`
	IfMatch     etag                `header:"If-Match"`
	URL         *string             `json:"url" validate:"omitempty,webhookurl" format:"uri"`
	Description nullable[string]    `json:"description" validate:"omitempty,webhooknote"`
	Events      []app.EventType     `json:"events" validate:"omitempty,webhookevents"`
	Filter      nullable[string]    `json:"filter" validate:"omitempty,webhookfilter"`
	Ordering    *app.Ordering       `json:"ordering" validate:"omitempty,enum"`
	Headers     nullable[headersIn] `json:"headers" validate:"omitempty,webhookheaders"`
	IsActive    *bool               `json:"isActive"`
}

func (in changeWebhookIn) check() []app.Detail {
	if in.URL == nil && in.Description == nil && in.Events == nil && in.Filter == nil && in.Ordering == nil &&
		in.Headers == nil && in.IsActive == nil {
		return []app.Detail{{Message: "url, description, events, filter, ordering, headers or isActive is required"}}
	}
	if in.URL != nil {
		if err := app.CheckWebhookURL(*in.URL); err != nil {
			return []app.Detail{{Path: "url", Message: err.Error()}}
		}
	}
	details := checkEvents(in.Events)
	if in.Filter != nil && *in.Filter != nil {
		details = append(details, checkFilter(**in.Filter)...)
	}
	return append(details, in.headers().Check()...)
}

// headers returns the new headers; nil = none.
func (in changeWebhookIn) headers() app.WebhookHeaders {
	if in.Headers == nil || *in.Headers == nil {
		return nil
	}
	return app.WebhookHeaders(**in.Headers)
}

func (s *Server) changeWebhook(ctx context.Context, c *call, in changeWebhookIn) (app.Subscription, error) {
	change := app.SubscriptionChange{URL: in.URL, Events: in.Events, Ordering: in.Ordering, IsActive: in.IsActive}
	if in.Description != nil {
		change.Description = new("")
		patch(change.Description, *in.Description)
	}
	if in.Filter != nil {
		change.Filter = new(*in.Filter)
	}
	if in.Headers != nil {
		change.Headers = new(in.headers())
	}
	return s.db.ChangeSubscription(ctx, c.now, c.principal.StoreID, c.actor(), in.ID, change, in.IfMatch.version())
}

type deleteWebhookIn struct {
	ID      app.SubscriptionID `path:"id"`
	IfMatch etag               `header:"If-Match"`
}

func (s *Server) deleteWebhook(ctx context.Context, c *call, in deleteWebhookIn) (nothing, error) {
	return nothing{}, s.db.DeleteSubscription(ctx, c.now, c.principal.StoreID, c.actor(), in.ID, in.IfMatch.version())
}

type rotateSecretIn struct {
	ID             app.SubscriptionID `path:"id"`
	IfMatch        etag               `header:"If-Match"`
	Secret         app.Secret         `json:"secret" validate:"required,webhooksecret"`
	OverlapSeconds int                `json:"overlapSeconds" validate:"secretoverlap"`
}

func (s *Server) rotateSecret(ctx context.Context, c *call, in rotateSecretIn) (app.Subscription, error) {
	overlap := time.Duration(in.OverlapSeconds) * time.Second
	return s.db.RotateSecret(ctx, c.now, c.principal.StoreID, c.actor(), in.ID, in.Secret, overlap,
		in.IfMatch.version())
}
