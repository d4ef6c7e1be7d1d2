package ordering

import (
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/uptrace/bun"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/delivery"
	"github.com/comanda-dev/comanda/persistence/pg"
)

// ProductRow is one row of an import of products.
type ProductRow struct {
	SKU string // unique within the import
	// Apply applies the row to the product with the SKU, or to an empty product if there is none. It returns the faults
	// with paths within the row.
	Apply func(p *app.Product, exists bool) []app.Detail
}

// plannedProduct is a product before and after an import.
type plannedProduct struct {
	before, after app.Product
	exists        bool
	fields        []string // names of the members that the import changes; nil for a new product
}

func (p plannedProduct) changes() bool { return !p.exists || len(p.fields) > 0 }

// ImportProducts creates or changes products by SKU, all or none, with a fixed number of statements. It emits the
// events and records the entries of single changes. A dry run writes nothing and ignores once. It returns
// VALIDATION_FAILED with the faults of the rows, CONFLICT if a concurrent request creates a product with the same SKU
// or externalId, and the errors of [pg.RunOnce].
func (db *DB) ImportProducts(
	ctx context.Context, now time.Time, store app.StoreID, by app.Actor, rows []ProductRow, dryRun bool, once *pg.Once,
) (app.ProductImport, error) {
	now = app.At(now).Time
	if dryRun {
		once = nil
	}
	done, err := pg.CreateOnce(ctx, db.pg, store, once, now, func(
		ctx context.Context, tx bun.Tx,
	) (app.ProductImport, error) {
		result := app.ProductImport{DryRun: dryRun}
		planned, faults, err := planImport(ctx, tx, now, store, rows)
		if err != nil {
			return result, err
		}
		if len(faults) > 0 {
			return result, app.InvalidAll(faults[:min(len(faults), app.MaxImportFaults)])
		}
		for _, p := range planned {
			result.Add(p.after.SKU, p.exists, p.fields)
		}
		if dryRun {
			return result, nil
		}
		return result, saveImport(ctx, tx, now, store, by, planned)
	})
	if pg.IsDuplicateIn(err, "products_by_sku") || pg.IsDuplicateIn(err, "products_by_external_id") {
		err = importRaced()
	}
	return done, err
}

// ImportFaults returns the faults of an import's rows, those of a row together. It writes nothing. It returns CONFLICT
// as [DB.ImportProducts] does.
func (db *DB) ImportFaults(
	ctx context.Context, now time.Time, store app.StoreID, rows []ProductRow,
) (faults []app.Detail, err error) {
	err = db.pg.InStore(ctx, store, func(ctx context.Context, tx bun.Tx) error {
		_, faults, err = planImport(ctx, tx, app.At(now).Time, store, rows)
		return err
	})
	return faults, err
}

func importRaced() error {
	return app.Errorf(app.CodeConflict,
		"another request was using a SKU or an externalId of this import; send the request again")
}

// planImport locks the products of an import, by id as orders do, and applies the rows to them. It returns the faults
// of the rows in their order.
func planImport(
	ctx context.Context, tx bun.Tx, now time.Time, store app.StoreID, rows []ProductRow,
) ([]plannedProduct, []app.Detail, error) {
	skus := make([]string, len(rows))
	for i, row := range rows {
		skus[i] = row.SKU
	}
	var found []productRow
	err := tx.NewSelect().Model(&found).
		Where("p.store_id = ? AND p.deleted_at IS NULL AND p.sku <> '' AND p.sku IN (?)", store, bun.List(skus)).
		OrderExpr("p.id").For("NO KEY UPDATE").Scan(ctx)
	if err != nil {
		return nil, nil, err
	}
	existing := map[string]app.Product{}
	for _, row := range found {
		existing[row.SKU] = row.product(now)
	}
	planned := make([]plannedProduct, len(rows))
	faults := make([][]app.Detail, len(rows))
	for i, row := range rows {
		p := plannedProduct{}
		p.before, p.exists = existing[row.SKU]
		p.after = p.before
		for _, fault := range row.Apply(&p.after, p.exists) {
			faults[i] = append(faults[i], inRow(i, fault))
		}
		planned[i] = p.finish(now, store)
		if planned[i].changes() && app.CodeOf(planned[i].after.CheckSize()) == app.CodeLimitReached {
			faults[i] = append(faults[i], inRow(i, tooLargeProduct))
		}
	}
	taken, err := takenExternalIDs(ctx, tx, store, planned)
	for row, fault := range taken {
		faults[row] = append(faults[row], inRow(row, fault))
	}
	return planned, slices.Concat(faults...), err
}

// tooLargeProduct is the fault of a row that makes a product too large.
var tooLargeProduct = app.Detail{
	Message: fmt.Sprintf("makes a product of more than %d bytes as JSON", app.MaxObject),
}

// inRow returns a fault of a row as a fault of the import. A fault without a path is one of the whole row.
func inRow(row int, fault app.Detail) app.Detail {
	path := strings.TrimSuffix(fmt.Sprintf("rows[%d].%s", row, fault.Path), ".")
	return app.Detail{Path: path, Message: fault.Message}
}

