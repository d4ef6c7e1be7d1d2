package identity

import (
	"context"
	"time"

	"github.com/uptrace/bun"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/pg"
)

// HoursRow holds the columns of the table stores that determine when a store takes orders.
type HoursRow struct {
	Timezone            string
	OpeningHours        app.OpeningHours `bun:"type:jsonb"`
	Closures            []app.Closure    `bun:"type:jsonb"`
	OrderingPausedUntil *time.Time
}

// Hours returns when the store takes orders.
func (r HoursRow) Hours() (app.Hours, error) {
	zone, err := zoneOf(r.Timezone)
	hours := app.Hours{Zone: zone, Opening: r.OpeningHours, Closures: r.Closures}
	if r.OrderingPausedUntil != nil {
		hours.PausedUntil = *r.OrderingPausedUntil
	}
	return hours, err
}

// PauseOrdering pauses ordering in a store until a time, instead of an earlier pause, and records it. It returns
// VALIDATION_FAILED if the time is not in the future, or too far ahead.
func (db *DB) PauseOrdering(
	ctx context.Context, now time.Time, store app.StoreID, by app.Actor, until time.Time, reason string,
) (app.Store, error) {
	if err := app.CheckPause(now, until); err != nil {
		return app.Store{}, err
	}
	details := map[string]any{"until": app.At(until)}
	if reason != "" {
		details["reason"] = reason
	}
	return db.setPause(ctx, now, store, by, app.AuditOrderingPaused, details, `UPDATE stores SET
		ordering_paused_until = $2 WHERE id = $1`, app.At(until).Time)
}

// ResumeOrdering ends a pause of ordering and records it. It writes nothing if ordering is not paused.
func (db *DB) ResumeOrdering(
	ctx context.Context, now time.Time, store app.StoreID, by app.Actor,
) (app.Store, error) {
	return db.setPause(ctx, now, store, by, app.AuditOrderingResumed, map[string]any{}, `UPDATE stores SET
		ordering_paused_until = NULL WHERE id = $1 AND ordering_paused_until > $2`, app.At(now).Time)
}

// setPause executes a statement with a store and a time, records the action if the statement changes the store, and
// returns the store.
func (db *DB) setPause(
	ctx context.Context, now time.Time, store app.StoreID, by app.Actor, action app.AuditAction,
	details map[string]any, statement string, at time.Time,
) (app.Store, error) {
	var changed app.Store
	err := db.pg.InSystem(ctx, func(ctx context.Context, tx bun.Tx) error {
		result, err := tx.Tx.ExecContext(ctx, statement, store, at)
		if err != nil {
			return err
		}
		if rows, err := result.RowsAffected(); err != nil {
			return err
		} else if rows > 0 {
			if err := pg.Audit(ctx, tx, now, store, by, action, string(store), details); err != nil {
				return err
			}
		}
		changed, err = storeOf(ctx, tx, now, store)
		return err
	})
	return changed, err
}
