package identity

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/uptrace/bun"
	"github.com/uptrace/bun/dialect/pgdialect"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/pg"
)

// apiKeyRow is a row of the table api_keys without the key's hash.
type apiKeyRow struct {
	ID         app.APIKeyID
	StoreID    app.StoreID
	Name       string
	Scopes     []app.Scope `bun:",array"`
	Mode       app.KeyMode
	LastFour   string
	CreatedAt  time.Time
	LastUsedAt *time.Time
	RevokedAt  *time.Time
}

func (r apiKeyRow) apiKey() app.APIKey {
	return app.APIKey{
		ID: r.ID, StoreID: r.StoreID, Name: r.Name, Scopes: r.Scopes, Mode: r.Mode, Prefix: r.Mode.Prefix(),
		LastFour: r.LastFour, CreatedAt: app.At(r.CreatedAt), LastUsedAt: pg.TimeOrNil(r.LastUsedAt),
		RevokedAt: pg.TimeOrNil(r.RevokedAt),
	}
}

const apiKeyColumns = `k.id, k.store_id, k.name, k.scopes, k.mode, k.last_four,
	k.created_at, k.last_used_at, k.revoked_at`

// keysOfStore restricts api_keys k to the keys that a store manages: its own keys and the test keys,
// which belong to its sandbox.
const keysOfStore = `k.store_id IN (SELECT id FROM stores WHERE id = ?0 OR sandbox_of = ?0)`

// CreateAPIKey creates an API key of the caller's active store. A test key belongs to the store's sandbox, which the
// first test key creates. A repeated request returns the API key without the key itself. It returns TOKEN_REVOKED and
// INSUFFICIENT_ROLE if the caller is no longer an OWNER of the store, VALIDATION_FAILED for a live key of a sandbox,
// LIMIT_REACHED, and the errors of [pg.RunOnce].
func (db *DB) CreateAPIKey(
	ctx context.Context, now time.Time, caller app.Principal, by app.Actor, in app.NewAPIKey, once *pg.Once,
) (app.IssuedAPIKey, error) {
	now = app.At(now).Time
	var issued app.IssuedAPIKey
	err := db.pg.InSystem(ctx, func(ctx context.Context, tx bun.Tx) (err error) {
		issued = app.IssuedAPIKey{} // the transaction may run again
		issued.APIKey, err = pg.RunOnce(ctx, tx, caller.StoreID, once, now, func() (app.APIKey, error) {
			if _, err := lockOwner(ctx, tx, caller); err != nil {
				return app.APIKey{}, err
			}
			created, err := createAPIKey(ctx, tx, now, caller.StoreID, by, in)
			issued.Key = created.Key
			return created.APIKey, err
		})
		return err
	})
	return issued, err
}

// IssueAPIKey creates an API key of a store without a caller, for programs that set up a store. Its errors are those of
// [DB.CreateAPIKey].
func (db *DB) IssueAPIKey(
	ctx context.Context, now time.Time, store app.StoreID, in app.NewAPIKey,
) (issued app.IssuedAPIKey, err error) {
	err = db.pg.InSystem(ctx, func(ctx context.Context, tx bun.Tx) (err error) {
		issued, err = createAPIKey(ctx, tx, app.At(now).Time, store, app.Actor{}, in)
		return err
	})
	return issued, err
}

