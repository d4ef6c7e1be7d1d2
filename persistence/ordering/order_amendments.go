package ordering

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/uptrace/bun"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence/pg"
)

// errDryRun ends the transaction of a dry run.
var errDryRun = errors.New("dry run")

// AmendOrder changes an order that is not yet handed over, and emits order.updated. It writes nothing if nothing
// changes. A dry run returns the order as it would be. It returns, in this order, NOT_FOUND, VERSION_MISMATCH,
// INVALID_TRANSITION, VALIDATION_FAILED for an unknown item, INSUFFICIENT_ROLE for a discount or a lower total, the
// errors of [DB.PlaceOrder], LIMIT_REACHED after [app.MaxAmendments] changes, and CONFLICT if the order redeems points
// again that the customer no longer has.
func (db *DB) AmendOrder(
	ctx context.Context, now time.Time, store app.StoreID, id app.OrderID, in app.OrderAmendment, once *pg.Once,
) (app.Order, error) {
	now = app.At(now).Time
	if in.DryRun {
		once = nil
	}
	var amended app.Order
	stored, err := pg.CreateOnce(ctx, db.pg, store, once, now, func(ctx context.Context, tx bun.Tx) (app.Order, error) {
		row, items, err := lockOrderRow(ctx, tx, store, id)
		if err != nil {
			return app.Order{}, err
		}
		a := amendment{
			OrderAmendment: in, now: now, before: row.order(items), row: row, oldItems: items, items: items,
			first: map[app.ProductID]int{},
		}
		if err := pg.CheckVersion(in.Version, row.Version); err != nil {
			return app.Order{}, err
		}
		if err := a.before.CheckAmendable(a.Caller.Can(app.CancelOrders) == nil); err != nil {
			return app.Order{}, err
		}
		if amended, err = a.apply(ctx, tx); err == nil && in.DryRun {
			err = errDryRun
		}
		return amended, err
	})
	if errors.Is(err, errDryRun) {
		return amended, nil
	}
	return stored, err
}

// amendment is a change of a locked order.
type amendment struct {
	app.OrderAmendment

	now      time.Time
	before   app.Order
	row      orderRow // of the order after the change
	oldItems []itemRow
	items    []itemRow // after the change
	changed  []string  // members of the request that change
	rules    storeRules

	// refused is the first error of an item that can be priced, but not be ordered. Roles are checked before it.
	refused error
	first   map[app.ProductID]int // index of the first item of the request that needs more of a product
}

// apply makes and writes the change.
func (a *amendment) apply(ctx context.Context, tx bun.Tx) (app.Order, error) {
	var err error
	if err := a.checkItems(); err != nil {
		return app.Order{}, err
	}
	if a.DiscountMinor != nil && *a.DiscountMinor != a.row.DiscountMinor {
		if err := a.Caller.Can(app.DiscountOrders); err != nil {
			return app.Order{}, err
		}
	}
	if a.rules, err = rulesOf(ctx, tx, a.before); err != nil {
		return app.Order{}, err
	}
	err = a.price(ctx, tx)
	total := a.row.TotalMinor
	if app.CodeOf(err) == app.CodeValidationFailed { // a discount above the subtotal leaves less than nothing
		total = -1
	}
	if a.before.LowersTotal(total) {
		if err := a.Caller.MayLowerTotal(a.rules.LowerTotals); err != nil {
			return app.Order{}, err
		}
	}
	if err != nil {
		return app.Order{}, err
	}
	if err := a.setMembers(ctx, tx); err != nil {
		return app.Order{}, err
	}
	if a.refused != nil {
		return app.Order{}, a.refused
	}
	if err := a.setTimes(); err != nil {
		return app.Order{}, err
	}
	if slices.Contains(a.changed, "items") {
		if err := moveStock(ctx, tx, a.now, a.row.StoreID, a.oldItems, a.items, a.first); err != nil {
			return app.Order{}, err
		}
	}
	if err := checkTotal(a.ExpectedTotalMinor, a.row.TotalMinor); err != nil {
		return app.Order{}, err
	}
	if err := a.row.order(a.items).CheckSize(); err != nil {
		return app.Order{}, err
	}
	if err := a.setCustomer(ctx, tx); err != nil || len(a.changed) == 0 {
		return a.before, err
	}
	return a.save(ctx, tx)
}

