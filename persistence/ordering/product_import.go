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
	// with paths within the row. It is called twice: before the first product is saved, and to save it.
	Apply func(p *app.Product, exists bool) []app.Detail
}

// plannedProduct is a product before and after an import.
type plannedProduct struct {
	before, after app.Product
	exists        bool
	fields        []string // names of the members that the import changes; nil for a new product
	size          int      // of the product after it, as JSON, in bytes
}

func (p plannedProduct) changes() bool { return !p.exists || len(p.fields) > 0 }

// outline returns the product without members that can be large.
func (p plannedProduct) outline() plannedProduct {
	p.before = app.Product{ID: p.before.ID, SKU: p.before.SKU, ExternalID: p.before.ExternalID}
	p.after = app.Product{ID: p.after.ID, SKU: p.after.SKU, ExternalID: p.after.ExternalID}
	return p
}

// importBatch is the size, in bytes of JSON, with which a batch of changed products ends. One batch of an import is in
// memory at a time.
const importBatch = 1 << 20

// ImportProducts creates or changes products by SKU, all or none, in batches. It emits the events and records the
// entries of single changes. A dry run writes nothing and ignores once. It returns VALIDATION_FAILED with the faults of
// the rows, CONFLICT if a concurrent request creates a product with the same SKU or externalId, and the errors of
// [pg.RunOnce].
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
		return result, saveImport(ctx, tx, now, store, by, rows, planned)
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

// planImport locks the products of an import and applies the rows to them. It returns the outlines of the products, and
// the faults of the rows in their order.
func planImport(
	ctx context.Context, tx bun.Tx, now time.Time, store app.StoreID, rows []ProductRow,
) ([]plannedProduct, []app.Detail, error) {
	planned := make([]plannedProduct, len(rows))
	faults := make([][]app.Detail, len(rows))
	err := planRows(ctx, tx, now, store, rows, nil, func(i int, p plannedProduct, found []app.Detail) error {
		planned[i] = p.outline()
		for _, fault := range found {
			faults[i] = append(faults[i], inRow(i, fault))
		}
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	taken, err := takenExternalIDs(ctx, tx, store, planned)
	for row, fault := range taken {
		faults[row] = append(faults[row], inRow(row, fault))
	}
	return planned, slices.Concat(faults...), err
}

// planRows locks the products of rows, by id as orders do. It calls each with the index of each row, the product to
// which it was applied and the faults, one at a time: each must not run statements of the transaction. moved are the
// externalIds, by SKU, of products that the import has taken from them.
func planRows(
	ctx context.Context, tx bun.Tx, now time.Time, store app.StoreID, rows []ProductRow, moved map[string]string,
	each func(row int, p plannedProduct, faults []app.Detail) error,
) error {
	skus := make([]string, len(rows))
	bySKU := map[string]int{}
	for i, row := range rows {
		skus[i], bySKU[row.SKU] = row.SKU, i
	}
	q := tx.NewSelect().Model((*productRow)(nil)).
		Where("p.store_id = ? AND p.deleted_at IS NULL AND p.sku <> '' AND p.sku IN (?)", store, bun.List(skus)).
		OrderExpr("p.id").For("NO KEY UPDATE")
	existing := make([]bool, len(rows))
	err := pg.Each(ctx, q, func(found productRow) error {
		i := bySKU[found.SKU]
		existing[i] = true
		if id, taken := moved[found.SKU]; taken {
			found.ExternalID = id
		}
		p, faults := rows[i].plan(now, store, found.product(now), true)
		return each(i, p, faults)
	})
	for i, row := range rows {
		if err == nil && !existing[i] {
			p, faults := row.plan(now, store, app.Product{}, false)
			err = each(i, p, faults)
		}
	}
	return err
}

// plan applies the row to a product. It returns the faults with paths within the row.
func (r ProductRow) plan(
	now time.Time, store app.StoreID, before app.Product, exists bool,
) (p plannedProduct, faults []app.Detail) {
	p = plannedProduct{before: before, after: before, exists: exists}
	faults = r.Apply(&p.after, exists)
	p = p.finish(now, store)
	if p.changes() && p.size > app.MaxObject {
		faults = append(faults, tooLargeProduct)
	}
	return p, faults
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
	p.size, _ = p.after.Size() // products can be encoded
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

// saveImport writes the changed products of an import, with their events and the entries of changed prices.
func saveImport(
	ctx context.Context, tx bun.Tx, now time.Time, store app.StoreID, by app.Actor, rows []ProductRow,
	planned []plannedProduct,
) error {
	moved, err := takeExternalIDs(ctx, tx, store, planned)
	if err != nil {
		return err
	}
	size := 0
	var batch []ProductRow
	var outlines []plannedProduct
	for i, p := range planned {
		if p.changes() {
			batch, outlines, size = append(batch, rows[i]), append(outlines, p), size+p.size
		}
		if len(batch) == 0 || size < importBatch && i < len(planned)-1 {
			continue
		}
		products := make([]plannedProduct, len(batch))
		err := planRows(ctx, tx, now, store, batch, moved, func(i int, p plannedProduct, _ []app.Detail) error {
			if products[i] = p; p.exists != outlines[i].exists {
				return importRaced()
			}
			return nil
		})
		if err != nil {
			return err
		}
		if err := saveProducts(ctx, tx, now, store, by, products); err != nil {
			return err
		}
		batch, outlines, size = nil, nil, 0
	}
	return nil
}

// takeExternalIDs clears the externalIds of products that lose them, perhaps to another product of the import. It
// returns them by SKU.
func takeExternalIDs(
	ctx context.Context, tx bun.Tx, store app.StoreID, planned []plannedProduct,
) (map[string]string, error) {
	moved := map[string]string{}
	var losers []app.ProductID
	for _, p := range planned {
		if p.before.ExternalID != "" && p.before.ExternalID != p.after.ExternalID {
			moved[p.after.SKU] = p.before.ExternalID
			losers = append(losers, p.after.ID)
		}
	}
	if len(losers) == 0 {
		return nil, nil
	}
	_, err := tx.NewRaw("UPDATE products SET external_id = '' WHERE store_id = ? AND id IN (?)", store,
		bun.List(losers)).Exec(ctx)
	return moved, err
}

// saveProducts writes products that an import changes, their events and the entries of changed prices.
func saveProducts(
	ctx context.Context, tx bun.Tx, now time.Time, store app.StoreID, by app.Actor, products []plannedProduct,
) error {
	var rows []productRow
	var soldOut []string
	var events []delivery.Emission
	var prices []pg.AuditLine
	for _, p := range products {
		rows = append(rows, rowOfProduct(p.after))
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
