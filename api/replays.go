package api

import (
	"context"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence"
)

// endedStatus is how a delivery that can be replayed has ended.
type endedStatus string

// replayFilter says what is to be delivered once more.
type replayFilter struct {
	from, to  *app.Time
	status    endedStatus
	reason    string
	eventType app.EventType
	dryRun    bool
}

func (f replayFilter) check() []app.Detail {
	if f.from != nil && f.to != nil && !f.from.Before(f.to.Time) {
		return []app.Detail{{Path: "to", Message: "must be after from"}}
	}
	return nil
}

// replay orders a bulk replay of one webhook's deliveries, or of all of the store's.
func (s *Server) replay(ctx context.Context, c *call, webhook app.SubscriptionID, f replayFilter) (app.BulkReplay, error) {
	wanted := app.NewBulkReplay{
		SubscriptionID: webhook, EventType: f.eventType, DeliveryStatus: app.DeliveryStatus(f.status), DeliveryReason: f.reason,
		From: *f.from, To: app.At(c.now), DryRun: f.dryRun,
	}
	if f.to != nil {
		wanted.To = *f.to
	}
	if !wanted.From.Before(wanted.To.Time) {
		return app.BulkReplay{}, app.Invalid("from", "must be in the past")
	}
	if noWebhook(c, webhook) {
		return app.BulkReplay{}, app.NotFound()
	}
	answer := func(ordered app.BulkReplay) any { return stored{ordered} }
	return s.db.OrderBulkReplay(ctx, c.now, c.principal.StoreID, c.actor(), wanted, c.once, answer)
}

// noWebhook reports whether the path names a webhook with what can be no id: "" would mean
// all webhooks.
func noWebhook(c *call, id app.SubscriptionID) bool {
	return c.route.resource == persistence.Subscriptions && id == ""
}

type replayWebhookIn struct {
	ID        app.SubscriptionID `path:"id"`
	From      *app.Time          `json:"from" validate:"required" description:"Deliveries made at that time or later."`
	To        *app.Time          `json:"to" description:"And before that time; if not given, now."`
	Status    endedStatus        `json:"status" default:"dead_letter" validate:"enum" description:"How they have ended."`
	Reason    string             `json:"reason" validate:"omitempty,max=1000" description:"And why: exactly that reason, as a delivery has it."`
	EventType app.EventType      `json:"eventType" validate:"omitempty,enum"`
	DryRun    bool               `json:"dryRun" description:"Count and do nothing."`
}

func (in replayWebhookIn) filter() replayFilter {
	return replayFilter{in.From, in.To, in.Status, in.Reason, in.EventType, in.DryRun}
}

func (in replayWebhookIn) check() []app.Detail { return in.filter().check() }

func (s *Server) replayWebhook(ctx context.Context, c *call, in replayWebhookIn) (app.BulkReplay, error) {
	return s.replay(ctx, c, in.ID, in.filter())
}

type replayStoreIn struct {
	WebhookID app.SubscriptionID `json:"webhookId" validate:"omitempty,id" description:"If not given, of all webhooks of the store."`
	From      *app.Time          `json:"from" validate:"required" description:"Deliveries made at that time or later."`
	To        *app.Time          `json:"to" description:"And before that time; if not given, now."`
	Status    endedStatus        `json:"status" default:"dead_letter" validate:"enum" description:"How they have ended."`
	Reason    string             `json:"reason" validate:"omitempty,max=1000" description:"And why: exactly that reason, as a delivery has it."`
	EventType app.EventType      `json:"eventType" validate:"omitempty,enum"`
	DryRun    bool               `json:"dryRun" description:"Count and do nothing."`
}

func (in replayStoreIn) filter() replayFilter {
	return replayFilter{in.From, in.To, in.Status, in.Reason, in.EventType, in.DryRun}
}

func (in replayStoreIn) check() []app.Detail { return in.filter().check() }

func (s *Server) replayStore(ctx context.Context, c *call, in replayStoreIn) (app.BulkReplay, error) {
	return s.replay(ctx, c, in.WebhookID, in.filter())
}

type webhookReplaysIn struct {
	ID     app.SubscriptionID `path:"id"`
	Limit  int                `query:"limit" default:"20" validate:"min=1,max=100"`
	Cursor string             `query:"cursor" validate:"max=512" description:"nextCursor of the page before."`
}

func (s *Server) webhookReplays(ctx context.Context, c *call, in webhookReplaysIn) (list[app.BulkReplay, cursorMeta], error) {
	return s.listReplays(ctx, c, in.ID, in.Limit, in.Cursor)
}

type storeReplaysIn struct {
	StoreID app.StoreID `query:"storeId" validate:"omitempty,id" description:"If given, it must be the store of the token."`
	Limit   int         `query:"limit" default:"20" validate:"min=1,max=100"`
	Cursor  string      `query:"cursor" validate:"max=512" description:"nextCursor of the page before."`
}

func (s *Server) storeReplays(ctx context.Context, c *call, in storeReplaysIn) (list[app.BulkReplay, cursorMeta], error) {
	return s.listReplays(ctx, c, "", in.Limit, in.Cursor)
}

func (s *Server) listReplays(ctx context.Context, c *call, webhook app.SubscriptionID, limit int, cursor string) (list[app.BulkReplay, cursorMeta], error) {
	after, err := s.cursors.open(c.list(), cursor)
	if err != nil {
		return list[app.BulkReplay, cursorMeta]{}, err
	}
	if noWebhook(c, webhook) {
		return list[app.BulkReplay, cursorMeta]{}, app.NotFound()
	}
	found, err := s.db.BulkReplays(ctx, c.principal.StoreID, webhook, app.ReplayID(after), limit+1)
	return paged(s, c, found, limit, func(r app.BulkReplay) string { return string(r.ID) }), err
}

type webhookReplayIn struct {
	ID       app.SubscriptionID `path:"id"`
	ReplayID app.ReplayID       `path:"replayId"`
}

func (s *Server) webhookReplay(ctx context.Context, c *call, in webhookReplayIn) (app.BulkReplay, error) {
	if noWebhook(c, in.ID) {
		return app.BulkReplay{}, app.NotFound()
	}
	return s.db.BulkReplay(ctx, c.principal.StoreID, in.ID, in.ReplayID)
}

type storeReplayIn struct {
	ID app.ReplayID `path:"id"`
}

func (s *Server) storeReplay(ctx context.Context, c *call, in storeReplayIn) (app.BulkReplay, error) {
	return s.db.BulkReplay(ctx, c.principal.StoreID, "", in.ID)
}

func (s *Server) cancelReplay(ctx context.Context, c *call, in storeReplayIn) (app.BulkReplay, error) {
	return s.db.CancelBulkReplay(ctx, c.now, c.principal.StoreID, in.ID, app.ReasonReplayCancelled)
}
