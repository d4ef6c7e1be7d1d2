package api

import (
	"context"
	"errors"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence"
)

// periodMeta is the meta of a list that is whole for a period.
type periodMeta struct {
	From      string        `json:"from"`     // YYYY-MM-DD
	To        string        `json:"to"`       // included
	Timezone  string        `json:"timezone"` // IANA name of the store's
	RequestID app.RequestID `json:"requestId"`
}

// checkPeriod returns what is wrong with two days.
func checkPeriod(from, to string) []app.Detail {
	_, err := app.ParsePeriod(from, to)
	if refusal, ok := errors.AsType[*app.Error](err); ok {
		return refusal.Details
	}
	return nil
}

type salesSummaryIn struct {
	StoreID app.StoreID `query:"storeId" validate:"omitempty,id" description:"If given, it must be the store of the token."`
	From    string      `query:"from" validate:"required,date" description:"The first business day, in the store's zone."`
	To      string      `query:"to" validate:"required,date" description:"The last business day, at most 366 in all."`
}

func (in salesSummaryIn) check() []app.Detail { return checkPeriod(in.From, in.To) }

func (s *Server) salesSummary(ctx context.Context, c *call, in salesSummaryIn) (list[app.Sales, periodMeta], error) {
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
	StoreID     app.StoreID  `query:"storeId" validate:"omitempty,id" description:"If given, it must be the store of the token."`
	From        string       `query:"from" validate:"required,date" description:"The first business day, in the store's zone."`
	To          string       `query:"to" validate:"required,date" description:"The last business day, at most 366 in all."`
	Granularity app.Interval `query:"granularity" default:"day" validate:"enum" description:"Hours are those of the store's clock, weeks begin on Monday."`
}

func (in salesPlotIn) check() []app.Detail { return checkPeriod(in.From, in.To) }

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
	return list[app.SalesBucket, periodMeta]{buckets, periodMeta{in.From, in.To, clock.Zone.String(), c.exchange.id}}, err
}

type productSalesIn struct {
	StoreID app.StoreID `query:"storeId" validate:"omitempty,id" description:"If given, it must be the store of the token."`
	From    string      `query:"from" validate:"required,date" description:"The first business day, in the store's zone."`
	To      string      `query:"to" validate:"required,date" description:"The last business day, at most 366 in all."`
	Limit   int         `query:"limit" default:"20" validate:"min=1,max=100"`
	Cursor  string      `query:"cursor" validate:"max=512" description:"nextCursor of the page before, with the same filters."`
}

func (in productSalesIn) check() []app.Detail { return checkPeriod(in.From, in.To) }

func (s *Server) productSales(ctx context.Context, c *call, in productSalesIn) (list[app.ProductSales, cursorMeta], error) {
	none := list[app.ProductSales, cursorMeta]{}
	period, err := app.ParsePeriod(in.From, in.To)
	if err != nil {
		return none, err
	}
	position, err := s.cursors.open(c.list(), in.Cursor)
	if err != nil {
		return none, err
	}
	found, err := s.db.ProductSales(ctx, c.principal.StoreID, period, persistence.ParseProductsCursor(position), in.Limit+1)
	return paged(s, c, found, in.Limit, func(p app.ProductSales) string {
		return persistence.ProductsCursor{Currency: p.Currency, NetMinor: p.NetMinor, ProductID: p.ProductID}.String()
	}), err
}

type customerCountsIn struct {
	StoreID app.StoreID `query:"storeId" validate:"omitempty,id" description:"If given, it must be the store of the token."`
	From    string      `query:"from" validate:"required,date" description:"The first business day, in the store's zone."`
	To      string      `query:"to" validate:"required,date" description:"The last business day, at most 366 in all."`
}

func (in customerCountsIn) check() []app.Detail { return checkPeriod(in.From, in.To) }

func (s *Server) customerCounts(ctx context.Context, c *call, in customerCountsIn) (app.CustomerCounts, error) {
	period, err := app.ParsePeriod(in.From, in.To)
	if err != nil {
		return app.CustomerCounts{}, err
	}
	return s.db.CustomerCounts(ctx, c.principal.StoreID, period)
}
