package app_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/comanda-dev/comanda/app"
)

func TestParsePeriod(t *testing.T) {
	t.Parallel()
	for days, want := range map[string]string{ // the path of the invalid member
		"2026-03-14 2026-03-14": "", "2024-01-01 2024-12-31": "", "2026-01-01 2027-01-01": "",
		"1970-01-01 1970-01-01": "", "9999-12-31 9999-12-31": "",
		"2026-01-01 2027-01-02": "to", "2026-03-14 2026-03-13": "to", "2026-02-30 2026-03-14": "from",
		"2026-03-14 2026-13-01": "to", " 2026-03-14": "from", "2026-03-14 ": "to",
		"14.3.2026 2026-03-14": "from", "1969-12-31 1970-01-01": "from",
	} {
		t.Run(days, func(t *testing.T) {
			from, to, _ := strings.Cut(days, " ")
			_, err := app.ParsePeriod(from, to)
			got := ""
			if refusal, ok := errors.AsType[*app.Error](err); ok && refusal.Code == app.CodeValidationFailed {
				got = refusal.Details[0].Path
			}
			if got != want || (err == nil) != (want == "") {
				t.Errorf("ParsePeriod(%q): invalid member %q (%v), want %q", days, got, err, want)
			}
		})
	}
}

// The hours of a period contain a time exactly if its business day is in the period, across clock changes, too.
func TestPeriodHours(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		zone, cutoff, period := drawZone(t), rapid.IntRange(0, 23).Draw(t, "cutoff"), drawPeriod(t, 4)
		from, to := period.Hours(zone, cutoff)
		for range 20 {
			at := from.Add(time.Duration(rapid.IntRange(-40*60, 140*60).Draw(t, "minute")) * time.Minute)
			day := app.BusinessDay(at, zone, cutoff)
			want := !day.Before(period.From) && !day.After(period.To)
			if got := !at.Before(from) && at.Before(to); got != want {
				t.Fatalf("%s (business day %s) within %s to %s: %v, want %v for period %v",
					at.In(zone), day, from.In(zone), to.In(zone), got, want, period)
			}
		}
	})
}

func drawZone(t *rapid.T) *time.Location {
	zone, err := time.LoadLocation(rapid.SampledFrom([]string{
		"UTC", "Europe/Berlin", "America/New_York", "America/Sao_Paulo", "America/Havana", "Australia/Lord_Howe",
		"Asia/Kathmandu", "Pacific/Kiritimati", "Pacific/Apia",
	}).Draw(t, "zone"))
	if err != nil {
		t.Fatal(err)
	}
	return zone
}

func drawPeriod(t *rapid.T, days int) app.Period {
	// Most of these days are followed by a clock change.
	from, err := time.Parse(time.DateOnly, rapid.SampledFrom([]string{
		"2026-03-27", "2026-10-23", "2018-11-02", "2018-02-16", "2026-03-06", "2026-10-30", "2026-04-03", "2026-10-02",
		"2011-12-28", "2026-06-01", "2026-12-30",
	}).Draw(t, "from"))
	if err != nil {
		t.Fatal(err)
	}
	return app.Period{From: from, To: from.AddDate(0, 0, rapid.IntRange(0, days-1).Draw(t, "days"))}
}

