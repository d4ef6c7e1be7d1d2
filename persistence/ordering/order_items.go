package ordering

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/uptrace/bun"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/pg"
)

// itemRow is a row of the table order_items.
type itemRow struct {
	bun.BaseModel `bun:"table:order_items,alias:i"`

	OrderID        app.OrderID     `bun:",pk"`
	ID             app.OrderItemID `bun:",pk"`
	StoreID        app.StoreID
	Position       int
	ProductID      app.ProductID // "" = an ad hoc line
	ProductName    string
	SKU            string `bun:"sku"`
	Quantity       int64
	UnitPriceMinor int64
	IsPriced       bool // the caller has set the price
	TotalMinor     int64
	DiscountMinor  int64
	TaxRatePPM     int64                   `bun:"tax_rate_ppm"`
	Options        pg.JSONList[itemOption] `bun:"type:jsonb"`
	Note           string
	BusinessDate   string `bun:"type:date"` // of the order, for analytics
	StockTaken     int64  // units
	DoneAt         *time.Time
}

// itemOption is an element of the column options of order_items.
type itemOption struct {
	app.OrderOption
	NetMinor int64 `json:"netMinor"` // of all units, after discounts, for analytics
}

func (r itemRow) item() app.OrderItem {
	return app.OrderItem{ID: r.ID, QuotedItem: r.quoted(), DoneAt: pg.TimeOrNil(r.DoneAt)}
}

func (r itemRow) quoted() app.QuotedItem {
	item := app.QuotedItem{
		ProductName: r.ProductName, SKU: r.SKU, Quantity: r.Quantity,
		UnitPriceMinor: r.UnitPriceMinor, TotalMinor: r.TotalMinor, TaxRatePPM: r.TaxRatePPM,
		Options: make([]app.OrderOption, len(r.Options)), Note: r.Note,
	}
	if r.ProductID != "" {
		item.ProductID = &r.ProductID
	}
	for i, option := range r.Options {
		item.Options[i] = option.OrderOption
	}
	return item
}

// kept returns the row with the quantity and the note of a change that keeps its product and options, at an index. It
// is no longer done if the change leaves something to do: more units, or another note.
func (r itemRow) kept(wanted app.NewOrderItem, index int) itemRow {
	if wanted.Quantity > r.Quantity || wanted.Note != r.Note {
		r.DoneAt = nil
	}
	r.Position, r.Quantity, r.Note = index, wanted.Quantity, wanted.Note
	if wanted.UnitPriceMinor != nil {
		r.UnitPriceMinor, r.IsPriced = *wanted.UnitPriceMinor, true
	}
	r.TotalMinor = r.UnitPriceMinor * r.Quantity
	return r
}

// setTotals sets the row's amounts.
func (r *itemRow) setTotals(line app.LineTotal) {
	r.TotalMinor, r.DiscountMinor = line.TotalMinor, line.DiscountMinor
	chosen := make([]app.OrderOption, len(r.Options))
	for i, option := range r.Options {
		chosen[i] = option.OrderOption
	}
	for i, net := range app.OptionNets(chosen, r.Quantity, line) {
		r.Options[i].NetMinor = net
	}
}

// counted is the quantity of one product in an order, if the store counts the product's stock.
type counted struct {
	product  app.ProductID
	quantity int64
	stock    int64 // when the product was read
	first    int   // index of the first item with the product
}

func (c counted) outOfStock() error {
	return unavailable(fmt.Sprintf("items[%d].quantity", c.first), "exceeds the quantity in stock")
}

// orderedItems returns the order's items with the unit prices and names of the store view, unless the order has its
// own, and the counted products ordered by id.
func orderedItems(
	ctx context.Context, tx bun.Tx, now time.Time, store app.StoreID, rules storeRules, wanted []app.NewOrderItem,
) ([]itemRow, []counted, error) {
	menu, err := menuOf(ctx, tx, now, store, wanted)
	if err != nil {
		return nil, nil, err
	}
	items := make([]itemRow, len(wanted))
	quantities := map[app.ProductID]int64{}
	for i, item := range wanted {
		if !item.IsAdHoc() {
			if err := menu.onSale(now, item.ProductID, i); err != nil {
				return nil, nil, err
			}
		}
		if items[i], err = menu.item(now, store, rules, item, i); err != nil {
			return nil, nil, err
		}
		quantities[item.ProductID] += item.Quantity
	}
	var need []counted
	for _, id := range slices.Sorted(maps.Keys(quantities)) {
		if stock := menu[id].StockQuantity; stock != nil {
			first := slices.IndexFunc(wanted, func(item app.NewOrderItem) bool { return item.ProductID == id })
			need = append(need, counted{id, quantities[id], *stock, first})
		}
	}
	return items, need, nil
}

// orderedMenu holds the products of an order's items.
type orderedMenu map[app.ProductID]app.Product

