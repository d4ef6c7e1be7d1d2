package api

import (
	"context"

	"github.com/comanda-dev/comanda/app"
)

type billingIn struct {
	StoreID app.StoreID `query:"storeId" validate:"omitempty,id" description:"If given, it must be the store of the token."`
}

func (s *Server) billing(ctx context.Context, c *call, _ billingIn) (app.PlanUsage, error) {
	return s.db.PlanUsage(ctx, c.now, c.principal.StoreID)
}

type changeBillingIn struct {
	Plan app.Plan `json:"plan" validate:"required,enum"`
}

func (s *Server) changeBilling(ctx context.Context, c *call, in changeBillingIn) (app.PlanUsage, error) {
	return s.db.ChangePlan(ctx, c.now, c.principal.StoreID, c.actor(), in.Plan)
}
