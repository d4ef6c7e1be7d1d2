package app

import (
	"time"
)

// OrderRules determine when a store takes orders, and the times for which it takes them
// (docs/behaviour.md#opening-hours).
type OrderRules struct {
	Hours
	PrepMinutes map[FulfillmentType]int
	LeadMinutes int // minimum time from an order to its requestedFor
	MaxDays     int // maximum number of days from an order to its requestedFor; 0 = no orders for later
}

// OrderTimes are the times of an order.
type OrderTimes struct {
	RequestedFor *Time // nil = as soon as possible
	PromisedAt   Time
	DueAt        *Time // time to prepare an order for later; nil = as soon as possible
}

// Times returns the times of an order that is placed at now. It returns OUTSIDE_BOOKING_WINDOW and, for API keys,
// STORE_CLOSED. Users take orders outside the hours and during a pause, too.
func (r OrderRules) Times(now time.Time, in NewOrder) (OrderTimes, error) {
	if in.RequestedFor != nil {
		if err := r.checkWindow(now, in.RequestedFor.Time); err != nil {
			return OrderTimes{}, err
		}
	}
	if in.By.Realm == RealmAPIKey {
		if err := r.checkOpen(now, in); err != nil {
			return OrderTimes{}, err
		}
	}
	prep := time.Duration(r.PrepMinutes[in.FulfillmentType]) * time.Minute
	if in.RequestedFor == nil {
		return OrderTimes{PromisedAt: At(now.Add(prep))}, nil
	}
	due := At(in.RequestedFor.Add(-prep))
	if due.Before(now) {
		due = At(now)
	}
	return OrderTimes{RequestedFor: in.RequestedFor, PromisedAt: *in.RequestedFor, DueAt: &due}, nil
}

// checkWindow returns OUTSIDE_BOOKING_WINDOW if an order cannot be placed for a time, by any caller.
func (r OrderRules) checkWindow(now, requested time.Time) error {
	earliest := now.Add(time.Duration(r.LeadMinutes) * time.Minute)
	latest := now.In(r.Zone).AddDate(0, 0, r.MaxDays)
	if !requested.Before(earliest) && !requested.After(latest) {
		return nil
	}
	message := "must be between " + At(earliest).String() + " and " + At(latest).String()
	if r.MaxDays == 0 {
		message = "is not possible: the store takes no orders for later"
	}
	e := Invalid("requestedFor", message)
	e.Code, e.Message = CodeOutsideBookingWindow, "requestedFor "+message
	return e
}

// checkOpen returns STORE_CLOSED if the store takes no orders at the time for which an order is wanted. Its detail
// nextOpenAt is the next time at which it does.
func (r OrderRules) checkOpen(now time.Time, in NewOrder) error {
	at, when := now, "now"
	if in.RequestedFor != nil {
		at, when = in.RequestedFor.Time, "at requestedFor"
	}
	state := r.State(at, in.FulfillmentType)
	if state.OpenNow {
		return nil
	}
	orders := "the store takes no orders for " + string(in.FulfillmentType)
	if state.NextOpenAt == nil {
		return Errorf(CodeStoreClosed, "%s within 366 days", orders)
	}
	return storeClosed(*state.NextOpenAt, "%s %s", orders, when)
}

// storeClosed returns STORE_CLOSED with the next time at which the store is open.
func storeClosed(next Time, format string, args ...any) *Error {
	e := Errorf(CodeStoreClosed, format+"; see nextOpenAt in details", args...)
	e.Details = []Detail{{Path: "nextOpenAt", Message: next.String()}}
	return e
}

// maxPromise is the maximum time from now to a promised time.
const maxPromise = 366 * 24 * time.Hour

// CheckPromise returns VALIDATION_FAILED unless an order can be promised for a time.
func CheckPromise(now, promised time.Time) error {
	switch {
	case !promised.After(now):
		return Invalid("promisedAt", "must be in the future")
	case promised.After(now.Add(maxPromise)):
		return Invalid("promisedAt", "must be at most 366 days ahead")
	}
	return nil
}

// promised returns the order with another promised time. An order for later is due the preparation time earlier, but
// not before it was placed.
func (o Order) promised(at Time, prep time.Duration) Order {
	if o.DueAt != nil {
		due := At(at.Add(-prep))
		if due.Before(o.CreatedAt.Time) {
			due = o.CreatedAt
		}
		o.DueAt = &due
	}
	o.PromisedAt = at
	return o
}
