package api

import (
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/gorilla/mux"

	"github.com/comanda-dev/comanda/api/dashboard"
	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence"
)

// route is one operation. Who may call it follows from the permission (app.Permissions).
type route struct {
	method     string
	path       string
	permission app.Permission       // or public, or byRefreshToken
	resource   persistence.Resource // what of a store {id} names, if anything
	once       bool                 // takes an Idempotency-Key
	status     int                  // of a success
	summary    string
	endpoint   endpoint
}

// What stands in place of a permission where no access token is looked at.
const (
	public         app.Permission = "public"           // everybody may call it
	byRefreshToken app.Permission = "by refresh token" // the cookie is the credential
)

// byAccessToken reports whether a route's credential is the Authorization header's.
func (rt *route) byAccessToken() bool {
	return rt.permission != public && rt.permission != byRefreshToken
}

// routes is the whole surface.
func routes() []route {
	const get, post, patch = http.MethodGet, http.MethodPost, http.MethodPatch
	const webhooks, deliveries, orders, users = persistence.Subscriptions, persistence.Deliveries, persistence.Orders, persistence.Members
	const products = persistence.Products
	const customers = persistence.Customers
	const once = true
	return []route{
		{post, "/auth/login", public, "", !once, 200, "Log in with e-mail address and password",
			handle((*Server).login, app.CodeInvalidCredentials, app.CodeStoreMismatch)},
		{post, "/auth/refresh", byRefreshToken, "", !once, 200, "Get a new access token and a new refresh token for the one in the cookie",
			handle((*Server).refresh, app.CodeTokenInvalid, app.CodeTokenRevoked)},
		{post, "/auth/switch-store", app.SwitchStore, "", !once, 200, "Work in another store of the same website",
			handle((*Server).switchStore, app.CodeStoreMismatch)},
		{post, "/auth/logout", app.EndOwnTenantLogin, "", !once, 200, "End the session", handle((*Server).logout)},
		{get, "/auth/me", app.ViewOwnTenantLogin, "", !once, 200, "Show who is logged in, and the active store", handle((*Server).me)},

		{get, "/auth/stores", app.SwitchStore, "", !once, 200, "List the stores in which the user works, as at login", handle((*Server).stores)},

		{post, "/auth/accept-invite", public, "", !once, 200, "Accept an invitation and log in",
			handle((*Server).acceptInvite, app.CodeTokenInvalid, app.CodeInvalidCredentials, app.CodeConflict)},

		{get, "/users", app.ManageUsers, "", !once, 200, "List the store's users, the last to join first", handle((*Server).users)},
		{post, "/users", app.ManageUsers, "", once, 201, "Invite somebody to stores", handle((*Server).invite, app.CodeStoreMismatch, app.CodeConflict)},
		{patch, "/users/{id}", app.ManageUsers, users, !once, 200, "Change a user's role in the store",
			handle((*Server).changeRole, app.CodeLastOwner)},
		{http.MethodDelete, "/users/{id}", app.ManageUsers, users, !once, 204, "Remove a user from the store",
			handle((*Server).removeUser, app.CodeLastOwner)},
		{get, "/audit", app.ViewAuditTrail, "", !once, 200, "List the store's audit trail, the newest first", handle((*Server).auditTrail)},

		{post, "/customer-auth/register", public, "", !once, 201, "Register as a customer of a store",
			handle((*Server).registerCustomer, app.CodeNotFound, app.CodeEmailTaken)},
		{post, "/customer-auth/login", public, "", !once, 200, "Log in as a customer of a store",
			handle((*Server).loginCustomer, app.CodeInvalidCredentials)},
		{post, "/customer-auth/social", public, "", !once, 200, "Log in as a customer with a provider's ID token",
			handle((*Server).socialLogin, app.CodeInvalidCredentials, app.CodeNotFound, app.CodeAccountLinkRequired)},
		{post, "/customer-auth/refresh", byRefreshToken, "", !once, 200, "Get a customer's new access token and new refresh token for the one in the cookie",
			handle((*Server).refreshCustomer, app.CodeTokenInvalid, app.CodeTokenRevoked)},
		{post, "/customer-auth/logout", app.EndCustomerLogin, "", !once, 200, "Log out as a customer", handle((*Server).logoutCustomer)},
		{post, "/api-keys", app.ManageAPIKeys, "", once, 201, "Create an API key, and show it this once", handle((*Server).createAPIKey)},
		{get, "/api-keys", app.ManageAPIKeys, "", !once, 200, "List the API keys of the store and of its sandbox, the newest first",
			handle((*Server).apiKeys)},
		{post, "/api-keys/{id}/revoke", app.ManageAPIKeys, persistence.APIKeys, !once, 200, "Revoke an API key, from the next request on",
			handle((*Server).revokeAPIKey)},

		{post, "/webhooks", app.ManageWebhooks, "", once, 201, "Subscribe a URL to events of the store",
			handle((*Server).createWebhook, app.CodeLimitReached)},
		{get, "/webhooks", app.ManageWebhooks, "", !once, 200, "List the store's webhooks, the newest first", handle((*Server).webhooks)},
		{get, "/webhooks/event-types", app.ManageWebhooks, "", !once, 200, "List the types of events, each with its JSON Schema and an example",
			handle((*Server).eventTypes)},
		{get, "/webhooks/{id}", app.ManageWebhooks, webhooks, !once, 200, "Show a webhook", handle((*Server).webhook)},
		{patch, "/webhooks/{id}", app.ManageWebhooks, webhooks, !once, 200, "Change a webhook's URL or events, turn it off or on",
			handle((*Server).changeWebhook, app.CodeVersionMismatch)},
		{http.MethodDelete, "/webhooks/{id}", app.ManageWebhooks, webhooks, !once, 204, "Delete a webhook and cancel what is left to deliver to it",
			handle((*Server).deleteWebhook, app.CodeVersionMismatch)},
		{post, "/webhooks/{id}/test", app.ManageWebhooks, webhooks, !once, 200, "Send a test.ping to a webhook now, once",
			handle((*Server).testWebhook)},
		{post, "/webhooks/{id}/rotate-secret", app.ManageWebhooks, webhooks, !once, 200, "Replace a webhook's secret",
			handle((*Server).rotateSecret, app.CodeVersionMismatch)},
		{get, "/webhooks/{id}/stats", app.ManageWebhooks, webhooks, !once, 200, "Count a webhook's delivery attempts by hour or day",
			handle((*Server).webhookStats)},
		{get, "/webhooks/{id}/deliveries", app.ManageWebhooks, webhooks, !once, 200, "List a webhook's delivery attempts, the newest first",
			handle((*Server).attempts)},
		{get, "/webhooks/{id}/deliveries/{attemptId}", app.ManageWebhooks, webhooks, !once, 200, "Show a delivery attempt with its request and the answer",
			handle((*Server).attempt)},
		{post, "/webhooks/{id}/replay", app.ManageWebhooks, webhooks, once, 202, "Deliver once more what has ended of a webhook's deliveries, or count that",
			handle((*Server).replayWebhook, app.CodeLimitReached)},
		{get, "/webhooks/{id}/replays", app.ManageWebhooks, webhooks, !once, 200, "List a webhook's bulk replays, the newest first", handle((*Server).webhookReplays)},
		{get, "/webhooks/{id}/replays/{replayId}", app.ManageWebhooks, webhooks, !once, 200, "Show how far a webhook's bulk replay has come", handle((*Server).webhookReplay)},
		{post, "/replays", app.ManageWebhooks, "", once, 202, "Deliver once more what has ended of the store's deliveries, or count that",
			handle((*Server).replayStore, app.CodeNotFound, app.CodeLimitReached)},
		{get, "/replays", app.ManageWebhooks, "", !once, 200, "List the store's bulk replays, the newest first", handle((*Server).storeReplays)},
		{get, "/replays/{id}", app.ManageWebhooks, persistence.Replays, !once, 200, "Show how far a bulk replay has come", handle((*Server).storeReplay)},
		{post, "/replays/{id}/cancel", app.ManageWebhooks, persistence.Replays, !once, 200, "Queue no more deliveries of a bulk replay",
			handle((*Server).cancelReplay, app.CodeConflict)},

		{get, "/deliveries", app.ManageWebhooks, "", !once, 200, "List the store's deliveries, the newest first", handle((*Server).deliveries)},
		{get, "/dead-letters", app.ManageWebhooks, "", !once, 200, "Count the store's dead letters by webhook and reason", handle((*Server).deadLetters)},
		{get, "/deliveries/{id}", app.ManageWebhooks, deliveries, !once, 200, "Show a delivery", handle((*Server).delivery)},
		{post, "/deliveries/{id}/replay", app.ManageWebhooks, deliveries, !once, 202, "Deliver once more what has ended",
			handle((*Server).replayDelivery, app.CodeDeliveryInProgress, app.CodePayloadErased, app.CodeConflict)},

		{post, "/orders", app.WriteOrders, "", once, 201, "Place an order",
			handle((*Server).placeOrder, app.CodeProductUnavailable, app.CodePriceNotSet, app.CodeAmountTooLarge, app.CodeTotalMismatch)},
		{get, "/orders", app.ViewOrders, "", !once, 200, "List the store's orders, the newest first", handle((*Server).orders)},
		{post, "/orders/quote", app.WriteOrders, "", !once, 200, "Compute what an order would cost, without placing it",
			handle((*Server).quoteOrder, app.CodeProductUnavailable, app.CodePriceNotSet, app.CodeAmountTooLarge, app.CodeTotalMismatch)},
		{get, "/orders/stream", app.WatchOrders, "", !once, 200, "Hear of changes of the store's orders as they happen (server-sent events)",
			handle((*Server).watchOrders, app.CodeLimitReached)},
		{get, "/orders/{id}", app.ViewOrders, orders, !once, 200, "Show an order", handle((*Server).order)},
		{patch, "/orders/{id}/status", app.WriteOrders, orders, !once, 200, "Take an order a step on, or cancel it",
			handle((*Server).changeOrderStatus, app.CodeVersionMismatch, app.CodeInvalidTransition)},
		{get, "/orders/{id}/history", app.ViewOrders, orders, !once, 200, "Show what became of an order, the oldest first", handle((*Server).orderHistory)},

		{post, "/orders/{id}/payments", app.WriteOrders, orders, once, 201, "Record what a payment provider did about an order",
			handle((*Server).recordPayment, app.CodeConflict, app.CodeAmountTooLarge).orExisting()},
		{get, "/orders/{id}/payments", app.ViewOrders, orders, !once, 200, "List an order's payments with their refunds, the newest first",
			handle((*Server).payments)},
		{post, "/payments/{id}/refunds", app.RefundPayments, persistence.Payments, once, 201, "Record that a payment provider gave back some of a payment",
			handle((*Server).refundPayment, app.CodeConflict, app.CodeRefundExceedsPayment).orExisting()},

		{get, "/products", app.ViewProducts, "", !once, 200, "List the store's products, the newest first", handle((*Server).products)},
		{post, "/products", app.WriteProducts, "", once, 201, "Add a product to the menu", handle((*Server).createProduct, app.CodeConflict)},
		{get, "/products/categories", app.ViewProducts, "", !once, 200, "List the categories of the store's products, in the order of their names",
			handle((*Server).categories)},
		{get, "/products/{id}", app.ViewProducts, products, !once, 200, "Show a product", handle((*Server).product)},
		{patch, "/products/{id}", app.WriteProducts, products, !once, 200, "Change members of a product; null clears those that it need not have (RFC 7396)",
			handle((*Server).changeProduct, app.CodeConflict, app.CodeVersionMismatch)},
		{http.MethodDelete, "/products/{id}", app.DeleteProducts, products, !once, 204, "Take a product off the menu for good",
			handle((*Server).deleteProduct, app.CodeVersionMismatch)},

		{post, "/reservations", app.WriteReservations, "", once, 201, "Reserve a table",
			handle((*Server).createReservation, app.CodeSlotFull, app.CodeOutsideBookingWindow)},
		{get, "/reservations", app.ViewReservations, "", !once, 200, "List the store's reservations, the first to begin first",
			handle((*Server).reservations)},
		{get, "/reservations/seats", app.ViewReservations, "", !once, 200, "Show how many seats are taken over a day", handle((*Server).seatsOfDay)},
		{get, "/reservations/{id}", app.ViewReservations, persistence.Reservations, !once, 200, "Show a reservation", handle((*Server).reservation)},
		{patch, "/reservations/{id}/status", app.WriteReservations, persistence.Reservations, !once, 200, "Confirm, cancel or complete a reservation, or note that nobody came",
			handle((*Server).changeReservationStatus, app.CodeVersionMismatch, app.CodeInvalidTransition)},

		{get, "/analytics/summary", app.ViewAnalytics, "", !once, 200, "Sum up the sales of a period, by currency",
			handle((*Server).salesSummary, app.CodeAmountTooLarge)},
		{get, "/analytics/sales", app.ViewAnalytics, "", !once, 200, "Plot the sales of a period: each bucket of time, by currency",
			handle((*Server).salesPlot, app.CodeAmountTooLarge)},
		{get, "/analytics/products", app.ViewAnalytics, "", !once, 200, "List the products sold in a period by currency, what brought most first",
			handle((*Server).productSales, app.CodeAmountTooLarge)},
		{get, "/analytics/customers", app.ViewAnalytics, "", !once, 200, "Count who ordered in a period", handle((*Server).customerCounts)},

		{get, "/settings", app.ManageSettings, "", !once, 200, "Show the store's settings", handle((*Server).settings)},
		{patch, "/settings", app.ManageSettings, "", !once, 200, "Change settings of the store",
			handle((*Server).changeSettings, app.CodeVersionMismatch)},

		{get, "/billing", app.ManageBilling, "", !once, 200, "Show the plan of the store's website, and how much of it is used", handle((*Server).billing)},
		{patch, "/billing", app.ManageBilling, "", !once, 200, "Give the store's website another plan",
			handle((*Server).changeBilling, app.CodeConflict)},
		{get, "/customers", app.ViewCustomers, "", !once, 200, "List the store's customers, the newest first; for a customer, the one", handle((*Server).customers)},
		{get, "/customers/{id}", app.ViewCustomers, customers, !once, 200, "Show a customer", handle((*Server).customer)},
		{patch, "/customers/{id}", app.WriteCustomers, customers, !once, 200, "Change members of a customer's profile; null clears those that it need not have (RFC 7396)",
			handle((*Server).changeCustomer, app.CodeConflict, app.CodeVersionMismatch)},
		{get, "/customers/{id}/loyalty", app.ViewCustomers, customers, !once, 200, "List how a customer's loyalty points came about, the newest first",
			handle((*Server).loyalty)},
		{get, "/customers/{id}/addresses", app.ViewCustomers, customers, !once, 200, "List a customer's addresses, the newest first", handle((*Server).addresses)},
		{post, "/customers/{id}/addresses", app.WriteAddresses, customers, once, 201, "Add an address of one's own",
			handle((*Server).addAddress, app.CodeLimitReached)},
		{patch, "/customers/{id}/addresses/{addressId}", app.WriteAddresses, customers, !once, 200,
			"Change members of an address of one's own; null clears those that it need not have (RFC 7396)",
			handle((*Server).changeAddress, app.CodeVersionMismatch)},
		{http.MethodDelete, "/customers/{id}/addresses/{addressId}", app.WriteAddresses, customers, !once, 204, "Delete an address of one's own",
			handle((*Server).deleteAddress, app.CodeVersionMismatch)},

		{post, "/platform/websites", app.ManageWebsites, "", !once, 201, "Open a website with its first store, and invite its first OWNER",
			handle((*Server).openWebsite, app.CodeConflict)},
		{get, "/platform/websites", app.ManageWebsites, "", !once, 200, "List all websites, the newest first", handle((*Server).websites)},
		{patch, "/platform/websites/{id}", app.ManageWebsites, "", !once, 200, "Change the plan of a website, suspend it or end that",
			handle((*Server).changeWebsite, app.CodeNotFound)},
	}
}

