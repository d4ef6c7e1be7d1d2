package persistence

import (
	"context"
	"strings"
	"time"

	"github.com/uptrace/bun"

	"github.com/comanda-dev/comanda/app"
)

// explain returns PostgreSQL's plan for a query of one store.
func (db *DB) explain(ctx context.Context, store app.StoreID, query func(tx bun.Tx) (string, error)) (plan string, err error) {
	err = db.pg.InStore(ctx, store, func(ctx context.Context, tx bun.Tx) error {
		statement, err := query(tx)
		if err != nil {
			return err
		}
		var lines []string
		err = tx.NewRaw("EXPLAIN "+statement).Scan(ctx, &lines)
		plan = strings.Join(lines, "\n")
		return err
	})
	return plan, err
}

// ExplainReservations returns the plan for a page of reservations.
func (db *DB) ExplainReservations(ctx context.Context, store app.StoreID, filter app.ReservationFilter) (string, error) {
	return db.explain(ctx, store, func(tx bun.Tx) (string, error) {
		var rows []reservationRow
		q, err := listReservations(tx, &rows, store, time.UTC, filter, Cursor{At: time.Date(2026, 3, 15, 0, 0, 0, 0, time.UTC), ID: "res_1"}, 21)
		return q.String(), err
	})
}

// ExplainSeated returns the plan for the look for free seats.
func (db *DB) ExplainSeated(ctx context.Context, store app.StoreID, start, end time.Time) (string, error) {
	return db.explain(ctx, store, func(tx bun.Tx) (string, error) {
		var rows []reservationRow
		return seatedDuring(tx, &rows, reservationRow{StoreID: store, StartAt: start, EndAt: end}).String(), nil
	})
}

// ExplainAnalytics returns the plans for what is counted of a period.
func (db *DB) ExplainAnalytics(ctx context.Context, store app.StoreID, period app.Period) (map[string]string, error) {
	plans := map[string]string{}
	for name, query := range map[string]func(tx bun.Tx) string{
		"days": func(tx bun.Tx) string {
			return tx.NewRaw(soldQuery, store, day(period.From), day(period.To), nil).String()
		},
		"hours": func(tx bun.Tx) string {
			return tx.NewRaw(soldQuery, store, day(period.From), day(period.To), "1 hour").String()
		},
		"products": func(tx bun.Tx) string {
			return tx.NewRaw(productSalesQuery, store, day(period.From), day(period.To), "", 0, "", 21).String()
		},
		"customers": func(tx bun.Tx) string {
			return tx.NewRaw(customerCountsQuery, store, day(period.From), day(period.To)).String()
		},
	} {
		plan, err := db.explain(ctx, store, func(tx bun.Tx) (string, error) { return query(tx), nil })
		if err != nil {
			return nil, err
		}
		plans[name] = plan
	}
	return plans, nil
}
