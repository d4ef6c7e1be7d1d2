package app

import "reflect"

// OrderStatus is the status of an order.
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

// FulfillmentType is the way in which the customer receives the order.
type FulfillmentType string

const (
	FulfillmentDelivery FulfillmentType = "DELIVERY"
	FulfillmentPickup   FulfillmentType = "PICKUP"
	FulfillmentDineIn   FulfillmentType = "DINE_IN"
)

// OrderSource is the kind of system with which an order was placed.
type OrderSource string

const (
	SourceWeb    OrderSource = "WEB"
	SourceMobile OrderSource = "MOBILE"
	SourcePOS    OrderSource = "POS"
	SourcePhone  OrderSource = "PHONE"
	SourceAPI    OrderSource = "API"
)

// Order is an order as seen by clients and subscribers. Names and prices are snapshots taken when the order was placed.
type Order struct {
	ID                 OrderID          `json:"id"`
	Number             string           `json:"orderId"` // human-readable number, consecutive per store
	StoreID            StoreID          `json:"storeId"`
	StoreViewID        StoreViewID      `json:"storeViewId"`
	Status             OrderStatus      `json:"status"`
	PreviousStatus     *OrderStatus     `json:"previousStatus"` // null on creation
	FulfillmentType    FulfillmentType  `json:"fulfillmentType"`
	Source             OrderSource      `json:"source"`
	Channel            *string          `json:"channel"` // sales channel in words; null = the store's own
	Customer           OrderCustomer    `json:"customer"`
	Items              []OrderItem      `json:"items"`
	SubtotalMinor      int64            `json:"subtotalMinor"`
	DeliveryFeeMinor   int64            `json:"deliveryFeeMinor"`
	TaxMinor           int64            `json:"taxMinor"`
	Taxes              []Tax            `json:"taxes"` // by rate; the taxes add up to taxMinor
	DiscountMinor      int64            `json:"discountMinor"`
	LoyaltyPoints      int64            `json:"loyaltyPoints"` // redeemed with the order
	LoyaltyMinor       int64            `json:"loyaltyMinor"`  // their worth, which lowers the total like a discount
	TotalMinor         int64            `json:"totalMinor"`
	TaxIncluded        bool             `json:"taxIncluded"`
	Currency           Currency         `json:"currency"`
	PaymentStatus      PaymentStatus    `json:"paymentStatus"`
	PaidMinor          int64            `json:"paidMinor"`        // without tips
	RefundedMinor      int64            `json:"refundedMinor"`    // without tips
	CompensatedMinor   int64            `json:"-"`                // see [Balance]
	OutstandingMinor   int64            `json:"outstandingMinor"` // to collect from the guest
	RefundableMinor    int64            `json:"refundableMinor"`  // to return to the guest
	Note               string           `json:"note,omitempty"`
	TableLabel         string           `json:"tableLabel,omitempty"` // only for DINE_IN
	DeliveryAddress    *DeliveryAddress `json:"deliveryAddress,omitempty"`
	CancellationReason string           `json:"cancellationReason,omitempty"`
	BusinessDate       string           `json:"businessDate"` // YYYY-MM-DD in the store's time zone
	RequestedFor       *Time            `json:"requestedFor"` // null = as soon as possible
	PromisedAt         Time             `json:"promisedAt"`   // when it is promised to be ready
	DueAt              *Time            `json:"dueAt"`        // when to prepare it; null = as soon as possible
	ExternalID         string           `json:"externalId,omitempty"`
	// Customers do not see it.
	Metadata map[string]string `json:"metadata,omitzero"`
	Version  int64             `json:"version"`
	// The latest version of which a slip was printed; null = none.
	PrintedVersion *int64 `json:"printedVersion"`
	CreatedAt      Time   `json:"createdAt"`
	UpdatedAt      Time   `json:"updatedAt"`
}

// Own returns the order as its customer may see it: without the references of integrations.
func (o Order) Own() Order {
	o.ExternalID, o.Metadata = "", nil
	return o
}

// OrderCustomer is a snapshot of the customer, taken when the order is placed. An order without a guest has only empty
// members.
type OrderCustomer struct {
	ID    *CustomerID `json:"id"` // null = no customer is kept: a guest without email and phone number, or none
	Name  string      `json:"name"`
	Email string      `json:"email"`
	Phone string      `json:"phone"`
}

// IsKept reports whether the store keeps a customer for a guest: only one who can be recognised.
func (c OrderCustomer) IsKept() bool { return c.Email != "" || c.Phone != "" }

// SameGuest reports whether both have the same name, email and phone number.
func (c OrderCustomer) SameGuest(other OrderCustomer) bool {
	return c.Name == other.Name && c.Email == other.Email && c.Phone == other.Phone
}

// OrderItem is one line of an order. Its id does not change as long as the order has the line.
type OrderItem struct {
	ID OrderItemID `json:"id"`
	QuotedItem
	DoneAt *Time `json:"doneAt"` // when the kitchen ticked it; null = not done
}

