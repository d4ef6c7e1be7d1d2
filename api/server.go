// Package api speaks of the types of package app over HTTP.
//
// The table in routes.go is the whole surface. [Server.ServeHTTP] is what every request
// goes through, known route or not; steps in handle.go is the fixed order in which a
// request can be refused; an In type says what an operation takes, and its tags drive the
// binding, the validation and openapi.yaml alike.
package api

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"regexp"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/rs/zerolog"

	"github.com/comanda-dev/comanda/app"
	"github.com/comanda-dev/comanda/persistence"
)

// Config is what a Server needs. DB, Keyring, Issuer and the two lifetimes are required.
type Config struct {
	DB             *persistence.DB
	Keyring        app.Keyring
	Issuer         string        // the base URL; iss of every token
	AccessTTL      time.Duration // of access tokens, in whole seconds
	RefreshTTL     time.Duration // of refresh tokens, in whole seconds
	RefreshLeeway  time.Duration // in which the refresh token before the newest has its successor once more; 0 = none
	SessionMaxAge  time.Duration // 0 = for ever
	TrustedProxies []netip.Prefix
	RateLimit      int           // requests to log in, from one address in any RateWindow; 0 = 10
	RateWindow     time.Duration // 0 = 60 s
	Tester         Tester        // of webhooks
	WatchdogDays   int           // with failed attempts, after which a webhook is deactivated
	WorkflowURL    string        // before a workflow's id: its page in Temporal's UI; "" = unknown

	// DeadLetterRetention is how long the workflow of a dead letter stays open.
	DeadLetterRetention time.Duration
	// WorkflowRetention returns how long Temporal keeps a closed workflow, 0 if that is unknown.
	// nil = unknown.
	WorkflowRetention func() time.Duration

	CORSOrigins []string                  // whose pages may use the API, as browsers write origins
	Providers   map[app.Provider]Provider // of social logins; those without client ids are not offered
	ProviderCAs *x509.CertPool            // nil = the system's
	Log         zerolog.Logger
	Metrics     prometheus.Registerer // nil = none
	Now         func() time.Time      // nil = time.Now
	Timeout     time.Duration         // of one request; 0 = 15 s
	Stopping    <-chan struct{}       // ends the streams once it is closed; nil = never
}

// Server answers on the public address.
type Server struct {
	db        *persistence.DB
	tokens    tokens
	refreshes app.RefreshRules
	passwords *passwords
	limiter   limiter
	providers map[app.Provider]*provider
	tester    Tester
	cursors   cursors
	origins   *http.CrossOriginProtection
	cors      cors
	proxies   []netip.Prefix
	log       zerolog.Logger
	durations *prometheus.HistogramVec
	now       func() time.Time
	timeout   time.Duration
	router    http.Handler
	failures  *background
	stopping  <-chan struct{}
	watched   *orderFeed
	heartbeat time.Duration   // of streams
	words     map[string]bool // of the paths that it serves

	watchdogDays int
	pages        workflowPages
}

// New makes a server. It panics when its metrics are registered already, or an origin is
// none.
func New(c Config) *Server {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Timeout == 0 {
		c.Timeout = 15 * time.Second
	}
	if c.WorkflowRetention == nil {
		c.WorkflowRetention = func() time.Duration { return 0 }
	}
	s := &Server{
		pages: workflowPages{c.WorkflowURL, c.WorkflowRetention, c.DeadLetterRetention},
		db:    c.DB, tokens: newTokens(c), refreshes: app.RefreshRules{TTL: c.RefreshTTL, MaxAge: c.SessionMaxAge, Leeway: c.RefreshLeeway},
		passwords: newPasswords(), limiter: newLimiter(c), providers: newProviders(c), tester: c.Tester, watchdogDays: c.WatchdogDays, cursors: newCursors(c.Keyring),
		origins: http.NewCrossOriginProtection(), proxies: c.TrustedProxies,
		log: c.Log, durations: newDurations(c.Metrics), now: c.Now, timeout: c.Timeout,
		failures: newBackground(maxFailures), stopping: c.Stopping, heartbeat: heartbeat,
	}
	s.watched = newOrderFeed(s.db.ListenOrders, func(err error) { s.log.Warn().Err(err).Msg("orders can no longer be watched; streams begin anew") })
	table := routes()
	s.cors = newCORS(c.CORSOrigins, table, s.origins)
	s.router = s.newRouter(table)
	return s
}

// Close waits for what answers have left to be written down. No request may be under way.
func (s *Server) Close() { s.failures.wait() }

