package api

import (
	"context"
	"errors"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/ordering"
)

// Operations of analytics.
var (
	summarizeSales   = handle("summarizeSales", (*Server).salesSummary, app.CodeAmountTooLarge)
	plotSales        = handle("plotSales", (*Server).salesPlot, app.CodeAmountTooLarge, app.CodeLimitReached)
	listProductSales = handle("listProductSales", (*Server).productSales, app.CodeAmountTooLarge)
	listOptionSales  = handle("listOptionSales", (*Server).optionSales, app.CodeAmountTooLarge)
	listChannelSales = handle("listChannelSales", (*Server).channelSales, app.CodeAmountTooLarge, app.CodeLimitReached)
	countCustomers   = handle("countCustomers", (*Server).customerCounts)
)

// periodMeta is the meta of a list for a period.
type periodMeta struct {
	From      string        `json:"from"`
	To        string        `json:"to"`
	Timezone  string        `json:"timezone"`
	RequestID app.RequestID `json:"requestId"`
}

// periodParams are the parameters of analytics.
type periodParams struct {
	storeParam
	From string `query:"from" validate:"required,date"`
	To   string `query:"to" validate:"required,date"`
}

func (in periodParams) check() []app.Detail {
	_, err := app.ParsePeriod(in.From, in.To)
	if refusal, ok := errors.AsType[*app.Error](err); ok {
		return refusal.Details
	}
	return nil
}

func (s *Server) salesSummary(ctx context.Context, c *call, in periodParams) (list[app.Sales, periodMeta], error) {
	none := list[app.Sales, periodMeta]{}
	period, err := app.ParsePeriod(in.From, in.To)
	if err != nil {
		return none, err
	}
	sold, currencies, clock, err := s.db.Sold(ctx, c.principal.StoreID, period, false)
	if err != nil {
		return none, err
	}
	sales, err := app.Sum(sold, currencies)
	return list[app.Sales, periodMeta]{sales, periodMeta{in.From, in.To, clock.Zone.String(), c.exchange.id}}, err
}

type salesPlotIn struct {
	periodParams
	Granularity app.Interval `query:"granularity" default:"day" validate:"enum"`
}

func (s *Server) salesPlot(ctx context.Context, c *call, in salesPlotIn) (list[app.SalesBucket, periodMeta], error) {
	none := list[app.SalesBucket, periodMeta]{}
	period, err := app.ParsePeriod(in.From, in.To)
	if err != nil {
		return none, err
	}
	sold, currencies, clock, err := s.db.Sold(ctx, c.principal.StoreID, period, in.Granularity == app.Hourly)
	if err != nil {
		return none, err
	}
	buckets, err := period.Plot(sold, currencies, in.Granularity, clock.Zone, clock.Cutoff)
	meta := periodMeta{in.From, in.To, clock.Zone.String(), c.exchange.id}
	return list[app.SalesBucket, periodMeta]{buckets, meta}, err
}

type productSalesIn struct {
	periodParams
	pageParams
}

// salesPage returns the period and the position of a page of sales.
func (s *Server) salesPage(c *call, in productSalesIn) (app.Period, string, error) {
	position, err := s.cursors.open(c.list(), in.Cursor)
	if err != nil {
		return app.Period{}, "", err
	}
	period, err := app.ParsePeriod(in.From, in.To)
	return period, position, err
}

func (s *Server) productSales(
	ctx context.Context, c *call, in productSalesIn,
) (list[app.ProductSales, cursorMeta], error) {
	period, position, err := s.salesPage(c, in)
	if err != nil {
		return list[app.ProductSales, cursorMeta]{}, err
	}
	found, err := s.db.ProductSales(ctx, c.principal.StoreID, period, ordering.ParseProductsCursor(position),
		in.Limit+1)
	return paged(s, c, found, in.Limit, func(p app.ProductSales) string {
		return ordering.ProductsCursorOf(p).String()
	}), err
}

func (s *Server) optionSales(
	ctx context.Context, c *call, in productSalesIn,
) (list[app.OptionSales, cursorMeta], error) {
	period, position, err := s.salesPage(c, in)
	if err != nil {
		return list[app.OptionSales, cursorMeta]{}, err
	}
	found, err := s.db.OptionSales(ctx, c.principal.StoreID, period, ordering.ParseOptionsCursor(position),
		in.Limit+1)
	return paged(s, c, found, in.Limit, func(o app.OptionSales) string {
		return ordering.OptionsCursorOf(o).String()
	}), err
}

func (s *Server) channelSales(
	ctx context.Context, c *call, in periodParams,
) (list[app.ChannelSales, periodMeta], error) {
	none := list[app.ChannelSales, periodMeta]{}
	period, err := app.ParsePeriod(in.From, in.To)
	if err != nil {
		return none, err
	}
	rows, clock, err := s.db.ChannelSales(ctx, c.principal.StoreID, period)
	if err != nil {
		return none, err
	}
	return list[app.ChannelSales, periodMeta]{rows, periodMeta{in.From, in.To, clock.Zone.String(), c.exchange.id}}, nil
}

func (s *Server) customerCounts(ctx context.Context, c *call, in periodParams) (app.CustomerCounts, error) {
	period, err := app.ParsePeriod(in.From, in.To)
	if err != nil {
		return app.CustomerCounts{}, err
	}
	return s.db.CustomerCounts(ctx, c.principal.StoreID, period)
}
