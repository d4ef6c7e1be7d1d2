package api

import (
	"context"

	"github.com/comanda-dev/comanda/app"
)

type billingIn struct {
	StoreID app.StoreID `query:"storeId" validate:"omitempty,id" description:"If given, it must be the store of the token."`
}

type billingOut struct {
	app.PlanUsage
	Plans []planLimitOut `json:"plans"` // that there are, each better than the one before
}

type planLimitOut struct {
	Plan  app.Plan `json:"plan"`
	Limit *int     `json:"limit"` // deliveries that may start in a window; null = as many as there are
}

func billingFor(usage app.PlanUsage) billingOut {
	out := billingOut{PlanUsage: usage}
	for _, plan := range app.Plans {
		out.Plans = append(out.Plans, planLimitOut{plan, plan.Limit()})
	}
	return out
}

func (s *Server) billing(ctx context.Context, c *call, _ billingIn) (billingOut, error) {
	usage, err := s.db.PlanUsage(ctx, c.now, c.principal.StoreID)
	return billingFor(usage), err
}

type changeBillingIn struct {
	Plan app.Plan `json:"plan" validate:"required,enum"`
}

func (s *Server) changeBilling(ctx context.Context, c *call, in changeBillingIn) (billingOut, error) {
	usage, err := s.db.ChangePlan(ctx, c.now, c.principal.StoreID, c.actor(), in.Plan)
	return billingFor(usage), err
}
