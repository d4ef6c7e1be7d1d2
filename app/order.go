package app

import "slices"

// OrderStatus is where an order stands. RECEIVED, CONFIRMED, COMPLETED and CANCELLED are
// the spec's, the others contract §5's.
type OrderStatus string

const (
	OrderReceived       OrderStatus = "RECEIVED"
	OrderConfirmed      OrderStatus = "CONFIRMED"
	OrderPreparing      OrderStatus = "PREPARING"
	OrderReady          OrderStatus = "READY"
	OrderOutForDelivery OrderStatus = "OUT_FOR_DELIVERY"
	OrderCompleted      OrderStatus = "COMPLETED"
	OrderCancelled      OrderStatus = "CANCELLED"
)

// orderPath is the way of an order. It only goes forward and may skip; CANCELLED can be
// reached from everywhere before the end.
var orderPath = [...]OrderStatus{
	OrderReceived, OrderConfirmed, OrderPreparing, OrderReady, OrderOutForDelivery, OrderCompleted,
}

// Transitions returns the statuses that an order can take next, never nil. mayCancel
// tells whether whoever asks may cancel orders.
func (s OrderStatus) Transitions(fulfillment FulfillmentType, mayCancel bool) []OrderStatus {
	next := []OrderStatus{}
	at := slices.Index(orderPath[:], s)
	if at < 0 || s == OrderCompleted {
		return next
	}
	for _, status := range orderPath[at+1:] {
		if status != OrderOutForDelivery || fulfillment == FulfillmentDelivery {
			next = append(next, status)
		}
	}
	if mayCancel {
		next = append(next, OrderCancelled)
	}
	return next
}

// OrderStatusChange is what somebody wants to make of an order.
type OrderStatusChange struct {
	To        OrderStatus
	Reason    string // of a cancellation
	MayCancel bool   // whether whoever asks may cancel orders
	By        Actor
}

// Moved returns the order after a change of its status; the same status changes nothing. It
// returns INVALID_TRANSITION for a status that cannot come next.
func (o Order) Moved(change OrderStatusChange, now Time) (Order, error) {
	if change.To == o.Status {
		return o, nil
	}
	if allowed := o.Status.Transitions(o.FulfillmentType, change.MayCancel); !slices.Contains(allowed, change.To) {
		return o, InvalidTransition(o.Status, change.To, allowed)
	}
	from := o.Status
	o.PreviousStatus, o.Status, o.CancellationReason = &from, change.To, change.Reason
	o.Version, o.UpdatedAt = o.Version+1, now
	return o, nil
}

// OrderStatusUpdated is the data of order.status_updated (spec, Events); the previous status
// is in the order.
type OrderStatusUpdated struct {
	Order
	NewStatus OrderStatus `json:"newStatus"`
}

// OrderChange is a line of an order's history.
type OrderChange struct {
	Actor   OrderActor   `json:"actor"`
	From    *OrderStatus `json:"from"` // null: the order was placed
	To      OrderStatus  `json:"to"`
	Reason  string       `json:"reason,omitempty"` // of a cancellation
	EventID EventID      `json:"eventId"`          // the event that told of it
	At      Time         `json:"at"`
}

// OrderActor is who changed an order.
type OrderActor struct {
	Realm Realm  `json:"realm,omitempty"` // absent = the service itself
	ID    string `json:"id,omitempty"`    // of the user or the API key; not shown to customers
	Name  string `json:"name,omitempty"`  // a user's, an API key's, as they are now; not shown to customers
}

// FulfillmentType is how the guest gets the food.
type FulfillmentType string

const (
	FulfillmentDelivery FulfillmentType = "DELIVERY"
	FulfillmentPickup   FulfillmentType = "PICKUP"
	FulfillmentDineIn   FulfillmentType = "DINE_IN"
)

// OrderSource is where an order was placed.
type OrderSource string

const (
	SourceWeb    OrderSource = "WEB"
	SourceMobile OrderSource = "MOBILE"
	SourcePOS    OrderSource = "POS"
	SourcePhone  OrderSource = "PHONE"
	SourceAPI    OrderSource = "API"
)

// PaymentStatus sums up an order's payments.
type PaymentStatus string

const (
	PaymentUnpaid            PaymentStatus = "UNPAID"
	PaymentPartiallyPaid     PaymentStatus = "PARTIALLY_PAID"
	PaymentPaid              PaymentStatus = "PAID"
	PaymentPartiallyRefunded PaymentStatus = "PARTIALLY_REFUNDED"
	PaymentRefunded          PaymentStatus = "REFUNDED"
)

