package identity_test

import (
	"testing"
	"time"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/identity"
	"github.com/comanda-dev/comanda/persistence/persistencetest"
)

// Events from before a suspension are still delivered.
func TestSuspensionKeepsDeliveries(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	r.Subscribe(t, db, 0, app.EventOrderCreated)
	_, err := db.PlaceOrder(t.Context(), noon, r.Stores[0], r.Order(t, db, 0), nil)
	must(t, err)
	suspended := true
	website, err := db.ChangeWebsite(t.Context(), noon, app.Actor{}, r.Website,
		app.WebsiteChange{Suspended: &suspended})
	must(t, err)
	if website.SuspendedAt == nil {
		t.Fatalf("website: got %+v, want suspended", website)
	}
	claimed := claim(t, db)
	if len(claimed) != 1 {
		t.Fatalf("claims: got %d, want 1", len(claimed))
	}
	attempt(t, db, claimed[0].ID, 1, app.AttemptDelivered, 200)
	if d, err := db.Delivery(t.Context(), r.Stores[0], claimed[0].ID); err != nil || d.Status != app.DeliveryDelivered {
		t.Errorf("delivery: got %+v and error %v, want delivered", d, err)
	}
}

// An invitation cannot be accepted while its website is suspended, but afterwards.
func TestSuspensionDelaysInvitations(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	token := app.NewSecret("a token")
	_, err := db.Invite(t.Context(), noon, r.Caller(t, db.DB, 0), app.Actor{ID: string(r.Owner.ID)},
		app.Invitation{Email: "grace@example.com", Name: "Grace", Role: app.RoleStaff, StoreIDs: r.Stores}, token,
		time.Hour, nil)
	must(t, err)
	for _, suspended := range []bool{true, false} {
		_, err := db.ChangeWebsite(t.Context(), noon, app.Actor{}, r.Website, app.WebsiteChange{Suspended: &suspended})
		must(t, err)
		_, _, err = db.Accept(t.Context(), noon, app.Actor{}, identity.Acceptance{Token: token, NewHash: "-"}, time.Hour)
		if refused := app.CodeOf(err) == app.CodeWebsiteSuspended; refused != suspended || !refused && err != nil {
			t.Errorf("Accept with suspended %v: got error %v, want %s if suspended", suspended, err, app.CodeWebsiteSuspended)
		}
	}
}
