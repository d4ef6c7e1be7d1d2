package app_test

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/comanda-dev/comanda/app"
)

// testdata/money.json was computed with exact fractions in another language. Clients can test against it, too.
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
			t.Errorf("%s: error %v, price (-want +got):\n%s", v.Name, err, diff)
		}
		if decimals, ok := v.Currency.Exponent(); !ok || decimals != v.Decimals {
			t.Errorf("%s: decimals of %s: %d, %v, want %d", v.Name, v.Currency, decimals, ok, v.Decimals)
		}
		seen[v.Decimals] = true
	}
	if !seen[0] || !seen[2] || !seen[3] || len(vectors) < 20 {
		t.Errorf("%d vectors with decimals %v, want at least 20 with 0, 2 and 3", len(vectors), seen)
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
		var totals, discounts, taxes int64
		for i, l := range got.Lines {
			totals += l.TotalMinor
			discounts += l.DiscountMinor
			taxes += l.TaxMinor
			net := l.TotalMinor - l.DiscountMinor
			if l.DiscountMinor < 0 || net < 0 || l.TaxMinor < 0 || l.TaxMinor > net {
				t.Fatalf("line %d: %+v, want 0 ≤ discount ≤ total and 0 ≤ tax ≤ total − discount", i, l)
			}
		}
		var byRate, bases int64
		for i, tax := range got.Taxes {
			byRate += tax.TaxMinor
			bases += tax.BaseMinor
			if i > 0 && tax.RatePPM <= got.Taxes[i-1].RatePPM || tax.BaseMinor < 0 || tax.TaxMinor < 0 {
				t.Fatalf("taxes: got %+v, want ascending rates and no negative amounts", got.Taxes)
			}
		}
		taxed := subtotal - rules.DiscountMinor
		if rules.TaxDeliveryFee {
			taxed += rules.DeliveryFeeMinor
		}
		if rules.TaxIncluded {
			taxed -= got.TaxMinor
		}
		if byRate != got.TaxMinor || bases != taxed {
			t.Fatalf("taxes: got %+v, which add up to %d on %d, want %d on %d", got.Taxes, byRate, bases, got.TaxMinor, taxed)
		}
		if taxes+got.DeliveryFeeTaxMinor != got.TaxMinor {
			t.Fatalf("taxes of all lines add up to %d, want the tax of %+v", taxes, got)
		}
		want := got.SubtotalMinor - got.DiscountMinor + got.DeliveryFeeMinor
		if !rules.TaxIncluded {
			want += got.TaxMinor
		}
		if totals != subtotal || got.SubtotalMinor != subtotal || discounts != rules.DiscountMinor ||
			got.TotalMinor != want || got.TaxMinor < 0 {
			t.Fatalf("%+v, want subtotal %d, discount %d, total %d", got, subtotal, rules.DiscountMinor, want)
		}
	})
}

func TestPriceErrors(t *testing.T) {
	t.Parallel()
	line := app.PricedLine{UnitPriceMinor: app.MaxPriceMinor, Quantity: 999}
	taxed := line
	taxed.TaxRatePPM = 1e6
	for name, test := range map[string]struct {
		lines []app.PricedLine
		rules app.PriceRules
		want  app.Code
	}{
		"subtotal too large": {slices.Repeat([]app.PricedLine{line}, 10), app.PriceRules{}, app.CodeAmountTooLarge},
		"total too large with tax": {
			append([]app.PricedLine{taxed}, slices.Repeat([]app.PricedLine{line}, 8)...), app.PriceRules{},
			app.CodeAmountTooLarge,
		},
		"a unit beyond int64": {
			[]app.PricedLine{{UnitPriceMinor: 2_000_000_000_000_000_000, Quantity: 999}}, app.PriceRules{},
			app.CodeAmountTooLarge,
		},
		"a line beyond the largest amount": {
			[]app.PricedLine{{UnitPriceMinor: app.MaxAmountMinor/2 + 1, Quantity: 2}}, app.PriceRules{},
			app.CodeAmountTooLarge,
		},
		"discount above the subtotal": {
			[]app.PricedLine{{UnitPriceMinor: 100, Quantity: 1}}, app.PriceRules{DiscountMinor: 101},
			app.CodeValidationFailed,
		},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := app.Price(test.lines, test.rules); app.CodeOf(err) != test.want {
				t.Errorf("%s: %v, want %s", name, err, test.want)
			}
		})
	}
}

// TestNoFloats checks that the package does not use floating-point numbers, which cannot represent amounts exactly.
func TestNoFloats(t *testing.T) {
	t.Parallel()
	names, err := filepath.Glob("*.go")
	if err != nil || len(names) < 20 {
		t.Fatalf("found %d source files, error %v, want at least 20", len(names), err)
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
					t.Errorf("%s uses %s", name, n.Name)
				}
			case *ast.BasicLit:
				if n.Kind == token.FLOAT {
					t.Errorf("%s contains the floating-point number %s", name, n.Value)
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
			t.Errorf("decimals of %s: %d, %v, want %d", currency, got, ok, want)
		}
	}
	for _, none := range []app.Currency{"", "eur", "XXX", "EU", " EU", "R U", "EURO"} {
		if _, ok := none.Exponent(); ok {
			t.Errorf("%q is accepted as a currency", none)
		}
	}
}
