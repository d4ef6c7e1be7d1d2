package persistence

import (
	"context"

	"github.com/uptrace/bun"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/pg"
)

// Resource is a table of a store whose rows clients address by id.
type Resource string

const (
	Orders        Resource = "orders"
	Products      Resource = "products"
	Subscriptions Resource = "subscriptions"
	Deliveries    Resource = "deliveries"
	Events        Resource = "outbox"
	Members       Resource = "memberships" // by the user's id
	APIKeys       Resource = "api_keys"
	Replays       Resource = "replays"
	Reservations  Resource = "reservations"
	Payments      Resource = "payments"
	Customers     Resource = "customers"
	StoreViews    Resource = "store_views"
	Invitations   Resource = "invitations" // of one or more stores
)

// idColumn is the column by which clients address the resource's rows.
func (r Resource) idColumn() string {
	if r == Members {
		return "user_id"
	}
	return "id"
}

// place is the condition that a row r belongs to the store s and not to the active store ?0.
func (r Resource) place() string {
	if r == Invitations {
		return `s.id = ANY (r.store_ids) AND NOT (SELECT coalesce(sandbox_of, id) FROM stores WHERE id = ?0)
			= ANY (r.store_ids)`
	}
	return `s.id = r.store_id AND s.id <> ?0`
}

// MismatchOrNotFound returns the error for a user who did not find a row in the active store: STORE_MISMATCH if the row
// belongs to another store of the same website and the user is a member of that store, so that switching would help;
// otherwise NOT_FOUND. API keys always get NOT_FOUND, because they are members of no store
// (docs/behaviour.md#resources-of-another-store).
func (db *DB) MismatchOrNotFound(ctx context.Context, resource Resource, id string, p app.Principal) error {
	var reachable bool
	err := db.System().NewRaw(`SELECT EXISTS (SELECT FROM ?1 r JOIN stores s ON `+resource.place()+`
			JOIN memberships m ON m.store_id = s.id AND m.user_id = ?2
		WHERE r.?3 = ?4 AND s.website_id = ?5)`,
		p.StoreID, bun.Ident(resource), p.UserID, bun.Ident(resource.idColumn()), id, p.WebsiteID).
		Scan(ctx, &reachable)
	switch {
	case err != nil:
		return pg.Classify(err)
	case reachable:
		return app.StoreMismatch()
	}
	return app.NotFound()
}
