package api

import (
	"context"

	"github.com/comanda-dev/comanda/app"
)

// Operations of billing.
var (
	getBilling    = handle("getBilling", (*Server).billing)
	updateBilling = handle("updateBilling", (*Server).changeBilling, app.CodeConflict)
)

type billingOut struct {
	app.PlanUsage
	Plans []planLimitOut `json:"plans"`
}

type planLimitOut struct {
	Plan  app.Plan `json:"plan"`
	Limit *int     `json:"limit"`
}

func billingFor(usage app.PlanUsage) billingOut {
	out := billingOut{PlanUsage: usage}
	for _, plan := range app.Plans {
		out.Plans = append(out.Plans, planLimitOut{plan, plan.Limit()})
	}
	return out
}

func (s *Server) billing(ctx context.Context, c *call, _ storeParam) (billingOut, error) {
	usage, err := s.db.PlanUsage(ctx, c.now, c.principal.StoreID)
	return billingFor(usage), err
}

type changeBillingIn struct {
	Plan app.Plan `json:"plan" validate:"required,enum"`
}

func (s *Server) changeBilling(ctx context.Context, c *call, in changeBillingIn) (billingOut, error) {
	if err := s.limitQuotas(ctx, c, c.principal.StoreID); err != nil {
		return billingOut{}, err
	}
	usage, err := s.db.ChangePlan(ctx, c.now, c.principal.StoreID, c.actor(), in.Plan)
	return billingFor(usage), err
}
