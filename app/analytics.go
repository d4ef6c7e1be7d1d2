package app

import (
	"cmp"
	"slices"
	"time"
)

// MaxPeriodDays is how many days analytics can look at.
const MaxPeriodDays = 366

// Period is some business days of a store, the last included: midnights in UTC that stand for
// days of the calendar.
type Period struct{ From, To time.Time }

// ParsePeriod reads two days, YYYY-MM-DD. It returns VALIDATION_FAILED unless they are days
// since 1970, in this order and not more than MaxPeriodDays.
func ParsePeriod(from, to string) (Period, error) {
	var p Period
	var err error
	if p.From, err = time.Parse(time.DateOnly, from); err != nil {
		return p, Invalid("from", "must be a day of the calendar: 2026-03-14")
	}
	if p.To, err = time.Parse(time.DateOnly, to); err != nil {
		return p, Invalid("to", "must be a day of the calendar: 2026-03-14")
	}
	if p.From.Year() < 1970 {
		return p, Invalid("from", "must not be before 1970")
	}
	if p.To.Before(p.From) {
		return p, Invalid("to", "must not be before from")
	}
	if p.To.Sub(p.From) >= MaxPeriodDays*24*time.Hour {
		return p, Invalid("to", "must be at most 366 days from from, both included")
	}
	return p, nil
}

// Hours returns when the period begins and ends in a store's zone whose days begin at an hour.
func (p Period) Hours(zone *time.Location, cutoff int) (from, to time.Time) {
	return startOfDay(p.From, zone, cutoff), startOfDay(p.To.AddDate(0, 0, 1), zone, cutoff)
}

// Interval is how long the buckets are into which sales are put.
type Interval string

const (
	Hourly  Interval = "hour" // of the store's clock
	Daily   Interval = "day"  // a business day
	Weekly  Interval = "week" // of business days, from Monday on
	Monthly Interval = "month"
)

// Sales is what a store sold in one currency (contract §5). Orders that were cancelled count
// as such and nowhere else. Amounts are in minor units.
type Sales struct {
	Currency          Currency `json:"currency"`
	Orders            int64    `json:"orders"` // without those that were cancelled
	CancelledOrders   int64    `json:"cancelledOrders"`
	GrossMinor        int64    `json:"grossMinor"` // of all items, before discounts
	DiscountMinor     int64    `json:"discountMinor"`
	NetMinor          int64    `json:"netMinor"` // gross less discount
	TaxMinor          int64    `json:"taxMinor"`
	DeliveryFeeMinor  int64    `json:"deliveryFeeMinor"`
	RefundedMinor     int64    `json:"refundedMinor"`     // on the day of the refund, whenever the order was
	AverageOrderMinor int64    `json:"averageOrderMinor"` // net by orders, rounded half up; 0 without orders
	ItemsSold         int64    `json:"itemsSold"`
}

// SalesBucket is the sales of one bucket of time.
type SalesBucket struct {
	// the first day, YYYY-MM-DD; of an hour its start, in the store's zone with its offset
	Bucket string `json:"bucket"`
	Sales
}

// ProductSales is what a store sold of one product in one currency.
type ProductSales struct {
	ProductID   ProductID `json:"productId"`
	ProductName string    `json:"productName"` // the product's own, as it is now
	Currency    Currency  `json:"currency"`
	Quantity    int64     `json:"quantity"`
	NetMinor    int64     `json:"netMinor"` // after discounts
}

// CustomerCounts is who ordered in a period.
type CustomerCounts struct {
	NewCustomers       int64 `json:"newCustomers"`       // registered, or first ordered as a guest, in the period
	ReturningCustomers int64 `json:"returningCustomers"` // ordered in the period, and were no longer new
	GuestOrders        int64 `json:"guestOrders"`        // without those that were cancelled
	RegisteredOrders   int64 `json:"registeredOrders"`   // without those that were cancelled
}

// SoldOn is part of a period's sales: those of one day and, where hours matter, of one of the
// store's hours or a part of it. Its net and average amounts do not count.
type SoldOn struct {
	Day time.Time // midnight in UTC
	At  time.Time // the start of that part; zero where hours do not matter
	Sales
}

// Sum adds up the sales of each currency, of those named also where there are none, in the
// order of the currencies. It returns AMOUNT_TOO_LARGE for sums above MaxAmountMinor.
func Sum(sold []SoldOn, currencies []Currency) ([]Sales, error) {
	buckets, err := fold(sold, currencies, []bucket{{}}, func(SoldOn) bucket { return bucket{} })
	sales := make([]Sales, len(buckets))
	for i, b := range buckets {
		sales[i] = b.Sales
	}
	return sales, err
}

// Plot is Sum for each bucket of the period, in the order of time. Every bucket is there; of a
// week or month that begins or ends outside, the days inside count. Hours are those of the
// zone's clock, which on some days are 23 or 25; cutoff is the hour at which days begin.
func (p Period) Plot(sold []SoldOn, currencies []Currency, by Interval, zone *time.Location, cutoff int) ([]SalesBucket, error) {
	var buckets []bucket
	if by == Hourly {
		from, to := p.Hours(zone, cutoff)
		for at := from; at.Before(to); at = at.Add(quarter) { // some clocks have been moved by less than an hour
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

// quarter divides every hour of every zone.
const quarter = 15 * time.Minute

// bucket is one bucket of time.
type bucket struct {
	start int64 // Unix seconds, for the order
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

// fold adds up what was sold, by bucket and currency. What lies in no bucket, since the store
// had another zone when it was stamped, has a bucket of its own.
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
	slices.SortFunc(buckets, func(a, b bucket) int { return cmp.Or(cmp.Compare(a.start, b.start), cmp.Compare(a.label, b.label)) })
	rows := []SalesBucket{}
	for _, b := range slices.Compact(buckets) {
		for _, currency := range currencies {
			sum := sums[key{b, currency}]
			sum.Currency, sum.NetMinor = currency, sum.GrossMinor-sum.DiscountMinor
			if sum.Orders > 0 {
				sum.AverageOrderMinor = (2*sum.NetMinor + sum.Orders) / (2 * sum.Orders)
			}
			rows = append(rows, SalesBucket{b.label, sum})
		}
	}
	return rows, nil
}

// add adds counts and amounts, AMOUNT_TOO_LARGE when one gets above MaxAmountMinor.
func (s *Sales) add(other Sales) error {
	for _, pair := range [...]struct {
		to *int64
		n  int64
	}{
		{&s.Orders, other.Orders}, {&s.CancelledOrders, other.CancelledOrders}, {&s.GrossMinor, other.GrossMinor},
		{&s.DiscountMinor, other.DiscountMinor}, {&s.TaxMinor, other.TaxMinor}, {&s.DeliveryFeeMinor, other.DeliveryFeeMinor},
		{&s.RefundedMinor, other.RefundedMinor}, {&s.ItemsSold, other.ItemsSold},
	} {
		if *pair.to += pair.n; *pair.to > MaxAmountMinor {
			return Errorf(CodeAmountTooLarge, "the amounts of this period are too large; ask for a shorter one")
		}
	}
	return nil
}
