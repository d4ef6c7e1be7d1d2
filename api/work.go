package api

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/comanda-dev/comanda/app"
)

// Limits of the work in progress of one website in this process (docs/behaviour.md#work-in-progress).
const (
	maxWork      = 8 // requests
	maxHeavyWork = 2 // of them imports, exports and analytics
	maxCompared  = 2 // of them comparisons of versions of an order
	maxSearches  = 2 // of them lists of products with filters that have no index
	maxReads     = 2 // of its streams, beside requests: reads of missed messages, renewals and ends
	maxChecks    = 2 // of the credentials of its streams
	maxPublic    = 1 // requests without a credential, beside all others
	maxWorkWait  = 2 * time.Second
)

// Repetitions of work after a response.
const (
	maxBackgroundTries = 8
	backgroundPause    = 250 * time.Millisecond
)

// maxWaiting is the number of requests of all websites that wait, and of those without a credential. Each may have a
// body in memory.
const maxWaiting = 1024

// load is the kind of work of an operation.
type load int

const (
	light       load = iota
	heavy            // analytics
	anImport         // heavy, and one at a time in a store
	anExport         // heavy; it keeps its connection until the client has read it
	aComparison      // of versions of an order; not heavy, so that the kitchen does not wait for exports
)

// work limits the work in progress of each website, so that other websites find free connections.
type work struct {
	requests, across int64 // of a website: at most half of the pool of the stores, and of that of all stores
	allAcross        int64 // of all websites: three quarters of that of all stores; the rest is for logins and refreshes
	exports          int64 // of all websites: half of the pool of the stores; of customers, half of these
	lookups          int64 // of an owner, and of all requests without a credential: half of the pool of lookups
	wait             time.Duration
	waiting          prometheus.Gauge
	refused          prometheus.Counter

	mu        sync.Mutex
	gates     map[gate]*slots
	websites  waiters // with a credential
	strangers waiters // without one, by client network
}

func newWork(c Config) *work {
	w := &work{
		requests: maxWork, across: maxWork, allAcross: 2 * maxWork, exports: maxWork, lookups: maxWork, wait: maxWorkWait,
		gates: map[gate]*slots{}, websites: newWaiters(maxWaiting), strangers: newWaiters(maxWaiting),
		waiting: prometheus.NewGauge(prometheus.GaugeOpts{
			Name: "comanda_requests_waiting",
			Help: "Requests that wait for other requests of their website or client network.",
		}),
		refused: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "comanda_requests_refused_total",
			Help: "Requests that were refused because their website or client network had too many in progress.",
		}),
	}
	if c.Metrics != nil {
		c.Metrics.MustRegister(w.waiting, w.refused)
	}
	if c.DB == nil {
		return w
	}
	stores, across, lookups := c.DB.Conns()
	w.requests = min(w.requests, int64(max(stores/2, 1)))
	w.across = min(w.across, int64(max(across/2, 1)))
	w.allAcross = int64(max(across-(across+3)/4, 1))
	w.exports = int64(max(stores/2, 1))
	if lookups > 0 { // commands and tests have no pool for them
		w.lookups = int64(max(lookups/2, 1))
	}
	return w
}

// enterWork waits until a website may begin the work of a request. It returns UNAVAILABLE if its earlier requests take
// too long, or too many of them wait.
func (s *Server) enterWork(ctx context.Context, c *call) error {
	if err := s.findWebsite(ctx, c); err != nil {
		return err
	}
	website := string(c.websiteID())
	if c.route.Permission == public {
		c.places = &places{work: s.work, waiters: &s.work.strangers, owner: ClientNetwork(c.exchange.client)}
		return c.places.begin(ctx, s.work.publicLimits(c)...)
	}
	if website == "" { // a platform administrator
		return nil
	}
	if err := c.memory.assign(website); err != nil {
		return err
	}
	c.places = &places{work: s.work, waiters: &s.work.websites, owner: website}
	return c.places.begin(ctx, s.work.limits(c, website)...)
}

