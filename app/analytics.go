package app

import (
	"cmp"
	"slices"
	"time"
)

// MaxSalesBuckets is the maximum number of rows of [Period.Plot]: two currencies by hour for a year. More would make
// responses of many MiB.
const MaxSalesBuckets = 20_000

// MaxPeriodDays is the maximum length of a [Period] in days.
const MaxPeriodDays = 366

// Period is a range of business days of a store. Both days are included. Each day is represented by its midnight in
// UTC.
type Period struct{ From, To time.Time }

// ParsePeriod parses the first and the last day of a period, each as YYYY-MM-DD. It returns VALIDATION_FAILED if one
// of them is not a date since 1970, if to is before from, or if the period is longer than MaxPeriodDays.
func ParsePeriod(from, to string) (Period, error) {
	var p Period
	var err error
	if p.From, err = time.Parse(time.DateOnly, from); err != nil {
		return p, Invalid("from", "must be a date such as 2026-03-14")
	}
	if p.To, err = time.Parse(time.DateOnly, to); err != nil {
		return p, Invalid("to", "must be a date such as 2026-03-14")
	}
	if p.From.Year() < 1970 {
		return p, Invalid("from", "must not be before 1970")
	}
	if p.To.Before(p.From) {
		return p, Invalid("to", "must not be before from")
	}
	if p.To.Sub(p.From) >= MaxPeriodDays*24*time.Hour {
		return p, Invalid("to", "must be less than 366 days after from")
	}
	return p, nil
}

// Hours returns the start (inclusive) and the end (exclusive) of the period in a time zone. The business days of the
// store begin at the hour cutoff.
func (p Period) Hours(zone *time.Location, cutoff int) (from, to time.Time) {
	return startOfDay(p.From, zone, cutoff), startOfDay(p.To.AddDate(0, 0, 1), zone, cutoff)
}

// Interval is the length of the buckets of [Period.Plot].
type Interval string

const (
	Hourly  Interval = "hour" // an hour of the store's clock
	Daily   Interval = "day"  // a business day
	Weekly  Interval = "week" // seven business days, beginning on Monday
	Monthly Interval = "month"
)

// Sales is the sales of a store in one currency (docs/behaviour.md#analytics). Cancelled orders count in
// cancelledOrders only. Amounts are in minor units.
type Sales struct {
	Currency          Currency `json:"currency"`
	Orders            int64    `json:"orders"` // without cancelled orders
	CancelledOrders   int64    `json:"cancelledOrders"`
	GrossMinor        int64    `json:"grossMinor"` // sum of all items before discounts
	DiscountMinor     int64    `json:"discountMinor"`
	NetMinor          int64    `json:"netMinor"` // grossMinor − discountMinor
	TaxMinor          int64    `json:"taxMinor"`
	DeliveryFeeMinor  int64    `json:"deliveryFeeMinor"`
	RefundedMinor     int64    `json:"refundedMinor"`     // counted on the day of the refund
	AverageOrderMinor int64    `json:"averageOrderMinor"` // netMinor / orders, rounded half up; 0 without orders
	ItemsSold         int64    `json:"itemsSold"`
}

// SalesBucket is the sales of one bucket (hour, day, week or month) in one currency.
type SalesBucket struct {
	// first day of the bucket, YYYY-MM-DD; for an hour its start in the store's time zone, with offset
	Bucket string `json:"bucket"`
	Sales
}

// ProductSales is the sales of one product, or of all ad hoc lines, in one currency.
type ProductSales struct {
	ProductID   *ProductID `json:"productId"`   // null = ad hoc lines
	ProductName string     `json:"productName"` // the current name in the store's default view; empty for ad hoc lines
	Currency    Currency   `json:"currency"`
	Quantity    int64      `json:"quantity"`
	NetMinor    int64      `json:"netMinor"` // after discounts
}

// OptionSales is the sales of one option of a product in one currency.
type OptionSales struct {
	ProductID ProductID     `json:"productId"`
	GroupID   OptionGroupID `json:"groupId"`
	GroupName string        `json:"groupName"` // in the default view, or as in the last order if it was removed
	OptionID  OptionID      `json:"optionId"`
	Name      string        `json:"name"` // as groupName
	Currency  Currency      `json:"currency"`
	Quantity  int64         `json:"quantity"` // in all units of the product
	NetMinor  int64         `json:"netMinor"` // after the share of the line's discount
}

// CustomerCounts counts the customers and orders of a period.
type CustomerCounts struct {
	NewCustomers       int64 `json:"newCustomers"`       // registered or first ordered as a guest in the period
	ReturningCustomers int64 `json:"returningCustomers"` // ordered in the period and were known before it
	GuestOrders        int64 `json:"guestOrders"`        // without cancelled orders
	RegisteredOrders   int64 `json:"registeredOrders"`   // without cancelled orders
}

// SoldOn is the sales of one business day or of a part of it, in one currency. It is the input of [Sum] and
// [Period.Plot], which ignore its NetMinor and AverageOrderMinor.
type SoldOn struct {
	Day time.Time // midnight in UTC
	At  time.Time // start of the part within the day, for hourly buckets; otherwise zero
	Sales
}

