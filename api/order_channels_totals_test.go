package api

import (
	"math/rand/v2"
	"testing"

	"github.com/comanda-dev/comanda/app"
)

// randomOrders places and changes random orders at the menu's and at own prices.
type randomOrders struct {
	clubMember
	random *rand.Rand
	key    string
	dish   app.Product
}

func (r *randomOrders) upTo(n int64) int64 { return r.random.Int64N(n + 1) }

func (r *randomOrders) one(n int64) bool { return r.random.Int64N(n) == 0 }

// line returns one of three kinds of lines: with the price of the menu, with another price, which can be lower than the
// prices of its options, or without a product.
func (r *randomOrders) line() object {
	olives := r.dish.OptionGroups[0].Options[0]
	switch line := chosen(r.dish, int(1+r.upTo(4)), olives.ID, int(1+r.upTo(1))); r.upTo(2) {
	case 0:
		return line
	case 1:
		return altered(line, object{"unitPriceMinor": r.upTo(2000)})
	}
	line := object{"name": "Extra", "quantity": 1 + r.upTo(9), "unitPriceMinor": r.upTo(999)}
	if r.one(2) {
		line["taxRatePpm"] = r.upTo(300_000)
	}
	return line
}

func (r *randomOrders) place() (placed orderOut) {
	r.Helper()
	items := []any{altered(chosen(r.dish, 1), object{"unitPriceMinor": 1000 + r.upTo(999)})}
	for range r.upTo(5) {
		items = append(items, r.line())
	}
	body := object{"items": items, "channel": "C"}
	if r.one(2) {
		body = altered(delivery(), body)
	}
	if r.one(2) {
		body["deliveryFeeMinor"] = r.upTo(500)
	}
	if r.one(2) {
		body["discountMinor"] = r.upTo(500)
	}
	if r.one(2) {
		body = r.body(50+r.upTo(200), body)
	} else {
		body = altered(r.orderBody("own"), body)
	}
	var quote app.OrderQuote
	r.do("POST", "/orders/quote", r.key, body).ok(200, &quote)
	r.do("POST", "/orders", r.key, altered(body, object{"expectedTotalMinor": quote.TotalMinor})).ok(201, &placed)
	return placed
}

// change adds a line to an order, raises the others, and sets the delivery fee.
func (r *randomOrders) change(o orderOut) (changed orderOut) {
	r.Helper()
	items := []any{r.line()}
	for _, item := range o.Items {
		change := object{"quantity": item.Quantity + r.upTo(2)}
		if r.one(3) {
			change["unitPriceMinor"] = item.UnitPriceMinor + r.upTo(99)
		}
		items = append(items, kept(item, change))
	}
	r.amend(o, r.key, object{"items": items, "deliveryFeeMinor": r.upTo(500)}).ok(200, &changed)
	return changed
}

// checkTotals checks that the parts of an order add up.
func (r *randomOrders) checkTotals(o app.Order, taxedFee bool) {
	r.Helper()
	var lines, taxes, bases int64
	for _, item := range o.Items {
		if item.TotalMinor != item.UnitPriceMinor*item.Quantity {
			r.Errorf("line %+v: got total %d, want unit price × quantity", item, item.TotalMinor)
		}
		lines += item.TotalMinor
	}
	for _, tax := range o.Taxes {
		taxes, bases = taxes+tax.TaxMinor, bases+tax.BaseMinor
	}
	taxed, total := lines-o.DiscountMinor-o.LoyaltyMinor, lines-o.DiscountMinor-o.LoyaltyMinor+o.DeliveryFeeMinor
	if taxedFee {
		taxed += o.DeliveryFeeMinor
	}
	if o.TaxIncluded {
		taxed -= taxes
	} else {
		total += taxes
	}
	if lines != o.SubtotalMinor || taxes != o.TaxMinor || bases != taxed || total != o.TotalMinor {
		r.Errorf("got %+v; its lines add up to %d, its taxes to %d on %d, want taxes on %d and a total of %d", o, lines,
			taxes, bases, taxed, total)
	}
	var discount, wrong int64
	r.must(r.db.System().DB.QueryRowContext(r.Context(), `
		SELECT sum(discount_minor),
			count(*) FILTER (WHERE nets < 0 OR nets > total_minor - discount_minor OR lowest < 0)
		FROM order_items, LATERAL (SELECT coalesce(sum((o->>'netMinor')::bigint), 0) AS nets,
			coalesce(min((o->>'netMinor')::bigint), 0) AS lowest FROM jsonb_array_elements(options) o) n
		WHERE order_id = $1`, o.ID).Scan(&discount, &wrong))
	if discount != o.DiscountMinor+o.LoyaltyMinor || wrong > 0 {
		r.Errorf("got discounts of the lines of %d and %d lines whose options exceed them, want %d and 0", discount,
			wrong, o.DiscountMinor+o.LoyaltyMinor)
	}
}

// The parts of an order add up to its total, also if its caller sets the prices, and the tables of analytics have the
// sums of all orders.
func TestTotalsOfChannelOrders(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	r := &randomOrders{clubMember: w.addMemberOfClub(100_000), random: rand.New(rand.NewPCG(1, 2)), key: w.pricing()}
	r.dish = w.addDish(altered(extras(), object{"minSelections": 0}))
	for i := range 40 {
		taxed := r.one(2)
		w.do("PATCH", "/settings", w.tokens["OWNER"], object{"taxIncluded": r.one(2), "taxDeliveryFee": taxed}).
			ok(200, nil)
		o := r.place()
		r.checkTotals(o.Order, taxed)
		for range r.upTo(2) {
			o = r.change(o)
			r.checkTotals(o.Order, taxed)
		}
		if i%5 == 0 {
			w.do("PATCH", "/orders/"+string(o.ID)+"/status", r.key, statusBody("CANCELLED")).ok(200, nil)
		}
	}
	const sums = `concat_ws(' ', sum(subtotal_minor), sum(discount_minor + loyalty_minor), sum(tax_minor),
			sum(delivery_fee_minor), sum(item_count))`
	for name, query := range map[string][2]string{
		"sales": {
			"SELECT " + sums + " FROM orders WHERE status <> 'CANCELLED' AND store_id = $1",
			`SELECT concat_ws(' ', sum(gross_minor), sum(discount_minor), sum(tax_minor), sum(delivery_fee_minor),
				sum(items_sold)) FROM sales WHERE store_id = $1`,
		},
		"products": {
			`SELECT string_agg(text, ' ' ORDER BY text) FROM (
				SELECT concat(product_id, '=', sum(quantity), '/', sum(i.total_minor - i.discount_minor)) AS text
				FROM order_items i JOIN orders o ON o.id = i.order_id
				WHERE o.status <> 'CANCELLED' AND i.store_id = $1 GROUP BY product_id) x`,
			`SELECT string_agg(text, ' ' ORDER BY text) FROM (
				SELECT concat(product_id, '=', sum(quantity), '/', sum(net_minor)) AS text
				FROM product_sales WHERE store_id = $1 GROUP BY product_id) x`,
		},
		"options": {
			`SELECT concat(sum(i.quantity * (c->>'quantity')::bigint), '/', sum((c->>'netMinor')::bigint))
				FROM order_items i JOIN orders o ON o.id = i.order_id, jsonb_array_elements(i.options) c
				WHERE o.status <> 'CANCELLED' AND i.store_id = $1`,
			"SELECT concat(sum(quantity), '/', sum(net_minor)) FROM option_sales WHERE store_id = $1",
		},
	} {
		id := w.stores["own"].id
		if want, got := w.text(query[0], id), w.text(query[1], id); got != want || len(want) < 9 {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}
