package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/comanda-dev/comanda/api/client/comanda"
)

// cashUpTime limits the time in which the cash-up of a site is read.
const cashUpTime = time.Minute

// readCashUps reads the cash-ups of all sites, after their operations have ended. It skips a website if the
// request that ended its suspension got no response.
func (s *sites) readCashUps(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, cashUpTime)
	defer cancel()
	s.h.CashUps = map[string][]comanda.PaymentSum{}
	period := comanda.SummarizePaymentsParams{
		From: s.h.Begin.AddDate(0, 0, -2).Format(time.DateOnly), To: s.h.End.AddDate(0, 0, 2).Format(time.DateOnly),
	}
	for _, name := range s.names {
		t := &turn{site: s.byName[name]}
		err := t.prepare(ctx, func(ctx context.Context, c *comanda.Client) error {
			list, err := c.SummarizePayments(ctx, period)
			if err == nil {
				s.h.CashUps[name] = list.Data
			}
			return err
		})
		refusal, ok := errors.AsType[*comanda.Error](err)
		if err != nil && !(ok && refusal.Code == comanda.ErrorCodeWebsiteSuspended) {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// takings identifies a row of a cash-up.
type takings struct {
	day, provider, method string
	channel               string // "" = the store itself
	currency              string
}

// taken are the sums of a row of a cash-up.
type taken struct{ payments, paidMinor, tipsMinor, refunds, refundedMinor int64 }

// checkCashUps checks docs/behaviour.md#cash-up: the cash-up of a store sums its succeeded payments and its refunds by
// provider, method, currency and channel of the order. A refund counts for its own day, not for that of its payment.
func checkCashUps(h *history, s *state) (found []violation) {
	want := map[string]map[takings]taken{} // by store
	add := func(p paymentRow, at time.Time, more taken) {
		o, store := s.Orders[p.Order], s.Stores[p.Store]
		of := takings{day: store.day(at), provider: p.Provider, method: p.Method, currency: o.Currency}
		if o.Channel != nil {
			of.channel = *o.Channel
		}
		if want[p.Store] == nil {
			want[p.Store] = map[takings]taken{}
		}
		sum := want[p.Store][of]
		want[p.Store][of] = taken{
			sum.payments + more.payments, sum.paidMinor + more.paidMinor, sum.tipsMinor + more.tipsMinor,
			sum.refunds + more.refunds, sum.refundedMinor + more.refundedMinor,
		}
	}
	for _, p := range s.Payments {
		if p.succeeded() {
			add(p, p.CreatedAt, taken{payments: 1, paidMinor: p.AmountMinor - p.TipMinor, tipsMinor: p.TipMinor})
		}
	}
	for _, r := range s.Refunds {
		add(s.Payments[r.Payment], r.CreatedAt,
			taken{tipsMinor: -r.TipMinor, refunds: 1, refundedMinor: r.AmountMinor - r.TipMinor})
	}
	for site, rows := range h.CashUps {
		got := map[takings]taken{}
		for _, r := range rows {
			of := takings{day: r.BusinessDate, provider: r.Provider, method: r.PaymentMethod, currency: r.Currency}
			if r.Channel != nil {
				of.channel = *r.Channel
			}
			got[of] = taken{r.Payments, r.PaymentsMinor, r.TipsMinor, r.Refunds, r.RefundsMinor}
		}
		found = append(found, differences("the cash-up of "+site, want[h.Stores[site]], got)...)
	}
	return found
}

// day returns the business day of a time. Days of the judge begin at midnight.
func (s storeRow) day(at time.Time) string {
	zone, err := time.LoadLocation(s.Timezone)
	if err != nil {
		return err.Error()
	}
	return at.In(zone).Format(time.DateOnly)
}
