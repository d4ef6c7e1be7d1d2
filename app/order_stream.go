package app

// OrderNotice reports that an order was created or changed, that a delivery of one of its events has changed,
// or that it waits for acceptance. It contains only members that every reader of the store's orders may see.
type OrderNotice struct {
	StoreID StoreID     `json:"storeId"`
	ID      OrderID     `json:"id"`
	Number  string      `json:"orderId"`
	Status  OrderStatus `json:"status"`
	Version int64       `json:"version"`
	// UpdatedAt is zero for a change of a delivery and for a reminder.
	UpdatedAt Time `json:"updatedAt,omitzero"`
	// Deliveries reports that a delivery of one of the order's events has changed.
	Deliveries bool `json:"deliveries,omitempty"`
	// Items reports that an item was ticked or a slip was printed, which makes no new version.
	Items bool `json:"items,omitempty"`
	// Reminder reports that the order was not accepted in time for a reminder.
	Reminder bool `json:"reminder,omitempty"`
}