// Sum adds up the sales by currency, sorted by currency. Currencies without sales get a row of zeros if they are listed
// in currencies. It returns AMOUNT_TOO_LARGE if a sum exceeds MaxAmountMinor.
func Sum(sold []SoldOn, currencies []Currency) ([]Sales, error) {
	buckets, err := fold(sold, currencies, []bucket{{}}, func(SoldOn) bucket { return bucket{} })
	sales := make([]Sales, len(buckets))
	for i, b := range buckets {
		sales[i] = b.Sales
	}
	return sales, err
}

// Plot adds up the sales by bucket and currency, sorted by time and then by currency. Like [Sum], it returns
// AMOUNT_TOO_LARGE if a sum exceeds MaxAmountMinor. It returns LIMIT_REACHED if there are more than MaxSalesBuckets
// rows. The result contains every bucket of the period, including those without sales. If a week or month begins or
// ends outside the period, only its days inside count. An hour is an hour of the zone's clock; a day on which clocks
// change has 23 or 25. Business days begin at the hour cutoff.
func (p Period) Plot(
	sold []SoldOn, currencies []Currency, by Interval, zone *time.Location, cutoff int,
) ([]SalesBucket, error) {
	var buckets []bucket
	if by == Hourly {
		from, to := p.Hours(zone, cutoff)
		for at := from; at.Before(to); at = at.Add(quarter) { // clocks can change by less than an hour
			buckets = append(buckets, bucketOfHour(at, zone))
		}
	} else {
		for day := p.From; !day.After(p.To); day = day.AddDate(0, 0, 1) {
			buckets = append(buckets, bucketOfDay(day, by))
		}
	}
	return fold(sold, currencies, buckets, func(s SoldOn) bucket {
		if by == Hourly {
			return bucketOfHour(s.At, zone)
		}
		return bucketOfDay(s.Day, by)
	})
}

// quarter divides every hour of every time zone, including hours cut short by a clock change.
const quarter = 15 * time.Minute

// bucket identifies one bucket.
type bucket struct {
	start int64 // Unix seconds, for sorting
	label string
}

func bucketOfHour(at time.Time, zone *time.Location) bucket {
	local := at.In(zone)
	into := time.Duration(local.Minute())*time.Minute + time.Duration(local.Second())*time.Second
	return bucket{local.Add(-into).Unix(), local.Format("2006-01-02T15:00:00Z07:00")}
}

func bucketOfDay(day time.Time, by Interval) bucket {
	switch by {
	case Weekly:
		day = day.AddDate(0, 0, -(int(day.Weekday())+6)%7)
	case Monthly:
		day = day.AddDate(0, 0, 1-day.Day())
	}
	return bucket{day.Unix(), day.Format(time.DateOnly)}
}

// fold adds up sales by bucket and currency. Sales outside the given buckets get an additional bucket: this happens if
// the store's time zone changed after the sales were stamped.
func fold(sold []SoldOn, currencies []Currency, buckets []bucket, bucketOf func(SoldOn) bucket) ([]SalesBucket, error) {
	type key struct {
		bucket
		currency Currency
	}
	sums := map[key]Sales{}
	currencies = slices.Clone(currencies)
	for _, s := range sold {
		k := key{bucketOf(s), s.Currency}
		buckets, currencies = append(buckets, k.bucket), append(currencies, k.currency)
		sum := sums[k]
		if err := sum.add(s.Sales); err != nil {
			return nil, err
		}
		sums[k] = sum
	}
	slices.Sort(currencies)
	currencies = slices.Compact(currencies)
	slices.SortFunc(buckets, func(a, b bucket) int {
		return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.label, b.label))
	})
	buckets = slices.Compact(buckets)
	if len(buckets)*len(currencies) > MaxSalesBuckets {
		return nil, Errorf(CodeLimitReached, "the period has more than %d rows; request a shorter period, or longer buckets",
			MaxSalesBuckets)
	}
	rows := []SalesBucket{}
	for _, b := range buckets {
		for _, currency := range currencies {
			sum := sums[key{b, currency}]
			sum.Currency = currency
			sum.complete()
			rows = append(rows, SalesBucket{b.label, sum})
		}
	}
	return rows, nil
}

// complete sets the amounts that follow from others.
func (s *Sales) complete() {
	s.NetMinor = s.GrossMinor - s.DiscountMinor
	if s.Orders > 0 {
		s.AverageOrderMinor = (2*s.NetMinor + s.Orders) / (2 * s.Orders)
	}
}

// add adds the counts and amounts of other to s. It returns AMOUNT_TOO_LARGE if a sum exceeds MaxAmountMinor.
func (s *Sales) add(other Sales) error {
	for _, pair := range [...]struct {
		to *int64
		n  int64
	}{
		{&s.Orders, other.Orders}, {&s.CancelledOrders, other.CancelledOrders}, {&s.GrossMinor, other.GrossMinor},
		{&s.DiscountMinor, other.DiscountMinor}, {&s.TaxMinor, other.TaxMinor},
		{&s.DeliveryFeeMinor, other.DeliveryFeeMinor}, {&s.RefundedMinor, other.RefundedMinor},
		{&s.ItemsSold, other.ItemsSold},
	} {
		if *pair.to += pair.n; *pair.to > MaxAmountMinor {
			return PeriodTooLarge()
		}
	}
	return nil
}

// PeriodTooLarge returns an AMOUNT_TOO_LARGE error: a sum over the period exceeds [MaxAmountMinor].
func PeriodTooLarge() *Error {
	return Errorf(CodeAmountTooLarge, "the amounts of this period are too large; request a shorter period")
}
