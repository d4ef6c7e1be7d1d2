package ordering

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/uptrace/bun"

	"github.com/comanda-dev/comanda/app"
)

// OptionsCursor is the position at which a page of [DB.OptionSales] ended. Its zero value is the start.
type OptionsCursor struct {
	Currency  app.Currency
	NetMinor  int64
	ProductID app.ProductID
	GroupID   app.OptionGroupID
	OptionID  app.OptionID
}

// OptionsCursorOf returns the position of a row.
func OptionsCursorOf(s app.OptionSales) OptionsCursor {
	return OptionsCursor{s.Currency, s.NetMinor, s.ProductID, s.GroupID, s.OptionID}
}

// String formats the cursor for ParseOptionsCursor.
func (c OptionsCursor) String() string {
	return fmt.Sprintf("%s %d %s %s %s", c.Currency, c.NetMinor, c.ProductID, c.GroupID, c.OptionID)
}

// ParseOptionsCursor parses the result of [OptionsCursor.String]; "" is the start.
func ParseOptionsCursor(text string) OptionsCursor {
	part := strings.Split(text, " ")
	if len(part) != 5 {
		return OptionsCursor{}
	}
	n, _ := strconv.ParseInt(part[1], 10, 64) // String has formatted it
	return OptionsCursor{
		app.Currency(part[0]), n, app.ProductID(part[2]), app.OptionGroupID(part[3]), app.OptionID(part[4]),
	}
}

// optionSalesQuery sums sales by option and currency. It omits options whose orders were all cancelled. The current
// names of existing options come from their products.
var optionSalesQuery = strings.NewReplacer(
	"{quantity}", capped("quantity"), "{net}", capped("net_minor"), "{view}", defaultView,
	"{group}", nameInDefaultView("g->'translations'", "g->>'name'"),
	"{option}", nameInDefaultView("o->'translations'", "o->>'name'"),
).Replace(`
	SELECT s.product_id, s.group_id, coalesce(n.group_name, s.group_name) AS group_name, s.option_id,
		coalesce(n.name, s.name) AS name, s.currency, s.quantity, s.net_minor
	FROM (
		SELECT * FROM (
			SELECT product_id, group_id, option_id, currency, {quantity} AS quantity, {net} AS net_minor,
				(array_agg(group_name ORDER BY business_date DESC))[1] AS group_name,
				(array_agg(name ORDER BY business_date DESC))[1] AS name
			FROM option_sales WHERE store_id = ?0 AND business_date >= ?1 AND business_date <= ?2
			GROUP BY product_id, group_id, option_id, currency HAVING sum(quantity) > 0
		) t
		WHERE ?3 = '' OR (currency, -net_minor, product_id, group_id, option_id) > (?3, -?4, ?5, ?6, ?7)
		ORDER BY currency, net_minor DESC, product_id, group_id, option_id LIMIT ?8
	) s LEFT JOIN LATERAL (
		SELECT {group} AS group_name, {option} AS name
		FROM products p CROSS JOIN jsonb_array_elements(p.option_groups) g
			CROSS JOIN jsonb_array_elements(g->'options') o LEFT JOIN {view} ON true
		WHERE p.store_id = ?0 AND p.id = s.product_id AND g->>'id' = s.group_id AND o->>'id' = s.option_id
	) n ON true
	ORDER BY s.currency, s.net_minor DESC, s.product_id, s.group_id, s.option_id`)

// OptionSales lists a store's option sales in a period, ordered by currency and then by descending net amount. It
// returns AMOUNT_TOO_LARGE if a sum exceeds app.MaxAmountMinor.
func (db *DB) OptionSales(
	ctx context.Context, store app.StoreID, period app.Period, after OptionsCursor, limit int,
) ([]app.OptionSales, error) {
	rows := []app.OptionSales{}
	err := db.pg.InStore(ctx, store, func(ctx context.Context, tx bun.Tx) error {
		rows = rows[:0]
		return tx.NewRaw(optionSalesQuery, store, day(period.From), day(period.To), after.Currency, after.NetMinor,
			after.ProductID, after.GroupID, after.OptionID, limit).Scan(ctx, &rows)
	})
	for _, row := range rows {
		if max(row.NetMinor, row.Quantity) > app.MaxAmountMinor {
			return nil, app.PeriodTooLarge()
		}
	}
	return rows, err
}
