package app

import (
	"cmp"
	"maps"
	"slices"
)

// OrderAmendment is a requested change of an order, apart from its status (docs/behaviour.md#changes-of-an-order). A
// member that is nil stays as it is.
type OrderAmendment struct {
	Version            int64         // that the caller has seen; 0 = any
	Items              []AmendedItem // replace the list
	TableLabel         *string       // only for DINE_IN; "" = none
	Note               *string       // "" = none
	DeliveryAddress    func(*DeliveryAddress)
	RequestedFor       **Time         // a pointer to nil = as soon as possible
	CustomerID         CustomerID     // a known customer; "" = Guest
	Guest              *OrderCustomer // nil and no CustomerID = the customer stays; its zero value = nobody
	DiscountMinor      *int64
	DeliveryFeeMinor   *int64
	ExpectedTotalMinor *int64
	DryRun             bool // nothing is written
	By                 Actor
	Caller             Principal // whose role may be needed for a discount and for a lower total
}

// AmendedItem is a line of an order after a change. A nil member of a known item stays as it is; a new item has a
// quantity and a product, or a name and a price.
type AmendedItem struct {
	ID             OrderItemID // "" = a new item
	ProductID      *ProductID
	Name           *string // makes an ad hoc line
	Quantity       *int64
	UnitPriceMinor *int64
	TaxRatePPM     *int64 // of an ad hoc line
	Options        *[]NewOrderOption
	Note           *string
}

// IsAdHoc reports whether the change makes an ad hoc line of a known item, or of the zero value for a new one.
func (a AmendedItem) IsAdHoc(known QuotedItem) bool {
	return a.ProductID == nil && (a.Name != nil || known.ProductID == nil)
}

// Check returns the fault of a change of a known item that an ad hoc line, or a line of a product, cannot have.
func (a AmendedItem) Check(known QuotedItem) (Detail, bool) {
	switch adHoc := a.IsAdHoc(known); {
	case adHoc && a.Options != nil && len(*a.Options) > 0:
		return Detail{Path: "options", Message: "is not allowed for a line without a product"}, false
	case adHoc && known.ProductID != nil && a.UnitPriceMinor == nil:
		return Detail{Path: "unitPriceMinor", Message: "is required for a line without a product"}, false
	case !adHoc && a.TaxRatePPM != nil:
		return Detail{Path: "taxRatePpm", Message: "is only allowed for a line without a product"}, false
	}
	return Detail{}, true
}

// Of returns the line that the change makes of a known item, or of the zero value for a new one. An ad hoc line keeps
// its price and its tax rate. The price of a line of a product is nil unless the change names it.
func (a AmendedItem) Of(known QuotedItem) NewOrderItem {
	item := NewOrderItem{Quantity: known.Quantity, Note: known.Note, UnitPriceMinor: a.UnitPriceMinor}
	if a.IsAdHoc(known) {
		a.adHoc(known, &item)
	} else {
		a.product(known, &item)
	}
	if a.Quantity != nil {
		item.Quantity = *a.Quantity
	}
	if a.Note != nil {
		item.Note = *a.Note
	}
	return item
}

func (a AmendedItem) adHoc(known QuotedItem, item *NewOrderItem) {
	item.TaxRatePPM = a.TaxRatePPM
	if known.ProductID == nil {
		item.Name = known.ProductName
		item.UnitPriceMinor = cmp.Or(a.UnitPriceMinor, &known.UnitPriceMinor)
		if a.ID != "" {
			item.TaxRatePPM = cmp.Or(a.TaxRatePPM, &known.TaxRatePPM)
		}
	}
	if a.Name != nil {
		item.Name = *a.Name
	}
}

func (a AmendedItem) product(known QuotedItem, item *NewOrderItem) {
	for _, option := range known.Options {
		item.Options = append(item.Options, NewOrderOption{OptionID: option.OptionID, Quantity: option.Quantity})
	}
	if a.Options != nil {
		item.Options = *a.Options
	}
	item.ProductID = *cmp.Or(a.ProductID, known.ProductID)
}

