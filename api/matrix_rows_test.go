package api

import (
	"time"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/identity"
)

// addWebhook inserts a webhook directly, without an audit entry.
func (w *world) addWebhook(store app.StoreID) app.SubscriptionID {
	w.Helper()
	id := app.NewID[app.SubscriptionID](noon)
	w.exec(`INSERT INTO subscriptions (id, store_id, url, events, secret, created_at, updated_at)
		SELECT $1, store_id, url, events, secret, created_at, updated_at FROM subscriptions
		WHERE store_id = $2 AND deleted_at IS NULL LIMIT 1`, id, store)
	w.exec("INSERT INTO subscription_health (subscription_id, store_id) VALUES ($1, $2)", id, store)
	return id
}

// attemptOf returns an attempt of a store's webhook, and creates the attempt if the webhook has none.
func (w *world) attemptOf(s *shop) app.AttemptID {
	w.Helper()
	for {
		made, _, err := w.db.Attempts(w.Context(), s.id, s.webhook.ID, app.AttemptFilter{}, 1, 1)
		w.must(err)
		if len(made) > 0 {
			return made[0].ID
		}
		test, err := w.db.CreateTest(w.Context(), noon, s.id, s.webhook.ID)
		w.must(err)
		outgoing, err := w.db.OutgoingTest(w.Context(), test)
		w.must(err)
		w.must(w.db.RecordTest(w.Context(),
			app.MadeAttempt{Outgoing: outgoing, Status: app.AttemptFailed, At: noon, Error: "Test"}))
	}
}

// addProduct creates another product, which cannot be ordered.
func (w *world) addProduct(store app.StoreID) app.ProductID {
	w.Helper()
	product, err := w.db.CreateProduct(w.Context(), noon, store, app.Product{Name: "One more", Currency: "EUR"}, nil)
	w.must(err)
	return product.ID
}

// addMember creates a user who is a member of one store.
func (w *world) addMember(store app.StoreID) app.UserID {
	w.Helper()
	id, err := w.db.CreateUser(w.Context(), noon, identity.NewUser{
		Email: string(app.NewID[app.UserID](noon)) + "@example.com", Name: "Member", PasswordHash: "-",
		Roles: map[app.StoreID]app.Role{store: app.RoleStaff},
	})
	w.must(err)
	return id
}

// addView creates another view of a store.
func (w *world) addView(store app.StoreID) app.StoreViewID {
	w.Helper()
	id := app.NewID[app.StoreViewID](noon)
	w.exec(`INSERT INTO store_views (id, store_id, code, locale, currency, is_default)
		VALUES ($1, $2, $1, 'fr-FR', 'EUR', false)`, id, store)
	return id
}

// addInvitation inserts an invitation to one store. It does not count against the rate limits.
func (w *world) addInvitation(store app.StoreID) app.InvitationID {
	w.Helper()
	id := app.NewID[app.InvitationID](noon)
	w.exec(`INSERT INTO invitations (id, website_id, email, name, role, store_ids, token_hash, invited_by, created_at,
			expires_at)
		SELECT $1::text, s.website_id, $1 || '@example.com', 'Invited', 'STAFF', ARRAY[s.id], sha256($1::bytea),
			m.user_id, $3, $4
		FROM stores s JOIN memberships m ON m.store_id = s.id AND m.role = 'OWNER' WHERE s.id = $2 LIMIT 1`,
		id, store, noon, w.now.Add(time.Hour))
	return id
}

// addOwnerInvitation inserts an invitation of an OWNER to one store. It does not count against the rate limits.
func (w *world) addOwnerInvitation(store app.StoreID) app.InvitationID {
	w.Helper()
	id := w.addInvitation(store)
	w.exec("UPDATE invitations SET role = 'OWNER' WHERE id = $1", id)
	return id
}

// addGuest creates a customer without orders.
func (w *world) addGuest(store app.StoreID) app.CustomerID {
	w.Helper()
	id := app.NewID[app.CustomerID](noon)
	w.exec(`INSERT INTO customers (id, store_id, kind, business_date, created_at, updated_at)
		VALUES ($1, $2, 'guest', $3::timestamptz, $3, $3)`, id, store, noon)
	return id
}
