package ordering_test

import (
	"testing"
	"time"

	"github.com/comanda-dev/comanda/persistence/persistencetest"
)

// TestBusinessDate checks the date in the store's time zone, with the hours before the cutoff on the
// previous date, also when the clock changes.
func TestBusinessDate(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	r := open(t, db, "one.example")
	order := r.Order(t, db, 0)
	for _, c := range []struct {
		zone   string
		cutoff int
		now    string
		want   string
	}{
		{"Europe/Berlin", 0, "2026-03-14T22:59:59.999Z", "2026-03-14"},
		{"Europe/Berlin", 0, "2026-03-14T23:00:00Z", "2026-03-15"},
		{"Europe/Berlin", 4, "2026-03-15T02:59:59.999Z", "2026-03-14"},
		{"Europe/Berlin", 4, "2026-03-15T03:00:00Z", "2026-03-15"},
		// At 02:00, the clock jumps to 03:00: the third hour does not exist.
		{"Europe/Berlin", 3, "2026-03-29T00:59:59Z", "2026-03-28"},
		{"Europe/Berlin", 3, "2026-03-29T01:00:00Z", "2026-03-29"},
		{"Europe/Berlin", 2, "2026-03-29T00:59:59Z", "2026-03-28"},
		{"Europe/Berlin", 2, "2026-03-29T01:00:00Z", "2026-03-29"},
		{"Europe/Berlin", 3, "2026-03-30T00:30:00Z", "2026-03-29"}, // 02:30, which the previous day did not have
		// At 03:00, the clock goes back to 02:00: the third hour occurs twice.
		{"Europe/Berlin", 3, "2026-10-25T00:30:00Z", "2026-10-24"},
		{"Europe/Berlin", 3, "2026-10-25T01:30:00Z", "2026-10-24"},
		{"Europe/Berlin", 3, "2026-10-25T02:00:00Z", "2026-10-25"},
		{"Europe/Berlin", 0, "2026-10-24T21:59:59Z", "2026-10-24"},
		{"Europe/Berlin", 0, "2026-10-24T22:00:00Z", "2026-10-25"},
		// At midnight, the clock jumps to 01:00: the first hour does not exist.
		{"Africa/Cairo", 0, "2026-04-23T21:59:59Z", "2026-04-23"},
		{"Africa/Cairo", 0, "2026-04-23T22:00:00Z", "2026-04-24"},
		{"Africa/Cairo", 4, "2026-04-24T21:30:00Z", "2026-04-24"},
		{"Africa/Cairo", 4, "2026-04-25T00:59:59Z", "2026-04-24"},
		{"Africa/Cairo", 4, "2026-04-25T01:00:00Z", "2026-04-25"},
		{"America/Havana", 4, "2026-03-09T04:30:00Z", "2026-03-08"},
		{"America/New_York", 5, "2026-01-01T09:59:00Z", "2025-12-31"},
		{"America/New_York", 5, "2026-01-01T10:00:00Z", "2026-01-01"},
		{"Asia/Kathmandu", 0, "2028-02-28T18:15:00Z", "2028-02-29"},
		{"Asia/Kathmandu", 1, "2028-02-29T19:00:00Z", "2028-02-29"},
		{"Pacific/Kiritimati", 0, "2026-12-31T10:00:00Z", "2027-01-01"},
		{"Pacific/Pago_Pago", 23, "2026-01-01T09:59:59Z", "2025-12-30"},
	} {
		exec(t, db, `UPDATE stores SET timezone = $1, business_day_cutoff_hour = $2
			WHERE id = $3`, c.zone, c.cutoff, r.Stores[0])
		now, err := time.Parse(time.RFC3339, c.now)
		must(t, err)
		quote, err := db.QuoteOrder(t.Context(), now, r.Stores[0], order)
		must(t, err)
		if quote.BusinessDate != c.want {
			t.Errorf("business date at %s in %s with cutoff %d: got %s, want %s",
				c.now, c.zone, c.cutoff, quote.BusinessDate, c.want)
		}
	}
}
