package persistence

import (
	"context"
	"time"

	"github.com/uptrace/bun"

	"github.com/comanda-dev/comanda/app"
)

// audit adds a line to a store's audit trail, in the transaction of what it tells of.
func audit(ctx context.Context, tx bun.Tx, now time.Time, store app.StoreID, by app.Actor, action app.AuditAction, target string, details map[string]any) error {
	if details == nil {
		details = map[string]any{}
	}
	_, err := tx.NewRaw(`INSERT INTO audit (id, store_id, action, actor_realm, actor_id, target, details, address, request_id, at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		app.NewID[app.AuditID](now), store, action, by.Realm, by.ID, target, details, by.Address, by.RequestID, app.At(now).Time).Exec(ctx)
	return err
}
