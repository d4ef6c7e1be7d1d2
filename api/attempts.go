package api

import (
	"context"

	"github.com/comanda-dev/comanda/app"
)

// Operations of delivery attempts.
var (
	listDeliveryAttempts = handle("listDeliveryAttempts", (*Server).attempts)
	getDeliveryAttempt   = handle("getDeliveryAttempt", (*Server).attempt)
)

type attemptsIn struct {
	ID        app.SubscriptionID `path:"id"`
	Status    app.AttemptStatus  `query:"status" validate:"omitempty,enum"`
	EventType app.EventType      `query:"eventType" validate:"omitempty,enum"`
	EventID   app.EventID        `query:"eventId" validate:"omitempty,id"`
	From      *app.Time          `query:"from"`
	To        *app.Time          `query:"to"`
	Page      int                `query:"page" default:"1" validate:"min=1,max=1000000"`
	Limit     int                `query:"limit" default:"20" validate:"pagesize"`
}

func (in attemptsIn) check() []app.Detail { return checkSpan(in.From, in.To) }

func (s *Server) attempts(ctx context.Context, c *call, in attemptsIn) (list[app.Attempt, pageMeta], error) {
	filter := app.AttemptFilter{
		Status: in.Status, EventType: in.EventType, EventID: in.EventID, From: in.From, To: in.To,
	}
	page, total, err := s.db.Attempts(ctx, c.principal.StoreID, in.ID, filter, in.Page, in.Limit)
	meta := pageMeta{
		Total: total, Page: in.Page, Limit: in.Limit, TotalPages: (total + in.Limit - 1) / in.Limit,
		RequestID: c.exchange.id,
	}
	return list[app.Attempt, pageMeta]{page, meta}, err
}

type attemptIn struct {
	ID        app.SubscriptionID `path:"id"`
	AttemptID app.AttemptID      `path:"attemptId"`
}

func (s *Server) attempt(ctx context.Context, c *call, in attemptIn) (app.AttemptDetail, error) {
	return s.db.AttemptDetail(ctx, c.principal.StoreID, in.ID, in.AttemptID)
}
