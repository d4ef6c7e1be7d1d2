package app_test

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/comanda-dev/comanda/app"
)

// For every line: the net amounts of its options are not negative, do not exceed their prices and, with the rest of the
// line, add up to the line after its discount.
func TestOptionNets(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		quantity := rapid.Int64Range(1, 999).Draw(t, "quantity")
		var chosen []app.OrderOption
		line := app.LineTotal{TotalMinor: rapid.Int64Range(0, 100_000).Draw(t, "rest")}
		rest := line.TotalMinor
		for range rapid.IntRange(0, 10).Draw(t, "options") {
			option := app.OrderOption{
				PriceMinor: rapid.Int64Range(0, 10_000).Draw(t, "price"),
				Quantity:   rapid.Int64Range(1, 9).Draw(t, "portions"),
			}
			chosen = append(chosen, option)
			line.TotalMinor += option.PriceMinor * option.Quantity * quantity
		}
		line.DiscountMinor = rapid.Int64Range(0, line.TotalMinor).Draw(t, "discount")
		nets := app.OptionNets(chosen, quantity, line)
		left := line.TotalMinor - line.DiscountMinor
		for i, net := range nets {
			left -= net
			if net < 0 || net > chosen[i].PriceMinor*chosen[i].Quantity*quantity {
				t.Fatalf("net amount of option %d of %+v: got %d", i, chosen, net)
			}
		}
		if len(nets) != len(chosen) || left < 0 || left > rest {
			t.Fatalf("net amounts %v leave %d of %+v, want 0 to %d", nets, left, line, rest)
		}
	})
}

// If the price of a line is its own and lower than its options, they share the line in proportion to their prices, and
// nothing remains.
func TestOptionNetsOfOwnPrice(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		quantity := rapid.Int64Range(1, 999).Draw(t, "quantity")
		var chosen []app.OrderOption
		for range rapid.IntRange(1, 10).Draw(t, "options") {
			chosen = append(chosen, app.OrderOption{
				PriceMinor: rapid.Int64Range(1, app.MaxPriceMinor).Draw(t, "price"),
				Quantity:   rapid.Int64Range(1, 999).Draw(t, "portions"),
			})
		}
		price := rapid.Int64Range(0, min(app.OptionsPrice(chosen)-1, app.MaxPriceMinor)).Draw(t, "own price")
		line := app.LineTotal{TotalMinor: price * quantity}
		line.DiscountMinor = rapid.Int64Range(0, line.TotalMinor).Draw(t, "discount")
		left := line.TotalMinor - line.DiscountMinor
		nets := app.OptionNets(chosen, quantity, line)
		for i, net := range nets {
			left -= net
			if net < 0 {
				t.Fatalf("net amount of option %d of %+v: got %d", i, chosen, net)
			}
		}
		if len(nets) != len(chosen) || left != 0 {
			t.Fatalf("net amounts %v leave %d of %+v, want 0", nets, left, line)
		}
	})
}