// Remains reports whether the item is what the known one was, apart from quantity and note: the same product with the
// same options, in any order. Such an item keeps its price.
func (i NewOrderItem) Remains(known QuotedItem) bool {
	before, after := map[OptionID]int64{}, map[OptionID]int64{}
	for _, option := range known.Options {
		before[option.OptionID] = option.Quantity
	}
	for _, option := range i.Options {
		after[option.OptionID] = option.Quantity
	}
	var product ProductID
	if known.ProductID != nil {
		product = *known.ProductID
	}
	return i.ProductID == product && len(after) == len(i.Options) && maps.Equal(before, after)
}

// CheckAmendable returns INVALID_TRANSITION unless the order can be changed: from RECEIVED to READY. canCancel reports
// whether the caller can cancel it.
func (o Order) CheckAmendable(canCancel bool) error {
	switch o.Status {
	case OrderReceived, OrderConfirmed, OrderPreparing, OrderReady:
		return nil
	}
	e := InvalidTransition(o.Status, o.Status, o.Status.Transitions(o.FulfillmentType, canCancel))
	e.Message = "an order in status " + string(o.Status) + " cannot be changed"
	return e
}

// MaxAmendments is the largest number of changes of an order, apart from those of its status.
const MaxAmendments = 1000

// TooManyAmendments returns LIMIT_REACHED.
func TooManyAmendments() *Error {
	return Errorf(CodeLimitReached, "the order was changed %d times; place a new order", MaxAmendments)
}

// LowersTotal reports whether the change lowers the total of an order that the store has accepted.
func (o Order) LowersTotal(after int64) bool {
	return o.Status != OrderReceived && after < o.TotalMinor
}

// MayLowerTotal returns INSUFFICIENT_ROLE unless the caller may lower the total of an accepted order. API keys may.
func (p Principal) MayLowerTotal(least LowerTotals) error {
	if p.Realm == RealmTenant && !p.Role.AtLeast(Role(least)) {
		return Errorf(CodeInsufficientRole, "the role %s may not lower the total of an accepted order", p.Role)
	}
	return nil
}

// ItemAction is the kind of a change of an order's item.
type ItemAction string

const (
	ItemAdded   ItemAction = "ADDED"
	ItemRemoved ItemAction = "REMOVED"
	ItemChanged ItemAction = "CHANGED"
)

// ItemActions lists the kinds of changes.
var ItemActions = [...]ItemAction{ItemAdded, ItemRemoved, ItemChanged}

// ItemChange is the change of an item of an order.
type ItemChange struct {
	ItemID OrderItemID `json:"itemId"`
	Action ItemAction  `json:"action"`
	Before *OrderItem  `json:"before,omitempty"` // absent for ADDED
	After  *OrderItem  `json:"after,omitempty"`  // absent for REMOVED
}

// ItemChanges returns the changes between two lists of items, never nil: those of the first list in its order, then the
// added ones. A tick of the kitchen is no change.
func ItemChanges(before, after []OrderItem) []ItemChange {
	changes := []ItemChange{}
	for _, old := range before {
		at := slices.IndexFunc(after, func(i OrderItem) bool { return i.ID == old.ID })
		switch {
		case at < 0:
			changes = append(changes, ItemChange{ItemID: old.ID, Action: ItemRemoved, Before: &old})
		case !old.Same(after[at]):
			changes = append(changes, ItemChange{ItemID: old.ID, Action: ItemChanged, Before: &old, After: &after[at]})
		}
	}
	for i, item := range after {
		if !slices.ContainsFunc(before, func(old OrderItem) bool { return old.ID == item.ID }) {
			changes = append(changes, ItemChange{ItemID: item.ID, Action: ItemAdded, After: &after[i]})
		}
	}
	return changes
}

// OrderUpdated is the data of order.updated: the order after a change of its contents.
type OrderUpdated struct {
	Order
	ChangedFields []string     `json:"changedFields"` // the members of the request that changed
	ItemChanges   []ItemChange `json:"itemChanges"`
}

// OrderItemChanges are the differences between an order and an earlier version of it. A member or an item that was
// changed and changed back is not among them.
type OrderItemChanges struct {
	Since         int64        `json:"since"`
	Version       int64        `json:"version"`       // of the order now
	ChangedFields []string     `json:"changedFields"` // each once, sorted
	ItemChanges   []ItemChange `json:"itemChanges"`
}
