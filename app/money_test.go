package app_test

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
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
		Name     string
		Currency app.Currency
		Decimals int
		Lines    []app.PricedLine
		Rules    app.PriceRules
		Want     app.Totals
	}
	if err := json.Unmarshal(file, &vectors); err != nil {
		t.Fatal(err)
	}
	seen := map[int]bool{}
	for _, v := range vectors {
		got, err := app.Price(v.Lines, v.Rules)
		if diff := cmp.Diff(v.Want, got); err != nil || diff != "" {
			t.Errorf("%s: %v %s", v.Name, err, diff)
		}
		if decimals, ok := v.Currency.Exponent(); !ok || decimals != v.Decimals {
			t.Errorf("%s: %s has %d decimals, %v", v.Name, v.Currency, decimals, ok)
		}
		seen[v.Decimals] = true
	}
	if !seen[0] || !seen[2] || !seen[3] || len(vectors) < 20 {
		t.Errorf("%d vectors, with decimals %v", len(vectors), seen)
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
		var totals, discounts, taxes, refunds int64
		for i, l := range got.Lines {
			totals += l.TotalMinor
			discounts += l.DiscountMinor
			taxes += l.TaxMinor
			refunds += l.PayableMinor(rules.TaxIncluded)
			if l.DiscountMinor < 0 || l.DiscountMinor > l.TotalMinor || l.TaxMinor < 0 || l.TaxMinor > l.TotalMinor-l.DiscountMinor {
				t.Fatalf("line %d: %+v", i, l)
			}
		}
		refunds += got.DeliveryFeeMinor
		if !rules.TaxIncluded {
			refunds += got.DeliveryFeeTaxMinor
		}
		if taxes+got.DeliveryFeeTaxMinor != got.TaxMinor || refunds != got.TotalMinor {
			t.Fatalf("the lines give back %d, with taxes of %d: %+v", refunds, taxes, got)
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

// TestNoFloats: nothing in this package computes with floating-point numbers.
func TestNoFloats(t *testing.T) {
	t.Parallel()
	names, err := filepath.Glob("*.go")
	if err != nil || len(names) < 20 {
		t.Fatal(names, err)
	}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.Ident:
				if n.Name == "float64" || n.Name == "float32" {
					t.Errorf("%s has a %s", name, n.Name)
				}
			case *ast.BasicLit:
				if n.Kind == token.FLOAT {
					t.Errorf("%s has %s", name, n.Value)
				}
			}
			return true
		})
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
