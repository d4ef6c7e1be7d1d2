package app

// OrderDelivery is the delivery of an order's event to one webhook, as staff sees it
// (docs/behaviour.md#deliveries-of-an-order): without the URL, headers and bodies.
type OrderDelivery struct {
	ID          DeliveryID           `json:"-"`
	EventID     EventID              `json:"eventId"`
	EventType   EventType            `json:"eventType"`
	Webhook     OrderDeliveryWebhook `json:"webhook"`
	Status      DeliveryStatus       `json:"status"`
	DeliveredAt *Time                `json:"deliveredAt,omitempty"` // only if it was delivered
	NextRetryAt *Time                `json:"nextRetryAt,omitempty"` // only for a delivery that is retrying
	Attempts    int                  `json:"attempts"`              // attempts made so far, including replays
}

// OrderDeliveryWebhook is the webhook of an OrderDelivery.
type OrderDeliveryWebhook struct {
	ID          SubscriptionID `json:"id"`
	Description string         `json:"description"`
}

// ConcernsOrder reports whether events of this type are about an order.
func (t EventType) ConcernsOrder() bool {
	switch t {
	case EventOrderCreated, EventOrderStatusUpdated, EventOrderCompleted, EventOrderCancelled, EventPaymentSucceeded,
		EventPaymentFailed, EventPaymentRefunded:
		return true
	}
	return false
}
