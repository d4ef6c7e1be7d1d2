package api

import (
	"testing"

	"github.com/comanda-dev/comanda/app"
)

// Of two concurrent requests for the last API key of a sandbox, one in the store and one in the sandbox, one succeeds.
func TestAPIKeysOfASandboxAreLimited(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	create := func() *response {
		return w.do("POST", "/api-keys", w.tokens["OWNER"],
			object{"name": "Till", "scopes": []string{"read:orders"}, "mode": "test"})
	}
	create().ok(201, nil)
	sandbox := w.text("SELECT id FROM stores WHERE sandbox_of = '" + string(w.stores["own"].id) + "'")
	const insert = `INSERT INTO api_keys (id, store_id, name, scopes, mode, hash, last_four, created_at)
		SELECT 'key_' || n, s.id, 'Till', '{read:orders}', 'test', sha256(n::text::bytea), 'abcd', now()
		FROM generate_series($2::int, $3) n, (SELECT id FROM stores WHERE id = $1 FOR NO KEY UPDATE) s`
	w.exec(insert, sandbox, 2, app.MaxAPIKeys-1)
	w.duringTransaction(create, insert, sandbox, app.MaxAPIKeys, app.MaxAPIKeys).refused(app.CodeLimitReached)
}
