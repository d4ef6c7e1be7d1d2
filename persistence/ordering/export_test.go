package ordering

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/uptrace/bun"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/pg"
)

// explain returns the plan of a query in one store.
func (db *DB) explain(
	ctx context.Context, store app.StoreID, query func(tx bun.Tx) (string, error),
) (plan string, err error) {
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

// ExplainReservations returns the plan of a page of reservations.
func (db *DB) ExplainReservations(
	ctx context.Context, store app.StoreID, filter app.ReservationFilter,
) (string, error) {
	return db.explain(ctx, store, func(tx bun.Tx) (string, error) {
		q, err := listReservations(tx, store, time.UTC, filter,
			pg.Cursor{At: time.Date(2026, 3, 15, 0, 0, 0, 0, time.UTC), ID: "res_1"}, 21)
		return q.String(), err
	})
}

// ExplainSeated returns the plan of the search for occupied seats.
func (db *DB) ExplainSeated(ctx context.Context, store app.StoreID, start, end time.Time) (string, error) {
	return db.explain(ctx, store, func(tx bun.Tx) (string, error) {
		return seatedDuring(tx, reservationRow{StoreID: store, StartAt: start, EndAt: end}).String(), nil
	})
}

// ExplainAnalytics returns the plans of the queries of a period.
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
		"payments": func(tx bun.Tx) string {
			return tx.NewRaw(paymentSumsQuery, store, day(period.From), day(period.To), app.MaxPaymentSums+1).String()
		},
		"channels": func(tx bun.Tx) string {
			return tx.NewRaw(channelSalesQuery, store, day(period.From), day(period.To), app.MaxChannelSales+1).String()
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

// ExplainOrders runs the query of a page of orders and returns its plan.
func (db *DB) ExplainOrders(
	ctx context.Context, store app.StoreID, customer app.CustomerID, filter app.OrderFilter, after pg.Cursor,
) (plan string, err error) {
	err = db.pg.InStore(ctx, store, func(ctx context.Context, tx bun.Tx) error {
		var lines []string
		err := tx.NewRaw("EXPLAIN (ANALYZE, BUFFERS) ?", listOrders(tx, store, customer, filter, after, 21)).
			Scan(ctx, &lines)
		plan = strings.Join(lines, "\n")
		return err
	})
	return plan, err
}

// ExplainErasure erases a customer, returns the plans of the statements, and rolls back.
func (db *DB) ExplainErasure(
	ctx context.Context, now time.Time, store app.StoreID, id app.CustomerID,
) (plans map[string]string, err error) {
	plans = map[string]string{}
	rollback := errors.New("rollback")
	err = db.pg.InStore(ctx, store, func(ctx context.Context, tx bun.Tx) error {
		for _, statement := range erasures {
			rows, err := tx.Tx.QueryContext(ctx, "EXPLAIN (ANALYZE, BUFFERS) "+statement, store, id, now)
			if err != nil {
				return err
			}
			defer rows.Close()
			var lines []string
			for rows.Next() {
				var line string
				if err := rows.Scan(&line); err != nil {
					return err
				}
				lines = append(lines, line)
			}
			if err := rows.Err(); err != nil {
				return err
			}
			plans[statement] = strings.Join(lines, "\n")
		}
		return rollback
	})
	if errors.Is(err, rollback) {
		err = nil
	}
	return plans, err
}
