package identity

import (
	"context"
	"fmt"
	"time"

	"github.com/uptrace/bun"

	"github.com/comanda-dev/comanda/app"
)

// StreamLimits limit the open streams on all replicas together.
type StreamLimits struct{ Store, Website int }

// OpenStream records that a request opens a stream of the caller's store, for the duration of a lease. It returns
// RATE_LIMITED if the store or its website has as many open streams as it may have.
func (db *DB) OpenStream(
	ctx context.Context, caller app.Principal, request app.RequestID, most StreamLimits, lease time.Duration,
) error {
	return db.pg.InSystem(ctx, func(ctx context.Context, tx bun.Tx) error {
		_, err := tx.Tx.ExecContext(ctx, "SELECT pg_advisory_xact_lock(hashtextextended('streams ' || $1, 0))",
			caller.WebsiteID)
		if err != nil {
			return err
		}
		var ofStore, ofWebsite int
		// A process that was killed leaves its streams behind until their leases expire.
		err = tx.Tx.QueryRowContext(ctx, `WITH expired AS (
				DELETE FROM open_streams WHERE store_id = $1 AND expires_at <= statement_timestamp())
			SELECT count(*) FILTER (WHERE store_id = $1), count(*) FROM open_streams
			WHERE store_id IN (SELECT id FROM stores WHERE website_id = $2) AND expires_at > statement_timestamp()`,
			caller.StoreID, caller.WebsiteID).Scan(&ofStore, &ofWebsite)
		if err != nil {
			return err
		}
		switch {
		case ofStore >= most.Store:
			return tooManyStreams("store", most.Store, lease)
		case ofWebsite >= most.Website:
			return tooManyStreams("website", most.Website, lease)
		}
		_, err = tx.Tx.ExecContext(ctx, `INSERT INTO open_streams (request_id, store_id, expires_at)
			VALUES ($1, $2, statement_timestamp() + $3 * interval '1 microsecond')`,
			request, caller.StoreID, lease.Microseconds())
		return err
	})
}

func tooManyStreams(of string, most int, lease time.Duration) error {
	refusal := app.RateLimited(lease)
	refusal.Message = fmt.Sprintf("too many open streams of this %s (limit %d); close one and retry", of, most)
	return refusal
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