// known returns the item of an id before the change.
func (a *amendment) known(id app.OrderItemID) (itemRow, bool) {
	at := slices.IndexFunc(a.oldItems, func(r itemRow) bool { return r.ID == id })
	if at < 0 {
		return itemRow{}, false
	}
	return a.oldItems[at], true
}

func (a *amendment) checkItems() error {
	var faults []app.Detail
	for i, item := range a.Items {
		if item.ID == "" {
			continue
		}
		place := fmt.Sprintf("items[%d].", i)
		if old, known := a.known(item.ID); !known {
			faults = append(faults, app.Detail{Path: place + "id", Message: "is not an item of the order"})
		} else if fault, ok := item.Check(old.quoted()); !ok {
			faults = append(faults, app.Detail{Path: place + fault.Path, Message: fault.Message})
		}
	}
	if len(faults) > 0 {
		return app.InvalidAll(faults)
	}
	return nil
}

// price sets the items and the amounts. An item that remains what it is keeps its price, tax rate and name.
func (a *amendment) price(ctx context.Context, tx bun.Tx) error {
	if a.Items != nil {
		wanted := make([]app.NewOrderItem, len(a.Items))
		for i, item := range a.Items {
			old, _ := a.known(item.ID)
			wanted[i] = item.Of(old.quoted())
		}
		menu, err := menuOf(ctx, tx, a.now, a.row.StoreID, a.unaccepted(wanted))
		if err != nil {
			return err
		}
		a.items = make([]itemRow, len(wanted))
		for i, item := range wanted {
			if a.items[i], err = a.item(menu, item, i); err != nil {
				return err
			}
		}
		if !sameItems(a.oldItems, a.items) {
			a.changed = append(a.changed, "items")
		}
	}
	if a.DiscountMinor != nil && *a.DiscountMinor != a.row.DiscountMinor {
		a.row.DiscountMinor = *a.DiscountMinor
		a.changed = append(a.changed, "discountMinor")
	}
	if a.DeliveryFeeMinor != nil && *a.DeliveryFeeMinor != a.row.DeliveryFeeMinor {
		a.row.DeliveryFeeMinor = *a.DeliveryFeeMinor
		a.changed = append(a.changed, "deliveryFeeMinor")
	}
	if len(a.changed) == 0 {
		return nil
	}
	a.items = slices.Clone(a.items)
	for i := range a.items {
		a.items[i].Options = slices.Clone(a.items[i].Options) // price sets their net amounts
	}
	return a.row.price(a.items)
}

// sameItems reports whether an order shows the same items, in the same order.
func sameItems(before, after []itemRow) bool {
	return slices.EqualFunc(before, after, func(b, a itemRow) bool { return b.item().Same(a.item()) })
}

// item returns the row of the item at an index of the request.
func (a *amendment) item(menu orderedMenu, wanted app.NewOrderItem, index int) (itemRow, error) {
	old, known := a.known(a.Items[index].ID)
	keeps := known && wanted.Remains(old.quoted())
	if wanted.IsAdHoc() {
		return a.adHocItem(old, known, wanted, index), nil
	}
	if keeps && wanted.Quantity <= old.Quantity {
		return old.kept(wanted, index), nil
	}
	if keeps && old.IsPriced { // checked like a new line with a price
		wanted.UnitPriceMinor = cmp.Or(wanted.UnitPriceMinor, &old.UnitPriceMinor)
	}
	if _, needed := a.first[wanted.ProductID]; !needed {
		a.first[wanted.ProductID] = index
	}
	row, err := menu.item(a.now, a.row.StoreID, a.rules, wanted, index)
	if sold := menu.onSale(a.now, wanted.ProductID, index); sold != nil && (err == nil || keeps) {
		a.refuse(sold)
	}
	if keeps {
		if err != nil {
			a.refuse(err)
		}
		return old.kept(wanted, index), nil
	}
	if known {
		row.ID = old.ID
	}
	return row, err
}

