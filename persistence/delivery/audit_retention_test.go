package delivery_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/persistencetest"
)

// record adds n entries to a store's audit trail, or to the platform's trail if store is "", one per minute until a
// time.
func record(t *testing.T, db *persistencetest.Database, store app.StoreID, n int, until time.Time) {
	t.Helper()
	trail, column, value := "platform_audit", "", ""
	if store != "" {
		trail, column, value = "audit", "store_id, ", "'"+string(store)+"', "
	}
	change(t, db, `INSERT INTO `+trail+` (id, `+column+`action, actor_realm, actor_id, target, details, address,
			request_id, at)
		SELECT 'aud_' || uuidv7_hex(at, 0), `+value+`'login', '', '', '', '{}', '', '', at
		FROM (SELECT $1::timestamptz - i * interval '1 minute' AS at FROM generate_series(0, $2::int - 1) i) t`,
		until, n)
}

// entries returns the number of entries of a trail: that of a store, or of the platform if store is "".
func entries(t *testing.T, db *persistencetest.Database, store app.StoreID) int {
	t.Helper()
	if store == "" {
		return count(t, db, "SELECT count(*) FROM platform_audit WHERE action = 'login'")
	}
	return count(t, db, "SELECT count(*) FROM audit WHERE action = 'login' AND store_id = $1", store)
}

// Entries that are older than the retention are erased from the trails of all stores and of the platform, in batches.
// A repeated erasure finds nothing.
func TestEraseAudit(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	one, two := open(t, db, "one.example"), open(t, db, "two.example")
	limit := noon.Add(-retention.Audit)
	want := map[app.StoreID]int{one.Stores[0]: 1, one.Stores[1]: 2, two.Stores[0]: 700, "": 3}
	for store, young := range want {
		record(t, db, store, 1300, limit.Add(-time.Microsecond))
		record(t, db, store, young, limit.Add(time.Duration(young-1)*time.Minute)) // the oldest has exactly the age
	}
	got, beats := erase(t, db, noon)
	if diff := cmp.Diff(app.Erased{AuditEntries: 4 * 1300}, got); diff != "" {
		t.Errorf("erased (-want +got):\n%s", diff)
	}
	if beats < 20 {
		t.Errorf("heartbeats: got %d, want at least 20", beats)
	}
	for store, young := range want {
		if n := entries(t, db, store); n != young {
			t.Errorf("entries of %q: got %d, want %d", store, n, young)
		}
	}
	if again, _ := erase(t, db, noon); again != (app.Erased{}) {
		t.Errorf("second Erase: got %+v, want nothing", again)
	}
}

// A young entry whose id sorts before those of old entries, because a clock was wrong, does not stop the erasure.
func TestEraseAuditSkipsYoungEntries(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	store := open(t, db, "one.example").Stores[0]
	record(t, db, store, 1300, noon.Add(-retention.Audit-time.Hour))
	change(t, db, `INSERT INTO audit SELECT 'aud_0', store_id, action, '', '', '', '{}', '', '', $1 FROM audit
		WHERE action = 'login' LIMIT 1`, noon)
	if got, _ := erase(t, db, noon); got.AuditEntries != 1300 {
		t.Errorf("erased entries: got %d, want 1300", got.AuditEntries)
	}
	if n := entries(t, db, store); n != 1 {
		t.Errorf("entries after Erase: got %d, want 1", n)
	}
}

// A worker whose clock is wrong erases no recent entries. The other steps of the erasure take place.
func TestEraseAuditWithWrongClock(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	store := open(t, db, "one.example").Stores[0]
	now := time.Now()
	record(t, db, store, 3, now.Add(-20*24*time.Hour))
	change(t, db, `INSERT INTO idempotency_keys (store_id, credential, route, key, body_hash, response, created_at)
		VALUES ($1, 'c', 'r', 'k', '', '', $2)`, store, now)
	erased, err := db.Erase(t.Context(), now.Add(retention.Audit), retention, func() {})
	if err == nil || !strings.Contains(err.Error(), "less than 29 days ago") {
		t.Errorf("Erase with a wrong clock: got error %v, want one about 29 days", err)
	}
	if erased.IdempotencyKeys != 1 || erased.AuditEntries != 0 {
		t.Errorf("erased: got %+v, want one idempotency key and no audit entry", erased)
	}
	if n := entries(t, db, store); n != 3 {
		t.Errorf("entries: got %d, want 3", n)
	}
}
