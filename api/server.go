// Package api is the HTTP API.
//
// The table in routes.go lists all operations. [Server.ServeHTTP] handles every request, steps in handle.go
// are the checks in their fixed order, and one file per resource has the handlers. The tags of a request
// type (…In) determine its binding, its validation and its schema in openapi.yaml.
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
	"github.com/comanda-dev/comanda/app/filter"
	"github.com/comanda-dev/comanda/persistence"
)

// Config configures a [Server]. DB, Keyring, Issuer, AccessTTL and RefreshTTL are required.
type Config struct {
	DB             *persistence.DB
	Keyring        app.Keyring
	Issuer         string        // the base URL; iss of every token
	AccessTTL      time.Duration // of access tokens, in whole seconds
	RefreshTTL     time.Duration // of refresh tokens, in whole seconds
	RefreshLeeway  time.Duration // in which a superseded refresh token gets its successor again; 0 = none
	SessionMaxAge  time.Duration // 0 = unlimited
	OptionalOTP    bool          // whether platform administrators can do without one-time passwords
	TrustedProxies []netip.Prefix
	RateLimit      int           // logins of a client address in any RateWindow; 0 = 10
	RateWindow     time.Duration // 0 = 60 s
	APIRate        int           // requests a second with one credential; 0 = 50
	APIBurst       int           // size of a burst of requests with one credential; 0 = 100
	WebsiteRate    int           // requests a second of one website; 0 = 500
	WebsiteBurst   int           // size of a burst of requests of one website; 0 = 1000
	Memory         uint64        // limit of the process in bytes, for password hashes; 0 = unlimited
	Tester         Tester        // of webhooks
	Retrier        Retrier       // of deliveries
	WatchdogDays   int           // days with failed attempts until a webhook is deactivated
	WorkflowURL    string        // prefix of the pages of workflows in Temporal's UI; "" = no links

	// DeadLetterRetention is the time for which the workflow of a dead letter stays open.
	DeadLetterRetention time.Duration
	// WorkflowRetention returns the time for which Temporal keeps a closed workflow; 0 or a nil function
	// = unknown.
	WorkflowRetention func() time.Duration

	CORSOrigins []string                  // origins whose pages may use the API, as in the Origin header
	Providers   map[app.Provider]Provider // of social login; the default is the provider's own
	ProviderCAs *x509.CertPool            // nil = those of the system
	Log         zerolog.Logger
	Metrics     prometheus.Registerer // nil = none
	Now         func() time.Time      // nil = time.Now
	Timeout     time.Duration         // of one request; 0 = 15 s
	HideDocs    bool                  // no OpenAPI document and no page of the operations
	Stopping    <-chan struct{}       // closing it ends the streams; nil = never
}

// Server is the handler of the public address.
type Server struct {
	db        *persistence.DB
	tokens    tokens
	refreshes app.RefreshRules
	passwords *passwords
	adminOTP  bool // whether platform administrators need one-time passwords
	limiter   limiter
	buckets   *buckets
	work      *work
	bodies    *bodies
	reading   *bodies // requests, not bytes
	rows      *bodies // of imports
	responses *bodies // of reads
	providers map[app.Provider]*provider
	tester    Tester
	retrier   Retrier
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
	resets    *background
	gzip      func(http.Handler) http.HandlerFunc
	stopping  <-chan struct{}
	views     productViews
	words     map[string]bool // the segments of all paths, for the access log

	orderFeed    *orderFeed
	eventFeed    *eventFeed
	streams      *streamSlots
	heartbeat    time.Duration // of streams
	writeTimeout time.Duration // streamWriteTimeout

	exportTimeout time.Duration // maxExport

	watchdogDays int
	pages        workflowPages
	filterTests  filter.Turns
}

// New returns a server. It panics if its metrics are already registered or if a CORS origin is invalid.
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
		db:    c.DB, tokens: newTokens(c),
		refreshes: app.RefreshRules{TTL: c.RefreshTTL, MaxAge: c.SessionMaxAge, Leeway: c.RefreshLeeway},
		passwords: newPasswords(c.Memory), limiter: newLimiter(c), buckets: newBuckets(c), work: newWork(c),
		bodies: newBodies(maxBodies, maxOwnBodies), reading: newBodies(maxReading, maxOwnReading),
		rows: newBodies(maxRowsAtAll, maxOwnRows), responses: newBodies(maxResponses, maxOwnResponses),
		adminOTP:  !c.OptionalOTP,
		providers: newProviders(c), tester: c.Tester, retrier: c.Retrier,
		watchdogDays: c.WatchdogDays, cursors: newCursors(c.Keyring),
		origins: http.NewCrossOriginProtection(), proxies: c.TrustedProxies,
		log: c.Log, durations: newDurations(c.Metrics), now: c.Now, timeout: c.Timeout,
		failures: newBackground(maxFailures), resets: newBackground(maxResetRequests),
		gzip: newCompressor(), stopping: c.Stopping, streams: newStreamSlots(maxStreams, maxStreamsAtAll, fewStreams),
		heartbeat: heartbeat, writeTimeout: streamWriteTimeout, exportTimeout: maxExport,
	}
	s.orderFeed = newOrderFeed(s.db, s.now, func(err error) {
		s.log.Warn().Err(err).Msg("order notifications lost; streams end")
	})
	s.eventFeed = newEventFeed(s.db, s.work, s.eventText, func(err error) {
		s.log.Warn().Err(err).Msg("event notifications lost; streams end")
	})
	table := routes()
	s.cors = newCORS(c.CORSOrigins, table, s.origins)
	s.router = s.newRouter(table, !c.HideDocs)
	return s
}