// unaccepted returns the wanted items without those that are no more than they were, which the store has accepted.
func (a *amendment) unaccepted(wanted []app.NewOrderItem) (items []app.NewOrderItem) {
	for i, item := range wanted {
		old, known := a.known(a.Items[i].ID)
		if !known || !item.Remains(old.quoted()) || item.Quantity > old.Quantity {
			items = append(items, item)
		}
	}
	return items
}

// adHocItem returns the row of a line without a product. A known one with the same name keeps its tick.
func (a *amendment) adHocItem(old itemRow, known bool, wanted app.NewOrderItem, index int) itemRow {
	row := adHocItem(a.now, a.row.StoreID, a.rules, wanted, index)
	if !known {
		return row
	}
	if old.ProductID == "" && old.ProductName == wanted.Name {
		row.DoneAt = old.kept(wanted, index).DoneAt
	}
	row.ID = old.ID
	return row
}

func (a *amendment) refuse(err error) {
	if a.refused == nil {
		a.refused = err
	}
}

// setMembers sets the members that do not depend on others. It returns VALIDATION_FAILED.
func (a *amendment) setMembers(ctx context.Context, tx bun.Tx) error {
	var faults []app.Detail
	if a.TableLabel != nil && *a.TableLabel != "" && a.row.FulfillmentType != app.FulfillmentDineIn {
		faults = append(faults, app.Detail{Path: "tableLabel", Message: "is only allowed for DINE_IN"})
	}
	if a.DeliveryAddress != nil && a.row.FulfillmentType != app.FulfillmentDelivery {
		faults = append(faults, app.Detail{Path: "deliveryAddress", Message: "is only allowed for DELIVERY"})
	}
	if a.Guest != nil && *a.Guest == (app.OrderCustomer{}) && a.row.FulfillmentType == app.FulfillmentDelivery {
		faults = append(faults, app.Detail{Path: "customer", Message: "is required for DELIVERY"})
	}
	if len(faults) > 0 {
		return app.InvalidAll(faults)
	}
	if a.TableLabel != nil && *a.TableLabel != a.row.TableLabel {
		a.row.TableLabel, a.changed = *a.TableLabel, append(a.changed, "tableLabel")
	}
	if a.Note != nil && *a.Note != a.row.Note {
		a.row.Note, a.changed = *a.Note, append(a.changed, "note")
	}
	if a.DeliveryAddress != nil {
		address := *a.row.DeliveryAddress
		if a.DeliveryAddress(&address); address != *a.row.DeliveryAddress {
			a.row.DeliveryAddress, a.changed = &address, append(a.changed, "deliveryAddress")
		}
	}
	if a.CustomerID != "" && !isCustomer(a.row.CustomerID, a.CustomerID) {
		return canOrder(ctx, tx, a.row.StoreID, a.CustomerID)
	}
	return nil
}

// setTimes applies the rules of new orders to another requested time.
func (a *amendment) setTimes() error {
	if a.RequestedFor == nil || sameTime(*a.RequestedFor, a.before.RequestedFor) {
		return nil
	}
	times, err := a.rules.times(a.now, app.NewOrder{
		FulfillmentType: a.row.FulfillmentType, RequestedFor: *a.RequestedFor, By: a.By,
	})
	if err != nil {
		return err
	}
	a.row.RequestedFor, a.row.PromisedAt = pg.UTCOrNil(times.RequestedFor), times.PromisedAt.UTC()
	a.row.DueAt, a.changed = pg.UTCOrNil(times.DueAt), append(a.changed, "requestedFor")
	return nil
}

func sameTime(a, b *app.Time) bool {
	return (a == nil) == (b == nil) && (a == nil || a.Equal(b.Time))
}