// For every interval, the buckets add up to the total, occur once per currency, and are sorted by time.
func TestPlotAddsUpToSum(t *testing.T) {
	t.Parallel()
	currencies := []app.Currency{"EUR", "JPY"}
	rapid.Check(t, func(t *rapid.T) {
		zone, cutoff, period := drawZone(t), rapid.IntRange(0, 23).Draw(t, "cutoff"), drawPeriod(t, 40)
		amount := rapid.Int64Range(0, 1_000_000)
		var sold []app.SoldOn
		from, to := period.Hours(zone, cutoff)
		for range rapid.IntRange(0, 30).Draw(t, "sold") {
			if !from.Before(to) {
				break // the time zone skipped this day
			}
			quarters := int64(to.Sub(from) / (15 * time.Minute))
			at := from.Add(time.Duration(rapid.Int64Range(0, quarters-1).Draw(t, "at")) * 15 * time.Minute)
			sold = append(sold, app.SoldOn{Day: app.BusinessDay(at, zone, cutoff), At: at, Sales: app.Sales{
				Currency: rapid.SampledFrom([]app.Currency{"EUR", "KWD"}).Draw(t, "currency"),
				Orders:   amount.Draw(t, "orders"), CancelledOrders: amount.Draw(t, "cancelled"),
				GrossMinor: amount.Draw(t, "gross") + 1_000_000, DiscountMinor: amount.Draw(t, "discount"),
				TaxMinor: amount.Draw(t, "tax"), DeliveryFeeMinor: amount.Draw(t, "fee"),
				RefundedMinor: amount.Draw(t, "refunded"), ItemsSold: amount.Draw(t, "items"),
			}})
		}
		total, err := app.Sum(sold, currencies)
		if err != nil {
			t.Fatal(err)
		}
		want := map[app.Currency]app.Sales{}
		for _, s := range total {
			if s.NetMinor != s.GrossMinor-s.DiscountMinor {
				t.Fatalf("netMinor %d, want grossMinor − discountMinor in %+v", s.NetMinor, s)
			}
			s.AverageOrderMinor = 0
			want[s.Currency] = s
		}
		if len(want) != len(total) || len(total) < 2 {
			t.Fatalf("%d rows, want one for each of at least two currencies: %+v", len(total), total)
		}
		for _, by := range []app.Interval{app.Hourly, app.Daily, app.Weekly, app.Monthly} {
			buckets, err := period.Plot(sold, currencies, by, zone, cutoff)
			if err != nil {
				t.Fatal(err)
			}
			got := map[app.Currency]app.Sales{}
			var labels []string
			for i, b := range buckets {
				if b.Currency != total[i%len(total)].Currency || b.Bucket != buckets[i-i%len(total)].Bucket {
					t.Fatalf("%s: row %d is %s %s, want each bucket with every currency in order",
						by, i, b.Bucket, b.Currency)
				}
				if i%len(total) == 0 {
					labels = append(labels, b.Bucket)
				}
				s := got[b.Currency]
				s.Currency = b.Currency
				s.Orders += b.Orders
				s.CancelledOrders += b.CancelledOrders
				s.GrossMinor += b.GrossMinor
				s.DiscountMinor += b.DiscountMinor
				s.NetMinor += b.NetMinor
				s.TaxMinor += b.TaxMinor
				s.DeliveryFeeMinor += b.DeliveryFeeMinor
				s.RefundedMinor += b.RefundedMinor
				s.ItemsSold += b.ItemsSold
				got[b.Currency] = s
			}
			if diff := cmp.Diff(want, got); diff != "" && len(buckets) > 0 {
				t.Fatalf("%s: the buckets do not add up to the total (-want +got):\n%s", by, diff)
			}
			unique := slices.Compact(slices.Sorted(slices.Values(labels)))
			if by != app.Hourly && !slices.IsSorted(labels) || len(unique) != len(labels) {
				t.Fatalf("%s: labels %v, want each once, in order of time", by, labels)
			}
		}
	})
}

func TestPlot(t *testing.T) {
	t.Parallel()
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	howe, err := time.LoadLocation("Australia/Lord_Howe")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		from, to string
		by       app.Interval
		zone     *time.Location
		cutoff   int
		buckets  int    // number of buckets
		excerpt  string // labels of consecutive buckets
	}{
		{"2026-03-14", "2026-03-14", app.Hourly, berlin, 0, 24, "2026-03-14T00:00:00+01:00 2026-03-14T01:00:00+01:00"},
		{"2026-03-29", "2026-03-29", app.Hourly, berlin, 0, 23, "2026-03-29T01:00:00+01:00 2026-03-29T03:00:00+02:00"},
		{
			"2026-10-25", "2026-10-25", app.Hourly, berlin, 0, 25,
			"2026-10-25T02:00:00+02:00 2026-10-25T02:00:00+01:00 2026-10-25T03:00:00+01:00",
		},
		{"2026-03-28", "2026-03-28", app.Hourly, berlin, 4, 23, "2026-03-28T04:00:00+01:00 2026-03-28T05:00:00+01:00"},
		{ // the clocks go forward by half an hour
			"2026-10-04", "2026-10-04", app.Hourly, howe, 0, 24,
			"2026-10-04T01:00:00+10:30 2026-10-04T02:00:00+11:00 2026-10-04T03:00:00+11:00",
		},
		{"2026-03-14", "2026-03-14", app.Hourly, time.UTC, 0, 24, "2026-03-14T22:00:00Z 2026-03-14T23:00:00Z"},
		{"2026-02-27", "2026-03-02", app.Daily, berlin, 6, 4, "2026-02-28 2026-03-01"},
		{"2024-02-28", "2024-03-01", app.Daily, berlin, 0, 3, "2024-02-28 2024-02-29 2024-03-01"},
		{"2026-03-15", "2026-03-23", app.Weekly, berlin, 0, 3, "2026-03-09 2026-03-16 2026-03-23"},
		{"2025-12-29", "2026-01-04", app.Weekly, berlin, 0, 1, "2025-12-29"},
		{"2026-01-31", "2026-03-01", app.Monthly, berlin, 0, 3, "2026-01-01 2026-02-01 2026-03-01"},
		{"2025-01-01", "2026-01-01", app.Hourly, berlin, 0, 8784, ""},
	} {
		period, err := app.ParsePeriod(c.from, c.to)
		if err != nil {
			t.Fatal(err)
		}
		buckets, err := period.Plot(nil, []app.Currency{"EUR"}, c.by, c.zone, c.cutoff)
		var labels []string
		for _, b := range buckets {
			labels = append(labels, b.Bucket)
			if b.Sales != (app.Sales{Currency: "EUR"}) {
				t.Errorf("bucket %s without sales: %+v, want zeros", b.Bucket, b.Sales)
			}
		}
		all := strings.Join(labels, " ")
		if err != nil || len(labels) != c.buckets || !strings.Contains(all, c.excerpt) {
			t.Errorf("%s to %s by %s: %d buckets, error %v, want %d buckets containing %q; labels:\n%s",
				c.from, c.to, c.by, len(labels), err, c.buckets, c.excerpt, all)
		}
	}
}

