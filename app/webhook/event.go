package webhook

import (
	"encoding/json"
	"time"
)

// Event is what a genuine request brings.
type Event struct {
	ID        string          `json:"id"` // the same whenever the event is delivered again
	Type      EventType       `json:"type"`
	StoreID   string          `json:"storeId"`
	Timestamp time.Time       `json:"timestamp"` // when it happened
	Data      json.RawMessage `json:"data"`      // what the type says it is
}

// EventType names what happened. Types may be added: accept those you do not know.
type EventType string

const (
	OrderCreated         EventType = "order.created"
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

	// TestPing is sent on request to try a receiver out; nobody subscribes to it.
	TestPing EventType = "test.ping"
)

// EventTypes lists the types that a webhook can subscribe to.
var EventTypes = [...]EventType{
	OrderCreated, OrderStatusUpdated, OrderCompleted, OrderCancelled,
	PaymentSucceeded, PaymentFailed, PaymentRefunded,
	CustomerCreated, CustomerUpdated,
	ProductCreated, ProductUpdated,
	ReservationCreated, ReservationConfirmed, ReservationCancelled,
}
