package app

import (
	"slices"
	"time"
)

// orderPath lists the statuses of an order that is not cancelled, in order. Transitions go forward only and may skip
// statuses. An order that is not final can be cancelled in any status.
var orderPath = [...]OrderStatus{
	OrderReceived, OrderConfirmed, OrderPreparing, OrderReady, OrderOutForDelivery, OrderCompleted,
}

// Transitions returns the statuses that an order can have next, never nil. mayCancel is true if the caller may cancel
// orders.
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

// OrderStatusChange is a requested change of an order's status.
type OrderStatusChange struct {
	To        OrderStatus
	Reason    string        // only for a cancellation
	Promised  *Time         // new promised time; nil = unchanged
	Prep      time.Duration // preparation time of the order, for Promised
	MayCancel bool          // the caller may cancel orders
	By        Actor
}

// Moved returns the order after a change of its status and its promised time. A change to the current status and
// promised time returns the order unchanged. It returns INVALID_TRANSITION if the status cannot follow the current one.
func (o Order) Moved(change OrderStatusChange, now Time) (Order, error) {
	promises := change.Promised != nil && !change.Promised.Equal(o.PromisedAt.Time)
	if change.To == o.Status && !promises {
		return o, nil
	}
	if promises {
		o = o.promised(*change.Promised, change.Prep)
	}
	o.Version, o.UpdatedAt = o.Version+1, o.UpdatedAt.OrLater(now)
	if change.To == o.Status {
		return o, nil
	}
	if allowed := o.Status.Transitions(o.FulfillmentType, change.MayCancel); !slices.Contains(allowed, change.To) {
		return o, InvalidTransition(o.Status, change.To, allowed)
	}
	from := o.Status
	o.PreviousStatus, o.Status, o.CancellationReason = &from, change.To, change.Reason
	return o.Balanced(o.Balance()), nil
}

// OrderStatusUpdated is the data of order.status_updated. The order contains the previous status.
type OrderStatusUpdated struct {
	Order
	NewStatus OrderStatus `json:"newStatus"`
}

// OrderChangeType is the kind of an entry of an order's history.
type OrderChangeType string

const (
	ChangeOfStatus OrderChangeType = "STATUS"
	Amendment      OrderChangeType = "AMENDMENT" // of items or other members
)

// OrderChangeTypes lists the kinds of entries.
var OrderChangeTypes = [...]OrderChangeType{ChangeOfStatus, Amendment}

// OrderChange is an entry of an order's history.
type OrderChange struct {
	Type    OrderChangeType `json:"type"`
	Version int64           `json:"version"` // of the order after the change
	Actor   OrderActor      `json:"actor"`
	From    *OrderStatus    `json:"from"`             // null for the creation of the order and for AMENDMENT
	To      OrderStatus     `json:"to,omitempty"`     // only for STATUS
	Reason  string          `json:"reason,omitempty"` // only for a cancellation
	// Both are for AMENDMENT only, as in order.updated.
	ChangedFields []string     `json:"changedFields,omitempty"`
	ItemChanges   []ItemChange `json:"itemChanges,omitzero"`
	EventID       EventID      `json:"eventId"` // event that reported the change
	At            Time         `json:"at"`
}

// OrderActor is the user, the API key or the service that changed an order.
type OrderActor struct {
	Realm Realm  `json:"realm,omitempty"` // absent for changes by the service itself
	ID    string `json:"id,omitempty"`    // of the user or the API key, or "system"; omitted for customers
	Name  string `json:"name,omitempty"`  // current name of the user or API key; omitted for customers
}
