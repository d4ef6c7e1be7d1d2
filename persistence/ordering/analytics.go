package ordering

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/uptrace/bun"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/identity"
)

// Clock is the clock of a store: its time zone and the hour at which its business days begin.
type Clock struct {
	Zone   *time.Location
	Cutoff int
}

// step returns the length of the intervals into which sales are grouped. Each hour of this clock
// consists of whole intervals: quarter hours in time zones whose offset is not in whole hours,
// otherwise hours. It checks two days on both sides of the period, because business dates may have
// been assigned with an earlier cutoff or time zone.
func (c Clock) step(period app.Period) string {
	from, to := period.Hours(c.Zone, c.Cutoff)
	for at := from.AddDate(0, 0, -2); at.Before(to.AddDate(0, 0, 2)); at = at.AddDate(0, 0, 1) {
		if _, offset := at.In(c.Zone).Zone(); offset%3600 != 0 {
			return "15 minutes"
		}
	}
	return "1 hour"
}

// clockOf returns a store's clock, NOT_FOUND if there is no such store.
func clockOf(ctx context.Context, tx bun.Tx, store app.StoreID) (Clock, error) {
	settings, zone, err := identity.ZonedSettingsOf(ctx, tx, store)
	return Clock{zone, settings.BusinessDayCutoffHour}, err
}

// soldRow is the total of one currency on one business day, or in one interval of that day.
type soldRow struct {
	Day              time.Time
	At               *time.Time // null if only days are requested
	Currency         app.Currency
	Orders           int64
	CancelledOrders  int64
	GrossMinor       int64
	DiscountMinor    int64
	TaxMinor         int64
	DeliveryFeeMinor int64
	RefundedMinor    int64
	ItemsSold        int64
}

func (r soldRow) soldOn() app.SoldOn {
	s := app.SoldOn{Day: r.Day.UTC(), Sales: app.Sales{
		Currency: r.Currency, Orders: r.Orders, CancelledOrders: r.CancelledOrders, GrossMinor: r.GrossMinor,
		DiscountMinor: r.DiscountMinor, TaxMinor: r.TaxMinor, DeliveryFeeMinor: r.DeliveryFeeMinor,
		RefundedMinor: r.RefundedMinor, ItemsSold: r.ItemsSold,
	}}
	if r.At != nil {
		s.At = r.At.UTC()
	}
	return s
}

// capped sums a column. The result is at most app.MaxAmountMinor + 1, so that it fits an int64 and the
// caller can recognise an overflow.
func capped(column string) string {
	return fmt.Sprintf("least(coalesce(sum(%s), 0), %d)::bigint", column, app.MaxAmountMinor+1)
}

// soldQuery sums sales by the order's business date and refunds by the refund's business date.
var soldQuery = strings.NewReplacer(
	"{gross}", capped("gross_minor"), "{discount}", capped("discount_minor"), "{tax}", capped("tax_minor"),
	"{fee}", capped("delivery_fee_minor"), "{refunded}", capped("refunded_minor"), "{items}", capped("items_sold"),
).Replace(`
	SELECT day::timestamptz AS day, at, currency,
		sum(orders)::bigint AS orders, sum(cancelled_orders)::bigint AS cancelled_orders,
		{gross} AS gross_minor, {discount} AS discount_minor, {tax} AS tax_minor, {fee} AS delivery_fee_minor,
		{refunded} AS refunded_minor, {items} AS items_sold
	FROM (
		SELECT business_date AS day, date_bin(?3, quarter, 'epoch') AS at, currency, orders, cancelled_orders,
			gross_minor, discount_minor, tax_minor, delivery_fee_minor, 0 AS refunded_minor, items_sold
		FROM sales WHERE store_id = ?0 AND business_date >= ?1 AND business_date <= ?2
		UNION ALL
		SELECT business_date, date_bin(?3, created_at, 'epoch'), currency, 0, 0, 0, 0, 0, 0, amount_minor - tip_minor, 0
		FROM refunds WHERE store_id = ?0 AND business_date >= ?1 AND business_date <= ?2
	) o
	GROUP BY day, at, currency`)

// Sold returns a store's sales in a period, the store's currencies and its clock. The sales are by business day or, if
// hours is true, by intervals that each lie within one hour of the store's clock. It returns NOT_FOUND if there is no
// such store.
func (db *DB) Sold(
	ctx context.Context, store app.StoreID, period app.Period, hours bool,
) ([]app.SoldOn, []app.Currency, Clock, error) {
	var rows []soldRow
	var currencies []app.Currency
	var clock Clock
	err := db.pg.InStore(ctx, store, func(ctx context.Context, tx bun.Tx) (err error) {
		if clock, err = clockOf(ctx, tx, store); err != nil {
			return err
		}
		rows, currencies = nil, nil
		err = tx.NewRaw("SELECT DISTINCT currency FROM store_views WHERE store_id = ?", store).Scan(ctx, &currencies)
		if err != nil {
			return err
		}
		var step *string
		if hours {
			step = new(clock.step(period))
		}
		return tx.NewRaw(soldQuery, store, day(period.From), day(period.To), step).Scan(ctx, &rows)
	})
	sold := make([]app.SoldOn, len(rows))
	for i, row := range rows {
		sold[i] = row.soldOn()
	}
	return sold, currencies, clock, err
}