// A plot with too many rows is refused before its rows are made. Currencies of sales count.
func TestPlotIsBounded(t *testing.T) {
	t.Parallel()
	year, err := app.ParsePeriod("2024-01-01", "2024-12-31")
	if err != nil {
		t.Fatal(err)
	}
	sold := []app.SoldOn{{Day: year.From, Sales: app.Sales{Currency: "X", Orders: 1}}}
	currencies := make([]app.Currency, app.MaxSalesBuckets/366)
	for i := range currencies {
		currencies[i] = app.Currency(rune('a' + i))
	}
	rows, err := year.Plot(sold, currencies[1:], app.Daily, time.UTC, 0)
	if want := 366 * len(currencies); err != nil || len(rows) != want {
		t.Errorf("plot within the limit: got %d rows and error %v, want %d", len(rows), err, want)
	}
	rows, err = year.Plot(sold, currencies, app.Daily, time.UTC, 0)
	if app.CodeOf(err) != app.CodeLimitReached || rows != nil {
		t.Errorf("plot beyond the limit: got %d rows and error %v, want LIMIT_REACHED", len(rows), err)
	}
}

func TestSum(t *testing.T) {
	t.Parallel()
	day := time.Date(2026, 3, 14, 0, 0, 0, 0, time.UTC)
	sold := func(sales ...app.Sales) (all []app.SoldOn) {
		for _, s := range sales {
			all = append(all, app.SoldOn{Day: day, Sales: s})
		}
		return all
	}
	for net, want := range map[int64]int64{7: 2, 8: 3, 9: 3, 10: 3, 11: 4} { // the average of three orders, half up
		first := app.Sales{Currency: "EUR", Orders: 1, GrossMinor: net + 1, DiscountMinor: 1}
		sum, err := app.Sum(sold(first, app.Sales{Currency: "EUR", Orders: 2}), nil)
		if err != nil || sum[0].AverageOrderMinor != want || sum[0].NetMinor != net {
			t.Errorf("net %d of three orders: %+v, %v, want average %d", net, sum, err, want)
		}
	}
	sum, err := app.Sum(sold(app.Sales{Currency: "EUR", Orders: 2, GrossMinor: 3}), nil)
	if err != nil || sum[0].AverageOrderMinor != 2 {
		t.Errorf("net 3 of two orders: %+v, %v, want average 2", sum, err)
	}
	sum, err = app.Sum(sold(app.Sales{Currency: "USD", Orders: 1, GrossMinor: 1}), []app.Currency{"EUR", "EUR"})
	want := []app.Sales{
		{Currency: "EUR"}, {Currency: "USD", Orders: 1, GrossMinor: 1, NetMinor: 1, AverageOrderMinor: 1},
	}
	if diff := cmp.Diff(want, sum); diff != "" || err != nil {
		t.Errorf("sums in two currencies (-want +got):\n%s, error %v", diff, err)
	}
	maximum := app.Sales{Currency: "EUR", GrossMinor: app.MaxAmountMinor}
	if _, err := app.Sum(sold(maximum), nil); err != nil {
		t.Errorf("the maximum amount: %v, want no error", err)
	}
	for name, more := range map[string]app.Sales{
		"gross": {GrossMinor: 1}, "discount": {DiscountMinor: app.MaxAmountMinor + 1},
		"refunds": {RefundedMinor: app.MaxAmountMinor + 1}, "tax": {TaxMinor: app.MaxAmountMinor + 1},
	} {
		t.Run(name, func(t *testing.T) {
			more.Currency = "EUR"
			if _, err := app.Sum(sold(maximum, more), nil); app.CodeOf(err) != app.CodeAmountTooLarge {
				t.Errorf("Sum with excessive %s: %v, want %s", name, err, app.CodeAmountTooLarge)
			}
			_, err := app.Period{From: day, To: day}.Plot(sold(maximum, more), nil, app.Daily, time.UTC, 0)
			if app.CodeOf(err) != app.CodeAmountTooLarge {
				t.Errorf("Plot with excessive %s: %v, want %s", name, err, app.CodeAmountTooLarge)
			}
		})
	}
	// Sales stamped in another time zone get an additional bucket, so that nothing is lost.
	stray := app.SoldOn{
		Day: day, At: day.Add(-30 * time.Hour), Sales: app.Sales{Currency: "EUR", Orders: 1, GrossMinor: 5},
	}
	buckets, err := app.Period{From: day, To: day}.Plot([]app.SoldOn{stray}, nil, app.Hourly, time.UTC, 0)
	if err != nil || len(buckets) != 25 || buckets[0].Bucket != "2026-03-12T18:00:00Z" || buckets[0].GrossMinor != 5 {
		t.Errorf("sales outside the period: %d buckets %+v, error %v, want 25 buckets, the first with the sales",
			len(buckets), buckets, err)
	}
}
