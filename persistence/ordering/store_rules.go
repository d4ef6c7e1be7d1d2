package ordering

import (
	"context"
	"time"

	"github.com/uptrace/bun"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/identity"
	"github.com/comanda-dev/comanda/persistence/pg"
)

// storeRules are the settings of a store that apply to a new order, with the store view of the order.
type storeRules struct {
	View         app.StoreView `bun:"embed:view_"`
	Timezone     string
	CutoffHour   int
	TaxRatePPM   int64
	TaxIncluded  bool
	TaxFee       bool
	DeliveryFees map[app.Currency]int64 `bun:"type:jsonb"`

	OpeningHours        app.OpeningHours `bun:"type:jsonb"`
	Closures            []app.Closure    `bun:"type:jsonb"`
	OrderingPausedUntil *time.Time
	PrepMinutes         map[app.FulfillmentType]int `bun:"type:jsonb"`
	OrderLeadMinutes    int
	OrderMaxDays        int
	RemindAfterMinutes  int
	CancelAfterMinutes  int
	LowerTotals         app.LowerTotals

	MinorPerPoint map[app.Currency]int64 `bun:"type:jsonb"`
	MinPoints     int64
}

func (r storeRules) acceptance() app.Acceptance {
	return app.Acceptance{RemindAfterMinutes: r.RemindAfterMinutes, CancelAfterMinutes: r.CancelAfterMinutes}
}

func (r storeRules) loyalty() app.Loyalty {
	return app.Loyalty{MinorPerPoint: r.MinorPerPoint, MinPoints: r.MinPoints}
}

// times returns the times of a new order. It returns OUTSIDE_BOOKING_WINDOW and STORE_CLOSED.
func (r storeRules) times(now time.Time, in app.NewOrder) (app.OrderTimes, error) {
	hours, err := identity.HoursRow{
		Timezone: r.Timezone, OpeningHours: r.OpeningHours, Closures: r.Closures,
		OrderingPausedUntil: r.OrderingPausedUntil,
	}.Hours()
	if err != nil {
		return app.OrderTimes{}, err
	}
	return app.OrderRules{
		Hours: hours, PrepMinutes: r.PrepMinutes, LeadMinutes: r.OrderLeadMinutes, MaxDays: r.OrderMaxDays,
	}.Times(now, in)
}

// rules returns the store's rules for one of its views, VALIDATION_FAILED if there is no such view.
func rules(ctx context.Context, tx bun.Tx, store app.StoreID, view app.StoreViewID) (storeRules, error) {
	var found []storeRules
	err := pg.SelectPrepared(ctx, tx, &found, `
		SELECT s.timezone, s.business_day_cutoff_hour AS cutoff_hour, s.tax_rate_ppm, s.tax_included,
			s.tax_delivery_fee AS tax_fee, s.delivery_fees, s.opening_hours, s.closures, s.ordering_paused_until,
			s.prep_minutes, s.order_lead_minutes, s.order_max_days, s.remind_after_minutes, s.cancel_after_minutes,
			s.lower_totals, s.loyalty_minor_per_point AS minor_per_point, s.loyalty_min_points AS min_points,
			v.id AS view_id, v.code AS view_code, v.locale AS view_locale, v.currency AS view_currency,
			v.is_default AS view_is_default
		FROM stores s JOIN store_views v ON v.store_id = s.id
		WHERE s.id = $1 AND v.id = $2`, store, view)
	if err != nil {
		return storeRules{}, err
	}
	if len(found) == 0 {
		return storeRules{}, identity.NotAView()
	}
	return found[0], nil
}

// rulesOf returns the store's rules for a placed order: with the currency of the order, and the language of its view
// or, if that is deleted, of the default view.
func rulesOf(ctx context.Context, tx bun.Tx, order app.Order) (storeRules, error) {
	var view app.StoreViewID
	err := tx.Tx.QueryRowContext(ctx, `SELECT id FROM store_views WHERE store_id = $1 AND (id = $2 OR is_default)
		ORDER BY id = $2 DESC LIMIT 1`, order.StoreID, order.StoreViewID).Scan(&view)
	if err != nil {
		return storeRules{}, err
	}
	found, err := rules(ctx, tx, order.StoreID, view)
	found.View.ID, found.View.Currency = order.StoreViewID, order.Currency
	return found, err
}
