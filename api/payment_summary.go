package api

import (
	"context"

	"github.com/comanda-dev/comanda/app"
)

var summarizePayments = handle("summarizePayments", (*Server).paymentSummary,
	app.CodeAmountTooLarge, app.CodeLimitReached)

func (s *Server) paymentSummary(
	ctx context.Context, c *call, in periodParams,
) (list[app.PaymentSum, periodMeta], error) {
	none := list[app.PaymentSum, periodMeta]{}
	period, err := app.ParsePeriod(in.From, in.To)
	if err != nil {
		return none, err
	}
	sums, clock, err := s.db.PaymentSums(ctx, c.principal.StoreID, period)
	if err != nil {
		return none, err
	}
	return list[app.PaymentSum, periodMeta]{sums, periodMeta{in.From, in.To, clock.Zone.String(), c.exchange.id}}, nil
}