// menuOf returns the products of an order's items. It returns LIMIT_REACHED if it has read app.MaxOrdered bytes and
// further products follow.
func menuOf(
	ctx context.Context, tx bun.Tx, now time.Time, store app.StoreID, wanted []app.NewOrderItem,
) (orderedMenu, error) {
	ids := make([]app.ProductID, len(wanted))
	for i, item := range wanted {
		ids[i] = item.ProductID
	}
	limit := app.PageLimit{Rows: len(ids), Bytes: app.MaxOrdered}
	rows, more, err := pg.PagePrepared(ctx, tx, limit, func(p productRow) app.ProductID { return p.ID }, `
		SELECT id, name, price_minor, currency, prices, translations, tax_rate_ppm, is_available, stock_quantity,
			sold_out_until, sku, option_groups
		FROM products WHERE store_id = $1 AND deleted_at IS NULL AND id = ANY ($2) ORDER BY id`, store, ids)
	if more {
		err = app.Errorf(app.CodeLimitReached, "the products of the items have more than %d bytes; order fewer "+
			"different products", app.MaxOrdered)
	}
	menu := orderedMenu{}
	for _, row := range rows {
		menu[row.ID] = row.product(now)
	}
	return menu, err
}

// onSale returns PRODUCT_UNAVAILABLE unless the product of the item at an index is on sale. It does not consider the
// stock.
func (m orderedMenu) onSale(now time.Time, id app.ProductID, index int) error {
	if product, ok := m[id]; !ok || !product.OnSaleAt(now) {
		return unavailable(fmt.Sprintf("items[%d].productId", index), "is not available")
	}
	return nil
}

// item returns the row of a new item with its own price, or with the current one. It returns PRODUCT_UNAVAILABLE for an
// unknown product, PRICE_NOT_SET and OPTION_INVALID. index is the place of the item in the request.
func (m orderedMenu) item(
	now time.Time, store app.StoreID, rules storeRules, wanted app.NewOrderItem, index int,
) (itemRow, error) {
	if wanted.IsAdHoc() {
		return adHocItem(now, store, rules, wanted, index), nil
	}
	path := fmt.Sprintf("items[%d].productId", index)
	product, ok := m[wanted.ProductID]
	if !ok {
		return itemRow{}, unavailable(path, "is not available")
	}
	options, price, err := unitPrice(product, rules.View, wanted, index)
	if err != nil {
		return itemRow{}, err
	}
	rate := rules.TaxRatePPM
	if product.TaxRatePPM != nil {
		rate = *product.TaxRatePPM
	}
	row := itemRow{
		ID: app.NewID[app.OrderItemID](now), StoreID: store, Position: index, ProductID: product.ID,
		ProductName: product.Text(rules.View.Locale).Name, SKU: product.SKU, Quantity: wanted.Quantity,
		UnitPriceMinor: price, IsPriced: wanted.UnitPriceMinor != nil, TaxRatePPM: rate,
		Options: make([]itemOption, len(options)), Note: wanted.Note,
	}
	for i, option := range options {
		row.Options[i].OrderOption = option
	}
	return row, nil
}

// unitPrice returns the options and the price of one unit of the item at an index: its own price, or that of the view.
// It returns PRICE_NOT_SET and OPTION_INVALID.
func unitPrice(
	product app.Product, view app.StoreView, wanted app.NewOrderItem, index int,
) ([]app.OrderOption, int64, error) {
	place := fmt.Sprintf("items[%d]", index)
	if wanted.UnitPriceMinor != nil {
		options, err := product.NameOptions(wanted.Options, view, place)
		return options, *wanted.UnitPriceMinor, err
	}
	price, ok := product.Price(view.Currency)
	if !ok {
		return nil, 0, app.MemberError(app.CodePriceNotSet, place+".productId",
			"has no price in "+string(view.Currency))
	}
	options, err := product.ChooseOptions(wanted.Options, view, place)
	return options, price + app.OptionsPrice(options), err
}

// adHocItem returns the row of a line without a product.
func adHocItem(now time.Time, store app.StoreID, rules storeRules, wanted app.NewOrderItem, index int) itemRow {
	row := itemRow{
		ID: app.NewID[app.OrderItemID](now), StoreID: store, Position: index, ProductName: wanted.Name,
		Quantity: wanted.Quantity, UnitPriceMinor: *wanted.UnitPriceMinor, IsPriced: true,
		TotalMinor: *wanted.UnitPriceMinor * wanted.Quantity, TaxRatePPM: rules.TaxRatePPM, Options: []itemOption{},
		Note: wanted.Note,
	}
	if wanted.TaxRatePPM != nil {
		row.TaxRatePPM = *wanted.TaxRatePPM
	}
	return row
}

func unavailable(path, message string) error {
	return app.MemberError(app.CodeProductUnavailable, path, message)
}
