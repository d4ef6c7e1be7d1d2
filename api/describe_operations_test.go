package api

// notes begin the descriptions of operations, by operationId.
var notes = map[string]string{
	"refresh":            "The response replaces the refresh token in the cookie. Each refresh token is valid once.",
	"refreshCustomer":    "The response replaces the refresh token in the cookie. Each refresh token is valid once.",
	"switchStore":        "The refresh token stays valid; the next refresh is for the new store.",
	"listStores":         "The same stores as in the response of the login.",
	"listUsers":          "Sorted by the time of joining, newest first.",
	"listInvitations":    "Invitations of the store that have neither been accepted nor ended, newest first.",
	"resendInvitation":   "The earlier token becomes invalid. The new one is valid for seven days.",
	"getWebsiteDetails":  "Also with pending invitations of owners and the usage of the plan.",
	"openStore":          "The store has no members; invite its owner afterwards.",
	"inviteOwner":        "Replaces a pending invitation of the same address in the website.",
	"updateStore":        "Changes the name or the country. The other settings are in PATCH /settings.",
	"pauseOrdering":      "Orders of API keys are refused until the given time. Replaces an earlier pause.",
	"resumeOrdering":     "Ends a pause. It has no effect if ordering is not paused.",
	"createStore":        "The caller becomes its OWNER. A website has at most 100 stores.",
	"createStoreView":    "A store has at most 20 views, exactly one of which is the default.",
	"updateStoreView":    "Earlier orders keep their currency.",
	"deleteStoreView":    "The default view cannot be deleted. Orders keep the view in which they were placed.",
	"listAuditEntries":   "Sorted by time, newest first.",
	"createAPIKey":       "The response shows the key once.",
	"listAPIKeys":        "The keys of the store and of its sandbox, newest first.",
	"revokeAPIKey":       "The key is refused from the next request on.",
	"listWebhooks":       "All webhooks of the store, newest first.",
	"listEventTypes":     "Each with its JSON Schema and an example.",
	"updateWebhook":      "Changes the URL or the events, or switches the webhook off or on.",
	"deleteWebhook":      "Cancels the deliveries that have not been delivered.",
	"testWebhook":        "Sends one test.ping immediately, without retries.",
	"getWebhookStats":    "By hour or day.",
	"getDeliveryAttempt": "With the request and the receiver's response.",
	"replayWebhook":      "With dryRun, counts the deliveries without replaying them.",
	"retryDelivery": "Makes the next attempt of a retrying delivery now and returns it. The attempt counts in the " +
		"retry schedule, but not for the plan. Concurrent requests share one attempt.",
	"replayDeliveries":  "With dryRun, counts the deliveries without replaying them.",
	"cancelReplay":      "Queues no more deliveries. Deliveries that are queued are still delivered.",
	"quoteOrder":        "Computes the price without placing the order.",
	"updateProduct":     "A merge patch (RFC 7396): null clears an optional member.",
	"updateCustomer":    "A merge patch (RFC 7396): null clears an optional member.",
	"updateAddress":     "A merge patch (RFC 7396): null clears an optional member.",
	"createWebsite":     "Also invites the first OWNER.",
	"updateWebsite":     "Changes the website, its plan or who manages the plan, or suspends the website.",
	"updateOrderStatus": "Moves the order forward, or cancels it.",
	"listCustomers":     "Newest first. Customers see only themselves.",
	"listCategories":    "Sorted by name.",
	"listReservations":  "Sorted by start, earliest first.",
	"listOrderChanges":  "Oldest first.",
	"listOrderDeliveries": "One row per webhook and event of the order or its payments, oldest first. The stream " +
		"of orders reports each change of a status.",
	"summarizeSales":   "One row per currency.",
	"plotSales":        "One row per bucket of time and currency.",
	"listProductSales": "By currency, highest net sales first.",
	"listOptionSales":  "By currency, highest net sales first.",

	"listSessions":         "The sessions that have not ended, newest first.",
	"listCustomerSessions": "The sessions that have not ended, newest first.",
	"endSession":           "Its tokens are refused from the next request on.",
	"endCustomerSession":   "Its tokens are refused from the next request on.",
	"requestPasswordReset": "The response is the same whether or not the email has a user. The mail has a link that is " +
		"valid once, for an hour. At most five mails are sent to an account per hour.",
	"requestCustomerPasswordReset": "The response is the same whether or not the email has an account. The mail has a " +
		"link that is valid once, for an hour. At most five mails are sent to an account per hour.",
	"resetPassword":         "Ends all sessions of the user. It does not log in.",
	"resetCustomerPassword": "Ends all sessions of the customer. It does not log in.",
	"changePassword":        "Ends all other sessions of the user.",
	"changeCustomerEmail": "Mails a link to the new email, and a notice to the current one. The response is the same " +
		"whether or not another account has the new email. The link is valid for an hour; a newer request, a change of " +
		"the password, and disabling end it. An account without a password gets 409 `CONFLICT`, a service without a mail " +
		"server 503 `UNAVAILABLE`.",
	"confirmCustomerEmail": "The link of the mail leads to a page that sends this request. Emits `customer.updated` " +
		"with `updatedFields` `email`. The sessions of the customer stay.",
	"changeCustomerPassword": "Ends all other sessions of the customer.",

	"listEvents": "In the order of dispatch, newest first by default. An event appears as soon as it is dispatched, and " +
		"counts for the time of an earlier dispatched event if that is later than its own. The cursor is the position " +
		"of an event; it is valid for all filters and orders and as Last-Event-ID of the stream.",
	"getEvent":             "The body is null if it is erased.",
	"listDeliveryAttempts": newestFirst,
	"listReplays":          newestFirst,
	"listDeliveries":       newestFirst,
	"listOrders":           newestFirst,
	"listOrderPayments":    newestFirst,
	"listProducts":         newestFirst,
	"listLoyaltyEntries":   newestFirst,
	"listAddresses":        newestFirst,
	"listWebsites":         newestFirst,
	"eraseCustomer": "Replaces the personal data in the profile, orders, reservations and payments, and ends " +
		"all sessions. Amounts and counts stay. Bodies of events are erased once their deliveries have ended; " +
		"they can no longer be replayed. An open order or reservation is refused.",
	"eraseReservation": "Replaces the personal data in a reservation, also if the guest is not a customer. The " +
		"reservation remains. Bodies of events are erased once their deliveries have ended; they can no longer be " +
		"replayed. A reservation that is PENDING or CONFIRMED is refused.",
	"importProducts": "Creates and changes products by SKU, all or none. Line breaks within CSV cells are stored as " +
		"line feeds.",
	"exportCustomer": "Returns everything that is kept about the customer, at most 10,000 activities of the " +
		"account.",
	"updateReservation": "Changes a reservation that is PENDING or CONFIRMED. No event is emitted. A change that needs " +
		"no additional seats succeeds even if the store has too few seats.",
	"updateReservationStatus": "Confirms, cancels or completes the reservation, or marks it as a no-show.",

	"listPlatformAuditEntries": "Actions of platform administrators and changes to websites, newest first.",
}

