package api

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// What pages of allowed origins may send and read, besides what every page may.
const (
	corsRequestHeaders = "Authorization, Content-Type, Idempotency-Key, If-Match"
	corsAnswerHeaders  = "X-Request-Id, Retry-After, Location, Allow, WWW-Authenticate"
	corsMaxAge         = "600" // seconds for which a browser keeps the answer to a preflight
)

// cors lets pages of other origins use the API. What it allows, the protection against
// cross-origin requests trusts.
type cors struct {
	origins []string // as browsers write them
	methods string
}

// newCORS panics when an origin is none.
func newCORS(origins []string, table []route, protection *http.CrossOriginProtection) cors {
	var methods []string
	for _, rt := range table {
		methods = append(methods, rt.method)
	}
	slices.Sort(methods)
	for _, origin := range origins {
		if err := protection.AddTrustedOrigin(origin); err != nil {
			panic(fmt.Sprintf("%q is no origin: %v", origin, err))
		}
	}
	return cors{origins: origins, methods: strings.Join(slices.Compact(methods), ", ")}
}

// allow says in the answer's headers, whatever the answer will be, whether the page that
// asks may read it, and reports whether it may.
func (c cors) allow(answer http.Header, r *http.Request) bool {
	if len(c.origins) == 0 {
		return false
	}
	answer.Add("Vary", "Origin")
	origins := r.Header.Values("Origin")
	if len(origins) != 1 || !slices.Contains(c.origins, origins[0]) {
		return false
	}
	answer.Set("Access-Control-Allow-Origin", origins[0])
	answer.Set("Access-Control-Allow-Credentials", "true")
	answer.Set("Access-Control-Expose-Headers", corsAnswerHeaders)
	return true
}

// isPreflight reports whether a browser asks what a page may send.
func isPreflight(r *http.Request) bool {
	return r.Method == http.MethodOptions && r.Header.Get("Access-Control-Request-Method") != ""
}

// preflight answers a browser for a page of an allowed origin: what it may send is the same
// for all paths.
func (c cors) preflight(x *exchange) {
	header := x.Header()
	header.Del("Access-Control-Expose-Headers")
	header.Set("Access-Control-Allow-Methods", c.methods)
	header.Set("Access-Control-Allow-Headers", corsRequestHeaders)
	header.Set("Access-Control-Max-Age", corsMaxAge)
	x.WriteHeader(http.StatusNoContent)
}
