package api

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/ordering"
)

var importProducts = handle("importProducts", (*Server).importProducts, app.CodeConflict).byRows()

type importProductsIn struct {
	storeParam
	DryRun bool                `query:"dryRun"`
	Rows   []importedProductIn `json:"rows" validate:"required,rows"`
}

// importedProductIn is one row of an import. Members that it does not name keep their values in an existing product.
type importedProductIn struct {
	StoreID       app.StoreID              `json:"storeId" validate:"omitempty,id"`
	SKU           string                   `json:"sku" validate:"required,notblank,sku"`
	Name          *string                  `json:"name" validate:"omitempty,notblank,name"`
	Description   nullable[string]         `json:"description" validate:"omitempty,productdescription"`
	Category      nullable[string]         `json:"category" validate:"omitempty,notblank,category"`
	ImageURL      nullable[string]         `json:"imageUrl" validate:"omitempty,imageurl"`
	PriceMinor    *int64                   `json:"priceMinor" validate:"omitempty,price"`
	Currency      *app.Currency            `json:"currency" validate:"omitempty,currency"`
	Prices        map[app.Currency]int64   `json:"prices" validate:"prices"`
	Translations  map[string]productTextIn `json:"translations" validate:"translations"`
	TaxRatePPM    nullable[int64]          `json:"taxRatePpm" validate:"omitempty,taxrate"`
	IsAvailable   *bool                    `json:"isAvailable"`
	StockQuantity nullable[int64]          `json:"stockQuantity" validate:"omitempty,stock"`
	ExternalID    nullable[string]         `json:"externalId" validate:"omitempty,notblank,externalid"`
	Metadata      map[string]string        `json:"metadata" validate:"metadata"`
	SoldOutUntil  nullable[app.Time]       `json:"soldOutUntil"`
	OptionGroups  *[]optionGroupIn         `json:"optionGroups" validate:"omitempty,optiongroups"`
	Position      *int64                   `json:"position" validate:"omitempty,position"`
}

// check returns the faults of rows that name the same product or externalId.
func (in importProductsIn) check() []app.Detail {
	var faults []app.Detail
	bySKU, byExternalID := map[string]int{}, map[string]int{}
	checkUnique := func(i int, name, value string, first map[string]int) {
		if at, twice := first[value]; twice {
			path := fmt.Sprintf("rows[%d].%s", i, name)
			faults = append(faults, app.Detail{Path: path, Message: fmt.Sprintf("is also in rows[%d]", at)})
		} else if value != "" {
			first[value] = i
		}
	}
	for i, row := range in.Rows {
		checkUnique(i, "sku", row.SKU, bySKU)
		var externalID string
		patchOrClear(&externalID, row.ExternalID)
		checkUnique(i, "externalId", externalID, byExternalID)
	}
	return faults
}

// importProducts creates and changes products by SKU, all or none.
func (s *Server) importProducts(ctx context.Context, c *call, in importProductsIn) (app.ProductImport, error) {
	if len(c.rowFaults) > 0 {
		return app.ProductImport{}, s.importFaults(ctx, c, in)
	}
	rows := make([]ordering.ProductRow, len(in.Rows))
	for i, row := range in.Rows {
		if row.StoreID != "" && row.StoreID != c.principal.StoreID {
			return app.ProductImport{}, app.StoreMismatch()
		}
		rows[i] = row.of(c)
	}
	return s.db.ImportProducts(ctx, c.now, c.principal.StoreID, c.actor(), rows, in.DryRun, c.once)
}

func (in importedProductIn) of(c *call) ordering.ProductRow {
	return ordering.ProductRow{SKU: in.SKU, Apply: func(p *app.Product, exists bool) []app.Detail {
		return in.apply(c, p, exists)
	}}
}

// importFaults returns the error of an import with faulty rows, which lists their faults by row together with those
// that only the store's products show. Rows without a SKU of their own are not compared with products.
func (s *Server) importFaults(ctx context.Context, c *call, in importProductsIn) error {
	rows := make([]ordering.ProductRow, len(in.Rows))
	seen := map[string]bool{"": true}
	for i, row := range in.Rows {
		rows[i] = ordering.ProductRow{Apply: func(*app.Product, bool) []app.Detail { return nil }}
		if !seen[row.SKU] {
			rows[i] = row.of(c)
		}
		seen[row.SKU] = true
	}
	found, err := s.db.ImportFaults(ctx, c.now, c.principal.StoreID, rows)
	if err != nil {
		return err
	}
	known := binder{faults: c.rowFaults, most: app.MaxImportFaults}
	for _, fault := range found {
		known.fault(fault.Path, fault.Message)
	}
	slices.SortStableFunc(known.faults, func(a, b app.Detail) int { return rowOf(a) - rowOf(b) })
	return app.InvalidAll(known.faults)
}

