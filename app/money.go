package app

import (
	"cmp"
	"maps"
	"math/bits"
	"slices"
	"strings"
)

// Currency is an ISO 4217 code in upper case.
type Currency string

// Currency codes by number of decimals (ISO 4217). Each list begins and ends with a space.
const (
	noDecimals  = " BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF "
	twoDecimals = " " +
		"AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BMD BND BOB BRL BSD BTN BWP BYN BZD CAD " +
		"CDF CHF CNY COP CRC CUP CVE CZK DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD " +
		"GTQ GYD HKD HNL HTG HUF IDR ILS INR IRR JMD KES KGS KHR KPW KYD KZT LAK LBP LKR LRD LSL " +
		"MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MYR MZN NAD NGN NIO NOK NPR NZD PAB PEN " +
		"PGK PHP PKR PLN QAR RON RSD RUB SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP STN SVC SYP " +
		"SZL THB TJS TMT TOP TRY TTD TWD TZS UAH USD UYU UZS VED VES WST XCD YER ZAR ZMW ZWG "
	threeDecimals = " BHD IQD JOD KWD LYD OMR TND "
)

// Exponent returns the number of decimals of the currency (0, 2 or 3). It returns false for an unknown currency.
func (c Currency) Exponent() (int, bool) {
	if len(c) != 3 {
		return 0, false
	}
	for exponent, list := range map[int]string{0: noDecimals, 2: twoDecimals, 3: threeDecimals} {
		if strings.Contains(list, " "+string(c)+" ") {
			return exponent, true
		}
	}
	return 0, false
}

const (
	// MaxPriceMinor is the maximum price of one product in minor units.
	MaxPriceMinor = 1_000_000_000_000
	// MaxAmountMinor is the maximum of every total in minor units. JSON readers that use floating-point numbers
	// represent all integers up to this one exactly.
	MaxAmountMinor = 1<<53 - 1

	million = 1_000_000 // denominator of tax rates, which are whole parts per million
)

// PricedLine is the input of [Price] for one line of an order.
type PricedLine struct {
	UnitPriceMinor int64 `json:"unitPriceMinor"` // with options
	Quantity       int64 `json:"quantity"`       // 1 to 999
	TaxRatePPM     int64 `json:"taxRatePpm"`     // parts per million
}

// PriceRules is the input of [Price] that concerns the order as a whole.
type PriceRules struct {
	DiscountMinor    int64 `json:"discountMinor"`
	DeliveryFeeMinor int64 `json:"deliveryFeeMinor"`
	TaxDeliveryFee   bool  `json:"taxDeliveryFee"` // the delivery fee is taxed at TaxRatePPM
	TaxRatePPM       int64 `json:"taxRatePpm"`     // the store's default
	TaxIncluded      bool  `json:"taxIncluded"`    // prices include tax
}

// LineTotal is the result of [Price] for one line.
type LineTotal struct {
	TotalMinor    int64 `json:"totalMinor"`    // before the discount
	DiscountMinor int64 `json:"discountMinor"` // share of the order's discount
	TaxMinor      int64 `json:"taxMinor"`      // share of the order's tax
}

// Tax is the tax of all parts of an order with one rate.
type Tax struct {
	RatePPM   int64 `json:"ratePpm"`   // parts per million
	BaseMinor int64 `json:"baseMinor"` // net amount: after discounts, without the tax
	TaxMinor  int64 `json:"taxMinor"`
}

// Totals is the result of [Price]: Total = Subtotal − Discount + DeliveryFee, plus Tax unless prices include tax.
type Totals struct {
	Lines               []LineTotal `json:"lines"`
	SubtotalMinor       int64       `json:"subtotalMinor"`
	DiscountMinor       int64       `json:"discountMinor"`
	DeliveryFeeMinor    int64       `json:"deliveryFeeMinor"`
	DeliveryFeeTaxMinor int64       `json:"deliveryFeeTaxMinor"` // share of the delivery fee in the tax
	TaxMinor            int64       `json:"taxMinor"`
	Taxes               []Tax       `json:"taxes"` // by rate, the lowest first
	TotalMinor          int64       `json:"totalMinor"`
}

