package api

import (
	"maps"
	"net/http"
	"slices"

	"github.com/gorilla/mux"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence"
)

// route is one operation. Who may call it follows from the permission (app.Permissions).
type route struct {
	method     string
	path       string
	permission app.Permission       // public = no credential is looked at
	resource   persistence.Resource // what {id} names, if anything
	once       bool                 // takes an Idempotency-Key
	status     int                  // of a success
	summary    string
	endpoint   endpoint
}

// public is the permission of operations that everybody may call.
const public app.Permission = "public"

// routes is the whole surface.
func routes() []route {
	const get, post = http.MethodGet, http.MethodPost
	const webhooks, deliveries, orders = persistence.Subscriptions, persistence.Deliveries, persistence.Orders
	const once = true
	return []route{
		{post, "/auth/login", public, "", !once, 200, "Log in with e-mail address and password",
			handle((*Server).login, app.CodeInvalidCredentials, app.CodeStoreMismatch)},
		{get, "/auth/me", app.ViewOwnTenantLogin, "", !once, 200, "Show who is logged in, and the active store", handle((*Server).me)},

		{post, "/customer-auth/register", public, "", !once, 201, "Register as a customer of a store",
			handle((*Server).registerCustomer, app.CodeNotFound, app.CodeEmailTaken)},
		{post, "/customer-auth/login", public, "", !once, 200, "Log in as a customer of a store",
			handle((*Server).loginCustomer, app.CodeInvalidCredentials)},
		{post, "/customer-auth/social", public, "", !once, 200, "Log in as a customer with a provider's ID token",
			handle((*Server).socialLogin, app.CodeInvalidCredentials, app.CodeNotFound, app.CodeAccountLinkRequired)},
		{post, "/customer-auth/logout", app.EndCustomerLogin, "", !once, 200, "Log out as a customer", handle((*Server).logoutCustomer)},

		{post, "/webhooks", app.ManageWebhooks, "", once, 201, "Subscribe a URL to events of the store",
			handle((*Server).createWebhook, app.CodeLimitReached)},
		{get, "/webhooks", app.ManageWebhooks, "", !once, 200, "List the store's webhooks, the newest first", handle((*Server).webhooks)},
		{get, "/webhooks/{id}", app.ManageWebhooks, webhooks, !once, 200, "Show a webhook", handle((*Server).webhook)},
		{get, "/webhooks/{id}/deliveries", app.ManageWebhooks, webhooks, !once, 200, "List a webhook's delivery attempts, the newest first",
			handle((*Server).attempts)},

		{get, "/deliveries", app.ManageWebhooks, "", !once, 200, "List the store's deliveries, the newest first", handle((*Server).deliveries)},
		{get, "/deliveries/{id}", app.ManageWebhooks, deliveries, !once, 200, "Show a delivery", handle((*Server).delivery)},
		{post, "/deliveries/{id}/replay", app.ManageWebhooks, deliveries, !once, 202, "Deliver once more what has ended",
			handle((*Server).replayDelivery, app.CodeDeliveryInProgress, app.CodePayloadErased, app.CodeConflict)},

		{post, "/orders", app.WriteOrders, "", once, 201, "Place an order",
			handle((*Server).placeOrder, app.CodeProductUnavailable, app.CodePriceNotSet, app.CodeAmountTooLarge, app.CodeTotalMismatch)},
		{get, "/orders/{id}", app.ViewOrders, orders, !once, 200, "Show an order", handle((*Server).order)},

		{get, "/products", app.ViewProducts, "", !once, 200, "List the store's products, the newest first", handle((*Server).products)},
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
		router.Path(path).Handler(s.byMethod(map[string]http.Handler{http.MethodGet: page, http.MethodHead: page}))
	}
	return router
}

// byMethod serves one path. The methods may still be added to.
func (s *Server) byMethod(methods map[string]http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if handler, ok := methods[r.Method]; ok {
			handler.ServeHTTP(w, r)
			return
		}
		s.refuse(w.(*exchange), r, methodNotAllowed(w.(*exchange), slices.Sorted(maps.Keys(methods))))
	})
}
