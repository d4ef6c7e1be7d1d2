package persistence

import (
	"context"
	"sync"
	"time"

	"github.com/uptrace/bun"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/pg"
)

// storeRules is what a store decides about its orders.
type storeRules struct {
	View         app.StoreView `bun:"embed:view_"`
	Timezone     string
	CutoffHour   int
	TaxRatePPM   int64
	TaxIncluded  bool
	TaxFee       bool
	DeliveryFees map[app.Currency]int64 `bun:"type:jsonb"`
}

// rules returns the store's rules as one of its views shows them; an unknown view is
// VALIDATION_FAILED.
func rules(ctx context.Context, tx bun.Tx, store app.StoreID, view app.StoreViewID) (storeRules, error) {
	var found []storeRules
	err := pg.SelectPrepared(ctx, tx, &found, `SELECT s.timezone, s.business_day_cutoff_hour AS cutoff_hour, s.tax_rate_ppm, s.tax_included,
			s.tax_delivery_fee AS tax_fee, s.delivery_fees,
			v.id AS view_id, v.code AS view_code, v.locale AS view_locale, v.currency AS view_currency, v.is_default AS view_is_default
		FROM stores s JOIN store_views v ON v.store_id = s.id
		WHERE s.id = $1 AND v.id = $2`, store, view)
	if err != nil {
		return storeRules{}, err
	}
	if len(found) == 0 {
		return storeRules{}, app.Invalid("storeViewId", "is not a view of this store")
	}
	return found[0], nil
}

// businessDate returns the day to which now counts in the store's books: its own time
// zone, with the hours before the cut-off still belonging to the day before.
func (r storeRules) businessDate(now time.Time) (string, error) {
	zone, err := zoneOf(r.Timezone)
	if err != nil {
		return "", err
	}
	return app.BusinessDay(now, zone, r.CutoffHour).Format(time.DateOnly), nil
}

// zones remembers the zones of stores, each of which is a file to read: *time.Location by name.
var zones sync.Map

// zoneOf returns the zone of an IANA name.
func zoneOf(name string) (*time.Location, error) {
	if zone, ok := zones.Load(name); ok {
		return zone.(*time.Location), nil
	}
	zone, err := time.LoadLocation(name)
	if err == nil {
		zones.Store(name, zone)
	}
	return zone, err
}

// Resource is a table whose rows are addressed by id from outside.
type Resource string

const (
	Orders        Resource = "orders"
	Products      Resource = "products"
	Subscriptions Resource = "subscriptions"
	Deliveries    Resource = "deliveries"
	Members       Resource = "memberships" // by the user's id
	APIKeys       Resource = "api_keys"
	Replays       Resource = "replays"
	Reservations  Resource = "reservations"
	Payments      Resource = "payments"
	Customers     Resource = "customers"
)

// idColumn is what a resource's rows are addressed by.
func (r Resource) idColumn() string {
	if r == Members {
		return "user_id"
	}
	return "id"
}

// Elsewhere tells why a user did not find a row in its own store: STORE_MISMATCH when the
// row belongs to another store of the same website in which the user works, so that
// switching would help; NOT_FOUND otherwise, and for API keys always, which are nowhere a
// member (contract §2).
func (db *DB) Elsewhere(ctx context.Context, resource Resource, id string, p app.Principal) error {
	var reachable bool
	err := db.System().NewRaw(`SELECT EXISTS (SELECT FROM ? r JOIN stores s ON s.id = r.store_id
			JOIN memberships m ON m.store_id = s.id AND m.user_id = ?
		WHERE r.? = ? AND s.id <> ? AND s.website_id = ?)`,
		bun.Ident(resource), p.UserID, bun.Ident(resource.idColumn()), id, p.StoreID, p.WebsiteID).
		Scan(ctx, &reachable)
	switch {
	case err != nil:
		return pg.Classify(err)
	case reachable:
		return app.StoreMismatch()
	}
	return app.NotFound()
}