// Price computes the price of an order (docs/behaviour.md#money). It returns VALIDATION_FAILED if the discount exceeds
// the subtotal, and AMOUNT_TOO_LARGE if an amount exceeds MaxAmountMinor.
func Price(lines []PricedLine, rules PriceRules) (Totals, error) {
	t := Totals{
		Lines:         make([]LineTotal, len(lines)),
		DiscountMinor: rules.DiscountMinor, DeliveryFeeMinor: rules.DeliveryFeeMinor,
	}
	for i, line := range lines {
		if line.UnitPriceMinor > MaxAmountMinor/line.Quantity {
			return Totals{}, amountTooLarge()
		}
		t.Lines[i].TotalMinor = line.UnitPriceMinor * line.Quantity
		t.SubtotalMinor += t.Lines[i].TotalMinor
	}
	if t.SubtotalMinor > MaxAmountMinor || t.DeliveryFeeMinor > MaxAmountMinor {
		return Totals{}, amountTooLarge()
	}
	if t.DiscountMinor > t.SubtotalMinor {
		return Totals{}, Invalid("discountMinor", "must not exceed the subtotal")
	}
	weights := make([]int64, len(lines))
	for i, line := range t.Lines {
		weights[i] = line.TotalMinor
	}
	for i, share := range spread(t.DiscountMinor, weights) {
		t.Lines[i].DiscountMinor = share
	}
	t.addTax(lines, rules)
	t.TotalMinor = t.SubtotalMinor - t.DiscountMinor + t.DeliveryFeeMinor
	if !rules.TaxIncluded {
		t.TotalMinor += t.TaxMinor
	}
	if t.TotalMinor > MaxAmountMinor || t.TaxMinor > MaxAmountMinor {
		return Totals{}, amountTooLarge()
	}
	return t, nil
}

func amountTooLarge() *Error {
	return Errorf(CodeAmountTooLarge, "the amounts of this order are too large; reduce the quantities")
}

// spread distributes an amount in proportion to weights by the largest remainder method. On equal remainders, the
// earlier share gets the additional minor unit. If the sum of the weights is zero, all shares are zero.
func spread(amount int64, weights []int64) []int64 {
	shares := make([]int64, len(weights))
	var total int64
	for _, weight := range weights {
		total += weight
	}
	if total == 0 {
		return shares
	}
	remainders := make([]uint64, len(weights))
	order := make([]int, len(weights))
	left := amount
	for i, weight := range weights {
		high, low := bits.Mul64(uint64(amount), uint64(weight))
		share, remainder := bits.Div64(high, low, uint64(total))
		shares[i], remainders[i], order[i] = int64(share), remainder, i
		left -= int64(share)
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(remainders[b], remainders[a]) })
	for _, i := range order[:left] {
		shares[i]++
	}
	return shares
}

// addTax computes the tax of each group of lines with the same rate, rounds it half up once per group, and distributes
// it over the lines of the group. A taxed delivery fee is the last line of the group of the default rate.
func (t *Totals) addTax(lines []PricedLine, rules PriceRules) {
	groups := map[int64][]int{} // indexes of lines by rate; len(lines) is the delivery fee
	for i, line := range lines {
		groups[line.TaxRatePPM] = append(groups[line.TaxRatePPM], i)
	}
	if rules.TaxDeliveryFee {
		groups[rules.TaxRatePPM] = append(groups[rules.TaxRatePPM], len(lines))
	}
	for _, rate := range slices.Sorted(maps.Keys(groups)) {
		places := groups[rate]
		weights := make([]int64, len(places))
		var base int64
		for n, place := range places {
			if weights[n] = t.DeliveryFeeMinor; place < len(lines) {
				weights[n] = t.Lines[place].TotalMinor - t.Lines[place].DiscountMinor
			}
			base += weights[n]
		}
		tax := taxOf(base, rate, rules.TaxIncluded)
		t.TaxMinor += tax
		if places[0] < len(lines) || base > 0 { // a delivery fee of 0 is no part of the order
			entry := Tax{RatePPM: rate, BaseMinor: base, TaxMinor: tax}
			if rules.TaxIncluded {
				entry.BaseMinor -= tax
			}
			t.Taxes = append(t.Taxes, entry)
		}
		for n, share := range spread(tax, weights) {
			if places[n] < len(lines) {
				t.Lines[places[n]].TaxMinor = share
			} else {
				t.DeliveryFeeTaxMinor = share
			}
		}
	}
}

// taxOf returns ⌊(2·base·rate + divisor) / (2·divisor)⌋, computed in 128 bits.
func taxOf(base, rate int64, included bool) int64 {
	divisor := int64(million)
	if included {
		divisor += rate
	}
	high, low := bits.Mul64(2*uint64(base), uint64(rate))
	low, carry := bits.Add64(low, uint64(divisor), 0)
	tax, _ := bits.Div64(high+carry, low, 2*uint64(divisor))
	return int64(tax)
}
