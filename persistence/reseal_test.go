package persistence_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/comanda-dev/comanda/persistence"
	"github.com/comanda-dev/comanda/persistence/persistencetest"
)

// Each column of bytes is either sealed again by Reseal or contains no sealed value.
func TestResealKnowsAllColumns(t *testing.T) {
	t.Parallel()
	db := persistencetest.New(t)
	notSealed := []string{
		"api_keys.hash", "attempts.response_body", "idempotency_keys.body_hash", "idempotency_keys.response",
		"invitations.token_hash", "rate_limits.key", "users.recovery_hashes", "used_id_tokens.hash",
		"platform_idempotency_keys.body_hash", "platform_idempotency_keys.response", "password_resets.token_hash",
		"customer_password_resets.token_hash", "customer_email_changes.token_hash",
	}
	rows, err := db.System().DB.QueryContext(t.Context(), `SELECT table_name || '.' || column_name
		FROM information_schema.columns
		WHERE table_schema = 'public' AND udt_name IN ('bytea', '_bytea')`)
	must(t, err)
	defer rows.Close()
	var got []string
	for rows.Next() {
		var name string
		must(t, rows.Scan(&name))
		if !slices.Contains(notSealed, name) {
			got = append(got, name)
		}
	}
	must(t, rows.Err())
	want := persistence.SealedColumns()
	slices.Sort(got)
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("columns with sealed values (-want +got):\n%s", diff)
	}
}
