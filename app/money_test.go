package app_test

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/comanda-dev/comanda/app"
)

// testdata/money.json was computed with exact fractions in another language; clients can
// test against it.
func TestMoneyVectors(t *testing.T) {
	t.Parallel()
	file, err := os.ReadFile("testdata/money.json")
	if err != nil {
		t.Fatal(err)
	}
	var vectors []struct {
		Name  string
		Lines []app.PricedLine
		Rules app.PriceRules
		Want  app.Totals
	}
	if err := json.Unmarshal(file, &vectors); err != nil {
		t.Fatal(err)
	}
	for _, v := range vectors {
		got, err := app.Price(v.Lines, v.Rules)
		if diff := cmp.Diff(v.Want, got); err != nil || diff != "" {
			t.Errorf("%s: %v %s", v.Name, err, diff)
		}
	}
}

func TestPriceIdentities(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		line := rapid.Custom(func(t *rapid.T) app.PricedLine {
			return app.PricedLine{
				UnitPriceMinor: rapid.Int64Range(0, 1_000_000_000).Draw(t, "price"),
				Quantity:       rapid.Int64Range(1, 999).Draw(t, "quantity"),
				TaxRatePPM:     rapid.Int64Range(0, 1_000_000).Draw(t, "rate"),
			}
		})
		lines := rapid.SliceOfN(line, 1, 100).Draw(t, "lines")
		var subtotal int64
		for _, l := range lines {
			subtotal += l.UnitPriceMinor * l.Quantity
		}
		rules := app.PriceRules{
			DiscountMinor:    rapid.Int64Range(0, subtotal).Draw(t, "discount"),
			DeliveryFeeMinor: rapid.Int64Range(0, 100_000).Draw(t, "fee"),
			TaxDeliveryFee:   rapid.Bool().Draw(t, "fee taxed"),
			TaxRatePPM:       rapid.Int64Range(0, 1_000_000).Draw(t, "default rate"),
			TaxIncluded:      rapid.Bool().Draw(t, "included"),
		}
		got, err := app.Price(lines, rules)
		if err != nil {
			t.Fatal(err)
		}
		var totals, discounts int64
		for i, l := range got.Lines {
			totals += l.TotalMinor
			discounts += l.DiscountMinor
			if l.DiscountMinor < 0 || l.DiscountMinor > l.TotalMinor {
				t.Fatalf("line %d: %+v", i, l)
			}
		}
		want := got.SubtotalMinor - got.DiscountMinor + got.DeliveryFeeMinor
		if !rules.TaxIncluded {
			want += got.TaxMinor
		}
		if totals != subtotal || got.SubtotalMinor != subtotal || discounts != rules.DiscountMinor || got.TotalMinor != want || got.TaxMinor < 0 {
			t.Fatalf("%+v", got)
		}
	})
}

func TestPriceRefusals(t *testing.T) {
	t.Parallel()
	line := app.PricedLine{UnitPriceMinor: app.MaxPriceMinor, Quantity: 999}
	for name, test := range map[string]struct {
		lines []app.PricedLine
		rules app.PriceRules
		want  app.Code
	}{
		"too large":             {[]app.PricedLine{line, line, line, line, line, line, line, line, line, line}, app.PriceRules{}, app.CodeAmountTooLarge},
		"too large with tax":    {[]app.PricedLine{{UnitPriceMinor: app.MaxPriceMinor, Quantity: 999, TaxRatePPM: 1e6}, line, line, line, line, line, line, line, line}, app.PriceRules{}, app.CodeAmountTooLarge},
		"discount above it all": {[]app.PricedLine{{UnitPriceMinor: 100, Quantity: 1}}, app.PriceRules{DiscountMinor: 101}, app.CodeValidationFailed},
	} {
		if _, err := app.Price(test.lines, test.rules); app.CodeOf(err) != test.want {
			t.Errorf("%s: %v, want %s", name, err, test.want)
		}
	}
}

func TestCurrencyExponent(t *testing.T) {
	t.Parallel()
	for currency, want := range map[app.Currency]int{"EUR": 2, "USD": 2, "JPY": 0, "KWD": 3, "CLP": 0} {
		if got, ok := currency.Exponent(); got != want || !ok {
			t.Errorf("%s: %d, %v", currency, got, ok)
		}
	}
	for _, none := range []app.Currency{"", "eur", "XXX", "EU", " EU", "R U", "EURO"} {
		if _, ok := none.Exponent(); ok {
			t.Errorf("%q is a currency", none)
		}
	}
}