func day(t time.Time) string { return t.Format(time.DateOnly) }

// ProductsCursor is the position at which a page of [DB.ProductSales] ended. Its zero value is the
// start.
type ProductsCursor struct {
	Currency  app.Currency
	NetMinor  int64
	ProductID app.ProductID
}

// ProductsCursorOf returns the position of a row.
func ProductsCursorOf(p app.ProductSales) ProductsCursor {
	cursor := ProductsCursor{Currency: p.Currency, NetMinor: p.NetMinor}
	if p.ProductID != nil {
		cursor.ProductID = *p.ProductID
	}
	return cursor
}

// String formats the cursor for ParseProductsCursor.
func (c ProductsCursor) String() string {
	return fmt.Sprintf("%s %d %s", c.Currency, c.NetMinor, c.ProductID)
}

// ParseProductsCursor parses the result of [ProductsCursor.String]; "" is the start.
func ParseProductsCursor(text string) ProductsCursor {
	currency, rest, _ := strings.Cut(text, " ")
	net, product, _ := strings.Cut(rest, " ")
	n, _ := strconv.ParseInt(net, 10, 64) // String has formatted it
	return ProductsCursor{app.Currency(currency), n, app.ProductID(product)}
}

// defaultView is the locale of a store's default view and the language of this locale. Staff read the texts of this
// view on the menu and in analytics.
const defaultView = `(
		SELECT locale, split_part(locale, '-', 1) AS language FROM store_views WHERE store_id = ?0 AND is_default
	) v`

// nameInDefaultView selects a name from translations by locale, with the fallback of [app.Product.Text].
func nameInDefaultView(translations, name string) string {
	return fmt.Sprintf("coalesce(%[1]s->v.locale->>'name', %[1]s->v.language->>'name', %[2]s)", translations, name)
}

// productSalesQuery sums sales by product and currency, and those of ad hoc lines by currency. It omits products whose
// orders were all cancelled.
var productSalesQuery = strings.NewReplacer(
	"{quantity}", capped("quantity"), "{net}", capped("net_minor"), "{view}", defaultView,
	"{name}", nameInDefaultView("p.translations", "p.name"),
).Replace(`
	SELECT nullif(s.product_id, '') AS product_id, coalesce({name}, '') AS product_name, s.currency, s.quantity,
		s.net_minor
	FROM (
		SELECT product_id, currency, {quantity} AS quantity, {net} AS net_minor
		FROM product_sales WHERE store_id = ?0 AND business_date >= ?1 AND business_date <= ?2
		GROUP BY product_id, currency HAVING sum(quantity) > 0
	) s LEFT JOIN products p ON p.store_id = ?0 AND p.id = s.product_id LEFT JOIN {view} ON true
	WHERE ?3 = '' OR (s.currency, -s.net_minor, s.product_id) > (?3, -?4, ?5)
	ORDER BY s.currency, s.net_minor DESC, s.product_id LIMIT ?6`)

// ProductSales lists a store's product sales in a period, ordered by currency and then by descending
// net amount. It returns AMOUNT_TOO_LARGE if a sum exceeds app.MaxAmountMinor.
func (db *DB) ProductSales(
	ctx context.Context, store app.StoreID, period app.Period, after ProductsCursor, limit int,
) ([]app.ProductSales, error) {
	rows := []app.ProductSales{}
	err := db.pg.InStore(ctx, store, func(ctx context.Context, tx bun.Tx) error {
		rows = rows[:0]
		return tx.NewRaw(productSalesQuery, store, day(period.From), day(period.To), after.Currency, after.NetMinor,
			after.ProductID, limit).Scan(ctx, &rows)
	})
	for _, row := range rows {
		if max(row.NetMinor, row.Quantity) > app.MaxAmountMinor {
			return nil, app.PeriodTooLarge()
		}
	}
	return rows, err
}

// customerCountsQuery counts each customer once, even after orders on several days. A customer who
// ordered before the period has exactly one row in customer_returns for the period with seen_before
// before it.
const customerCountsQuery = `
	SELECT
		(SELECT count(*) FROM customers
			WHERE store_id = ?0 AND business_date >= ?1 AND business_date <= ?2) AS new_customers,
		(SELECT coalesce(sum(customers), 0)::bigint FROM customer_returns
			WHERE store_id = ?0 AND business_date >= ?1 AND business_date <= ?2
				AND seen_before < ?1) AS returning_customers,
		coalesce(sum(guest_orders), 0)::bigint AS guest_orders,
		coalesce(sum(orders - guest_orders), 0)::bigint AS registered_orders
	FROM sales WHERE store_id = ?0 AND business_date >= ?1 AND business_date <= ?2`

// CustomerCounts counts the new and returning customers of a period and its orders by kind of
// customer.
func (db *DB) CustomerCounts(ctx context.Context, store app.StoreID, period app.Period) (app.CustomerCounts, error) {
	var counts app.CustomerCounts
	err := db.pg.InStore(ctx, store, func(ctx context.Context, tx bun.Tx) error {
		return tx.NewRaw(customerCountsQuery, store, day(period.From), day(period.To)).Scan(ctx, &counts)
	})
	return counts, err
}
