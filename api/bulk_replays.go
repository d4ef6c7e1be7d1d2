package api

import (
	"context"

	"github.com/comanda-dev/comanda/app"
)

// Operations of bulk replays.
var (
	replayDeliveries = handle("replayDeliveries", (*Server).replayStore, app.CodeNotFound, app.CodeLimitReached)
	replayWebhook    = handle("replayWebhook", (*Server).replayWebhook, app.CodeLimitReached)
	listReplays      = handle("listReplays", (*Server).replays, app.CodeNotFound)
	getReplay        = handle("getReplay", (*Server).replay)
	getWebhookReplay = handle("getWebhookReplay", (*Server).webhookReplay)
	cancelReplay     = handle("cancelReplay", (*Server).cancelReplay, app.CodeConflict)
)

// endedStatus is the status of a delivery that can be replayed.
type endedStatus string

type replayStoreIn struct {
	WebhookID app.SubscriptionID `json:"webhookId" validate:"omitempty,id"`
	From      *app.Time          `json:"from" validate:"required"`
	To        *app.Time          `json:"to"`
	Status    endedStatus        `json:"status" default:"dead_letter" validate:"enum"`
	Reason    string             `json:"reason" validate:"omitempty,deliveryreason"`
	EventType app.EventType      `json:"eventType" validate:"omitempty,enum"`
	DryRun    bool               `json:"dryRun"`
}

func (in replayStoreIn) check() []app.Detail { return checkSpan(in.From, in.To) }

// replay returns the requested bulk replay. It returns VALIDATION_FAILED if the period
// begins in the future.
func (in replayStoreIn) replay(now app.Time) (app.NewBulkReplay, error) {
	wanted := app.NewBulkReplay{
		SubscriptionID: in.WebhookID, EventType: in.EventType, DeliveryStatus: app.ReplayedStatus(in.Status),
		DeliveryReason: in.Reason, From: *in.From, To: now, DryRun: in.DryRun,
	}
	patch(&wanted.To, in.To)
	if !wanted.From.Before(wanted.To.Time) {
		return wanted, app.Invalid("from", "must be in the past")
	}
	return wanted, nil
}

func (s *Server) replayStore(ctx context.Context, c *call, in replayStoreIn) (app.BulkReplay, error) {
	wanted, err := in.replay(app.At(c.now))
	if err != nil {
		return app.BulkReplay{}, err
	}
	return s.createReplay(ctx, c, wanted)
}

func (s *Server) createReplay(ctx context.Context, c *call, wanted app.NewBulkReplay) (app.BulkReplay, error) {
	return s.db.CreateBulkReplay(ctx, c.now, c.principal.StoreID, c.actor(), wanted, c.once)
}

// replayWebhookIn has the members of replayStoreIn, with the webhook in the path.
type replayWebhookIn struct {
	WebhookID app.SubscriptionID `path:"id"`
	From      *app.Time          `json:"from" validate:"required"`
	To        *app.Time          `json:"to"`
	Status    app.ReplayedStatus `json:"status" default:"dead_letter" validate:"enum"`
	Reason    string             `json:"reason" validate:"omitempty,deliveryreason"`
	EventType app.EventType      `json:"eventType" validate:"omitempty,enum"`
	DryRun    bool               `json:"dryRun"`
}

func (in replayWebhookIn) check() []app.Detail {
	faults := checkSpan(in.From, in.To)
	if in.Status == app.ReplayedMissed && in.Reason != "" {
		faults = append(faults, app.Detail{Path: "reason", Message: "is not allowed for missed"})
	}
	return faults
}

// inStore returns the request with the members of a request for the store.
func (in replayWebhookIn) inStore() replayStoreIn {
	return replayStoreIn{
		WebhookID: in.WebhookID, From: in.From, To: in.To, Status: endedStatus(in.Status), Reason: in.Reason,
		EventType: in.EventType, DryRun: in.DryRun,
	}
}

func (s *Server) replayWebhook(ctx context.Context, c *call, in replayWebhookIn) (app.BulkReplay, error) {
	wanted, err := in.inStore().replay(app.At(c.now))
	if err == nil && in.WebhookID == "" { // the path has no valid id; "" would select all webhooks
		err = app.NotFound()
	}
	if err != nil {
		return app.BulkReplay{}, err
	}
	return s.createReplay(ctx, c, wanted)
}

type replaysIn struct {
	storeParam
	WebhookID app.SubscriptionID `query:"webhookId" validate:"omitempty,id"`
	pageParams
}

func (s *Server) replays(ctx context.Context, c *call, in replaysIn) (list[app.BulkReplay, cursorMeta], error) {
	after, err := s.cursors.open(c.list(), in.Cursor)
	if err != nil {
		return list[app.BulkReplay, cursorMeta]{}, err
	}
	found, err := s.db.BulkReplays(ctx, c.principal.StoreID, in.WebhookID, app.ReplayID(after), in.Limit+1)
	return paged(s, c, found, in.Limit, func(r app.BulkReplay) string { return string(r.ID) }), err
}

type replayIn struct {
	ID app.ReplayID `path:"id"`
}

func (s *Server) replay(ctx context.Context, c *call, in replayIn) (app.BulkReplay, error) {
	return s.replayWithOutcomes(ctx, c, "", in.ID)
}

// replayWithOutcomes returns a bulk replay with the outcomes of its deliveries.
func (s *Server) replayWithOutcomes(
	ctx context.Context, c *call, webhook app.SubscriptionID, id app.ReplayID,
) (app.BulkReplay, error) {
	replay, err := s.db.BulkReplay(ctx, c.principal.StoreID, webhook, id)
	if err != nil {
		return replay, err
	}
	outcomes, err := s.db.BulkReplayOutcomes(ctx, c.principal.StoreID, id)
	replay.Outcomes = &outcomes
	return replay, err
}

type webhookReplayIn struct {
	WebhookID app.SubscriptionID `path:"id"`
	ReplayID  app.ReplayID       `path:"replayId"`
}

// webhookReplay returns a bulk replay of one webhook. It returns NOT_FOUND for one of another
// webhook or of the whole store.
func (s *Server) webhookReplay(ctx context.Context, c *call, in webhookReplayIn) (app.BulkReplay, error) {
	if in.WebhookID == "" { // the path has no valid id; "" would select all webhooks
		return app.BulkReplay{}, app.NotFound()
	}
	return s.replayWithOutcomes(ctx, c, in.WebhookID, in.ReplayID)
}

func (s *Server) cancelReplay(ctx context.Context, c *call, in replayIn) (app.BulkReplay, error) {
	return s.db.CancelBulkReplay(ctx, c.now, c.principal.StoreID, in.ID, app.ReasonReplayCancelled)
}