// findWebsite sets the website of a request without an access token: that of the session, or of the store or the link
// that the body names. The website of an email is not looked up: its other requests would then delay the login, which
// would reveal whether the email has an account.
func (s *Server) findWebsite(ctx context.Context, c *call) error {
	if c.route.byAccessToken() {
		return nil
	}
	var find func() (app.WebsiteID, error)
	named := topLevelTexts(c.body, []string{"storeId", "token"})
	switch store, token := named["storeId"], named["token"]; {
	case c.route.Permission == byRefreshToken:
		find = func() (app.WebsiteID, error) {
			return s.db.WebsiteOfSession(ctx, c.refresh.realm, c.refresh.session)
		}
	case app.IsID(store):
		find = func() (app.WebsiteID, error) { return s.db.WebsiteOf(ctx, app.StoreID(store)) }
	case token != "":
		find = func() (app.WebsiteID, error) { return s.db.WebsiteOfLink(ctx, app.NewSecret(token)) }
	default:
		return nil
	}
	return s.work.run(ctx, s.work.lookupLimits(c), func() (err error) {
		c.website, err = find()
		return err
	})
}

// enterRead waits until a stream of a website may use the database: to read stored messages, to renew its lease
// or to end its count. It returns false if that takes too long. The stream uses a connection of the website's requests,
// and few streams wait among these requests. Streams are limited, so that the number of those that wait needs no
// further limit.
func (w *work) enterRead(ctx context.Context, website app.WebsiteID) (*places, bool) {
	p := &places{work: w}
	ok := p.enterAll(ctx, gateLimit{gate{"reads", string(website)}, min(maxReads, w.requests)},
		gateLimit{gate{"requests", string(website)}, w.requests})
	if !ok {
		p.leave()
	}
	return p, ok
}

// enterCheck waits until a stream of a website may look up its credential. It returns false if that takes too long.
func (w *work) enterCheck(ctx context.Context, website app.WebsiteID) (*places, bool) {
	p := &places{work: w}
	return p, p.enterAll(ctx, gateLimit{gate{"checks", string(website)}, maxChecks})
}

// publicLimits returns the limits of a request without a credential: of the client network, so that nobody takes the
// places of a website from one network by naming it, and of the website that it names, or of all such requests.
func (w *work) publicLimits(c *call) []gateLimit {
	network := gateLimit{gate{"public", ClientNetwork(c.exchange.client)}, maxPublic}
	website := string(c.websiteID())
	if website == "" {
		return []gateLimit{network, {gate{of: "public"}, max(w.across-w.background(), 1)}}
	}
	return []gateLimit{
		network, {gate{"public", website}, maxPublic}, {gate{"across", website}, w.across},
		{gate{"requests", website}, w.requests},
	}
}

// runAfterwards calls steps, which go on after the response to a request, until one fails. It waits for a place until
// the end of ctx. If a step returns UNAVAILABLE, for example because a row is locked, it gives the place to others and
// resumes at that step.
func (w *work) runAfterwards(ctx context.Context, c *call, steps ...func(context.Context) error) (err error) {
	for range maxBackgroundTries {
		steps, err = w.runOnceAfterwards(ctx, c, steps)
		if app.CodeOf(err) != app.CodeUnavailable || ctx.Err() != nil {
			return err
		}
		select {
		case <-ctx.Done():
		case <-time.After(backgroundPause):
		}
	}
	return err
}

// runOnceAfterwards calls steps until one fails. It returns the remaining steps, the failed one first.
func (w *work) runOnceAfterwards(
	ctx context.Context, c *call, steps []func(context.Context) error,
) ([]func(context.Context) error, error) {
	p := &places{work: w, ended: true}
	defer p.leave()
	if err := p.begin(ctx, w.limitsAfterwards(c)...); err != nil {
		return steps, err
	}
	for i, step := range steps {
		if err := step(ctx); err != nil {
			return steps[i:], err
		}
	}
	return nil, nil
}

// background is the number of connections of work after the response to requests that name no website. No request waits
// for such work, which would reveal that there was some.
func (w *work) background() int64 { return max(w.across/2, 1) }