// Same reports whether two lines are the same, apart from the kitchen's tick.
func (i OrderItem) Same(other OrderItem) bool {
	i.DoneAt, other.DoneAt = nil, nil
	return reflect.DeepEqual(i, other)
}

// QuotedItem is one line of an order that is not placed.
type QuotedItem struct {
	ProductID      *ProductID    `json:"productId"` // null = an ad hoc line
	ProductName    string        `json:"productName"`
	SKU            string        `json:"sku,omitempty"`
	Quantity       int64         `json:"quantity"`
	UnitPriceMinor int64         `json:"unitPriceMinor"` // with the options of one unit
	TotalMinor     int64         `json:"totalMinor"`     // unitPriceMinor × quantity, before discounts
	TaxRatePPM     int64         `json:"taxRatePpm"`     // parts per million
	Options        []OrderOption `json:"options"`        // in the order of the menu
	Note           string        `json:"note,omitempty"`
}

// DeliveryAddress is the address to which an order is delivered.
type DeliveryAddress struct {
	Line1      string `json:"line1" validate:"required,notblank,addressline"`
	Line2      string `json:"line2,omitempty" validate:"addressline"`
	City       string `json:"city" validate:"required,notblank,city"`
	Region     string `json:"region,omitempty" validate:"region"`
	PostalCode string `json:"postalCode,omitempty" validate:"postalcode"`
	Country    string `json:"country" validate:"required,iso3166_1_alpha2"`
	Notes      string `json:"notes,omitempty" validate:"addressnotes"`
}

// NewOrder is the input for placing an order. Its prices come from the products, unless the caller may set them
// ([PriceOrders]).
type NewOrder struct {
	Items              []NewOrderItem
	FulfillmentType    FulfillmentType
	Source             OrderSource
	Channel            *string       // nil = the store's own
	CustomerID         CustomerID    // a known customer; "" = Guest
	Guest              OrderCustomer // its zero value = nobody
	DeliveryAddress    *DeliveryAddress
	StoreViewID        StoreViewID // "" = the caller's view
	DiscountMinor      int64
	LoyaltyPoints      int64  // to redeem; only with CustomerID
	DeliveryFeeMinor   *int64 // nil = as in the settings
	ExpectedTotalMinor *int64 // if set, an order with another total is refused
	Note               string
	TableLabel         string // only for DINE_IN
	RequestedFor       *Time  // nil = as soon as possible
	ExternalID         string
	Metadata           map[string]string
	By                 Actor
}

// NewOrderItem is one line of a NewOrder: of a product, or an ad hoc line with a name and a price.
type NewOrderItem struct {
	ProductID      ProductID // "" = an ad hoc line
	Name           string    // of an ad hoc line
	Quantity       int64
	UnitPriceMinor *int64 // with options; nil = as on the menu, not for an ad hoc line
	TaxRatePPM     *int64 // of an ad hoc line; nil = the store's default
	Options        []NewOrderOption
	Note           string
}

// IsAdHoc reports whether the line has no product.
func (i NewOrderItem) IsAdHoc() bool { return i.ProductID == "" }

// OrderQuote is the price of an order at the current prices.
type OrderQuote struct {
	StoreID          StoreID         `json:"storeId"`
	StoreViewID      StoreViewID     `json:"storeViewId"`
	FulfillmentType  FulfillmentType `json:"fulfillmentType"`
	Items            []QuotedItem    `json:"items"`
	SubtotalMinor    int64           `json:"subtotalMinor"`
	DeliveryFeeMinor int64           `json:"deliveryFeeMinor"`
	TaxMinor         int64           `json:"taxMinor"`
	Taxes            []Tax           `json:"taxes"` // by rate; the taxes add up to taxMinor
	DiscountMinor    int64           `json:"discountMinor"`
	LoyaltyPoints    int64           `json:"loyaltyPoints"`
	LoyaltyMinor     int64           `json:"loyaltyMinor"`
	TotalMinor       int64           `json:"totalMinor"` // can be sent as expectedTotalMinor when placing the order
	TaxIncluded      bool            `json:"taxIncluded"`
	Currency         Currency        `json:"currency"`
	BusinessDate     string          `json:"businessDate"` // YYYY-MM-DD in the store's time zone
}

// OrderFilter narrows a list of orders. A zero value does not narrow it.
type OrderFilter struct {
	Statuses        []OrderStatus // any of these
	FulfillmentType FulfillmentType
	Source          OrderSource
	CustomerID      CustomerID
	Number          int64
	CreatedFrom     *Time
	CreatedTo       *Time // exclusive
	BusinessDate    string
	UpdatedSince    *Time
	DueBy           *Time // to be prepared at this time or before, or as soon as possible
	DueAfter        *Time // to be prepared after this time
	ExternalID      string
	NeedsRefund     *bool  // orders whose RefundableMinor is above zero
	Query           string // order number, or prefix of the customer's name, last name, email or phone; in any case
}