const newestFirst = "Newest first."

// streamed describes the responses of streams, by operationId.
var streamed = map[string]string{"streamOrders": streamedOrders, "streamEvents": streamedEvents}

const streamedEvents = "The `event` is the type, the `data` is the body of the event, and the `id` is its position. " +
	"Without the header `Last-Event-ID`, the stream starts with the next event; with it, it continues after that " +
	"event. The stream has the order of dispatch, so that an event that is committed late is not skipped. Events whose " +
	"body is erased are omitted. A comment and the current position are sent every 15 seconds. " +
	"A position after which events are erased is refused with 400; then start from `GET /events`. " +
	"It ends when the access token expires, the session ends, the API key is revoked, or the client is 1 MiB " +
	"behind. Then open a new stream with `Last-Event-ID`."

const streamedOrders = "Each change is an event `order` with the data `{\"id\",\"orderId\",\"status\",\"version\"}`. " +
	"A comment is sent every 15 seconds. An open stream reports every order that changes. " +
	"A reminder of an order that was not accepted has `\"reminder\":true`. " +
	"It ends when the access token expires, the session ends or the client is too slow. Then read the changed " +
	"orders (`GET /orders?updatedSince=`) and open a new stream."

// streamExamples are examples of the responses of streams, by operationId.
var streamExamples = map[string]any{
	"streamEvents": "id: cG9zaXRpb24\nevent: order.cancelled\n" +
		`data: {"id":"evt_019ced814dfa7d1fa2b3c4d5e6f70000","type":"order.cancelled","storeId":"sto_1",` +
		`"timestamp":"2026-03-14T18:00:00.250Z","data":{}}` + "\n\n",
	"streamOrders": "event: order\n" +
		`data: {"id":"ord_019ced814dfa7d91a4e5f60718293a4b","orderId":"1042","status":"RECEIVED","version":1}` + "\n\n",
}
