package app

import (
	"strings"
	"time"
)

// EventType is the type of an event, for example "order.created".
type EventType string

const (
	EventOrderCreated         EventType = "order.created"
	EventOrderUpdated         EventType = "order.updated" // another change than that of the status
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
	EventTestPing             EventType = "test.ping" // sent on request; subscriptions cannot select it
)

// AllEvents is the selection of all types, also of those of later releases. It stands alone in the events of a
// subscription.
const AllEvents EventType = "*"

// EventTypes lists the types that a subscription can select.
var EventTypes = [...]EventType{
	EventOrderCreated, EventOrderUpdated, EventOrderStatusUpdated, EventOrderCompleted,
	EventOrderCancelled,
	EventPaymentSucceeded, EventPaymentFailed, EventPaymentRefunded,
	EventCustomerCreated, EventCustomerUpdated,
	EventProductCreated, EventProductUpdated,
	EventReservationCreated, EventReservationConfirmed, EventReservationCancelled,
}

// Event is a change in a store. Body holds the bytes of the envelope: they are fixed once and are identical in every
// delivery and attempt.
type Event struct {
	ID      EventID
	StoreID StoreID
	Type    EventType
	At      Time
	Body    []byte
}

// StoredEvent is an event as clients read it.
type StoredEvent struct {
	Event           // Body is nil if it is erased
	Position int64  // place in the order of dispatch; 0 = not yet dispatched
	Resource string // see EventType.Resource
}

// EventFilter narrows a list of events. A zero value does not narrow it. Periods follow the order of positions: an
// event that was dispatched after an event with a later time counts with the later time.
type EventFilter struct {
	Types    []EventType
	From, To *Time // From inclusive, To exclusive
}

// EventOrder is the order of a list of events.
type EventOrder string

const (
	NewestEvents EventOrder = "desc"
	OldestEvents EventOrder = "asc"
)

// positionBits is the number of bits of a position that count the events of one millisecond.
const positionBits = 11

// FirstPosition returns the first position of the millisecond of at. It is less than 2^53.
func FirstPosition(at time.Time) int64 {
	return min(max(at.UnixMilli(), 0), 1<<42-1) << positionBits
}

// Envelope is the body of every delivery.
type Envelope struct {
	ID        EventID   `json:"id"`
	Type      EventType `json:"type"`
	StoreID   StoreID   `json:"storeId"`
	Timestamp Time      `json:"timestamp"`
	Data      any       `json:"data"`
}

// Resource returns the resource of an event of type t with a subject, for example "order/ord_…". The resource of a
// payment is its order. It returns "" if the event has no subject.
func (t EventType) Resource(subject string) string {
	if subject == "" {
		return ""
	}
	kind, _, _ := strings.Cut(string(t), ".")
	if kind == "payment" {
		kind = "order"
	}
	return kind + "/" + subject
}

// Subject is implemented by objects and by data of events that concern an order, a customer, a reservation or a
// product. Subject returns its id. Erasures find events and stored objects by their subject.
type Subject interface{ Subject() string }

// SubjectOf returns the subject of data, "" if it has none.
func SubjectOf(data any) string {
	if about, ok := data.(Subject); ok {
		return about.Subject()
	}
	return ""
}

// Subject returns the id of the order.
func (o Order) Subject() string { return string(o.ID) }

// Subject returns the id of the customer.
func (c Customer) Subject() string { return string(c.ID) }

// Subject returns the id of the reservation.
func (r Reservation) Subject() string { return string(r.ID) }

// Subject returns the id of the product.
func (p Product) Subject() string { return string(p.ID) }

// Subject returns the id of the payment's order.
func (p Payment) Subject() string { return string(p.Order.ID) }

// Subject returns the id of the refund's payment.
func (r Refund) Subject() string { return string(r.PaymentID) }

// NewEvent creates an event and encodes its body. It returns LIMIT_REACHED if the body has more than [MaxEvent] bytes,
// which only order.updated can reach: it contains the changed items before and after the change.
func NewEvent(t EventType, store StoreID, now time.Time, data any) (Event, error) {
	e := Event{ID: NewID[EventID](now), StoreID: store, Type: t, At: At(now)}
	var err error
	e.Body, err = encoded(Envelope{e.ID, t, store, e.At, data})
	if err == nil && len(e.Body) > MaxEvent {
		err = Errorf(CodeLimitReached, "the event of the change would have more than %d bytes as JSON; "+
			"make smaller changes, one after another", MaxEvent)
	}
	return e, err
}
