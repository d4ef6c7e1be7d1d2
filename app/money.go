package app

import (
	"cmp"
	"math/bits"
	"slices"
	"strings"
)

// Currency is an ISO 4217 code in upper case.
type Currency string

// Currencies by their number of decimals, where that is not two (ISO 4217).
const (
	noDecimals    = " BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF "
	twoDecimals   = " AED AFN ALL AMD AOA ARS AUD AWG AZN BAM BBD BDT BMD BND BOB BRL BSD BTN BWP BYN BZD CAD CDF CHF CNY COP CRC CUP CVE CZK DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GTQ GYD HKD HNL HTG HUF IDR ILS INR IRR JMD KES KGS KHR KPW KYD KZT LAK LBP LKR LRD LSL MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK MXN MYR MZN NAD NGN NIO NOK NPR NZD PAB PEN PGK PHP PKR PLN QAR RON RSD RUB SAR SBD SCR SDG SEK SGD SHP SLE SOS SRD SSP STN SVC SYP SZL THB TJS TMT TOP TRY TTD TWD TZS UAH USD UYU UZS VED VES WST XCD YER ZAR ZMW ZWG "
	threeDecimals = " BHD IQD JOD KWD LYD OMR TND "
)

// Exponent returns how many decimals the currency has (0, 2 or 3), false when there is
// no such currency.
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
	// MaxPriceMinor bounds the price of one product, in minor units.
	MaxPriceMinor = 1_000_000_000_000
	// MaxAmountMinor bounds every total, in minor units: the largest integer that any
	// JSON reader keeps exactly.
	MaxAmountMinor = 1<<53 - 1

	million = 1_000_000 // tax rates are whole parts per million
)

// PricedLine is what the price of an order depends on, for one line.
type PricedLine struct {
	UnitPriceMinor int64 `json:"unitPriceMinor"` // 0 to MaxPriceMinor
	Quantity       int64 `json:"quantity"`       // 1 to 999
	TaxRatePPM     int64 `json:"taxRatePpm"`     // parts per million
}

// PriceRules is what the price of an order depends on besides its lines.
type PriceRules struct {
	DiscountMinor    int64 `json:"discountMinor"`
	DeliveryFeeMinor int64 `json:"deliveryFeeMinor"`
	TaxDeliveryFee   bool  `json:"taxDeliveryFee"` // the fee is taxed at TaxRatePPM
	TaxRatePPM       int64 `json:"taxRatePpm"`     // the store's default
	TaxIncluded      bool  `json:"taxIncluded"`    // prices contain the tax
}

// LineTotal is the outcome for one line.
type LineTotal struct {
	TotalMinor    int64 `json:"totalMinor"`    // before the discount
	DiscountMinor int64 `json:"discountMinor"` // this line's part of the order's discount
	TaxMinor      int64 `json:"taxMinor"`      // this line's part of the order's tax
}

// PayableMinor is what a line is of the order's total, and what giving back the whole line
// gives back. Over all lines, with the delivery fee and, unless prices contain it, its tax,
// it sums to that total.
func (l LineTotal) PayableMinor(taxIncluded bool) int64 {
	payable := l.TotalMinor - l.DiscountMinor
	if !taxIncluded {
		payable += l.TaxMinor
	}
	return payable
}

// Totals is the outcome of [Price]: Total = Subtotal − Discount + DeliveryFee, plus Tax
// unless prices contain it.
type Totals struct {
	Lines               []LineTotal `json:"lines"`
	SubtotalMinor       int64       `json:"subtotalMinor"`
	DiscountMinor       int64       `json:"discountMinor"`
	DeliveryFeeMinor    int64       `json:"deliveryFeeMinor"`
	DeliveryFeeTaxMinor int64       `json:"deliveryFeeTaxMinor"` // the delivery fee's part of the tax
	TaxMinor            int64       `json:"taxMinor"`
	TotalMinor          int64       `json:"totalMinor"`
}

// Price computes what an order costs (contract §5, Money). It returns VALIDATION_FAILED
// for a discount above the subtotal, AMOUNT_TOO_LARGE for amounts above MaxAmountMinor.
func Price(lines []PricedLine, rules PriceRules) (Totals, error) {
	t := Totals{
		Lines:         make([]LineTotal, len(lines)),
		DiscountMinor: rules.DiscountMinor, DeliveryFeeMinor: rules.DeliveryFeeMinor,
	}
	for i, line := range lines {
		t.Lines[i].TotalMinor = line.UnitPriceMinor * line.Quantity
		t.SubtotalMinor += t.Lines[i].TotalMinor
	}
	if t.SubtotalMinor > MaxAmountMinor || t.DeliveryFeeMinor > MaxAmountMinor {
		return Totals{}, amountTooLarge()
	}
	if t.DiscountMinor > t.SubtotalMinor {
		return Totals{}, Invalid("discountMinor", "must not be above the subtotal")
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
	return Errorf(CodeAmountTooLarge, "the amounts of this order are too large")
}

// spread divides an amount in proportion to weights: each gets its share, rounded down; what
// remains goes, one minor unit each, to those with the largest remainders, the earlier first.
// Without any weight nobody gets anything.
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

// addTax computes the tax of each group of one rate, each group rounded once, half up, and
// spreads it over the group's lines and, last, the delivery fee.
func (t *Totals) addTax(lines []PricedLine, rules PriceRules) {
	groups := map[int64][]int{} // by rate, the places of lines; that after the last is the fee's
	for i, line := range lines {
		groups[line.TaxRatePPM] = append(groups[line.TaxRatePPM], i)
	}
	if rules.TaxDeliveryFee {
		groups[rules.TaxRatePPM] = append(groups[rules.TaxRatePPM], len(lines))
	}
	for rate, places := range groups {
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
		for n, share := range spread(tax, weights) {
			if places[n] < len(lines) {
				t.Lines[places[n]].TaxMinor = share
			} else {
				t.DeliveryFeeTaxMinor = share
			}
		}
	}
}

// taxOf is ⌊(2·base·rate + divisor) / (2·divisor)⌋ in 128 bits.
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
