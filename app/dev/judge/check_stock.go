package main

import (
	"fmt"
	"maps"
	"slices"
)

// adjustments are the sums of the changes of a stock that were requested: confirmed ones, and those without a response.
type adjustments struct{ confirmed, unknown int64 }

// adjusted returns the requested changes by product. They are positive.
func adjusted(h *history) map[string]adjustments {
	all := map[string]adjustments{}
	for _, o := range h.Operations {
		sum := all[o.Subject]
		switch {
		case o.Kind != "change stock":
		case o.Result == done:
			sum.confirmed += o.Amount
		case o.Result == unknown:
			sum.unknown += o.Amount
		}
		all[o.Subject] = sum
	}
	return all
}

// checkStock checks docs/behaviour.md#products: orders take from the stock, cancellations return it. The changes of a
// stock by transactions of orders add up to the units that orders hold, and the others to the confirmed adjustments. A
// product whose stock was not always counted is left out.
func checkStock(h *history, s *state) (found []violation) {
	requested := adjusted(h)
	orders := map[uint64]bool{}
	for _, c := range s.Changes {
		orders[c.XID] = true
	}
	taken := map[string]int64{}
	for _, i := range s.Items {
		if !s.Orders[i.Order].cancelled() {
			taken[i.Product] += i.StockTaken
		}
	}
	for id, versions := range s.Stocks {
		if slices.ContainsFunc(versions, func(p productRow) bool { return p.Stock == nil }) {
			continue
		}
		left, more := int64(0), int64(0)
		for i, p := range versions {
			if *p.Stock < 0 {
				found = append(found, violation{Text: fmt.Sprintf("the stock of %s was %d", id, *p.Stock)})
			}
			switch {
			case i == 0:
			case orders[p.XID]:
				left += *p.Stock - *versions[i-1].Stock
			default:
				more += *p.Stock - *versions[i-1].Stock
			}
		}
		if want := requested[id]; more < want.confirmed || more > want.confirmed+want.unknown {
			found = append(found, violation{Text: fmt.Sprintf("adjustments of %s add %d, %d are confirmed and %d unknown", id,
				more, want.confirmed, want.unknown)})
		}
		if -left != taken[id] {
			found = append(found, violation{Text: fmt.Sprintf("orders have taken %d of %s, and hold %d", -left, id, taken[id])})
		}
	}
	return found
}

// checkAnalytics checks docs/behaviour.md#analytics: the kept sums are those of the orders. Cancelled orders count in
// cancelledOrders only.
func checkAnalytics(_ *history, s *state) (found []violation) {
	sales, kept := map[salesRow]salesRow{}, map[salesRow]salesRow{}
	days, keptDays := map[customerDayRow]int64{}, map[customerDayRow]int64{}
	for _, o := range s.Orders {
		of := salesRow{Store: o.Store, Day: o.Day, Fulfillment: o.Fulfillment, Currency: o.Currency}
		if o.Channel != nil {
			of.Channel = *o.Channel
		}
		row := salesRow{CancelledOrders: 1}
		if !o.cancelled() {
			row = salesRow{
				Orders: 1, GuestOrders: 1, GrossMinor: o.SubtotalMinor, DiscountMinor: o.DiscountMinor + o.LoyaltyMinor,
				TaxMinor: o.TaxMinor, DeliveryFeeMinor: o.DeliveryFeeMinor, ItemsSold: o.ItemCount,
			}
			if o.Customer != nil {
				days[customerDayRow{Customer: *o.Customer, Day: o.Day}]++
				if s.Customers[*o.Customer].Kind != "guest" {
					row.GuestOrders = 0
				}
			}
		}
		sales[of] = sales[of].plus(row)
	}
	for _, row := range s.Sales {
		of := salesRow{
			Store: row.Store, Day: row.Day, Channel: row.Channel, Fulfillment: row.Fulfillment, Currency: row.Currency,
		}
		kept[of] = kept[of].plus(row)
	}
	for _, row := range s.CustomerDay {
		keptDays[customerDayRow{Customer: row.Customer, Day: row.Day}] += row.Orders
	}
	found = append(found, differences("sales", sales, kept)...)
	found = append(found, differences("orders of a customer", days, keptDays)...)
	return append(found, checkProductSales(s)...)
}

// plus returns the sums of two rows, without what they are sums of.
func (r salesRow) plus(o salesRow) salesRow {
	return salesRow{
		Orders: r.Orders + o.Orders, GuestOrders: r.GuestOrders + o.GuestOrders,
		CancelledOrders: r.CancelledOrders + o.CancelledOrders, GrossMinor: r.GrossMinor + o.GrossMinor,
		DiscountMinor: r.DiscountMinor + o.DiscountMinor, TaxMinor: r.TaxMinor + o.TaxMinor,
		DeliveryFeeMinor: r.DeliveryFeeMinor + o.DeliveryFeeMinor, ItemsSold: r.ItemsSold + o.ItemsSold,
	}
}

func checkProductSales(s *state) []violation {
	sales, kept := map[productSalesRow][2]int64{}, map[productSalesRow][2]int64{}
	for _, i := range s.Items {
		o := s.Orders[i.Order]
		if !o.cancelled() {
			of := productSalesRow{Store: o.Store, Day: o.Day, Product: i.Product, Currency: o.Currency}
			sum := sales[of]
			sales[of] = [2]int64{sum[0] + i.Quantity, sum[1] + i.TotalMinor - i.DiscountMinor}
		}
	}
	for _, row := range s.Products {
		of := productSalesRow{Store: row.Store, Day: row.Day, Product: row.Product, Currency: row.Currency}
		kept[of] = [2]int64{row.Quantity, row.NetMinor}
	}
	return differences("sales of a product", sales, kept)
}

// differences returns a violation for each key with different values. A missing value is zero.
func differences[K, V comparable](of string, want, got map[K]V) (found []violation) {
	keys := map[K]V{}
	maps.Copy(keys, want)
	maps.Copy(keys, got)
	for key := range keys {
		if want[key] != got[key] {
			found = append(found, violation{Text: fmt.Sprintf("%s %v: got %v, want %v", of, key, got[key], want[key])})
		}
	}
	return found
}