// rowOf returns the row of a fault.
func rowOf(fault app.Detail) (row int) {
	text, _, _ := strings.Cut(strings.TrimPrefix(fault.Path, "rows["), "]")
	row, _ = strconv.Atoi(text)
	return row
}

// apply applies a row to a product, which is empty unless it exists, and returns the faults of the result.
func (in importedProductIn) apply(c *call, p *app.Product, exists bool) []app.Detail {
	var faults []app.Detail
	if !exists {
		*p = app.Product{
			IsAvailable: true, Prices: map[app.Currency]int64{}, Translations: map[string]app.ProductText{},
			Metadata: map[string]string{}, OptionGroups: []app.OptionGroup{},
		}
		faults = in.missing()
	}
	soldOut := p.SoldOutUntil
	p.SKU = in.SKU
	patch(&p.Name, in.Name)
	patchOrClear(&p.Description, in.Description)
	patchOrClear(&p.Category, in.Category)
	patchOrClear(&p.ImageURL, in.ImageURL)
	patch(&p.PriceMinor, in.PriceMinor)
	patch(&p.Currency, in.Currency)
	patch(&p.TaxRatePPM, in.TaxRatePPM)
	patch(&p.IsAvailable, in.IsAvailable)
	patch(&p.StockQuantity, in.StockQuantity)
	patch(&p.SoldOutUntil, in.SoldOutUntil)
	patchOrClear(&p.ExternalID, in.ExternalID)
	patch(&p.Position, in.Position)
	if in.Prices != nil {
		p.Prices = in.Prices
	}
	if in.Metadata != nil {
		p.Metadata = in.Metadata
	}
	if in.Translations != nil {
		p.Translations = map[string]app.ProductText{}
		for locale, text := range in.Translations {
			p.Translations[locale] = app.ProductText(text)
		}
	}
	if in.OptionGroups != nil {
		faults = append(faults, checkOptionGroups(*in.OptionGroups, p.OptionGroups)...)
		replaced := optionGroups(*in.OptionGroups)
		keepOptionIDs(replaced, p.OptionGroups)
		p.OptionGroups = replaced
	}
	faults = append(faults, checkOptionPrices(p.OptionGroups, p.Currency)...)
	if _, twice := p.Prices[p.Currency]; twice {
		faults = append(faults, pricedTwice("prices", p.Currency))
	}
	if !sameTime(soldOut, p.SoldOutUntil) {
		faults = append(faults, faultsOf(checkSoldOut(c.now, soldOutMember, p.SoldOutUntil))...)
	}
	return faults
}

// missing returns the faults of a row for a new product without the required members.
func (in importedProductIn) missing() []app.Detail {
	var faults []app.Detail
	for _, required := range []struct {
		name  string
		given bool
	}{{"name", in.Name != nil}, {"priceMinor", in.PriceMinor != nil}, {"currency", in.Currency != nil}} {
		if !required.given {
			faults = append(faults, app.Detail{Path: required.name, Message: "is required for a new product"})
		}
	}
	return faults
}

// keepOptionIDs gives groups and options without an id those of the replaced ones with the same name, so that an
// import that is repeated changes nothing. The product has each id once, also if a row moves an option to another
// group.
func keepOptionIDs(groups, replaced []app.OptionGroup) {
	used := map[any]bool{} // ids of either type
	for _, group := range groups {
		used[group.ID] = true
		for _, option := range group.Options {
			used[option.ID] = true
		}
	}
	for i := range groups {
		group := &groups[i]
		at := slices.IndexFunc(replaced, func(former app.OptionGroup) bool {
			return group.ID == former.ID || group.ID == "" && group.Name == former.Name && !used[former.ID]
		})
		if at < 0 {
			continue
		}
		group.ID = replaced[at].ID
		used[group.ID] = true
		keepIDsOfOptions(group.Options, replaced[at].Options, used)
	}
}

func keepIDsOfOptions(options, replaced []app.Option, used map[any]bool) {
	for i := range options {
		option := &options[i]
		at := slices.IndexFunc(replaced, func(former app.Option) bool {
			return option.ID == "" && option.Name == former.Name && !used[former.ID]
		})
		if at >= 0 {
			option.ID = replaced[at].ID
			used[option.ID] = true
		}
	}
}

// faultsOf returns the details of an error.
func faultsOf(err error) []app.Detail {
	if refusal, ok := errors.AsType[*app.Error](err); ok {
		return refusal.Details
	}
	return nil
}
