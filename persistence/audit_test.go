package persistence_test

import (
	"database/sql"
	"strings"
	"testing"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/persistencetest"
)

// No role of the service, nor the owner of the table, changes what the trail says.
func TestAuditIsAppendOnly(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	store := open(t, db, "one.example").stores[0]
	must(t, db.Audit(t.Context(), noon, store, app.Actor{Realm: app.RealmTenant, ID: "usr_1"}, "test", "x", map[string]any{"role": "STAFF"}))
	owner, err := sql.Open("pgx", db.OwnerURL)
	must(t, err)
	defer owner.Close()
	for _, statement := range []string{"UPDATE audit SET actor_id = ''", "DELETE FROM audit"} {
		if _, err := db.System().DB.ExecContext(t.Context(), statement); err == nil || !strings.Contains(err.Error(), "permission denied") {
			t.Errorf("%s as comanda_system: %v", statement, err)
		}
		if _, err := owner.ExecContext(t.Context(), statement); err == nil || !strings.Contains(err.Error(), "append-only") {
			t.Errorf("%s as the owner: %v", statement, err)
		}
	}
}
