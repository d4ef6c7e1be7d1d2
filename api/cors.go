package api

import (
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/gorilla/mux"

	"github.com/comanda-dev/comanda/app"
)

// Headers that pages of allowed origins may send and read, in addition to those that every page may.
const (
	corsRequestHeaders = "Authorization, Content-Type, Idempotency-Key, If-Match"
	corsExposedHeaders = "X-Request-Id, Retry-After, RateLimit, RateLimit-Policy, Location, Allow, WWW-Authenticate, " +
		"Idempotent-Replayed"
	corsMaxAge = "600" // seconds for which a browser caches the response to a preflight
)

// cors is the CORS policy. The cross-origin protection trusts the origins that it allows.
//
// Configured origins may use all operations. The pages of a website's domain may use the operations that
// accept customers, for customers of that website only.
type cors struct {
	origins   []string // as in the Origin header
	methods   string
	customers map[string][]string // the methods that accept customers, by path
}

// newCORS returns the policy for a table of routes. It panics if an origin is invalid.
func newCORS(origins []string, table []route, protection *http.CrossOriginProtection) cors {
	var methods []string
	customers := map[string][]string{}
	for _, rt := range table {
		methods = append(methods, rt.Method)
		if rt.accepts(app.RealmCustomer) {
			customers[rt.Path] = append(customers[rt.Path], rt.Method)
		}
	}
	slices.Sort(methods)
	for _, origin := range origins {
		if err := protection.AddTrustedOrigin(origin); err != nil {
			panic(fmt.Sprintf("%q is not an origin: %v", origin, err))
		}
	}
	return cors{origins: origins, methods: strings.Join(slices.Compact(methods), ", "), customers: customers}
}

// allow sets the headers that let a page of a configured origin read the response, and reports whether the
// request comes from such a page.
func (c cors) allow(header http.Header, r *http.Request) bool {
	if len(c.origins) == 0 {
		return false
	}
	header.Set("Vary", "Origin")
	origin := originOf(r)
	if !slices.Contains(c.origins, origin) {
		return false
	}
	share(header, origin)
	return true
}

// originOf returns the origin of the page that sends a request, "" if there is none.
func originOf(r *http.Request) string {
	origins := r.Header.Values("Origin")
	if len(origins) != 1 {
		return ""
	}
	return origins[0]
}

// share sets the headers that let the pages of an origin read the response. unshare removes them.
func share(header http.Header, origin string) {
	header.Set("Access-Control-Allow-Origin", origin)
	header.Set("Access-Control-Allow-Credentials", "true")
	header.Set("Access-Control-Expose-Headers", corsExposedHeaders)
}

func unshare(header http.Header) {
	header.Del("Access-Control-Allow-Origin")
	header.Del("Access-Control-Allow-Credentials")
	header.Del("Access-Control-Expose-Headers")
}

// isPreflight reports whether a request is a CORS preflight.
func isPreflight(r *http.Request) bool {
	return r.Method == http.MethodOptions && r.Header.Get("Access-Control-Request-Method") != ""
}

// preflight responds to the preflight request of a page that may use methods.
func preflight(x *exchange, methods string) {
	header := x.Header()
	header.Del("Access-Control-Expose-Headers")
	header.Set("Access-Control-Allow-Methods", methods)
	header.Set("Access-Control-Allow-Headers", corsRequestHeaders)
	header.Set("Access-Control-Max-Age", corsMaxAge)
	x.WriteHeader(http.StatusNoContent)
}

// allowWebsite allows the pages of a website's domain on a route that accepts customers, and sets the
// website of the exchange. Pages of a suspended website may read that it is suspended. It returns UNAVAILABLE if the
// website cannot be looked up in time.
func (s *Server) allowWebsite(x *exchange, r *http.Request) error {
	header, origin := x.Header(), originOf(r)
	if !slices.Contains(header.Values("Vary"), "Origin") {
		header.Add("Vary", "Origin") // beside that of compression
	}
	domain, encrypted := strings.CutPrefix(origin, "https://")
	if !encrypted || domain == r.Host || slices.Contains(s.cors.origins, origin) ||
		len(domain) > maxHostName || !hostName.MatchString(domain) {
		return nil
	}
	var website app.WebsiteID
	err := s.work.run(r.Context(), s.work.originLimits(ClientNetwork(x.client)), func() (err error) {
		website, err = s.db.WebsiteByDomain(r.Context(), domain)
		return err
	})
	switch {
	case app.CodeOf(err) == app.CodeNotFound:
		return nil
	case err != nil:
		return err
	}
	x.website = website
	share(header, origin)
	return nil
}

// preflightWebsite responds to a preflight request of a website's page, and reports whether it did. It returns the
// errors of allowWebsite.
func (s *Server) preflightWebsite(x *exchange, r *http.Request) (bool, error) {
	path, _ := mux.CurrentRoute(r).GetPathTemplate() // cannot fail: every route has a path
	methods := s.cors.customers[path]
	wanted := r.Header.Get("Access-Control-Request-Method")
	if !isPreflight(r) || !slices.Contains(methods, wanted) {
		return false, nil
	}
	if err := s.allowWebsite(x, r); err != nil || x.website == "" {
		return false, err
	}
	preflight(x, strings.Join(methods, ", "))
	return true, nil
}

// keepToOwnCustomers removes the CORS headers from a response to a website's page unless the principal is a
// customer of that website. It is called after authentication: every page may read why a credential is
// refused.
func (x *exchange) keepToOwnCustomers() {
	if x.website != "" && (x.principal.Realm != app.RealmCustomer || x.principal.WebsiteID != x.website) {
		unshare(x.Header())
	}
}

// checkPage returns CROSS_ORIGIN if a website's page sends a request for a store of another website. If the
// domains of several websites belong to one site, a page can send the cookies of the others.
func (c *call) checkPage() error {
	if c.exchange.website != "" && c.exchange.website != c.website {
		return crossOrigin()
	}
	return nil
}

func crossOrigin() error {
	return app.Errorf(app.CodeCrossOrigin, "pages of another site cannot call this operation")
}