// Order is an order as clients and subscribers see it (spec, Order data; contract §5).
// Names and prices are those of the moment at which it was placed.
type Order struct {
	ID                 OrderID          `json:"id"`
	Number             string           `json:"orderId"` // counts up per store, without gaps
	StoreID            StoreID          `json:"storeId"`
	StoreViewID        StoreViewID      `json:"storeViewId"`
	Status             OrderStatus      `json:"status"`
	PreviousStatus     *OrderStatus     `json:"previousStatus"` // null on creation
	FulfillmentType    FulfillmentType  `json:"fulfillmentType"`
	Source             OrderSource      `json:"source"`
	Customer           OrderCustomer    `json:"customer"`
	Items              []OrderItem      `json:"items"`
	SubtotalMinor      int64            `json:"subtotalMinor"`
	DeliveryFeeMinor   int64            `json:"deliveryFeeMinor"`
	TaxMinor           int64            `json:"taxMinor"`
	DiscountMinor      int64            `json:"discountMinor"`
	TotalMinor         int64            `json:"totalMinor"`
	TaxIncluded        bool             `json:"taxIncluded"`
	Currency           Currency         `json:"currency"`
	PaymentStatus      PaymentStatus    `json:"paymentStatus"`
	PaidMinor          int64            `json:"paidMinor"`
	RefundedMinor      int64            `json:"refundedMinor"`
	Note               string           `json:"note,omitempty"`
	DeliveryAddress    *DeliveryAddress `json:"deliveryAddress,omitempty"`
	CancellationReason string           `json:"cancellationReason,omitempty"`
	BusinessDate       string           `json:"businessDate"` // YYYY-MM-DD in the store's zone
	Version            int64            `json:"version"`
	CreatedAt          Time             `json:"createdAt"`
	UpdatedAt          Time             `json:"updatedAt"`
}

// OrderCustomer is who ordered, as given at the time.
type OrderCustomer struct {
	ID    CustomerID `json:"id"`
	Name  string     `json:"name"`
	Email string     `json:"email"`
	Phone string     `json:"phone"`
}

// OrderItem is one line of an order.
type OrderItem struct {
	ProductID      ProductID `json:"productId"`
	ProductName    string    `json:"productName"`
	Quantity       int64     `json:"quantity"`
	UnitPriceMinor int64     `json:"unitPriceMinor"`
	TotalMinor     int64     `json:"totalMinor"` // unit price times quantity, before any discount
}

// DeliveryAddress is where an order goes.
type DeliveryAddress struct {
	Line1      string `json:"line1" validate:"required,notblank,max=200"`
	Line2      string `json:"line2,omitempty" validate:"max=200"`
	City       string `json:"city" validate:"required,notblank,max=100"`
	Region     string `json:"region,omitempty" validate:"max=100"`
	PostalCode string `json:"postalCode,omitempty" validate:"max=20"`
	Country    string `json:"country" validate:"required,iso3166_1_alpha2"`
	Notes      string `json:"notes,omitempty" validate:"max=500"`
}

// NewOrder is what somebody asks for when placing an order. Prices are never part of it.
type NewOrder struct {
	Items              []NewOrderItem
	FulfillmentType    FulfillmentType
	Source             OrderSource
	CustomerID         CustomerID // a known customer, or "" and
	Guest              OrderCustomer
	DeliveryAddress    *DeliveryAddress
	StoreViewID        StoreViewID // "" = the caller's
	DiscountMinor      int64
	ExpectedTotalMinor *int64 // refuse to place the order at any other total
	Note               string
	By                 Actor
}

// NewOrderItem is one line of a NewOrder.
type NewOrderItem struct {
	ProductID ProductID
	Quantity  int64
}

// OrderQuote is what an order would cost now (contract §5).
type OrderQuote struct {
	StoreID          StoreID         `json:"storeId"`
	StoreViewID      StoreViewID     `json:"storeViewId"`
	FulfillmentType  FulfillmentType `json:"fulfillmentType"`
	Items            []OrderItem     `json:"items"`
	SubtotalMinor    int64           `json:"subtotalMinor"`
	DeliveryFeeMinor int64           `json:"deliveryFeeMinor"`
	TaxMinor         int64           `json:"taxMinor"`
	DiscountMinor    int64           `json:"discountMinor"`
	TotalMinor       int64           `json:"totalMinor"` // good as expectedTotalMinor of the order
	TaxIncluded      bool            `json:"taxIncluded"`
	Currency         Currency        `json:"currency"`
	BusinessDate     string          `json:"businessDate"` // YYYY-MM-DD in the store's zone
}

// OrderFilter narrows a list of orders; zero values narrow nothing.
type OrderFilter struct {
	Statuses        []OrderStatus // any of them
	FulfillmentType FulfillmentType
	Source          OrderSource
	CustomerID      CustomerID
	Number          int64
	CreatedFrom     *Time
	CreatedTo       *Time // not included
	BusinessDate    string
	UpdatedSince    *Time
	NeedsRefund     *bool  // cancelled, and paid more than refunded
	Query           string // the number, or the beginning of the customer's name, last name, e-mail address or phone number, in any case
}

// PaymentStatusOf sums up an order of a total, of what was paid and of what of that was
// given back, all in minor units.
func PaymentStatusOf(total, paid, refunded int64) PaymentStatus {
	switch {
	case refunded > 0 && refunded == paid:
		return PaymentRefunded
	case refunded > 0:
		return PaymentPartiallyRefunded
	case paid >= total:
		return PaymentPaid
	case paid > 0:
		return PaymentPartiallyPaid
	}
	return PaymentUnpaid
}

// OrderNotice says that an order is new or has changed, and no more than those who see it
// may know anyway.
type OrderNotice struct {
	StoreID StoreID     `json:"storeId"`
	ID      OrderID     `json:"id"`
	Number  string      `json:"orderId"`
	Status  OrderStatus `json:"status"`
	Version int64       `json:"version"`
}