// finish completes a product to which a row was applied: the changed members, ids, version and times.
func (p plannedProduct) finish(now time.Time, store app.StoreID) plannedProduct {
	p.after.Orderable = p.after.OrderableAt(now)
	if p.exists {
		p.fields = p.before.Changes(p.after)
	}
	switch {
	case !p.exists:
		p.after.ID, p.after.StoreID, p.after.Version = app.NewID[app.ProductID](now), store, 1
		p.after.CreatedAt, p.after.UpdatedAt = app.At(now), app.At(now)
	case len(p.fields) > 0:
		p.after = p.after.Revised(now)
	}
	p.after.NewOptionIDs(now)
	p.after = rowOfProduct(p.after).product(now)
	return p
}

// takenExternalIDs returns the faults, by row, of rows whose externalId belongs to another product after the import. It
// returns CONFLICT if that product has the SKU of the row: another request has created it since the import looked for
// it.
func takenExternalIDs(
	ctx context.Context, tx bun.Tx, store app.StoreID, planned []plannedProduct,
) (map[int]app.Detail, error) {
	rowOf := map[string]int{}           // by wanted externalId
	after := map[app.ProductID]string{} // externalIds of the products of the import
	for i, p := range planned {
		after[p.after.ID] = p.after.ExternalID
		if p.after.ExternalID != p.before.ExternalID && p.after.ExternalID != "" {
			rowOf[p.after.ExternalID] = i
		}
	}
	if len(rowOf) == 0 {
		return nil, nil
	}
	wanted := make([]string, 0, len(rowOf))
	for id := range rowOf {
		wanted = append(wanted, id)
	}
	slices.Sort(wanted)
	var owners []productRow
	err := tx.NewSelect().Model(&owners).Column("id", "sku", "external_id").
		Where("p.store_id = ? AND p.deleted_at IS NULL AND p.external_id <> ''", store).
		Where("p.external_id IN (?)", bun.List(wanted)).OrderExpr("p.external_id").Scan(ctx)
	faults := map[int]app.Detail{}
	for _, owner := range owners {
		kept, imported := after[owner.ID]
		switch {
		case imported && kept != owner.ExternalID:
			continue // the import frees it
		case !imported && owner.SKU == planned[rowOf[owner.ExternalID]].after.SKU:
			return nil, importRaced()
		}
		faults[rowOf[owner.ExternalID]] = app.Detail{Path: "externalId", Message: "belongs to " + string(owner.ID)}
	}
	return faults, err
}

// saveImport writes the changed products, their events and the entries of changed prices.
func saveImport(
	ctx context.Context, tx bun.Tx, now time.Time, store app.StoreID, by app.Actor, planned []plannedProduct,
) error {
	var rows []productRow
	var moved []app.ProductID // products that lose their externalId, perhaps to another product of the import
	var soldOut []string
	var events []delivery.Emission
	var prices []pg.AuditLine
	for _, p := range planned {
		if !p.changes() {
			continue
		}
		rows = append(rows, rowOfProduct(p.after))
		if p.before.ExternalID != "" && p.before.ExternalID != p.after.ExternalID {
			moved = append(moved, p.after.ID)
		}
		if p.after.SoldOutUntil != nil && (!p.exists || slices.Contains(p.fields, "soldOutUntil")) {
			soldOut = append(soldOut, string(p.after.ID))
		}
		event := delivery.Emission{Type: app.EventProductCreated, Data: p.after}
		if p.exists {
			if details := p.before.PriceChanges(p.after); details != nil {
				prices = append(prices, pg.AuditLine{Target: string(p.after.ID), Details: details})
			}
			event = delivery.Emission{
				Type: app.EventProductUpdated, Data: app.ProductUpdated{Product: p.after, ChangedFields: p.fields},
			}
		}
		events = append(events, event)
	}
	if len(rows) == 0 {
		return nil
	}
	if len(moved) > 0 {
		_, err := tx.NewRaw("UPDATE products SET external_id = '' WHERE store_id = ? AND id IN (?)", store,
			bun.List(moved)).Exec(ctx)
		if err != nil {
			return err
		}
	}
	if err := upsertProducts(ctx, tx, store, rows); err != nil {
		return err
	}
	if err := pg.AuditAll(ctx, tx, now, store, by, app.AuditPricesChanged, prices); err != nil {
		return err
	}
	if err := delivery.EnqueueJobs(ctx, tx, now, store, app.JobSoldOut, soldOut); err != nil {
		return err
	}
	return delivery.EmitAll(ctx, tx, now, store, events)
}

// upsertProducts inserts products, and replaces those that exist, in one statement.
func upsertProducts(ctx context.Context, tx bun.Tx, store app.StoreID, rows []productRow) error {
	q := tx.NewInsert().Model(&rows).On("CONFLICT (id) DO UPDATE").Where("p.store_id = ?", store)
	for _, field := range tx.Dialect().Tables().Get(reflect.TypeFor[productRow]()).Fields {
		if !slices.Contains([]string{"id", "store_id", "created_at", "deleted_at"}, field.Name) {
			q.Set("? = EXCLUDED.?", bun.Ident(field.Name), bun.Ident(field.Name))
		}
	}
	_, err := q.Exec(ctx)
	return err
}
