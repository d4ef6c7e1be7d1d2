package persistence_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence"
	"github.com/comanda-dev/comanda/persistence/identity"
	"github.com/comanda-dev/comanda/persistence/persistencetest"
)

// A page of a list ends when its rows have filled its bytes, and the next one continues after them.
func TestPagesEndWithTheirBytes(t *testing.T) {
	t.Parallel()
	const rows = 3
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	store := r.Stores[0]
	for i := range rows {
		at := noon.Add(time.Duration(i) * time.Hour)
		_, err := db.RegisterCustomer(t.Context(), at, store, app.Actor{},
			identity.NewCustomer{Email: fmt.Sprintf("ada-%d@example.com", i), PasswordHash: "-"}, time.Hour)
		must(t, err)
		_, err = db.Reserve(t.Context(), noon, store, app.NewReservation{
			Guest: app.ReservationCustomer{Name: "Ada"}, PartySize: 1, StartAt: app.At(at),
		}, nil)
		must(t, err)
		r.Key(t, db, 0, app.KeyTest)
	}
	limit := app.PageLimit{Rows: 100, Bytes: 1}
	t.Run("customers", func(t *testing.T) {
		onePerPage(t, rows, func(after persistence.Cursor) ([]app.Customer, bool, error) {
			return db.Customers(t.Context(), store, "", app.CustomerFilter{}, after, limit)
		}, func(c app.Customer) persistence.Cursor {
			return persistence.Cursor{At: c.CreatedAt.Time, ID: string(c.ID)}
		})
	})
	t.Run("reservations", func(t *testing.T) {
		onePerPage(t, rows, func(after persistence.Cursor) ([]app.Reservation, bool, error) {
			return db.Reservations(t.Context(), store, app.ReservationFilter{}, after, limit)
		}, func(r app.Reservation) persistence.Cursor {
			return persistence.Cursor{At: r.StartAt.Time, ID: string(r.ID)}
		})
	})
	t.Run("audit", func(t *testing.T) {
		onePerPage(t, rows, func(after persistence.Cursor) ([]app.AuditEntry, bool, error) {
			return db.AuditTrail(t.Context(), store, identity.AuditFilter{Action: app.AuditAPIKeyCreated}, after, limit)
		}, func(e app.AuditEntry) persistence.Cursor { return persistence.Cursor{At: e.At.Time, ID: string(e.ID)} })
	})
}

// onePerPage reads all pages of a list, and checks that they have one row each, and all rows together.
func onePerPage[T any](
	t *testing.T, rows int, list func(after persistence.Cursor) ([]T, bool, error), cursor func(T) persistence.Cursor,
) {
	t.Helper()
	seen := map[string]bool{}
	for more, after := true, (persistence.Cursor{}); more; {
		var page []T
		var err error
		page, more, err = list(after)
		must(t, err)
		if len(page) != 1 {
			t.Fatalf("rows of a page: got %d, want 1", len(page))
		}
		after = cursor(page[0])
		seen[after.ID] = true
	}
	if len(seen) != rows {
		t.Errorf("rows of all pages: got %d, want %d", len(seen), rows)
	}
}
