// Package app is the vocabulary of Comanda: what the system is, without any
// input or output.
//
// A website owns stores; a store owns everything else: its views, products,
// customers, orders and webhook subscriptions. Whoever calls is a [Principal] of
// one realm, and [Principal.Can] says what that principal may do.
//
// Every change that others may want to hear of makes an [Event]. Its body is fixed
// when the change is written, in the same transaction. For every active
// [Subscription] that asks for the event's type there is one [Delivery], and each
// POST of it is an [Attempt]: at once, and after failures as the [RetrySchedule]
// says. A delivery whose schedule is used up is a dead letter, which an operator
// can replay for thirty days.
//
// The packages around this one never know each other: persistence keeps these types
// in PostgreSQL, api speaks of them over HTTP, workflows decide about them over time,
// and activities do what touches the outside world. Package boot joins them.
//
// Amounts are int64 in minor units of an ISO 4217 currency, times are UTC with
// milliseconds, and a refusal that a caller can understand is an [*Error].
package app
