package app

import (
	"bytes"
	"encoding/json"
	"time"
)

// EventType names what happened.
type EventType string

const (
	EventOrderCreated         EventType = "order.created"
	EventOrderStatusUpdated   EventType = "order.status_updated"
	EventOrderCompleted       EventType = "order.completed"
	EventOrderCancelled       EventType = "order.cancelled"
	EventPaymentSucceeded     EventType = "payment.succeeded"
	EventPaymentFailed        EventType = "payment.failed"
	EventPaymentRefunded      EventType = "payment.refunded"
	EventCustomerCreated      EventType = "customer.created"
	EventCustomerUpdated      EventType = "customer.updated"
	EventProductCreated       EventType = "product.created"
	EventProductUpdated       EventType = "product.updated"
	EventReservationCreated   EventType = "reservation.created"
	EventReservationConfirmed EventType = "reservation.confirmed"
	EventReservationCancelled EventType = "reservation.cancelled"
	EventTestPing             EventType = "test.ping" // sent on demand; no subscription can choose it
)

// EventTypes lists the types that a subscription can choose (spec, Events).
var EventTypes = [...]EventType{
	EventOrderCreated, EventOrderStatusUpdated, EventOrderCompleted, EventOrderCancelled,
	EventPaymentSucceeded, EventPaymentFailed, EventPaymentRefunded,
	EventCustomerCreated, EventCustomerUpdated,
	EventProductCreated, EventProductUpdated,
	EventReservationCreated, EventReservationConfirmed, EventReservationCancelled,
}

// Event is something that happened in a store. Body is the envelope's bytes, fixed once
// and the same in every delivery and attempt.
type Event struct {
	ID      EventID
	StoreID StoreID
	Type    EventType
	At      Time
	Body    []byte
}

// Envelope is the body of every delivery (spec, Event envelope).
type Envelope struct {
	ID        EventID   `json:"id"`
	Type      EventType `json:"type"`
	StoreID   StoreID   `json:"storeId"`
	Timestamp Time      `json:"timestamp"`
	Data      any       `json:"data"`
}

// NewEvent makes the event and fixes its body. It fails only when data cannot be
// encoded.
func NewEvent(t EventType, store StoreID, now time.Time, data any) (Event, error) {
	e := Event{ID: NewID[EventID](now), StoreID: store, Type: t, At: At(now)}
	var body bytes.Buffer
	encoder := json.NewEncoder(&body)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(Envelope{e.ID, t, store, e.At, data}); err != nil {
		return Event{}, err
	}
	e.Body = bytes.TrimSuffix(body.Bytes(), []byte("\n"))
	return e, nil
}