// newRouter makes the handler of the table, the documentation beside it, and the answers
// to everything else. Paths are matched as the client sent them, without decoding, so that
// %2F in an id never becomes another route.
func (s *Server) newRouter(table []route) http.Handler {
	router := mux.NewRouter().SkipClean(true).UseEncodedPath()
	router.NotFoundHandler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.refuse(w.(*exchange), r, app.NotFound())
	})
	paths := map[string]map[string]http.Handler{}
	for _, rt := range table {
		methods, ok := paths[rt.path]
		if !ok {
			methods = map[string]http.Handler{}
			paths[rt.path] = methods
			router.Path(rt.path).Handler(s.byMethod(methods))
		}
		methods[rt.method] = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			s.serve(w.(*exchange), r, &rt)
		})
	}
	for path, page := range documentation() {
		methods := map[string]http.Handler{http.MethodGet: page, http.MethodHead: page}
		paths[path] = methods
		router.Path(path).Handler(s.byMethod(methods))
	}
	s.words = map[string]bool{}
	for path := range paths {
		for word := range strings.SplitSeq(path, "/") {
			s.words[word] = true
		}
	}
	pages := dashboard.Handler(router.NotFoundHandler)
	shell := s.byMethod(map[string]http.Handler{http.MethodGet: pages, http.MethodHead: pages})
	router.Path("/dashboard").Handler(shell)
	router.PathPrefix("/dashboard/").Handler(shell)
	return router
}

// byMethod serves one path. The methods may still be added to.
func (s *Server) byMethod(methods map[string]http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if handler, ok := methods[r.Method]; ok {
			handler.ServeHTTP(w, r)
			return
		}
		if s.preflightWebsite(w.(*exchange), r) {
			return
		}
		s.refuse(w.(*exchange), r, methodNotAllowed(w.(*exchange), slices.Sorted(maps.Keys(methods))))
	})
}