// limitsAfterwards returns the limits of work after the response to a request without a credential.
func (w *work) limitsAfterwards(c *call) []gateLimit {
	own := gateLimit{gate{"background", c.owner()}, maxPublic}
	if website := string(c.websiteID()); website != "" {
		return []gateLimit{own, {gate{"across", website}, w.across}, {gate{"requests", website}, w.requests}}
	}
	return []gateLimit{own, {gate{of: "background"}, w.background()}}
}

// lookupLimits returns the limits of the connections for lookups of a request. Its website bounds them as soon as it is
// known, before that the client network. All requests without a credential, refreshes without a token among them, leave
// half of the connections to the others.
func (w *work) lookupLimits(c *call) []gateLimit {
	owner := c.owner()
	if c.route.Permission == public || c.route.Permission == byRefreshToken && c.refresh == (refreshToken{}) {
		return w.publicLookups("public lookups", owner)
	}
	return []gateLimit{{gate{"lookups", owner}, w.lookups}}
}

// originLimits returns the limits of the connections for lookups of the websites of pages. They leave half of the
// connections of requests without a credential to lookups of the requests themselves.
func (w *work) originLimits(network string) []gateLimit {
	all := gateLimit{gate{of: "origins"}, max(w.lookups/2, 1)}
	return slices.Insert(w.publicLookups("origins", network), 1, all)
}

// publicLookups returns the limits of a kind of lookups before a credential is known. They count among all lookups of
// the owner, and of all requests without a credential.
func (w *work) publicLookups(kind, owner string) []gateLimit {
	return []gateLimit{
		{gate{kind, owner}, maxPublic}, {gate{"lookups", owner}, w.lookups}, {gate{of: "public lookups"}, w.lookups},
	}
}

// run calls f, a lookup, while it holds a place behind each of several gates. It returns UNAVAILABLE if that takes too
// long, or too many requests wait.
func (w *work) run(ctx context.Context, limits []gateLimit, f func() error) error {
	p := &places{work: w, waiters: &w.strangers, owner: limits[0].gate.owner}
	defer p.leave()
	if err := p.begin(ctx, limits...); err != nil {
		return err
	}
	return f()
}

// limits returns the limits of a request, in the order in which it takes the places.
func (w *work) limits(c *call, website string) []gateLimit {
	var limits []gateLimit
	switch c.route.Load {
	case anImport:
		limits = append(limits, gateLimit{gate{"imports", string(c.principal.StoreID)}, 1})
	case anExport:
		if c.principal.Realm == app.RealmCustomer { // customers leave a place to the users
			limits = append(limits, gateLimit{gate{"exports of customers", website}, 1})
		}
	case aComparison:
		limits = append(limits, gateLimit{gate{"comparisons", website}, min(maxCompared, w.requests)})
	}
	if load := c.route.Load; load != light && load != aComparison {
		limits = append(limits, gateLimit{gate{"heavy", website}, min(maxHeavyWork, w.requests)})
	}
	if len(c.route.Searches) > 0 && slices.ContainsFunc(c.route.Searches, c.request.URL.Query().Has) {
		limits = append(limits, gateLimit{gate{"searches", website}, min(maxSearches, w.requests)})
	}
	if c.route.Across {
		limits = append(limits, gateLimit{gate{"across", website}, w.across})
	}
	limits = append(limits, gateLimit{gate{"requests", website}, w.requests})
	if c.route.Across && c.route.Permission != byRefreshToken {
		limits = append(limits, gateLimit{gate{of: "across"}, w.allAcross})
	}
	if c.route.Load == anExport && c.principal.Realm == app.RealmCustomer {
		limits = append(limits, gateLimit{gate{of: "exports of customers"}, max(w.exports/2, 1)})
	}
	if c.route.Load == anExport {
		limits = append(limits, gateLimit{gate{of: "exports"}, w.exports})
	}
	return limits
}

// enterAcross makes a request wait that turns out to use the connections for all stores.
func (s *Server) enterAcross(ctx context.Context, c *call) error {
	if c.places == nil || c.route.Across {
		return nil
	}
	c.places.leave()
	return c.places.begin(ctx, gateLimit{gate{"across", string(c.principal.WebsiteID)}, s.work.across},
		gateLimit{gate{of: "across"}, s.work.allAcross})
}
