package pg

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"database/sql"
	"encoding/json"
	"errors"
	"time"

	"github.com/uptrace/bun"

	"github.com/comanda-dev/comanda/app"
)

// Once limits a creation to one per Idempotency-Key. A nil *Once, or a Once without a key, changes
// nothing.
type Once struct {
	Credential string // the owner of the key
	Route      string // method and path
	Key        string // 1 to 255 visible characters; "" = no key
	Body       []byte // of the request; another body under the same key is refused
	Subject    string // of the created object, see app.Subject; "" = that of the object itself
	Existed    bool   // result: the object existed before the first request with the key
	Repeated   bool   // result: an earlier request with the key created the object
}

// About sets Subject.
func (o *Once) About(subject string) {
	if o != nil {
		o.Subject = subject
	}
}

// Found sets Existed: whether the object existed before the request.
func (o *Once) Found(existed bool) {
	if o != nil {
		o.Existed = existed
	}
}

// CreateOnce is [RunOnce] in a new transaction of one store.
func CreateOnce[T any](ctx context.Context, db *DB, store app.StoreID, once *Once, now time.Time,
	create func(ctx context.Context, tx bun.Tx) (T, error),
) (T, error) {
	var created T
	err := db.InStore(ctx, store, func(ctx context.Context, tx bun.Tx) (err error) {
		created, err = RunOnce(ctx, tx, store, once, now, func() (T, error) { return create(ctx, tx) })
		return err
	})
	return created, err
}

// RunOnce returns the object that create returns, and stores it as JSON under the request's Idempotency-Key in the same
// transaction. A repeated request gets the stored object, and once.Repeated is set. Keys of the platform belong to no
// store: store is "", and tx must have the system role. T must not contain a value that is shown once. RunOnce returns
// IDEMPOTENCY_KEY_REUSED if the key was used with another body, and IDEMPOTENCY_KEY_IN_USE while the first request is
// running.
func RunOnce[T any](ctx context.Context, tx bun.Tx, store app.StoreID, once *Once, now time.Time,
	create func() (T, error),
) (T, error) {
	if once == nil || once.Key == "" {
		return create()
	}
	var created T
	stored, err := once.begin(ctx, tx, store, now.Add(-app.IdempotencyRetention))
	if err != nil {
		return created, err
	}
	if once.Repeated = stored != nil; once.Repeated {
		err := json.Unmarshal(stored, &created)
		return created, err
	}
	if created, err = create(); err != nil {
		return created, err
	}
	data, err := json.Marshal(created)
	if err != nil {
		return created, err
	}
	if once.Subject == "" {
		once.Subject = app.SubjectOf(created)
	}
	hash := sha256.Sum256(once.Body)
	_, err = tx.NewRaw(keysOf(store).insert,
		store, once.Credential, once.Route, once.Key, hash[:], data, once.Existed, now, once.Subject).Exec(ctx)
	return created, err
}

// keyStatements find a key that has been stored since a time, and insert a key in place of an older one. Their first
// argument is the store, which the keys of the platform do not have.
type keyStatements struct{ find, insert string }

func keysOf(store app.StoreID) keyStatements {
	if store == "" {
		return keyStatements{
			find: `SELECT body_hash, response, existed FROM platform_idempotency_keys
				WHERE credential = ?1 AND route = ?2 AND key = ?3 AND created_at > ?4`,
			insert: `INSERT INTO platform_idempotency_keys
					(credential, route, key, body_hash, response, existed, created_at)
				VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)
				ON CONFLICT (credential, route, key) DO UPDATE SET body_hash = excluded.body_hash,
					response = excluded.response, existed = excluded.existed, created_at = excluded.created_at`,
		}
	}
	return keyStatements{
		find: `SELECT body_hash, response, existed FROM idempotency_keys
			WHERE store_id = ?0 AND credential = ?1 AND route = ?2 AND key = ?3 AND created_at > ?4`,
		insert: `INSERT INTO idempotency_keys
				(store_id, credential, route, key, body_hash, response, existed, created_at, subject)
			VALUES (?0, ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
			ON CONFLICT (store_id, credential, route, key) DO UPDATE SET body_hash = excluded.body_hash,
				response = excluded.response, existed = excluded.existed, created_at = excluded.created_at,
				subject = excluded.subject`,
	}
}

// begin locks the key for this transaction. It returns the object that a request with the key has created since a time,
// nil without one. Older keys are free, also before the retention erases them.
func (o *Once) begin(ctx context.Context, tx bun.Tx, store app.StoreID, since time.Time) ([]byte, error) {
	var free bool
	identity := string(store) + "\n" + o.Credential + "\n" + o.Route + "\n" + o.Key
	err := tx.NewRaw("SELECT pg_try_advisory_xact_lock(hashtextextended(?, 0))", identity).Scan(ctx, &free)
	if err != nil {
		return nil, err
	}
	if !free {
		return nil, &app.Error{
			Code: app.CodeIdempotencyKeyInUse, Message: "the first request with this Idempotency-Key is still running",
			RetryAfter: time.Second,
		}
	}
	var hash, stored []byte
	err = tx.QueryRowContext(ctx, keysOf(store).find, store, o.Credential, o.Route, o.Key, since).
		Scan(&hash, &stored, &o.Existed)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	requested := sha256.Sum256(o.Body)
	if subtle.ConstantTimeCompare(hash, requested[:]) == 0 {
		return nil, app.Errorf(app.CodeIdempotencyKeyReused, "this Idempotency-Key was used for another request body")
	}
	return stored, nil
}
