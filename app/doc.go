// Package app contains the domain types and rules of Comanda. It has no input or output.
//
// A website owns stores. A store owns all other resources: its views, products, customers, orders and webhook
// subscriptions. The authenticated caller of a request is a [Principal] of one realm, and [Principal.Can] checks its
// permissions.
//
// Every change that subscribers can receive creates an [Event]. The event's body is fixed in the transaction of the
// change. Each active [Subscription] to the event's type gets one [Delivery], and each POST of a delivery is an
// [Attempt]. The first attempt starts immediately; after failures, the [RetrySchedule] determines the next one. A
// delivery that used up its schedule is a dead letter, which can be replayed for thirty days.
//
// The packages around app do not import each other, with few exceptions (the table in boot/imports_test.go):
// persistence stores these types in PostgreSQL, api exposes them over HTTP, workflows schedules the work, and
// activities performs its side effects. Package boot wires them.
//
// Amounts are int64 in minor units of an ISO 4217 currency, and times are UTC with milliseconds. An error that a caller
// can understand is an [*Error].
package app
