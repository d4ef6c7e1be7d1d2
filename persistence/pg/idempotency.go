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
	Existed    bool   // result: the object existed before the request
}

// Found sets Existed: whether the object existed before the request.
func (o *Once) Found(existed bool) {
	if o != nil {
		o.Existed = existed
	}
}

// Replayed is returned instead of a result if there is a stored response. Data is the data of that
// response, as JSON.
type Replayed struct{ Data []byte }

// Error makes Replayed an error.
func (r *Replayed) Error() string { return "answered before" }

// CreateOnce is [RunOnce] in a new transaction of one store.
func CreateOnce[T any](ctx context.Context, db *DB, store app.StoreID, once *Once, now time.Time,
	create func(ctx context.Context, tx bun.Tx) (T, error), render func(T) any,
) (T, error) {
	var result T
	err := db.InStore(ctx, store, func(ctx context.Context, tx bun.Tx) (err error) {
		result, err = RunOnce(ctx, tx, store, once, now, func() (T, error) { return create(ctx, tx) }, render)
		return err
	})
	return result, err
}

// RunOnce runs create and stores the response under the request's Idempotency-Key, both in tx.
// render returns the data of the response. RunOnce returns *Replayed if there is a stored response,
// IDEMPOTENCY_KEY_REUSED if the stored response belongs to another body, and
// IDEMPOTENCY_KEY_IN_USE while the first request is running.
func RunOnce[T any](ctx context.Context, tx bun.Tx, store app.StoreID, once *Once, now time.Time,
	create func() (T, error), render func(T) any,
) (T, error) {
	var none T
	if once == nil || once.Key == "" {
		return create()
	}
	if err := once.begin(ctx, tx, store); err != nil {
		return none, err
	}
	result, err := create()
	if err != nil {
		return none, err
	}
	data, err := json.Marshal(render(result))
	if err != nil {
		return none, err
	}
	hash := sha256.Sum256(once.Body)
	_, err = tx.NewRaw(`INSERT INTO idempotency_keys
			(store_id, credential, route, key, body_hash, response, existed, created_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
		store, once.Credential, once.Route, once.Key, hash[:], data, once.Existed, now).Exec(ctx)
	return result, err
}

// begin locks the key for this transaction. It returns an error if the key is in use or was used.
func (o *Once) begin(ctx context.Context, tx bun.Tx, store app.StoreID) error {
	var free bool
	identity := string(store) + "\n" + o.Credential + "\n" + o.Route + "\n" + o.Key
	err := tx.NewRaw("SELECT pg_try_advisory_xact_lock(hashtextextended(?, 0))", identity).Scan(ctx, &free)
	if err != nil {
		return err
	}
	if !free {
		return &app.Error{
			Code: app.CodeIdempotencyKeyInUse, Message: "the first request with this Idempotency-Key is still running",
			RetryAfter: time.Second,
		}
	}
	var hash, response []byte
	err = tx.QueryRowContext(ctx, `SELECT body_hash, response, existed FROM idempotency_keys
		WHERE store_id = ? AND credential = ? AND route = ? AND key = ?`, store, o.Credential, o.Route, o.Key).
		Scan(&hash, &response, &o.Existed)
	if errors.Is(err, sql.ErrNoRows) {
		return nil
	}
	if err != nil {
		return err
	}
	mine := sha256.Sum256(o.Body)
	if subtle.ConstantTimeCompare(hash, mine[:]) == 0 {
		return app.Errorf(app.CodeIdempotencyKeyReused, "this Idempotency-Key was used for another request body")
	}
	return &Replayed{response}
}