// exchange is one request and its answer, as what wraps the handlers sees them.
type exchange struct {
	http.ResponseWriter
	id        app.RequestID
	log       zerolog.Logger
	start     time.Time
	client    netip.Addr
	route     *route          // nil as long as none has matched
	principal app.Principal   // zero as long as none is known
	website   app.WebsiteID   // whose page asks; "" unless its domain is all that lets it
	status    int             // 0 as long as no answer has begun
	code      app.Code        // of a refusal
	open      context.Context // done when the client has gone, however long that takes
}

// Unwrap serves http.ResponseController.
func (x *exchange) Unwrap() http.ResponseWriter { return x.ResponseWriter }

func (x *exchange) WriteHeader(status int) {
	if x.status == 0 {
		x.status = status
	}
	x.ResponseWriter.WriteHeader(status)
}

func (x *exchange) Write(b []byte) (int, error) {
	if x.status == 0 {
		x.status = http.StatusOK
	}
	return x.ResponseWriter.Write(b)
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	start := s.now()
	x := &exchange{ResponseWriter: w, id: app.NewID[app.RequestID](start), start: start, client: s.clientAddr(r), open: r.Context()}
	x.log = s.log.With().Str("requestId", string(x.id)).Logger()
	ctx, cancel := context.WithTimeout(r.Context(), s.timeout)
	defer cancel()
	r = r.WithContext(ctx)
	defer s.finish(x, r)

	header := x.Header()
	header.Set("X-Request-Id", string(x.id))
	header.Set("Cache-Control", "no-store")
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Strict-Transport-Security", "max-age=31536000")
	allowed := s.cors.allow(header, r)
	if !s.encrypted(r) {
		s.refuse(x, r, app.Errorf(app.CodeHTTPSRequired, "this service is reached by HTTPS only"))
		return
	}
	if allowed && isPreflight(r) {
		preflight(x, s.cors.methods)
		return
	}
	s.router.ServeHTTP(x, r)
}

// finish turns a panic into an answer, then logs and measures the exchange.
func (s *Server) finish(x *exchange, r *http.Request) {
	cause := recover()
	if cause != nil && cause != any(http.ErrAbortHandler) {
		x.log.Error().Str("panic", fmt.Sprint(cause)).Bytes("stack", debug.Stack()).Msg("panic")
		if x.status == 0 {
			s.refuse(x, r, errors.New("panic"))
			cause = nil
		}
	}
	s.record(x, r)
	if cause != nil {
		panic(http.ErrAbortHandler) // half an answer is out: break the connection
	}
}

// record writes the access log and the metrics. The query is in neither, and of the path
// only what is ours: the rest may be a secret that a client put there by mistake.
func (s *Server) record(x *exchange, r *http.Request) {
	took := s.now().Sub(x.start)
	route, method := "none", "other"
	if x.route != nil {
		route, method = x.route.path, x.route.method
	}
	s.durations.WithLabelValues(route, method, strconv.Itoa(x.status)).Observe(took.Seconds())

	event := x.log.Info()
	switch x.status {
	case http.StatusInternalServerError:
		event = x.log.Error()
	case http.StatusServiceUnavailable:
		event = x.log.Warn()
	}
	event = event.Str("method", cut(r.Method, 16)).Str("path", cut(s.loggable(r.URL.Path), 256)).Str("route", route).Int("status", x.status).
		Dur("took", took).Stringer("client", x.client)
	if x.code != "" {
		event = event.Str("code", string(x.code))
	}
	if x.principal.UserID != "" {
		event = event.Str("userId", string(x.principal.UserID))
	}
	if x.principal.CustomerID != "" {
		event = event.Str("customerId", string(x.principal.CustomerID))
	}
	if x.principal.APIKeyID != "" {
		event = event.Str("apiKeyId", string(x.principal.APIKeyID))
	}
	if x.principal.StoreID != "" {
		event = event.Str("storeId", string(x.principal.StoreID))
	}
	event.Msg("request")
}

var idForm = regexp.MustCompile(`^[a-z]{3,4}_[0-9a-f]{32}$`)

// loggable is a path with … in place of all but ids and words of known paths.
func (s *Server) loggable(path string) string {
	segments := strings.Split(path, "/")
	for i, segment := range segments {
		if segment != "" && !s.words[segment] && !idForm.MatchString(segment) {
			segments[i] = "…"
		}
	}
	return strings.Join(segments, "/")
}

// cut bounds what goes into a log line or an answer.
func cut(s string, bytes int) string {
	if len(s) <= bytes {
		return s
	}
	return s[:bytes] + "…"
}

func newDurations(registerer prometheus.Registerer) *prometheus.HistogramVec {
	durations := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "comanda_http_request_duration_seconds", Help: "Requests by route, method and status.", Buckets: prometheus.DefBuckets,
	}, []string{"route", "method", "status"})
	if registerer != nil {
		registerer.MustRegister(durations)
	}
	return durations
}
