package webhook

import (
	"encoding/json"
	"time"
)

// Event is the content of a verified request.
type Event struct {
	ID        string          `json:"id"` // the same in every delivery of the event
	Type      EventType       `json:"type"`
	StoreID   string          `json:"storeId"`
	Timestamp time.Time       `json:"timestamp"` // time of the event
	Data      json.RawMessage `json:"data"`      // its members depend on the type
	Position  int64           `json:"-"`         // X-Webhook-Position, which the signature does not cover; 0 = none
	Resource  string          `json:"-"`         // X-Webhook-Resource, for example "order/ord_…"; "" = none
}

// EventType is the type of an event. New types may be added at any time: respond with 2xx to unknown types.
type EventType string

const (
	OrderCreated         EventType = "order.created"
	OrderUpdated         EventType = "order.updated"
	OrderStatusUpdated   EventType = "order.status_updated"
	OrderCompleted       EventType = "order.completed"
	OrderCancelled       EventType = "order.cancelled"
	PaymentSucceeded     EventType = "payment.succeeded"
	PaymentFailed        EventType = "payment.failed"
	PaymentRefunded      EventType = "payment.refunded"
	CustomerCreated      EventType = "customer.created"
	CustomerUpdated      EventType = "customer.updated"
	ProductCreated       EventType = "product.created"
	ProductUpdated       EventType = "product.updated"
	ReservationCreated   EventType = "reservation.created"
	ReservationConfirmed EventType = "reservation.confirmed"
	ReservationCancelled EventType = "reservation.cancelled"

	// TestPing is the type of the event that the test operation sends. Webhooks cannot subscribe to it.
	TestPing EventType = "test.ping"
)

// EventTypes lists the types that a webhook can subscribe to.
var EventTypes = [...]EventType{
	OrderCreated, OrderUpdated, OrderStatusUpdated, OrderCompleted, OrderCancelled,
	PaymentSucceeded, PaymentFailed, PaymentRefunded,
	CustomerCreated, CustomerUpdated,
	ProductCreated, ProductUpdated,
	ReservationCreated, ReservationConfirmed, ReservationCancelled,
}
