package api

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/gorilla/mux"

	"github.com/comanda-dev/comanda/app"
)

// What pages of allowed origins may send and read, besides what every page may.
const (
	corsRequestHeaders = "Authorization, Content-Type, Idempotency-Key, If-Match"
	corsAnswerHeaders  = "X-Request-Id, Retry-After, Location, Allow, WWW-Authenticate"
	corsMaxAge         = "600" // seconds for which a browser keeps the answer to a preflight
)

// cors lets pages of other origins use the API. What it allows, the protection against
// cross-origin requests trusts.
//
// The origins of the configuration may use everything. Pages of a website's own domain may
// use what is for customers, and for that website's customers alone.
type cors struct {
	origins   []string // as browsers write them
	methods   string
	customers map[string][]string // the methods that are for customers, by path
}

// newCORS panics when an origin is none.
func newCORS(origins []string, table []route, protection *http.CrossOriginProtection) cors {
	var methods []string
	customers := map[string][]string{}
	for _, rt := range table {
		methods = append(methods, rt.method)
		if rt.forCustomers() {
			customers[rt.path] = append(customers[rt.path], rt.method)
		}
	}
	slices.Sort(methods)
	for _, origin := range origins {
		if err := protection.AddTrustedOrigin(origin); err != nil {
			panic(fmt.Sprintf("%q is no origin: %v", origin, err))
		}
	}
	return cors{origins: origins, methods: strings.Join(slices.Compact(methods), ", "), customers: customers}
}

// allow says in the answer's headers, whatever the answer will be, whether the page that
// asks may read it, and reports whether it may.
func (c cors) allow(answer http.Header, r *http.Request) bool {
	if len(c.origins) == 0 {
		return false
	}
	answer.Set("Vary", "Origin")
	origin := originOf(r)
	if !slices.Contains(c.origins, origin) {
		return false
	}
	share(answer, origin)
	return true
}

// originOf returns the origin of the page that asks, "" unless the browser tells one.
func originOf(r *http.Request) string {
	origins := r.Header.Values("Origin")
	if len(origins) != 1 {
		return ""
	}
	return origins[0]
}

// share lets the pages of an origin read an answer, unshare takes that back.
func share(answer http.Header, origin string) {
	answer.Set("Access-Control-Allow-Origin", origin)
	answer.Set("Access-Control-Allow-Credentials", "true")
	answer.Set("Access-Control-Expose-Headers", corsAnswerHeaders)
}

func unshare(answer http.Header) {
	answer.Del("Access-Control-Allow-Origin")
	answer.Del("Access-Control-Allow-Credentials")
	answer.Del("Access-Control-Expose-Headers")
}

// isPreflight reports whether a browser asks what a page may send.
func isPreflight(r *http.Request) bool {
	return r.Method == http.MethodOptions && r.Header.Get("Access-Control-Request-Method") != ""
}

// preflight answers a browser for a page that may use those methods.
func preflight(x *exchange, methods string) {
	header := x.Header()
	header.Del("Access-Control-Expose-Headers")
	header.Set("Access-Control-Allow-Methods", methods)
	header.Set("Access-Control-Allow-Headers", corsRequestHeaders)
	header.Set("Access-Control-Max-Age", corsMaxAge)
	x.WriteHeader(http.StatusNoContent)
}

// forCustomers reports whether a route is the customer realm's, or open to customers for
// what is their own.
func (rt *route) forCustomers() bool {
	return strings.HasPrefix(rt.path, "/customer-auth/") || app.Permissions[rt.permission].Own
}

// allowWebsite lets a page of a website's own domain use a route for customers, and notes
// whose page it is. A suspended website's pages are strangers', and all are while the
// database cannot tell.
func (s *Server) allowWebsite(x *exchange, r *http.Request) bool {
	header, origin := x.Header(), originOf(r)
	header.Set("Vary", "Origin")
	domain, encrypted := strings.CutPrefix(origin, "https://")
	if !encrypted || domain == r.Host || slices.Contains(s.cors.origins, origin) || len(domain) > maxHostName || !hostName.MatchString(domain) {
		return false
	}
	website, err := s.db.WebsiteByDomain(r.Context(), domain)
	if err != nil {
		if app.CodeOf(err) != app.CodeNotFound {
			x.log.Warn().Err(err).Msg("cannot tell whose page asks")
		}
		return false
	}
	x.website = website
	share(header, origin)
	return true
}

// preflightWebsite answers a browser that asks what a website's page may send to the path
// of the request, and reports whether it did.
func (s *Server) preflightWebsite(x *exchange, r *http.Request) bool {
	path, _ := mux.CurrentRoute(r).GetPathTemplate() // all of our routes have one
	methods := s.cors.customers[path]
	if !isPreflight(r) || !slices.Contains(methods, r.Header.Get("Access-Control-Request-Method")) || !s.allowWebsite(x, r) {
		return false
	}
	preflight(x, strings.Join(methods, ", "))
	return true
}

// keepToOwnCustomers takes an answer from a website's page unless it is for one of that
// website's customers. It is called once the credential has been found good: why one is not,
// every page may read.
func (x *exchange) keepToOwnCustomers() {
	if x.website != "" && (x.principal.Realm != app.RealmCustomer || x.principal.WebsiteID != x.website) {
		unshare(x.Header())
	}
}

// checkPage refuses what a website's page asks for a store that is not its own, CROSS_ORIGIN.
// Where domains of several websites are of one site, the cookies of all are within reach of
// the pages of each.
func (s *Server) checkPage(ctx context.Context, c *call, store app.StoreID) error {
	if c.exchange.website == "" {
		return nil
	}
	own, err := s.db.BelongsTo(ctx, store, c.exchange.website)
	if err == nil && !own {
		return crossOrigin()
	}
	return err
}

func crossOrigin() error {
	return app.Errorf(app.CodeCrossOrigin, "another site's pages may not do this")
}