// Close waits for audit entries and password resets that are still being written. No request may be in progress.
func (s *Server) Close() {
	s.failures.wait()
	s.resets.wait()
}

// exchange is one HTTP request and its response, as seen by the middleware.
type exchange struct {
	http.ResponseWriter
	id        app.RequestID
	log       zerolog.Logger
	start     time.Time
	client    netip.Addr
	route     *route          // nil until a route matches
	principal app.Principal   // zero before authentication
	website   app.WebsiteID   // of the page that sends the request; "" unless CORS allows it by the website's domain
	status    int             // 0 before the response begins
	code      app.Code        // of an error response
	open      context.Context // done when the client disconnects; without the timeout of the request
}

// Unwrap returns the underlying writer, for http.ResponseController.
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

// apiPolicy is the Content-Security-Policy of responses that are no pages. A browser that shows one loads nothing.
const apiPolicy = "default-src 'none'; frame-ancestors 'none'"

// ServeHTTP handles one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	start := s.now()
	x := &exchange{
		ResponseWriter: w, id: app.NewID[app.RequestID](start), start: start, client: s.clientAddr(r),
		open: r.Context(),
	}
	x.log = s.log.With().Str("requestId", string(x.id)).Logger()
	ctx, cancel := context.WithTimeout(r.Context(), s.timeout)
	defer cancel()
	ctx, span := s.startSpan(ctx, r)
	defer endSpan(x, span)
	if position := span.SpanContext(); span.IsRecording() {
		x.log = x.log.With().Stringer("traceId", position.TraceID()).Logger()
	}
	r = r.WithContext(ctx)
	defer s.finish(x, r)

	header := x.Header()
	header.Set("X-Request-Id", string(x.id))
	header.Set("Cache-Control", "no-store")
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Strict-Transport-Security", "max-age=31536000")
	header.Set("Content-Security-Policy", apiPolicy) // pages set their own
	allowed := s.cors.allow(header, r)
	if !s.encrypted(r) {
		s.refuse(x, r, app.Errorf(app.CodeHTTPSRequired, "this API requires HTTPS"))
		return
	}
	if allowed && isPreflight(r) {
		preflight(x, s.cors.methods)
		return
	}
	s.router.ServeHTTP(x, r)
}

// finish turns a panic into an error response, then logs and measures the exchange.
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
		panic(http.ErrAbortHandler) // the response has begun: close the connection
	}
}

// record writes the access log and the metrics. They omit the query and unknown segments of the path,
// which may be secrets that a client sent by mistake.
func (s *Server) record(x *exchange, r *http.Request) {
	took := s.now().Sub(x.start)
	route, method := "none", "other"
	if x.route != nil {
		route, method = x.route.Path, x.route.Method
	}
	s.durations.WithLabelValues(route, method, strconv.Itoa(x.status)).Observe(took.Seconds())

	event := x.log.Info()
	switch x.status {
	case http.StatusInternalServerError:
		event = x.log.Error()
	case http.StatusServiceUnavailable:
		event = x.log.Warn()
	}
	event = event.Str("method", cut(r.Method, 16)).Str("path", cut(s.loggable(r.URL.Path), 256)).
		Str("route", route).Int("status", x.status).Dur("took", took).Stringer("client", x.client)
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

// loggable returns a path with … instead of segments that are neither ids nor part of known paths.
func (s *Server) loggable(path string) string {
	segments := strings.Split(path, "/")
	for i, segment := range segments {
		if segment != "" && !s.words[segment] && !idForm.MatchString(segment) {
			segments[i] = "…"
		}
	}
	return strings.Join(segments, "/")
}

// cut limits a string in a log line or a response.
func cut(s string, bytes int) string {
	if len(s) <= bytes {
		return s
	}
	return s[:bytes] + "…"
}

func newDurations(registerer prometheus.Registerer) *prometheus.HistogramVec {
	durations := prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: "comanda_http_request_duration_seconds", Help: "Requests by route, method and status.",
		Buckets: prometheus.DefBuckets,
	}, []string{"route", "method", "status"})
	if registerer != nil {
		registerer.MustRegister(durations)
	}
	return durations
}
