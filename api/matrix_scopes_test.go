package api

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/comanda-dev/comanda/app"
)

// scoped lists, by hand, the scope with which an API key may call each operation (docs/behaviour.md#api-keys); write:x
// implies read:x, orders:price implies write:orders. API keys may not call the other operations.
var scoped = map[string]string{
	"POST /webhooks":                "webhooks:manage",
	"GET /webhooks":                 "webhooks:manage",
	"GET /webhooks/event-types":     "webhooks:manage",
	"GET /webhooks/{id}":            "webhooks:manage",
	"GET /webhooks/{id}/deliveries": "webhooks:manage",
	"GET /deliveries":               "webhooks:manage",
	"GET /deliveries/{id}":          "webhooks:manage",
	"POST /deliveries/{id}/replay":  "webhooks:manage",
	"POST /deliveries/{id}/retry":   "webhooks:manage",
	"POST /orders":                  "write:orders",
	"GET /orders/{id}":              "read:orders write:orders",
	"POST /orders/{id}/payments":    "write:orders",
	"GET /orders/{id}/payments":     "read:orders write:orders",
	"GET /payments":                 "read:orders write:orders",
	"GET /payments/summary":         "read:orders write:orders",
	"GET /orders/{id}/deliveries":   "read:orders write:orders",
	"POST /payments/{id}/refunds":   "write:orders",
	"GET /customers":                "read:customers",
	"GET /customers/lookup":         "read:customers",
	"GET /customers/{id}":           "read:customers",
	"GET /customers/{id}/loyalty":   "read:customers",
	"GET /customers/{id}/addresses": "read:customers",
	"GET /products":                 "read:products write:products",

	"POST /webhooks/{id}/replay":            "webhooks:manage",
	"GET /webhooks/{id}/replays/{replayId}": "webhooks:manage",
	"POST /replays":                         "webhooks:manage",
	"GET /replays":                          "webhooks:manage",
	"GET /replays/{id}":                     "webhooks:manage",
	"POST /replays/{id}/cancel":             "webhooks:manage",

	"GET /dead-letters":                         "webhooks:manage",
	"PATCH /webhooks/{id}":                      "webhooks:manage",
	"DELETE /webhooks/{id}":                     "webhooks:manage",
	"POST /webhooks/{id}/test":                  "webhooks:manage",
	"POST /webhooks/filter-test":                "webhooks:manage",
	"POST /webhooks/{id}/rotate-secret":         "webhooks:manage",
	"GET /webhooks/{id}/stats":                  "webhooks:manage",
	"GET /webhooks/{id}/deliveries/{attemptId}": "webhooks:manage",

	"POST /products":                       "write:products",
	"GET /products/categories":             "read:products write:products",
	"GET /products/{id}":                   "read:products write:products",
	"PATCH /products/{id}":                 "write:products",
	"POST /products/{id}/stock":            "write:products",
	"POST /products/import":                "write:products",
	"POST /products/{id}/sold-out":         "write:products",
	"DELETE /products/{id}":                "write:products",
	"GET /orders":                          "read:orders write:orders",
	"POST /orders/quote":                   "write:orders",
	"GET /events":                          "webhooks:manage",
	"GET /events/stream":                   "webhooks:manage",
	"GET /events/{id}":                     "webhooks:manage",
	"GET /orders/stream":                   "read:orders write:orders",
	"POST /store/pause":                    "write:orders",
	"POST /store/resume":                   "write:orders",
	"PATCH /orders/{id}":                   "write:orders",
	"POST /orders/{id}/printed":            "write:orders",
	"PUT /orders/{id}/items/{itemId}/done": "write:orders",
	"GET /orders/{id}/changes":             "read:orders write:orders",
	"PATCH /orders/{id}/status":            "write:orders",
	"GET /orders/{id}/history":             "read:orders write:orders",

	"POST /reservations":              "write:reservations",
	"GET /reservations":               "read:reservations write:reservations",
	"GET /reservations/seats":         "read:reservations write:reservations",
	"GET /reservations/slots":         "read:reservations write:reservations",
	"GET /reservations/{id}":          "read:reservations write:reservations",
	"PATCH /reservations/{id}":        "write:reservations",
	"PATCH /reservations/{id}/status": "write:reservations",
	"GET /analytics/summary":          "read:analytics",
	"GET /analytics/sales":            "read:analytics",
	"GET /analytics/products":         "read:analytics",
	"GET /analytics/options":          "read:analytics",
	"GET /analytics/channels":         "read:analytics",
	"GET /analytics/customers":        "read:analytics",
}

// TestScopesOfRoutes calls every route with every scope, for rows of the key's store and of other stores. For a key,
// rows of other stores do not exist.
func TestScopesOfRoutes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, scope := range app.Scopes {
		key := w.key("own", scope)
		for _, rt := range routes() {
			scopes := strings.Fields(scoped[rt.Method+" "+rt.Path])
			may := app.Permissions[rt.Permission].AnyKey || slices.Contains(scopes, string(scope)) ||
				scope == app.ScopePriceOrders && slices.Contains(scopes, string(app.ScopeWriteOrders))
			for _, store := range []string{"own", "sibling", "foreign"} {
				a := w.attempt(rt, store, key)
				a.what += fmt.Sprintf(" of %s with %s", store, scope)
				switch {
				case rt.Permission == public:
					a.withoutEffect(rt)
				case rt.Permission == byRefreshToken, app.Permissions[rt.Permission].Role == "":
					a.refused(app.CodeTokenInvalid)
				case !may:
					a.refused(app.CodeInsufficientScope)
				case store != "own" && strings.Contains(rt.Path, "{id}"):
					a.refused(app.CodeNotFound)
				default:
					a.ok(rt.Status, nil)
				}
			}
		}
	}
}
