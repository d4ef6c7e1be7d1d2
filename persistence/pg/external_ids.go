package pg

import (
	"context"

	"github.com/uptrace/bun"

	"github.com/comanda-dev/comanda/app"
)

// Metadata returns the value of a column for metadata, which is never null.
func Metadata(metadata map[string]string) map[string]string {
	if metadata == nil {
		return map[string]string{}
	}
	return metadata
}

// ExternalIDTaken returns CONFLICT with the id of the other row if err, the error of a transaction, is a duplicate
// externalId of a table. It returns every other err unchanged.
func (db *DB) ExternalIDTaken(ctx context.Context, store app.StoreID, table, externalID string, err error) error {
	if !IsDuplicateIn(err, table+"_by_external_id") {
		return err
	}
	var other string
	err = db.InStore(ctx, store, func(ctx context.Context, tx bun.Tx) error {
		q := tx.NewSelect().TableExpr("?", bun.Ident(table)).Column("id").
			Where("store_id = ? AND external_id = ?", store, externalID)
		if table == "products" {
			q.Where("deleted_at IS NULL")
		}
		return q.Scan(ctx, &other)
	})
	if app.CodeOf(err) == app.CodeNotFound {
		return app.Errorf(app.CodeConflict, "another request was using this externalId; send the request again")
	}
	if err != nil {
		return err
	}
	taken := app.Errorf(app.CodeConflict, "%s already has this externalId", other)
	taken.Details = []app.Detail{{Path: "externalId", Message: "belongs to " + other}}
	return taken
}