func createAPIKey(
	ctx context.Context, tx bun.Tx, now time.Time, store app.StoreID, by app.Actor, in app.NewAPIKey,
) (app.IssuedAPIKey, error) {
	home, mode, err := keyStore(ctx, tx, now, store, in.Mode)
	if err != nil {
		return app.IssuedAPIKey{}, err
	}
	// The lock of the store's row prevents concurrent requests from exceeding the limit. A statement that waits for the
	// lock does not see the key for which it waited, so another one counts.
	if _, err := tx.NewRaw(`SELECT FROM stores WHERE id = ? FOR NO KEY UPDATE`, home).Exec(ctx); err != nil {
		return app.IssuedAPIKey{}, err
	}
	var count int
	err = tx.NewRaw(`SELECT count(*) FROM api_keys WHERE store_id = ? AND revoked_at IS NULL`, home).Scan(ctx, &count)
	if err != nil {
		return app.IssuedAPIKey{}, err
	}
	if count >= app.MaxAPIKeys {
		return app.IssuedAPIKey{}, app.Errorf(app.CodeLimitReached,
			"a store can have at most %d API keys that are not revoked; revoke one first", app.MaxAPIKeys)
	}
	key := app.NewAPIKeySecret(mode)
	hash, _ := app.HashAPIKey(key)
	row := apiKeyRow{
		ID: app.NewID[app.APIKeyID](now), StoreID: home, Name: in.Name, Scopes: in.Scopes, Mode: mode,
		LastFour: key.Reveal()[key.Len()-4:], CreatedAt: now,
	}
	_, err = tx.NewRaw(`INSERT INTO api_keys (id, store_id, name, scopes, mode, hash, last_four, created_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
		row.ID, row.StoreID, row.Name, pgdialect.Array(row.Scopes), row.Mode, hash[:], row.LastFour, row.CreatedAt).
		Exec(ctx)
	if err != nil {
		return app.IssuedAPIKey{}, err
	}
	err = pg.Audit(ctx, tx, now, store, by, app.AuditAPIKeyCreated, string(row.ID),
		map[string]any{"name": row.Name, "scopes": row.Scopes, "mode": row.Mode})
	return app.IssuedAPIKey{APIKey: row.apiKey(), Key: key}, err
}

// keyStore returns the store and the mode of a new key. A test key belongs to the store's sandbox,
// which keyStore creates if necessary. It locks the store's row, so that concurrent requests create
// one sandbox. Changes of the store's memberships wait for this lock; then their trigger finds the sandbox.
func keyStore(
	ctx context.Context, tx bun.Tx, now time.Time, store app.StoreID, wanted app.KeyMode,
) (app.StoreID, app.KeyMode, error) {
	var sandboxOf sql.NullString
	err := tx.NewRaw(`SELECT sandbox_of FROM stores WHERE id = ? FOR NO KEY UPDATE`, store).Scan(ctx, &sandboxOf)
	switch {
	case err != nil:
		return "", "", err
	case sandboxOf.Valid && wanted == app.KeyLive:
		return "", "", app.Invalid("mode", "must be test, because the store is a sandbox")
	case sandboxOf.Valid:
		return store, app.KeyTest, nil
	case wanted != app.KeyTest:
		return store, app.KeyLive, nil
	}
	var sandbox app.StoreID
	err = tx.NewRaw(`SELECT id FROM stores WHERE sandbox_of = ?`, store).Scan(ctx, &sandbox)
	if errors.Is(err, sql.ErrNoRows) {
		sandbox, err = createSandbox(ctx, tx, now, store)
	}
	return sandbox, app.KeyTest, err
}

// Limits of the menu that a new sandbox gets. Its creation uses a connection that all websites share, and locks the
// store's row.
const (
	maxSandboxProducts = 10_000
	maxSandboxBytes    = 16 << 20 // of products, uncompressed; the batch that exceeds it is the last one
	sandboxBatch       = 20       // products of one statement, each of at most 960 KiB
)

// createSandbox creates a store's sandbox: a store of the same website with the same settings, views, members and
// products, and without other data (docs/behaviour.md#sandboxes).
func createSandbox(ctx context.Context, tx bun.Tx, now time.Time, store app.StoreID) (app.StoreID, error) {
	id := app.NewID[app.StoreID](now)
	for _, statement := range []string{
		// Copies all columns, also those that later migrations add, except the ones named here.
		`INSERT INTO stores SELECT (jsonb_populate_record(s, jsonb_build_object(
				'id', ?0::text, 'name', s.name || ' (sandbox)', 'sandbox_of', s.id, 'created_at', ?2::timestamptz,
				'ordering_paused_until', NULL))).*
			FROM stores s WHERE s.id = ?1`,
		`INSERT INTO store_views (id, store_id, code, locale, currency, is_default)
			SELECT 'view_' || uuidv7_hex(), ?0, code, locale, currency, is_default
			FROM store_views WHERE store_id = ?1`,
		`INSERT INTO memberships (user_id, store_id, role, created_at)
			SELECT user_id, ?0, role, ?2 FROM memberships WHERE store_id = ?1`,
	} {
		if _, err := tx.NewRaw(statement, id, store, now).Exec(ctx); err != nil {
			return "", err
		}
	}
	return id, copyMenu(ctx, tx, now, store, id)
}

// copyMenu copies the products of a store to its new sandbox, the oldest ones first, up to maxSandboxProducts and
// maxSandboxBytes.
func copyMenu(ctx context.Context, tx bun.Tx, now time.Time, store, sandbox app.StoreID) error {
	var menu []app.ProductID
	err := tx.NewRaw(`SELECT id FROM products WHERE store_id = ? AND deleted_at IS NULL ORDER BY id LIMIT ?`,
		store, maxSandboxProducts).Scan(ctx, &menu)
	if err != nil {
		return err
	}
	copied := 0 // bytes
	for first := 0; first < len(menu) && copied < maxSandboxBytes; first += sandboxBatch {
		batch := menu[first:min(first+sandboxBatch, len(menu))]
		var size int
		// The ids keep the order of the products. The end of soldOutUntil has a job in the live store only.
		err := tx.NewRaw(`WITH copied AS (
				INSERT INTO products SELECT copy.* FROM products p
					JOIN unnest(?3::text[]) WITH ORDINALITY AS batch (id, place) USING (id),
					LATERAL jsonb_populate_record(p, jsonb_build_object(
						'id', 'prd_' || uuidv7_hex(?2::timestamptz, ?4 + batch.place), 'store_id', ?0::text,
						'sold_out_until', NULL, 'version', 1, 'created_at', ?2::timestamptz,
						'updated_at', ?2::timestamptz)) copy
				WHERE p.store_id = ?1 AND p.deleted_at IS NULL
				RETURNING pg_column_size(products) AS size
			) SELECT coalesce(sum(size), 0) FROM copied`, sandbox, store, now, pgdialect.Array(batch), first).
			Scan(ctx, &size)
		if err != nil {
			return err
		}
		copied += size
	}
	return nil
}

// APIKeys lists the keys of a store and of its sandbox, newest first. The zero value of after is the
// start.
func (db *DB) APIKeys(ctx context.Context, store app.StoreID, after app.APIKeyID, limit int) ([]app.APIKey, error) {
	var rows []apiKeyRow
	err := db.pg.System().NewRaw(`SELECT `+apiKeyColumns+` FROM api_keys k
		WHERE `+keysOfStore+` AND (?1 = '' OR k.id < ?1)
		ORDER BY k.id DESC LIMIT ?2`, store, after, limit).Scan(ctx, &rows)
	keys := make([]app.APIKey, len(rows))
	for i, row := range rows {
		keys[i] = row.apiKey()
	}
	return keys, pg.Classify(err)
}

// RevokeAPIKey revokes a key of the caller's active store or of its sandbox, effective from the next request. A revoked
// key stays as it is. It returns TOKEN_REVOKED and INSUFFICIENT_ROLE if the caller is no longer an OWNER of the store,
// and NOT_FOUND if there is no such key.
func (db *DB) RevokeAPIKey(
	ctx context.Context, now time.Time, caller app.Principal, by app.Actor, id app.APIKeyID,
) (app.APIKey, error) {
	store := caller.StoreID
	var row apiKeyRow
	err := db.pg.InSystem(ctx, func(ctx context.Context, tx bun.Tx) error {
		row = apiKeyRow{}
		if _, err := lockOwner(ctx, tx, caller); err != nil {
			return err
		}
		err := tx.NewRaw(`SELECT `+apiKeyColumns+` FROM api_keys k
			WHERE `+keysOfStore+` AND k.id = ?1 FOR NO KEY UPDATE`, store, id).Scan(ctx, &row)
		if err != nil || row.RevokedAt != nil {
			return err
		}
		at := app.At(now).Time
		row.RevokedAt = &at
		if _, err := tx.NewRaw(`UPDATE api_keys SET revoked_at = ? WHERE store_id = ? AND id = ?`, at, row.StoreID, id).
			Exec(ctx); err != nil {
			return err
		}
		return pg.Audit(ctx, tx, now, store, by, app.AuditAPIKeyRevoked, string(id),
			map[string]any{"name": row.Name, "scopes": row.Scopes, "mode": row.Mode})
	})
	return row.apiKey(), err
}

// lastUseInterval is the minimum time between two updates of a key's time of last use. It bounds the writes of a busy
// key.
const lastUseInterval = time.Minute

// AuthenticateKey returns the principal of an API key in one query. The query also updates the time of
// last use, at most once in lastUseInterval and without waiting for a lock. It returns TOKEN_INVALID for a
// malformed or unknown key, API_KEY_REVOKED for a revoked key, and WEBSITE_SUSPENDED for any other key
// while its website is suspended.
func (db *DB) AuthenticateKey(ctx context.Context, now time.Time, key app.Secret) (app.Principal, error) {
	hash, ok := app.HashAPIKey(key)
	if !ok {
		return app.Principal{}, app.TokenInvalid()
	}
	p := app.Principal{Realm: app.RealmAPIKey}
	var revoked, suspended bool
	err := db.lookups.System().DB.QueryRowContext(ctx, `WITH used AS (
			UPDATE api_keys SET last_used_at = $2 WHERE id = (
				SELECT id FROM api_keys WHERE hash = $1 AND revoked_at IS NULL
					AND (last_used_at IS NULL OR last_used_at <= $2::timestamptz - $3::interval)
				FOR NO KEY UPDATE SKIP LOCKED)
		)
		SELECT k.id, k.store_id, s.website_id, k.scopes, k.revoked_at IS NOT NULL, w.suspended_at IS NOT NULL,
			v.id, v.code, v.locale, v.currency, v.is_default
		FROM api_keys k JOIN stores s ON s.id = k.store_id JOIN websites w ON w.id = s.website_id
			JOIN store_views v ON v.store_id = k.store_id AND v.is_default
		WHERE k.hash = $1`, hash[:], now, lastUseInterval).
		Scan(&p.APIKeyID, &p.StoreID, &p.WebsiteID, pgdialect.Array(&p.Scopes), &revoked, &suspended, &p.View.ID,
			&p.View.Code, &p.View.Locale, &p.View.Currency, &p.View.IsDefault)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return app.Principal{}, app.TokenInvalid()
	case err != nil:
		return app.Principal{}, pg.Classify(err)
	case revoked:
		return app.Principal{}, app.Errorf(app.CodeAPIKeyRevoked, "the API key is revoked; create a new one")
	case suspended:
		return app.Principal{}, app.WebsiteSuspended()
	}
	return p, nil
}
