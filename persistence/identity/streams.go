package identity

import (
	"context"
	"time"

	"github.com/uptrace/bun"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/pg"
)

// OpenStream records that a request opens a stream of a store, for the duration of a lease. It returns RATE_LIMITED if
// the store has most open streams on all replicas together.
func (db *DB) OpenStream(
	ctx context.Context, store app.StoreID, request app.RequestID, most int, lease time.Duration,
) error {
	return db.pg.InStore(ctx, store, func(ctx context.Context, tx bun.Tx) error {
		_, err := tx.Tx.ExecContext(ctx, "SELECT pg_advisory_xact_lock(hashtextextended('streams ' || $1, 0))", store)
		if err != nil {
			return err
		}
		// A process that was killed leaves its streams behind until their leases expire.
		opened, err := pg.Inserted(tx.Tx.ExecContext(ctx, `WITH expired AS (
				DELETE FROM open_streams WHERE store_id = $1 AND expires_at <= statement_timestamp())
			INSERT INTO open_streams (request_id, store_id, expires_at)
			SELECT $2, $1, statement_timestamp() + $4 * interval '1 microsecond'
			WHERE (SELECT count(*) FROM open_streams
				WHERE store_id = $1 AND expires_at > statement_timestamp()) < $3`,
			store, request, most, lease.Microseconds()))
		if err != nil {
			return err
		}
		if !opened {
			refusal := app.RateLimited(lease)
			refusal.Message = "too many open streams of this store; close one and retry"
			return refusal
		}
		return nil
	})
}

// RenewStream extends the lease of an open stream. It returns NOT_FOUND if the lease has expired and another stream
// may have taken its place.
func (db *DB) RenewStream(ctx context.Context, store app.StoreID, request app.RequestID, lease time.Duration) error {
	return db.pg.InStore(ctx, store, func(ctx context.Context, tx bun.Tx) error {
		var renewed bool
		return tx.Tx.QueryRowContext(ctx, `UPDATE open_streams
			SET expires_at = clock_timestamp() + $3 * interval '1 microsecond'
			WHERE store_id = $1 AND request_id = $2 AND expires_at > clock_timestamp() RETURNING true`,
			store, request, lease.Microseconds()).Scan(&renewed)
	})
}

// CloseStream records the end of a stream.
func (db *DB) CloseStream(ctx context.Context, store app.StoreID, request app.RequestID) error {
	return db.pg.InStore(ctx, store, func(ctx context.Context, tx bun.Tx) error {
		_, err := tx.Tx.ExecContext(ctx, "DELETE FROM open_streams WHERE store_id = $1 AND request_id = $2", store,
			request)
		return err
	})
}
