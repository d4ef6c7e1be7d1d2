// Package comanda is a client of Comanda's API. It depends only on the standard library.
//
//	client, err := comanda.New("https://comanda.example.com", comanda.Config{APIKey: key})
//	…
//	order, err := client.PlaceOrder(ctx, comanda.PlaceOrderRequest{
//		FulfillmentType: comanda.FulfillmentTypePickup,
//		Customer:        comanda.Set(comanda.GuestRequest{Name: "Ada Lovelace"}),
//		Items:           []comanda.OrderItemRequest{{ProductID: &id, Quantity: 2}},
//	})
//
// The types and methods are generated from the OpenAPI document of the service. [Client.StreamEvents] is written by
// hand; the stream of order changes, which is for user interfaces, is not part of the client.
//
// # Errors
//
// A refusal of the service is an [*Error] with a code, which [errors.AsType] finds. Every other error means that the
// service could not be reached or that its response could not be read.
//
// # Repeated requests
//
// The client repeats a request if this cannot have an effect twice:
//
//   - after 429, which means that the service has not processed the request
//   - if no connection could be made
//   - after 502, 503, 504 and broken connections, if the operation only reads or accepts an Idempotency-Key
//   - after 409 IDEMPOTENCY_KEY_IN_USE, until the first request has ended
//
// It sends a new Idempotency-Key with each call of an operation that accepts one, and the same key with each
// repetition of the call. [IdempotencyKey] sets the key, for example to continue after a restart of the program. A
// secret that the service shows only once, such as a new API key, is absent from the response to a repetition.
//
// The client waits as long as Retry-After says, up to Config.MaxWait. See [Config] for the limits.
//
// # Sessions
//
// Without an API key, [Client.Login] or [Client.LoginCustomer] starts a session. The client then refreshes the access
// token when it has expired, one call at a time, because each refresh token is valid once.
//
// # Later releases of the service
//
// The client ignores members that it does not know, and passes on unknown values of enumerations. A switch over such a
// value needs a default.
//
// # Events
//
// [Client.StreamEvents] follows the events of the store without a webhook, and continues after breaks and restarts:
//
//	for event, err := range client.StreamEvents(ctx, comanda.StreamEventsParams{LastEventID: stored}) {
//		…
//		stored = event.Cursor
//	}
//
// # Webhooks
//
// Package [github.com/comanda-dev/comanda/app/webhook] verifies the requests that the service sends. Decode
// webhook.Event.Data into the type of the member Data of the event, for example [OrderData] of [OrderCreatedEvent].
package comanda

//go:generate go -C ../generate run .
